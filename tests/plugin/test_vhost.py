#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""The vhost-user front end and its calendar, against a guest that does each step on purpose."""

import json
import os
import struct
import threading
import time
from concurrent.futures import ThreadPoolExecutor

from flashemu_guest import (
    BROADCAST, DISCARD, FLUSH, GET, GET_BASE, GET_ID, GET_PROTOCOL, GET_QUEUE_NUM, GET_TOD, IN,
    INDIRECT, IOERR, NEVER, OK, OUT, PROTOCOL, REQUEST, RUN, SET_ADDR, SET_CONFIG, SET_MEM_TABLE,
    SET_NUM, SIZE, UNSUPP, UPDATE, VHOST, WAIT, WRITE, ZEROES, Device, Guest,
)
from flashemu_script import ended, run

# One command at a time, and 1 ms for each.
MS = 1_000_000
PLAIN = ["ideal", "link.command_overhead=1ms", "link.queue_depth=1"]


def expect_end(guest, sock=None):
    """The device has closed the guest's connection."""
    try:
        assert (sock or guest.sock).recv(1) == b""
    except ConnectionResetError:
        pass


def test_requests():
    """What a guest is told, and what each request does."""
    with Device("ssd-page", "size=64M", "clock=virtual") as d:
        g = Guest(d, queues=1)
        sectors, _, seg_max = struct.unpack_from("QII", g.config())
        assert (sectors, seg_max) == (64 << 11, 254)
        # Sticks and cards do not tell their pages, and a kernel that knew them would cut otherwise.
        assert not g.features & 1 << 10 and g.config()[24:32] == bytes(8)
        assert g.ask(GET_QUEUE_NUM, reply="Q") == (1,)
        assert g.features & 1 << DISCARD + 2 and g.features & 1 << 14
        r = g.rings[0]
        block = bytes(range(256)) * 16
        assert r.run(OUT, 8, block) == (OK, b"")
        assert r.run(IN, 8, read=4096) == (OK, block)
        assert r.run(IN, 9, read=512) == (OK, block[512:1024])
        assert r.run(OUT, 8, block[::-1], cuts=[1, 700]) == (OK, b"")
        assert r.run(IN, 8, read=4096, cuts=[512, 513, 4000]) == (OK, block[::-1])
        assert r.run(IN, 8, read=4096, cuts=[100], indirect=True) == (OK, block[::-1])
        assert r.run(FLUSH, 0) == (OK, b"")
        assert r.run(GET_ID, 0, read=20) == (OK, b"flashemu-ssd-page".ljust(20, b"\0"))
        assert r.run(ZEROES, 0, struct.pack("QII", 8, 1, 0)) == (OK, b"")
        assert r.run(IN, 8, read=1024) == (OK, bytes(512) + block[::-1][512:1024])
        assert r.run(DISCARD, 0, struct.pack("QII", 8, 8, 0)) == (OK, b"")
        assert r.run(IN, 8, read=4096) == (OK, bytes(4096))
        # What is no request of this device changes nothing and is refused.
        assert r.run(DISCARD, 0, struct.pack("QII", 8, 8, 1))[0] == UNSUPP
        assert r.run(DISCARD, 0, struct.pack("QII", 8, 1 << 17, 0))[0] == UNSUPP
        assert r.run(DISCARD, 0, bytes(32))[0] == UNSUPP
        assert r.run(99, 0)[0] == UNSUPP
        for sector in (sectors, sectors - 7, 2**64 - 1, 2**55):
            assert r.run(IN, sector, read=4096)[0] == IOERR
        assert r.run(IN, 0, read=100)[0] == IOERR
        assert r.run(OUT, 0)[0] == IOERR
        s = d.stats()
        assert s["host"]["write"] == {"ops": 3, "bytes": 8704}, s["host"]
        assert s["host"]["trim"] == {"ops": 1, "bytes": 4096}, s["host"]
        assert s["host"]["flush"]["ops"] == 1
    with Device("transcend8g", "clock=virtual") as d: # which has no trim
        g = Guest(d)
        assert not g.features & (1 << 13 | 1 << 14), hex(g.features)
        assert g.rings[0].run(ZEROES, 0, struct.pack("QII", 8, 1, 0))[0] == UNSUPP


