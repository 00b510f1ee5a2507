#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""How fast the server is, compared with nbdkit's memory plugin, which does nothing but copy, and
how fast it is when it writes a trace, compared with itself.

clock=virtual, so that no request waits: what remains is the cost of the model.  Both
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
import json
import os
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time

SIZE = "256M"
PROFILES = {
    "ideal": ["ideal", "size=" + SIZE],
    "ssd-page": ["ssd-page", "size=" + SIZE],
}
GOAL = 0.95 # in every row
LOADS = [ # operation, pattern, block; all was written in order before the first of them
    ("read", "sequential", 1 << 20),
    ("read", "random", 4096),
    ("write", "random", 4096),
    ("read", "scattered", 1 << 20), # in order, what was written at random
    ("write", "sequential", 1 << 20),
]


class Server:
    def __init__(self, folder, name, argv):
        self.name = name
        self.socket = os.path.join(folder, name)
        ready = self.socket + ".pid"  # the socket is there before the server listens
        self.proc = subprocess.Popen(["nbdkit", "-f", "-P", ready, "-U", self.socket, *argv],
                                     stdin=subprocess.DEVNULL)
        while not os.path.exists(ready):
            if self.proc.poll() is not None:
                sys.exit("no server: " + name)
            time.sleep(0.01)

    def load(self, op, pattern, block, depth, seconds):
        order = "random" if pattern == "random" else "sequential"
        out = subprocess.run([os.environ["FLASHEMU_LOAD"], self.socket, op, order, str(block),
                              str(depth), str(seconds)], check=True, stdout=subprocess.PIPE)
        return float(out.stdout)

    def cpu_s(self):
        """Processor time so far, its children's not counted."""
        with open("/proc/%d/stat" % self.proc.pid) as f:
            fields = f.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def memory_mib(self):
        """What the server holds of the machine's memory."""
        with open("/proc/%d/status" % self.proc.pid) as f:
            return int(next(line for line in f if line.startswith("VmRSS:")).split()[1]) / 1024

    def close(self):
        self.proc.terminate()
        self.proc.wait()


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


def print_row(name, load, found):
    """Returns whether the goal is met."""
    ratio, a, b, cpu_a, cpu_b = found
    print("%-10s %-6s %-10s %8d  %8.0f %8.0f  %5.2f  %.2f %-6s  %8.1f %8.1f" % (
        name, *load, a, b, ratio, GOAL, "met" if ratio >= GOAL else "MISSED", cpu_a, cpu_b),
        flush=True)
    return ratio >= GOAL


def print_head(name, other):
    print("%-10s %-6s %-10s %8s  %8s %8s  %5s  %-11s  %8s %8s" % (
        name, "op", "pattern", "block", "ops/s", other, "ratio", "goal", "us cpu", other))


def end_of_trace(control):
    """Why the trace has ended, or None."""
    with socket.socket(socket.AF_UNIX) as s:
        s.connect(control)
        s.sendall(b'{"cmd":"stats"}\n')
        with s.makefile() as reply:
            return json.loads(reply.readline())["trace"]["ended"]


def compare_tracing(folder, plain, args):
    """The goals that were missed.  A disk that is too slow for the trace ends it, which is no
    measurement of tracing."""
    control = os.path.join(folder, "control")
    traced = Server(folder, "traced", [
        os.environ["FLASHEMU_PLUGIN"], *PROFILES["ssd-page"], "clock=virtual",
        "trace=" + os.path.join(folder, "trace"), "control=" + control])
    try:
        traced.load("write", "sequential", 1 << 20, 4, 3)
        print_head("trace", "off")
        missed = 0
        for load in LOADS[1:3]:
            missed += not print_row("on", load, compare(traced, plain, load, args))
        why = end_of_trace(control)
        if why:
            print("the trace has ended: " + why)
        return missed + bool(why)
    finally:
        traced.close()


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    p.add_argument("--rounds", type=int, default=21)
    p.add_argument("--seconds", type=float, default=0.35)
    p.add_argument("--depth", type=int, default=16)
    p.add_argument("--strict", action="store_true")
    args = p.parse_args()
    for name in ("FLASHEMU_PLUGIN", "FLASHEMU_LOAD"):
        if name not in os.environ:
            print("SKIP: %s is not set" % name)
            sys.exit(77)
    if not shutil.which("nbdkit"):
        print("SKIP: no nbdkit")
        sys.exit(77)

    missed = 0
    with tempfile.TemporaryDirectory(prefix="fe") as folder:
        servers = [Server(folder, "memory", ["memory", SIZE])]
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
            missed += compare_tracing(folder, servers[2], args)
        finally:
            for s in servers:
                s.close()
    sys.exit(1 if missed and args.strict else 0)


main()
