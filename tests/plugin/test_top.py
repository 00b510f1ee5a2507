#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""flashemu top: screens of a running server, and what stands on them."""

import fcntl
import os
import pty
import re
import struct
import subprocess
import termios
import time

from flashemu_screen import Screen
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
                r"\nread +0 +0 +4 KiB +1 ", r"\nwrite +0 +0 +1000 KiB +250 ",
                "WAF - now, %.2f in all" % stats["ftl"]["waf"], r"\ntrim +0 +0 +0 B +0 *\n",
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
            while termios.tcgetattr(theirs)[3] & termios.ICANON: # until it reads single keys
                assert p.poll() is None, p.returncode
            os.write(ours, b"x")
            while p.poll() is None: # what comes just when the mode changes may get lost
                os.write(ours, b"q")
                time.sleep(0.05)
            out, err = p.communicate(timeout=HANG_S)
        assert p.returncode == 0 and out == b"" and err == b"", (out, err)
        assert termios.tcgetattr(theirs) == before
        os.close(ours)
        os.close(theirs)


def test_rates_are_in_device_time():
    """1 ms a write: a thousand a second of the device's time, however slow we are."""
    with Server("ideal", "ftl.type=step", "device.discard=no", "step.write_random=1ms",
                "step.write_step=1ms",
                "time-scale=0.02") as s:
        h = s.connect()
        p = subprocess.Popen([TOOL, "top", "--count", "2", "--interval", "300ms", s.control],
                             stdout=subprocess.PIPE, universal_newlines=True)
        while p.poll() is None:
            for i in range(10):
                h.pwrite(bytes(512), 1024 * i)
        out = p.stdout.read()
        assert p.returncode == 0
        rates = [float(x) for x in re.findall(r"\nwrite +[0-9.]+ +([0-9.]+) ", out)]
        busy = [float(x) for x in re.findall("busy ([0-9]+) %", out)]
        assert len(rates) == len(busy) == 2, out
        for per_second, percent in zip(rates, busy):
            assert abs(per_second - 10 * percent) <= 10 * 1.5, out  # rounded percents, ends
        has_all(out, "\nlateness +p50 ")


def test_a_terminal_is_cleared():
    with Server("ideal") as s, Screen("--count", "2", "--interval", "1ms", s.control) as screen:
        text = screen.end()
        assert text.startswith(b"\033[H\033[J\033[1mideal"), text


def screens(s, columns, rows, typed=(), **env):
    """What top shows on a terminal of this size before each of the keys and at its end."""
    shown = []
    with Screen("--interval", "20ms", s.control, columns=columns, rows=rows, **env) as screen:
        for key, awaited in typed:
            shown.append(screen.until(lambda text, awaited=awaited: awaited in text))
            screen.type(key)
        shown.append(screen.until(lambda text: text.count(b"\033[H") > 2))
        screen.type(b"q")
        screen.end()
    # What was read last may end within a character, but only behind the last whole screen.
    return [text.decode(errors="replace") for text in shown]


def rows_shown(text):
    """The rows of the last whole screen."""
    return text.split("\033[H\033[J")[-2].split("\r\n")


def test_a_screen_fits_its_terminal():
    with Server("transcend8g", "clock=virtual") as s:
        h = s.connect()
        for i in range(40):
            h.pwrite(bytes(65536), i % 10 << 26)
        for columns, rows in (80, 24), (40, 12), (200, 60), (25, 7):
            for lang in "C", "C.UTF-8":
                last = rows_shown(screens(s, columns, rows, NO_COLOR="1", LC_ALL=lang)[-1])
                assert len(last) == rows, (columns, rows, last)
                assert max(len(row.rstrip("\r")) for row in last) <= columns, last
                assert "\033" not in "".join(last) and last[-1].startswith("q quit"), last
                assert lang == "C.UTF-8" or "".join(last).isascii(), last
        last = rows_shown(screens(s, 80, 24, NO_COLOR="1", LC_ALL="C")[-1])
        assert [row[:5].strip() for row in last[2:7]] == ["host", "read", "write", "trim", "flush"]
        assert any(row.startswith("map ") for row in last), last
        assert "\033[33mwrite" in screens(s, 80, 24)[-1]


