#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""flashemu-lab probe: where its tests write, so that places have nothing in common but what is
meant, and what follows where something in common cannot be avoided."""

import flashemu_lab_bench  # noqa: F401
from flashemu_script import run

from flashemu_lab import habits

KIB, MIB = 1 << 10, 1 << 20


def test_scattered_writes_stay_inside():
    """Most writes of each sort go across no multiple of 128 KiB or of a larger unit."""
    for capacity in (480 * MIB, 768 * MIB, 960 * MIB, 1440 * MIB, 1 << 32):
        test = habits.scattered(4 * MIB, capacity)
        for unit in (n * KIB for n in (128, 160, 192, 224, 256, 320, 384, 768, 3072, 5120, 6144)):
            for key in range(len(test.keys)):
                mine = [r for r in test.requests if r.key == key]
                across = sum((r.offset + r.length - 1) // unit != r.offset // unit for r in mine)
                assert 2 * across < len(mine), (capacity, unit, test.keys[key])


run(globals())
