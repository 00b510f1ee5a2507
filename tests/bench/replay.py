#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""How fast the core runs: host 4 KiB writes and NAND operations a second, on one core.

Uniform random overwrites in steady state (the logical space written three times before),
for each strategy, without and with payload; then the page strategy from 1 GiB to 1 TiB at
the same over-provisioning, once its cleaning has begun.  Times are processor seconds of
what is counted, so that a busy machine distorts them less.
"""
import json
import os
import subprocess
import sys

FLASHEMU = os.environ.get("FLASHEMU", "build/tools/flashemu")
GIB = 1 << 30


def run(name, warm, count, options, flags=()):
    """Prints one line; the seconds that a NAND operation took."""
    trace = "gen:random,op=write,bs=4K,count=%d,seed=%d"
    args = [FLASHEMU, "replay", "--json", *flags, "ssd-page", "--warmup", trace % (warm, 1),
            trace % (count, 2), *options]
    out = subprocess.run(args, capture_output=True, text=True)
    if out.returncode:
        sys.exit(out.stderr.strip())
    stats = json.loads(out.stdout)
    nand, seconds = stats["nand"], stats["cpu_seconds"]
    ops = nand["page_reads"] + nand["page_programs"] + nand["block_erases"]
    print("%-34s %8.3f M host writes/s %8.2f M NAND ops/s   WAF %6.3f"
          % (name, count / seconds / 1e6, ops / seconds / 1e6, stats["ftl"]["waf"]), flush=True)
    return seconds / ops


def main():
    pages = GIB // 4096
    for op in ("7%", "10%", "28%"):
        run("page greedy, OP " + op, 3 * pages, 2000000, ["ftl.op=" + op])
    run("page greedy, OP 7%, with payload", 3 * pages, 500000, ["ftl.op=7%"], ["--payload"])
    for policy in ("cost-benefit", "fifo", "random", "d-choices"):
        run("page " + policy + ", OP 10%", 3 * pages, 1000000,
            ["ftl.op=10%", "ftl.gc_policy=" + policy])
    for name, options in (
            ("block", []), ("segment", ["ftl.open_linear=2", "ftl.open_random=4"]),
            ("bast", ["ftl.log_blocks=8"]), ("fast", ["ftl.log_blocks=8"])):
        options = ["device.discard=no", "ftl.op=10%", "ftl.type=" + name, "ftl.unit_size=256K",
                   "device.used=16T", *options]
        run(name + ", OP 10%", 20000, 200000, options)
        run(name + ", OP 10%, with payload", 20000, 20000, options, ["--payload"])
    for cached in ("256K", "1M", "2M"):
        run("dftl, OP 10%, " + cached + " of mapping", 3 * pages, 1000000,
            ["ftl.op=10%", "ftl.type=dftl", "ftl.map_cache=" + cached])
    run("norlog, 4 MiB of NOR", 20000, 20000,
        ["nand.cell=nor", "nand.channels=1", "nand.dies_per_channel=1", "nand.blocks_per_plane=64",
         "nand.pages_per_block=128", "nand.page_size=512", "nand.oob_size=0", "ftl.op=28%",
         "ftl.type=norlog"])
    print("\nas the device grows: OP 10 %, written all over, then as many random writes as it "
          "has spare pages:")
    first = None
    for name, blocks in (("1 GiB", 1024), ("8 GiB", 8192), ("64 GiB", 65536), ("1 TiB", 1048576)):
        each = run("page greedy, " + name, blocks * 256 // 10, 4000000,
                   ["ftl.op=10%", "nand.blocks_per_plane=%d" % blocks, "device.used=16T"])
        first = first or each
        print("%-34s %8.2f times the cost of a NAND operation at 1 GiB" % ("", each / first))


if __name__ == "__main__":
    main()
