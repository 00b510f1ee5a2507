#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""How late waits end: the ways to wait side by side (tests/bench/lateness.c, LATENESS), and then the
answers of a server by its own statistics, when more requests come than its device has queue slots,
next to those of a queue that holds them all.

The two servers take turns, and what is printed are medians over the rounds.  A lateness of less than
a microsecond is one microsecond in the ratio, because that is what nobody notices.  Options go to
the program.  The second half wants FLASHEMU_PLUGIN and FLASHEMU_LOAD.
"""

import os
import statistics
import subprocess
import sys
import tempfile

from server import BLOCK, queues, skip_without_server

CASES = [(8, 20), (8, 43), (16, 43), (16, 100), (4, 1000)] # requests in flight, us of each
GOAL = 1.1
ROUNDS, SECONDS = 9, 0.3
WHAT = ("p50", "p99")


def lateness_us(server, depth):
    """Of the answers of a short load, in us; and whether the server called the machine late."""
    server.ask("reset")
    server.load("read", "random", BLOCK, depth, SECONDS)
    late = server.ask("stats")["lateness_ns"]
    return [late[what] / 1000 for what in WHAT], late["late"]


def main():
    if "LATENESS" in os.environ:
        subprocess.run([os.environ["LATENESS"], *sys.argv[1:]], check=True)
        sys.stdout.flush()
    skip_without_server()
    print("\n%-10s %22s %22s %7s  %-11s %s" % ("queued", "one slot: p50, p99 us",
                                               "all in: p50, p99 us", "p50", "goal", "said late"))
    with tempfile.TemporaryDirectory(prefix="fe") as folder:
        for depth, us in CASES:
            servers = queues(folder, depth, us)
            found = {s: [] for s in servers}
            try:
                for i in range(ROUNDS):
                    for s in servers if i % 2 else servers[::-1]:
                        found[s].append(lateness_us(s, depth))
            finally:
                for s in servers:
                    s.close()
            pairs = [[max(late[0], 1) for late, _ in found[s]] for s in servers]
            ratio = statistics.median(a / b for a, b in zip(*pairs))
            shown = [statistics.median(late[k] for late, _ in found[s])
                     for s in servers for k in range(len(WHAT))]
            said = [sum(is_late for _, is_late in found[s]) for s in servers]
            print("%-10s %11.2f %10.1f %11.2f %10.1f %7.2f  %.2f %-6s %d and %d of %d" % (
                "%d, %d us" % (depth, us), *shown, ratio, GOAL, "met" if ratio <= GOAL else "MISSED",
                *said, ROUNDS), flush=True)


main()
