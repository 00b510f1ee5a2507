#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""flashemu-lab record without a virtual machine: recipes and their mistakes, and the protocol with
a script that plays the guest.  tests/vm makes a recording with a real kernel."""

import gzip
import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tarfile
import time

from flashemu_lab_bench import FLASHEMU, LAB, bad, good, good_json, read, stored, write
from flashemu_script import PROGRAM_HANG_S, ended, from_env, run, skip

from flashemu_lab.experiment import replay_accuracy
from flashemu_lab.kernel import sample
from flashemu_lab.recording import recipes, recordings
from flashemu_lab.core.errors import LabError
from flashemu_lab.runs.program import Tool

try:
    import nbd  # noqa: F401
except ImportError:
    skip("no Python module nbd")

PLUGIN = from_env("FLASHEMU_PLUGIN")
SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../tools/vm/record.sh")
RECIPES = """[defaults]
profile = "ideal"
start = 256
sectors = 2048
scale = 1.0
mkfs = "mkfs.xfs -q"
mount = "mount"

[one]
work = "large 1"

[two]
work = "large 2"
profile = "kingston512m"
"""
# Plays tools/vm/run and its guest: for each recipe it writes, says phases, and ends the server.
GUEST = """#!/usr/bin/python3
import json, os, socket, sys, time
import nbd
words = sys.argv[1:]
with open("machines", "a") as f:
    f.write(" ".join(words[:4]) + "\\n")
env = dict(words[i + 1].split("=", 1) for i, w in enumerate(words) if w == "--env")
control = next(words[i + 1] for i, w in enumerate(words) if w == "--forward-unix").rsplit(":", 1)[0]
lines = words[next(i for i, w in enumerate(words) if w.endswith("record.sh")) + 1:]
def ask(line):
    s = socket.socket(socket.AF_UNIX)
    s.connect(control)
    s.sendall(line + b"\\n")
    return s.makefile().readline().strip()
MODE = os.environ.get("GUEST", "")
print("kernel 9.9", flush=True)
print("tools mkfs.x 1", flush=True)
for number, line in enumerate(lines):
    name, kind, start, sectors, mkfs, mount, work, full = line.split("|")
    while True:
        try:
            h = nbd.NBD()
            h.connect_tcp("127.0.0.1", env["NBD_PORT"])
            break
        except nbd.Error:
            time.sleep(0.01)
    print("begin %s %d 65536" % (name, h.get_size()), flush=True)
    with open("jobs", "a") as f:
        f.write(line + "\\n")
    h.pwrite(b"x" * 512, 0)
    h.pwrite(b"y" * 4096, int(start) * 512)
    print("phase format 2 0", flush=True)
    if full:
        ask(b'{"cmd":"reset"}')
    if MODE == "hang":
        time.sleep(1000)
    if MODE == "fail" and number == 1:
        print("FAIL: %s: mkfs.x: no room" % name, flush=True)
        sys.exit(1)
    boot = open("machines").read().count("\\n")
    if MODE.startswith("die") and name == "two" and boot < int(MODE[3:]):
        print("vm console: [<60>] uml_finishsetup+0x54/0x59", file=sys.stderr)
        print("vm/run: the machine died: Kernel panic - not syncing: no", file=sys.stderr)
        sys.exit(125)
    flushes = int(h.can_flush())
    h.pwrite(b"z" * 1024, int(start) * 512 + 4096, nbd.CMD_FLAG_FUA if h.can_fua() else 0)
    if flushes:
        h.flush()
    h.pread(512, int(start) * 512)
    if full:
        print("result write 1024 " + ask(b'{"cmd":"stats"}'), flush=True)
    else:
        print("phase write %d 1024" % (4 + flushes), flush=True)
    print("end " + name, flush=True)
    h.pread(4096, 0)
    h.shutdown()
    with open(os.path.dirname(control) + "/pid") as f:
        server = f.read().strip()
    with open("/proc/%s/cmdline" % server) as f, open("servers", "a") as out:
        out.write(f.read().replace("\\0", " ") + "\\n")
    ask(b'{"cmd":"quit"}')
    while os.path.exists("/proc/" + server):  # it would take the next connection, and end
        time.sleep(0.01)
