#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Rivals of a fit are ranked by all that a probe has asked."""

import math
from dataclasses import replace
from pathlib import Path

from flashemu_lab_bench import FLASHEMU  # noqa: F401
from flashemu_script import run

from flashemu_lab.cli import fit as fit_command
from flashemu_lab.core.errors import LabError
from flashemu_lab.fit import fit_result, fitting, judging
from flashemu_lab.fit.compare import BASE
from flashemu_lab.fit.model import Structure, changes, profile_keys, times_of
from flashemu_lab.fit.search import Fit, repaged, start
from flashemu_lab.measurement import schema
from flashemu_lab.measurement.schema import make_point, Measurement
from flashemu_lab.probe import conversation, session
from flashemu_lab.runs.program import Tool

MIB = 1 << 20
TRUE = Structure("segment", 480 * MIB, 8 << 10, 2 * MIB, open_linear=4, open_random=3,
                 switch_merge=True, limit=120 << 10)


def a_fit(s, error=0.1, faster=1.0):
    """With times of some card."""
    values = [t.most / 2 if t.key in ("nand.bus_rate", "link.bandwidth") else
              800000 / faster if t.key == "nand.tPROG" else 0 if t.zero else t.least * 4
              for t in times_of(s)]
    return replace(start(s, values), error=error)


def recorded(f, path="t.trace", more=()):
    """What a device with these parameters was asked."""
    Path("base.ini").write_text(BASE.format(strategy=f.structure.strategy))
    keys = changes(profile_keys(f.structure, f.values()))
    Tool().ask("replay", "base.ini", *keys, "gen:random,op=write,bs=8K,count=300,size=32M",
               "gen:sequential,op=write,bs=64K,count=200", "gen:random,count=100,size=32M",
               *more, "--record", path)
    return Path(path)


def test_the_device_itself_comes_first():
    """Whatever the error of the search is."""
    true = a_fit(TRUE, error=0.09)
    trace = recorded(true)
    fewer, page = replace(TRUE, open_random=1), replace(TRUE, page=4 << 10)
    none = replace(TRUE, unit=3 << 9)
    for jobs in (1, 3):
        got = judging.Conversation(Tool(), trace, jobs).judge(
            [a_fit(none, 0.01), a_fit(fewer, 0.02), true, a_fit(page, 0.03),
             a_fit(TRUE, 0.01, 1.1)])
        assert [r.fit for r in got][0] is true and got[0].score == got[0].error == 0, got
        assert got[-1].fit.structure == none and math.isinf(got[-1].score), got
        assert all(0 < a.score < b.score for a, b in zip(got[1:], got[2:])), got
        assert all(r.worst.startswith(("writes", "reads")) and r.error >= r.score
                   for r in got[1:-1]), got


def test_details_of_keys_are_judged():
    """Groups and zones have keys such as ftl.scattered_policy:stay."""
    groups = replace(TRUE, group=4, scattered=16, stay=12, hot=8, small_log=10, small_write=4 << 10,
                     zone_start=4, zone_units=4)
    true = a_fit(groups)
    got = judging.Conversation(Tool(), recorded(true, "groups.trace"), 1).judge(
        [a_fit(replace(groups, zone_units=0, zone_start=0)), true])
    assert got[0].fit is true and got[0].score == 0 and math.isfinite(got[1].score), got


def test_small_steps_lead_to_the_device():
    """From three numbers that are wrong: the structure whole, the times to half of it and more."""
    true = a_fit(TRUE)
    talk = judging.Conversation(Tool(), recorded(true), 2)
    off = a_fit(replace(TRUE, open_random=TRUE.open_random + 2))
    off = replace(off, x=(off.x[0] + 0.25, off.x[1] - 0.13, *off.x[2:]))
    begun, asked = talk.judge([off])[0], []

    def move(fit):
        asked.append(fit.structure.open_random)
        return [replace(fit, structure=replace(fit.structure, open_random=n)) for n in (1, 2, 3, 4)]

    got = talk.nearer(begun, [move, lambda fit: []])
    assert got.fit.structure == TRUE and got.score < 0.05 * begun.score, (begun, got)
    assert all(abs(a - b) < 0.08 for a, b in zip(got.fit.x[:2], true.x)), (got.fit.x, true.x)
    assert 1 < len(asked) <= 4 and asked[0] == TRUE.open_random + 2, asked
    # The device itself stays, whatever is beside it; so does one beside which there is none.
    best = talk.judge([true])[0]
    assert talk.nearer(best, [move]) is best
    assert talk.nearer(begun, [lambda fit: [a_fit(replace(TRUE, unit=3 << 9))]]).score < begun.score


def value(f, key):
    return dict(zip((t.key for t in f.known), f.values()))[key]


def with_value(f, key, ns):
    k = [t.key for t in f.known].index(key)
    return replace(f, x=(*f.x[:k], f.known[k].to_x(ns), *f.x[k + 1:]))


