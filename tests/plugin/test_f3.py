#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""A stick that claims more capacity than it has is found out by f3probe, which says what kind of
fake it is and how much of it can be used; an honest one is the real thing."""

import re
import subprocess

from flashemu_server import HANG_S, Server, attached, need, need_attached, run

REAL = 64 << 20


def probe(*params):
    """(kind, usable bytes) as f3probe says it."""
    with Server("transcend8g", "size=%d" % REAL, "device.used=0", "clock=virtual", *params) as s:
        with attached(s) as device:
            out = subprocess.run(["f3probe", "--destructive", "--reset-type=2", device],
                                 stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                 timeout=HANG_S).stdout
    kind = re.search(r"news: The device `.*' is (?:a counterfeit of type )?(.*)", out)
    usable = re.search(r"Usable\* size: .* \((\d+) blocks\)", out)
    assert kind and usable, out
    return kind.group(1), int(usable.group(1)) * 512


def test_an_honest_stick_is_the_real_thing():
    assert probe() == ("the real thing", REAL)


def test_writes_past_the_end_that_are_dropped():
    assert probe("device.claimed_capacity=1G", "device.beyond=drop") == ("limbo", REAL)


def test_writes_past_the_end_that_wrap_around():
    assert probe("device.claimed_capacity=128M", "device.beyond=wrap") == ("wraparound", REAL)


if __name__ == "__main__":
    need("f3probe")
    need_attached()
    run(globals())