"""


def machine(mode=""):
    """An environment in which the guest is a script."""
    write("run", GUEST)
    write("record.sh", "")
    os.chmod("run", 0o755)
    write("r.toml", RECIPES)
    write("qemu-system-x86_64", "")
    os.chmod("qemu-system-x86_64", 0o755)
    return {"FLASHEMU_SCRIPTS": os.getcwd(), "FLASHEMU_PLUGIN": PLUGIN, "GUEST": mode,
            "PATH": os.getcwd() + ":" + os.environ["PATH"]}


def test_each_recipe_has_a_device_of_its_own():
    out = good("record", "--recipes", "r.toml", "-o", ".", env=machine())
    assert out == "one.trace.gz: 5 requests\ntwo.trace.gz: 5 requests\n"
    r = recordings.load("./two.trace.gz")
    assert (r.kernel, r.tools, r.filesystem, r.limit) == ("9.9", "mkfs.x 1", "xfs", 65536)
    assert r.command == "flashemu-lab record --recipes r.toml --kernel vm two"
    assert (r.capacity, r.start, r.sectors, r.work) == (490 << 20, 256, 2048, "large 2")
    assert recordings.load("./one.trace.gz").capacity == 1 << 30
    assert [(p.name, p.first, p.last, p.bytes) for p in r.phases] == [
        ("format", 0, 2, 0), ("write", 2, 5, 1024)]
    lines = gzip.open("two.trace.gz", "rt").read().splitlines()
    requests = [line.partition(" think=") for line in lines if line[0] != "#"]
    assert any(int(think or 0) > 0 for _, _, think in requests), "the host thinks in between"
    assert [request for request, _, _ in requests] == [
        "0 write 0 512", "0 write 131072 4096", "0 write 135168 1024 fua", "0 flush 0 0",
        "0 read 131072 512"]
    assert r.offers == "flush fua", "a device without a cache, as this one, would get no flush"
    again = good_json("record", "--recipes", "r.toml", "-o", "again", "two", env=machine())
    assert again[0]["sha256"] == r.sha256 and os.listdir("again") == ["two.trace.gz"]


def test_a_machine_may_take_what_its_recipes_say():
    env = machine()
    good("record", "--recipes", "r.toml", "-o", ".", env=env)
    assert read("machines") == "--timeout 2100 --mem 1024\n", "300 s, and 900 s for each recipe"
    assert "\n# machine: 900 1024\n" in gzip.open("one.trace.gz", "rt").read()
    write("r.toml", RECIPES + "seconds = 5000\nmemory = 2048\n")
    os.remove("machines")
    good("record", "--recipes", "r.toml", "-o", ".", env=env)
    assert read("machines") == "--timeout 6200 --mem 2048\n", "the sum of times, the most memory"
    texts = [gzip.open(f"{name}.trace.gz", "rt").read() for name in ("one", "two")]
    one, two = (recordings.parse(text, recipes.Path("x.trace.gz")) for text in texts)
    assert (one.seconds, one.memory, two.seconds, two.memory) == (900, 1024, 5000, 2048)
    old = recordings.parse(texts[1].replace("# machine: 5000 2048\n", ""), two.path)
    assert (old.seconds, old.memory) == (900, 1024), "older recordings do not say it"
    assert old.sha256 == two.sha256, "it has no part in a replay"


def test_a_guest_that_fails_leaves_what_is_whole():
    env = machine("fail")
    bad("two: FAIL: two: mkfs.x: no room", "record", "--recipes", "r.toml", "-o", "out", env=env)
    assert os.listdir("out") == ["one.trace.gz"]


def test_a_machine_that_dies_costs_a_boot():
    env = machine("die3")
    out = good("record", "--recipes", "r.toml", "-o", "out", env=env)
    assert out == "out/one.trace.gz: 5 requests\nout/two.trace.gz: 5 requests\n"
    names = [line.split("|")[0] for line in read("jobs").splitlines()]
    assert names == ["one", "two", "two", "two"], "what was done stays done"
    os.remove("machines")
    bad("two: vm/run: the machine died: Kernel panic - not syncing: no", "record", "--recipes",
        "r.toml", "-o", "again", env=machine("die4"))
    assert read("machines").count("\n") == 3 and os.listdir("again") == ["one.trace.gz"]


# The work of the guest again: what is recorded first.
EXPERIMENT = """name = "x"
title = "X"
[factors]
start = ["256", "512", "1024"]
"device.used" = ["0", "16M"]
[device]
profile = "kingston512m"
[workload]
requests = "rec:two,start={start},measure=write"
[measure.rate]
value = "user_bytes / busy_ns * 1000"
unit = "MB/s"
[measure.waf]
value = "ftl.waf"
"""


def test_runs_go_through_a_kernel_as_well():
    env = machine()
    write("r.toml", RECIPES + "seconds = 5000\nmemory = 2048\n")
    good("record", "--recipes", "r.toml", "-o", "mine", "two", env=env)
    assert " time-scale=1.0 " in read("servers"), "as the recipe says"
    assert " file=" in read("servers"), "so the server offers flush and FUA"
    os.remove("jobs")
    os.remove("servers")
    env["FLASHEMU_RECORDINGS"] = os.path.abspath("mine")
    write("x.toml", EXPERIMENT)
    out = json.loads(good("run", "x.toml", "--json", "--mode", "full", "-o", "out", env=env))
    assert [c["levels"] for c in out["full"]] == [list(r["levels"].values()) for r in out["rows"]]
    for check, row in zip(out["full"], out["rows"]):
        assert check["values"]["waf"] == row["values"]["waf"] is not None
    jobs = [line.split("|") for line in read("jobs").splitlines()]
    assert [j[2] for j in jobs] == ["256", "256", "512", "512", "1024", "1024"]
    assert jobs[0][4:] == ["mkfs.xfs -q", "mount", "large 2", "full"]
    assert read("machines").splitlines()[1] == "--timeout 30300 --mem 2048", "as when recorded"
    servers = read("servers").splitlines()
    assert len(servers) == 6 and all(" time-scale=0.1 " in server for server in servers)
    assert not any(" file=" in server for server in servers), "the device of the run as it is"
    assert "6 runs went through a kernel as well. Of the rate, the replay is off by 0 %." in \
        out["conclusion"], out["conclusion"]
    assert "The replay against a kernel: 9.9" in read("out/index.html")
    assert {c["kernel"] for c in out["full"]} == {"9.9"}
    good("report", "out", "-o", "again.html", env=env)
    assert read("again.html") == read("out/index.html")
    drawn = [json.loads(good("run", "x.toml", "--json", "--mode", "full", "--sample", "2",
                             "--sample-seed", seed, env=env))["full"] for seed in "117"]
    assert [c["levels"] for c in drawn[0]] == [c["levels"] for c in drawn[1]] and len(drawn[0]) == 2
    assert [c["levels"] for c in drawn[0]] != [c["levels"] for c in drawn[2]]
    assert "full" in json.loads(good("run", "x.toml", "--json", env=env))
    for old, new, message in (
            (",measure=write", "", "a run must have measure=PHASE, depth 1 and no flags"),
            ("[measure.rate]", "depth = 2\n[measure.rate]", "a run must have measure=PHASE"),
            ('"rec:two,start={start},measure=write"', '"gen:random,count={start}"',
             "x.toml: --mode full: a run must have one recording and no warmup")):
        write("x.toml", EXPERIMENT.replace(old, new))
        bad(message, "run", "x.toml", "--mode", "full", store="untouched", env=env)
    assert not os.path.exists("untouched") or not stored("untouched"), "mistakes come first"


def test_samples_are_drawn_by_seed():
    env = machine()
    good("record", "--recipes", "r.toml", "-o", "mine", env=env)
    env["FLASHEMU_RECORDINGS"] = os.path.abspath("mine")
    os.remove("jobs")
    out = good("sample", "one", "two", "--seed", "1,2,3,4,5,6", "-o", "samples.csv", env=env)
    found = replay_accuracy.parse(read("samples.csv"), "samples.csv")
    assert [s.seed for s in found] == [1, 2, 3, 4, 5, 6]
    assert {(s.filesystem, s.phase) for s in found} == {("xfs", "write")}
    assert {s.recording for s in found} == {"one", "two"}, "the seed draws the recording"
    assert len({s.start for s in found}) > 2 and len({s.profile for s in found}) > 1
    jobs = [line.split("|") for line in read("jobs").splitlines()]
    assert [int(j[2]) for j in jobs] == [s.start for s in found]
    for s in found:
        assert s.sha256 == recordings.load("./mine/%s.trace.gz" % s.recording).sha256[:12]
        assert "%.3f" % (s.kernel_ns / 1e9) in out and s.replay_ns > 0
        operand = "rec:%s,start=%d,measure=write,pace=" % (s.recording, s.start)
        for pace, want in (("0", s.quick_ns), (s.pace, s.replay_ns)):
            code, text, _ = ended([FLASHEMU, "replay", "--json", s.profile, operand + pace],
                                  env=dict(os.environ, **env))
            assert code == 0 and json.loads(text)["busy_ns"] == want, s
    assert all(float(s.pace) > 0 for s in found), "the kernel's host thinks, too"
    again = good_json("sample", "two", "--seed", "6", env=env)
    assert [a["recording"] for a in again] == ["two"] and "difference" in again[0]
    assert good("sample", "one", "two", "--seed", "2,2", env=env).count("\n") == 3
    bad("rec:three: there is no such recording", "sample", "three", env=env)
    bad("--seed: x: allowed: whole numbers", "sample", "--seed", "x", env=env)
    os.remove("jobs")
    text = gzip.open("mine/one.trace.gz", "rt").read().replace("phase: write 5", "phase: write 9")
    with open("mine/one.trace.gz", "wb") as f:
        f.write(gzip.compress(text.encode()))
    bad("the recording ends after 5 of 9 requests", "sample", "one", "two", "--seed", "1,2,3",
        code=1, env=env)
    assert not os.path.exists("jobs"), "the kernel has not begun"
    write("r.toml", RECIPES.replace("[one]", "[one]\nsectors = 1000000000"))
    good("record", "--recipes", "r.toml", "-o", "mine", "one", env=env)
    bad("one: no shipped device has room for 1000000000 sectors at sector 256", "sample", "one",
        env=env)


def test_a_sample_may_be_on_any_device_that_takes_time():
    env = machine()
    good("record", "--recipes", "r.toml", "-o", "mine", "two", env=env)
    os.environ["FLASHEMU_RECORDINGS"] = os.path.abspath("mine")
    tool = Tool()
    drawn = {d.profile for d in sample.draw(tool, list(range(300)), ["two"])}
    assert set(tool.profiles()) - drawn == {"ideal", "generic32m", "ssd-page"}


def test_a_signal_leaves_nothing():
    """The folder is left where nobody could remove it."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        env = dict(os.environ, **machine("hang"), TMPDIR=os.getcwd())
        p = subprocess.Popen([sys.executable, LAB, "record", "--recipes", "r.toml", "-o", "out"],
                             env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

        def alive():
            mine = []
            for pid in os.listdir("/proc"):
                try:
                    with open("/proc/%s/cmdline" % pid, "rb") as f:
                        text = f.read()
                except OSError:
                    continue
                if b"flashemu-record" in text and os.getcwd().encode() in text:
                    mine.append(pid)
            return mine

        end = time.monotonic() + PROGRAM_HANG_S
        while len(alive()) < 2:
            assert time.monotonic() < end and p.poll() is None
            time.sleep(0.02)
        p.send_signal(number)
        p.communicate(timeout=PROGRAM_HANG_S)
        while number == signal.SIGKILL and alive():
            assert time.monotonic() < end, alive()
            time.sleep(0.02)
        assert p.returncode == (130 if number == signal.SIGTERM else -number) and not alive()
        left = [n for n in os.listdir(".") if n.startswith("flashemu-record")]
        assert bool(left) == (number == signal.SIGKILL), left


def test_what_is_missing():
    env = machine()
    os.remove("record.sh")
    bad("there is no record.sh in %s; set FLASHEMU_SCRIPTS" % os.getcwd(), "record", "--recipes",
        "r.toml", env=env)
    env = machine()
    bad("there is no recipe 'three'; allowed: one, two", "record", "--recipes", "r.toml", "three",
        env=env)
    bad("none.toml: No such file", "record", "--recipes", "none.toml", env=env)
    write("r.toml", RECIPES.replace('"ideal"', '"idle"'))
    bad("one: profile=idle", "record", "--recipes", "r.toml", "-o", "out", "one", env=env)
    os.mkdir("few")
    os.symlink(shutil.which("nbdkit"), "few/nbdkit")
    bad("there is no program qemu-system-x86_64: apt-get install qemu-system-x86", "record",
        "--recipes", "r.toml", env=dict(env, PATH=os.path.abspath("few")))


def mistake(old, new, message):
    write("r.toml", RECIPES.replace(old, new))
    try:
        recipes.load(recipes.Path("r.toml"))
    except LabError as e:
        assert message in str(e), e
    else:
        raise AssertionError("no error: " + message)


def test_mistakes_of_recipes():
    mistake("[one]", "[One]", "r.toml: [One]: allowed: a table with a name of small letters")
    mistake("mount =", "mounts =", "r.toml: [one]: unknown key 'mounts'; allowed: profile, mkfs,")
    mistake('"mount"', "83", "mount = 83: expected a text without '|'")
    mistake('"large 1"', '"large|1"', "work = 'large|1': expected a text without '|'")
    mistake("2048", "0", "sectors = 0: expected a number of sectors, at least 1")
    mistake("scale = 1.0", "seconds = 0", "seconds = 0: expected a number of seconds, at least 1")
    mistake("scale = 1.0", 'memory = "1G"', "memory = '1G': expected a number of MiB, at least 1")
    mistake("scale = 1.0", "scale = 100", "scale = 100: expected a number from 0.001 to 10")
    mistake("[two]", "[two", "r.toml: ")
    write("r.toml", RECIPES)
    found = recipes.load(recipes.Path("r.toml"))
    assert list(found) == ["one", "two"] and found["two"].profile == "kingston512m"
    assert read("r.toml") == RECIPES and FLASHEMU


def members(path):
    """The members of an archive of ar, by name."""
    found = {}
    with open(path, "rb") as f:
        assert f.read(8) == b"!<arch>\n"
        while head := f.read(60):
            assert head[58:] == b"`\n"
            found[head[:16].decode().rstrip()] = f.read(int(head[48:58]))
    return found


def test_archives_are_debian_packages():
    script = read(SCRIPT)
    function = re.search(r"^archives\(\) \{\n.*?^\}\n", script, re.M | re.S)[0]
    files = {"p0": {"a": 0, "b": 1, "c": 512}, "p3": {"x": 513, "y": 1000000}}
    lines = "".join(f"{p[1:]} {name} {size}\n" for p in files for name, size in files[p].items())
    for awk in filter(shutil.which, ("mawk", "gawk")):
        os.makedirs("of-" + awk)
        done = ended(["bash", "-ec", f'awk() {{ {awk} "$@"; }}\n{function}archives "$1"', "-",
                      "of-" + awk], lines, env=dict(os.environ, LC_ALL="C"))
        assert done == (0, "513\n1000513\n", ""), (awk, done)
        for p in files:
            path = f"of-{awk}/{p}.deb"
            parts = members(path)
            assert list(parts) == ["debian-binary", "control.tar", "data.tar"]
            assert parts["debian-binary"] == b"2.0\n"
            control = tarfile.open(fileobj=io.BytesIO(parts["control.tar"]))
            assert control.getnames() == ["./control"]
            assert f"Package: {p}\n" in control.extractfile("./control").read().decode()
            data = tarfile.open(fileobj=io.BytesIO(parts["data.tar"]))
            assert {m.name: m.size for m in data if m.isfile()} == {
                f"./usr/lib/{p}/{name}": size for name, size in files[p].items()}
            assert [m.name for m in data if m.isdir()] == [
                ".", "./usr", "./usr/lib", f"./usr/lib/{p}"]
            assert {(m.mode, m.uid) for m in data if m.isfile()} == {(0o644, 0)}
            if shutil.which("dpkg-deb"):
                code, out, err = ended(["dpkg-deb", "-c", path])
                assert code == 0 and len(out.splitlines()) == len(data.getmembers()), err
        assert members(f"of-{awk}/p3.deb")["data.tar"].count(b"0123456789abcdef") > 62500


run(globals())
