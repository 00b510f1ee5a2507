#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""flashemu-lab probe: what it finds on devices that are known, and what it refuses."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

from flashemu_lab_bench import FLASHEMU, LAB, bad, lab, read, until, write
from flashemu_script import from_env, need, run, skip

try:
    import nbd  # noqa: F401
except ImportError:
    skip("no Python module nbd")

from flashemu_lab import probe, probing, target
from flashemu_lab.datasheet import sentences
from flashemu_lab.errors import LabError
from flashemu_lab.measurement import load, make_point
from flashemu_lab.probing import Found
from flashemu_lab.tool import Tool

need("nbdkit")
PLUGIN = from_env("FLASHEMU_PLUGIN")
URI = "nbd+unix:///?socket=n"
MIB = 1 << 20
# A device that is small, so that a probe takes seconds.
STICK = ["profile=transcend8g", "device.capacity=384M"]


class Server:
    """nbdkit with a device, in the folder of the test."""

    def __init__(self, *parameters):
        self.parameters = parameters

    def __enter__(self):
        self.process = subprocess.Popen(
            ["nbdkit", "-f", "-t", "1", "-U", "n", PLUGIN, *self.parameters, "clock=virtual",
             "control=c"])
        until(lambda: os.path.exists("n") and os.path.exists("c"))
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()
        for name in ("n", "c"):
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
        with Server(*STICK, *settings):
            found = probed("--destroy", str(capacity()))
            print("#", found)
            assert (found["unit"], found["page"]) == (unit, 4096), found
            assert (found["open_linear"], found["open_random"]) == (units, units), found
            assert found["failure"] is None and found["left"] == []
            assert found["written"] == written_bytes(load(Path("my.json")))
        # the same requests on the same model: nothing is different
        again = json.loads(subprocess.run(
            [FLASHEMU, "verify", "transcend8g", "device.capacity=384M", *settings, "--against",
             "my.json", "--json"], stdout=subprocess.PIPE, check=True).stdout)
        assert again["all"]["compared"] == again["all"]["points"] == found["points"]
        assert max(abs(p["error_percent"]) for p in again["points"]) < 1e-6
        assert "The allocation unit is %s" % {1: "1 MiB", 1.5: "1.5 MiB"}[
            unit / MIB] in read("my.html")


def written_bytes(m):
    """The bytes that the points of a measurement have written."""
    written = 0
    for p in m.points:
        how = dict(p.parameters)
        if p.procedure == "request" and how["op"] == "write":
            written += how["bs"] * how["count"]
        elif p.procedure == "seq-write":
            written += how["size"]
        elif p.procedure == "flashbench-open-au":
            written += how["erasesize"] * how["open"]
    return written


def test_a_device_without_units():
    with Server("profile=ssd-page", "device.capacity=384M"):
        found = probed("--destroy", str(capacity()), "--budget", "20M")
        assert found["unit"] is None, found
    assert "No allocation unit shows" in read("my.html")


def test_read_only_and_budget():
    with Server(*STICK):
        found = probed("--read-only")
        assert found["written"] == 0 and found["unit"] is None and found["overhead_ns"] > 0
        stats = json.loads(subprocess.run([FLASHEMU, "ctl", "c", "stats"],
                                          stdout=subprocess.PIPE).stdout)
        assert stats["host"]["write"]["ops"] == 0 and stats["host"]["read"]["ops"] > 100
        found = probed("--destroy", str(capacity()), "--budget", "5M")
        assert found["written"] <= 5e6 and "page" in found["left"] and found["unit"] == 4 * MIB
        assert "The budget was too small for " in read("my.html")
        found = probed("--destroy", str(capacity()), "--budget", "1ms")
        assert len(found["left"]) > 20 and found["written"] == 0


def test_wall_time():
    """Without --device-time there are times as well, of this machine."""
    with Server(*STICK):
        found = good_probe("--read-only")
        assert found["points"] > 50


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
        bad("--device-time nope: No such file", "probe", URI, "-o", "x.json", "--read-only",
            "--device-time", "nope")
        stats = json.loads(subprocess.run([FLASHEMU, "ctl", "c", "stats"],
                                          stdout=subprocess.PIPE).stdout)
        assert stats["host"]["write"]["ops"] == 0 and not os.path.exists("x.json")
    bad("nbd+unix:///?socket=nope: ", "probe", "nbd+unix:///?socket=nope", "-o", "x.json",
        "--read-only")
    write("file", "x")
    bad("file: is no block device and no NBD URI", "probe", "file", "-o", "x.json", "--read-only")
    bad("nope: No such file or directory", "probe", "nope", "-o", "x.json", "--destroy", "1")


