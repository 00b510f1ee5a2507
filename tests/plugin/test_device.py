#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""The block device that a client sees: size, flags, edges, errors."""

import errno
import os
import resource
import subprocess

from flashemu_server import NBDKIT, PLUGIN, Server, fails, nbd, need, run, run_nbdkit

CACHE = ["cache.size=64K", "cache.volatile=yes"]


def flags(*params, **kw):
    with Server(*params, control=False, **kw) as s:
        h = s.connect()
        return {name: getattr(h, name)() for name in (
            "can_trim", "can_zero", "can_fast_zero", "can_flush", "can_fua", "can_multi_conn",
            "can_cache", "is_rotational", "is_read_only")}


def test_flags_follow_the_profile():
    f = flags("ideal")
    assert f["can_trim"] and f["can_zero"] and f["can_fast_zero"] and f["can_multi_conn"], f
    assert not (f["can_flush"] or f["can_fua"] or f["is_rotational"] or f["can_cache"]), f
    f = flags("transcend8g")
    assert not (f["can_trim"] or f["can_zero"] or f["can_fast_zero"]), f
    assert f["is_rotational"] and f["can_multi_conn"], f


def test_flags_follow_overrides():
    f = flags("ideal", "device.discard=no", "device.rotational=yes")
    assert not (f["can_trim"] or f["can_zero"] or f["can_fast_zero"]) and f["is_rotational"], f
    f = flags("ideal", "device.rotational=no", *CACHE)
    assert f["can_flush"] and f["can_fua"], f
    f = flags("ideal", "cache.size=64K", "cache.volatile=no")
    assert not (f["can_flush"] or f["can_fua"]), f
    f = flags("ideal", "cache.reliable_write=100us")
    assert f["can_flush"] and f["can_fua"], f


def test_no_extents():
    with Server("ideal", control=False) as s:
        h = nbd.NBD()
        h.add_meta_context("base:allocation")
        h.connect_unix(s.socket)
        found = []
        if h.can_meta_context("base:allocation"):
            h.block_status(1 << 20, 0, lambda name, off, extents, err: found.extend(extents))
        assert found in ([], [1 << 20, 0]), found # one extent of data: nothing is known


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


def test_parts_of_sectors_are_refused():
    with Server("ideal", "size=1M", *CACHE) as s:
        h = s.connect()
        h.set_strict_mode(0)
        h.pwrite(b"\3" * 1024, 0)
        before = s.stats()
        for bad in (lambda: h.pread(100, 0), lambda: h.pread(512, 100),
                    lambda: h.pwrite(bytes(511), 0), lambda: h.pwrite(bytes(512), 256),
                    lambda: h.trim(100, 0), lambda: h.zero(512, 1)):
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
        h.zero(4096, 256 << 10, nbd.CMD_FLAG_NO_HOLE)
        h.zero(4096, 260 << 10, nbd.CMD_FLAG_FAST_ZERO)
        want = bytearray(b"\4" * (1 << 20))
        for off, n in ((512, 64 << 10), (128 << 10, 64 << 10), (256 << 10, 8192)):
            want[off:off + n] = bytes(n)
        assert h.pread(1 << 20, 0) == want
        st = s.stats()["host"]
        assert st["trim"] == {"ops": 4, "bytes": (128 << 10) + 8192}, st
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


def test_the_zero_filter_and_a_socket_that_nbdkit_makes():
    """A profile without discard starts nbdkit again; `-U -` has made a folder before that."""
    need("nbdinfo")
    for dash in (["-U", "-"], ["--unix=-"]):
        code, out, err = run_nbdkit(*dash, PLUGIN, "transcend8g", "--run",
                                    'nbdinfo --size "$uri"; env | grep LISTEN_; exit 7')
        assert (code, out, err) == (7, "8019509248\n", ""), (code, out, err)


def test_the_zero_filter_keeps_the_name_of_the_process():
    with Server("transcend8g", control=False) as s:
        with open("/proc/%d/comm" % s.proc.pid) as f:
            assert f.read() == "nbdkit\n"
        with open("/proc/%d/cmdline" % s.proc.pid) as f:
            words = f.read().split("\0")
        assert words[:3] == [NBDKIT, "--filter=nozero", "-f"], words


def test_the_restart_takes_no_half_of_a_socket_activation():
    """A service may have inherited one of the two variables without the other."""
    for name in ("LISTEN_FDS", "LISTEN_PID"):
        os.environ[name] = "1"
        try:
            with Server("transcend8g", control=False) as s:
                assert s.connect().get_size() == 8019509248
        finally:
            del os.environ[name]


def test_a_restart_that_fails_is_told():
    """Where command and environment are just as long as the system allows, one word more is not:
    the server serves all the same, and says what it lacks."""
    def small_stack():
        resource.setrlimit(resource.RLIMIT_STACK, (1 << 19, 1 << 19))

    command = [NBDKIT, "-U", "-", PLUGIN, "transcend8g", "clock=virtual", "--run", ":"]
    fits, too_long, err = 0, 1 << 18, ""
    while too_long - fits > 1:
        n = (fits + too_long) // 2
        pads = {"PAD%d" % i: "x" * min(n - at, 65536) for i, at in enumerate(range(0, n, 65536))}
        try:
            done = subprocess.run(command, env={**os.environ, **pads}, capture_output=True,
                                  text=True, timeout=60, preexec_fn=small_stack)
        except OSError as e:
            assert e.errno == errno.E2BIG, e
            too_long = n
        else:
            fits, err = n, done.stderr
    assert fits > 0 and "WRITE ZEROES will be offered, which this device has not: cannot start " \
        "again with --filter=nozero (it can be given): Argument list too long" in err, err


def test_the_zero_filter_of_the_user_counts():
    f = flags("transcend8g", options=["--filter=nozero"])
    assert not f["can_zero"]
    with Server("transcend8g", "zeromode=emulate", options=["--filter", "nozero"],
                control=False) as s:
        assert s.connect().can_zero()


def test_socket_activation_and_standard_input():
    for profile, zero in (("transcend8g", False), ("ideal", True)):
        h = nbd.NBD()
        h.connect_systemd_socket_activation(["nbdkit", PLUGIN, profile, "clock=virtual"])
        h.pwrite(b"\5" * 512, 512)
        assert h.pread(512, 512) == b"\5" * 512 and h.can_zero() == zero
        h.shutdown()
        h = nbd.NBD()
        h.connect_command(["nbdkit", "-s", "--exit-with-parent", PLUGIN, profile])
        assert h.can_zero() == zero
        h.shutdown()


run(globals())
