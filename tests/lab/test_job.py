#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""job: the figures of a life, comparisons, and lives of a real kernel where there is one."""

import contextlib
import gzip
import io
import json
import os
import random
import subprocess
from pathlib import Path

from flashemu_lab_bench import TOP, lab, timed_kernel_is_missing
from flashemu_script import run

from flashemu_lab.cli import job as cli_job
from flashemu_lab.cli.completion import commands
from flashemu_lab.cli.job import _lives
from flashemu_lab.cli.main import _parsed, main
from flashemu_lab.cli.parser import build_parser
from flashemu_lab.core.errors import LabError
from flashemu_lab.kernel import job, record, timed
from flashemu_lab.kernel.choices import FILESYSTEMS
from flashemu_lab.recording.recipes import Recipe
from flashemu_lab.runs.program import Tool

TRACE = """# flashemu trace 1
0 write 0 4096 done=900 programmed=7
1000 write 8192 8192 done=3000 programmed=12288
1500 read 0 512 done=3400
2000 flush 0 0 done=3600 programmed=4096
5000 mark 7\u2028x
9000 trim 4096 4096 done=9100
10000 write 0 4096 done=12000 programmed=9
"""


def lived(trace=TRACE, **changes):
    Path("trace").write_text(trace)
    stats = {"nand": {"bytes_programmed": 81920, "page_programs": 20}}
    return timed.Lived(**{**dict(
        code=0, output="", start_ns=1000, script_end_ns=10000, end_ns=13000, host_s=0.25,
        kernel="7.2", stats=stats, trace=Path("trace"), marks=[("half", 5000)],
        syncs=[timed.Sync("fsync", "a b", 2000, 1600)]), **changes})


def test_figures():
    """What arrives between the start of the script and its end counts, and nothing else."""
    got = job.figures(timed.Life("ideal", (), "true"), lived())
    assert got["requests"] == {"read": {"ops": 1, "bytes": 512}, "write": {"ops": 1, "bytes": 8192},
                               "trim": {"ops": 1, "bytes": 4096}, "flush": {"ops": 1, "bytes": 0}}
    assert got["busy_ns"] == 2000 + 400 + 200 + 100 and got["waf"] == 16384 / 8192
    assert (got["device_ns"], got["settled_ns"]) == (9000, 12000)
    assert got["marks"] == [{"name": "half", "at_ns": 4000}]
    assert got["syncs"] == [{"call": "fsync", "program": "a b", "at_ns": 1000, "ns": 1600}]
    none = job.figures(timed.Life("ideal", (), "true"), lived("# flashemu trace 1\n"))
    assert none["waf"] is None and none["busy_ns"] == 0


def test_figures_that_are_none():
    """Numbers that somebody has changed, also to some with which nothing can be computed."""
    one = json.loads(json.dumps(job.figures(timed.Life("ideal", (), "true"), lived())))
    for key in ("seed", "device_ns", "think_ns", "code"):
        assert job.is_figures({**one, key: 10**18 - 1})
        for value in (None, -1, 0.5, True, "7", 10**18, 10**400):
            assert not job.is_figures({**one, key: value}), (key, value)


def test_console():
    """The kernel's lines about calls that wait, among all that it says."""
    Path("console").write_text("Linux version 7\nfsync: dd 5 905\nsync: my prog: x 7 8\n"
                               "fsync: dd 5 x\nEXT4-fs (vda): mounted\nmsync: sh 10 10\n")
    assert timed._syncs(Path("console")) == [
        timed.Sync("fsync", "dd", 5, 900), timed.Sync("sync", "my prog: x", 7, 1),
        timed.Sync("msync", "sh", 10, 0)]


