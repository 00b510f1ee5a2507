#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""flashemu-lab probe keeps what it asked: a trace with times beside the measurement."""

import json
import os
import signal
import subprocess
from pathlib import Path

from flashemu_lab_bench import FLASHEMU, LAB, lab, read, until, write
from flashemu_script import from_env, need, run, skip

try:
    import nbd  # noqa: F401
except ImportError:
    skip("no Python module nbd")

from flashemu_lab.core.errors import LabError
from flashemu_lab.measurement import schema
from flashemu_lab.probe import conversation, findings, session, target
from flashemu_lab.probe.budget import Budget
from flashemu_lab.probe.conversation import Conversation
from flashemu_lab.probe.tests.structure import Request, Test

need("nbdkit")
PLUGIN = from_env("FLASHEMU_PLUGIN")
URI = "nbd+unix:///?socket=n"
STICK = ["transcend8g", "device.capacity=192M", "device.used=16T"]
MIB = 1 << 20


class Server:
    """nbdkit with a device, in the folder of the test."""

    def __init__(self, *parameters, clock="virtual"):
        self.parameters = [*parameters, f"clock={clock}"]

    def __enter__(self):
        self.process = subprocess.Popen(
            ["nbdkit", "-f", "-t", "4", "-P", "pid", "-U", "n", PLUGIN, *self.parameters,
             "control=c"])
        until(lambda: os.path.exists("pid"))
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()
        for name in ("n", "c", "pid"):
            Path(name).unlink(missing_ok=True)


def score(*words, trace="my.trace"):
    return json.loads(subprocess.run(
        [FLASHEMU, "replay", *words, "--against", trace, "--json"], stdout=subprocess.PIPE,
        check=True).stdout)


def probe(*words, code=0):
    got, out, err = lab("probe", URI, "-o", "my.json", *words)
    assert got == code, (got, out, err)
    return out, err


# --- the file ---

class Clock:
    """Stands still, and a rest makes the device busy for a while: 3 us of each."""
    stands_still = in_turn = True
    ns = 500

    def now(self):
        return self.ns

    def rest(self, ns):
        self.ns += 3000


class Wall(Clock):
    """Goes on, 7 ns for each look at it."""
    stands_still = False

    def now(self):
        self.ns += 7
        return self.ns

    def rest(self, ns):
        self.ns += ns


class Device:
    """Takes 1 ns for each byte, and has no flush."""

    def __init__(self, clock, flush=False):
        self.clock, self.has_flush = clock, flush

    def read(self, offset, length):
        if offset >= 1 << 40:
            raise OSError(5, "Input/output error")
        self.clock.ns += length

    write = trim = read

    def look(self, offset, length):
        self.read(offset, length)
        return "zeros"

    def flush(self):
        self.clock.ns += 10 * self.has_flush
        return self.has_flush

    def burst(self, writes, places, depth):
        self.clock.ns += 4000
        return [(100, 300), (100, 200), (200, 500)]


REQUESTS = [("read", 4096, 512), ("write", 0, 1024), ("flush", 0, 0), ("rest", 0, 1000000),
            ("look", 8192, 512), ("trim", 0, 4096)]


def lines(clock, flush, requests=REQUESTS, depth=1):
    heard = Conversation()
    test = Test("t", tuple(Request(*r, -1) for r in requests), (), depth=depth)
    try:
        session.run_test(test, Device(clock, flush), clock, heard)
    except OSError:
        pass
    return [line.rstrip("\n") for line in heard.lines]


def test_a_clock_that_stands_still():
    """A rest counts as long as it was, whatever the device did meanwhile."""
    assert lines(Clock(), False) == [
        "0 read 4096 512 done=512", "512 write 0 1024 done=1536",
        "1001536 read 8192 512 done=1002048", "1002048 trim 0 4096 done=1006144"]
    assert lines(Clock(), True)[2:4] == [
        "1536 flush 0 0 done=1546", "1001546 read 8192 512 done=1002058"]
    # the rest comes first
    assert lines(Clock(), False, [("rest", 0, 900), ("read", 0, 512)]) == [
        "900 read 0 512 done=1412"]


def test_a_clock_that_goes_on():
    """Pauses are those of the host."""
    found = lines(Wall(), False)
    assert found[:2] == ["0 read 4096 512 done=519", "526 write 0 1024 done=1557"], found
    begin = int(found[2].split()[0])
    assert 1001557 < begin < 1001700, found


