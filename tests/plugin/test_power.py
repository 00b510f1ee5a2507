#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Power cuts through the control socket: what a client sees of them."""

import errno
import time

import nbd

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


def test_a_time_counts_from_the_present_of_a_virtual_clock():
    with Server("ssd-page", "clock=virtual") as s:
        assert s.ctl("idle", "10s")["ok"] and s.ctl("power-cut", "after", "1s")["ok"]
        assert s.ctl("idle", "900ms")["ok"] and s.stats()["power"]["on"]
        assert s.ctl("idle", "200ms")["ok"] and not s.stats()["power"]["on"]


def test_a_request_after_power_on_does_not_wait_for_it():
    """With a virtual clock the host sends its request when the device is ready."""
    with Server("ssd-page", "clock=virtual", "size=64M", "device.used=64M") as s:
        h = s.connect()
        now = s.ctl("power-cut")["device_ns"]
        assert s.ctl("power-on")["ready_ns"] > now
        assert s.ctl("reset")["ok"]
        h.pread(4096, 0)
        first = s.stats()["latency_ns"]["read"]["max"]
        assert s.ctl("reset")["ok"]
        h.pread(4096, 0)
        assert first == s.stats()["latency_ns"]["read"]["max"]


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


def lost_records(profile, mode, flushes, cuts):
    """The records that are not there after a cut that comes after 1, 2 ... `cuts` writes, and all
    that were answered."""
    lost = answered = 0
    with Server(profile, "clock=virtual", "size=64M", "device.used=0", "cache.mode=" + mode) as s:
        h = s.connect()
        for cut in range(1, cuts + 1):
            assert s.ctl("power-cut", "after", str(cut), "writes")["ok"]
            said = {}
            try:
                for place in range(cut + 1):
                    record = b"cut %d place %d" % (cut, place)
                    h.pwrite(record.ljust(4096, b"."), 4096 * place)
                    if flushes:
                        h.flush()
                    said[place] = record
            except nbd.Error:
                pass
            assert s.ctl("power-on")["ok"]
            lost += sum(not bytes(h.pread(4096, 4096 * place)).startswith(record)
                        for place, record in said.items())
            answered += len(said)
    return lost, answered


def test_a_card_with_its_cache_on_keeps_what_was_flushed():
    for profile in ("raspberrypi32g", "raspberrypi64g"):
        lost, answered = lost_records(profile, "on", True, 12)
        assert lost == 0 and answered >= 66, (profile, lost, answered)
        lost, answered = lost_records(profile, "on", False, 12)
        assert lost > answered / 4, (profile, lost, answered)
        lost, answered = lost_records(profile, "off", False, 12)
        assert lost == 0 and answered >= 66, (profile, lost, answered)


def test_real_clock():
    with Server("ssd-page", "clock=real") as s:
        h = s.connect()
        h.pwrite(PAGE, 0)
        assert s.ctl("power-cut", "at", "now")["ok"]
        fails_without_power(lambda: h.pread(4096, 0))
        assert s.ctl("power-on")["ok"]
        assert h.pread(4096, 0) == PAGE


def test_extents_know_the_present_of_each_clock():
    """No request comes between the plan of a cut and the question, so only the clock tells."""
    for clock, is_off in (("virtual", False), ("real", True)):
        with Server("ssd-page", "clock=" + clock) as s:
            h = nbd.NBD()
            h.add_meta_context(nbd.CONTEXT_BASE_ALLOCATION)
            h.connect_unix(s.socket)
            assert s.ctl("power-cut", "after", "20ms")["ok"]
            time.sleep(0.04)
            if is_off:
                fails_without_power(lambda: h.block_status(4096, 0, lambda *_: 0))
            else:
                h.block_status(4096, 0, lambda *_: 0)


def test_wrong_use_is_told():
    with Server("ssd-page", "clock=virtual") as s:
        has_all(s.ctl("power-on")["error"], "power is on")
        for args in (["soon"], ["after"], ["after", "x"], ["after", "0", "writes"], ["at", "noon"],
                     ["after", "3", "writers"], ["after", "3", "writes", "now"]):
            assert not s.ctl("power-cut", *args)["ok"]
        assert s.ctl("power-cut")["ok"]
        has_all(s.ctl("power-cut")["error"], "power is off")


def test_dead_device():
    with Server("ssd-page", "clock=virtual", "faults.power_cut=dead:100%") as s:
        h = s.connect()
        assert s.ctl("power-cut")["ok"]
        has_all(s.ctl("power-on")["error"], "dead")
        fails_without_power(lambda: h.pread(4096, 0))


run(globals())
