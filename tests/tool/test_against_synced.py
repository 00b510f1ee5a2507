#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""flashemu verify --against: writes with syncs behind them, and what dd was told."""

from flashemu_against import against, document, point, small_card
from flashemu_script import run
from flashemu_tool import call, write

FILE = 1 << 20
# A page takes 1 ms behind a cache that holds 64 of them.
CACHED = ["cache.size=256K", "cache.volatile=yes", "nand.tPROG=1ms", "link.command_overhead=100us"]


def fio(procedure="fio-rate", **more):
    how = {"op": "write", "pattern": "sequential", "bs": 4096, "depth": 1, "jobs": 1,
           "direct": True, "size": FILE, **more}
    return point(procedure, 1, "bytes/s" if procedure == "fio-rate" else "ns",
                 **{k: v for k, v in how.items() if v is not None})


def measured(*points, args=CACHED):
    found = against(*points, device=small_card(), args=args)[0]
    assert [p["state"] for p in found] == ["measured"] * len(points), found
    return [p["measured"] for p in found]


def reasons(*points, args=CACHED):
    found = against(*points, device=small_card(), args=args)[0]
    assert [p["state"] for p in found] == ["left out"] * len(points), found
    return [p["reason"] for p in found]


def test_a_flush_behind_each_write():
    # halves of pages
    plain, each, fourth = (measured(fio(bs=2048, fsync=n))[0] for n in (None, 1, 4))
    assert each < fourth < plain, (each, fourth, plain)
    each, = measured(fio(fsync=1))
    assert measured(fio(fdatasync=1)) == [each] and measured(fio(sync="dsync")) == [each]
    # each point is of the same run: the time of a write and of its sync are the time of both
    rate, write_ns, sync_ns = measured(fio(fsync=1), fio("fio-latency", fsync=1),
                                       fio("fio-sync-latency", fsync=1))
    assert rate == each and abs((write_ns + sync_ns) * rate / 4096e9 - 1) < 1e-4
    assert sync_ns > 1e6 > write_ns, (write_ns, sync_ns)
    # O_SYNC: a write has ended when its sync has
    synced, = measured(fio("fio-latency", sync="sync"))
    assert abs(synced / (write_ns + sync_ns) - 1) < 1e-6
    # behind four writes a sync has four pages to write
    rate, write_ns, sync_ns = measured(fio(fsync=4), fio("fio-latency", fsync=4),
                                       fio("fio-sync-latency", fsync=4))
    assert abs((4 * write_ns + sync_ns) * rate / (4 * 4096e9) - 1) < 1e-4
    # reads wait for nothing
    read = {"op": "read", "pattern": "random"}
    assert measured(fio(**read)) == measured(fio(**read, fsync=1))


def test_the_page_cache_has_nothing_to_gather():
    """Behind a sync for each write the device sees what it sees without a page cache."""
    each, = measured(fio(fsync=1))
    write_ns, sync_ns = measured(fio("fio-latency", fsync=1), fio("fio-sync-latency", fsync=1))
    assert measured(fio(fsync=1, direct=False)) == [each]
    both, = measured(fio("fio-sync-latency", fdatasync=1, direct=False))
    assert abs(both / (write_ns + sync_ns) - 1) < 1e-6
    assert measured(fio(fsync=1, direct=None)) == [each]
    cache, unknown = "went through the page cache", "does not say whether it went through the " \
        "page cache"
    assert reasons(fio("fio-latency", fsync=1, direct=False), fio(fsync=4, direct=False),
                   fio(fsync=1, direct=False, bs=2300),
                   fio("fio-sync-latency", fsync=1, direct=None),
                   fio("fio-latency", fsync=1, direct=None)) == [cache] * 3 + [unknown] * 2


def test_a_device_without_a_cache_gets_no_flush():
    none = ["nand.tPROG=1ms"]
    assert measured(fio(fsync=1), args=none) == measured(fio(), args=none)
    write("my.json", document(fio("fio-sync-latency", fsync=1)))
    code, out, _ = call("verify", small_card(), *none, "--against", "my.json")
    assert code == 1 and "the device has nothing to flush" in out, out


def test_what_is_left_out():
    other = {"depth": 4, "pattern": "random"}
    assert reasons(
        fio(fsync=1, **other), fio(rate=1 << 20), fio(beside=2), fio(distribution="zipf:1.1",
        pattern="random"), fio(percent=50), fio(bs=None, sizes="4096/60:65536/40"),
        fio("fio-sync-latency"), fio(gap=4096, pattern="random")) == [
        "has syncs with more than one request in flight", "sent its requests at a rate",
        "was measured beside another load", "has places of an uneven distribution",
        "is about a part of a device or file of unknown size", "has requests of several sizes",
        "does not say behind how many writes it synced",
        "leaves out bytes between requests in random order"]


def test_gaps_offsets_and_shared_files():
    # 28 KiB are left out behind each request, so units have holes; the region ends as it did
    plain, holes = (against(fio(gap=gap, size=8 << 20), device="sandisk-su04g")[0][0]["measured"]
                    for gap in (None, 28672))
    assert holes != plain, holes
    assert measured(fio(gap=28672, size=64 << 20))
    far, near = measured(fio(offset=8 << 20, op="read"))[0], measured(fio(op="read"))[0]
    assert far == near
    write("my.json", document(fio(offset=64 << 20)))
    code, out, _ = call("verify", small_card(), "--against", "my.json")
    assert code == 1 and "offset=67108864 size=1048576: does not fit the device" in out, out
    how = {"pattern": "random", "jobs": 4, "op": "read"}
    assert measured(fio(shared=True, **how)) == measured(fio(depth=4, **{**how, "jobs": 1}))
    assert measured(fio(**how)) == measured(fio(depth=4, size=4 * FILE, **{**how, "jobs": 1}))


def dd(op="write", **more):
    return point("dd", 1, op=op, bytes=FILE, on="device", **more)


def seq(op, bs):
    return point(f"seq-{op}", 1, bs=bs, size=FILE)


def test_dd():
    """Past the page cache its requests are those of bs, and otherwise those of the cache."""
    small, large = measured(seq("write", 4096))[0], measured(seq("write", FILE))[0]
    assert small < large
    assert measured(dd(bs=4096, direct=True)) == [small]
    assert measured(dd(bs=FILE, direct=True)) == [large]
    assert measured(dd(bs=4096, direct=False)) == measured(dd(bs=4096)) == [large]
    ahead, small = measured(seq("read", 128 << 10))[0], measured(seq("read", 4096))[0]
    assert small < ahead and measured(dd("read", bs=4096, direct=True)) == [small]
    assert measured(dd("read", bs=4096)) == [ahead]
    # a sync at the end, and one behind each write
    ended, each = measured(dd(bs=4096, direct=True, end_fsync=True))[0], \
        measured(dd(bs=4096, direct=True, sync="dsync"))[0]
    assert each < ended < measured(dd(bs=4096, direct=True))[0]
    assert measured(dd(bs=4096, direct=False, sync="sync")) == [each]
    assert reasons(dd(direct=True)) == ["has requests of a size that nobody has said"]


run(globals())
