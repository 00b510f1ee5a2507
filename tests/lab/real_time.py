#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""How far works in real time are from what the device's time predicts: three works that keep the
device busy, on two devices, by the same kernel with time travel and without.

    real_time.py [PROFILE...]

What is compared is the device's own account of the work's longest requests, from the first one's
arrival to the last one's end: the same requests in both runs.  The machine has to be quiet, and its
load is printed.  The filesystem's lazy initialisation is stopped before the work, since it begins
at an instant of its own.  The exit code is 1 if a work that keeps the device busy for 90 % of
the time differs by more than 2 %.  PYTHONPATH names tools/lab, FLASHEMU and FLASHEMU_VHOST the
programs.
"""

import os
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

from flashemu_lab.kernel.timed import Life, Timed
from flashemu_lab.runs.program import Tool

DEVICES = ("transcend8g", "luxmini32g")
STILL = "mount -o remount,noinit_itable,commit=300 /mnt; cd /mnt; sync; sleep 2\n"
# The direction of a work's longest requests, and the work.
WORKS = {
    "write the device": ("write", "dd if=/dev/zero of=$DEV bs=8M count=6 seek=20 oflag=direct"),
    "read the device": ("read", "dd if=$DEV of=/dev/null bs=8M count=12 iflag=direct"),
    "write a file": ("write", "dd if=/dev/zero of=f bs=1M count=48 conv=fsync"),
}
PAUSE_NS = 15 * 10**8
MOST, BUSY = 0.02, 0.9


def longest(trace, op):
    """(arrival, end) in ns of the requests behind the last pause, in this direction, that are as
    long as the longest one of them."""
    found, until = [], 0
    for line in trace.read_text().splitlines():
        if line.startswith("#"):
            continue
        words = line.split()
        at = int(words[0])
        if at - until > PAUSE_NS:
            found = []
        until = next(int(word[5:]) for word in words if word.startswith("done="))
        if words[1] == op:
            found.append((int(words[3]), at, until))
    most = max(length for length, _, _ in found)
    return [(at, done) for length, at, done in found if length == most]


def spans(timed, life, op):
    """For both clocks (ns from the first arrival to the last end, share of it that the device is
    busy); the requests that both have at the end."""
    lived = []
    for real in (False, True):
        with tempfile.TemporaryDirectory() as folder:
            one = timed.live(replace(life, real=real), Path(folder))
            assert one.code == 0, one.output
            lived.append(longest(one.trace, op))
    n = min(map(len, lived)) * 9 // 10
    for events in lived:
        tail, busy, until = events[-n:], 0, 0
        for at, done in tail:
            busy += done - max(at, until)
            until = done
        yield tail[-1][1] - tail[0][0], busy / (tail[-1][1] - tail[0][0])


def main(*devices):
    timed, bad = Timed(Tool()), 0
    for profile in devices or DEVICES:
        for name, (op, work) in WORKS.items():
            life = Life(profile, (), f"{STILL}{work} 2>/dev/null\n", limit_s=300)
            (predicted, _), (real, busy) = spans(timed, life, op)
            off = real / predicted - 1
            print(f"{profile}, {name}: predicted {predicted / 1e9:.3f} s, real {real / 1e9:.3f} s "
                  f"({off:+.2%}), busy {busy:.0%}, load {os.getloadavg()[0]:.2f}", flush=True)
            bad += busy >= BUSY and abs(off) > MOST
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
