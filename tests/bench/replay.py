#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""How fast the core runs: host 4 KiB writes and NAND operations a second, on one core.

Uniform random overwrites in steady state (the logical space written three times before),
for each strategy; then without and with payload in turn, when each logical page has bytes, so
that nothing waits for fresh memory; then the page strategy from 1 GiB to 1 TiB at the same
over-provisioning, once its cleaning has begun.  Times are processor seconds of what is counted,
so that a busy machine distorts them less.
"""
import json
import os
import statistics
import subprocess
import sys

FLASHEMU = os.environ.get("FLASHEMU", "build/tools/flashemu")
GIB = 1 << 30
PAIRS = 7


def run(name, warm, count, options, flags=(), pattern="random"):
    """Prints one line; the processor seconds that a NAND operation took."""
    trace = "gen:%s,op=write,bs=4K,count=%d,seed=%d"
    args = [FLASHEMU, "replay", "--json", *flags, "ssd-page", "--warmup",
            trace % (pattern, warm, 1), trace % ("random", count, 2), *options]
    out = subprocess.run(args, capture_output=True, text=True)
    if out.returncode:
        sys.exit(out.stderr.strip())
    stats = json.loads(out.stdout)
    nand, seconds = stats["nand"], stats["cpu_seconds"]
    ops = nand["page_reads"] + nand["page_programs"] + nand["block_erases"]
    print("%-34s %8.3f M host writes/s %8.2f M NAND ops/s   WAF %6.3f"
          % (name, count / seconds / 1e6, ops / seconds / 1e6, stats["ftl"]["waf"]), flush=True)
    return seconds / ops


def compare_payload(name, warm, count, options, pattern="random"):
    """Runs without and with payload in turn; the median of the ratios of PAIRS pairs is printed."""
    ratios = []
    for _ in range(PAIRS):
        bare = run(name, warm, count, options, (), pattern)
        full = run(name + ", with payload", warm, count, options, ["--payload"], pattern)
        ratios.append(bare / full)
    print("%-34s %8.2f of the speed without payload (goal 0.6)"
          % (name, statistics.median(ratios)), flush=True)


UNITS = (("block", []), ("segment", ["ftl.open_linear=2", "ftl.open_random=4"]),
         ("bast", ["ftl.log_blocks=8"]), ("fast", ["ftl.log_blocks=8"]))
NORLOG = ["nand.cell=nor", "nand.channels=1", "nand.dies_per_channel=1", "nand.blocks_per_plane=64",
          "nand.pages_per_block=128", "nand.page_size=512", "nand.oob_size=0", "ftl.op=28%",
          "ftl.type=norlog"]


def of_units(name, options):
    return ["device.discard=no", "ftl.op=10%", "ftl.type=" + name, "ftl.unit_size=256K",
            "device.used=16T", *options]


def payload():
    pages = GIB // 4096
    compare_payload("page greedy, OP 7%", 3 * pages, 1000000, ["ftl.op=7%"])
    compare_payload("dftl, OP 10%", 3 * pages, 500000,
                    ["ftl.op=10%", "ftl.type=dftl", "ftl.map_cache=1M"])
    for name, options in UNITS:
        compare_payload(name + ", OP 10%", pages, 200000, of_units(name, options), "sequential")
    compare_payload("norlog, 4 MiB of NOR", 20000, 100000, NORLOG)


def main():
    pages = GIB // 4096
    for op in ("7%", "10%", "28%"):
        run("page greedy, OP " + op, 3 * pages, 2000000, ["ftl.op=" + op])
    for op in ("7%", "28%"):
        run("page greedy, 8 GiB, OP " + op, 7 * 8 * pages, 2000000,
            ["ftl.op=" + op, "nand.blocks_per_plane=8192"])
    for policy in ("cost-benefit", "fifo", "random", "d-choices"):
        run("page " + policy + ", OP 10%", 3 * pages, 1000000,
            ["ftl.op=10%", "ftl.gc_policy=" + policy])
    for name, options in UNITS:
        run(name + ", OP 10%", 20000, 200000, of_units(name, options))
    for cached in ("256K", "1M", "2M"):
        run("dftl, OP 10%, " + cached + " of mapping", 3 * pages, 1000000,
            ["ftl.op=10%", "ftl.type=dftl", "ftl.map_cache=" + cached])
    run("norlog, 4 MiB of NOR", 20000, 20000, NORLOG)
    payload()
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
