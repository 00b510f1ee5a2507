#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Requests of the tests of `probe`, and conclusions from points by hand."""

import os
from pathlib import Path

from flashemu_lab_bench import FLASHEMU  # noqa: F401
from flashemu_script import run

from flashemu_lab.core.errors import LabError
from flashemu_lab.fit import from_probe
from flashemu_lab.measurement.schema import make_point
from flashemu_lab.probe import target
from flashemu_lab.probe.tests import behaviour, partial_pages, structure, unit_pairs

KIB, MIB = 1 << 10, 1 << 20


def near(got, want, slack=1e-6):
    assert abs(got - want) <= slack * max(1, abs(want)), (got, want)


def keys(test):
    return [tuple(how[n] for n in ("op", "bs", "start", "stride", "count")) for _, how in test.keys]


def test_reads_around_pages():
    """Before, across and behind odd multiples of 1 to 64 KiB, behind a quarter of the device."""
    got = structure.page_reads(64 * MIB)
    begin = 16 * MIB
    assert keys(got) == [("read", KIB, begin + size - before, 2 * size, 12)
                         for size in (KIB << i for i in range(7)) for before in (1024, 512, 0)]
    assert all(how["median"] for _, how in got.keys) and len(got.requests) == 21 * 12
    assert [r.offset for r in got.requests[12:15]] == [begin + 512, begin + 2560, begin + 4608]


def test_many_small_writes():
    """256 for each of three points, none of them where another one was."""
    got = behaviour.logged(4096, 64 * MIB)
    assert [how["count"] for _, how in got.keys] == [256] * 3 and got.merges == 256
    places = [r.offset for r in got.requests]
    assert len(set(places)) == 768 and places == sorted(places) and max(places) + 4096 <= 64 * MIB
    assert all((p - 288 * KIB) % (16 * KIB) == 0 for p in places)
    p = make_point("request", [1.0], **got.keys[0][1])
    assert behaviour.is_logged(p)


