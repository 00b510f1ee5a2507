# SPDX-License-Identifier: BSD-3-Clause
"""littlefs on a device of NBD: a file is replaced again and again, and each version is promised.

    flashemu_littlefs.py work|check

littlefs says `sync` where the device must have what came before; here this is a flush.  littlefs-python
must be where Python finds it."""

import os
import subprocess
import sys

BLOCK, BLOCKS, VERSIONS = 4096, 128, 12
PARTS = {"block_size": BLOCK, "block_count": BLOCKS, "read_size": 512, "prog_size": 512,
         "cache_size": 512, "lookahead_size": 16}


def content(version):
    """Too long to be kept in the folder's block."""
    return b"version %d." % version * (400 + 97 * version)


def open_device():
    import nbd
    from littlefs.context import UserContext

    class Device(UserContext):
        """A device of blocks needs no erase."""

        def __init__(self):
            super().__init__(buffsize=0)
            self.device = nbd.NBD()
            self.device.connect_uri(os.environ["FLASHEMU_URI"])

        def read(self, cfg, block, off, size):
            return bytearray(self.device.pread(size, block * cfg.block_size + off))

        def prog(self, cfg, block, off, data):
            self.device.pwrite(bytes(data), block * cfg.block_size + off)
            return 0

        def erase(self, cfg, block):
            return 0

        def sync(self, cfg):
            self.device.flush()
            return 0

    return Device()


def mark(text):
    subprocess.run([os.environ["FLASHEMU"], "ctl", os.environ["FLASHEMU_CONTROL"], "mark", text],
                   check=True, stdout=subprocess.DEVNULL)


def work():
    from littlefs import LittleFS
    device = open_device()
    fs = LittleFS(context=device, mount=False, **PARTS)
    fs.format()
    fs.mount()
    mark("formatted")
    for version in range(VERSIONS):
        with fs.open("file", "wb") as f:
            f.write(content(version))
        mark("version %d" % version)
    fs.unmount()
    return 0


def check():
    from littlefs import LittleFS
    with open(os.environ["FLASHEMU_MARKS"], encoding="utf-8") as f:
        marks = f.read().splitlines()
    if not marks:
        return 0  # nothing is promised yet
    fs = LittleFS(context=open_device(), mount=False, **PARTS)
    fs.mount()
    least = int(marks[-1].split()[1]) if len(marks) > 1 else -1
    try:
        with fs.open("file", "rb") as f:
            there = f.read()
    except FileNotFoundError:
        return int(least >= 0)
    return int(there not in [content(v) for v in range(max(least, 0), VERSIONS)] and
               (there != b"" or least >= 0))


if __name__ == "__main__":
    sys.exit({"work": work, "check": check}[sys.argv[1]]())