def test_queues():
    """Each ring has its own order, and the guest is called for those with answers."""
    with Device("ideal", "clock=virtual", "queues=3") as d:
        g = Guest(d, queues=3)
        assert struct.unpack_from("H", g.config(), 34) == (3,)
        for i in (2, 0, 1):
            assert g.rings[i].run(OUT, 8 * i, bytes([i + 1]) * 4096) == (OK, b"")
        assert [index for _, index in g.calls] == [2, 0, 1]
        assert g.rings[0].run(IN, 0, read=12288)[1] == b"\1" * 4096 + b"\2" * 4096 + b"\3" * 4096
        assert g.ask(GET_BASE, struct.pack("II", 1, 0), reply="II") == (1, 1)


def test_real_clock_waits():
    """Without a calendar the guest waits as long as the device takes, and not less."""
    with Device("ideal", "link.command_overhead=20ms", "link.queue_depth=1") as d:
        g = Guest(d)
        r = g.rings[0]
        began = time.monotonic()
        for i in range(3):
            r.request(OUT, 8 * i, bytes(4096))
        r.kick()
        heads = []
        while len(heads) < 3:
            g.take_call()
            heads += [head for head, _, _ in r.done()]
        assert time.monotonic() - began >= 0.06
        assert heads == sorted(heads)


def test_calendar_alone():
    """A guest that only sleeps gets the time that it wants, and the date."""
    with Device("ideal", "date=1000", time_travel=True) as d:
        g = Guest(d, time_travel=True)
        assert g.tell(GET) == 0 and g.tell(GET_TOD) == 1000 * 10**9
        for n in range(1, 1001): # a program that sleeps 10 ms a thousand times
            assert g.wait(10 * MS * n) == 10 * MS * n
        assert g.tell(GET) == 10 * 10**9 and g.tell(GET_TOD) == 1010 * 10**9
        assert g.runs == [10 * MS * n for n in range(1, 1001)]
        assert g.free_until == 70 * 10**9 # nothing in the device: a minute ahead


def story(late_s):
    """A request among sleeps: when the guest ran, was called, and might run without asking."""
    with Device(*PLAIN, time_travel=True) as d:
        g = Guest(d, time_travel=True, late_s=late_s)
        r, seen = g.rings[0], []
        g.wait(5 * MS)
        r.request(OUT, 0, bytes(4096))
        g.pass_to(5 * MS + 300)
        r.kick()
        seen.append(g.free_until)
        r.request(OUT, 8, bytes(4096))
        g.pass_to(5 * MS + 800)
        r.kick()
        seen.append(g.free_until)
        for until in (7, 7, 8):
            seen += [g.wait(until * MS), len(r.done())]
        g.leave()
        return seen, g.calls, g.runs


def test_calendar_and_device():
    """Time goes to the guest's timer or to the device's answer, whichever is earlier."""
    seen, calls, runs = story(0)
    first, second = 6 * MS + 300, 7 * MS + 300
    assert seen == [first, first, first, 1, 7 * MS, 0, second, 1], seen
    assert [at for at, _ in calls] == [first, second] and runs == [5 * MS, *seen[2::2]], calls
    assert story(0.003) == (seen, calls, runs) # late answers change nothing


def test_equal_instants():
    """Answers of one instant come in the order of their requests, by one call for each ring, and before
    the guest's own timer of that instant."""
    with Device("ideal", "queues=2", time_travel=True) as d:
        g = Guest(d, queues=2, time_travel=True)
        a, b = g.rings
        g.wait(MS)
        heads = [a.request(OUT, 8 * i, bytes(4096)) for i in range(3)]
        b.request(OUT, 80, bytes(4096))
        g.pass_to(MS)
        b.kick()
        a.kick()
        assert g.free_until <= MS # an answer is there already
        g.wait(MS)
        assert g.now == MS and g.calls == [(MS, 0), (MS, 1)], g.calls
        assert [h for h, _, _ in a.done()] == heads and len(b.done()) == 1
    with Device(*PLAIN, time_travel=True) as d:
        g = Guest(d, time_travel=True)
        g.wait(MS)
        g.rings[0].request(OUT, 0, bytes(4096))
        g.pass_to(MS)
        g.rings[0].kick()
        g.wait(2 * MS)
        assert g.calls == [(2 * MS, 0)] and len(g.rings[0].done()) == 1


