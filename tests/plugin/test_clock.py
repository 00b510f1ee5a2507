#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Time: virtual clocks are equal from run to run, real ones never early.

Nothing here says how late a wake-up may be: that depends on the machine, and a test of
it would fail on a busy one.  Early is a mistake on any machine.
"""

import random
import re
import threading
import time

from flashemu_server import Server, run

# A device whose times a test can compute: one command at a time, nothing but overhead.
PLAIN = ["ideal", "link.type=none", "link.queue_depth=1"]


def workload(h, seed, count):
    rng = random.Random(seed)
    for _ in range(count):
        n = 512 * rng.choice([1, 8, 9, 64, 256])
        off = 512 * rng.randrange((h.get_size() - n) // 512 + 1)
        if rng.random() < 0.6:
            h.pwrite(bytes([rng.randrange(256)]) * n, off)
        else:
            h.pread(n, off)


def virtual_stats(*params, seed=1, count=800):
    with Server("clock=virtual", *params) as s:
        workload(s.connect(), seed, count)
        st = s.stats()
        del st["command"]  # names sockets in a folder of its own
        return st


def test_virtual_runs_are_equal():
    for params in (["ssd-page", "size=32M"], ["transcend8g", "size=32M"],
                   ["ssd-page", "size=32M", "cache.size=64K"]):
        a, b = virtual_stats(*params), virtual_stats(*params)
        assert a == b, (a, b)
        assert a["device_ns"] > 0 and a["lateness_ns"]["count"] == 0, a
        c = virtual_stats(*params, seed=2)
        assert c["device_ns"] != a["device_ns"]


def test_virtual_client_at_depth_1_sees_no_pause():
    """device_ns is the sum of the latencies, however long the client thinks."""
    with Server("clock=virtual", *PLAIN, "link.command_overhead=1ms") as s:
        h = s.connect()
        for i in range(20):
            h.pwrite(bytes(512), 512 * i)
            if i % 5 == 0:
                time.sleep(0.02)
        st = s.stats()
        assert st["device_ns"] == st["busy_ns"] == 20 * 1000000, st
        assert st["latency_ns"]["write"]["max"] == 1000000, st


def test_virtual_answers_at_once():
    with Server("clock=virtual", *PLAIN, "link.command_overhead=10s") as s:
        h = s.connect()
        start = time.monotonic()
        for i in range(50):
            h.pread(512, 0)
        assert time.monotonic() - start < 60 # of 500 s of device time
        assert s.stats()["device_ns"] == 500 * 10**9


def test_real_never_early():
    with Server(*PLAIN, "link.command_overhead=2ms") as s:
        h = s.connect()
        for call in (lambda: h.pwrite(bytes(512), 0), lambda: h.pread(512, 0),
                     lambda: h.trim(512, 0), lambda: h.zero(512, 0)):
            start = time.monotonic_ns()
            for _ in range(5):
                call()
            took = time.monotonic_ns() - start
            assert took >= 5 * 2000000, took
        st = s.stats()
        assert st["lateness_ns"]["count"] == 20, st
        assert st["latency_ns"]["read"]["max"] == 2000000, st


def test_real_flush_and_fua_wait_for_the_cache():
    with Server(*PLAIN, "nand.tPROG=20ms", "cache.size=64K", "cache.volatile=yes",
                "cache.idle_flush=no") as s:
        h = s.connect()
        for _ in range(3):
            h.pwrite(bytes(4096), 0)
            start = time.monotonic_ns()
            h.flush()
            assert time.monotonic_ns() - start >= 20000000
            start = time.monotonic_ns()
            h.pwrite(bytes(4096), 4096, 1) # NBD_CMD_FLAG_FUA
            assert time.monotonic_ns() - start >= 20000000
        assert s.stats()["latency_ns"]["flush"]["max"] >= 20000000


def test_one_device_behind_all_connections():
    """Two clients at the same time take the device in turn: no faster than one after the other."""
    with Server(*PLAIN, "link.command_overhead=5ms") as s:
        def client():
            h = s.connect()
            for _ in range(10):
                h.pread(512, 0)
        start = time.monotonic_ns()
        threads = [threading.Thread(target=client) for _ in range(2)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        assert time.monotonic_ns() - start >= 20 * 5000000


def test_lateness_is_what_the_debug_lines_say():
    """Of each request how long after its deadline it was answered, and of all of them the
    quantiles.  A histogram rounds up by at most one part in 32."""
    for params in ((), ("link.queue_depth=4", "time-scale=0.5"), ("transport-overhead=1ms",)):
        with Server(*PLAIN[:-1], "link.command_overhead=3ms", *params,
                    options=("-v", "-D", "flashemu.request=1")) as s:
            def client():
                h = s.connect()
                for i in range(25):
                    h.pread(512, 512 * i)
            threads = [threading.Thread(target=client) for _ in range(4)]
            for t in threads:
                t.start()
            for t in threads:
                t.join()
            st = s.stats()["lateness_ns"]
            late = sorted(int(x) for x in re.findall("request: .* late ([0-9]+) ns", s.text()))
            assert len(late) == st["count"] == 100, (late, st)
            assert late[-1] == st["max"], (late, st)
            for quantile, rank in (("p50", 50), ("p99", 99), ("p999", 100)):
                exact = late[rank - 1]
                assert exact <= st[quantile] <= exact * 33 // 32 + 1, (quantile, late, st)


def test_a_machine_that_is_late_says_so_once():
    """A deadline that lies before the arrival cannot be kept.  Of a device that takes no time, and
    of one that has a clock of its own, no answer is late."""
    for params, late in (((*PLAIN, "link.command_overhead=1ns"), True), (PLAIN, False),
                         ((*PLAIN, "link.command_overhead=1ns", "clock=virtual"), False)):
        with Server(*params, "transport-overhead=1ms") as s:
            h = s.connect()
            def write(n):
                for _ in range(n):
                    h.pwrite(bytes(512), 0)
                return s.stats()["lateness_ns"]["late"]
            assert write(999) is False
            assert write(1) is late, (params, s.stats())
            assert s.ctl("reset") == {"ok": True}
            assert write(0) is False
            assert write(1000) is late
            assert s.text().count("cannot keep the times") == late, s.text()


def test_time_scale():
    for scale, least_ns in (("3", 60000000), ("0.5", 10000000)):
        with Server(*PLAIN, "link.command_overhead=20ms", "time-scale=" + scale) as s:
            h = s.connect()
            start = time.monotonic_ns()
            h.pread(512, 0)
            assert time.monotonic_ns() - start >= least_ns
            assert s.stats()["latency_ns"]["read"]["max"] == 20000000 # device time
    # 1000 times faster: 100 s of the device in what must be less than a minute
    with Server(*PLAIN, "link.command_overhead=10s", "time-scale=0.001") as s:
        h = s.connect()
        start = time.monotonic_ns()
        for _ in range(10):
            h.pread(512, 0)
        took = time.monotonic_ns() - start
        assert 100000000 <= took < 60 * 10**9, took


def test_time_scale_changes_while_running():
    with Server(*PLAIN, "link.command_overhead=10s", "time-scale=0.0001") as s:
        h = s.connect()
        h.pread(512, 0)
        before = s.stats()["device_ns"]
        assert s.ctl("set", "time-scale", "1")["ok"]
        assert s.ctl("set", "link.command_overhead", "50ms")["ok"]
        start = time.monotonic_ns()
        h.pread(512, 0)
        took = time.monotonic_ns() - start
        assert took >= 50000000, took
        after = s.stats()["device_ns"]
        assert before < after, (before, after) # no jump back


def test_transport_overhead_is_subtracted():
    with Server(*PLAIN, "link.command_overhead=300ms", "transport-overhead=250ms") as s:
        h = s.connect()
        start = time.monotonic_ns()
        h.pread(512, 0)
        took = time.monotonic_ns() - start
        assert took >= 50000000, took
        assert s.stats()["latency_ns"]["read"]["max"] == 300000000
        # all of it and more: answered immediately, and still counted in device time
        assert s.ctl("set", "transport-overhead", "1s")["ok"]
        h.pread(512, 0)
        assert s.stats()["latency_ns"]["read"]["count"] == 2


def test_late_clients_do_not_move_the_model():
    """Back to back for a while: device time and real time stay together, whatever each
    wake-up costs, because arrivals come from the clock."""
    with Server(*PLAIN, "link.command_overhead=1ms") as s:
        h = s.connect()
        before = s.stats()["device_ns"]
        start = time.monotonic_ns()
        for _ in range(200):
            h.pread(512, 0)
        took = time.monotonic_ns() - start
        st = s.stats()
        assert st["latency_ns"]["read"]["max"] == 1000000, st
        assert 200 * 1000000 <= took
        # Read before and after: the two intervals enclose each other but for the queries.
        assert abs(st["device_ns"] - before - took) < 2 * 10**9


def test_every_way_of_waiting():
    for params in (["delay=nanosleep"], ["delay=auto", "spin=off"], ["spin=200us"],
                   ["delay=nanosleep", "spin=off"]):
        with Server(*PLAIN, "link.command_overhead=3ms", *params) as s:
            h = s.connect()
            start = time.monotonic_ns()
            for _ in range(5):
                h.pread(512, 0)
            assert time.monotonic_ns() - start >= 15000000, params


run(globals())