def test_a_device_that_is_read_only():
    process = subprocess.Popen(["nbdkit", "-f", "-r", "-U", "n", "memory", "64M"])
    try:
        until(lambda: os.path.exists("n"))
        bad("is read-only; allowed: --read-only", "probe", URI, "-o", "x.json", "--destroy", "64M")
    finally:
        process.terminate()
        process.wait()


class Broken:
    """A device that fails after some requests."""
    name, capacity, sector, serial, host = "broken", 384 * MIB, 512, "", "a test"

    def __init__(self, after, error):
        self.after, self.error = after, error

    def read(self, offset, length):
        self.after -= 1
        if self.after < 0:
            raise self.error
        assert 0 <= offset and offset + length <= self.capacity
        assert offset % 512 == 0 and length % 512 == 0 and 0 < length <= target.LONGEST

    write = read


def broken(after, error):
    clock = iter(range(0, 1 << 60, 1000))
    saved = []
    one = probe.Probe(Tool(), Broken(after, error), lambda: next(clock), False, False,
                      probe.Budget(),
                      lambda found: saved.append(len(found.points)), lambda name: None)
    return one, saved


def test_keeps_what_was_measured():
    one, saved = broken(1400, OSError(5, "Input/output error"))
    one.run()
    assert one.failure.startswith("broken: Input/output error in the test 'crossing")
    assert saved and saved[-1] == len(one.found.points) > 60
    one, saved = broken(1400, KeyboardInterrupt())
    try:
        one.run()
        raise AssertionError
    except KeyboardInterrupt:
        assert saved[-1] == len(one.found.points) > 60


def test_ctrl_c():
    with Server(*STICK):
        size = capacity()
        p = subprocess.Popen([sys.executable, LAB, "probe", URI, "-o", "my.json", "--destroy",
                              str(size), "--device-time", "c"], stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, text=True)
        until(lambda: os.path.exists("my.json"))
        p.send_signal(signal.SIGINT)
        out, err = p.communicate()
        assert p.returncode == 130 and "flashemu-lab: stopped by a signal\n" in err, err
        assert "my.html" in out and load(Path("my.json")).capacity == size
        assert "The measurement ended early: stopped by a signal." in read("my.html")


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


# --- the conclusions ---

def crossings(unit, cost=100.0, log=10.0):
    """Points of a device that merges a unit of this size for each unit that a write touches."""
    points = []
    for size in probing.candidates(1 << 33):
        test = probing.crossing(size, 1 << 33)
        times = []
        for r in test.requests:
            touched = (r.offset + r.length - 1) // unit - r.offset // unit + 1
            times.append(int(log + cost * touched))
        points += probing.result(test, times)
    return points


def test_unit_by_hand():
    for unit in probing.candidates(1 << 33):
        if 32 * 1024 < unit <= 24 * MIB:
            assert probing.unit_from(crossings(unit)) == unit, unit
    assert probing.unit_from(crossings(1 << 33)) is None and probing.unit_from([]) is None
    # a difference of some percent is noise
    assert probing.unit_from(crossings(4 * MIB, cost=1, log=1000)) is None


def rates(in_random_order, *means):
    return [make_point("flashbench-open-au", [mean], erasesize=MIB, open=i + 1,
                       random=in_random_order, chunk=MIB >> k)
            for i, mean in enumerate(means) for k in range(7)]


def test_limits_by_hand():
    assert probing.limit_from(rates(False, 10, 9, 9, 7, 7), False) == 3
    assert probing.limit_from(rates(False, 10, 6, 6), False) is None
    assert probing.limit_from(rates(False, 10, 4), False) == 1
    assert probing.limit_from(rates(True, 10, 9, 2) + rates(False, 10), True) == 2
    assert probing.limit_from(rates(True, 4, 4) + rates(False, 10), True) == 0


def test_link_by_hand():
    points = [make_point("request", [100e3 + n / 20e6 * 1e9], op="read", bs=n, start=0, stride=n,
                         count=16) for n in (512, 4096, 65536, 1 << 20)]
    overhead, rate = probing.link_from(points)
    assert abs(overhead - 100e3) < 1 and abs(rate - 20e6) < 1
    assert probing.link_from(points[:2]) is None
    assert "A read costs 100 us, and then the data come at 20 MB/s" in sentences(Found(points))[0]


def test_the_plan():
    p = probe.plan(Tool(), 8 << 30, False)
    assert p.tests > 40 and p.written > 1e9 and "destroys" in p.text("x", 8 << 30)
    p = probe.plan(Tool(), 8 << 30, True)
    assert p.tests == 2 and p.written == 0 and "writes nothing" in p.text("x", 8 << 30)
    for test in probing.tests(Tool(), 64 * MIB, False, Found(), lambda: None):
        assert all(0 <= r.offset and r.offset + r.length <= 64 * MIB for r in test.requests), test


run(globals())
