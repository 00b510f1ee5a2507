#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""What a measurement says without a fit, how many figures it has, and about what they speak."""

import json
import os
from pathlib import Path

from flashemu_lab_bench import bad, good, lab, opens_short, read, write
from flashemu_script import run

from flashemu_lab.measurement import figures, schema
from flashemu_lab.measurement.schema import Measurement, make_point
from flashemu_lab.probe import datasheet, speaking
from flashemu_lab.probe.speaking import Sizes
from flashemu_lab.probe.tests import unit_reads

KIB, MIB = 1 << 10, 1 << 20

# flashbench -a of a card, as somebody has published it.
CARD = """\
$ sudo flashbench -a /dev/sdb --blocksize=1024 --count=10
align 68719476736	pre 361µs	on 608µs	post 286µs	diff 285µs
align 34359738368	pre 375µs	on 617µs	post 335µs	diff 262µs
align 17179869184	pre 365µs	on 566µs	post 355µs	diff 206µs
align 8589934592	pre 297µs	on 514µs	post 289µs	diff 221µs
align 4194304	pre 299µs	on 508µs	post 286µs	diff 216µs
align 2097152	pre 289µs	on 494µs	post 279µs	diff 210µs
align 1048576	pre 286µs	on 304µs	post 286µs	diff 18µs
align 524288	pre 286µs	on 304µs	post 286µs	diff 18µs
align 65536	pre 286µs	on 304µs	post 286µs	diff 18µs
align 16384	pre 286µs	on 304µs	post 286µs	diff 18µs
align 8192	pre 286µs	on 334µs	post 286µs	diff 48µs
align 4096	pre 286µs	on 290µs	post 286µs	diff 4µs
align 2048	pre 286µs	on 290µs	post 286µs	diff 4µs
"""


def fio(op, pattern, bs, value=1e6, procedure="fio-rate", depth=1, **more):
    return make_point(procedure, [value], op=op, pattern=pattern, bs=bs, depth=depth, jobs=1,
                      direct=True, **more)


def row(align, beside_us, on_us):
    return [make_point("flashbench-align", [us * 1e3], align=align, bs=1024, place=place)
            for place, us in (("pre", beside_us), ("on", on_us), ("post", beside_us))]


def reads(excess_us, aligns):
    """Rows of -a with so many us more across, by alignment."""
    return [p for align in aligns for p in row(align, 300, 300 + excess_us(align))]


def test_what_is_asked_twice_is_one_figure():
    dd = [make_point("dd", [v], op="write", bytes=n, bs=bs, offset=at, on="device")
          for v, n, bs, at in ((5e6, 200 * MIB, 4 * MIB, 0), (6e6, 1024 * MIB, 4 * MIB, 0),
                               (7e6, 200 * MIB, 4 * MIB, 64 * MIB))]
    assert figures.independent(dd) == 1
    assert figures.independent([*dd, make_point("dd", [5e5], op="write", bytes=10 * MIB,
                                                bs=4 * KIB, offset=0, on="device")]) == 2
    assert figures.independent([make_point("dd", [5e6], op="unknown", bytes=MIB)]) == 0
    assert figures.independent([make_point("content", [3.0], after="write", found="same", first=0,
                                           last=512)]) == 0


def test_rates_and_times_of_a_run_are_one_figure():
    one = fio("write", "random", 4 * KIB, job="a", size=MIB)
    assert figures.independent([one, fio("write", "random", 4 * KIB, 2e6, "fio-latency",
                                         job="b", size=8 * MIB)]) == 1
    synced = [fio("write", "random", 4 * KIB, 1e6, name, fsync=1)
              for name in ("fio-rate", "fio-latency", "fio-sync-latency")]
    assert figures.independent(synced) == 1 and figures.independent([one, *synced]) == 2
    for other in (fio("read", "random", 4 * KIB), fio("write", "sequential", 4 * KIB),
                  fio("write", "random", 8 * KIB), fio("write", "random", 4 * KIB, depth=2),
                  fio("write", "random", 4 * KIB, queue=True)):
        assert figures.independent([one, other]) == 2, other.text()
    load = [make_point(name, [1e6], op="read", pattern="random", bs=4 * KIB, size=MIB, **more)
            for name in ("load", "load-latency") for more in ({}, {"program": "diskspd"})]
    assert figures.independent(load) == 1


