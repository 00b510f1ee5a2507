#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""flashemu top: screens of a running server, and what stands on them."""

import os
import pty
import re
import subprocess
import termios

from flashemu_server import HANG_S, Server, has_all, run
from flashemu_tool import TOOL, call



def top(*args):
    return call("top", *args)


def test_totals_are_those_of_stats():
    with Server("ssd-page", "clock=virtual") as s:
        h = s.connect()
        for i in range(250):
            h.pwrite(bytes(4096), 4096 * (i % 10))
        h.pread(4096, 0)
        code, out, err = top("--count", "1", "--interval", "0", s.control)
        assert code == 0 and err == "" and "\033" not in out, (code, out, err)
        stats = s.stats()
        has_all(out, "^ssd-page, clock=virtual: [0-9.]+ ms of device time",
                r"\nread +0\.00 +0 +4 KiB +1 ", r"\nwrite +0\.00 +0 +1000 KiB +250 ",
                "WAF - now, %.2f in all" % stats["ftl"]["waf"], r"\ntrim +0\.00 +0 +0 B +0 *\n",
                "%d blocks free" % stats["ftl"]["free_blocks"])
        assert "lateness" not in out
        has_all(out, "\nstate: alive\n")
        assert s.ctl("power-cut")["ok"]
        has_all(top("--count", "1", "--interval", "0", s.control)[1],
                "\nstate: no-power, power was cut\n")


def rows_of(*args):
    code, out, err = top("--count", "1", "--interval", "0", *args)
    assert code == 0 and err == "", err
    return out.splitlines()


def test_rows_fit_80_columns():
    """Also with the largest numbers that a few hours bring, and at the end of life."""
    with Server("transcend8g", "clock=virtual") as s:
        assert any("WAF - now, - in all" in row for row in rows_of(s.control))
        h = s.connect()
        for i in range(300):
            h.pwrite(bytes(1 << 20), i << 20)
        assert s.ctl("idle", "100000000s")["ok"] and s.ctl("mark-bad", "1")["ok"]
        h.pread(1 << 20, 0)
        rows = rows_of(s.control)
        assert max(map(len, rows)) <= 80, rows
        assert all(len(row) < 80 for row in rows), rows # whole, and not cut


def test_q_ends_it():
    with Server("ideal") as s:
        ours, theirs = pty.openpty()
        before = termios.tcgetattr(theirs)
        with subprocess.Popen([TOOL, "top", "--interval", "30s", s.control], stdin=theirs,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE) as p:
            while termios.tcgetattr(theirs)[3] & termios.ICANON:
                pass # until the tool reads single keys
            os.write(ours, b"xq")
            out, err = p.communicate(timeout=HANG_S)
        assert p.returncode == 0 and out == b"" and err == b"", (out, err)
        assert termios.tcgetattr(theirs) == before
        os.close(ours)
        os.close(theirs)


def test_rates_are_in_device_time():
    """1 ms a write: a thousand a second of the device's time, however slow we are."""
    with Server("ideal", "ftl.type=step", "device.discard=no", "step.write_random=1ms",
                "step.write_step=1ms", "step.write_payback=no",
                "time-scale=0.02") as s:
        h = s.connect()
        p = subprocess.Popen([TOOL, "top", "--count", "2", "--interval", "300ms", s.control],
                             stdout=subprocess.PIPE, universal_newlines=True)
        while p.poll() is None:
            for i in range(10):
                h.pwrite(bytes(512), 512 * i)
        out = p.stdout.read()
        assert p.returncode == 0
        rates = [float(x) for x in re.findall(r"\nwrite +[0-9.]+ +([0-9]+) ", out)]
        busy = [float(x) for x in re.findall("busy ([0-9]+) %", out)]
        assert len(rates) == len(busy) == 2, out
        for per_second, percent in zip(rates, busy):
            assert abs(per_second - 10 * percent) <= 10 * 1.5, out  # rounded percents, ends
        has_all(out, "\nlateness +p50 ")


def test_a_terminal_is_cleared():
    with Server("ideal") as s:
        ours, theirs = pty.openpty()
        p = subprocess.run([TOOL, "top", "--count", "2", "--interval", "1ms", s.control],
                           stdout=theirs, timeout=HANG_S)
        os.close(theirs)
        screen = os.read(ours, 65536)
        os.close(ours)
        assert p.returncode == 0
        assert screen.startswith(b"\033[H\033[Jideal"), screen


def test_mistakes():
    for args, want in (([], "usage"), (["a", "b"], "usage"),
                       (["--interval", "x", "a"], "--interval"),
                       (["--count", "0", "a"], "--count"), (["/nonexistent"], "No such file")):
        code, out, err = top(*args)
        assert code == 2 and out == "" and err.count("\n") == 1, (args, out, err)
        has_all(err, want)
    with Server("ideal") as s:
        p = subprocess.Popen([TOOL, "top", "--interval", "10ms", s.control],
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                             universal_newlines=True)
        p.stdout.readline()
        assert s.ctl("quit")["ok"]
        _, err = p.communicate(timeout=HANG_S)
        assert p.returncode == 2, p.returncode
        assert err == "flashemu: top: %s: the server has ended, or has closed the connection\n" % (
            s.control), err


run(globals())