def test_guest_dies():
    """A guest that dies in mid-request leaves the device to the next one, which starts later."""
    with Device(*PLAIN, "trace=trace", time_travel=True) as d:
        for n in range(2):
            g = Guest(d, time_travel=True)
            assert g.tell(GET_TOD) >= 1767225600 * 10**9 + n * 3 * MS
            g.wait(3 * MS)
            g.rings[0].request(OUT, 8, b"\5" * 4096)
            g.pass_to(3 * MS)
            g.rings[0].kick()
            g.leave()
            time.sleep(0.05)
        g = Guest(d, time_travel=True)
        g.wait(MS)
        assert g.rings[0].run(IN, 8, read=4096) == (OK, b"\5" * 4096)
        assert d.stats()["host"]["write"]["ops"] == 2
        assert d.end() == 0
        assert d.text() == "", d.text()
    lines = [line for line in open("trace") if " W " in line or "write" in line]
    assert len(lines) == 2, open("trace").read()


def test_calendar_ends():
    """The server ends while a guest waits, and a guest that nobody will wake is told to go."""
    with Device(*PLAIN, time_travel=True) as d:
        g = Guest(d, time_travel=True)
        assert d.end() == 0
        expect_end(g, g.time)
    with Device(*PLAIN, time_travel=True) as d:
        g = Guest(d, time_travel=True)
        g.wait(MS)
        g.tell(REQUEST, NEVER)
        g.tell(WAIT)
        expect_end(g, g.time)
        assert "the guest sleeps for ever" in d.text() and "at 1000000 ns" in d.text(), d.text()
        Guest(d, time_travel=True).leave()


def test_calendar_is_strict():
    """Time does not go back, and who shares it needs calls in the band."""
    for op, at, said in ((UPDATE, 4, "from 5 to 4 ns"), (77, 0, "message 77"),
                         (UPDATE, NEVER, "from 5 to"), (RUN, 9, "message 6")):
        with Device("ideal", time_travel=True) as d:
            g = Guest(d, time_travel=True)
            g.pass_to(5)
            try:
                g.tell(op, at)
                raise AssertionError(said)
            except (EOFError, ConnectionError):
                assert said in d.text(), d.text()
    with Device("ideal", time_travel=True) as d:
        try:
            Guest(d, time_travel=True, protocol=PROTOCOL & ~(1 << 14))
            raise AssertionError("no calls in the band")
        except (EOFError, ConnectionError):
            assert "needs in-band" in d.text(), d.text()


def test_who_asks_beside_it():
    """The control socket has a thread of its own.  Whatever it is asked while the guest works, the guest
    sees nothing of it, and each answer is of one instant: never a request without its bytes."""
    params, ended, seen = ("ssd-page", "size=16M", "cache.size=64K"), threading.Event(), []

    def lived(d):
        g = Guest(d, time_travel=True)
        for i in range(60):
            g.pass_to(g.now)
            assert g.rings[0].run(OUT, 8 * (i * 7 % 11), bytes([i]) * 4096) == (OK, b"")
        return g.now, dict(d.stats(), command="")  # which has the folder of its sockets

    def ask(d):
        while not ended.is_set() or not seen:
            assert d.ask("get", "cache.size")["ok"] and d.ask("metrics")["ok"]
            seen.append(d.stats()["host"]["write"])

    with Device(*params, time_travel=True) as d:
        want = lived(d)
    with Device(*params, time_travel=True) as d, ThreadPoolExecutor(2) as pool:
        asking = [pool.submit(ask, d) for _ in range(2)]
        try:
            assert lived(d) == want
        finally:
            ended.set()
        for one in asking:
            one.result()
    assert all(one["bytes"] == 4096 * one["ops"] for one in seen), seen


def test_marks():
    with Device("ideal", "trace=marks", time_travel=True) as d:
        g = Guest(d, time_travel=True)
        g.wait(MS)
        g.tell(BROADCAST, 7)
        assert d.end() == 0
    assert any("1000000" in line and line.split()[-1] == "7" for line in open("marks")), \
        open("marks").read()


