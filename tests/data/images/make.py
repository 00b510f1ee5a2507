#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Makes the images of this folder: see README.md.

    FLASHEMU_PLUGIN=.../nbdkit-flashemu-plugin.so FLASHEMU_TOOL=.../flashemu \
        PYTHONPATH=tests/lib/py tests/data/images/make.py NAME...

An image is written through a server with a pattern that depends on its seed, then ended as its
entry says.  What its JSON file expects of it is what the same server and tool find in a copy.
"""

import json
import lzma
import os
import random
import shutil
import struct
import sys
import tempfile
import zlib

from flashemu_server import Server, nbd
from flashemu_tool import good_json

HERE = os.path.dirname(os.path.abspath(__file__))
PIECE = 4096  # bytes of one checksum

CHIP = ("ideal", "clock=virtual", "device.capacity=1M", "nand.pages_per_block=16",
        "nand.page_size=2K", "nand.dies_per_channel=2", "nand.blocks_per_plane=40")

# name: how the run ends, parameters of the server
DEVICES = {
    "page": ("close", CHIP + (
        "nand.cell=mlc", "ftl.op=20%", "ftl.slc_mode=static", "ftl.slc_blocks=4",
        "ftl.wear_levelling=static,threshold:2", "faults.spare_blocks=4",
        "faults.factory_bad=3%", "faults.fail=program_number:500", "nand.endurance=1000")),
    "page-cache": ("kill", CHIP + (
        "ftl.op=20%", "cache.size=32K", "cache.volatile=no", "cache.idle_flush=no",
        "faults.rber=fresh:1000000")),
    "segment": ("kill", CHIP + (
        "ftl.type=segment", "nand.cell=mlc", "ftl.unit_size=64K", "ftl.open_linear=2",
        "ftl.open_random=1", "device.discard=no", "cache.size=16K", "cache.volatile=yes")),
    "dftl": ("cut", CHIP + (
        "ftl.type=dftl", "nand.cell=mlc", "ftl.op=40%", "ftl.map_cache=1K",
        "nand.tR=50us", "nand.tPROG=900us", "nand.tBERS=2ms", "faults.cut=partner:100%")),
    "norlog": ("close", (
        "ideal", "clock=virtual", "device.capacity=256K", "nand.cell=nor",
        "nand.pages_per_block=33", "nand.page_size=512", "nand.oob_size=16",
        "nand.blocks_per_plane=32", "ftl.type=norlog", "ftl.op=60%", "device.discard=no")),
    "step": ("kill", CHIP + ("ftl.type=step", "device.discard=no")),
    "page-format-2": ("kill", CHIP + (
        "ftl.op=20%", "cache.size=32K", "cache.volatile=no", "cache.idle_flush=no")),
}


def write(h, rand, size, sector, trims):
    """Sectors that say where they are and when they were written."""
    for n in range(900):
        length = rand.choice((1, 1, 2, 4, 8, 16, 64)) * sector
        hot = size // 8 if rand.random() < 0.7 else size
        offset = rand.randrange(0, hot - length + 1, sector)
        if trims and n % 40 == 39:
            h.trim(length, offset)
            continue
        data = b"".join(struct.pack("<QQ", n + 1, offset + i) * (sector // 16)
                        for i in range(0, length, sector))
        h.pwrite(data, offset)
        if n % 100 == 50:
            h.flush()


def crc32c(data, crc=0):
    crc ^= 0xffffffff
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82f63b78 & -(crc & 1))
    return crc ^ 0xffffffff


def move_to_another_host(path):
    """The image's boot id is that of no host: to every server it is as after a crash of its
    host, whichever machine that runs on."""
    with open(path, "r+b") as f:
        for at in (4096, 8192):
            f.seek(at)
            status = bytearray(f.read(304))
            if not any(status):
                continue
            status[16:32] = bytes(16)
            status[300:] = struct.pack("<I", crc32c(status[:300], crc32c(bytes(8))))
            f.seek(at)
            f.write(status)


def make(path, end, params, seed):
    with Server(*params, "file=" + path, "seed=%d" % seed, options=("-t", "1")) as s:
        h = s.connect()
        write(h, random.Random(seed), h.get_size(), 512, h.can_trim())
        if end == "cut":
            assert s.ctl("wear", "5", "30")["ok"]
            assert s.ctl("power-cut", "after", "30ms")["ok"]
            for _ in range(2): # the first one would be done after the cut, the second comes after it
                try:
                    write(h, random.Random(~seed), h.get_size(), 512, False)
                except nbd.Error:
                    pass
            assert not s.stats()["power"]["on"]
        if end == "close":
            h.shutdown()
            assert s.ctl("mark-bad", "7")["ok"] or "norlog" in path
            assert s.terminate() == 0
    if end != "close":
        move_to_another_host(path)


def contents(path, params):
    """A checksum of each piece."""
    with Server(*params, "file=" + path, options=("-t", "1")) as s:
        h = s.connect()
        return ["%08x" % zlib.crc32(h.pread(PIECE, at)) for at in range(0, h.get_size(), PIECE)]


def main():
    for seed, (name, (end, params)) in enumerate(DEVICES.items(), 1):
        if name not in sys.argv[1:]:
            continue
        with tempfile.TemporaryDirectory(prefix="fe") as folder:
            path = os.path.join(folder, "img")
            make(path, end, params, seed)
            with open(path, "rb") as f, lzma.open(os.path.join(HERE, name + ".img.xz"), "wb",
                                                  preset=9 | lzma.PRESET_EXTREME) as out:
                shutil.copyfileobj(f, out)
            expected = {"end": end, "params": params, "inspect": good_json("inspect", path, "--json"),
                        "crc32": contents(path, params)}
        with open(os.path.join(HERE, name + ".json"), "w") as f:
            json.dump(expected, f, indent=1)
            f.write("\n")


if __name__ == "__main__":
    main()
