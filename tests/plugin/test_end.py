#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""The end of a server and the end of a client, in the middle of things.

A wait of a minute and more is under way in most of these.  "Ends" means within HANG
seconds, which is a detection of hangs and not a measurement; waiting the delay out
would take longer.

nbdkit does not end before its clients have hung up.  The clients here do so when their
requests fail, as programs do.
"""

import json
import os
import signal
import socket
import tempfile
import time

from flashemu_server import Ctl, Server, nbd, run

HANG = 5 # seconds; the waits have more than 60 left

# 10 s for every command, one at a time: the eighth request has 80 s to wait.
SLOW = ["ideal", "link.command_overhead=10s", "link.queue_depth=16"]
QUEUED = ["ideal", "link.command_overhead=10s", "link.queue_depth=1"]


def start_requests(s, h, n):
    """n reads under way, of which at least the first has reached the device."""
    buffers = [nbd.Buffer(512) for _ in range(n)]
    cookies = [h.aio_pread(b, 512 * i) for i, b in enumerate(buffers)]
    end = time.monotonic() + 0.2
    while time.monotonic() < end:
        h.poll(20)
    return cookies, buffers


def wait_for_reads(s, n):
    """Until the device has got n reads."""
    end = time.monotonic() + 60
    while s.stats()["host"]["read"]["ops"] < n:
        assert time.monotonic() < end, "requests do not arrive"
        time.sleep(0.01)


def hang_up_on_error(h, cookies):
    """What a client does: it waits for its requests and gives up when they fail."""
    end = time.monotonic() + HANG
    try:
        while True:
            assert not any([h.aio_command_completed(c) for c in cookies]), "came to something"
            assert time.monotonic() < end, "no answer"
            h.poll(100)
    except nbd.Error:
        pass
    h.shutdown()


def ends(s, start):
    code = s.wait()
    assert code == 0, code
    assert time.monotonic() - start < HANG
    assert not os.path.exists(s.control)


def test_sigterm_with_a_minute_left_to_wait():
    for sig in (signal.SIGTERM, signal.SIGINT):
        with Server(*SLOW) as s:
            h = s.connect()
            cookies, buffers = start_requests(s, h, 8)
            start = time.monotonic()
            s.proc.send_signal(sig)
            hang_up_on_error(h, cookies)
            ends(s, start)


def test_sigterm_with_a_queue_in_front_of_the_link():
    """One in the device, seven behind it with more than a minute to go: all are let go."""
    with Server(*QUEUED) as s:
        h = s.connect()
        cookies, buffers = start_requests(s, h, 8)
        start = time.monotonic()
        s.proc.send_signal(signal.SIGTERM)
        hang_up_on_error(h, cookies)
        ends(s, start)


def served_after_sigterm(n):
    """How many of n requests of 0.1 s, one at a time, are answered if the server is told to stop
    when the first one is."""
    with Server("ideal", "link.command_overhead=100ms", "link.queue_depth=1") as s:
        h = s.connect()
        buffers = [nbd.Buffer(512) for _ in range(n)]
        errors = []
        for i, b in enumerate(buffers):
            h.aio_pread(b, 512 * i, completion=lambda error: errors.append(error.value))
        try:
            while not errors:
                h.poll(100)
            s.proc.send_signal(signal.SIGTERM)
            while len(errors) < n:
                h.poll(100)
            h.shutdown()
        except nbd.Error:
            pass  # it has hung up
        assert s.wait() == 0
        return errors.count(0)


def test_sigterm_with_a_queue_of_short_waits():
    """No wait is long enough to be ended early, but those in the queue are let go.  A machine that
    stands still for as long as all of them take has served them before it hears of the end."""
    assert any(0 < served_after_sigterm(16) < 16 for _ in range(3))


def test_sigterm_while_the_device_hangs():
    for params in (SLOW, QUEUED):
        with Server(*params) as s:
            h = s.connect()
            assert s.ctl("hang", "3600s")["ok"]
            cookies, buffers = start_requests(s, h, 8)
            start = time.monotonic()
            s.proc.send_signal(signal.SIGTERM)
            hang_up_on_error(h, cookies)
            ends(s, start)


def test_a_mark_behind_a_request_that_hangs():
    """It delays nobody but the client that waits for it, which may die, and it does not delay the end.
    A request of a client that waits for a mark has its turn after it."""
    with tempfile.TemporaryDirectory(prefix="fe") as folder:
        trace = os.path.join(folder, "trace")
        with Server("ideal", "trace=" + trace) as s, Ctl(s.control) as waits, \
                Ctl(s.control) as dies, Ctl(s.control) as listens:
            h = s.connect()
            assert s.ctl("hang", "3600s")["ok"] and listens.ask("events")["ok"]
            cookies, buffers = start_requests(s, h, 1)
            wait_for_reads(s, 1)
            for client, text in ((waits, "a"), (dies, "b"), (listens, "c")):
                client.send(json.dumps({"cmd": "mark", "args": [text]}).encode() + b"\n")
            waits.send(b'{"cmd":"get","args":["clock"]}\n')
            dies.close()
            assert s.stats()["trace"]["records"] == 4 and s.ctl("power-cut")["ok"]
            assert listens.line()["event"] == "power-cut"
            waits.sock.setblocking(False)
            try:
                raise AssertionError(waits.sock.recv(1))
            except BlockingIOError:
                pass
            start = time.monotonic()
            s.proc.send_signal(signal.SIGTERM)
            hang_up_on_error(h, cookies)
            ends(s, start)
        with open(trace, encoding="ascii") as f:
            lines = [line.split() for line in f if not line.startswith("#")]
        assert [line[1:] for line in lines][1:] == [["mark", x] for x in "abc"], lines


def test_sigterm_with_a_long_program_time():
    with Server("ideal", "nand.tPROG=10s", "size=16M") as s:
        h = s.connect()
        cookie = h.aio_pwrite(nbd.Buffer.from_bytearray(bytearray(8 * 4096)), 0)
        end = time.monotonic() + 60
        while s.stats()["host"]["write"]["ops"] < 1 and time.monotonic() < end:
            h.poll(10)
        assert s.stats()["latency_ns"]["write"]["max"] >= 60 * 10**9
        start = time.monotonic()
        s.proc.send_signal(signal.SIGTERM)
        hang_up_on_error(h, [cookie])
        ends(s, start)


def test_quit_with_a_minute_left_to_wait():
    with Server(*SLOW) as s:
        h = s.connect()
        cookies, buffers = start_requests(s, h, 8)
        start = time.monotonic()
        assert s.ctl("quit") == {"ok": True}
        hang_up_on_error(h, cookies)
        ends(s, start)


def test_a_handle_that_nobody_has_closed():
    """nbdkit waits for its clients, so tests/lib/py closes the handles that are left."""
    with Server("ideal") as s:
        h = s.connect()
        h.pread(512, 0)
        assert s.terminate() == 0
        del h


def test_a_client_that_vanishes():
    """Its requests stop waiting, the server and other clients go on."""
    vanish(SLOW)


def test_a_client_that_vanishes_with_a_queue_in_front_of_the_link():
    vanish(QUEUED)


def vanish(params):
    with Server(*params) as s:
        quiet = quiet_threads(s.proc.pid)
        for how in ("close", "half", "disconnect"):
            sock = socket.socket(socket.AF_UNIX)
            sock.connect(s.socket)
            h = nbd.NBD()
            h.connect_socket(os.dup(sock.fileno()))
            start_requests(s, h, 15)
            if how == "disconnect":
                h.aio_disconnect()
                start = time.monotonic()
                while not h.aio_is_closed() and time.monotonic() - start < HANG:
                    h.poll(20)
            elif how == "half":
                sock.shutdown(socket.SHUT_WR)
            del h
            sock.close()
        end = time.monotonic() + HANG
        while threads(s.proc.pid) > quiet and time.monotonic() < end:
            time.sleep(0.02)
        assert threads(s.proc.pid) == quiet, threads(s.proc.pid)
        # the device is busy for an hour of its time; let that pass
        assert s.ctl("idle", "10000s")["ok"]
        assert s.ctl("set", "link.command_overhead", "1ms")["ok"]
        s.connect().pread(512, 0)
        assert s.terminate() == 0


def threads(pid):
    return len(os.listdir("/proc/%d/task" % pid))


def quiet_threads(pid):
    """How many there are without a client; the one of the first look may still end."""
    end = time.monotonic() + 0.3
    least = threads(pid)
    while time.monotonic() < end:
        least = min(least, threads(pid))
        time.sleep(0.01)
    return least


def test_killed_server_leaves_a_socket_that_the_next_one_replaces():
    with Server("ideal") as s:
        s.proc.kill()
        s.proc.wait()
        assert os.path.exists(s.control)
        with Server("ideal", folder=s.folder) as t:
            assert t.control == s.control and t.stats()["ok"]


def test_nothing_leaks_from_connection_to_connection():
    """Threads come and go with connections; descriptors and rings go with them."""
    with Server("ideal", "link.command_overhead=200us", "delay=auto") as s:
        counts = []
        quiet = quiet_threads(s.proc.pid)
        for i in range(12):
            handles = [s.connect() for _ in range(3)]
            for h in handles:
                buffers = [nbd.Buffer(512) for _ in range(16)]
                cookies = [h.aio_pread(b, 0) for b in buffers]
                while not all(h.aio_command_completed(c) for c in cookies if c):
                    h.poll(100)
                    cookies = [c for c in cookies if not h.aio_command_completed(c)]
                h.shutdown()
            end = time.monotonic() + HANG
            while threads(s.proc.pid) > quiet and time.monotonic() < end:
                time.sleep(0.01)
            counts.append((len(os.listdir("/proc/%d/fd" % s.proc.pid)), threads(s.proc.pid)))
        assert counts[-1] == counts[1], counts


run(globals())
