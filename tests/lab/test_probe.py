#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""flashemu-lab probe: what it finds on devices that are known, and what it refuses."""

import errno
import json
import os
import re
import signal
import stat
import subprocess
import sys
import types
from pathlib import Path

from flashemu_lab_bench import FLASHEMU, LAB, bad, lab, read, until, write
from flashemu_script import LONG, from_env, need, run, skip

try:
    import nbd  # noqa: F401
except ImportError:
    skip("no Python module nbd")

from flashemu_lab.measurement import schema
from flashemu_lab.probe import findings, session, target
from flashemu_lab.probe.tests import behaviour, structure
from flashemu_lab.core.errors import LabError
from flashemu_lab.probe.budget import Budget
from flashemu_lab.probe.findings import Found, Wishes
from flashemu_lab.measurement.schema import load
from flashemu_lab.runs.program import Tool

need("nbdkit")
PLUGIN = from_env("FLASHEMU_PLUGIN")
URI = "nbd+unix:///?socket=n"
MIB = 1 << 20
# A device that is small, so that a probe takes seconds.
STICK = ["profile=transcend8g", "device.capacity=192M"]


class Server:
    """nbdkit with a device, in the folder of the test."""

    def __init__(self, *parameters):
        self.parameters = parameters

    def __enter__(self):
        self.process = subprocess.Popen(
            ["nbdkit", "-f", "-t", "1", "-P", "pid", "-U", "n", PLUGIN, *self.parameters,
             "clock=virtual", "control=c"])
        until(lambda: os.path.exists("pid"))  # the sockets exist before they can be connected to
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()
        for name in ("n", "c", "pid"):
            Path(name).unlink(missing_ok=True)


def capacity():
    one = target.NbdTarget(URI, False)
    one.close()
    return one.capacity


def probed(*args):
    """What probe has found, as JSON; times are the device's."""
    code, out, err = lab("probe", URI, "-o", "my.json", "--device-time", "c", "--json", *args)
    assert code == 0 and err.count("\n") == 1 and "tests; " in err, (code, out, err)
    return json.loads(out)


# --- on devices that are known ---

