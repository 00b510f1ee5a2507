#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Devices that lie, as a client of the server meets them, set live and from the profile; and the
same lies in a replay."""

import errno
import json
import os
import subprocess
import tempfile

from flashemu_script import from_env
from flashemu_server import HANG_S, Server, fails, nbd, run

TOOL = from_env("FLASHEMU_TOOL")
CARD = ["ssd-page", "clock=virtual", "size=64M"]
CACHE = ["cache.size=1M", "cache.volatile=yes", "cache.idle_flush=no"]
PAGE = 4096


def page(byte, pages=1):
    return bytes([byte]) * PAGE * pages


def set_lie(server, text):
    reply = server.ctl("set", "faults.lie", text)
    assert reply["ok"], reply


def told(server):
    return {name: n for name, n in server.stats()["lies"].items() if n}


def test_an_ignored_flush_loses_what_it_was_asked_to_keep():
    for lie, kept in (("none", 1), ("flush-ignored", 0), ("flush-late:1s", 0)):
        with Server(*CARD, *CACHE, "faults.lie=" + lie) as s:
            h = s.connect()
            assert h.can_flush() and h.can_fua()
            h.pwrite(page(1), 0)
            h.flush()
            h.pwrite(page(1), PAGE, flags=nbd.CMD_FLAG_FUA)
            assert s.ctl("power-cut", "at", "now")["ok"]
            assert s.ctl("power-on")["ok"]
            assert h.pread(2 * PAGE, 0) == page(kept, 2), lie
            if lie != "none":
                assert told(s) == {lie.split(":")[0]: 2}, told(s)
            else:
                assert "lies" not in s.stats()


def test_lies_begin_and_end_while_it_serves():
    with Server(*CARD) as s:
        h = s.connect()
        h.pwrite(page(1, 4), 0)
        set_lie(s, "lost-write/4K-8K")
        h.pwrite(page(2, 4), 0)
        assert h.pread(4 * PAGE, 0) == page(2) + page(1) + page(2, 2)
        set_lie(s, "misdirected-read:8K/0-4K,stuck-read:255/4K-8K")
        h.pwrite(page(3), 2 * PAGE)
        assert h.pread(4 * PAGE, 0) == page(3) + page(255) + page(3) + page(2)
        set_lie(s, "unstable-read")
        assert h.pread(PAGE, 0) != h.pread(PAGE, 0)
        set_lie(s, "misdirected-write:4K")
        h.pwrite(page(4), 0)
        set_lie(s, "stale-read:64K")
        h.pwrite(page(5), 3 * PAGE)
        assert h.pread(4 * PAGE, 0) == page(2) + page(4) + page(3) + page(2)
        set_lie(s, "none")
        assert h.pread(4 * PAGE, 0) == page(2) + page(4) + page(3) + page(5)
        assert told(s) == {"lost-write": 1, "misdirected-read": 1, "stuck-read": 1,
                           "unstable-read": 2, "misdirected-write": 1, "stale-read": 1}, told(s)
        metrics = s.ctl("metrics")["text"]
        assert 'flashemu_lies_total{lie="unstable-read"} 2\n' in metrics, metrics
        for text, reason in (("lost-writes", "unknown lie"), ("flush-ignored", "volatile cache")):
            reply = s.ctl("set", "faults.lie", text)
            assert not reply["ok"] and reason in reply["error"], reply
        assert s.ctl("get", "faults.lie")["value"] == "none"


def test_a_new_client_hears_of_the_smaller_capacity():
    with Server(*CARD) as s:
        old = s.connect()
        set_lie(s, "capacity:32M")
        assert old.get_size() == 64 << 20 and s.connect().get_size() == 32 << 20
        old.pwrite(page(1), (32 << 20) - PAGE)
        with fails(errno.EIO):
            old.pread(PAGE, 32 << 20)
        with fails(errno.EIO):
            old.pwrite(page(1), 32 << 20)
        assert told(s) == {"capacity": 2}


def test_trim_and_the_queue_destroy():
    with Server(*CARD, "device.discard=yes", "faults.lie=wide-trim:64K") as s:
        h = s.connect()
        h.pwrite(page(9, 32), 0)
        h.trim(PAGE, 60 << 10)
        assert h.pread(32 * PAGE, 0) == page(0, 16) + page(9, 16)
    with Server("raspberrypi32g", "faults.lie=mixed-queue") as s:
        h = s.connect()
        h.pwrite(page(1, 256), 0)
        h.pwrite(page(2, 256), 1 << 20)
        assert h.pread(PAGE, 1 << 20) == page(2)
        answers = [nbd.Buffer(1 << 20) for _ in range(16)]
        cookies = [h.aio_pread(answer, (i % 2) << 20) for i, answer in enumerate(answers)]
        for cookie in cookies:
            while not h.aio_command_completed(cookie):
                h.poll(-1)
        honest = [answer.to_bytearray()[0] == 1 + i % 2 for i, answer in enumerate(answers)]
        assert told(s)["mixed-queue"] == honest.count(False) > 0, (told(s), honest)


def test_a_replay_counts_the_same_lies():
    with tempfile.TemporaryDirectory() as folder:
        trace = os.path.join(folder, "trace")
        with Server(*CARD, "trace=" + trace) as s:
            h = s.connect()
            set_lie(s, "lost-write:50%,stuck-read/1M-2M")
            for i in range(40):
                h.pwrite(page(1), i * PAGE)
                h.pread(PAGE, (1 << 20) - 20 * PAGE + i * PAGE)
            served = told(s)
            h.shutdown()
            s.terminate()
        out = subprocess.run([TOOL, "replay", "ssd-page", trace, "device.capacity=64M",
                              "faults.lie=lost-write:50%,stuck-read/1M-2M", "--json"],
                             stdout=subprocess.PIPE, timeout=HANG_S, check=True).stdout
        replayed = {name: n for name, n in json.loads(out)["lies"].items() if n}
        assert replayed == served and served["stuck-read"] == 20, (replayed, served)
        assert 8 < served["lost-write"] < 32, served


run(globals())
