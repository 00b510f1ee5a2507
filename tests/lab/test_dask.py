#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""--engine dask: a scheduler and workers as processes of their own, which die at any time.

FLASHEMU_LAB_RUNS=10000 makes the test of kills longer.
"""

import base64
import hashlib
import importlib.util
import json
import os
import signal
import socket
import subprocess
import sys
import time

from flashemu_lab_bench import (FLASHEMU, LAB, SMALL, TOP, bad, children_of, good, good_json, lab,
                                read, stored, until, write)
from flashemu_script import ended, need, run, skip

from flashemu_lab.runs import worker

if not importlib.util.find_spec("distributed"):
    skip("no Python module distributed")

RUNS = int(os.environ.get("FLASHEMU_LAB_RUNS", "300"))
# A worker is killed each time that so many more runs have been stored.  A clock would kill the more
# of them the slower the machine is, and a new one takes seconds to start.
KILL_EVERY_RUNS = RUNS // 10

MANY = """name = "many"
title = "Many small runs"

[factors]
draw = {from = 1, to = %d}

[device]
profile = "ssd-page"
set = ["nand.blocks_per_plane=32", "device.used=16T", "ftl.op=28%%"]

[workload]
requests = "gen:random,op=write,bs=4K,seed={draw},count=%s"

[measure.waf]
value = "ftl.waf"
"""


class Cluster:
    """A scheduler and workers on this machine; they do not survive the test."""

    def __init__(self, workers):
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            self.address = "tcp://127.0.0.1:%d" % s.getsockname()[1]
        self._count = 0
        self.scheduler = None
        self.workers = []
        self.start_scheduler()
        for _ in range(workers):
            self.start_worker()
        until(lambda: len(self.ready()) == workers)

    def _start(self, *args, **env):
        self._count += 1
        log = open("dask-%d.log" % self._count, "w")
        with log:
            return subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", sys.executable, "-m", *args, "--no-dashboard",
                 "--dashboard-address", "127.0.0.1:0"],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=dict(os.environ, **env)
            ), log.name

    def start_scheduler(self):
        self.scheduler, log = self._start(
            "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port",
            self.address.split(":")[-1])
        until(lambda: "Scheduler at:" in read(log) or self.scheduler.poll() is not None)
        assert self.scheduler.poll() is None, read(log)

    def start_worker(self):
        os.makedirs("space", exist_ok=True)
        self.workers.append(self._start(
            "distributed.cli.dask_worker", self.address, "--no-nanny", "--nthreads", "1",
            "--local-directory", "space", FLASHEMU=""))

    def ready(self):
        """The workers that the scheduler knows, the oldest first."""
        return [p for p, log in self.workers
                if p.poll() is None and "Starting established connection" in read(log)]

    def replace_dead(self):
        """Starts a worker for each that has ended."""
        for pair in list(self.workers):
            if pair[0].poll() is not None:
                self.workers.remove(pair)
                self.start_worker()

    def end(self):
        for p in [self.scheduler, *(p for p, _ in self.workers)]:
            p.kill()
            p.wait()

    def __enter__(self):
        return self

    def __exit__(self, *args):
        self.end()


def begin(cluster, *args, words=("run", "x.toml")):
    return subprocess.Popen(
        [sys.executable, LAB, *words, "--engine", "dask", "--scheduler", cluster.address,
         *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env=dict(os.environ, FLASHEMU_LAB_STORE="store"))


def kill(process):
    process.kill()
    process.communicate()


def count(folder="store"):
    return sum(len(names) for place, _, names in os.walk(folder)
               if os.path.basename(place) != "tmp")


def test_every_key_once_whatever_dies():
    """Workers are killed again and again, the scheduler and the client once each."""
    write("x.toml", MANY % (RUNS, "3000"))
    planned = {r["key"] for r in good_json("show", "x.toml")["runs"]}
    assert len(planned) == RUNS
    start = time.monotonic()
    good("run", "x.toml", "--jobs", "2", store="local")
    alone = time.monotonic() - start
    kills = dict.fromkeys(("worker", "scheduler", "client"), 0)
    with Cluster(3) as cluster:
        start = time.monotonic()
        client = begin(cluster, "-o", "page")
        after = killed_at = 0
        while client.poll() is None:
            have = count()
            if not kills["scheduler"] and have > RUNS / 4:
                kill(cluster.scheduler)
                cluster.start_scheduler()
                kills["scheduler"] += 1
                after = count()
            elif not kills["client"] and have > RUNS / 2:
                assert have > after, "the client goes on with the new scheduler"
                kill(client)
                client = begin(cluster, "-o", "page")
                kills["client"] += 1
            elif have - killed_at > KILL_EVERY_RUNS and cluster.ready():
                kill(cluster.ready()[0])
                kills["worker"] += 1
                killed_at = have
            cluster.replace_dead()
            time.sleep(0.05)
        took = time.monotonic() - start
        out, err = client.communicate()
    assert client.returncode == 0, (client.returncode, out, err)
    assert set(kills.values()) >= {1} and kills["worker"] > 1, kills
    assert set(stored()) == planned, "all planned keys, each of them once"
    assert stored() == stored("local"), "none is wrong"
    assert os.listdir("store/tmp") == []
    print("%d runs in %.1f s with %d workers, %d schedulers and %d clients killed: %.1f ms a run; "
          "on this machine alone %.1f s: %.1f ms a run"
          % (RUNS, took, kills["worker"], kills["scheduler"], kills["client"], took / RUNS * 1e3,
             alone, alone / RUNS * 1e3))


def test_the_page_is_the_same():
    write("x.toml", SMALL)
    with Cluster(2) as cluster:
        p = begin(cluster, "-o", "far")
        out, err = p.communicate()
        assert p.returncode == 0 and err == "", err
    near = good("run", "x.toml", "-o", "near", store="local")
    assert out.replace("far/", "near/") == near
    assert read("far/index.html") == read("near/index.html")
    assert stored() == stored("local")


def ran(cluster):
    """For how many ticks programs that the workers started have run."""
    return sum(int(n) for p in cluster.ready()
               for n in read(f"/proc/{p.pid}/stat").rsplit(")", 1)[1].split()[13:15])


def test_lives_are_the_same():
    """A thousand cards under each of ten works: the workers replay, and every number is the same."""
    words = ["life", *(f"gen:{order},op=write,bs={bs},count=1M" for order in ("zipf", "random", "hotcold")
                       for bs in ("4K", "12K", "64K")), "gen:sequential,op=write,bs=8K,count=1M",
             "--per-day", "3GB", "--only", "--card", "ssd-page", "--json", "nand.blocks_per_plane=150",
             "faults.spare_blocks=6", "faults.life_spread=5%,device:30%"]
    with Cluster(2) as cluster:
        before = ran(cluster)
        p = begin(cluster, words=words)
        out, err = p.communicate()
        assert p.returncode == 0 and err == "", err
        assert ran(cluster) > before, "nobody else replays"
    assert out == good(*words, store="local")
    answers = json.loads(out)["answers"]
    assert len(answers) == 10 and {a["years"]["cards"] for a in answers} == {1000}
    assert len({a["years"]["median"] for a in answers}) == 10
    assert stored() == stored("local") and len(stored()) == 10


def test_a_run_dies_with_its_worker():
    write("x.toml", MANY % (2, "2000M"))
    with Cluster(1) as cluster:
        p = begin(cluster)
        until(lambda: children_of("count=2000M"))
        first = children_of("count=2000M")
        kill(cluster.workers[0][0])
        until(lambda: not set(first) & set(children_of("count=2000M")))
        cluster.replace_dead()
        until(lambda: len(cluster.ready()) == 1 and children_of("count=2000M"))
        p.send_signal(signal.SIGINT)
        out, err = p.communicate()
        assert p.returncode == 130 and err.endswith(
            "flashemu-lab: stopped with 0 of 2 runs stored; the same command continues\n"), err
        until(lambda: not children_of("count=2000M"))
        time.sleep(0.5)
        assert not children_of("count=2000M"), "the run that waited must not begin"
        assert cluster.workers[0][0].poll() is None, "the worker lives on"


def test_failures_are_the_same():
    """A region behind the end of the device; the files of the user are named as the user did."""
    write("x.toml", SMALL.replace('"4K", "8K", "16K"', '"4K", "4K,offset=1T"')
          .replace("ssd-page", "./own.ini"))
    write("own.ini", ended([FLASHEMU, "show", "ssd-page"])[1])
    with Cluster(1) as cluster:
        p = begin(cluster, "--json")
        out, err = p.communicate()
    code, near, _ = lab("run", "x.toml", "--json", store="local")
    assert p.returncode == code == 1 and out == near
    assert [r["status"] for r in json.loads(out)["rows"]] == ["done", "failed"] * 2


# Plans a run, removes the program, and hands the run out.
REPLACED = """
import os, sys
sys.path.insert(0, %r)
from pathlib import Path
from flashemu_lab.core.errors import LabError
from flashemu_lab.experiment.plan import plan
from flashemu_lab.experiment.spec import load
from flashemu_lab.runs import dask_cluster
from flashemu_lab.runs.program import Tool
dask_cluster.PATIENCE_S = 1
tool = Tool(Path("flashemu").resolve())
runs = [p.run for p in plan(load("x.toml"), tool)]
engine = dask_cluster.DaskEngine(tool, sys.argv[1])
%s
try:
    print(len([o for r, o in engine.perform(runs)]))
