#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""The block device that a client sees: size, flags, edges, errors."""

import errno
import os
import tempfile

from flashemu_script import ended
from flashemu_server import NBDKIT, PLUGIN, Server, fails, nbd, need, run

CACHE = ["cache.size=64K", "cache.volatile=yes"]


def flags(*params, **kw):
    with Server(*params, control=False, **kw) as s:
        h = s.connect()
        return {name: getattr(h, name)() for name in (
            "can_trim", "can_zero", "can_fast_zero", "can_flush", "can_fua", "can_multi_conn",
            "can_cache", "is_rotational", "is_read_only")}


def test_flags_follow_the_profile():
    f = flags("ideal")
    assert f["can_trim"] and f["can_multi_conn"] and f["can_cache"], f
    assert not (f["can_flush"] or f["can_fua"] or f["is_rotational"]), f
    f = flags("transcend8g")
    assert not f["can_trim"] and f["is_rotational"] and f["can_multi_conn"], f
    assert f["can_zero"] and f["can_fast_zero"] and f["can_cache"], f


def test_flags_follow_overrides():
    f = flags("ideal", "device.discard=no", "device.rotational=yes")
    assert not f["can_trim"] and f["is_rotational"], f
    f = flags("ideal", "device.rotational=no", *CACHE)
    assert f["can_flush"] and f["can_fua"], f
    f = flags("ideal", "cache.size=64K", "cache.volatile=no")
    assert not (f["can_flush"] or f["can_fua"]), f
    f = flags("ideal", "cache.reliable_write=100us")
    assert f["can_flush"] and f["can_fua"], f


def test_block_sizes():
    for params, page in ((["ideal"], 4096), (["transcend8g"], 4096),
                         (["transcend8g", "nand.multiplane=yes", "nand.planes_per_die=2",
                           "nand.blocks_per_plane=2048"], 8192),
                         (["ideal", "nand.page_size=512"], 512),
                         (["ideal", "nand.page_size=1536", "nand.oob_size=0", "size=3M"], 2048),
                         (["ideal", "device.sector_size=4K"], 4096)):
        with Server(*params, control=False) as s:
            h = s.connect()
            sector = 4096 if "device.sector_size=4K" in params else 512
            assert h.get_block_size(nbd.SIZE_MINIMUM) == sector, params
            assert h.get_block_size(nbd.SIZE_PREFERRED) == page, params
            assert h.get_block_size(nbd.SIZE_MAXIMUM) == 32 << 20, params


def test_reads_of_what_was_never_written_are_zeros():
    with Server("ssd-page", "clock=virtual", control=False) as s:
        h = s.connect()
        h.pwrite(b"\1" * 512, 4096 + 512)
        assert h.pread(12288, 0) == bytes(4096 + 512) + b"\1" * 512 + bytes(12288 - 4096 - 1024)


def test_edges():
    with Server("ideal", "size=1M", control=False) as s:
        h = s.connect()
        h.set_strict_mode(0)
        size = h.get_size()
        assert size == 1 << 20
        last = b"\2" * 512
        h.pwrite(last, size - 512)
        assert h.pread(1024, size - 1024) == bytes(512) + last
        with fails(errno.EINVAL):
            h.pread(512, size)
        with fails(errno.EINVAL):
            h.pread(1024, size - 512)
        for bad in (lambda: h.pwrite(last, size), lambda: h.pwrite(last * 2, size - 512)):
            with fails(errno.ENOSPC):
                bad()
        assert h.pread(512, size - 512) == last


def test_writes_of_parts_of_sectors_are_refused():
    with Server("ideal", "size=1M", *CACHE) as s:
        h = s.connect()
        h.set_strict_mode(0)
        h.pwrite(b"\3" * 1024, 0)
        before = s.stats()
        for bad in (lambda: h.pwrite(bytes(511), 0), lambda: h.pwrite(bytes(512), 256),
                    lambda: h.trim(100, 0), lambda: h.zero(512, 1),
                    lambda: h.zero((64 << 10) + 1, 0, nbd.CMD_FLAG_NO_HOLE)):
            with fails(errno.EINVAL):
                bad()
        assert h.pread(1024, 0) == b"\3" * 1024
        after = s.stats()
        assert after["host"]["write"] == before["host"]["write"]
        assert s.text().count("not whole sectors") == 1 # the log has the first one only


