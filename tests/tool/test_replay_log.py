#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Logs of dm-log-writes that are made from traces, as somebody else reads them: replayed up to each mark,
they give what was durable then, in the order in which it was done; and all of it at their end.

The traces are drawn: writes, trims and flushes of which up to four are in flight."""

import random

from flashemu_data import Writer
from flashemu_replay_log import FUA, Log
from flashemu_script import run

from flashemu_tool import call

SECTOR, SIZE = 512, 1 << 16
ORDINARY = SIZE // SECTOR * 3 // 4  # behind these sectors, writes have FUA


def draw(rng):
    """Requests (arrival, done, op, offset, data, fua), in order of arrival.  Two that are in flight at the
    same time never touch the same sectors, as with any filesystem.  A write with FUA has places of its own:
    the kernel logs it at once, also in front of an older write that no flush has reached."""
    requests, busy, now = [], [], 0
    for _ in range(40):
        now += rng.randint(1, 30)
        busy = [b for b in busy if b[0] > now]
        done = now + rng.randint(1, 90) if len(busy) < 4 else max(b[0] for b in busy) + 1
        op = rng.choices(("write", "trim", "flush"), (6, 1, 2))[0]
        fua = op == "write" and rng.random() < 0.25
        n = rng.randint(1, 12)
        first = rng.randint(ORDINARY, SIZE // SECTOR - n) if fua else rng.randint(0, ORDINARY - n)
        if op != "flush" and any(first < b[2] and b[1] < first + n for b in busy):
            continue
        busy.append((done, first, first + n) if op != "flush" else (done, 0, 0))
        data = bytes([len(requests) + 1]) * (n * SECTOR) if op == "write" else bytes(n * SECTOR)
        requests.append((now, done, op, 0, b"", False) if op == "flush" else
                        (now, done, op, first * SECTOR, data, fua))
    return requests


def durable(requests, when):
    """The image of what was durable at this time."""
    flushed = max((r[0] for r in requests if r[2] == "flush" and r[1] <= when), default=-1)
    image = bytearray(SIZE)
    for _, done, _, offset, data, fua in sorted(requests, key=lambda r: r[1]):
        if done <= flushed or (fua and done <= when):
            image[offset:offset + len(data)] = data
    return image


def write_trace(path, requests, marks):
    trace = Writer(path)
    lines = [(arrival, i) for i, (arrival, *_) in enumerate(requests)] + [(when, -1) for when in marks]
    for when, i in sorted(lines):
        if i < 0:
            trace.line(when, "mark", f"at {when}")
            continue
        _, done, op, offset, data, fua = requests[i]
        words = f"done={done}" + " fua" * fua
        if op == "write":
            trace.write(offset, data, when, words)
        else:
            trace.line(when, op, offset, len(data), words)
    trace.close()


def test_what_is_durable_at_each_mark():
    rng, moved = random.Random(60), 0
    for _ in range(25):
        requests = draw(rng)
        ends = sorted({r[1] for r in requests})
        marks = sorted(rng.sample([t for t in ends if t < requests[-1][0]], 6))
        write_trace("trace", requests, marks)
        assert (got := call("trace", "trace", "--to", "dm-log-writes", "-o", "log", "--force"))[0] == 0, got
        log = Log("log")
        assert len(log.entries) == len(requests) + len(marks) and log.end == len(log.bytes)
        for when in marks:
            entry = log.find(b"at %d" % when)
            assert log.replay(bytearray(SIZE), entry) == durable(requests, when), (requests, when)
        last = max(ends) + 1
        everything = durable([*requests, (last, last, "flush", 0, b"", False)], last)
        assert log.replay(bytearray(SIZE)) == everything, requests
        assert sum(bool(e[2] & FUA) for e in log.entries) == sum(r[5] for r in requests)
        moved += [e[0] for e in log.entries if e[1]] != [r[3] for r in requests if r[4]]
    assert moved > 15, "hardly a trace has another order than its log"
    assert log.find(b"at") is None and log.find(b"") is None, "a part of a mark is none"


run(globals())
