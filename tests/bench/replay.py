#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""How fast the core runs: host 4 KiB writes and NAND operations a second, on one core.

Uniform random overwrites in steady state (the logical space written three times before),
for each strategy, without and with payload; then the page strategy from 1 GB to 1 TB at
the same over-provisioning, per host write.  Times are CPU seconds of the process, so a
busy machine distorts them less.
"""
import json
import os
import resource
import subprocess
import sys

FLASHEMU = os.environ.get("FLASHEMU", "build/tools/flashemu")


def cpu():
    r = resource.getrusage(resource.RUSAGE_CHILDREN)
    return r.ru_utime + r.ru_stime


def replay(warm, count, options, flags=()):
    """(CPU seconds, stats): with count writes after `warm` times the logical space."""
    profile = ["ssd-page", *options]
    trace = "gen:random,op=write,bs=4K,count=%d,seed=%d"
    args = [FLASHEMU, "replay", "--json", *flags, profile[0]]
    if warm:
        args += ["--warmup", trace % (warm, 1)]
    before = cpu()
    out = subprocess.run(args + [trace % (count, 2)] + profile[1:], capture_output=True, text=True)
    if out.returncode:
        sys.exit(out.stderr.strip())
    return cpu() - before, json.loads(out.stdout)


def rate(name, warm, count, options, flags=()):
    """The cost of count writes alone: a run with them less a run with one of them."""
    base, _ = replay(warm, 1, options, flags)
    full, stats = replay(warm, count, options, flags)
    seconds = max(full - base, 1e-9)
    nand = stats["nand"]
    ops = nand["page_reads"] + nand["page_programs"] + nand["block_erases"]
    print("%-34s %8.3f M host writes/s %8.2f M NAND ops/s   WAF %6.3f"
          % (name, count / seconds / 1e6, ops / seconds / 1e6, stats["ftl"]["waf"]), flush=True)
    return seconds / count


def main():
    gib = 262144
    small = ["nand.blocks_per_plane=256", "ftl.unit_size=256K"]
    for op in ("7%", "10%", "28%"):
        rate("page greedy, OP " + op, 3 * gib, 2000000, ["ftl.op=" + op])
    rate("page greedy, OP 7%, with payload", gib, 200000, ["ftl.op=7%"], ["--payload"])
    for policy in ("cost-benefit", "fifo", "random", "d-choices"):
        rate("page " + policy + ", OP 10%", 3 * gib, 1000000,
             ["ftl.op=10%", "ftl.gc_policy=" + policy])
    for strategy, options in (
            ("block", []), ("segment", ["ftl.open_linear=2", "ftl.open_random=4"]),
            ("bast", ["ftl.log_blocks=8"]), ("fast", ["ftl.log_blocks=8"]),
            ("dftl", ["ftl.map_cache=64K"])):
        rate(strategy + ", OP 10%", 20000, 100000,
             small + ["device.discard=no", "ftl.op=10%", "ftl.type=" + strategy, *options])
    print("\ncost of a write as the device grows, OP 10 %, after one overwrite of 1 GiB:")
    first = None
    for name, blocks in (("1 GiB", 1024), ("8 GiB", 8192), ("64 GiB", 65536), ("1 TiB", 1048576)):
        each = rate("page greedy, " + name, 0, 2000000,
                    ["ftl.op=10%", "nand.blocks_per_plane=%d" % blocks, "device.used=16T"])
        first = first or each
        print("%-34s %8.2f times the cost at 1 GiB" % ("", each / first))


if __name__ == "__main__":
    main()