def test_a_time_that_is_far_off():
    """One that may be 0 is left out, or is sought far from where small steps end."""
    true = with_value(a_fit(TRUE), "ftl.map_switch", 2e6)
    talk = judging.Conversation(Tool(), recorded(true, more=(
        "gen:random,op=write,bs=2K,count=100,size=32M",)), 2)
    off = with_value(with_value(true, "ftl.map_switch", 3e4), "ftl.part_write", 4e6)
    begun = talk.judge([off])[0]
    got = talk.nearer(begun, [])
    assert value(got.fit, "ftl.part_write") < 2e4 and value(got.fit, "ftl.map_switch") > 1e6, got.fit.values()
    assert got.score < begun.score / 2, (begun.score, got.score)


def test_one_leaps_to_pages_that_need_times_of_their_own():
    """Four parts side by side of 4 KiB each are no page of 16 KiB that is programmed as a whole,
    however long that takes; no small step leads from one to the other."""
    true = a_fit(replace(TRUE, page=4 << 10, parts=4))
    talk = judging.Conversation(Tool(), recorded(true, more=(
        "gen:sequential,op=write,bs=1K,count=300",)), 2)
    begun = talk.judge([a_fit(replace(TRUE, page=16 << 10, parts=16))])[0]
    got = talk.nearer(begun, [], lambda f: [n for n in repaged(f) if n.structure.page == 4 << 10])
    assert (got.fit.structure.page, got.fit.structure.parts, got.score) == (4 << 10, 4, 0), (begun.score, got.score, got.fit.structure.page, got.fit.values())


def test_a_trace_that_no_device_can_replay():
    trace = recorded(a_fit(TRUE))
    other = replace(TRUE, capacity=482 * MIB)
    try:
        judging.Conversation(Tool(), trace, 1).judge([a_fit(other)])
        raise AssertionError
    except LabError as e:
        assert "the trace is of a device of 503316480 bytes, and this one has 505413632" in str(e)


class Talk:
    """A conversation with known scores, by the page in KiB."""

    def __init__(self, scores):
        self.scores, self.asked = scores, []

    def judge(self, fits):
        self.asked.append([f.structure.page >> 10 for f in fits])
        return sorted((judging.Rival(f, self.scores[f.structure.page >> 10], "reads", 1.0)
                       for f in fits), key=lambda r: r.score)


def ranked(talk, *pages):
    """The pages in the order in which `_ranked` gives them, and those that got times."""
    finished = []
    one = object.__new__(fitting.Fitting)
    one._conversation = talk
    one._comparer = type("Here", (), {"side_by_side": lambda self, f, items: list(map(f, items))})()
    one._finished = lambda f: finished.append(f.structure.page >> 10) or f
    got = one._ranked([Fit(replace(TRUE, page=p << 10), (float(i),), 0.1)
                       for i, p in enumerate(pages)])
    return [(r.fit.structure.page >> 10, r.fit.x[0]) for r in got], finished


def test_the_nearest_rivals_get_times():
    """Of four rivals the nearest two; of two with one structure the first counts."""
    talk = Talk({2: 0.7, 4: 0.5, 8: 0.3, 16: 0.2, 32: 0.9})
    got, finished = ranked(talk, 4, 8, 2, 4, 16, 32)
    assert finished == [16, 8], finished
    assert got == [(16, 4.0), (8, 1.0), (4, 0.0)], got
    assert ranked(Talk({4: 0.5}), 4, 4) == ([(4, 0.0)], [])


def test_what_is_said():
    rivals = [judging.Rival(a_fit(TRUE), 0.0312, "writes apart by 4 KiB", 0.2),
              judging.Rival(a_fit(replace(TRUE, page=4096)), 0.25, "flushes", 0.9)]
    f = fitting.Fitted(TRUE, [], errors=[0.1], measured=[], rivals=rivals)
    first, second = fit_result.by_conversation(f)
    assert first == ("Judged by all that the device was asked, it scores 0.031, where the device "
                     "itself has 0; it is farthest off at writes apart by 4 KiB."), first
    assert second.startswith("Next comes, with 0.250: ") and "4 KiB" in second, second
    f.rivals = [rivals[0], replace(rivals[1], score=math.inf)]
    assert len(fit_result.by_conversation(f)) == 1
    f.rivals = []
    assert fit_result.by_conversation(f) == []


def test_which_conversation():
    """That beside the measurement of a probe, if it is whole."""
    path = Path("m.json")
    m = Measurement((make_point("request", [1.0], op="read", bs=512, start=0, stride=0, count=1),),
                    "", 12345678, "", "", session.MADE_BY + "1")
    schema.save(m, path)
    assert fit_command._conversation(path, m) is None
    one = conversation.begun(Path("m.trace"), "1", "x", 12345678)
    for capacity, whole in ((12345678, False), (12345678, True), (12345679, False)):
        if whole:
            one.end()
        m = replace(m, capacity=capacity)
        try:
            assert fit_command._conversation(path, m) == Path("m.trace") and whole
        except LabError as e:
            assert not whole and "m.trace: is not the whole conversation of m.json" in str(e), e
    assert fit_command._conversation(path, replace(m, made_by="flashemu-lab import 1")) is None


run(globals())