def test_marks_do_not_wait():
    """A mark of a guest that waits for a request is answered, for nothing can be before it is.  Its time
    is when what the device has taken is over."""
    os.makedirs("waits", exist_ok=True)
    for words in ([], ["commands=waits"]):
        with open("waits/command", "w") as f:
            f.write('{"cmd":"mark","args":["7"]}')
        with Device(*PLAIN, *words, "trace=marks", time_travel=True) as d:
            g = Guest(d, time_travel=True)
            g.wait(MS)
            g.rings[0].request(OUT, 0, bytes(4096))
            g.pass_to(MS)
            g.rings[0].kick()
            g.pass_to(MS + 100)
            g.tell(BROADCAST, 7)
            g.wait(3 * MS)
            assert g.calls == [(2 * MS, 0)] and len(g.rings[0].done()) == 1
            assert d.end() == 0
        lines = [line.split() for line in open("marks") if not line.startswith("#")]
        assert [line[:2] for line in lines] == [["1000000", "write"], ["2000000", "mark"]], lines
        assert lines[1][2] == "7", lines


def test_commands():
    """A guest's commands are carried out at its own time, and answered before it goes on."""
    os.makedirs("say", exist_ok=True)

    def say(line):
        with open("say/command", "w") as f:
            f.write(line)
        g.tell(BROADCAST, 1)
        with open("say/reply") as f:
            text = f.read()
        assert text.endswith("\n") and text.count("\n") == 1, text
        return json.loads(text)

    with Device("ideal", "commands=say", "trace=said", time_travel=True) as d:
        g = Guest(d, time_travel=True)
        g.wait(5 * MS)
        held = []
        for want in (5, 7):
            g.tell(UPDATE, want * MS)
            said = say('{"cmd":"stats"}\nwhat comes behind it\n')
            assert said["device_ns"] == want * MS, said
            held.append(open("say/reply"))  # so that no other file can have its number
        assert len({os.fstat(f.fileno()).st_ino for f in held}) == 2
        assert say('{"cmd":"mark","args":["a b"]}')["ok"]
        for line, why in (('{"cmd":"quit"}', "not for a guest"), ('{"cmd":"events"}', "not for a"),
                          ('{"cmd":"no"}', "no"), ("", ""), ("x" * 65537, "too long"),
                          ("\0", "")):
            said = say(line)
            assert not said["ok"] and why in said["error"], (line, said)
        assert say(" " * 65536 + "\n") == say("")
        assert say('{"cmd":"stats"}')["ok"]
        # A guest that says nothing, or something that cannot be read, has to go.
        for text in ("say/command: No such file", "say/command: Is a directory"):
            os.unlink("say/command")
            if "directory" in text:
                os.mkdir("say/command")
            try:
                g.tell(BROADCAST, 1)
                raise AssertionError("it goes on")
            except (EOFError, ConnectionError):
                assert text in d.text(), d.text()
            os.path.isdir("say/command") or open("say/command", "w").close()
            g = Guest(d, time_travel=True)
    os.rmdir("say/command")
    assert any(line.split()[:2] == ["%d" % (7 * MS), "mark"] for line in open("said")), \
        open("said").read()


def broken(ring, how):
    g = ring.guest
    if how == "index":
        ring.offer(NUMBER_OUTSIDE)
    elif how == "loop":
        ring.write_desc(ring.desc, 0, 0x100000 + 0x40000, 16, 1, 0)
        ring.offer(0)
    elif how == "address":
        ring.offer(ring.chain([(SIZE, 16, 0), (0x40000, 1, WRITE)]))
    elif how == "end":
        ring.offer(ring.chain([(SIZE - 8, 16, 0), (0x40000, 1, WRITE)]))
    elif how == "status":
        ring.offer(ring.chain([(0x40000, 16, 0)]))
    elif how == "head":
        ring.offer(ring.chain([(0x40000, 15, 0), (0x41000, 1, WRITE)]))
    elif how == "order":
        ring.offer(ring.chain([(0x40000, 16, 0), (0x41000, 1, WRITE), (0x42000, 9, 0)]))
    elif how == "many":
        struct.pack_into("H", g.mem, ring.avail + 2, 65)
    elif how == "nested":
        ring.write_desc(0x50000, 0, 0x100000 + 0x50000, 16, INDIRECT, 0)
        ring.write_desc(ring.desc, 0, 0x100000 + 0x50000, 16, INDIRECT, 0)
        ring.offer(0)
    elif how == "table":
        ring.write_desc(ring.desc, 0, 0x100000 + 0x50000, 17, INDIRECT, 0)
        ring.offer(0)
    ring.kick()


NUMBER_OUTSIDE = 64


