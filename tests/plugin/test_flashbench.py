#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""What flashbench itself asks of a served device is what the pattern in this process issues.

flashbench runs on a loop device over nbdfuse (root is needed), nbdkit's log filter writes
down what arrives.  The kernel cuts requests; flashbench waits for each of its own.  So the
log must be the pattern's requests in order, each in pieces that cover it, every byte once,
and nothing else but reads that the kernel makes by itself when the device appears.
"""

import os
import re
import subprocess
import tempfile

from flashemu_server import HANG_S, Server, attached, need, need_attached, run
from flashemu_tool import good, good_json

SIZE = 100 << 20  # three open units of 4 MiB go round its end


def flashbench(folder, device, *args):
    """Runs it; without -o it wants a terminal."""
    subprocess.run(["flashbench", *args, "-o", os.path.join(folder, "out"), device], check=True,
                   timeout=HANG_S, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def served(*args):
    """(type, offset, length) of what flashbench ARGS makes of a device, in order."""
    with tempfile.TemporaryDirectory() as folder:
        log = os.path.join(folder, "log")
        with Server("profile=ideal", "size=%d" % SIZE, "logfile=" + log, control=False,
                    options=("-t", "1", "--filter=log")) as server:
            with attached(server) as device:
                before = len(open(log).readlines())
                flashbench(folder, device, *args)
                lines = open(log).readlines()[before:]
    found = []
    for line in lines:
        m = re.search(r" (Read|Write) id=\d+ offset=(0x[0-9a-f]+) count=(0x[0-9a-f]+)", line)
        if m:
            found.append((m[1].lower(), int(m[2], 16), int(m[3], 16)))
    return found


def issued(pattern, *options):
    """The same of the pattern."""
    text = good("gen", ",".join(("flashbench-" + pattern, *options)), "--size", str(SIZE))
    lines = [line.split() for line in text.splitlines() if not line.startswith("#")]
    return [(op, int(offset), int(length)) for _, op, offset, length, *_ in lines]


def take(pieces, at, op, offset, length):
    """Where `pieces` goes on behind those that make up one request."""
    left = [(offset, offset + length)]
    while left:
        assert at < len(pieces), ("the log ends", op, offset, length)
        kind, start, n = pieces[at]
        at += 1
        hole = [h for h in left if h[0] <= start and start + n <= h[1]]
        assert kind == op and hole, (at, pieces[at - 1], "is no part of", op, offset, length)
        low, high = hole[0]
        left.remove(hole[0])
        left += [h for h in ((low, start), (start + n, high)) if h[0] < h[1]]
    return at


def check(pieces, requests):
    assert len(requests) > 10
    at = 0
    if requests[0][0] == "write":
        pieces = [p for p in pieces if p[0] == "write"]
    else:  # the kernel has looked for a partition table first
        while pieces[at:at + 1] and pieces[at] != requests[0]:
            at += 1
    for request in requests:
        at = take(pieces, at, *request)
    return len(pieces) - at


def compare(args, pattern, *options):
    requests = issued(pattern, *options)
    pieces = served(*args)
    rest = check(pieces, requests)
    if requests[0][0] == "write":
        assert rest == 0, rest
    print(pattern, *options, ":", len(requests), "requests,", len(pieces), "pieces")
    return pieces, requests


def test_open_units_in_order():
    pieces, requests = compare(("-O", "--open-au-nr=3", "-b", "65536"), "open-au", "bs=64K",
                               "open-au-nr=3")
    # and this test would see a difference
    for wrong in (requests[1:], requests[:-1] + [("write", 0, 65536)],
                  requests[:5] + [requests[6], requests[5]] + requests[7:]):
        try:
            missed = check(pieces, wrong) == 0
        except AssertionError:
            missed = False
        assert not missed


def test_open_units_in_random_order():
    compare(("-O", "--random", "--open-au-nr=5", "-b", "16384"), "open-au", "bs=16K",
            "open-au-nr=5", "random=yes")


def test_first_units():
    compare(("-f", "--fat-nr=4", "-b", "32768"), "find-fat", "bs=32K", "fat-nr=4")


def test_alignment():
    compare(("-a", "-b", "1024", "-c", "2"), "align", "bs=1K", "rounds=2")


def test_device_time_is_that_of_the_replay():
    """Chunks that the kernel does not cut: the served card takes exactly the time that the
    in-process procedure says."""
    for profile, units in (("sandisk-sd4gb", 3), ("sandisk-sd4gb", 4), ("sandisk-su04g", 5)):
        with Server("profile=" + profile, "clock=virtual", options=("-t", "1")) as server:
            with attached(server) as device, tempfile.TemporaryDirectory() as folder:
                assert server.ctl("reset")["ok"]
                flashbench(folder, device, "-O", "-e", "524288", "-b", "16384",
                           "--open-au-nr=%d" % units)
                served_ns = server.stats()["latency_ns"]["write"]
        replay_ns = good_json("replay", profile, "--json",
                              "gen:flashbench-open-au,erasesize=512K,bs=16K,open-au-nr=%d"
                              % units)["latency_ns"]["write"]
        print(profile, units, "units:", served_ns, replay_ns)
        assert served_ns == replay_ns, (profile, units)


if __name__ == "__main__":
    need("flashbench")
    need_attached()
    run(globals())