def test_finds_what_the_device_is():
    for unit, units, settings in (
            (3 * MIB // 2, 2, ["ftl.unit_size=1536K", "ftl.open_linear=2", "ftl.open_random=2"]),
            (MIB, 3, ["ftl.unit_size=1M", "ftl.open_linear=3", "ftl.open_random=3"])):
        Path("my.json").unlink(missing_ok=True)  # of another device
        with Server(*STICK, *settings):
            found = probed("--destroy", str(capacity()))
            print("#", found)
            assert (found["unit"], found["page"]) == (unit, 4096), found
            assert (found["open_linear"], found["open_random"]) == (units, units), found
            assert found["failure"] is None and found["left"] == []
            assert found["written"] == written_bytes(load(Path("my.json")))
            # where the unit is known, passes tell how many are open, with far fewer writes
            assert not open_unit_rows()
        # the same requests on the same model: nothing is different
        again = json.loads(subprocess.run(
            [FLASHEMU, "verify", "transcend8g", "device.capacity=192M", *settings, "--against",
             "my.json", "--json"], stdout=subprocess.PIPE, check=True).stdout)
        # what was read is not compared, because the model's devices keep no data there
        assert again["all"]["points"] == found["points"] == again["all"]["compared"] + 1
        assert max(abs(p["error_percent"] or 0) for p in again["points"]) < 1e-6
        assert "The allocation unit is %s" % {1: "1 MiB", 1.5: "1.5 MiB"}[
            unit / MIB] in read("my.html")


def open_unit_rows():
    """How many units flashbench -O has written in turn, in each order."""
    return {(dict(p.parameters)["open"], dict(p.parameters)["random"])
            for p in load(Path("my.json")).points if p.procedure == "flashbench-open-au"}


def written_bytes(m):
    """The bytes that the points of a measurement have written."""
    written = 0
    for p in m.points:
        how = dict(p.parameters)
        if p.procedure == "request" and how["op"] == "write":
            written += how["bs"] * how["count"]
        elif p.procedure == "flashbench-find-fat":
            written += how["erasesize"]
        elif p.procedure in ("seq-write", "fill"):
            written += how["size"]
        elif p.procedure == "flashbench-open-au":
            written += how["erasesize"] * how["open"]
    return written


def test_shipped_sticks():
    """What their profiles say: a stick of many small chips; a card that fills gaps, whose random
    units therefore show in the third pass only; with long-tests, a stick that maps pages and merges
    nothing, as the next test's."""
    for profile, *wanted in (("rundisk1g", MIB, 2, 1), ("sandisk-sd4gb", 4 * MIB, 3, 3),
                             *([("lexar8g", None, None, None)] if LONG else [])):
        Path("my.json").unlink(missing_ok=True)  # of another device
        with Server("profile=" + profile, "device.capacity=768M"):  # as whole ones, and sooner
            found = probed("--destroy", str(capacity()))
        assert [found[n] for n in ("unit", "open_linear", "open_random")] == wanted, profile


def test_a_device_without_units():
    with Server("profile=ssd-page", "device.capacity=384M"):
        found = probed("--destroy", str(capacity()), "--budget", "20M")
        assert found["unit"] is None, found
        assert found["left"] and not open_unit_rows()
        found = probed("--destroy", str(capacity()))
        assert found["unit"] is None and found["left"] == [], found
        assert open_unit_rows() == {(n, order) for n in (1, 2, 4, 8) for order in (False, True)}
        assert "tests; " in lab("probe", URI, "-o", "other.json", "--device-time", "c")[2]
    assert "No allocation unit shows" in read("my.html")


def test_read_only_and_budget():
    with Server(*STICK):
        found = probed("--read-only")
        assert found["written"] == 0 and found["unit"] is None and found["overhead_ns"] > 0
        stats = json.loads(subprocess.run([FLASHEMU, "ctl", "c", "stats"],
                                          stdout=subprocess.PIPE).stdout)
        assert stats["host"]["write"]["ops"] == 0 and stats["host"]["read"]["ops"] > 100
        Path("my.json").unlink()
        found = probed("--destroy", str(capacity()), "--budget", "20M")
        assert found["written"] <= 20 << 20 and "page" in found["left"] and found["unit"] == 4 * MIB
        assert re.search("The budget was too small for [0-9]+ tests: [^;]+(; [^;]+){7}; and others",
                         read("my.html"))
        Path("my.json").unlink()
        found = probed("--destroy", str(capacity()), "--budget", "1ms")
        assert len(found["left"]) > 20 and found["written"] == 0


def test_wall_time():
    """Without --device-time there are times as well, of this machine; a file has one sort."""
    with Server(*STICK):
        found = good_probe("--read-only")
        assert found["points"] > 50
        kept = read("my.json")
        bad("-o my.json: has times of this machine; allowed: another file", "probe", URI, "-o",
            "my.json", "--read-only", "--device-time", "c")
        assert read("my.json") == kept
        Path("my.json").unlink()
        probed("--read-only")
        bad("-o my.json: has times of an emulated device (--device-time); allowed: another file",
            "probe", URI, "-o", "my.json", "--read-only")
    write("dd", "104857600 bytes (105 MB) copied, 5 s, 21.0 MB/s\n")
    bad("-o my.json: has what a probe measured; allowed: another file", "import", "dd", "-o",
        "my.json")


def good_probe(*args):
    code, out, err = lab("probe", URI, "-o", "my.json", "--json", *args)
    assert code == 0, err
    return json.loads(out)


# --- what goes wrong ---

def test_refuses():
    with Server(*STICK):
        size = capacity()
        bad("probing destroys what is on it; allowed: --destroy %d, or --read-only" % size,
            "probe", URI, "-o", "x.json")
        bad("--destroy 385M: is not this device; allowed: --destroy %d" % size, "probe", URI, "-o",
            "x.json", "--destroy", "385M")
        bad("--destroy 1: has no effect with --read-only", "probe", URI, "-o", "x.json",
            "--read-only", "--destroy", "1")
        bad("--budget: 7: allowed: a time or bytes to write", "probe", URI, "-o", "x.json",
            "--budget", "7")
        bad("--budget: 5%: allowed: a time or bytes to write", "probe", URI, "-o", "x.json",
            "--budget", "5%")
        bad("-o x.html: is the name of the page; allowed: another suffix", "probe", URI, "-o",
            "x.html", "--read-only")
        bad("--device-time nope: No such file", "probe", URI, "-o", "x.json", "--read-only",
            "--device-time", "nope")
        stats = json.loads(subprocess.run([FLASHEMU, "ctl", "c", "stats"],
                                          stdout=subprocess.PIPE).stdout)
        assert stats["host"]["write"]["ops"] == 0 and not os.path.exists("x.json")
    bad("nbd+unix:///?socket=nope: ", "probe", "nbd+unix:///?socket=nope", "-o", "x.json",
        "--read-only")
    write("file", "x")
    bad("file: is no block device and no NBD URI", "probe", "file", "-o", "x.json", "--read-only")
    bad("nope: No such file or directory; lsblk lists", "probe", "nope", "-o", "x.json",
        "--destroy", "1")


def test_a_device_that_is_read_only():
    process = subprocess.Popen(["nbdkit", "-f", "-r", "-P", "pid", "-U", "n", "memory", "64M"])
    try:
        until(lambda: os.path.exists("pid"))
        bad("is read-only; allowed: --read-only", "probe", URI, "-o", "x.json", "--destroy", "64M")
    finally:
        process.terminate()
        process.wait()


class Counting:
    """A clock that counts how often it was read."""
    stands_still = in_turn = False
    ns = 0

    def now(self):
        self.ns += 1000
        return self.ns

    def rest(self, ns):
        self.ns += ns


class Broken:
    """A device that fails after some requests."""
    name, capacity, sector, serial, host, can_trim = "broken", 384 * MIB, 512, "", "a test", True

    def __init__(self, after, error):
        self.after, self.error, self.requests = after, error, []

    def read(self, offset, length):
        self.after -= 1
        if self.after < 0:
            raise self.error
        self.requests.append((offset, length))
        assert 0 <= offset and offset + length <= self.capacity
        assert offset % 512 == 0 and length % 512 == 0 and 0 < length <= target.LONGEST

    write = read

    def trim(self, offset, length):
        assert 0 <= offset and offset + length <= self.capacity
        self.requests.append((offset, length))

    def look(self, offset, length):
        self.read(offset, length)
        return offset

    def flush(self):
        return True

    def burst(self, writes, places, depth):
        for offset, length in places:
            self.read(offset, length)
        return [(i, i + depth) for i in range(len(places))]


def broken(after, error, found=None):
    saved = []
    one = session.Probe(Tool(), Broken(after, error), Counting(), Wishes(384 * MIB, trims=True),
                      Budget(), lambda found: saved.append(len(found.points)),
                      lambda place, name: None, found or Found())
    return one, saved


def test_keeps_what_was_measured():
    one, saved = broken(4000, OSError(5, "Input/output error"))
    one.run()
    assert one.failure.startswith("broken: Input/output error in the test 'opening units'"), \
        one.failure
    assert saved and saved[-1] == len(one.found.points) > 60
    one, saved = broken(4000, KeyboardInterrupt())
    try:
        one.run()
        raise AssertionError
    except KeyboardInterrupt:
        assert saved[-1] == len(one.found.points) > 60
        assert one.running == "opening units"


def test_continues():
    """Interrupted again and again: in the end every test has run once, and nothing twice."""
    whole, _ = broken(1 << 60, None)
    places = []
    whole.show = lambda place, what: places.append(place)
    whole.run()
    assert whole.failure == whole.running == "" and whole.kept == 0
    assert places == list(range(1, len(places) + 1))
    assert 60 < len(places) <= session.plan(Tool(), whole.wishes).tests
    parts, requests = Found(), 0
    for after in (3000, 9000, 12000, 1 << 60):
        one, _ = broken(after, OSError(5, "Input/output error"), parts)
        one.run()
        requests += len(one.target.requests)
    assert one.failure == "" and one.kept > 5
    assert [p.parameters for p in parts.points] == [p.parameters for p in whole.found.points]
    # each interruption costs one test, of which a part was done
    assert 0 < requests - len(whole.target.requests) < 3 * 9000
    again, _ = broken(0, OSError(5, "Input/output error"), parts)
    again.run()
    assert again.failure == "" and again.target.requests == [] and again.written == 0


def test_trim_that_is_refused():
    """A device may offer TRIM and not do it, as a loop device does.  Other errors end the run."""
    for error, failure in ((errno.EOPNOTSUPP, False), (errno.EIO, True)):
        def refuse(offset, length, error=error):
            raise OSError(error, os.strerror(error))
        one, _ = broken(1 << 60, None)
        one.target.trim = refuse
        one.run()
        assert (one.failure != "") == failure and one.refused == ([] if failure else ["TRIM"])
        assert behaviour.trim_gain(one.found.points) is None


def test_a_second_run():
    with Server(*STICK):
        first = good_probe("--read-only")
        again = good_probe("--read-only")
        assert again["points"] == first["points"] and again["kept"] > 2 and first["kept"] == 0
        assert "tests were in my.json already" in read("my.html")
        m = load(Path("my.json"))
        for changed, message in (
                ({"capacity": MIB << 6}, "is the measurement of a device of 67108864 bytes, and "),
                ({"made_by": "flashemu-lab import"}, "is there and was not made by probe; ")):
            schema.save(schema.Measurement(**{**m.__dict__, **changed}),
                             Path("other.json"))
            bad("-o other.json: " + message, "probe", URI, "-o", "other.json", "--read-only")


# --- devices that fail while they are probed; all in virtual time ---

def fails(*settings, args=()):
    """The message of a probe that ends early, and the points that it has kept."""
    with Server(*STICK, *settings):
        code, out, err = lab("probe", URI, "-o", "my.json", "--device-time", "c", "--destroy",
                             str(capacity()), *args)
        lines = [x for x in err.splitlines() if "tests; " not in x]
        assert code == 1 and len(lines) == 1 and "points have been measured before" in lines[0], err
        kept = len(load(Path("my.json")).points)
        assert "; %d points have been measured before" % kept in lines[0], (kept, lines)
        assert "The measurement ended early: " in read("my.html")
        Path("my.json").unlink()
        return lines[0], kept


def test_unplugged():
    message, kept = fails("faults.disconnect=request:1300")
    assert "in the test 'burst'" in message and kept > 50, message


def test_hangs():
    message, kept = fails("faults.hang=60s,request:1300")
    assert "the device did not answer for 60 s in the test 'burst'" in message, message


def test_full_of_errors():
    message, kept = fails("device.used=0", "faults.fail=program:5%", "faults.spare_blocks=0",
                          "faults.end_of_life=read-only")
    assert "in the test '" in message and kept > 50, message
    message, kept = fails("device.used=0", "faults.rber=fresh:100000000000",
                          "ecc.correctable_bits=1")
    assert "in the test '" in message, message


def test_a_silent_server():
    """A read that is not answered ends, and the connection is left without waiting for it."""
    process = subprocess.Popen(["nbdkit", "-f", "-P", "pid", "-U", "n", "--filter=delay", "memory",
                                "64M", "rdelay=20"])
    patience, target.SILENCE_S = target.SILENCE_S, 0.2
    try:
        until(lambda: os.path.exists("pid"))
        one = target.NbdTarget(URI, False)
        try:
            one.read(0, 512)
            raise AssertionError
        except OSError as e:
            assert e.strerror.startswith("the device did not answer for "), e
        one.close()
    finally:
        target.SILENCE_S = patience
        process.kill()
        process.wait()


def test_how_long_a_request_may_take():
    """29.9 s are waited for, and 30.1 s are not: a clock that only waiting moves."""
    class Handle:
        def __init__(self, done_s):
            self.now, self.done_s = 1000.0, 1000.0 + done_s

        def aio_command_completed(self, number):
            return number == 7 and self.now >= self.done_s

        def poll(self, ms):
            assert 0 <= ms <= 30000, ms
            self.now = min(self.now + max(ms / 1000, 0.001), max(self.done_s, self.now + 0.001))
            return int(self.now >= self.done_s)

    one = target.NbdTarget.__new__(target.NbdTarget)
    one._error, one._silent, clock = nbd.Error, False, target.time
    try:
        for done_s, is_late in ((0.0, False), (29.9, False), (30.1, True)):
            one._handle = Handle(done_s)
            target.time = types.SimpleNamespace(monotonic=lambda: one._handle.now)
            flying = [7, 8]
            try:
                one._land(flying)
                assert flying == [8] and not is_late and one._handle.now >= 1000 + done_s, done_s
            except OSError as e:
                assert is_late and e.errno == errno.ETIMEDOUT and one._silent, (done_s, e)
                assert abs(one._handle.now - 1030) < 0.01, one._handle.now
    finally:
        target.time = clock


def test_requests_leave_no_memory_behind():
    """libnbd keeps the buffer of a request for ever: whoever makes one for each is at gigabytes
    when a probe ends."""
    def resident():
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")

    with Server(*STICK):
        one = target.NbdTarget(URI, True)

        def use(times):
            for _ in range(times):
                one.write(0, MIB)
                one.read(0, MIB)
                assert one.look(0, 2 * MIB) == 0
                one.burst(True, [(0, MIB)] * 4, 2)
                one.burst(False, [(0, MIB)] * 4, 2)
        use(2)
        before = resident()
        use(10)
        kept = resident() - before
        one.close()     # or the server would wait for it
    assert kept < 10 * MIB, kept


def test_forged():
    real = 100 * MIB + 3 * 512
    for beyond, kind, module, told in (
            ("wrap", "wraparound", real, "overwrites something else"),
            ("drop", "limbo", None, "is lost"),
            ("module", "chain", 128 * MIB, "is lost up to 128 MiB, where it begins to overwrite")):
        with Server("profile=transcend8g", "device.capacity=%d" % real, "device.beyond=" + beyond,
                    "device.claimed_capacity=512M"):
            found = probed("--destroy", "512M", "--budget", "13M")
        assert found["real_capacity"] == real and found["wraps"] == (beyond != "drop"), found
        assert found["forged"] == kind and found["module"] == module, found
        assert "It is forged: it holds 100 MiB (%d bytes), and what is written behind them %s" % (
            real, told) in read("my.html")
        Path("my.json").unlink()


def test_ctrl_c():
    with Server(*STICK):
        size = capacity()
        p = subprocess.Popen([sys.executable, LAB, "probe", URI, "-o", "my.json", "--destroy",
                              str(size), "--device-time", "c"], stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, text=True)
        until(lambda: os.path.exists("my.json"))
        p.send_signal(signal.SIGINT)
        out, err = p.communicate()
        assert p.returncode == 130 and re.search(
            "flashemu-lab: stopped by a signal(; the test '.*' has to be done again)?\n", err), err
        assert "my.html" in out and load(Path("my.json")).capacity == size
        assert "The measurement ended early: stopped by a signal" in read("my.html")


def test_a_server_that_ends():
    with Server(*STICK) as server:
        size = capacity()
        p = subprocess.Popen([sys.executable, LAB, "probe", URI, "-o", "my.json", "--destroy",
                              str(size)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        until(lambda: os.path.exists("my.json"))
        server.process.kill()
        out, err = p.communicate()
        assert p.returncode == 1 and "points have been measured before" in err, err
        assert "Traceback" not in err and load(Path("my.json")).points


# --- what must not be written to ---

def fake_sys(**files):
    """A /sys with the device of /dev/null: {path: content}."""
    number = os.stat("/dev/null").st_rdev
    name = "%d:%d" % (os.major(number), os.minor(number))
    disk = Path("sys/devices/pci/sdz")
    disk.mkdir(parents=True)
    Path("sys/dev/block").mkdir(parents=True)
    os.symlink("../../devices/pci/sdz", "sys/dev/block/" + name)
    for path, content in {"dev": name, "removable": "1", **files}.items():
        (disk / path).parent.mkdir(parents=True, exist_ok=True)
        (disk / path).write_text(content + "\n")
    return name


def in_use(mounts="", swaps=""):
    write("mounts", mounts)
    write("swaps", swaps)
    try:
        target.refuse_in_use("/dev/null", Path("sys"), Path("mounts"), Path("swaps"))
    except LabError as e:
        return str(e).removeprefix("/dev/null: ")
    return None


def test_no_device_in_use_is_opened():
    """Not even to read: its times would not be its own."""
    kept = target.refuse_in_use, target._stat

    def refuse(path, *files):
        raise LabError(f"{path}: is in use")
    target.refuse_in_use = refuse
    target._stat = lambda path: os.stat_result([stat.S_IFBLK] + [0] * 9)
    try:
        for writable in (False, True):
            try:
                target.open_target("/dev/stick", writable)
                raise AssertionError(writable)
            except LabError as e:
                assert str(e) == "/dev/stick: is in use"
    finally:
        target.refuse_in_use, target._stat = kept


def test_devices_in_use():
    assert in_use().startswith("is not in sys")
    number = fake_sys(**{"sdz1/partition": "1", "sdz1/dev": "8:99"})
    assert in_use() is None and in_use("1 2 9:9 / /other rw\n") is None
    assert in_use("36 35 8:99 / /media/stick rw - ext4 /dev/sdz1 rw\n").startswith(
        "sdz1 is mounted at /media/stick; ")
    assert in_use("36 35 %s / /mnt rw\n" % number).startswith("sdz is mounted at /mnt; ")
    assert in_use("", "Filename Type\n/dev/sdz1 partition 1\n").startswith("sdz1 is used for swap")
    Path("sys/devices/pci/sdz/sdz1/holders/dm-0").mkdir(parents=True)
    assert in_use().startswith("sdz1 is used by dm-0; ")
    os.rmdir("sys/devices/pci/sdz/sdz1/holders/dm-0")
    Path("sys/devices/pci/sdz/removable").write_text("0\n")
    assert in_use().startswith("is not removable; ")
    Path("sys/devices/pci/sdz/partition").write_text("1\n")
    assert in_use().startswith("is a partition; ")


# --- the plan ---

def test_the_plan():
    p = session.plan(Tool(), Wishes(8 << 30))
    assert p.tests > 40 and p.written > 1e9 and "destroys" in p.text("x", 8 << 30)
    p = session.plan(Tool(), Wishes(8 << 30, read_only=True))
    assert p.tests == 9 and p.written == 0 and "writes nothing" in p.text("x", 8 << 30)
    for size in (16 * MIB, 64 * MIB, 1000 * MIB + 512, 8000 * MIB):
        keys = set()
        for test in findings.tests(Tool(), Wishes(size, trims=True), Found(unit=MIB, slc=MIB),
                                   lambda: None):
            # a point of two tests would be measured once
            mine = {(name, *sorted(how.items())) for name, how in test.keys}
            assert size < 8000 * MIB or not mine & keys, (test.name, mine & keys)
            keys |= mine
            assert all(0 <= r.offset and r.offset + r.length <= size
                       for r in test.requests if r.op != "rest"), test.name
            # and each has a point for every key, whose parameters the table knows
            assert len(structure.result(test, [1000] * len(test.requests))) == len(test.keys), test


run(globals())