def test_granules():
    """Writes of four granules, of 1 to 32 KiB, shifted by half of one in the second of three."""
    found = {}
    for _, how in behaviour.scattered_wide(64 * MIB).keys:
        found.setdefault(how["bs"], []).append(how["start"])
    assert list(found) == [4 * KIB << i for i in range(6)]
    for bs, starts in found.items():
        assert [s % (bs // 4) for s in starts] == [0, bs // 8, 0], (bs, starts)


def test_units_of_a_pair():
    pair = unit_pairs.Pair(4 * MIB, 3 * MIB, 5 * MIB, 1.0)
    assert [pair.parted(u * MIB) for u in (1, 2, 3, 4, 6, 8)] == [True, True, False, True, False,
                                                                 False]


def test_where_a_rate_falls():
    """After four parts at 20 MB/s; the fifth is half at 20 and half at 5, which makes 8."""
    def parts(*rates):
        return [(i * MIB, MIB, r * 1e6) for i, r in enumerate(rates)]
    found = behaviour.knee(parts(20, 20, 20, 20, 8, 5, 5, 5))
    assert found is not None
    near(found[0], 4.5 * MIB)
    near(found[1], 20e6)
    near(found[2], 5e6)
    assert behaviour.knee(parts(20, 20, 20, 20, 19, 18, 20, 19)) is None
    # behind it the rate may go up and down
    found = behaviour.knee(parts(20, 20, 20, 20, 8, 5, 6, 5, 6, 5))
    assert found is not None and 4 * MIB < found[0] < 5 * MIB, found
    # one slow part between quick ones is no knee
    assert behaviour.knee(parts(20, 20, 20, 5, 20, 5, 20, 5)) is None


def test_what_is_fetched_together():
    """16 KiB are: a read takes 100 us, and 80 us more for what it leaves of them."""
    def read(align, place, bs=1024):
        end = align if place == "pre" else align + bs
        left = -end % (16 * KIB) / (16 * KIB)
        return make_point("flashbench-align", [1e5 + 8e4 * left], align=align, bs=bs, place=place)
    points = [read(1024 << i, place) for i in range(10) for place in ("pre", "post")]
    together, ns = partial_pages.of_reads(points)
    assert together == 16 * KIB
    near(ns, 8e4)
    assert partial_pages.of_reads(points[:7]) == (0, 0.0)
    flat = [make_point("flashbench-align", [1e5], align=1024 << i, bs=1024, place=place)
            for i in range(10) for place in ("pre", "post")]
    assert partial_pages.of_reads(flat) == (0, 0.0)


def test_what_a_write_copies():
    """200 us for each page that it leaves, besides 300 us."""
    times = {s * KIB: 3e5 + 2e5 * (1 - s / 16) for s in (1, 2, 4, 8, 16)}
    near(partial_pages.of_writes(times | {64 * KIB: 9e9}, 16 * KIB), 2e5)
    assert partial_pages.of_writes(times, 32 * KIB) == 0
    assert partial_pages.of_writes({s: 3e5 for s in times}, 16 * KIB) == 0


def test_devices_in_use():
    """The message names the part that is mounted, and where."""
    real, target._stat = target._stat, lambda path: type("S", (), {"st_rdev": os.makedev(8, 16)})
    try:
        for name in ("8:16", "8:16/sdb1"):
            os.makedirs("sys/dev/block/" + name)
        for path, text in (("dev", "8:16"), ("sdb1/dev", "8:17"), ("sdb1/partition", "1"),
                           ("removable", "1")):
            Path("sys/dev/block/8:16", path).write_text(text + "\n")
        mounts, swaps = Path("mounts"), Path("swaps")
        swaps.write_text("Filename Type\n")
        mounts.write_text("22 1 8:1 / / rw - ext4 /dev/sda1\n")
        assert target.refuse_in_use("/dev/sdb", Path("sys"), mounts, swaps) is None
        for number, name in (("8:17", "sdb1"), ("8:16", "8:16")):
            mounts.write_text(f"22 1 8:1 / / rw - ext4 /dev/sda1\n23 22 {number} / /mnt rw - x y\n")
            try:
                target.refuse_in_use("/dev/sdb", Path("sys"), mounts, swaps)
            except LabError as e:
                assert f"/dev/sdb: {name} is mounted at /mnt; allowed" in str(e), e
            else:
                raise AssertionError("a device that is in use is taken")
    finally:
        target._stat = real


class Told:
    """A program that answers this."""

    def ask(self, *words):
        assert words == ("gen", "x", "--capacity", "4096"), words
        return "# trace\n\n0 write 512 1024 stream=3\n7 read 2048 512 stream=1\n"


def test_requests_of_a_pattern():
    """Offset and length as they stand there; streams are numbered from 1, and points from 0."""
    assert structure.traced(Told(), "x", 4096) == (
        structure.Request("write", 512, 1024, 2), structure.Request("read", 2048, 512, 0))


def test_where_data_were_found():
    """The same, from another place, or a word; how far away only if the place is behind."""
    got = structure.contents(structure.link(8 * MIB), {
        4096: 4096, 8192: 8192, 12288: 4096, 16384: 65536, 20480: "zeros", 24576: "zeros"})
    assert [tuple(dict(p.parameters).get(n) for n in ("found", "first", "last", "distance"))
            for p in got] == [
        ("same", 4096, 8192, None), ("elsewhere", 12288, 12288, None),
        ("elsewhere", 16384, 16384, 49152), ("zeros", 20480, 24576, None)]
    assert [p.value for p in got] == [2, 1, 1, 2]


def test_reads_by_size():
    """A sixteenth of the device apart, and none that is so large itself."""
    got = structure.link(8 * MIB)
    assert keys(got) == [("read", 512 << i, 0, MIB, keys(got)[0][4]) for i in range(10)]
    assert len(structure.link(1024 * MIB).keys) == 11
    assert keys(structure.link(1024 * MIB))[0][3] == 64 * MIB


def test_what_a_merge_copies():
    """For each page of the unit."""
    real = from_probe.open_units.merge_from
    try:
        from_probe.open_units.merge_from = lambda points: 640.0
        assert from_probe.copied_ns((), 64) == 10
        from_probe.open_units.merge_from = lambda points: None
        assert from_probe.copied_ns((), 64) is None
    finally:
        from_probe.open_units.merge_from = real


run(globals())
