#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""How fast the server is, compared with nbdkit's memory plugin, which does nothing but copy; when
it writes a trace, compared with itself; and when more requests come than its device has queue slots,
compared with a queue that holds them all.

clock=virtual but for the last, so that no request waits: what remains is the cost of the model.  A
connection then has one thread, and so the memory plugin gets one, too.  Both
servers run at the same time and take turns, round by round, in an order that alternates;
what is printed is the median over the rounds of the ratio within a round, because the
machine's speed changes over a run by more than what is measured.  Rounds are many and short,
because each is a connection of its own: with either server, a connection answers small requests at
one of two rates, and stays with the one that it begins with.  The processor time that
each server takes for an operation is printed next to the ratio: that figure is steadier where other
programs compete for the processors.

Wants FLASHEMU_PLUGIN and FLASHEMU_LOAD (tests/bench/plugin_load.c).  Exit code 1 with
--strict if a goal is missed.
"""

import argparse
import os
import statistics
import sys
import tempfile

from server import BLOCK, Server, queues, skip_without_server

SIZE = "256M"
PROFILES = {
    "ideal": ["ideal", "size=" + SIZE],
    "ssd-page": ["ssd-page", "size=" + SIZE],
}
GOAL = 0.95 # in every row but those of QUEUED
QUEUED_GOAL = 1 / 1.1
QUEUED = [(16, 0), (8, 20), (8, 43), (16, 43), (16, 100)] # requests in flight, us of each
LOADS = [ # operation, pattern, block; all was written in order before the first of them
    ("read", "sequential", 1 << 20),
    ("read", "random", 4096),
    ("write", "random", 4096),
    ("read", "scattered", 1 << 20), # in order, what was written at random
    ("write", "sequential", 1 << 20),
]


def compare(ours, theirs, load, args):
    """Medians over the rounds (ratio, our rate, their rate) and processor time in us for
    an operation (ours, theirs)."""
    op, pattern, block = load
    pairs = []
    cpu, n_ops = {ours: 0, theirs: 0}, {ours: 0, theirs: 0}
    for i in range(args.rounds):
        rate = {}
        for s in [ours, theirs] if i % 2 else [theirs, ours]:
            before = s.cpu_s()
            rate[s] = s.load(op, pattern, block, args.depth, args.seconds)
            cpu[s] += s.cpu_s() - before
            n_ops[s] += rate[s] * args.seconds
        pairs.append((rate[ours], rate[theirs]))
    return (statistics.median(a / b for a, b in pairs), statistics.median(a for a, b in pairs),
            statistics.median(b for a, b in pairs),
            1e6 * cpu[ours] / n_ops[ours], 1e6 * cpu[theirs] / n_ops[theirs])


def print_row(name, load, found, goal=GOAL):
    """Returns whether the goal is met."""
    ratio, a, b, cpu_a, cpu_b = found
    print("%-10s %-6s %-10s %8d  %8.0f %8.0f  %5.2f  %.2f %-6s  %8.1f %8.1f" % (
        name, *load, a, b, ratio, goal, "met" if ratio >= goal else "MISSED", cpu_a, cpu_b),
        flush=True)
    return ratio >= goal


def print_head(name, other):
    print("%-10s %-6s %-10s %8s  %8s %8s  %5s  %-11s  %8s %8s" % (
        name, "op", "pattern", "block", "ops/s", other, "ratio", "goal", "us cpu", other))


def compare_tracing(folder, plain, args):
    """The goals that were missed.  A disk that is too slow for the trace ends it, which is no
    measurement of tracing."""
    traced = Server(folder, "traced", [
        os.environ["FLASHEMU_PLUGIN"], *PROFILES["ssd-page"], "clock=virtual",
        "trace=" + os.path.join(folder, "trace"),
        "control=" + os.path.join(folder, "traced.control")])
    try:
        traced.load("write", "sequential", 1 << 20, 4, 3)
        print_head("trace", "off")
        missed = 0
        for load in LOADS[1:3]:
            missed += not print_row("on", load, compare(traced, plain, load, args))
        why = traced.ask("stats")["trace"]["ended"]
        if why:
            print("the trace has ended: " + why)
        return missed + bool(why)
    finally:
        traced.close()


def compare_all(folder, args):
    """The goals that were missed, of the servers that do not wait."""
    missed = 0
    servers = [Server(folder, "memory", ["-t", "1", "memory", SIZE])]
    try:
        for name, params in PROFILES.items():
            servers.append(Server(folder, name, [os.environ["FLASHEMU_PLUGIN"], *params,
                                                 "clock=virtual"]))
        for s in servers: # every page written once, so that reads read
            s.load("write", "sequential", 1 << 20, 4, 3)
        print_head("profile", "memory")
        for ours in servers[1:]:
            for load in LOADS:
                missed += not print_row(ours.name, load, compare(ours, servers[0], load, args))
            print("%-10s holds %.0f MiB of memory, the memory plugin %.0f" % (
                ours.name, ours.memory_mib(), servers[0].memory_mib()))
        return missed + compare_tracing(folder, servers[2], args)
    finally:
        for s in servers:
            s.close()


def compare_queued(folder, args):
    """The goals that were missed."""
    print_head("queued", "slots")
    load = ("read", "random", BLOCK)
    missed = 0
    for depth, us in QUEUED:
        one, all_ = queues(folder, depth, us)
        try:
            found = compare(one, all_, load, argparse.Namespace(**{**vars(args), "depth": depth}))
            missed += not print_row("%d, %d us" % (depth, us), load, found, QUEUED_GOAL)
        finally:
            one.close()
            all_.close()
    return missed


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    p.add_argument("--rounds", type=int, default=21)
    p.add_argument("--seconds", type=float, default=0.35)
    p.add_argument("--depth", type=int, default=16)
    p.add_argument("--strict", action="store_true")
    p.add_argument("--queued", action="store_true", help="nothing but these rows")
    args = p.parse_args()
    skip_without_server()

    with tempfile.TemporaryDirectory(prefix="fe") as folder:
        missed = 0 if args.queued else compare_all(folder, args)
        missed += compare_queued(folder, args)
    sys.exit(1 if missed and args.strict else 0)


if __name__ == "__main__":
    main()