def test_a_guest_that_does_not_come_to_its_end():
    """What the device says about it comes first, in its last line; then the guest's output, and then
    what its kernel said last."""
    one = timed.Timed.__new__(timed.Timed)
    one.version, one._base = "7.2", Path("base")
    one._tool = type("Asked", (), {"ask": lambda self, *words: '{"nand": 5}'})()
    one._serve = lambda life, folder: subprocess.Popen(["true"])
    one._archive = lambda life, tree: b"own"
    Path("base").mkdir()
    Path("base/initramfs").write_bytes(b"base ")
    for says, told in (({"log": "noted\nthe host's disk is full\n", "out": "x", "console": "y"},
                        ": the host's disk is full"),
                       ({"log": " \n", "out": "mount: no\nno disk\n", "console": "y"}, ": no disk"),
                       ({"console": "Linux\npanic: z\n"}, ": panic: z"), ({}, "")):
        folder = Path("life" + str(len(told)))
        folder.mkdir()
        (folder / "log").touch()

        def boot(life, place, says=says):
            for name, text in says.items():
                (place / name).write_text(text)
            return 3
        one._boot = boot
        try:
            one.live(timed.Life("ideal", (), "true"), folder)
            raise AssertionError(says)
        except LabError as e:
            assert str(e) == "the guest has not come to its end" + told, e
        assert (folder / "initramfs").read_bytes() == b"base own"


def test_names_of_marks():
    """A name ends with its line, and with nothing else that may end one."""
    one = timed.Timed.__new__(timed.Timed)
    one.version = "7.2"
    at = timed.DATE_NS
    Path("result").write_bytes(b"start %d\nmark %d a\x0cb\xe2\x80\xa8c \xff d\ncode %d 9\nend %d\n" % (
        at + 20, at + 30, at + 50, at + 70))
    Path("out").touch()
    Path("console").touch()
    told = one._told(Path(), 0, 1.0, 0.25, {}, "")
    assert told.marks == [("a\x0cb\u2028c \ufffd d", 30)], told.marks
    assert (told.start_ns, told.script_end_ns, told.end_ns, told.code) == (20, 50, 70, 9)


def written(name, times, **changes):
    Path(name).write_text(json.dumps([
        {"schema": job.SCHEMA, "profile": "ideal", "overrides": [], "think_ns": 0, "seed": seed,
         "device_ns": ns, "code": 0, **changes} for seed, ns in enumerate(times)]))
    return name