def test_largest_requests():
    with Server("ideal", "size=64M", control=False) as s:
        h = s.connect()
        data = os.urandom(32 << 20)
        h.pwrite(data, 512)
        assert h.pread(32 << 20, 512) == data


def test_trim_and_zero():
    with Server("ideal", "size=4M") as s:
        h = s.connect()
        h.pwrite(b"\4" * (1 << 20), 0)
        h.trim(64 << 10, 512)
        h.zero(64 << 10, 128 << 10)
        h.zero(8192, 256 << 10, nbd.CMD_FLAG_FAST_ZERO)
        want = bytearray(b"\4" * (1 << 20))
        for off, n in ((512, 64 << 10), (128 << 10, 64 << 10), (256 << 10, 8192)):
            want[off:off + n] = bytes(n)
        assert h.pread(1 << 20, 0) == want
        st = s.stats()["host"]
        assert st["trim"] == {"ops": 3, "bytes": (128 << 10) + 8192}, st
        assert st["write"]["bytes"] == 1 << 20, st


def test_flush_and_fua():
    with Server("ssd-page", "clock=virtual", *CACHE) as s:
        h = s.connect()
        h.pwrite(bytes(4096), 0)
        assert s.stats()["nand"]["page_programs"] == 0
        h.flush()
        st = s.stats()
        assert st["nand"]["page_programs"] == 1 and st["host"]["flush"]["ops"] == 1, st
        h.pwrite(bytes(4096), 8192, nbd.CMD_FLAG_FUA)
        st = s.stats()
        assert st["nand"]["page_programs"] == 2 and st["host"]["flush"]["ops"] == 1, st


def test_read_only_server():
    f = flags("transcend8g", options=["-r"])
    assert f["is_read_only"] and not f["can_zero"], f


def test_a_device_without_trim_starts_as_typed():
    """No restart, which would have cost descriptors: nothing is added to the command line, nothing
    stays in /tmp, and a secret that nbdkit reads from a descriptor can be read."""
    need("nbdinfo")
    for dash in (["-U", "-"], ["--unix=-"]):
        with tempfile.TemporaryDirectory(prefix="fe") as tmp:
            code, out, err = ended([NBDKIT, *dash, PLUGIN, "transcend8g", "--run",
                                    'nbdinfo --size "$uri"; env | grep LISTEN_; exit 7'],
                                   env={**os.environ, "TMPDIR": tmp})
            assert (code, out, err) == (7, "8019509248\n", ""), (code, out, err)
            assert os.listdir(tmp) == [], os.listdir(tmp)
    with Server("transcend8g", control=False) as s:
        with open("/proc/%d/cmdline" % s.proc.pid) as f:
            words = f.read().split("\0")
        assert words[:2] == [NBDKIT, "-f"], words
        assert s.text() == "", s.text()


def test_the_zero_filter():
    assert not flags("transcend8g", options=["--filter=nozero"])["can_zero"]
    with Server("transcend8g", "zeromode=emulate", options=["--filter", "nozero"],
                control=False) as s:
        assert s.connect().can_zero()


def test_socket_activation_and_standard_input():
    for profile in ("transcend8g", "ideal"):
        h = nbd.NBD()
        h.connect_systemd_socket_activation(["nbdkit", PLUGIN, profile, "clock=virtual"])
        h.pwrite(b"\5" * 512, 512)
        assert h.pread(512, 512) == b"\5" * 512 and h.can_zero()
        h.shutdown()
        h = nbd.NBD()
        h.connect_command(["nbdkit", "-s", "--exit-with-parent", PLUGIN, profile])
        assert h.can_zero()
        h.shutdown()


run(globals())
