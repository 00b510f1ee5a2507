#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Memory a physical page, and how long a device takes to be there.

The resident size of a replay of one request, less that of the same on the smallest
device, over the pages of the chip; and the time to create an 8 GB stick.
"""
import os
import sys
import time

FLASHEMU = os.environ.get("FLASHEMU", "build/tools/flashemu")


def run(profile, *options):
    """(peak resident bytes, wall seconds) of one tiny replay."""
    pid = os.fork()
    if pid == 0:
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 1)
        os.execv(FLASHEMU, [FLASHEMU, "replay", profile, "gen:sequential,op=write,bs=4K,count=1",
                            *options])
    start = time.monotonic()
    _, status, usage = os.wait4(pid, 0)
    if status:
        sys.exit("replay failed")
    return usage.ru_maxrss * 1024, time.monotonic() - start


def main():
    least, _ = run("ssd-page", "nand.blocks_per_plane=128")
    for strategy, options in (("page", []), ("segment", ["ftl.open_random=4"]), ("block", []),
                              ("bast", []), ("fast", []), ("dftl", [])):
        blocks = 16384
        most, _ = run("ssd-page", "nand.blocks_per_plane=%d" % blocks, "ftl.type=" + strategy,
                      "device.discard=no", "device.used=16T", *options)
        print("%-10s %5.1f bytes a physical page" % (strategy, (most - least) / (4 * blocks * 64)))
    times = sorted(run("transcend8g")[1] for _ in range(9))
    print("transcend8g, 8 GB, written all over: there after %.3f s (median of 9)" % times[4])
    times = sorted(run("transcend8g", "device.used=0")[1] for _ in range(9))
    print("transcend8g, 8 GB, fresh:            there after %.3f s (median of 9)" % times[4])


if __name__ == "__main__":
    main()