def test_a_row_of_reads_across_is_one_figure():
    assert figures.independent(reads(lambda align: 9, [4 * KIB, 8 * KIB, MIB])) == 3
    units = [make_point("flashbench-find-fat", [1e6], erasesize=4 * MIB, units=6, unit=n,
                        chunk=chunk) for n in range(6) for chunk in (MIB, 2 * MIB)]
    assert figures.independent(units) == 2


def test_one_to_seven_figures():
    sizes = [4 * KIB << i for i in range(8)]
    for count in range(1, 9):
        some = [fio("write", "sequential", bs) for bs in sizes[:count]]
        assert figures.independent(some + some) == count


def test_reads_across_speak_about_what_they_reach():
    told = speaking.told(reads(lambda align: 9, [4 * KIB, 8 * KIB, 16 * KIB, 512 * KIB, MIB]))
    assert told.page == Sizes(4 * KIB, 16 * KIB) and told.unit is None  # two rungs are no ladder
    assert not told.map and not told.open_linear and not told.structure
    told = speaking.told(reads(lambda align: 9, [8 * KIB, 16 * KIB, 512 * KIB, MIB, 2 * MIB]))
    assert told.page is None and told.unit == Sizes(512 * KIB, 2 * MIB)
    assert told.unit.has(512 * KIB) and told.unit.has(2 * MIB) and not told.unit.has(4 * MIB)
    assert not told.unit.has(256 * KIB)
    half = [p for p in reads(lambda align: 9, [128 * KIB, 256 * KIB, MIB])
            if dict(p.parameters)["place"] != "on"]
    assert speaking.told(half).unit is None


def test_writes_of_one_size_tell_no_structure():
    some = [fio("write", "random", 4 * KIB, depth=n) for n in range(1, 17)]
    assert figures.independent(some) == 16 and len(speaking.told(some).untold()) == 5
    both = speaking.told([*some, fio("write", "sequential", 4 * KIB)])
    assert both.map and both.page is None and both.unit is None


def test_reads_tell_nothing_of_writes():
    some = [fio("read", order, 4 * KIB << i) for order in ("random", "sequential")
            for i in range(8)]
    assert len(speaking.told(some).untold()) == 5


def test_writes_in_order_tell_no_unit():
    told = speaking.told([fio("write", "sequential", 4 * KIB << i) for i in range(11)])
    assert told.page == Sizes(4 * KIB, 64 * KIB) and told.unit is None and not told.map
    # of other runs each: no two differ in nothing but the size
    told = speaking.told([fio("write", "sequential", 4 * KIB << i, depth=1 + i) for i in range(5)])
    assert told.page is None


def test_random_writes_tell_a_unit_as_far_as_they_reach():
    told = speaking.told([fio("write", "random", bs) for bs in (8 * KIB, 32 * KIB, MIB)])
    assert told.unit == Sizes(8 * KIB, MIB) and told.map and told.page is None
    assert told.untold() == ["how large a page is", "how many units are open in order",
                             "how many units are open in random order"]
    cached = [make_point("fio-rate", [1e6], op="write", pattern="random", bs=bs, depth=1, jobs=1,
                         direct=False) for bs in (8 * KIB, 32 * KIB, MIB)]
    assert speaking.told(cached).unit is None


def test_rows_of_open_units_speak_about_their_order():
    def rows(*open_random):
        return [make_point("flashbench-open-au", [1e6], erasesize=4 * MIB, open=n, random=order,
                           chunk=chunk)
                for n, order in open_random for chunk in (16 * KIB, 32 * KIB, 64 * KIB)]
    told = speaking.told(rows((1, False), (2, False)))
    assert told.open_linear and not told.open_random and told.map
    assert told.unit == Sizes(1, 4 * MIB) and told.page == Sizes(16 * KIB, 64 * KIB)
    told = speaking.told(rows((1, True), (3, True)))
    assert told.open_random and not told.open_linear
    told = speaking.told(rows((1, False)))
    assert not told.open_linear and told.unit is None and not told.map


def test_a_step_of_reads_across():
    """5 us up to 1 MiB, 50 us from 2 MiB on."""
    aligns = [4 * KIB << i for i in range(16)]      # to 128 MiB
    found = unit_reads.step_from(reads(lambda align: 50 if align >= 2 * MIB else 5, aligns))
    assert found == (2 * MIB, 50e3, 5e3), found
    assert unit_reads.step_from(reads(lambda align: 5, aligns)) is None
    # 12 us of 300 would be 4 %
    assert unit_reads.step_from(reads(lambda align: 11 if align >= 2 * MIB else 0, aligns)) is None
    assert unit_reads.step_from(
        reads(lambda align: 13 if align >= 2 * MIB else 0, aligns))[0] == 2 * MIB
    # a step of two, at 512 KiB of 3 times and at 8 MiB of 4 times
    found = unit_reads.step_from(reads(
        lambda align: 240 if align >= 8 * MIB else 60 if align >= 512 * KIB else 20, aligns))
    assert found == (8 * MIB, 240e3, 60e3), found
    # one row that is no step: those behind it are as those in front of it
    assert unit_reads.step_from(reads(lambda align: 90 if align == 2 * MIB else 5, aligns)) is None


