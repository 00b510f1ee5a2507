#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""What was hashed is what runs: files that somebody writes to between the plan and the run."""

import argparse
import contextlib
import dataclasses
import gzip
import json
import os
import pty
import shutil
import subprocess
from pathlib import Path

from flashemu_lab_bench import FLASHEMU, LAB, SMALL, TOP, bad, good, lab, stored, write
from flashemu_script import PROGRAM_HANG_S, run

from flashemu_lab.advise import raw_writes
from flashemu_lab.cli import outputs
from flashemu_lab.core.errors import LabError
from flashemu_lab.experiment import shipped
from flashemu_lab.experiment.plan import plan
from flashemu_lab.experiment.spec import load
from flashemu_lab.recording import recordings
from flashemu_lab.runs import dask_cluster, worker
from flashemu_lab.runs.expression import parse_profile
from flashemu_lab.runs.local import execute
from flashemu_lab.runs.program import Outcome, Tool
from flashemu_lab.runs.run import Input, Run, Source, arguments
from flashemu_lab.runs.store import Store

TRACE = "# flashemu trace 1\n0 write 0 4096\n0 write 8192 4096\n"


class Editor:
    """An engine that answers at once, behind a call of `edit`: a file changes during a run."""

    def __init__(self, edit):
        self.edit = edit

    def perform(self, runs):
        for one in runs:
            self.edit()
            yield one, Outcome("done", {"ftl": {"waf": 1.0}})


def planned(text, tool=None):
    write("x.toml", text)
    return [p.run for p in plan(load("x.toml"), tool or Tool())]


def refuses(runs, edit, path):
    """Nothing of these runs is stored if `edit` happens in the meantime."""
    try:
        list(execute(runs, Store(Path("s")), Editor(edit)))
    except LabError as e:
        assert str(e).startswith(str(path) + ": has changed since the runs were planned"), e
    else:
        raise AssertionError("stored")
    assert not stored("s")


def of(requests):
    return SMALL.replace('"gen:random,op=write,bs={bs},count=2000"', json.dumps(requests)) \
        .replace('bs = {label = "request", levels = ["4K", "8K", "16K"]}', "")


def of_recording(name):
    """The same with a recording, on a device that is large enough."""
    text = of("rec:%s,measure=write" % name).replace('"ssd-page"', '"transcend8g"')
    return text.replace('set = ["nand.blocks_per_plane=32", "device.used=16T"]', "").replace(
        '"ftl.op" = ["10%", "28%"]', "seed = [1, 2]")


def test_nothing_has_changed():
    write("a.trace", TRACE)
    runs = planned(of("a.trace"))
    assert [len(r.inputs()) for r in runs] == [2, 2], "the program, and the trace"
    assert len(list(execute(runs, Store(Path("s")), Editor(lambda: None)))) == 2
    assert len(stored("s")) == 2


def test_a_trace_that_changes():
    write("a.trace", TRACE)
    runs = planned(of("a.trace"))
    refuses(runs, lambda: write("a.trace", TRACE + "0 write 4096 512\n"), "a.trace")


def test_a_trace_of_the_same_length_and_moment():
    """An edit right behind the plan, within the same tick of the file system's clock."""
    for i in range(20):
        write("a.trace", TRACE)
        file = Input.of("a.trace", "a.trace")
        write("a.trace", TRACE.replace("8192", "4096"))
        assert file.has_changed(), i


def test_a_trace_whose_time_is_set_back():
    """As cp -p and rsync --inplace do: other bytes, and the time of those before."""
    write("a.trace", TRACE)
    runs = planned(of("a.trace"))
    before = os.stat("a.trace")

    def edit():
        write("a.trace", TRACE.replace("8192", "4096"))
        os.utime("a.trace", ns=(before.st_atime_ns, before.st_mtime_ns))
    refuses(runs, edit, "a.trace")
    assert os.stat("a.trace").st_mtime_ns == before.st_mtime_ns
    assert worker.digest("a.trace") != runs[0].inputs()[1].sha256, "an old digest of new bytes"


def test_a_trace_that_is_replaced_or_removed():
    write("a.trace", TRACE)
    runs = planned(of("a.trace"))
    write("b.trace", TRACE.replace("8192", "4096"))
    refuses(runs, lambda: os.replace("b.trace", "a.trace"), "a.trace")
    runs = planned(of("a.trace"))
    refuses(runs, lambda: os.unlink("a.trace"), "a.trace")


