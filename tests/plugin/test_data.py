#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""What was written is read back: a random mix at depth 16 over several connections
against a plain array of bytes, and the usual programs."""

import os
import random
import subprocess
import tempfile

from flashemu_server import Server, need, nbd, run

CACHE = ["cache.size=64K", "cache.volatile=yes"]
SIZE = 8 << 20
DEPTH = 16


class Mix:
    """Requests in flight never overlap, so the order of their execution, which the
    server is free to choose, cannot be seen in the result."""

    def __init__(self, server, n_connections, seed):
        self.rng = random.Random(seed)
        self.handles = [server.connect() for _ in range(n_connections)]
        self.want = bytearray(SIZE)
        self.busy = [] # (handle index, cookie, offset, length, buffer, expected or None)

    def free_range(self):
        while True:
            n = 512 * self.rng.choice([1, 1, 2, 3, 8, 16, 40, 128, 300])
            off = 512 * self.rng.randrange((SIZE - n) // 512 + 1)
            if all(off + n <= o or o + m <= off for _, _, o, m, _, _ in self.busy):
                return off, n

    def issue(self):
        i = self.rng.randrange(len(self.handles))
        h = self.handles[i]
        off, n = self.free_range()
        kinds = ["read"] * 4 + ["write"] * 5
        kinds += ["trim", "zero"] if h.can_trim() else []
        kind = self.rng.choice(kinds)
        fua = nbd.CMD_FLAG_FUA if h.can_fua() and self.rng.random() < 0.2 else 0
        expected = None
        if kind == "read":
            buf = nbd.Buffer(n)
            expected = bytes(self.want[off:off + n])
            cookie = h.aio_pread(buf, off)
        elif kind == "write":
            data = self.rng.getrandbits(8 * n).to_bytes(n, "little")
            self.want[off:off + n] = data
            buf = nbd.Buffer.from_bytearray(bytearray(data))
            cookie = h.aio_pwrite(buf, off, flags=fua)
        else:
            buf = None
            self.want[off:off + n] = bytes(n)
            call = h.aio_trim if kind == "trim" else h.aio_zero
            cookie = call(n, off, flags=fua)
        self.busy.append((i, cookie, off, n, buf, expected))

    def collect(self):
        """Takes what has completed; waits for something if all are under way."""
        done = [b for b in self.busy if self.handles[b[0]].aio_command_completed(b[1])]
        for b in done:
            self.busy.remove(b)
            if b[5] is not None:
                assert bytes(b[4].to_bytearray()) == b[5], "offset %d length %d" % b[2:4]
        if not done:
            for h in self.handles:
                h.poll(1)

    def run(self, count):
        for _ in range(count):
            while len(self.busy) >= DEPTH:
                self.collect()
            self.issue()
        while self.busy:
            self.collect()
        for off in range(0, SIZE, 1 << 20):
            h = self.handles[(off >> 20) % len(self.handles)]
            assert h.pread(1 << 20, off) == self.want[off:off + (1 << 20)], off


def mix(*params, connections=3, count=3000, seed=1):
    with Server(*params, control=False) as s:
        Mix(s, connections, seed).run(count)
        assert s.terminate() == 0


def test_mix_ideal():
    mix("ideal", "size=8M")


def test_mix_real_clock_with_waits():
    mix("ssd-page", "size=8M", "time-scale=0.1", count=1500, seed=2)


def test_mix_with_a_cache():
    mix("ssd-page", "size=8M", "clock=virtual", *CACHE, seed=3)


def test_mix_of_a_usb_stick():
    mix("transcend8g", "size=8M", "clock=virtual", connections=4, seed=4)


def test_mix_under_collection():
    """Little space to spare: the translation layer moves pages all the time."""
    mix("ideal", "size=8M", "ftl.op=10%", "nand.pages_per_block=16", "clock=virtual", count=6000,
        seed=5)


def test_nbdcopy_in_and_out():
    need("nbdcopy", "nbdinfo")
    for params in (["ideal", "size=16M"], ["transcend8g", "size=16M", "clock=virtual"]):
        with Server(*params, control=False) as s, tempfile.TemporaryDirectory(prefix="fe") as d:
            source, back = os.path.join(d, "in"), os.path.join(d, "out")
            with open(source, "wb") as f: # holes, zeros and data
                f.truncate(16 << 20)
                for off in range(0, 16 << 20, 3 << 20):
                    f.seek(off)
                    f.write(os.urandom(1 << 20))
            subprocess.run(["nbdcopy", source, s.uri], check=True)
            subprocess.run(["nbdcopy", s.uri, back], check=True)
            with open(source, "rb") as a, open(back, "rb") as b:
                assert a.read() == b.read()
            out = subprocess.run(["nbdinfo", "--size", s.uri], check=True,
                                 stdout=subprocess.PIPE).stdout
            assert int(out) == 16 << 20


def test_fio_verifies():
    need("fio")
    engines = subprocess.run(["fio", "--enghelp"], stdout=subprocess.PIPE, check=True).stdout
    if b"\tnbd" not in engines:
        print("no nbd engine in fio")
        return
    for params in (["ideal", "size=16M"], ["ssd-page", "size=16M", "time-scale=0.1"]):
        with Server(*params, control=False) as s, tempfile.TemporaryDirectory(prefix="fe") as d:
            for bs, rw in (("4k", "randwrite"), ("512-64k", "randwrite"), ("1M", "write")):
                subprocess.run(
                    ["fio", "--name=v", "--ioengine=nbd", "--uri=" + s.uri, "--rw=" + rw,
                     "--bsrange=" + bs if "-" in bs else "--bs=" + bs, "--iodepth=16",
                     "--size=16M", "--verify=crc32c", "--verify_fatal=1", "--do_verify=1",
                     "--randseed=7"],
                    check=True, cwd=d, stdout=subprocess.DEVNULL)


run(globals())
