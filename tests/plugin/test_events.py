#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""The stream of events: what is told, in which order, and to how many clients at the same time."""

import json
import random
import socket
import subprocess
import time

from flashemu_server import HANG_S, Ctl, Server, has_all, run
from flashemu_tool import TOOL

PAGE = bytes(4096)


class Listener(Ctl):
    def __init__(self, path):
        super().__init__(path)
        assert self.ask("events") == {"ok": True}

    def until(self, last):
        """The lines up to the first that is such an event."""
        lines = [self.line()]
        while lines[-1]["event"] != last:
            lines.append(self.line())
        return lines


def fragmenting(s, n, pages, seed=1):
    """Writes that make a translation layer clean up."""
    h = s.connect()
    rng = random.Random(seed)
    for _ in range(n):
        h.pwrite(PAGE, 4096 * rng.randrange(pages))
    return h


def small_ssd(mib, *params, spares=0):
    # 4 x 24 blocks of 64 pages
    return Server("ssd-page", "clock=virtual", "nand.blocks_per_plane=24", "size=%dM" % mib,
                  "faults.spare_blocks=%d" % spares, *params)


def lone(event, lines):
    found = [e for e in lines if e["event"] == event]
    assert len(found) == 1, lines
    return found[0]


def test_power_and_marks_in_order():
    with Server("ssd-page", "clock=virtual", "faults.spare_blocks=4") as s:
        with Listener(s.control) as c:
            s.connect().pwrite(PAGE, 0)
            before = s.stats()["device_ns"]
            assert s.ctl("mark-bad", "7")["ok"]
            cut = s.ctl("power-cut")
            assert cut["ok"]
            on = s.ctl("power-on")
            assert s.ctl("mark-bad", "9")["ok"]
            lines = c.until("power-on") + [c.line()]
            names = [e["event"] for e in lines]
            assert names == ["bad-block", "power-cut", "power-on", "bad-block"]
            assert [e["seq"] for e in lines] == [0, 1, 2, 3]
            assert lines[0]["block"] == 7 and lines[0]["device_ns"] >= before
            assert lines[1] == {"event": "power-cut", "seq": 1, "cuts": 1,
                                "device_ns": cut["device_ns"]}
            assert lines[2] == {"event": "power-on", "seq": 2, "cuts": 1,
                                "device_ns": on["ready_ns"]}
            assert lines[3]["block"] == 9


def test_end_of_life_is_told():
    """Without spares, the first bad block.  In the reply, in the statistics and as an event."""
    why = "a block has failed and no spare block is left"
    for kind, state in (("read-only", "read-only"), ("full", "full"), ("dead", "dead"),
                        ("slow", "alive")):
        params = ("clock=virtual", "faults.spare_blocks=0", "faults.end_of_life=" + kind)
        with Server("ssd-page", *params) as s, Listener(s.control) as c:
            assert s.stats()["state"] == "alive" and s.stats()["reason"] is None
            reply = s.ctl("mark-bad", "7")
            assert reply["ok"]
            has_all(reply["warning"], r"^the device is at the end of its life \(%s\): " % state)
            stats = s.stats()
            assert stats["state"] == state and stats["reason"] in reply["warning"], stats
            assert stats["reason"] == why or kind == "slow"
            assert c.line()["event"] == "bad-block"
            assert c.line() == {"event": "state", "seq": 1, "device_ns": stats["device_ns"],
                                "state": state, "reason": stats["reason"]}
    with Server("ssd-page", "clock=virtual", "faults.spare_blocks=4") as s:
        assert s.ctl("mark-bad", "7") == {"ok": True} # a spare takes its place
        assert s.stats()["state"] == "alive" and s.stats()["reason"] is None