def test_compare():
    """Equal jobs are equal, a small difference in all seeds is found, and noise is not one."""
    base = [1000000 + 7919 * (i * i % 13) for i in range(20)]
    a = written("a", base)
    code, out, _ = lab("job", "--compare", a, written("b", base))
    assert code == 0 and "same time to the nanosecond, with each of 20 seeds" in out, out
    slow = [t * 103 // 100 + i % 3 * 1000 for i, t in enumerate(base)]
    code, out, _ = lab("job", "--compare", a, written("b", slow))
    assert code == 1 and out.startswith("the second takes 3.1 % longer than the first"), out
    code, out, _ = lab("job", "--compare", written("b", slow), a)
    assert code == 0 and "shorter than the first" in out, out
    # A device that cleans up in one of the lives of a seed, for long, hides nothing.
    code, out, _ = lab("job", "--compare", a, written("b", [t * (14 if i == 7 else 10) // 10
                                                            for i, t in enumerate(slow)]))
    assert code == 1 and out.startswith("the second takes 3.1 % longer than the first (+3."), out
    # Seven seeds say nothing at this level, and eight do if all agree.
    eight = written("eight", base[:8])
    assert lab("job", "--compare", eight, written("b", slow[:8]))[0] == 1
    assert lab("job", "--compare", eight, written("b", [*slow[:7], base[7] - 1]))[0] == 0
    noise = [t + (-1) ** i * 40000 + i * 100 for i, t in enumerate(base)]
    code, out, _ = lab("job", "--compare", a, written("b", noise))
    assert code == 0 and out.startswith("no difference can be told"), out
    for b, said in ((written("few", base[:4]), "4 seeds in common; a comparison needs at least 8"),
                    (written("other", base, profile="other"), "different profile"),
                    (written("old", base, schema="x"), "is not what"), ("no", "cannot be read"),
                    (written("text", base, device_ns="1"), "is not what"),
                    (written("less", base, device_ns=-1), "is not what"),
                    (written("failed", base, code=3), "has failed is not compared: exit code 3 with seed 0"),
                    (written("twice", base, seed=4), "has a seed twice")):
        code, out, err = lab("job", "--compare", a, b)
        assert code == 2 and out == "" and said in err, (b, err)
    none = written("none", [0] * 20)
    assert "takes no time is not compared" in lab("job", "--compare", none, a)[2]
    for words, said in ((["--on", "ideal"], "--on"), (["--json"], "--json"), (["script"], "a script"),
                        (["-o", "x", "--against", a], "--against, --output")):
        code, out, err = lab("job", "--compare", a, a, *words)
        assert code == 2 and out == "" and err.endswith(f"it is not for {said}\n"), err


def alarms(draw, count, longer, chance):
    """How many of so many comparisons say that the second job takes longer.  A seed makes 10 % of
    both jobs of a pair, and `chance` what is of one job alone."""
    def jobs(times):
        return [{"profile": "ideal", "overrides": [], "think_ns": 0, "seed": seed, "device_ns": int(ns),
                 "code": 0}
                for seed, ns in enumerate(times)]

    found = 0
    for _ in range(count):
        first = [10**9 * draw.lognormvariate(0, 0.1) for _ in range(20)]
        second = [ns * longer * (1 + chance(draw)) for ns in first]
        found += job.compare(jobs(first), jobs(second)).longer
    return found


def test_comparisons_are_right():
    """Over 20 seeds 3 % are found in 19 of 20 comparisons if chance makes up to 2.5 % of one job alone,
    and of equal jobs at most 2 % alarm: normal chance, rare and large, rare and huge, all or nothing."""
    for chance in (lambda draw: draw.gauss(0, 0.025),
                   lambda draw: draw.choice((-0.06, 0.06)) * (draw.random() < 0.05),
                   lambda draw: 0.4 * (draw.random() < 0.03) - 0.3 * (draw.random() < 0.03),
                   lambda draw: draw.choice((-0.025, 0.025))):
        draw = random.Random(7)
        assert alarms(draw, 400, 1.03, chance) >= 380
        assert alarms(draw, 1000, 1.0, chance) <= 20


def test_against():
    """A job is compared with a file; its exit code is for a job of CI, and for git bisect run."""
    class Played:
        version, code, longer = "7.2", 0, 1.0

        def __init__(self, _tool):
            pass

        def live(self, life, folder):
            ns = int((9000 + 13 * (life.seed**2 % 11)) * Played.longer)
            return lived(code=Played.code, script_end_ns=1000 + ns)

    kept, cli_job.Timed = cli_job.Timed, Played

    def job_of(*words, on="ideal", seeds=20):
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = main(["job", "--on", on, "--seeds", str(seeds), *words, "--", "true"])
        return code, out.getvalue(), err.getvalue()

    try:
        assert job_of("-o", "base.json")[0] == 0
        code, out, _ = job_of("--against", "base.json")
        assert code == 0 and "the same time to the nanosecond, with each of 20 seeds" in out, out
        for Played.longer, want in ((1.03, 1), (0.97, 0)):
            for bisect in ([], ["--bisect"]):
                code, out, _ = job_of("--against", "base.json", *bisect)
                assert code == want and "3.0 %" in out.splitlines()[-1], (out, code)
        code, out, err = job_of("--against", "base.json", "--json")
        assert code == 0 and "3.0 % shorter" in err and len(json.loads(out)) == 20
        Played.code = 3
        assert job_of("--against", "base.json")[0] == 1
        assert job_of("--against", "base.json", "--bisect")[0] == 125, "git skips this commit"
        assert job_of("--against", "no.json", "--bisect")[0] == 125
        Played.code = 0
        Played.live = None  # so that nothing runs
        few = job_of("--seed", "7", "--against", "base.json", seeds=4)
        assert few[0] == 2 and "4 seeds in common" in few[2], few
        assert "different profile" in job_of("--against", "base.json", on="toshiba16g")[2]
        assert job_of("--bisect")[0] == 125
    finally:
        cli_job.Timed = kept


def test_wrong_use():
    true = ["--", "true"]
    Path("ls").touch()
    for args, said in ((true, "--on PROFILE"), (["--on", "ideal"], "-- CMD"),
                       (["--on", "ideal", "--"], "-- CMD"),
                       (["--on", "ideal", "--think", "5", *true], "--think 5: allowed"),
                       (["--on", "ideal", "--think", "2s", *true], "--think 2s: allowed"),
                       (["--on", "ideal", "--file", "no", *true], "no: no such file"),
                       (["--on", "ideal", "--file", "/", *true], "--file /: has no name"),
                       (["--on", "ideal", "--file", "/bin/ls", "--file", "./ls", *true],
                        "--file ls: /bin/ls has the same name in the guest"),
                       (["--on", "ideal", "--on", "ideal", *true], "a device is named twice"),
                       (["--on", "ideal", "--fs", "none", "--mkfs", "-b 1", *true],
                        "--mkfs needs a filesystem"),
                       (["--on", "ideal", "--seed", "9223372036854775807", "--seeds", "2", *true],
                        "--seeds 2: the last one"),
                       (["--on", "ideal", "--fs", "reiser", *true], "invalid choice"),
                       (["--on", "ideal", "-o", "no/out", *true], "no/out"),
                       (["script", "--on", "ideal", *true], "not both"),
                       (["/bin/false", "--on", "ideal"], "is no script; a command stands behind --"),
                       (["true", "--on", "ideal"], "as in job --on PROFILE -- true"),
                       (["--on", "ideal", "--", ""], "job -- '': the command is empty")):
        code, out, err = lab("job", *args)
        assert code == 2 and out == "" and said in err and err.count("\n") == 1, (args, err)


def test_behind_two_dashes_is_a_command():
    """Whatever it looks like: a program, a file of text that is there, an option, another --."""
    Path("text").write_text("echo text\n")
    for command, script in ((["/bin/false"], "/bin/false"), (["text"], "text"),
                            (["ls", "-l", "--on", "a b"], "ls -l --on 'a b'"),
                            (["env", "--", "x"], "env -- x")):
        arguments = _parsed(commands(build_parser())["job"], ["--on", "ideal", "--", *command])
        assert [life.script for life in _lives(arguments)] == [f"cd /mnt\n{script}\n"], command
    arguments = _parsed(commands(build_parser())["job"], ["text", "--on", "ideal"])
    assert _lives(arguments)[0].script == "echo text\n"


def test_files_of_a_guest():
    """What is copied, with what its links lead to; what cannot be is said, and nothing is replaced."""
    os.makedirs("given/in")
    Path("given/in/a").write_text("a")
    os.symlink("in/a", "given/b")
    Path("one").write_text("1")
    timed._copy(Path("given"), Path("tree/given"))
    assert Path("tree/given/b").read_text() == Path("tree/given/in/a").read_text() == "a"
    timed._copy(Path("one"), Path("tree/one"))
    os.mkfifo("pipe")
    os.symlink("nowhere", "given/lost")
    for path, to, said in (("one", "tree/one", "one: the guest has another file of this name"),
                           ("given", "tree/given", "given: the guest has another file of this name"),
                           ("pipe", "tree/pipe", "pipe"), ("given", "tree/new", "given/lost"),
                           ("gone", "tree/gone", "gone: No such file")):
        try:
            timed._copy(Path(path), Path(to))
            raise AssertionError(path)
        except LabError as e:
            assert said in str(e) and "\n" not in str(e), e


def lives(*args):
    code, out, err = lab("job", "--json", *args)
    assert code == 0, err
    return json.loads(out)


def without_host(jobs):
    return [{k: v for k, v in one.items() if k != "host_s"} for one in jobs]


SLEEPS = """cd /mnt
mark begin
mark 'a\\nb
end 5' "c  d"
mark ahead $(cat /sys/block/vda/queue/read_ahead_kb)
for i in $(seq 100); do sleep 0.01; done
mark slept
dd if=/dev/urandom of=f bs=64K count=32 conv=fsync 2>/dev/null
mark written
"""


def test_lives():
    """Of a kernel in the device's time: its own timers, and equality to the nanosecond."""
    missing = timed_kernel_is_missing()
    if missing:
        print("skipped: a kernel in the device's time:", missing)
        return
    Path("script").write_text(SLEEPS)
    first, second = (lives("script", "--on", "transcend8g") for _ in range(2))
    assert without_host(first) == without_host(second)
    got, = first
    at = {m["name"]: m["at_ns"] for m in got["marks"]}
    # A stick turns, as far as its kernel knows, and takes 120 KiB at a time.
    assert list(at) == ["begin", "a\\nb end 5 c  d", "ahead 240", "slept", "written"], at
    # 100 sleeps of 10 ms; a timer comes at its instant or some microseconds later.
    assert 10**9 <= at["slept"] - at["begin"] < 10**9 + 10**8, at
    assert got["requests"]["write"]["bytes"] >= 2 << 20
    assert [s["call"] for s in got["syncs"]] == ["fsync"] and got["syncs"][0]["program"] == "dd"
    assert at["slept"] < got["syncs"][0]["at_ns"] < at["written"]


def test_the_kernel_has_what_can_be_chosen():
    config = open(os.path.join(TOP, "tools/vm/timed/config"), encoding="utf-8").read().splitlines()
    options = {"ntfs": "FUSE", "none": "PROC"}
    for name in FILESYSTEMS:
        assert f"CONFIG_{options.get(name, name.upper())}_FS=y" in config, name
    assert "CONFIG_BLK_DEV_WRITE_MOUNTED=y" in config, "ntfs-3g writes to a disk that the kernel has"


SEES = """find /usr -newerct '2026-01-01 00:00:01' -o -newerat '2026-01-01 00:00:01' -o -not -user 0 -o -not -group 0
mount; df
ls -a /host; ls -d /programs
mark seen
umount /mnt && e2fsck -fn $DEV >/dev/null 2>&1 && mount $DEV /mnt && echo whole
exit 3
"""


def test_a_guest_sees_no_host():
    """Neither its folders nor owners and dates of its programs, and the disk is in one place."""
    missing = timed_kernel_is_missing()
    if missing:
        print("skipped: a kernel in the device's time:", missing)
        return
    Path("script").write_text(SEES)
    code, _, err = lab("job", "script", "--on", "ideal", "-o", "seen.json", "--fs", "ext4")
    assert code == 1, err
    lines = err.splitlines()
    assert not any(line.startswith("/usr/") for line in lines), lines
    assert not any("hostfs" in line or "/host" in line for line in lines), lines
    assert "." in lines and ".." in lines and lines[-1] == "whole", lines
    assert any("'/programs'" in line for line in lines), lines
    assert json.loads(Path("seen.json").read_text())[0]["marks"][0]["name"] == "seen"


def serve(*words):
    """tools/vm/serve with this kernel: exit code and what it prints."""
    done = subprocess.run([os.path.join(TOP, "tools/vm/serve"), *words], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8", check=False,
                          env={**os.environ, "FLASHEMU_VM_ENGINE": "timed"})
    return done.returncode, done.stdout


def test_serve():
    """It does what it can in the time of the device, and refuses the rest."""
    Path("s.sh").write_text("dev=$(attach $NBD_PORT); echo $dev $1 $A $TIMERS; cat beside\n"
                            "ctl $CTL_PORT '{\"cmd\":\"get\",\"args\":[\"link.type\"]}' | json value\n"
                            "mark there; exit 9\n")
    Path("beside").write_text("beside\n")
    for words, said in ((["time-scale=2", "--", "s.sh"], "time-scale=2: not with FLASHEMU_VM"),
                        (["clock=virtual", "--", "none.sh"], "none.sh: no such script")):
        code, out = serve("--", "profile=transcend8g", *words)
        assert code == 2 and said in out and out.count("\n") == 1, out
    code, out = serve("--disk", "x", "--", "profile=transcend8g", "--", "s.sh")
    assert code == 2 and "--disk: not with FLASHEMU_VM_ENGINE=timed" in out, out
    missing = timed_kernel_is_missing()
    if missing:
        print("skipped: a kernel in the device's time:", missing)
        return
    code, out = serve("--file", "beside:/vm/script/beside", "--env", "A=a b", "--needs", "exfat",
                      "--mem", "512", "--timeout", "500", "--", "profile=transcend8g",
                      "link.type=none", "clock=virtual", "seed=3", "--", "s.sh", "1 2")
    assert code == 1 and out.splitlines() == ["/dev/vda 1 2 a b real", "beside", "none"], (code, out)


def test_which_kernel_is_chosen():
    """What is typed, else what the environment says, else the device's time where it has been built."""
    tool, kept, environment = Tool(), timed.Timed, dict(os.environ)
    timed.Timed = lambda tool: "timed"
    os.makedirs("scripts/timed")
    Path("scripts/timed/init").touch()
    os.environ.update(FLASHEMU_SCRIPTS=os.path.abspath("scripts"), FLASHEMU_VHOST="/bin/true")

    def script(name, code):
        Path("scripts", name).write_text(f'#!/bin/sh\n[ "$*" != --check ] || exit {code}\nexit 9\n')
        Path("scripts", name).chmod(0o755)

    def chosen(wish, engine):
        os.environ["FLASHEMU_VM_ENGINE"] = engine
        return timed.chosen(tool, wish)

    try:
        for built, prepared in ((0, 0), (1, 0), (0, 1)):
            script("timed/kernel", built)
            script("prepare", prepared)
            there = None if built or prepared else "timed"
            for wish, engine, want in (("", "", there), ("auto", "auto", there), ("", "uml", None),
                                       ("auto", "tcg", None), ("", "timed", "timed"),
                                       ("vm", "timed", None), ("timed", "tcg", "timed")):
                assert chosen(wish, engine) == want, (wish, engine, built, prepared)
        os.unlink("scripts/prepare")
        assert chosen("", "") is None and chosen("timed", "") == "timed"
        script("prepare", 0)
        assert chosen("", "") == "timed"
        os.unlink("scripts/timed/init")
        assert chosen("", "") is None
    finally:
        os.environ.clear()
        os.environ.update(environment)
        timed.Timed = kept


def test_kernel_is_refused_where_none_runs():
    """A word that would be without effect, or is none, is one line."""
    for args, said in ((["run", "article"], "--kernel needs --mode full"),
                       (["crash", "ideal", "--work", "log"], "--kernel needs --fs NAME"),
                       (["crash", "ideal", "--workload", "files"], "--kernel needs --fs NAME"),
                       (["crash", "--state", "0:0:0:0"], "no --kernel"),
                       (["crash", "ideal", "--fs", "ext4", "--trace", "t"], "not for --trace")):
        code, out, err = lab(*args, "--kernel", "timed")
        assert code == 2 and out == "" and said in err and err.count("\n") == 1, (args, err)
    # a device is looked at before a kernel is looked for, or built
    code, out, err = lab("job", "--on", "transcend8g", "--on", "nosuch", "--", "true")
    assert (code, out, err.count("\n")) == (2, "", 1) and "no profile of that name" in err, err
    code, out, err = lab("record", "--kernel", "kvm")
    assert code == 2 and "choose from 'auto', 'timed', 'vm'" in err and err.count("\n") == 1, err
    code, out, err = lab("run", "article", "--sample", "3")
    assert code == 2 and "--sample needs --mode full" in err, err


def test_room_for_a_guest():
    """Its memory is in /dev/shm if that has room, else where the life is."""
    free = {"/dev/shm": 64 << 20, "here": 10 << 30}
    kept, timed._room = timed._room, lambda folder: free[folder]
    try:
        assert timed._memory_place(Path("here"), 512) == "here"
        free["/dev/shm"] = ((os.cpu_count() or 1) * 512) << 20
        assert timed._memory_place(Path("here"), 512) == "/dev/shm"
        free.update({"/dev/shm": 0, "here": (512 << 20) - 1})
        try:
            timed._memory_place(Path("here"), 512)
            raise AssertionError("no room")
        except LabError as e:
            assert "has room for 512 MiB" in str(e)
    finally:
        timed._room = kept
    assert timed._room("/no such folder") == 0 and timed._room(".") > 0


RECIPE = Recipe("one", "ideal", "mke2fs -q -F -t ext4", "mount -t ext4", "log 3", 256, 65536, 1.0, 900,
                1024)


def test_recordings_of_lives():
    """Without a kernel: a job is a life, whose guest says what any guest says."""
    seen = []

    class Played:
        def live(self, life, folder):
            seen.append(life)
            says = "kernel 9.9\ntools a 1\nbegin one 1000 512\nphase write 2 7\nsomething else\n"
            if life.seed != 9:
                says += "end one\n"
            return lived("0 write 0 512 done=900\n1500 write 512 512 done=1600\n", output=says,
                         code=3 if life.seed == 8 else 0)

    place = record.Machine(Path("scripts"), "plugin", Played())
    jobs = [record.Job(RECIPE, ("profile=ideal", "size=64M")),
            record.Job(RECIPE, ("profile=./own.ini", "seed=7"), True)]
    done = list(record.perform(place, jobs, lambda *_: None))
    assert [d[1].phases for d in done] == [[("write", 2, 7)]] * 2
    assert done[0][2] == {"kernel": "9.9, in the device's time", "tools": "a 1"}
    assert record.think_times(done[0][3], 2) == [0, 600]
    first, second = seen
    assert (first.profile, first.overrides, first.seed) == ("ideal", ("size=64M",), 1)
    assert first.server == ("file=image", "sync=none"), "so the server offers flush and FUA"
    assert second.server == () and (second.overrides, second.seed) == ((), 7)
    assert second.profile == os.path.abspath("own.ini"), "the server has a folder of its own"
    assert first.filesystem == "none" and first.memory_mib == 1024 and first.limit_s == 1200
    assert "TIMERS=real" in first.script and RECIPE.line() in first.script
    for seed, said in ((8, "something else"), (9, "something else")):
        try:
            list(record.perform(place, [record.Job(RECIPE, ("profile=ideal", f"seed={seed}"))],
                                lambda *_: None))
            raise AssertionError(seed)
        except LabError as e:
            assert str(e) == f"one: {said}", e


def test_think_times():
    """A host thinks while the device has nothing to do: a request that is done early says nothing
    about one before it that is still in the device."""
    Path("several").write_text("# flashemu trace 1\n10 read 0 512 done=900\n100 write 512 512 done=503\n"
                               "1700 flush 0 0 done=1710\n1710 write 0 512 done=1719\n1750 read 0 512\n"
                               "1757 read 0 512\n")
    assert record.think_times(Path("several"), 6) == [0, 0, 800, 0, 31, 7]


def test_recordings():
    """Of a kernel in the device's time: two are equal, and have the kernel's own pauses only."""
    missing = timed_kernel_is_missing()
    if missing:
        print("skipped: recordings of a kernel in the device's time:", missing)
        return
    Path("r.toml").write_text("""[pauses]
profile = "transcend8g"
start = 256
sectors = 65536
scale = 1.0
mkfs = "mke2fs -q -F -t ext4 -b 4096 -E lazy_itable_init=0"
mount = "mount -t ext4"
work = "lines 12 log=card"
""")
    for folder in ("a", "b"):
        code, out, err = lab("record", "--recipes", "r.toml", "-o", folder, "--kernel", "timed")
        assert code == 0, err
    texts = [gzip.decompress(Path(folder, "pauses.trace.gz").read_bytes()).decode()
             for folder in "ab"]
    assert texts[0] == texts[1]
    assert ", in the device's time\n" in texts[0] and "# scale: 1.0\n" in texts[0]
    assert "# command: flashemu-lab record --recipes r.toml --kernel timed pauses\n" in texts[0]
    thinks = [int(word[6:]) for line in texts[0].splitlines() for word in line.split()
              if word.startswith("think=")]
    # The journal commits 5 s after a change, and the work goes on for 12 s.
    assert 1 <= sum(4.5e9 < t < 5.5e9 for t in thinks) <= 3, thinks


if __name__ == "__main__":
    run(globals())
