#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Who fills a stick in order and then reads all of it, as H2testw does, finds out every kind of
forged stick, where its real capacity ends, and where its addresses come round."""

import functools

from flashemu_forged import ODD, SMALL
from flashemu_server import Server, run

SECTOR = 512
PIECE = 1 << 20


def sector(at):
    """What is written at an address: the address, 64 times."""
    return at.to_bytes(8, "little") * (SECTOR // 8)


def pieces(size):
    return [(at, min(PIECE, size - at)) for at in range(0, size, PIECE)]


@functools.lru_cache(maxsize=256)  # of the largest stick; all sticks have the same addresses
def pattern(at, length):
    return b"".join(sector(at + i) for i in range(0, length, SECTOR))


def read_again(h, size):
    """For each sector that is not as it was written (where it is, the address that it has or
    None)."""
    for at, length in pieces(size):
        data, wanted = h.pread(length, at), pattern(at, length)
        if data == wanted:
            continue
        for i in range(0, length, SECTOR):
            found = data[i:i + SECTOR]
            if found != wanted[i:i + SECTOR]:
                address = int.from_bytes(found[:8], "little")
                yield at + i, address if found == sector(address) and any(found) else None


def tested(stick):
    """(kind, bytes that can be used, module) of a stick that is filled and read."""
    with Server("transcend8g", "clock=virtual", *stick.params()) as s:
        h = s.connect()
        size = h.get_size()
        assert size == stick.claimed
        for at, length in pieces(size):
            h.pwrite(pattern(at, length), at)
        lost, distances, good = [], set(), size // SECTOR
        for at, address in read_again(h, size):
            good -= 1
            if address is None:
                lost.append(at)
            else:
                distances.add(address - at)
    module = min(distances, default=0)
    assert all(d > 0 and d % module == 0 for d in distances), distances
    kind = ("chain" if lost else "wraparound") if module else "limbo" if lost else "good"
    usable = min(lost) if lost else module or size
    kept = (good - usable // SECTOR) * SECTOR
    assert kept == stick.cache, (stick, kept)
    return kind, usable, module


def test_every_kind():
    for stick in SMALL + [ODD]:
        said = tested(stick)
        assert said == (stick.kind, stick.usable, stick.module), (stick, said)


if __name__ == "__main__":
    run(globals())
