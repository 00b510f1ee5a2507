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
                   fio("fio-sync-latency", fsync=1, direct=None),
                   fio("fio-latency", fsync=1, direct=None)) == [cache] * 2 + [unknown] * 2


def test_the_page_cache_writes_whole_pages():
    """What etcd's users do: fio --bs=2300 --fdatasync=1.  455 writes fit, and 255 of them lie in two
    pages, each of which takes a program of 1 ms and 105.6 us."""
    both = [k * 2300 // 4096 != ((k + 1) * 2300 - 1) // 4096 for k in range(455)]
    assert sum(both) == 255
    how = {"fdatasync": 1, "direct": False, "bs": 2300}
    rate, sync_ns = measured(fio(**how), fio("fio-sync-latency", **how), args=["nand.tPROG=1ms"])
    assert abs(sync_ns - 1105600 * (455 + 255) / 455) < 0.01, sync_ns
    assert abs(rate - 2300e9 / sync_ns) < 1
    # past the page cache no device takes them
    write("my.json", document(fio(fdatasync=1, bs=2300)))
    code, out, _ = call("verify", small_card(), "--against", "my.json")
    assert code == 1 and "failed: 2300 bytes at offset 0 do not fit" in out, out


def shares(point, *names):
    return {**point, "percentiles": {name: [2e6, 3e6, 1e6] for name in names}}


def of_shares(*points, args=()):
    found, out = against(*points, device=small_card(), args=args)
    return [{k: (v["measured"], v["error_percent"], v["reason"]) for k, v in
             p["percentiles"].items()} for p in found], out["percentiles"]


def test_percentiles():
    """Half of 512 writes of half a page take 1105.6 us, and those that find the other half there
    take 1241.2 us."""
    few = "the test has too few requests"
    found, in_all = of_shares(shares(fio("fio-latency", bs=2048), "0.1", "0.3", "50", "50.2", "99.8",
                                     "99.81", "100"), args=["nand.tPROG=1ms"])
    first, second = (1105600, 100 * (1.1056 / 2 - 1)), (1241200, 100 * (1.2412 / 2 - 1))
    for name, want in (("0.3", first), ("50", first), ("50.2", second), ("99.8", second)):
        got = found[0].pop(name)
        assert got[0] == want[0] and abs(got[1] - want[1]) < 1e-9 and got[2] is None, (name, got)
    assert found == [{"0.1": (None, None, few), "99.81": (None, None, few), "100": (None, None, few)}]
    assert (in_all["points"], in_all["compared"], in_all["share_within_10_percent"]) == (7, 4, 0)
    assert abs(in_all["median_error_percent"] - 50 * (2 - 1.1056 / 2 - 1.2412 / 2)) < 1e-9
    # of syncs, and of writes that have ended when their sync has
    args = CACHED
    latency, sync_ns = measured(fio("fio-latency", fsync=2), fio("fio-sync-latency", fsync=2),
                                args=args)
    found, _ = of_shares(shares(fio("fio-latency", fsync=2), "99"),
                         shares(fio("fio-sync-latency", fsync=2), "99", "99.5"),
                         shares(fio("fio-latency", sync="dsync"), "75"), args=args)
    assert found[0]["99"][0] == latency == 100000 and found[1]["99"][0] == sync_ns, found
    assert found[1]["99.5"][2] == few
    assert found[2]["75"][0] == measured(fio("fio-latency", sync="dsync"))[0], found


def test_percentiles_that_are_not_compared():
    request = shares(point("request", 1000, "ns", op="read", bs=4096, start=0, stride=0, count=9), "9")
    found, in_all = of_shares(request, shares(fio("fio-latency", fsync=4, direct=False), "9"))
    assert [one["9"][2] for one in found] == ["nothing computes percentiles of this procedure",
                                              "its point is not"], found
    assert in_all == {"points": 2, "compared": 0, "median_error_percent": None,
                      "share_within_10_percent": None}
    write("my.json", document(request))
    _, out, _ = call("verify", small_card(), "--against", "my.json")
    assert "9 % of these within" in out and "us   not compared: nothing computes" in out, out
    for bad, message in (({"9a": [1]}, "percentiles.9a: expected a percentage such as 99.9"),
                         ({"100.1": [1]}, "percentiles.100.1: expected a percentage"),
                         ({"9": []}, "percentiles.9: expected a list of at least one number"),
                         ({"9": [3, 0]}, "percentiles.9[1]: expected a number greater than 0"),
                         ([], "percentiles: expected an object, of a point in ns")):
        write("my.json", document({**request, "percentiles": bad}))
        code, _, err = call("verify", small_card(), "--against", "my.json")
        assert code == 2 and "points[0]." + message in err, (bad, err)
    write("my.json", document(shares(fio(), "9")))
    assert "an object, of a point in ns" in call("verify", small_card(), "--against", "my.json")[2]


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
