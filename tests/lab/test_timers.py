#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""A kernel in the device's time: its timers against what they must be, by arithmetic."""

import tempfile
from pathlib import Path

from flashemu_lab_bench import timed_kernel_is_missing
from flashemu_script import from_env, run, skip

from flashemu_lab.kernel.timed import Life, Timed
from flashemu_lab.runs.program import Tool

GUEST_SLEEPS = from_env("GUEST_SLEEPS")
# A clock tells multiples of 256 ns, and each look at it takes as long.
TICK_NS = 256
JIFFY_S = 0.01
# A timer of the kernel's wheel that is 5 s ahead comes up to 8 jiffies later.
WHEEL_S = 0.08


def lived(script, files=()):
    """The life of a script without a filesystem, and the writes: (arrival in ns, offset, bytes)."""
    with tempfile.TemporaryDirectory() as folder:
        life = Life("ideal", (), script, files=files, filesystem="none", seed=3)
        got = Timed(Tool()).live(life, Path(folder))
        lines = [line.split() for line in Path(folder, "trace").read_text().splitlines()]
    assert got.code == 0, got.output
    return got, [(int(w[0]), int(w[2]), int(w[3])) for w in lines if w[1:2] == ["write"]]


def test_sleeps():
    """10 ms a thousand times are 10 s, and what the clock's steps and its reading add to each: less
    than two steps.  An instant does not come before its time, and at most three steps later."""
    got, _ = lived("/root/guest_sleeps", (Path(GUEST_SLEEPS),))
    together, least, most = map(int, got.output.split())
    assert 0 < together - 10 * 10**9 - 1000 * TICK_NS <= 1000 * 2 * TICK_NS, got.output
    assert 0 < least <= most <= 3 * TICK_NS, got.output
    assert 0 <= got.script_end_ns - got.start_ns - together - 10 * 10**9 < 10**6, got


def written_back(expire_s):
    """When pages that are written every 7 s come to the device, in s from the first write on.  The
    kernel looks every 5 s, from the first write on, for what has been dirty for `expire_s`."""
    got, writes = lived(f"""echo {expire_s * 100:.0f} >/proc/sys/vm/dirty_expire_centisecs
echo 500 >/proc/sys/vm/dirty_writeback_centisecs
exec 9<>$DEV
for i in 0 1 2 3 4 5 6 7 8 9; do
    mark $i
    dd if=/dev/zero of=$DEV bs=4096 count=1 seek=$i conv=notrunc 2>/dev/null
    sleep 7
done
sleep 30""")
    first = got.marks[0][1]
    assert [round((at - first) / 10**9, 2) for _, at in got.marks] == [7.0 * i for i in range(10)]
    return [((at - first) / 10**9, offset // 4096, size // 4096) for at, offset, size in writes]


def test_write_back():
    """Each page comes 5 s after it was written.  With the 30 s of every kernel the pages of 0 to 28 s
    come when the first of them has been dirty for 30 s, and those of 35 to 63 s 30 s after 35."""
    late = WHEEL_S + JIFFY_S
    got = written_back(0.01)
    assert [where for _, *where in got] == [[i, 1] for i in range(10)], got
    assert all(0 <= at - (7 * i + 5) <= late for i, (at, *_) in enumerate(got)), got
    got = written_back(30)
    assert [where for _, *where in got] == [[0, 5], [5, 5]], got
    assert all(0 <= at - due <= 6 * late for (at, *_), due in zip(got, (30, 65))), got


if __name__ == "__main__":
    if timed_kernel_is_missing():
        skip(timed_kernel_is_missing())
    run(globals())
