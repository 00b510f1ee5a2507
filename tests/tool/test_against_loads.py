#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""flashemu verify --against: loads of benchmarks, by a host with a command queue and without."""

import json

from flashemu_against import against, document, point, sets, small_card
from flashemu_script import run
from flashemu_tool import SCHEDULE, call, write

FILE = 4 << 20


def fio(procedure="fio-rate", unit="bytes/s", **more):
    return point(procedure, 1, unit, **{"op": "read", "pattern": "random", "bs": 4096, "depth": 2,
                                        "jobs": 1, "size": FILE, **more})


CARD_OF_TODAY = ["link.queue_depth=4", "link.task_overhead=90us", "link.command_overhead=300us",
                 "cache.size=64K", "cache.write_behind=64K"]
WITH, WITHOUT = ["link.queue=in-order"], ["link.queue=off", "cache.mode=off"]


def rates(*points, args=WITH):
    found = against(*points, device=small_card(), args=[*CARD_OF_TODAY, *args])[0]
    assert [p["state"] for p in found] == ["measured"] * len(points), found
    return [p["measured"] for p in found]


def test_a_host_with_and_without_the_queue():
    """One profile tells both columns: what is said of the queue makes another host."""
    how = {"size": 2 << 20, "depth": 4}
    for op, pattern in (("read", "random"), ("write", "random"), ("read", "sequential"),
                        ("write", "sequential")):
        how |= {"op": op, "pattern": pattern}
        (plain,), (without,) = rates(fio(**how)), rates(fio(**how), args=WITHOUT)
        assert plain > 1.1 * without, (op, pattern, plain, without)
        assert rates(fio(**how, queue=True)) == [plain]
        assert rates(fio(**how, queue=False)) == [without]
        assert rates(fio(**how, queue=False), fio(**how, queue=True)) == [without, plain]
    load = {k: v for k, v in how.items()} | {"bs": 4096}
    assert rates(point("load", 1, **load, queue=False)) == [without]


def test_each_host_has_a_device_of_its_own():
    """What is written without the queue leaves nothing behind for the host with it."""
    how = {"op": "write", "pattern": "random", "size": 8 << 20}
    first, again, third = rates(*(fio(**how, depth=d) for d in (1, 2, 3)))
    assert rates(fio(**how, depth=1), fio(**how, depth=2, queue=False),
                 fio(**how, depth=2), fio(**how, depth=3))[::2] == [first, again]
    assert rates(fio(**how, depth=1, queue=True), fio(**how, depth=2), fio(**how, depth=3)) == [
        first, again, third]
    off = rates(*(fio(**how, depth=d) for d in (1, 2)), args=WITHOUT)
    assert rates(fio(**how, depth=3), fio(**how, depth=1, queue=False),
                 fio(**how, depth=2, queue=False))[1:] == off
    # the device's clocks count together
    points = [fio(**how, depth=d, queue=False) for d in (1, 2)]
    write("my.json", document(*points))
    done, stopped = sets([{"set": []}, {"set": [], "time": 10**9}], small_card())
    assert done["state"] == "done" and None not in done["measured"]
    assert stopped["state"] == "stopped" and stopped["measured"][1] is None, stopped


def test_reads_find_a_file_that_was_laid_out():
    """Each size and each host has its own; that other reads went before changes nothing else."""
    how = {"op": "read", "pattern": "random", "depth": 1}
    slow = ["nand.tR=500us", *WITH]
    small, large = fio(**how, size=2 << 20), fio(**how, size=8 << 20)
    (alone,), (large_alone,) = rates(small, args=slow), rates(large, args=slow)
    assert alone < 4096e9 / 500e3 and large_alone < 4096e9 / 500e3  # its pages are read
    assert rates(small, large, small, args=slow) == [alone, large_alone, alone]
    off = fio(**how, size=2 << 20, queue=False)
    (without,) = rates(off, args=slow)
    assert rates(small, off, small, args=slow)[1] == without
    # pages that were written in random order lie on any of the dies
    dies = ["nand.dies_per_channel=4", *slow]
    in_order = fio(op="read", pattern="sequential", bs=65536, size=4 << 20, depth=1)
    wide = fio(op="read", pattern="sequential", bs=65536, size=8 << 20, depth=1)
    scattered = fio(op="write", pattern="random", size=4 << 20, depth=1)
    (laid_out,), (wide_alone,) = rates(in_order, args=dies), rates(wide, args=dies)
    found = rates(scattered, in_order, wide, fio(**how, size=2 << 20, queue=False), args=dies)
    assert found[1] < 0.8 * laid_out and found[2] == wide_alone, (found, laid_out)
    assert rates(in_order, scattered, args=dies)[0] == laid_out
    # writes that are given up after 30 s leave no file
    late = [*dies, "nand.tPROG=100ms"]
    (wide_alone,) = rates(wide, args=late)
    given_up = fio(op="write", pattern="random", size=8 << 20, depth=1)
    assert rates(given_up, wide, args=late)[1] == wide_alone
    # the same once more finds the part of the map that the last request needed, and nothing else
    again = rates(small, fio(**how, size=2 << 20, job="x"), args=slow)
    assert again[0] == alone and 0 <= again[1] / alone - 1 < 0.01, again