def test_broken_rings():
    """A ring that makes no sense ends the guest's connection with one line, and nothing else."""
    with Device("ideal", "clock=virtual") as d:
        for n, how in enumerate(("index", "loop", "address", "end", "status", "head", "order",
                                 "many", "nested", "table")):
            g = Guest(d)
            try:
                broken(g.rings[0], how)
                raise AssertionError(how + " was accepted")
            except (EOFError, ConnectionError):
                lines = d.text().splitlines()
                assert len(lines) == n + 1 and "the guest's ring" in lines[-1], (how, lines)
        assert Guest(d).rings[0].run(OUT, 0, bytes(512)) == (OK, b"")


def test_a_ring_of_another_size_has_no_place():
    """Its parts may end outside of the guest's memory, so the guest must say again where they are."""
    with Device("ideal", "clock=virtual") as d:
        g = Guest(d)
        r = g.rings[0]
        assert r.run(OUT, 0, bytes(512)) == (OK, b"")
        g.ask(SET_NUM, struct.pack("II", 0, 1024))
        head = r.request(OUT, 8, bytes(512))
        r.kick()
        g.ask(GET_QUEUE_NUM, reply="Q") # whatever the kick has led to is done by then
        assert r.done() == []
        g.ask(SET_NUM, struct.pack("II", 0, 64))
        g.ask(SET_ADDR, struct.pack("IIQQQQ", 0, 0, r.desc, r.used, r.avail, 0))
        r.kick()
        g.ask(GET_QUEUE_NUM, reply="Q")
        assert r.done() == [(head, OK, b"")]


def test_broken_messages():
    """The same for messages."""
    small = os.memfd_create("small")
    os.ftruncate(small, 4096)
    region = struct.pack("QQQQ", 0, 8192, 0, 0)
    wrong = [
        (SET_NUM, struct.pack("II", 0, 63), ()),
        (SET_NUM, struct.pack("II", 0, 2048), ()),
        (SET_NUM, struct.pack("II", 1, 64), ()),
        (SET_NUM, struct.pack("I", 0), ()),
        (SET_ADDR, struct.pack("IIQQQQ", 0, 0, SIZE, 0, 0, 0), ()),
        (SET_ADDR, struct.pack("IIQQQQ", 0, 0, 8, 0, 0, 0), ()),
        (SET_MEM_TABLE, struct.pack("II", 1, 0) + region, (small,)),
        (SET_MEM_TABLE, struct.pack("II", 2, 0) + region, (small,)),
        (SET_MEM_TABLE, struct.pack("II", 1, 0) + region, ()),
        (SET_CONFIG, struct.pack("III", 0, 1, 0) + b"\1", ()),
        (GET_PROTOCOL + 100, b"", ()),
        (SET_NUM, bytes(2000), ()),
    ]
    with Device("ideal", "clock=virtual") as d:
        for n, (request, payload, fds) in enumerate(wrong):
            g = Guest(d)
            try:
                g.ask(request, payload, fds)
                raise AssertionError((request, payload))
            except (EOFError, ConnectionError):
                assert len(d.text().splitlines()) == n + 1, (request, d.text())


def test_arguments():
    for args, said in (
            (["ideal"], "socket=PATH is required"),
            (["ideal", "socket=a", "socket=b"], "given twice"),
            (["ideal", "socket="], "must not be empty"),
            (["ideal", "socket=a", "date=5"], "needs time=PATH"),
            (["ideal", "socket=a", "commands=d"], "commands=d: needs time=PATH"),
            (["ideal", "socket=a", "time=b", "clock=real"], "the clock is the guest's"),
            (["ideal", "socket=a", "queues=17"], "queues=17: allowed: a whole number from 1 to 16"),
            (["ideal", "socket=a", "spin=off"], "for nbdkit's server only"),
            (["ideal", "socket=a", "word"], "not PARAMETER=VALUE"),
            (["ideal", "socket=a", "sokcet=a"], "sokcet=a: unknown parameter"),
            (["ideal", "socket=no/a"], "socket=no/a: No such file"),
            (["ideal", "socket=a", "time=no/b"], "time=no/b: No such file"),
            (["nothing", "socket=a"], "nothing")):
        code, out, err = ended([VHOST, *args])
        assert code == 2 and out == "" and said in err and err.count("\n") == 1, (args, err)
    code, out, err = ended([VHOST, "--help"])
    assert code == 0 and "time=PATH" in out and err == ""


if __name__ == "__main__":
    run(globals())
