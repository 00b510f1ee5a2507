#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""What commands take for the rest of a page: the rules, and devices that do so, measured and
fitted."""

import random
from dataclasses import replace

from flashemu_fit_bench import MIB, PAGE, SEGMENT, TIMES, first_of, half, measured
from flashemu_script import run, skip

try:
    import cmaes  # noqa: F401
    import scipy.optimize  # noqa: F401
except ImportError:
    skip("no Python modules cmaes and scipy")

from flashemu_lab.fit import fit_result, fitting, rules  # noqa: E402
from flashemu_lab.probe import datasheet  # noqa: E402
from flashemu_lab.probe.tests import partial_pages, structure  # noqa: E402
from flashemu_lab.fit.curves import curves  # noqa: E402
from flashemu_lab.probe.findings import Found  # noqa: E402
from flashemu_lab.measurement.schema import Measurement, make_point  # noqa: E402
from flashemu_lab.fit.model import profile_keys, times_of  # noqa: E402
from flashemu_lab.runs.program import Tool  # noqa: E402


def reads(time_of, least=2048, most=256 * MIB):
    """Points of -a with 1 KiB; `time_of` has the place where a read begins, and ns."""
    found, align = [], least
    while align <= most:
        found += [make_point("flashbench-align", [time_of(begin, align)], align=align, bs=1024,
                             place=place)
                  for place, begin in (("pre", align - 1024), ("on", align - 512), ("post", align))]
        align *= 2
    return found


def fetching(together, ns, noise=0.0):
    r = random.Random(3)
    return reads(lambda begin, align: (5e5 + ns * (-(begin + 1024) % together) / together) *
                 (1 + noise * r.uniform(-1, 1)))


def test_the_rest_of_a_page():
    """Whatever is fetched together, with a little noise, and from every other point."""
    for together in (4096, 8192, 16384, 32768, 65536):
        for noise in (0, 0.02):
            points = fetching(together, 3e5, noise)
            for some in (points, half(Measurement(tuple(points), "x")).points):
                found, ns = partial_pages.of_reads(some)
                assert found == together and abs(ns / 3e5 - 1) < 0.1, (together, noise, found, ns)


def test_reads_that_fetch_nothing_besides():
    """A small slope, the other direction, a step, few points, or none at all."""
    assert partial_pages.of_reads(fetching(8192, 4e4)) == (0, 0)
    assert partial_pages.of_reads(fetching(8192, -2e5)) == (0, 0)
    assert partial_pages.of_reads(reads(lambda begin, align: 5e5 + 2e5 * (align > 4096))) == (0, 0)
    assert partial_pages.of_reads(reads(lambda begin, align: 5e5)) == (0, 0)
    assert partial_pages.of_reads(reads(lambda begin, align: 5e5 + 3e5 * (-(begin + 1024) % 8192) / 8192
                                + 3e5 * (align.bit_length() % 2))) == (0, 0)  # far off the line
    assert partial_pages.of_reads(fetching(8192, 3e5)[:9]) == (0, 0)
    assert partial_pages.of_reads([]) == (0, 0)


def test_far_away_reads_do_not_count():
    """Beyond 1 MiB the begin and the end of units play a part."""
    points = [p if dict(p.parameters)["align"] <= MIB else
              make_point(p.procedure, [p.value * 3], **dict(p.parameters))
              for p in fetching(8192, 3e5)]
    assert partial_pages.of_reads(points)[0] == 8192


def test_the_end_of_a_unit():
    """What reads in front of its end take more, beyond what those behind it do."""
    def found(front, behind, unit=4 * MIB):
        return partial_pages.end_of_unit(reads(
            lambda begin, align: 1e6 + (align >= 4 * MIB) * (behind if begin == align else front)),
            unit)
    assert abs(found(3e5, 0) - 3e5) < 1 and abs(found(3e5, 1e5) - 2e5) < 1
    assert found(1e5, 0) == found(3e5, 3e5) == found(0, 3e5) == found(-3e5, 0) == 0
    assert found(3e5, 0, 512 * MIB) == 0  # no read is at the end of such a unit
    assert partial_pages.end_of_unit([], 4 * MIB) == 0


def test_what_is_fetched_is_no_page():
    """A read across a multiple of 8 KiB leaves all of the next 8 KiB, and takes longer for that."""
    assert structure.page_read_from(fetching(8192, 3e5)) is None
    plain = reads(lambda begin, align: 5e5 + 1e5 * (begin == align - 512 and align >= 32768))
    points = [make_point(p.procedure, [p.value + q.value - 5e5], **dict(p.parameters))
              for p, q in zip(plain, fetching(8192, 3e5))]
    assert structure.page_read_from(plain) == structure.page_read_from(points) == 32768
    excess, _ = structure.page_read_excesses(points)[32768]
    assert abs(excess / 1e5 - 1) < 0.1, excess


def test_writes_that_copy_the_rest():
    """In proportion to what they leave of 16 KiB, and no other way."""
    def times(ns, page=16384, sizes=(1024, 2048, 4096, 8192, 16384, 32768)):
        return {size: 3e6 + max(size - page, 0) * 150 + ns * max(page - size, 0) / page
                for size in sizes}
    assert abs(partial_pages.of_writes(times(2.5e6), 16384) / 2.5e6 - 1) < 1e-6
    assert partial_pages.of_writes(times(2.5e6), 32768) == 0   # that is not the page
    assert partial_pages.of_writes(times(5e5), 16384) == 0     # little
    assert partial_pages.of_writes(times(-2e6), 16384) == 0    # small ones are quicker
    assert partial_pages.of_writes(times(2.5e6, sizes=(4096, 8192)), 16384) == 0
    assert partial_pages.of_writes(times(2.5e6, sizes=(8192, 16384)), 16384) == 0
    assert partial_pages.of_writes(times(2.5e6, sizes=(1024, 2048, 4096, 8192)), 16384) == 0
    step = {size: 6e6 if size < 8192 else 3e6 for size in (1024, 2048, 4096, 8192, 16384)}
    assert partial_pages.of_writes(step, 16384) == partial_pages.of_writes({}, 16384) == 0


def test_the_datasheet_says_so():
    def told(points, unit=None):
        found = Found(points, unit=unit)
        return " ".join(datasheet.sentences(found)), datasheet.to_json(found)["read_rest"]
    text, json = told(fetching(8192, 3e5))
    assert "up to a multiple of 8 KiB, which takes up to 300 us." in text
    assert json["bytes"] == 8192 and abs(json["ns"] / 3e5 - 1) < 0.1, json
    points = reads(lambda begin, align: 5e5 + 1e5 * (align >= 4 * MIB and begin < align))
    text, json = told(points, 4 * MIB)
    assert "up to the end of a unit takes 100 us longer." in text and json is None, text
    assert "the end of a unit" not in told(points)[0]
    text, json = told(reads(lambda begin, align: 5e5), 4 * MIB)
    assert "fetches" not in text and "the end of a unit" not in text and json is None, text


def test_candidates_have_what_reads_show():
    """All of them but a block map, which has no such time."""
    rest = replace(SEGMENT, rest=8192, rest_copied=True, ends=True)
    ns = dict(TIMES) | {"ftl.rest_read": 2.5e5, "ftl.rest_write": 2e6, "ftl.end_read": 3e5}
    m = measured(rest, [ns[t.key] for t in times_of(rest)])
    found = rules.candidates(m)
    assert all(s.rest == (0 if s.strategy == "block" else 8192) and
               s.ends == (s.strategy == "segment") and
               s.rest_copied == (s.strategy != "block") for s in found), found
    first = first_of(found[0], m)
    assert abs(first["ftl.rest_read"] / 2.5e5 - 1) < 0.1, first
    assert abs(first["ftl.end_read"] / 3e5 - 1) < 0.2, first
    assert 1e6 < first["ftl.rest_write"] < 5e6 and first["ftl.part_write"] == 0, first
    unit = 2 * MIB
    for s, wanted in ((replace(SEGMENT, strategy="block"), (0, False, False)),
                      (replace(PAGE, page=16384), (8192, True, False)),
                      (SEGMENT, (8192, True, True))):
        got = rules._with_rests([s], curves(m.points), m.points, unit)
        assert [(f.rest, f.rest_copied, f.ends) for f in got] == [wanted], got
    for s in (SEGMENT, PAGE):  # small writes to units without a cache take longer anyway
        plain = rules.candidates(measured(s))
        assert plain and not any(f.rest or f.ends or s is PAGE and f.rest_copied for f in plain)
        assert "ftl.rest_read" not in first_of(plain[0], m)


def test_writes_that_probe_has_measured():
    """They merge units, which looks alike."""
    s = replace(SEGMENT, rest_copied=True)
    m = measured(s, [(dict(TIMES) | {"ftl.rest_write": 2e6})[t.key] for t in times_of(s)])
    single = make_point("request", [1e6], op="read", bs=4096, start=0, stride=4096, count=16)
    for points, copied in ((m.points, True), ((*m.points, single), False)):
        found = rules.candidates(replace(m, points=points))
        assert found and all(f.rest_copied == copied for f in found), (copied, found)


def test_keys():
    for s in (SEGMENT, PAGE):
        keys = profile_keys(s, [TIMES[t.key] for t in times_of(s)])
        rest = {"ftl.rest_read", "ftl.rest_align", "ftl.end_read", "ftl.rest_write"}
        assert not rest & {*keys, *(t.key for t in times_of(s))}
        s = replace(s, rest=4096)
        times = dict(TIMES) | {"ftl.rest_read": 1234.0}
        keys = profile_keys(s, [times[t.key] for t in times_of(s)])
        assert keys["ftl.rest_read"] == "1234ns" and keys["ftl.rest_align"] == "4096"
        assert not {"ftl.end_read", "ftl.rest_write"} & set(keys)
        keys = profile_keys(replace(s, rest=0, rest_copied=True), [
            (dict(TIMES) | {"ftl.rest_write": 5e6})[t.key]
            for t in times_of(replace(s, rest=0, rest_copied=True))])
        assert keys["ftl.rest_write"] == "5000000ns" and "ftl.rest_read" not in keys


def test_a_fit_finds_them():
    """On devices with pages and with units."""
    for s, wanted in ((replace(SEGMENT, rest=8192, ends=True),
                       {"ftl.rest_read": 3e5, "ftl.end_read": 4e5}),
                      (replace(PAGE, rest=16384), {"ftl.rest_read": 2e5}),
                      (replace(SEGMENT, rest_copied=True), {"ftl.rest_write": 3e6})):
        times = dict(TIMES) | wanted
        m = measured(s, [times[t.key] for t in times_of(s)])
        found = fitting.fit(Tool(), m, 300, 1, 2, trust=False)
        got = dict(zip((t.key for t in times_of(found.structure)), found.values))
        assert (found.structure.rest, found.structure.ends) == (s.rest, s.ends), found.structure
        assert found.structure.rest_copied or not s.rest_copied
        assert all(abs(got[key] / ns - 1) < 0.15 for key, ns in wanted.items()), got
        assert found.all.median < 0.03, found.all
        told = fit_result.provenance(found, m, "ftl.rest_align", "x.json")
        assert told.startswith("x.json: what explains best"), told


run(globals())