def test_a_warmup_that_changes():
    write("a.trace", TRACE)
    text = of("gen:random,op=write,count=9").replace("[workload]", '[workload]\nwarmup = "a.trace"')
    refuses(planned(text), lambda: write("a.trace", TRACE * 2), "a.trace")


def test_a_profile_that_changes():
    text = subprocess.run([FLASHEMU, "show", "ssd-page"], capture_output=True, text=True,
                          check=True).stdout
    write("p.ini", text)
    mine = of("gen:random,op=write,count=9").replace('"ssd-page"', '"./p.ini"')
    refuses(planned(mine), lambda: write("p.ini", text.replace("seed", "seed ")), "./p.ini")
    os.makedirs("profiles")
    os.environ["FLASHEMU_PATH"] = "nowhere:profiles"
    try:
        write("profiles/mine.ini", text)
        runs = planned(mine.replace("./p.ini", "mine"))
        assert runs[0].files[1].word == "mine"
        refuses(runs, lambda: write("profiles/mine.ini", text + "\n"), "profiles/mine.ini")
    finally:
        del os.environ["FLASHEMU_PATH"]


def test_a_name_that_looks_like_the_end_of_a_line():
    """What Python takes for the end of a line begins no section, which would hide the rest of [device]."""
    ini = Path(TOP, "profiles/ssd-page.ini").read_text(encoding="utf-8")
    for end in "\u2028\u2029\x85":
        name = f"a{end}[provenance]"
        Path("named.ini").write_text(ini.replace("model = page-mapped drive, 1 GiB of SLC", f"model = {name}"),
                                     encoding="utf-8")
        keys = parse_profile(Tool().canonical("./named.ini", ("device.used=1G",)))
        assert keys["device.model"] == name and keys["device.used"] == "1G", keys


def test_a_program_that_changes():
    shutil.copy(FLASHEMU, "flashemu")
    tool = Tool(Path("flashemu").resolve())
    runs = planned(of("gen:random,op=write,count=9"), tool)

    def rebuild():
        shutil.copy(FLASHEMU, "new")
        os.replace("new", "flashemu")
    refuses(runs, rebuild, tool.path)


def test_a_recording_that_changes():
    shipped = os.path.join(TOP, "tools/lab/recordings/ext4-large.trace.gz")
    name = "./mine.trace.gz"
    shutil.copy(shipped, name)
    runs = planned(of_recording(name))
    before = runs[0].requests[0].identity
    text = gzip.decompress(Path(name).read_bytes()).decode()
    refuses(runs, lambda: Path(name).write_bytes(gzip.compress(text.encode())), "mine.trace.gz")
    Path(name).write_bytes(gzip.compress((text + "0 flush 0 0\n").encode()))
    assert planned(of_recording(name))[0].requests[0].identity != before, "read anew"


def test_a_user_is_told():
    """The whole command: the trace changes while the first runs are under way."""
    write("a.trace", TRACE)
    os.makedirs("bin")
    write("bin/flashemu", "#!/bin/sh\n[ \"$1\" = replay ] && case \"$*\" in *a.trace*) "
          "echo '0 write 0 512' >>a.trace;; esac\nexec %s \"$@\"\n" % FLASHEMU)
    os.chmod("bin/flashemu", 0o755)
    write("x.toml", of("a.trace"))
    bad("a.trace: has changed since the runs were planned; what needs it was not stored; start the "
        "command again", "run", "x.toml", env={"FLASHEMU": os.path.abspath("bin/flashemu")})
    assert not stored()
    assert lab("run", "x.toml", "--json")[0] == 0


def test_the_program_finds_the_recordings_of_the_lab():
    """A program that lies outside of the source tree."""
    shutil.copy(FLASHEMU, "flashemu")
    write("x.toml", of_recording("ext4-large"))
    good("run", "x.toml", env={"FLASHEMU": os.path.abspath("flashemu")})