except LabError as e:
    print(e.code, e)
"""


def scripted(address, step):
    """What a script prints that hands out the runs of x.toml."""
    with open(FLASHEMU, "rb") as source, open("flashemu", "wb") as copy:
        copy.write(source.read() + b"x")
    os.chmod("flashemu", 0o755)
    code = REPLACED % (os.path.join(TOP, "tools/lab"), step)
    return ended([sys.executable, "-c", code, address])[1]


def test_another_program_is_refused():
    write("x.toml", SMALL)
    with Cluster(1) as cluster:
        assert scripted(cluster.address, "") == "6\n"
        line = scripted(cluster.address, "os.unlink('flashemu')")
        assert "has no flashemu 0." in line and "install the same build there" in line, line
        assert line.count("\n") == 1 and line.startswith("2 the worker on "), line


def test_an_exception_of_the_run_itself():
    """It may be of a kind that a lost scheduler raises, too; the run is not sent again for ever."""
    write("x.toml", SMALL)
    with Cluster(1) as cluster:
        for kind in ("OSError", "TimeoutError", "RuntimeError", "KeyError"):
            step = "dask_cluster._BOOT = 'raise %s(7)'" % kind
            assert scripted(cluster.address, step) == "6\n", kind


def test_a_scheduler_that_stays_away():
    write("x.toml", MANY % (2, "2000M"))
    with Cluster(1) as cluster:
        step = ("import threading\n"
                "connect = dask_cluster.DaskEngine._connect\n"
                "def connected(*args):\n"
                "    link = connect(*args)\n"
                "    threading.Timer(1, os.kill, (%d, 9)).start()\n"
                "    return link\n"
                "dask_cluster.DaskEngine._connect = connected" % cluster.scheduler.pid)
        said = scripted(cluster.address, step)
        assert said == (
            "2 the scheduler %s is gone; what has ended is stored, and the same command continues\n"
            % cluster.address), said


def test_nobody_is_there():
    write("x.toml", SMALL)
    bad("--engine dask needs --scheduler ADDRESS", "run", "x.toml", "--engine", "dask")
    bad("--scheduler x:1: has no effect without --engine dask", "run", "x.toml", "--scheduler",
        "x:1")
    for address in ("nonsense", "tcp://127.0.0.1:x", "gopher://a:1"):
        bad("--scheduler %s: allowed: tcp://HOST:PORT or tls://HOST:PORT" % address, "run",
            "x.toml", "--engine", "dask", "--scheduler", address)
    address = "tcp://127.0.0.1:1"
    lines = bad("--scheduler %s: no scheduler answers there: " % address, "run", "x.toml",
                "--engine", "dask", "--scheduler", address)
    assert len(lines) == 1, lines
    os.mkdir("none")
    write("none/distributed.py", "raise ImportError")
    bad("--engine dask needs the Python module distributed: apt-get install python3-distributed",
        "run", "x.toml", "--engine", "dask", "--scheduler", "tcp://127.0.0.1:1",
        env={"PYTHONPATH": "none"})
    assert not os.path.exists("store/tmp") or not stored()


def test_waiting_for_a_worker():
    write("x.toml", SMALL)
    with Cluster(0) as cluster:
        p = begin(cluster)
        line = p.stderr.readline()
        assert line == ("flashemu-lab: the scheduler %s has no worker; waiting for one\n"
                        % cluster.address)
        cluster.start_worker()
        out, err = p.communicate()
        assert p.returncode == 0 and err == "" and len(stored()) == 6


def task(**members):
    name = ended([FLASHEMU, "--version"])[1].split()[-1]
    return {"session": "s", "program": worker.program_name(name, FLASHEMU), "paths": [FLASHEMU],
            "arguments": ["replay", "ideal", "t.txt", "--json"], "folder": "/nowhere", "files": {},
            "contents": {}, **members}


def performed(**members):
    return json.loads(worker.perform(json.dumps(task(**members))))


def test_files_that_a_worker_lacks():
    code, text, err = ended([FLASHEMU, "gen", "random,op=write,bs=4K,count=50", "-o", "t.txt",
                             "--capacity", "1G"])
    assert code == 0, err
    with open("t.txt", "rb") as f:
        content = f.read()
    sha256 = hashlib.sha256(content).hexdigest()
    here = performed(folder=os.getcwd(), files={"t.txt": ["t.txt", sha256]})
    assert here["code"] == 0 and json.loads(here["output"])["host"]["write"]["ops"] == 50
    files = {"t.txt": ["t.txt", sha256]}
    assert performed(files=files) == {"need": [sha256]}
    write("t.txt", "something else")
    assert performed(folder=os.getcwd(), files=files) == {"need": [sha256]}
    sent = performed(files=files, contents={sha256: base64.b64encode(content).decode()})
    assert sent["code"] == 0
    again = performed(files=files)
    for found in (sent, again):
        a, b = json.loads(found["output"]), json.loads(here["output"])
        assert a["host"] == b["host"] and a["elapsed_ns"] == b["elapsed_ns"]
    damaged = base64.b64encode(b"0 nonsense\n").decode()
    other = hashlib.sha256(b"0 nonsense\n").hexdigest()
    failed = performed(files={"t.txt": ["t.txt", other]}, contents={other: damaged})
    assert failed["code"] == 2 and "t.txt:1" in failed["errors"], failed
    assert "/proc" not in failed["errors"]


def test_what_a_worker_refuses():
    assert "has no flashemu 9+0: %s is " % FLASHEMU in performed(program="9+0")["refused"]
    assert performed(paths=["/nowhere/flashemu"], program="9+0")["refused"]
    worker.stop("over")
    assert performed(session="over") == {"stopped": True}


need("setpriv")
run(globals())