def test_a_step_needs_two_rows_on_each_side():
    """One row that takes longer, or one that does not, may be chance."""
    four = [KIB << i for i in range(8, 12)]     # 256 KiB to 2 MiB

    def step(at, aligns):
        return unit_reads.step_from(reads(lambda align: 50 if align >= at else 5, aligns))
    assert step(MIB, four) == (MIB, 50e3, 5e3)
    assert step(512 * KIB, four) is None and step(2 * MIB, four) is None
    assert step(MIB, four[:3]) is None and step(MIB, four[1:]) is None
    # behind 64 MiB rows count only where there are fewer than two without them
    far = [MIB << i for i in range(3, 8)]       # 8 to 128 MiB
    assert step(64 * MIB, far) == (64 * MIB, 50e3, 5e3)
    assert step(128 * MIB, [*far, 256 * MIB]) is None


def test_reads_across_of_a_card():
    write("card.txt", CARD)
    good("import", "card.txt", "-o", "card.json")
    told = good("datasheet", "card.json", "-o", "card.html")
    assert "reads 8 KiB at a time" in told and "unit is probably 2 MiB" in told, told
    assert "at least 210 us longer" in told and "at most 48 us" in told
    assert "begin at a multiple of 2 MiB or of 4 MiB" in told
    assert "The measurement does not show whether writes are mapped by pages or by units" in told
    assert "`flashemu-lab probe /dev/sdX -o PROBED.json --destroy SIZE`" in told
    assert "min on a slow stick" in told and told.endswith("card.html\n")
    page = read("card.html")
    assert opens_short(page, figures=0)
    assert "unit is probably 2 MiB" in page and "flashemu-lab datasheet" in page
    assert "slow stick" in page and "0 bytes" not in page
    # A measurement need not say what made it; an axis has GiB, too.
    anonymous = json.loads(read("card.json"))
    del anonymous["made_by"]
    write("anonymous.json", json.dumps(anonymous))
    good("datasheet", "anonymous.json", "-o", "anonymous.html")
    assert '<p class="notes"><code>flashemu verify' in read("anonymous.html")
    assert datasheet._short(1 << 30) == "1G"  # pylint: disable=protected-access
    found = json.loads(good("datasheet", "card.json", "--json"))
    assert (found["page"], found["unit"], found["unit_by_reads"]) == (8 * KIB, None, 2 * MIB)
    assert found["figures"] == 13 and found["points"] == 52 and len(found["untold"]) == 3
    assert found["open_linear"] is None and "flashemu-lab probe" in found["next"]


def test_a_measurement_that_says_nothing():
    schema.save(Measurement((fio("read", "random", 4 * KIB),), "x", 512 * MIB), Path("one.json"))
    told = good("datasheet", "one.json")
    assert told.startswith("Nothing follows from these measurements.\nOne figure is too few for "
                           "a profile (at least 8), and the measurement does not show how "
                           "large a page is, "), told
    assert "--destroy 536870912`" in told and "--read-only" in told
    assert not os.path.exists("one.html")


def test_mistakes():
    schema.save(Measurement((fio("read", "random", 4 * KIB),), "x"), Path("one.json"))
    bad("-o one.json: is one of the inputs", "datasheet", "one.json", "-o", "one.json")
    bad("-o one.txt: expected a name that ends in .html", "datasheet", "one.json", "-o", "one.txt")
    bad("nope.json: No such file", "datasheet", "nope.json")
    assert lab("datasheet")[0] == 2


def test_sizes_on_an_axis():
    for count, wanted in ((1000, "1000"), (1023, "1023"), (1024, "1K"), (1536, "1.5K"), (65536, "64K"),
                          (999 << 10, "999K"), (1 << 20, "1M"), (5 << 19, "2.5M"), (3 << 20, "3M")):
        assert datasheet._short(count) == wanted, (count, datasheet._short(count))


run(globals())