def test_the_bus_and_a_dead_device():
    """A cut and power-on are events of their own, and no change of state."""
    with Server("ssd-page", "clock=virtual") as s, Listener(s.control) as c:
        assert s.ctl("disconnect")["ok"] and s.stats()["state"] == "disconnected"
        assert s.ctl("power-cut")["ok"] and s.stats()["state"] == "no-power"
        assert s.ctl("power-on")["ok"] and s.ctl("connect")["ok"]
        got = [c.line() for _ in range(4)]
        assert [(e["event"], e.get("state"), e.get("reason")) for e in got] == [
            ("state", "disconnected", "the device has left the bus"), ("power-cut", None, None),
            ("power-on", None, None), ("state", "alive", None)], got
    with Server("ssd-page", "clock=virtual", "faults.power_cut=dead:100%") as s:
        with Listener(s.control) as c:
            assert s.ctl("power-cut")["ok"] and not s.ctl("power-on")["ok"]
            assert s.stats()["state"] == "dead"
            assert c.line()["event"] == "power-cut"
            e = c.line()
            assert (e["state"], e["reason"]) == ("dead", "the device did not survive a power cut")


def test_planned_cut_is_told_at_its_instant():
    with Server("ssd-page", "clock=virtual") as s, Listener(s.control) as c:
        start = s.stats()["device_ns"]
        assert s.ctl("power-cut", "after", "5s")["ok"]
        assert s.ctl("idle", "7s")["ok"]
        e = c.line()
        assert e["event"] == "power-cut" and e["device_ns"] == start + 5 * 10**9, e


def test_blocks_that_fail():
    with small_ssd(16, "faults.fail=erase:2%", spares=16) as s:
        with Listener(s.control) as c:
            h = s.connect()
            n = i = 0
            while n < 3:
                h.pwrite(bytes(65536), 65536 * (i % 200))
                n = s.stats()["bad_blocks"]["grown"]
                i += 1
            assert s.ctl("power-cut")["ok"]
            blocks = [e["block"] for e in c.until("power-cut") if e["event"] == "bad-block"]
            assert len(blocks) == len(set(blocks)) == n, (blocks, n)


def counts(lines):
    total = {"collection": 0, "switch": 0, "partial": 0, "full": 0}
    for e in lines:
        if e["event"] in ("collection", "merge"):
            assert e["count"] > 0
            total[e.get("merge", e["event"])] += e["count"]
    return total