def test_the_map_is_that_of_the_chip():
    with Server("transcend8g", "clock=virtual", "device.used=0") as s:
        fresh = s.ctl("map", "100")
        assert fresh["filled"] == [0] * len(fresh["filled"]) and len(fresh["filled"]) <= 100
        assert fresh["blocks_per_cell"] * len(fresh["filled"]) >= fresh["blocks"]
        h = s.connect()
        for i in range(64):
            h.pwrite(bytes(1 << 20), i << 20)
        assert s.ctl("mark-bad", "0")["ok"]
        now = s.ctl("map", "100")
        assert 0 < max(now["filled"]) <= 100 and now["bad"][0] == fresh["bad"][0] + 1
        assert sum(s.ctl("map", "1")["erases"]) == sum(now["erases"])
        assert s.ctl("map", "0")["error"] == "map: 0: is out of range; allowed: 1 to 4096"


# A chip of one die with 64 blocks of 16 pages, so that the 100 cells of a map are blocks.
CHIP = ["nand.channels=1", "nand.dies_per_channel=1", "nand.blocks_per_plane=64",
        "nand.pages_per_block=16", "device.capacity=2M", "device.used=0"]


def test_a_cell_sums_up_its_blocks():
    pages_of = {pages * 100 // 16: pages for pages in range(17)}
    with Server("ssd-page", "clock=virtual", "faults.spare_blocks=3", *CHIP) as s:
        h = s.connect()
        for i in range(900):
            h.pwrite(bytes(4096), 4096 * (i * i % 500))
        for block, cycles in (0, 9), (5, 400), (6, 30), (63, 700), (62, 2):
            answer = s.ctl("wear", str(block), str(cycles))
            assert answer["ok"], answer
        assert s.ctl("mark-bad", "2")["ok"] and s.ctl("mark-bad", "62")["ok"]
        blocks = s.ctl("map", "4096")
        n = blocks["blocks"]
        assert n == 64 and blocks["blocks_per_cell"] == 1 and sum(blocks["bad"]) == 2, blocks
        assert 0 < sum(blocks["valid"]) < sum(blocks["filled"]), blocks
        assert blocks["erases"] == blocks["cycles"] and blocks["erases"][63] >= 700, blocks
        for cells in 1, 2, 3, 5, 7, 33, 63, 64:
            step = -(-n // cells)
            parts = [range(at, min(n, at + step)) for at in range(0, n, step)]
            want = {"blocks": n, "blocks_per_cell": step,
                    "erases": [sum(blocks["erases"][i] for i in part) for part in parts],
                    "cycles": [max(blocks["cycles"][i] for i in part) for part in parts],
                    "bad": [sum(blocks["bad"][i] for i in part) for part in parts]}
            for key in "filled", "valid":
                want[key] = [sum(pages_of[blocks[key][i]] for i in part) * 100 //
                             (16 * sum(not blocks["bad"][i] for i in part) or 1) for part in parts]
            found = s.ctl("map", str(cells))
            assert {key: found[key] for key in want} == want, (cells, found, want)


def test_valid_pages_are_those_that_the_host_can_read():
    with Server("ssd-page", "clock=virtual", "device.discard=yes", *CHIP) as s:
        fresh = s.ctl("map", "100")
        assert fresh["blocks_per_cell"] == 1 and set(fresh["valid"]) == {0}, fresh
        h = s.connect()
        for i in range(64):
            h.pwrite(bytes(4096), 4096 * i)
        first = s.ctl("map", "100")
        assert first["valid"] == first["filled"] and sum(first["valid"]) == 400, first
        for i in range(0, 64, 2):
            h.pwrite(bytes(4096), 4096 * i)
        half = s.ctl("map", "100")
        assert sum(half["filled"]) == 600 and sum(half["valid"]) == 400, half
        h.trim(4096 * 64, 0)
        trimmed = s.ctl("map", "100")
        assert trimmed["filled"] == half["filled"] and set(trimmed["valid"]) == {0}, trimmed
        assert s.ctl("power-cut")["ok"] and s.ctl("map", "100")["valid"] is None


def test_a_strategy_without_a_chip_has_no_valid_pages():
    with Server("ideal", "ftl.type=step", "device.discard=no", "clock=virtual") as s:
        assert s.ctl("map")["valid"] is None
        last = rows_shown(screens(s, 80, 24, NO_COLOR="1", LC_ALL="C")[-1])
        assert any(row.startswith("map 0% written, valid unknown: . to #, e erased, ")
                   for row in last), last


def test_the_map_shows_what_is_valid_and_what_is_stale():
    """64 blocks: 4 are full of valid pages, 2 hold stale ones only, 1 is half valid."""
    with Server("ssd-page", "clock=virtual", "device.discard=yes", *CHIP) as s:
        h = s.connect()
        for i in range(16 * 7):
            h.pwrite(bytes(4096), 4096 * i)
        h.trim(4096 * 16 * 2, 0)
        h.trim(4096 * 8, 4096 * 16 * 2)
        cells = s.ctl("map", "100")["valid"]
        assert sorted(cells)[-5:] == [50, 100, 100, 100, 100] and not any(cells[7:]), cells
        for columns, rows in (80, 24), (40, 12):
            last = rows_shown(screens(s, columns, rows, NO_COLOR="1", LC_ALL="C")[-1])
            at = [i for i, row in enumerate(last) if row.startswith("map 11% written, 7% valid: ")]
            assert at, last
            shown = "".join(row.strip() for row in last[at[0] + 1:at[0] + 3])
            assert shown[:8] == "oo+####." and set(shown[8:]) <= {"."}, last
        last = rows_shown(screens(s, 80, 24, LC_ALL="C.UTF-8")[-1])
        assert "\033[2mo\033[0m\033[2mo\033[0m\033[34m\u2592\033[0m" in "".join(last), last


def test_keys_reset_cut_and_restore():
    with Server("ideal", "clock=virtual") as s:
        s.connect().pwrite(bytes(4096), 0)
        shown = screens(s, 80, 24, [(b"r", b"power on"), (b"c", b"begin again"),
                                    (b"n", b"Cut the power?"), (b"c", b"The power stays on."),
                                    (b"y", b"Cut the power?  y: yes"), (b"o", b"power was cut"),
                                    (b"p", b"alive"), (b"p", b"paused")], NO_COLOR="1")
        assert "no-power" in shown[5] and all("no-power" not in text for text in shown[:5]), shown
        stats = s.stats()
        assert stats["host"]["write"]["ops"] == 0 and stats["power"] == {"on": True, "cuts": 1}


def test_no_other_key_answers_the_question():
    """Also where standard output is no terminal; then the question stands on standard error."""
    for keys in b"cn", b"co", b"cc", b"c\n", b"cr", b"y":
        with Server("ideal", "clock=virtual") as s, \
                Screen("--interval", "10ms", s.control, NO_COLOR="1") as screen:
            for i, key in enumerate(keys):
                screen.until(lambda text, i=i: b"Cut the" in text if i else b"q quit" in text)
                screen.type(bytes([key]))
            screen.until(lambda text: text.count(b"q quit") > 2)
            screen.type(b"q")
            screen.end()
            assert s.stats()["power"] == {"on": True, "cuts": 0}, keys
    with Server("ideal", "clock=virtual") as s:
        ours, theirs = pty.openpty()
        with subprocess.Popen([TOOL, "top", "--interval", "30s", s.control], stdin=theirs,
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as p:
            while termios.tcgetattr(theirs)[3] & termios.ICANON:
                assert p.poll() is None, p.returncode
            os.write(ours, b"c")
            assert p.stderr.readline() == b"Cut the power?  y: yes\n"
            os.write(ours, b"y")
            assert p.stderr.readline() == b"The power is cut; o brings it back.\n"
            os.write(ours, b"q")
            p.wait(HANG_S)
        assert s.stats()["power"] == {"on": False, "cuts": 1}
        os.close(ours)
        os.close(theirs)


def last_of(screen, words):
    """The rows of the first whole screen with these words that comes from now on."""
    def whole(text):
        # What has been read of a screen may end between the two bytes of a row's end.
        return [part for part in text.decode(errors="replace").split("\033[H\033[J")[1:]
                if words in part and part.count("\n") == 23 and part.endswith("\r")]
    return [row.rstrip() for row in whole(screen.until(whole))[0].split("\r\n")]


def worked(screen, work, words="% busy"):
    """The rows of the interval into which all of this work falls, and which shows these words."""
    screen.type(b"p")
    last_of(screen, "paused")
    work()
    screen.type(b"p")
    return last_of(screen, words)


def test_less_than_one_a_second_is_shown():
    """8 s: a write of 512 B takes half of them; three reads of 1 MiB take no time."""
    with Server("ideal", "ftl.type=step", "device.discard=no", "step.write_random=4s",
                "clock=virtual") as s, \
            Screen("--interval", "30ms", s.control, NO_COLOR="1", LC_ALL="C") as screen:
        h = s.connect()

        def work():
            h.pwrite(bytes(512), 1 << 20)
            for i in range(3):
                h.pread(1 << 20, i << 22)
            assert s.ctl("idle", "4s")["ok"]
        last_of(screen, "nothing to do")
        rows = worked(screen, work)
        assert rows[1].endswith("50 % busy in the last 8 s"), rows
        assert rows[3].split()[:3] == ["read", "0.393", "0.375"], rows
        assert rows[4].split()[:3] == ["write", "<0.001", "0.125"], rows
        assert rows[5].split()[:3] == ["trim", "0", "0"], rows
        assert "; 0 erases/s, 0 programs/s" in rows[8], rows
        screen.type(b"q")
        screen.end()


def test_lines_of_latencies_say_what_they_show():
    """Two intervals with a flush of 2 pages and with one of 32, and as many writes."""
    with Server("ssd-page", "clock=virtual", "cache.size=1M", "cache.idle_flush=no") as s, \
            Screen("--interval", "30ms", s.control, NO_COLOR="1", LC_ALL="C") as screen:
        h = s.connect()

        def pages(n):
            for i in range(n):
                h.pwrite(bytes(4096), i * 4096)
            h.flush()

        def line(rows, name):
            found = [row for row in rows if row.startswith("%-5s latency" % name)]
            assert len(found) == 1, (name, rows)
            return found[0][14:]

        last_of(screen, "nothing to do")
        rows = worked(screen, lambda: pages(2))
        first = s.stats()["latency_ns"]["flush"]["mean"]
        assert line(rows, "flush").split() == ["~", "mean", *told(first)], rows
        assert line(rows, "read").strip() == "" and " mean " in line(rows, "write"), rows
        rows = worked(screen, lambda: pages(32), " means ")
        second = 2 * s.stats()["latency_ns"]["flush"]["mean"] - first
        assert second > 2 * first, (first, second)
        shown = line(rows, "flush").split()
        assert shown[0][0] == "_" and shown[-6:] == ["means", *told(first), "to", *told(second)], rows
        assert "".join(shown[:-6]).strip("_#") == "" and shown[-7][-1] == "#", rows
        screen.type(b"q")
        screen.end()


def told(ns):
    return ["%.4g" % (ns / 1e6), "ms"] if ns >= 1e6 else ["%.4g" % (ns / 1e3), "us"]


def test_it_follows_the_size_of_the_window():
    with Server("ideal") as s, Screen("--interval", "300ms", s.control, NO_COLOR="1") as screen:
        screen.until(lambda text: b"q quit" in text)
        screen.type(b"p") # no screen comes by itself from now on
        screen.until(lambda text: b"paused" in text)
        fcntl.ioctl(screen.ours, termios.TIOCSWINSZ, struct.pack("HHHH", 12, 40, 0, 0))
        # It may begin with the end of the screen before.
        text = screen.until(lambda text: b"q quit" in text.partition(b"\033[H\033[J")[2])
        screen.type(b"q")
        screen.end()
        last = text.decode().split("\033[H\033[J")[1].split("\r\n")
        assert len(last) == 12 and max(map(len, last)) <= 41, last


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