def test_a_program_in_a_build_folder_outside_of_the_sources():
    os.makedirs("b/tools")
    built = os.path.dirname(os.path.realpath(FLASHEMU))
    shutil.copytree(os.path.join(built, "lab"), "b/tools/lab", symlinks=True)
    assert os.path.exists(os.path.join(built, "vm/serve"))
    shutil.copy(FLASHEMU, "b/tools/flashemu")
    said = subprocess.run(["b/tools/flashemu", "replay", "transcend8g",
                           "rec:ext4-large,measure=write", "--json"], capture_output=True)
    assert said.returncode == 0, said.stderr


def test_a_worker_hashes_what_it_runs():
    write("a.trace", TRACE)
    task = {"session": "s", "program": worker.program_name(Tool().version, FLASHEMU),
            "paths": [FLASHEMU], "arguments": ["replay", "ideal", "a.trace", "--json"],
            "folder": os.getcwd(), "files": {"a.trace": ["a.trace", "0" * 64]}, "contents": {}}
    assert json.loads(worker.perform(json.dumps(task))) == {"need": ["0" * 64]}
    task["contents"] = {"0" * 64: "AAAA"}
    assert json.loads(worker.perform(json.dumps(task))) == {"need": ["0" * 64]}, "not what it says"
    sha256 = worker.digest("a.trace")
    task["files"] = {"a.trace": ["a.trace", sha256]}
    assert json.loads(worker.perform(json.dumps(task)))["code"] == 0
    name = "rec:ext4-large"
    path = os.path.join(TOP, "tools/lab/recordings/ext4-large.trace.gz")
    task.update(arguments=["replay", "transcend8g", name + ",measure=write", "--json"],
                files={name: [path, worker.digest(path)]})
    answer = json.loads(worker.perform(json.dumps(task)))
    assert answer["code"] == 0, answer


def test_a_file_that_is_always_written_to():
    real = worker.stamp
    count = iter(range(1000))
    worker.stamp = lambda path: (1, 2, next(count), 3, 4)
    try:
        worker.digest(write("a", "x"))
    except OSError as e:
        assert "somebody is writing" in str(e), e
    else:
        raise AssertionError("a digest of what?")
    finally:
        worker.stamp = real


def test_every_field_of_a_run_counts():
    """Whatever decides about the result is in the key; what only says where it lies is not."""
    source = Source("pattern", "gen:a", "gen:a")
    one = Run("1", "x", (), "c", 1, (source,), source, 1, ())
    other = {"program": "2", "canonical": "d", "seed": 2, "requests": (source, source),
             "warmup": None, "depth": 2, "flags": ("--wrap",)}
    silent = {"profile": "y", "overrides": ("a.b=1",),
              "files": (Input("", "/p", "0" * 64, (1, 2, 3, 4)),)}
    assert {f.name for f in dataclasses.fields(Run)} == {*other, *silent}
    for name, value in other.items():
        assert dataclasses.replace(one, **{name: value}).key() != one.key(), name
    for name, value in silent.items():
        assert dataclasses.replace(one, **{name: value}).key() == one.key(), name
    for name, value in (("kind", "trace"), ("identity", "gen:b")):
        changed = dataclasses.replace(source, **{name: value})
        assert dataclasses.replace(one, requests=(changed,)).key() != one.key(), name
        assert dataclasses.replace(one, warmup=changed).key() != one.key(), name


def test_one_process_does_runs_that_differ_in_their_requests_alone():
    """Its options hold for all of them."""
    source, other = Source("pattern", "gen:a", "gen:a"), Source("pattern", "gen:b", "gen:b")
    one = Run("1", "x", (), "c", 1, (source,), source, 3, ("--wrap",))
    differing = {"program": "2", "profile": "y", "overrides": ("a.b=1",), "canonical": "d",
                 "seed": 2, "warmup": other, "depth": 2, "flags": ()}
    assert {f.name for f in dataclasses.fields(Run)} == {*differing, "requests", "files"}
    for name, value in differing.items():
        assert dataclasses.replace(one, **{name: value}).shared() != one.shared(), name
    assert dataclasses.replace(one, requests=(other,)).shared() == one.shared()
    several = dataclasses.replace(one, requests=(source, other))
    assert several.shared() != one.shared()
    assert arguments([one, dataclasses.replace(one, requests=(other,))]) == [
        "replay", "x", "--warmup", "gen:a", "gen:a", "gen:b", "--depth", "3", "--each", "--jobs",
        "1", "--wrap"]