def test_counts_are_those_of_the_statistics():
    """Also when the statistics start again, and over the recovery of a cut."""
    for n, mib, *params in ((9000, 16, "ftl.type=page"),
                            (18000, 4, "ftl.type=bast", "ftl.log_blocks=4", "device.discard=no")):
        with small_ssd(mib, *params) as s, Listener(s.control) as c:
            fragmenting(s, n, 256 * mib)
            first = s.stats()["ftl"]
            assert s.ctl("reset")["ok"]
            fragmenting(s, n // 4, 256 * mib, seed=2)
            second = s.stats()["ftl"]
            assert s.ctl("power-cut")["ok"]
            lines = c.until("power-cut")
            assert [e["seq"] for e in lines] == list(range(len(lines)))
            times = [e["device_ns"] for e in lines]
            assert times == sorted(times)
            both = {k: first["merges"][k] + second["merges"][k] for k in first["merges"]}
            both["collection"] = first["gc_runs"] + second["gc_runs"]
            assert counts(lines) == both, (counts(lines), both)
            assert sum(both.values()) > 10, both
            assert 10 < len(lines) <= 1024, len(lines) # never more than the server keeps


def test_several_clients_hear_the_same():
    with Server("ssd-page", "clock=virtual") as s:
        a, b = Listener(s.control), Listener(s.control)
        assert s.ctl("power-cut")["ok"]
        late = Listener(s.control)
        assert s.ctl("power-on")["ok"]
        first = [a.line(), a.line()]
        assert [b.line(), b.line()] == first
        assert late.line() == first[1] # only what came after it
        assert b.ask("events") == {"ok": True} # twice is once
        b.close()
        assert s.ctl("power-cut")["ok"]
        assert a.line() == late.line()
        assert a.ask("get", "clock")["value"] == "virtual" # requests go on
        assert s.ctl("power-on")["ok"]
        assert a.line()["event"] == "power-on"


def test_nobody_listens_then_somebody_does():
    with Server("ssd-page", "clock=virtual", "faults.spare_blocks=4") as s:
        with Listener(s.control) as c:
            assert s.ctl("mark-bad", "3")["ok"]
            assert c.line()["block"] == 3
        assert s.ctl("mark-bad", "5")["ok"]
        with Listener(s.control) as c:
            assert s.ctl("mark-bad", "6")["ok"]
            assert c.line()["block"] == 6 # and not 5 again


def test_slow_client_is_told_what_it_missed():
    with Server("ssd-page", "clock=virtual") as s:
        slow, quick, ctl = Listener(s.control), Listener(s.control), Ctl(s.control)
        n, heard = 6000, []
        for _ in range(n // 2):
            assert ctl.ask("power-cut")["ok"] and ctl.ask("power-on")["ok"]
            heard += [quick.line(), quick.line()]
        assert [e["seq"] for e in heard] == list(range(n))
        # What the kernel took, then a gap, then the last that the server kept.
        lines, next_seq, gaps = [], 0, 0
        while next_seq < n:
            e = slow.line()
            if e["event"] == "dropped":
                assert set(e) == {"event", "dropped"} and e["dropped"] > 0
                next_seq += e["dropped"]
                gaps += 1
                continue
            assert e == heard[next_seq], (e, next_seq)
            next_seq += 1
            lines.append(e)
        assert gaps == 1 and len(lines) < n, (gaps, len(lines))
        assert ctl.ask("power-cut")["ok"]
        assert slow.line() == quick.line()


def cpu_ticks(pid):
    with open("/proc/%d/stat" % pid) as f:
        fields = f.read().rsplit(")", 1)[1].split()
    return int(fields[11]) + int(fields[12])


def test_clients_that_go_away_or_only_listen():
    with Server("ssd-page", "clock=virtual") as s:
        half = Ctl(s.control) # as a script does that has sent all it has to send
        half.send(b'{"cmd":"events"}')
        half.sock.shutdown(socket.SHUT_WR)
        assert half.line() == {"ok": True}
        deaf = Listener(s.control)
        deaf.sock.shutdown(socket.SHUT_RD)
        for i in range(70): # more than there are places
            Listener(s.control).close()
            if i % 10 == 0:
                assert s.ctl("power-cut")["ok"] and s.ctl("power-on")["ok"]
                assert half.line()["event"] == "power-cut"
                assert half.line()["event"] == "power-on"
        start = cpu_ticks(s.proc.pid)
        time.sleep(0.5)
        assert cpu_ticks(s.proc.pid) - start < 40, "the server spins" # of 50
        assert s.ctl("quit")["ok"]
        assert half.line() is None
        assert s.wait() == 0
        deaf.close()


def tool(*args):
    return subprocess.Popen([TOOL, "ctl", *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            universal_newlines=True)


def test_the_tool():
    with Server("ssd-page", "clock=virtual") as s:
        p = tool("--count", "3", "--timeout", "60s", s.control, "events")
        assert p.stdout.readline() == '{"ok":true}\n' # it listens
        assert s.ctl("power-cut")["ok"]
        assert json.loads(p.stdout.readline())["event"] == "power-cut" # immediately, not at the end
        assert s.ctl("power-on")["ok"] and s.ctl("power-cut")["ok"]
        out, err = p.communicate(timeout=HANG_S)
        assert p.returncode == 0 and err == "", err
        assert [json.loads(x)["event"] for x in out.splitlines()] == ["power-on", "power-cut"]

        p = tool("--count", "0", s.control, "events")
        assert p.communicate(timeout=HANG_S) == ('{"ok":true}\n', "") and p.returncode == 0
        p = tool(s.control, "events", "now")
        out, err = p.communicate(timeout=HANG_S)
        assert p.returncode == 1 and "got 1 arg" in json.loads(out)["error"], out
        for args, part in ((["--count", "x", s.control, "events"], "--count x"),
                           (["--count", "1", s.control, "stats"], "--count is for events")):
            p = tool(*args)
            out, err = p.communicate(timeout=HANG_S)
            assert p.returncode == 2 and out == ""
            has_all(err, part)

        p = tool(s.control, "events") # until it is interrupted, or the server ends
        assert p.stdout.readline() == '{"ok":true}\n'
        assert s.ctl("quit")["ok"]
        out, err = p.communicate(timeout=HANG_S)
        assert p.returncode == 2 and out == ""
        has_all(err, "the server has ended, or has closed the connection")


run(globals())
