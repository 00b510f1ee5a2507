# SPDX-License-Identifier: BSD-3-Clause
"""Forged sticks, and what whoever looks for the fraud must say of them.

The kinds have f3probe's names.  All numbers are by hand.
"""

import dataclasses

K, M, G = 1 << 10, 1 << 20, 1 << 30


@dataclasses.dataclass(frozen=True)
class Stick:
    """`size` bytes are there, and `usable` of them can be used; `claimed` is what the host is told.
    `module`: where addresses come round, if they do.  `cache`: bytes that read back though they
    are lost."""

    size: int
    claimed: int
    kind: str
    usable: int
    how: str = "drop"
    module: int = 0
    cache: int = 0
    lines: int = 0      # the reach of device.beyond, if it is given

    def params(self):
        given = ["size=%d" % self.size, "device.used=0", "device.beyond=" + self.beyond()]
        if self.claimed != self.size:
            given.append("device.claimed_capacity=%d" % self.claimed)
        return given

    def beyond(self):
        value = self.how
        if self.lines:
            value += ",reach:%d" % self.lines
        if self.cache:
            value += ",cache:%d" % self.cache
        return value


# Small enough that somebody fills them.  f3probe 8.0 does not count what is there above the middle
# of what is claimed, rounded up to a power of two, so those that lose sectors have less.
SMALL = [
    Stick(48 * M, 48 * M, "good", 48 * M),
    Stick(30001664, 30001664, "good", 30001664, "module"),

    Stick(31 * M, 64 * M, "limbo", 31 * M),
    Stick(24 * M, 100 * M, "limbo", 24 * M),
    Stick(64 * M, 67 * M, "limbo", 64 * M),
    Stick(49999872, 96 * M, "limbo", 49999872),
    Stick(64 * M - 512, 110 * M, "limbo", 64 * M - 512, "module", lines=128 * M),
    Stick(18 * M, 90 * M, "limbo", 18 * M, "module", lines=4 * G),
    Stick(28 * M, 64 * M, "limbo", 28 * M, cache=3 * M),
    Stick(50 * M + 512, 128 * M, "limbo", 50 * M + 512, cache=1 * M),
    Stick(20 * M, 80 * M, "limbo", 20 * M, cache=2 * M + 512),

    Stick(32 * M, 64 * M, "wraparound", 32 * M, "module", 32 * M),
    Stick(64 * M, 100 * M, "wraparound", 64 * M, "module", 64 * M),
    Stick(64 * M, 96 * M, "wraparound", 64 * M, "wrap", 64 * M),
    Stick(48 * M, 60 * M, "wraparound", 32 * M, "module", 32 * M, lines=32 * M),

    Stick(100 * M, 192 * M, "chain", 100 * M, "module", 128 * M),
    Stick(33 * M, 160 * M, "chain", 33 * M, "module", 64 * M),
    Stick(20 * M + 512, 128 * M, "chain", 20 * M + 512, "module", 32 * M),
    Stick(21 * M, 160 * M, "chain", 21 * M, "module", 64 * M, lines=64 * M),
    Stick(40 * M, 128 * M, "chain", 40 * M, "module", 64 * M, cache=1 * M),
    Stick(24 * M, 128 * M, "chain", 24 * M, "module", 32 * M, cache=512 * K),
    Stick(17 * M, 250 * M, "chain", 17 * M, "module", 64 * M, cache=3 * M, lines=64 * M),
]

# As they are sold.  The second one has the cache, and the share of what it claims, of a stick whose
# owner told f3's author its numbers.
SOLD = [
    Stick(8019509248, 64 * G, "chain", 8019509248, "module", 8 * G),
    Stick(8019509248, 20558381056, "limbo", 8019509248, cache=128 * M),
    Stick(7976031744, 33554432000, "limbo", 7976031744, cache=3 * M),
    Stick(7976031744, 2048 * G, "limbo", 7976031744, cache=31 * M),
    Stick(2 * G, 32 * G, "wraparound", 2 * G, "module", 2 * G),
    Stick(6000000000, 512 * G, "chain", 6000000000, "module", 32 * G, cache=1 * M, lines=32 * G),
]

# What f3probe 8.0 says of two of these is not so.  The first claim ends 8 MiB behind where sectors
# come round, which looks like a cache, and overwhelming that overwrites the block at 1 MiB from
# which the module is found.  The second one comes round only below that block, where f3probe writes
# nothing.  The third claim ends there, too, and is judged right.
DAMAGED = Stick(45 * M, 200 * M, "chain", 45 * M, "module", 64 * M)
BELOW = Stick(128 * M, 129 * M, "wraparound", 128 * M, "module", 128 * M)
AT_EDGE = Stick(45 * M, 193 * M, "chain", 45 * M, "module", 64 * M)

# Nobody but who fills it finds this one: it comes round, but at no power of two.
ODD = Stick(24 * M + 512, 80 * M, "wraparound", 24 * M + 512, "wrap", 24 * M + 512)