class KilledWorker(Exception):
    """As Dask names it."""


def test_jobs_are_sent_while_there_is_room():
    """Those that were given back first, and whether any may be left; one that is lost is kept."""
    class Link:
        def __init__(self, most, lost=()):
            self.sent, self.most, self.lost = [], most, lost

        def room(self):
            return len(self.sent) < self.most

        def submit(self, job):
            if job in self.lost:
                raise dask_cluster._Lost
            self.sent.append(job)
    for most, fresh, again, left, sent in ((3, "ab", "x", True, "xab"), (4, "ab", "x", False, "xab"),
                                           (2, "ab", "", True, "ab"), (3, "ab", "", False, "ab"), (1, "", "", False, "")):
        link = Link(most)
        assert dask_cluster.DaskEngine._fill(None, link, iter(fresh), list(again)) is left, (most, fresh)
        assert "".join(link.sent) == sent
    again = []
    try:
        dask_cluster.DaskEngine._fill(None, Link(3, "b"), iter("abc"), again)
        raise AssertionError("nothing is lost")
    except dask_cluster._Lost:
        assert again == ["b"]


def test_a_run_that_ends_its_workers():
    """It is sent four times more; the fifth worker that it ends is the last one.  Any other error is
    the run's own."""
    job = dask_cluster._Job(Run("1", "x", (), "c", 1, (Source("pattern", "a", "a"),)))
    judged = [dask_cluster.DaskEngine._judge(None, job, KilledWorker("a\nb")) for _ in range(5)]
    assert judged[:4] == [None] * 4
    assert judged[4] == Outcome("lost", message="the run ended on a worker by KilledWorker: a")
    job.deaths = 0
    assert dask_cluster.DaskEngine._judge(None, job, ValueError("x")).status == "lost"


class Told:
    """A program that says this of a device."""

    def __init__(self, canonical, multiple=None):
        self.text, self.multiple = canonical, multiple

    def canonical(self, _profile, _overrides):
        return self.text

    def ask(self, *_words):
        return json.dumps({"capacity": 64 << 20, "note": "noted. ", "advice": {
            "given": True, "text": "noted. told", "multiple": self.multiple}})


def test_what_advice_knows_of_a_device():
    """A unit only where the device has units, and no command above 1 MiB."""
    def look(kind, limit="", multiple=None):
        found = raw_writes.look(Told("[ftl]\ntype = %s\nunit_size = 3M\n[link]\n%s" % (kind, limit),
                                     multiple), "p", ())
        assert (found.note, found.finding) == ("noted.", "told"), found
        return found.limit, found.unit, found.multiple
    assert look("segment", "max_transfer = 120K\n", 5) == (120 << 10, 3 << 20, 5)
    assert look("block", "max_transfer = 4M\n") == (1 << 20, 3 << 20, 0)
    assert look("page") == (1 << 20, 0, 0)


def test_files_of_a_recording():
    """One recording has a file for each longest command, whichever of them is there."""
    r = recordings.load("vfat-log")
    every = recordings.limits(r)
    assert len(every) > 2 and every == tuple(sorted(set(every))) and r.limit in every
    for limit in every:
        found = recordings.load("vfat-log", limit)
        assert found.limit == limit and recordings.limits(found) == every, limit
    meant = recordings.operand("rec:vfat-log,start=77,measure=write")
    assert (meant.start, meant.measure, meant.pace) == (77, "write", 0)
    try:
        recordings.operand("rec:vfat-log,phase=write")
    except LabError as e:
        assert "'phase=write': a recording takes start=SECTOR" in str(e)
    else:
        raise AssertionError("no message")


def test_what_is_stored_is_counted():
    """`show` counts the runs of which the store has a result, and no others."""
    write("x.toml", SMALL)
    assert "6 runs, of which 0 are stored." in good("show", "./x.toml", store="s")
    some = [p.run for p in plan(load("./x.toml"), Tool())][:4]
    for one in some:
        Store(Path("s")).put(one, Outcome("done", {"ftl": {"waf": 1.0}}))
    assert "6 runs, of which 4 are stored." in good("show", "./x.toml", store="s")