def test_a_request_that_fails():
    far = 1 << 40
    assert lines(Clock(), False, [("write", 0, 512), ("write", far, 512)]) == [
        "0 write 0 512 done=512", f"512 write {far} 512 done=512 status=prog-failed"]
    assert lines(Clock(), False, [("look", far, 512)]) == [f"0 read {far} 512 status=uncorrectable"]
    assert lines(Clock(), False, [("trim", far, 512)]) == []


def test_several_in_flight():
    """The clock saw 4000 ns where this machine saw 400, so each took ten times as long."""
    some = [("write", 0, 512), ("write", 512, 512), ("write", 1024, 512)]
    assert lines(Clock(), False, some, depth=2) == [
        "0 write 512 512 done=1000", "0 write 0 512 done=2000", "1000 write 1024 512 done=4000"]


def test_a_file_that_goes_on():
    path = Path("m.trace")
    one = conversation.begun(path, "9.8", "/dev/sdx\n0 write 0 512", 12345678)
    one.said("write", 0, 512, 70, 95)
    one.end()
    assert read(path) == ("# flashemu trace 1\n# version: 9.8\n"
                          "# command: flashemu-lab probe /dev/sdx?0 write 0 512\n"
                          "# capacity: 12345678\n# end: the last line is '# end'\n"
                          "0 write 0 512 done=25\n# end\n")
    two = conversation.resumed(path)
    two.said("read", 512, 1024, 1000000, 1000300)
    two.save()
    assert read(path).endswith("\n0 write 0 512 done=25\n25 read 512 1024 done=325\n")
    assert conversation.resumed(path) is None, "it was killed here"
    two.end()
    conversation.resumed(path).end()
    assert read(path).endswith("done=325\n# end\n")
    # a new one takes the place of an old one, and of nothing else
    conversation.begun(path, "9.8", "x", 1).end()
    assert read(path).endswith("# capacity: 1\n# end: the last line is '# end'\n# end\n")
    for text in ("mine\n", "# flashemu trace 1\n# command: flashemu gen\n", "\udcff"):
        path.write_bytes(text.encode(errors="surrogateescape"))
        try:
            conversation.begun(path, "9.8", "x", 1)
            raise AssertionError(text)
        except LabError as e:
            assert "m.trace: is there and was not made by probe" in str(e), e
        assert path.read_bytes() == text.encode(errors="surrogateescape")
    assert conversation.resumed(Path("nope")) is None


# --- of a device ---

def test_the_device_itself_scores_exactly_0():
    with Server(*STICK):
        out, _ = probe("--device-time", "c", "--destroy", str(192 * MIB), "--budget", "8M")
    assert out.splitlines()[-1] == "my.trace", out
    o = score(*STICK)
    assert o["score"] == 0 and o["requests"] > 1000 and o["otherwise"] == 0, o
    assert score(*STICK, "ftl.open_random=2")["score"] > 0
    # a second run goes on
    with Server(*STICK):
        Path("my.json").unlink()
        probe("--device-time", "c", "--destroy", str(192 * MIB), "--budget", "2M")
        first = score(*STICK)["requests"]
        probe("--device-time", "c", "--destroy", str(192 * MIB), "--budget", "5M")
    o = score(*STICK)
    assert o["score"] == 0 and o["requests"] > first > 100, (o, first)


def test_a_run_that_is_killed():
    for name in ("my.json", "my.trace"):
        Path(name).unlink(missing_ok=True)
    with Server(*STICK):
        one = subprocess.Popen([LAB, "probe", URI, "-o", "my.json", "--device-time", "c",
                                "--destroy", str(192 * MIB)], stderr=subprocess.DEVNULL)
        until(lambda: os.path.exists("my.json"))
        one.send_signal(signal.SIGKILL)
        one.wait()
        left = read("my.trace")
        out, _ = probe("--device-time", "c", "--destroy", str(192 * MIB), "--budget", "3M")
        assert "What an earlier run asked is not all in my.trace" in out, out
        assert read("my.trace") == left
    done = subprocess.run([FLASHEMU, "replay", *STICK, "--against", "my.trace"],
                          stderr=subprocess.PIPE, encoding="utf-8")
    assert done.returncode == 2 and "requests are missing at its end" in done.stderr, done