def iozone(test, **more):
    return point("iozone", 1, **{"test": test, "file": FILE, "bs": 4096, "direct": True,
                                 "fsync": True, **more})


def test_fio_and_iozone():
    """They are loads: on a file at the start of the device, past the page cache."""
    write("card.ini", SCHEDULE.replace("256M", "64M") % 32 + "i = iozone-rand-read bs=4K "
          "size=4M | 1 MB/s | 1%\n")
    own = {r["id"]: r["measured"] for r in json.loads(
        call("verify", "card.ini", "--json", "--kernel", "none")[1])["rows"]}

    def load(pattern="random", op="read", depth=1, size=FILE, bs=4096):
        return point("load", 1, op=op, pattern=pattern, bs=bs, size=size, depth=depth)

    def measured(*points, args=()):
        found = against(*points, args=args)[0]
        assert [p["state"] for p in found] == ["measured"] * len(points), found
        return [p["measured"] for p in found]
    one, two, four, whole, in_order = measured(
        load(), load(depth=2), load(depth=4, size=4 * FILE), load(depth=2, size=64 << 20),
        load(pattern="sequential"))
    assert one < two != four
    assert measured(fio()) == [two] and measured(fio(direct=True, job="x")) == [two]
    assert measured(fio(jobs=4, depth=1)) == [four]
    assert measured(fio(pattern="sequential", depth=1)) == [in_order]
    # a file whose size nobody has said is as large as the device if that is less than 256 MiB
    without = fio()
    del without["parameters"]["size"]
    assert measured(without) == [whole]
    rate, latency = measured(fio(), fio("fio-latency", "ns"))
    assert abs(2 * 4096e9 / latency / rate - 1) < 1e-6
    assert measured(iozone("random-read")) == [one] and abs(one / 1e6 - own["i"]) < 1e-5
    assert measured(iozone("random-read", jobs=2, file=FILE // 2)) == [two]
    assert measured(iozone("read")) == measured(iozone("reread")) == [in_order]
    # fsync costs what is still in the cache
    cached = ["cache.size=1M", "cache.volatile=yes"]
    for test in ("write", "rewrite", "random-write"):
        quick, with_flush = (measured(iozone(test, fsync=f), args=cached)[0]
                             for f in (False, True))
        assert with_flush < quick, test
    assert measured(iozone("write", fsync=False)) == measured(load("sequential", "write"))
    # where the order matters
    units = [against(p, device="sandisk-su04g")[0][0]["measured"] for p in (
        load(op="write"), iozone("random-write", fsync=False), fio(op="write", depth=1),
        iozone("rewrite", fsync=False), load("sequential", "write"))]
    assert units[0] == units[1] == units[2] < units[3] == units[4], units


def test_fio_and_iozone_that_nothing_repeats():
    small_card()
    left = (fio(direct=False), fio(share=30), fio(op="trim"), fio(jobs=65), fio(depth=65),
            fio(depth=33, jobs=2), fio(jobs=2, pattern="sequential"), fio(bs=4, size=64 << 20),
            fio(bs=FILE * 2), fio(size=1 << 44, jobs=1 << 44), iozone("read", direct=False),
            iozone("stride-read"), iozone("freread"), iozone("write", jobs=2))
    points, _ = against(*left)
    assert [p["state"] for p in points] == ["left out"] * len(left), points
    reasons = [p["reason"] for p in points]
    assert reasons[:4] == ["went through the page cache", "is one side of a mixed job",
                           "is about TRIM", "has more than 64 requests in flight"], reasons
    write("my.json", document(fio(size=128 << 20)))
    code, out, _ = call("verify", "card.ini", "--against", "my.json")
    assert code == 1 and "size=134217728: does not fit the device of 67108864" in out, out


run(globals())
