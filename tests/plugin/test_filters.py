#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""nbdkit's own filters in front of the plugin: what a client writes through each is read back, and
what the filter promises is seen in the statistics of the device behind it."""

import errno
import os
import re
import struct
import tempfile
import time

from flashemu_server import NBDKIT, Server, ended, fails, run, skip

# No delay, so that a filter alone decides what arrives; and a volatile cache, so that the device
# has FLUSH and FUA.
PROFILE = ["profile=ideal", "size=32M", "clock=virtual", "cache.size=64K", "cache.volatile=yes"]
SIZE = 32 << 20
MIB = 1 << 20


def filtered(*names, params=(), profile=PROFILE):
    """A server with these filters, the outermost first.  One thread: a virtual clock wants the
    requests in order."""
    options = ["-t", "1"] + ["--filter=" + name for name in names]
    return Server(*profile, *params, options=options)


def pattern(n, salt):
    return bytes((i * 7 + i // 251 + salt) & 255 for i in range(n))


def round_trip(h):
    """Aligned, unaligned within a page, and across pages: read back after a flush."""
    places = [(0, 65536), (MIB + 512, 4096), (2 * MIB - 512, 1024), (h.get_size() - 4096, 4096)]
    data = [pattern(n, i) for i, (_, n) in enumerate(places)]
    for (offset, n), d in zip(places, data):
        h.pwrite(d, offset)
    if h.can_flush():
        h.flush()
    for (offset, n), d in zip(places, data):
        assert h.pread(n, offset) == d, offset
    return sum(n for _, n in places)


def written(s):
    return s.stats()["host"]["write"]["bytes"]


def test_filters_that_hand_everything_on():
    """The device sees exactly what the client wrote, through each of them."""
    for name, params in [("noextents", []), ("nocache", []), ("noparallel", []), ("nozero", []),
                         ("fua", ["fuamode=native"]), ("fua", ["fuamode=emulate"]),
                         ("rate", ["rate=1G"]), ("retry", []), ("retry-request", []),
                         ("swab", ["swab-bits=16"]), ("readahead", []), ("limit", ["limit=2"]),
                         ("multi-conn", ["multi-conn-mode=auto"]), ("error", []),
                         ("blocksize-policy", ["blocksize-minimum=512"])]:
        with filtered(name, params=params) as s:
            h = s.connect()
            assert h.get_size() == SIZE, name
            assert h.can_multi_conn() and h.can_fua() and h.can_flush(), name
            n = round_trip(h)
            assert written(s) == n, (name, written(s), n)
            assert s.terminate() == 0, name


def test_log_and_stats():
    """Both tell what the device counts."""
    for name, key in [("log", "logfile"), ("stats", "statsfile")]:
        path = os.path.abspath(key)
        with filtered(name, params=[key + "=" + path]) as s:
            n = round_trip(s.connect())
            assert written(s) == n, name
            assert s.terminate() == 0
        with open(path, encoding="utf-8") as f:
            text = f.read()
        if name == "log":
            assert len(re.findall(r" Write id=\d+ offset=", text)) == 4, text
        else:
            assert re.search(r"^write: 4 ops,", text, re.M), text


def test_delay_adds_to_real_time_only():
    """A request takes at least as long as the filter says; the device knows nothing of it."""
    with filtered("delay", params=["wdelay=50ms"]) as s:
        h = s.connect()
        began = time.monotonic()
        h.pwrite(bytes(4096), 0)
        assert time.monotonic() - began >= 0.05
        assert s.stats()["device_ns"] < 50_000_000


def test_error_before_the_device():
    """A request that the filter lets fail does not reach the device."""
    with filtered("error", params=["error-pwrite=ENOSPC", "error-pwrite-rate=100%"]) as s:
        h = s.connect()
        with fails(errno.ENOSPC):
            h.pwrite(bytes(4096), 0)
        assert written(s) == 0 and h.pread(4096, 0) == bytes(4096)


def test_cow_keeps_the_device_as_it_is():
    with filtered("cow") as s:
        h = s.connect()
        round_trip(h)
        assert written(s) == 0, s.stats()["host"]


def test_cache_writes_when_it_flushes():
    """Its blocks are 64 KiB, so the device sees whole blocks, and only after a flush."""
    with filtered("cache", params=["cache=writeback"]) as s:
        h = s.connect()
        h.pwrite(pattern(4096, 9), 0)
        assert written(s) == 0
        h.flush()
        assert written(s) % 4096 == 0 and written(s) >= 4096
        assert h.pread(4096, 0) == pattern(4096, 9)
        round_trip(h)


def test_partition_and_offset():
    """The same place of the device: a partition that begins at sector 63."""
    entry = struct.pack("<B3sB3sII", 0, bytes(3), 0x83, bytes(3), 63, 8192)
    with tempfile.TemporaryDirectory(prefix="fe") as folder:
        image = "file=" + os.path.join(folder, "image")
        with Server(*PROFILE, image, options=["-t", "1"]) as s:
            h = s.connect()
            h.pwrite(bytes(446) + entry + bytes(48) + b"\x55\xaa", 0)
            h.flush()
            assert s.terminate() == 0
        with filtered("partition", params=[image, "partition=1"]) as s:
            h = s.connect()
            assert h.get_size() == 8192 * 512
            round_trip(h)
            h.pwrite(pattern(512, 5), 0)
            h.flush()
            assert s.terminate() == 0
        with filtered("offset", params=[image, "offset=%d" % (63 * 512), "range=4M"]) as s:
            h = s.connect()
            assert h.get_size() == 4 * MIB and h.pread(512, 0) == pattern(512, 5)
            assert s.terminate() == 0
        with Server(*PROFILE, image, options=["-t", "1"]) as s:
            assert s.connect().pread(512, 63 * 512) == pattern(512, 5)


def test_truncate():
    """A larger device reads as zeros behind its end, and a smaller one ends earlier."""
    with filtered("truncate", params=["truncate=48M"]) as s:
        h = s.connect()
        assert h.get_size() == 48 * MIB
        h.pwrite(pattern(4096, 2), 31 * MIB)
        assert h.pread(4096, 31 * MIB) == pattern(4096, 2)
        assert h.pread(4096, 40 * MIB) == bytes(4096)
        with fails(errno.ENOSPC):
            h.pwrite(pattern(512, 1), 40 * MIB)
    with filtered("truncate", params=["truncate=16M"]) as s:
        h = s.connect()
        assert h.get_size() == 16 * MIB
        round_trip(h)


def test_protect():
    with filtered("protect", params=["protect=%d-" % (31 * MIB)]) as s:
        h = s.connect()
        with fails(errno.EPERM): # it would change something
            h.pwrite(pattern(512, 1), 31 * MIB)
        h.pwrite(pattern(512, 3), 30 * MIB)
        assert h.pread(512, 30 * MIB) == pattern(512, 3) and written(s) == 512


def test_multi_conn_and_pools_of_connections():
    """What one connection has flushed, another one reads; the filter may also forbid that."""
    with filtered("multi-conn", params=["multi-conn-mode=disable"]) as s:
        assert not s.connect().can_multi_conn()
    with filtered("multi-conn", params=["multi-conn-mode=emulate"]) as s:
        a, b = s.connect(), s.connect()
        assert a.can_multi_conn() and b.can_multi_conn()
        a.pwrite(pattern(4096, 4), 0)
        a.flush()
        assert b.pread(4096, 0) == pattern(4096, 4)


def test_blocksize_cuts_and_joins():
    """Requests of other sizes than the device's become several or read-modify-write."""
    with filtered("blocksize", params=["minblock=4K", "maxlen=16K"]) as s:
        h = s.connect()
        h.pwrite(pattern(65536, 6), MIB)
        assert s.stats()["host"]["write"]["ops"] == 4
        h.pwrite(pattern(512, 7), MIB + 512)
        assert h.pread(1024, MIB) == pattern(65536, 6)[:512] + pattern(512, 7)
        assert written(s) == 65536 + 4096


def test_several_in_a_row():
    """A log of what a client writes to a copy, and of what the copy reads from the device."""
    with filtered("log", "cow", "truncate", "delay",
                  params=["rdelay=1ms", "truncate=48M", "logfile=" + os.path.abspath("log")]) as s:
        h = s.connect()
        round_trip(h)
        h.pwrite(pattern(4096, 8), 40 * MIB)
        assert h.pread(4096, 40 * MIB) == pattern(4096, 8)
        assert written(s) == 0 and s.stats()["host"]["read"]["ops"] > 0


if ended([NBDKIT, "--filter=cow", "null", "--dump-plugin"])[0]:
    skip("nbdkit's filters are not installed")
run(globals())
