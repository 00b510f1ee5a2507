#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""One trace, four ways into the device, one at a time: the same life, whatever the way.

NBD with a virtual clock, vhost-user with a virtual clock, vhost-user with a guest that lives in the
device's time, and replay.
"""

import json
import random
import struct

from flashemu_guest import DISCARD, FLUSH, IN, OK, OUT, Device, Guest
from flashemu_server import Server, run
from flashemu_tool import good

DEVICE = ["ssd-page", "size=32M", "cache.size=64K"]
PARTS = ("device_ns", "busy_ns", "host", "nand", "ftl", "wear", "latency_ns", "ecc", "bad_blocks")
KIND = {"read": IN, "write": OUT, "flush": FLUSH, "trim": DISCARD}


def requests(count=400):
    """(operation, offset, length) of a work that collects, merges and flushes."""
    rng = random.Random(5)
    for _ in range(count):
        op = rng.choice(["write", "write", "write", "write", "read", "trim", "flush"])
        size = 0 if op == "flush" else 512 * rng.choice([1, 8, 32, 128])
        yield op, 0 if op == "flush" else 512 * rng.randrange(((32 << 20) - size) // 512), size


def same(stats):
    return {part: stats[part] for part in PARTS}


def by_nbd():
    with Server(*DEVICE, "clock=virtual") as s:
        h = s.connect()
        for op, offset, size in requests():
            if op == "read":
                h.pread(size, offset)
            elif op == "write":
                h.pwrite(b"\1" * size, offset)
            elif op == "trim":
                h.trim(size, offset)
            else:
                h.flush()
        return same(s.stats())


def by_vhost(time_travel):
    params = [] if time_travel else ["clock=virtual"]
    with Device(*DEVICE, *params, time_travel=time_travel) as d:
        g = Guest(d, time_travel=time_travel)
        r = g.rings[0]
        for op, offset, size in requests():
            data = struct.pack("QII", offset // 512, size // 512, 0) if op == "trim" else b""
            read = size if op == "read" else 0
            if op == "write":
                data = b"\1" * size
            if time_travel:
                g.pass_to(g.now)
            status, _ = r.run(KIND[op], 0 if op == "trim" else offset // 512, data, read=read)
            assert status == OK, (op, offset, size)
        return same(d.stats())


def by_replay():
    with open("trace", "w") as f:
        f.write("# flashemu trace 1\n")
        f.writelines(f"0 {op} {offset} {size}\n" for op, offset, size in requests())
    return same(json.loads(good("replay", DEVICE[0], "trace", "--json", "device.capacity=32M",
                                DEVICE[2])))


def test_same_life():
    nbd = by_nbd()
    assert nbd["host"]["trim"]["ops"] > 20 and nbd["ftl"]["waf"] > 1
    for name, got in (("virtual", by_vhost(False)), ("calendar", by_vhost(True)),
                      ("replay", by_replay())):
        for part in PARTS:
            assert got[part] == nbd[part], (name, part, got[part], nbd[part])


if __name__ == "__main__":
    run(globals())