def test_what_there_is():
    """A line for each experiment, and a recording in words and as JSON."""
    lines = good("list").splitlines()
    assert [line.split()[0] for line in lines] == list(shipped.names()) and len(lines) > 3
    assert all(" runs  " in line for line in lines)
    assert "vfat" in good("show", "vfat-log")
    assert json.loads(good("show", "vfat-log", "--json"))["name"] == "vfat-log"


SWEEP = ("sweep", "ideal", "ftl.op=7%", "gen:random,op=write,count=10", "-o")


def test_a_folder_of_somebody_else_is_kept():
    """Its page, or files with the names of ours; other files do not matter."""
    os.mkdir("mine")
    write("mine/notes.txt", "keep me")
    good(*SWEEP, "mine")
    good(*SWEEP, "mine")  # it is ours now
    for name in ("index.html", "figure-01.svg", "results.csv"):
        os.mkdir("other")
        write("other/" + name, "<p>somebody's</p>")
        bad("other/%s: is there, and is not what flashemu-lab has made" % name, *SWEEP, "other")
        assert os.listdir("other") == [name] and "somebody's" in Path("other", name).read_text()
        good(*SWEEP, "other", "--force")
        assert "flashemu-lab" in Path("other/index.html").read_text()
        shutil.rmtree("other")
    assert Path("mine/notes.txt").read_text() == "keep me"
    write("page.html", "<p>somebody's</p>")
    bad("page.html: is there", "report", "mine", "-o", "page.html")
    good("report", "mine", "-o", "page.html", "--force")
    good("report", "mine", "-o", "page.html")


def test_a_file_of_somebody_else_is_kept():
    """What `sample` and `job` write: of another kind, or damaged."""
    for name, command, ours, others in (
            ("s.csv", ["sample"], "seed,filesystem,recording,sha256\n", ("a,b\n", "seed\n")),
            ("j.json", ["job", "--on", "nosuch"], '[{"schema": "flashemu-job-1"}]',
             ('[{"schema": "other"}]', "[3]", "{}", "[", 50000 * "[", "#!/bin/sh\n"))):
        args = argparse.Namespace(output=Path(name), force=False)
        for text in ("", ours):
            write(name, text)
            outputs.check(command[0], args)
        for text in others:
            write(name, text)
            bad(name + ": is there, and is not what flashemu-lab has made", *command, "-o", name,
                *([] if command[0] == "sample" else ["--", "true"]))
            outputs.check(command[0], argparse.Namespace(output=Path(name), force=True))
            assert Path(name).read_text() == text


def test_an_edited_profile_is_kept():
    outputs.write_profile(Path("my.ini"), "[device]\ncapacity = 4M")
    assert not outputs.is_changed(Path("my.ini"))
    text = Path("my.ini").read_text()
    assert text.startswith("[device]\ncapacity = 4M\n; sum ")
    for edited in (text.replace("4M", "8M"), text + "; mine\n", "[device]\ncapacity = 4M\n",
                   text.rpartition("; sum")[0] + "; sum 00000000\n"):
        write("my.ini", edited)
        assert outputs.is_changed(Path("my.ini"))
        for command in (["fit", "m.json"], ["refine", "ideal", "m.json"]):
            bad("my.ini: is there, and is not what flashemu-lab has made", *command, "-o", "my.ini")
            bad("m.json: No such file", *command, "-o", "my.ini", "--force")
        assert Path("my.ini").read_text() == edited



def test_quiet_shows_no_progress():
    """Standard error is a terminal, and each run is a new one."""
    write("x.toml", SMALL)
    for words, some in ((["-q"], False), (["--quiet"], False), ([], True)):
        ours, theirs = pty.openpty()
        code = subprocess.run([LAB, "run", "x.toml", "-o", "x", "--again", *words], stderr=theirs,
                              stdout=subprocess.DEVNULL, check=False, timeout=PROGRAM_HANG_S,
                              env=dict(os.environ, FLASHEMU_LAB_STORE="quiet")).returncode
        os.close(theirs)
        said = b""
        with contextlib.suppress(OSError):
            while got := os.read(ours, 4096):
                said += got
        os.close(ours)
        assert code == 0 and (b"of 6 runs" in said) == some and (some or said == b""), said


run(globals())
