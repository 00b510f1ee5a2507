#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""What NBD offers beyond reads and writes: zeros, holes, reads ahead, flushes that nobody needs,
reads of any length, and a description."""

import errno
import os
import subprocess
import tempfile

from flashemu_server import PLUGIN, Server, fails, nbd, need, run, run_nbdkit

MIB = 1 << 20
DATA, ZERO, HOLE = 0, 2, 3  # of base:allocation
NO_HOLE, FAST, FUA = nbd.CMD_FLAG_NO_HOLE, nbd.CMD_FLAG_FAST_ZERO, nbd.CMD_FLAG_FUA


def host(s):
    return s.stats()["host"]


def extents(h, offset=0, length=None, flags=0):
    """[(length, type)...] of base:allocation, neighbours of one type joined."""
    found = []

    def add(context, at, entries, error):
        assert context == "base:allocation"
        for n, kind in zip(entries[::2], entries[1::2]):
            if found and found[-1][1] == kind and not flags:
                n += found.pop()[0]
            found.append((n, kind))

    h.block_status(h.get_size() - offset if length is None else length, offset, add, flags)
    return found


def ask(s):
    """A connection that may ask for extents."""
    h = nbd.NBD()
    h.add_meta_context("base:allocation")
    h.connect_unix(s.socket)
    s.handles.add(h)
    return h


# ---- zeros ----

def traced(*params, work):
    """The lines of the trace of some work, without the one that says where they come from."""
    with tempfile.TemporaryDirectory(prefix="fe") as folder:
        path = os.path.join(folder, "trace")
        with Server(*params, "clock=virtual", "trace=" + path, control=False,
                    options=["-t", "1"]) as s:
            h = s.connect()
            work(h)
            assert s.terminate() == 0
        with open(path, encoding="ascii") as f:
            return [line for line in f if not line.startswith("#")]


def test_zeros_without_trim_are_the_writes_of_a_client():
    """The same commands, times and state, also of what is longer than one request may be."""
    def zeroed(h):
        h.pwrite(b"x" * 8192, 512)
        h.zero(3072, 1024)
        h.zero(40 * MIB, 4096, NO_HOLE)
        assert h.pread(4096, 0) == bytes(512) + b"x" * 512 + bytes(3072)

    def written(h):
        h.pwrite(b"x" * 8192, 512)
        h.pwrite(bytes(3072), 1024)
        h.pwrite(bytes(32 * MIB), 4096)
        h.pwrite(bytes(8 * MIB), 4096 + 32 * MIB)
        h.pread(4096, 0)

    params = ["transcend8g", "size=64M"]
    one, other = traced(*params, work=zeroed), traced(*params, work=written)
    assert one == other and len([line for line in one if line.strip()]) >= 5, (one, other)


def test_zeros_with_fua_without_trim():
    with Server("ssd-page", "device.discard=no", "clock=virtual", "cache.size=64K",
                "cache.volatile=yes") as s:
        h = s.connect()
        h.zero(4096, 0)
        assert s.stats()["nand"]["page_programs"] == 0
        h.zero(4096, 8192, FUA)
        assert s.stats()["nand"]["page_programs"] == 1


def test_zeros_and_holes():
    """Where a hole is allowed zeroing is a trim; where not, zeros are written."""
    with Server("ssd-page", "size=4M", "clock=virtual") as s:
        h = s.connect()
        h.pwrite(b"\1" * MIB, 0)
        h.zero(64 << 10, 0)
        assert host(s)["trim"]["bytes"] == 64 << 10 and host(s)["write"]["bytes"] == MIB
        h.zero(64 << 10, 128 << 10, NO_HOLE)
        assert host(s)["trim"]["bytes"] == 64 << 10
        assert host(s)["write"] == {"ops": 2, "bytes": MIB + (64 << 10)}, host(s)
        assert h.pread(256 << 10, 0) == (bytes(64 << 10) + b"\1" * (64 << 10)) * 2


def test_zeros_survive_a_cut():
    """The old data do not come back, whatever a power cut does to trims."""
    for flags in (0, NO_HOLE):
        with Server("ssd-page", "size=4M", "clock=virtual", "ftl.trim_lost=yes") as s:
            h = s.connect()
            h.pwrite(b"\1" * 65536, 0)
            h.zero(32768, 0, flags)
            h.trim(4096, 32768)
            assert s.ctl("power-cut")["ok"] and s.ctl("power-on")["ok"]
            assert h.pread(32768, 0) == bytes(32768), flags
            assert h.pread(4096, 32768) == b"\1" * 4096 # of a trim this is expected
            with fails(errno.ENOTSUP):
                h.zero(32768, 0, FAST)


def test_fast_zero():
    """Refused where zeros would have to be written, and then nothing has happened."""
    with Server("ssd-page", "size=4M", "clock=virtual") as s:
        h = s.connect()
        h.pwrite(b"\1" * 65536, 0)
        for n, offset, flags in ((65536, 0, NO_HOLE), (512, 0, 0), (4096, 2048, 0), (4608, 3584, 0)):
            if (n, offset) == (4608, 3584):
                h.zero(n, offset, FAST | flags) # has the whole page 4096
                assert h.pread(n, offset) == bytes(n)
                continue
            before = host(s)
            with fails(errno.ENOTSUP):
                h.zero(n, offset, FAST | flags)
            assert host(s) == before
        assert h.pread(3584, 0) == b"\1" * 3584
    with Server("transcend8g", "size=64M", "clock=virtual") as s:
        h = s.connect()
        with fails(errno.ENOTSUP):
            h.zero(MIB, 0, FAST)
        assert host(s)["write"]["ops"] == 0


# ---- extents ----

STRATEGIES = {
    "page": ["ssd-page"], "dftl": ["ssd-page", "ftl.type=dftl"],
    "norlog": ["ssd-page", "ftl.type=norlog"], "step": ["ssd-page", "ftl.type=step", "device.discard=no"],
    "segment": ["transcend8g", "device.used=0"], "block": ["ssd-page", "ftl.type=block", "device.discard=no"],
    "bast": ["ssd-page", "ftl.type=bast", "device.discard=no"],
    "fast": ["ssd-page", "ftl.type=fast", "device.discard=no"],
}


def test_extents_of_every_strategy():
    """Never written, written, and trimmed where the strategy has it."""
    for name, params in STRATEGIES.items():
        with Server(*params, "size=16M", "clock=virtual", control=False) as s:
            h = ask(s)
            assert extents(h) == [(16 * MIB, HOLE)], name
            h.pwrite(b"\1" * 65536, 0)
            h.pwrite(b"\2" * 512, 8 * MIB + 512)
            want = [(65536, DATA), (8 * MIB - 65536, HOLE), (4096, DATA), (8 * MIB - 4096, HOLE)]
            assert extents(h) == want, (name, extents(h))
            assert extents(h, 1024, 2048) == [(2048, DATA)], name
            if h.can_trim():
                h.trim(8192, 4096)
                assert extents(h, 0, 65536) == [(4096, DATA), (8192, HOLE), (53248, DATA)], name
                h.trim(512, 16384) # a part of a page stays a page
                assert extents(h, 16384, 4096) == [(4096, DATA)], name
            assert extents(h, 0, MIB, nbd.CMD_FLAG_REQ_ONE)[0][1] == DATA


def test_extents_tell_the_truth():
    """After a mix of writes, trims and cleaning each hole reads as zeros, and no data is called one."""
    for params in (["ssd-page", "ftl.op=10%"], ["ssd-page", "ftl.type=dftl"],
                   ["ssd-page", "cache.size=64K", "cache.volatile=yes"]):
        with Server(*params, "size=8M", "clock=virtual", control=False) as s:
            h, state = ask(s), [None] * 2048
            for i in range(6000):
                at = (i * 7919) % 2048
                if i % 3:
                    h.pwrite(b"\1" * 4096, at * 4096)
                else:
                    h.trim(4096, at * 4096)
                state[at] = DATA if i % 3 else HOLE
            page = 0
            for n, kind in extents(h):
                assert n % 4096 == 0
                for p in range(page, page + n // 4096):
                    assert kind == (HOLE if state[p] is None else state[p]), (params, p)
                page += n // 4096
            assert page == 2048


def test_extents_follow_the_image_and_the_cut():
    with tempfile.TemporaryDirectory(prefix="fe") as folder:
        params = ["ssd-page", "size=4M", "clock=virtual", "file=" + os.path.join(folder, "image")]
        with Server(*params) as s:
            h = ask(s)
            h.pwrite(b"\1" * 8192, 4096)
            h.trim(4096, 8192)
            h.flush()
            assert s.terminate() == 0
        want = [(4096, HOLE), (4096, DATA), (4 * MIB - 8192, HOLE)]
        with Server(*params) as s:
            h = ask(s)
            assert extents(h) == want, extents(h)
            assert s.ctl("power-cut")["ok"]
            with fails(errno.EIO):
                extents(h)
            assert s.ctl("power-on")["ok"]
            assert extents(h) == want
            assert s.ctl("disconnect")["ok"]
            with fails(errno.ESHUTDOWN):
                extents(h)


def test_extents_of_a_used_and_of_a_forged_device():
    """What a used stick has of its past are pages of zeros.  A forged one does not give itself away."""
    with Server("ssd-page", "size=4M", "device.used=1M", control=False) as s:
        h = ask(s)
        h.pwrite(b"\1" * 4096, 4096)
        assert extents(h) == [(4096, ZERO), (4096, DATA), (MIB - 8192, ZERO), (3 * MIB, HOLE)]
    with Server("ssd-page", "size=4M", "device.claimed_capacity=16M", control=False) as s:
        assert extents(ask(s)) == [(16 * MIB, DATA)]


def test_extents_cost_nothing_and_can_be_off():
    with Server("ssd-page", "size=64M", "clock=virtual") as s:
        h = ask(s)
        h.pwrite(b"\1" * MIB, 0)
        before = s.stats()
        extents(h)
        assert s.stats() == before
    for params, want in ((["extents=no"], DATA), (["extents=auto"], HOLE)):
        with Server("ssd-page", "size=4M", *params, control=False) as s:
            h = ask(s)
            assert extents(h) == [(4 * MIB, want)], params


def test_nbdcopy_skips_holes():
    need("nbdcopy")
    with Server("ssd-page", "size=64M", "clock=virtual") as s:
        h = s.connect()
        h.pwrite(b"\7" * MIB, 32 * MIB)
        with tempfile.TemporaryDirectory(prefix="fe") as folder:
            path = os.path.join(folder, "copy")
            subprocess.run(["nbdcopy", s.uri, path], check=True)
            with open(path, "rb") as f:
                assert f.read() == bytes(32 * MIB) + b"\7" * MIB + bytes(31 * MIB)
        assert host(s)["read"]["bytes"] == MIB, host(s)


# ---- reads ----

def test_reads_of_any_length():
    """A stick reads whole sectors: those around what was asked for."""
    with Server("ssd-page", "size=4M", "clock=virtual") as s:
        h = s.connect()
        h.set_strict_mode(0)
        data = os.urandom(MIB)
        h.pwrite(data, 3 * MIB)
        for offset, n, sectors in ((3 * MIB, 1, 1), (3 * MIB + 511, 2, 2), (3 * MIB + 100, 1000, 3),
                                   (3 * MIB + 512, 100, 1), (4 * MIB - 1, 1, 1),
                                   (3 * MIB + 1, MIB - 2, 2048)):
            before = host(s)["read"]
            assert h.pread(n, offset) == data[offset - 3 * MIB:][:n], (offset, n)
            after = host(s)["read"]
            assert after["ops"] == before["ops"] + 1
            assert after["bytes"] == before["bytes"] + sectors * 512, (offset, n)


def test_cache_reads():
    """A request of its own, without data: the device is busy for as long as for the read."""
    with Server("ssd-page", "size=64M", "clock=virtual") as s:
        h = s.connect()
        h.pwrite(bytes(MIB), 0)
        before = s.stats()
        h.cache(65536, 0)
        middle = s.stats()
        h.pread(65536, 0)
        after = s.stats()
        assert middle["host"]["read"] == {"ops": 1, "bytes": 65536}, middle["host"]
        assert middle["nand"]["page_reads"] - before["nand"]["page_reads"] == 16
        assert middle["device_ns"] - before["device_ns"] == after["device_ns"] - middle["device_ns"]
        h.cache(40 * MIB, 0) # longer than a read may be
        assert host(s)["read"] == {"ops": 4, "bytes": 2 * 65536 + 40 * MIB}, host(s)


# ---- the rest ----

def test_description():
    for params, want in ((["transcend8g"], "flashemu transcend8g: Transcend 8 GB USB stick"),):
        with Server(*params, control=False) as s:
            h = nbd.NBD()
            h.set_full_info(True)
            h.connect_unix(s.socket)
            assert h.get_export_description() == want, h.get_export_description()


def test_flush_always():
    """Offered where nothing needs it: one command to the device, which has nothing to do."""
    for params, want in ((["flush=always"], True), (["flush=auto"], False), ([], False)):
        with Server("transcend8g", "size=64M", "clock=virtual", *params) as s:
            h = s.connect()
            assert h.can_flush() == want and h.can_fua() == want, params
            if want:
                h.pwrite(bytes(4096), 0, FUA)
                programs = s.stats()["nand"]["page_programs"]
                h.flush()
                assert host(s)["flush"]["ops"] == 1
                assert s.stats()["nand"]["page_programs"] == programs


def test_flush_always_for_nbdcopy():
    need("nbdcopy")
    with Server("transcend8g", "size=16M", "clock=virtual", "flush=always") as s, \
            tempfile.NamedTemporaryFile() as f:
        f.truncate(16 * MIB)
        subprocess.run(["nbdcopy", "--flush", f.name, s.uri], check=True)
        assert host(s)["flush"]["ops"] >= 1


def test_notes_are_no_errors():
    """On standard error as long as there is one, also of a server in the background with --run."""
    code, out, err = run_nbdkit("-U", "-", PLUGIN, "ideal", "clock=virtual", "spin=off", "--run", ":")
    assert code == 0 and out == "", (code, out)
    assert err == "nbdkit: flashemu: note: spin does nothing with clock=virtual\n", err


DYING = """
import sys, nbd, time
h = nbd.NBD()
h.connect_unix(sys.argv[1])
buffers = [nbd.Buffer(1 << 20) for _ in range(16)]
for i, b in enumerate(buffers):
    h.aio_pread(b, i << 20)
print("reading", flush=True)
time.sleep(600)
"""


def test_a_client_that_dies_in_the_middle_of_reads():
    """nbdkit before 1.34 answers in several threads, finds the connection closed, and ends by an
    assertion, nearly each time.  Not where a connection has one thread."""
    for params, options in ((["clock=virtual"], []), (["clock=real"], ["-t", "1"])):
        with Server("ideal", "size=32M", *params, options=options) as s:
            s.connect().pwrite(b"kept" * 1024, 0)
            for _ in range(3):
                with subprocess.Popen(["/usr/bin/python3", "-c", DYING, s.socket],
                                      stdout=subprocess.PIPE, stderr=subprocess.PIPE) as client:
                    assert client.stdout.readline() == b"reading\n"
                    s.stats() # the server has had a moment to begin its answers
                    client.kill()
            assert s.connect().pread(4096, 0) == b"kept" * 1024, params
            assert s.proc.poll() is None


run(globals())
