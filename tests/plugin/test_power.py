#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Power cuts through the control socket: what a client sees of them."""

import errno

from flashemu_server import Server, fails, has_all, run

PAGE = bytes(range(256)) * 16


def fails_without_power(call):
    with fails(errno.EIO):
        call()


def test_off_and_on_again():
    with Server("ssd-page", "clock=virtual") as s:
        h = s.connect()
        h.pwrite(PAGE, 0)
        assert s.ctl("power-cut")["ok"]
        fails_without_power(lambda: h.pread(4096, 0))
        fails_without_power(lambda: h.pwrite(PAGE, 4096))
        has_all(s.text(), "the device has no power")
        assert s.stats()["power"] == {"on": False, "cuts": 1}
        reply = s.ctl("power-on")
        assert reply["ok"] and reply["ready_ns"] > 0
        assert h.pread(4096, 0) == PAGE
        assert h.pread(4096, 4096) == bytes(4096)


def test_after_writes():
    with Server("ssd-page", "clock=virtual") as s:
        h = s.connect()
        assert s.ctl("power-cut", "after", "3", "writes")["ok"]
        for i in range(3):
            h.pwrite(PAGE, 4096 * i)
        fails_without_power(lambda: h.pwrite(PAGE, 4096 * 3))
        assert s.ctl("power-on")["ok"]
        for i in range(3):
            assert h.pread(4096, 4096 * i) == PAGE


def test_after_a_time():
    with Server("ssd-page", "clock=virtual") as s:
        h = s.connect()
        assert s.ctl("power-cut", "after", "1us")["ok"]
        fails_without_power(lambda: h.pwrite(PAGE, 0))
        assert s.ctl("power-on")["ok"]
        assert h.pread(4096, 0) in (PAGE, bytes(4096))


def test_volatile_cache_is_lost_and_a_safe_one_is_not():
    for volatile in ("yes", "no"):
        with Server("ssd-page", "clock=virtual", "cache.size=64K", "cache.idle_flush=no",
                    "cache.volatile=" + volatile) as s:
            h = s.connect()
            h.pwrite(PAGE, 0)
            if volatile == "yes":
                h.flush()
            h.pwrite(PAGE[::-1], 0)
            assert s.ctl("power-cut")["ok"] and s.ctl("power-on")["ok"]
            assert h.pread(4096, 0) == (PAGE if volatile == "yes" else PAGE[::-1])


def test_real_clock():
    with Server("ssd-page", "clock=real") as s:
        h = s.connect()
        h.pwrite(PAGE, 0)
        assert s.ctl("power-cut", "at", "now")["ok"]
        fails_without_power(lambda: h.pread(4096, 0))
        assert s.ctl("power-on")["ok"]
        assert h.pread(4096, 0) == PAGE


def test_wrong_use_is_told():
    with Server("ssd-page", "clock=virtual") as s:
        has_all(s.ctl("power-on")["error"], "power is on")
        for args in (["soon"], ["after"], ["after", "x"], ["after", "0", "writes"], ["at", "noon"]):
            assert not s.ctl("power-cut", *args)["ok"]
        assert s.ctl("power-cut")["ok"]
        has_all(s.ctl("power-cut")["error"], "power is off")


def test_dead_device():
    with Server("ssd-page", "clock=virtual", "faults.cut_dead=100%") as s:
        h = s.connect()
        assert s.ctl("power-cut")["ok"]
        has_all(s.ctl("power-on")["error"], "dead")
        fails_without_power(lambda: h.pread(4096, 0))


run(globals())