def begun(budget, there=()):
    """Which of some tests a run with this budget begins, and which it leaves; a test takes 1 ns for
    each byte, and the device does not do the TRIM of `c`."""
    def written(name, mib, op="write"):
        return Test(name, tuple(Request(op, i * MIB, MIB, 0) for i in range(mib)),
                    (("request", {"op": op, "bs": MIB, "start": 0, "stride": 7, "count": mib}),))

    class Stick(Device):
        def trim(self, offset, length):
            raise OSError(95, "Operation not supported")

    tests, began = [written("a", 3), written("b", 5), written("c", 1, "trim"), written("d", 2),
                    written("e", 4, "read")], []
    kept = findings.tests, findings.judge
    findings.tests, findings.judge = lambda *_: iter(tests), lambda found: None
    clock = Clock()
    try:
        one = session.Probe(None, Stick(clock), clock, None, budget, lambda found: None,
                            lambda place, what: began.append((place, what.partition(",")[0])),
                            findings.Found(points=[schema.make_point(*tests[i].keys[0][:1], [9.0], **tests[i].keys[0][1])
                                                   for i in there]))
        one.run()
    finally:
        findings.tests, findings.judge = kept
    assert one.failure == one.running == "" and one.refused == ["c"] * ((3, "c") in began)
    return began, one.left, one.kept, one.written


def test_what_a_budget_leaves():
    """What is too much is left out, and what comes behind it and is not too much is measured."""
    all_of_them = [(1, "a"), (2, "b"), (3, "c"), (4, "d"), (5, "e")]
    assert begun(Budget()) == (all_of_them, [], 0, 10 * MIB)
    assert begun(Budget(written=6 * MIB)) == ([(1, "a"), (3, "c"), (4, "d"), (5, "e")], ["b"], 0, 5 * MIB)
    assert begun(Budget(written=8 * MIB)) == ([(1, "a"), (2, "b"), (3, "c"), (5, "e")], ["d"], 0, 8 * MIB)
    assert begun(Budget(written=6 * MIB), there=[0]) == (
        [(2, "b"), (3, "c"), (5, "e")], ["d"], 1, 5 * MIB)
    # a takes 3.15 ms and b 5.24: nothing begins behind that
    assert begun(Budget(seconds=0.004)) == ([(1, "a"), (2, "b")], ["c", "d", "e"], 0, 8 * MIB)


def test_times_of_this_machine():
    """Of a device that needs its time, with several in flight."""
    for name in ("my.json", "my.trace"):
        Path(name).unlink(missing_ok=True)
    with Server("transcend8g", "device.capacity=64M", "link.queue_depth=8", "time-scale=0.1",
                clock="real"):
        one = target.NbdTarget(URI, True)
        heard = conversation.begun(Path("my.trace"), "1", URI, one.capacity)
        for depth, places in ((1, range(20)), (4, range(30, 60))):
            session.run_test(Test("t", tuple(Request("write", i * MIB, 65536, -1) for i in places),
                                  (), depth=depth), one, target.WallClock(), heard)
        heard.end()
        one.close()
    o = score("transcend8g", "device.capacity=64M")
    assert o["requests"] == 50 and max(k["in_flight"][1] for k in o["kinds"]) == 4, o


def test_the_clock_of_this_machine():
    """It goes on, several requests in flight mean something, and the file says nothing of it."""
    clock = target.WallClock()
    before = clock.now()
    clock.rest(1000000)
    assert clock.now() - before >= 1000000
    assert not clock.stands_still and not clock.in_turn

    class Tool:
        version = "7"
    assert session.made_by(Tool(), clock) == session.MADE_BY + "7" != session.made_by(Tool(), Clock())


def test_names():
    write("mine", "x")
    with Server(*STICK):
        _, err = probe_of("x.trace", 2)
        assert "-o x.trace: is the name of what is asked; allowed: another suffix" in err
        write("x.trace", "mine\n")
        _, err = probe_of("x.json", 2)
        assert "x.trace: is there and was not made by probe" in err and read("x.trace") == "mine\n"


def probe_of(output, code):
    got, out, err = lab("probe", URI, "-o", output, "--read-only")
    assert got == code, (got, out, err)
    return out, err


run(globals())
