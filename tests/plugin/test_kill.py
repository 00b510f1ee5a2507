#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""kill -9 against a served image under load, again and again.

The client keeps a log of what was acknowledged.  After each kill the next server must
give, for every sector, what was acknowledged last or what was under way; then the load
goes on.  KILL_ROUNDS says how many rounds, over all strategies in turn; KILL_SEED which.
"""

import os
import random
import re
import signal
import struct
import subprocess
import tempfile
import time

import nbd

from flashemu_server import Server, run
from flashemu_tool import call, good_json

ROUNDS = int(os.environ.get("KILL_ROUNDS", "24"))
SEED = int(os.environ.get("KILL_SEED", "1"))
SECTOR = 512
CAPACITY = 4 << 20
SECTORS = CAPACITY // SECTOR
DEPTH = 8

PLAIN = ("device.discard=no", "nand.pages_per_block=16", "nand.page_size=2K", "device.used=0")
CHIP = ("nand.oob_size=64", "nand.tR=50us", "nand.tPROG=200us", "nand.tBERS=2ms")  # not of step

# What each image is made with; sync=flush costs the host's fdatasync, sync=none does not.
# A strategy that has no entry here is tested with the defaults of its options.
DEVICES = {
    "page": ("ftl.type=page", "device.discard=yes"),
    "page, cache": ("ftl.type=page", "device.discard=yes", "cache.size=64K",
                    "cache.idle_flush=no"),
    "page, safe cache": ("ftl.type=page", "cache.size=64K", "cache.volatile=no", "sync=none"),
    "page, bad blocks": ("ftl.type=page", "faults.factory_bad=2%", "faults.spare_blocks=8",
                         "nand.endurance=300", "sync=none"),
    "dftl": ("ftl.type=dftl", "ftl.map_cache=1K", "sync=none"),
    "block": ("ftl.type=block", "ftl.unit_size=32K"),
    "segment": ("ftl.type=segment", "ftl.unit_size=128K", "ftl.open_linear=2",
                "ftl.open_random=1", "sync=none"),
    "bast": ("ftl.type=bast", "ftl.unit_size=32K"),
    "fast": ("ftl.type=fast", "ftl.unit_size=32K", "sync=none"),
    "norlog": ("ftl.type=norlog", "nand.page_size=512", "nand.oob_size=0", "nand.cell=nor",
               "nand.pages_per_block=64", "nand.blocks_per_plane=256"),
}


def strategies():
    """The names of all strategies, as the tool knows them."""
    return re.findall(r"[a-z0-9-]+", good_json("help", "--json", "ftl.type")["allowed"])


for name in strategies():
    if not any("ftl.type=" + name in given for given in DEVICES.values()):
        DEVICES[name] = ("ftl.type=" + name, "sync=none")
        if name in good_json("help", "--json", "ftl.unit_size")["used_by"]:
            DEVICES[name] += ("ftl.unit_size=32K",)


def content(sector, version):
    """A sector says what it is in each of its bytes; version 0 was never written."""
    return struct.pack("<II", sector, version) * (SECTOR // 8) if version else bytes(SECTOR)


class Stick:
    """An image, and what its client knows of each sector."""

    def __init__(self, name, folder, rng):
        given = {p.split("=")[0] for p in DEVICES[name]}
        usual = PLAIN if name == "step" else PLAIN + CHIP
        self.params = (*DEVICES[name], *(p for p in usual if p.split("=")[0] not in given))
        if "nand.blocks_per_plane" not in given:
            self.params += ("nand.blocks_per_plane=192",)
        self.image = os.path.join(folder, name.replace(" ", "-") + ".img")
        self.rng = rng
        self.trims = "device.discard=yes" in self.params
        self.acked = [0] * SECTORS
        self.maybe = [set() for _ in range(SECTORS)]
        self.busy = set()
        self.version = 0
        self.n_acked = 0

    def server(self):
        return Server("ideal", "size=%d" % CAPACITY, "clock=virtual", "file=" + self.image,
                      *self.params, control=False)

    def verify(self, h):
        at = 0
        while at < SECTORS:
            n = min(1024, SECTORS - at)
            data = h.pread(n * SECTOR, at * SECTOR)
            for i in range(n):
                s = at + i
                got = data[i * SECTOR:(i + 1) * SECTOR]
                for version in (self.acked[s], *self.maybe[s]):
                    if got == content(s, version):
                        self.acked[s] = version
                        break
                else:
                    raise AssertionError("%s: sector %d is %r, acknowledged was %d, under way %r"
                                         % (self.image, s, struct.unpack("<II", got[:8]),
                                            self.acked[s], self.maybe[s]))
                self.maybe[s] = set()
            at += n
        self.busy = set()

    def submit(self, h):
        """One request over sectors that no other one under way has."""
        rng = self.rng
        kind = rng.random()
        if kind < 0.03:
            h.aio_flush(completion=lambda e: 1)
            return
        n = rng.choice((1, 1, 3, 4, 8, 16, 64))
        first = rng.choice((rng.randrange(SECTORS // 8), rng.randrange(SECTORS)))
        n = min(n, SECTORS - first)
        sectors = range(first, first + n)
        if not self.busy.isdisjoint(sectors):
            return
        self.busy.update(sectors)
        version = 0
        if not self.trims or kind < 0.9:
            self.version += 1
            version = self.version
        for s in sectors:
            self.maybe[s].add(version)

        def done(error):
            if error:
                return 1
            for s in sectors:
                self.acked[s] = version
                self.maybe[s].discard(version)
            self.busy.difference_update(sectors)
            self.n_acked += 1
            return 1

        if version:
            data = nbd.Buffer.from_bytearray(
                bytearray(b"".join(content(s, version) for s in sectors)))
            flags = nbd.CMD_FLAG_FUA if kind < 0.06 else 0
            h.aio_pwrite(data, first * SECTOR, completion=done, flags=flags)
        else:
            h.aio_trim(n * SECTOR, first * SECTOR, completion=done)

    def load_until_killed(self, s, h):
        """A helper kills the server at some moment of its own."""
        killer = subprocess.Popen(["sh", "-c", "sleep %.4f; kill -9 %d" %
                                   (self.rng.uniform(0.01, 0.25), s.proc.pid)])
        try:
            while True:
                if h.aio_in_flight() < DEPTH:
                    self.submit(h)
                    h.poll(0)
                else:
                    h.poll(1000)
        except nbd.Error:
            pass
        killer.wait()
        assert s.proc.wait(timeout=60) == -signal.SIGKILL, s.text()


def one_round(stick):
    with stick.server() as s:
        h = s.connect()
        stick.verify(h)
        stick.load_until_killed(s, h)


def test_kill():
    rng = random.Random(SEED)
    with tempfile.TemporaryDirectory(prefix="fe") as folder:
        sticks = [Stick(name, folder, rng) for name in DEVICES]
        start = time.monotonic()
        for i in range(ROUNDS):
            one_round(sticks[i % len(sticks)])
        for stick in sticks[:ROUNDS]:
            with stick.server() as s:
                stick.verify(s.connect())
                s.terminate()
            code, out, err = call("fsck", stick.image)
            assert code == 0, (stick.image, out, err)
        print("%d rounds, %d acknowledged writes and trims, %.0f s" %
              (ROUNDS, sum(s.n_acked for s in sticks), time.monotonic() - start))


if __name__ == "__main__":
    for name in os.environ.get("KILL_ONLY", "").split(";"):
        if name:
            DEVICES = {name: DEVICES[name]}
    run(globals())
