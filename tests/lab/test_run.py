#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""flashemu-lab run, sweep and report: every run once, whatever ends the lab in between."""

import csv
import dataclasses
import json
import os
import re
import signal
import subprocess
import sys
import xml.etree.ElementTree
from pathlib import Path

from flashemu_lab_bench import (FLASHEMU, LAB, SMALL, bad, children_of, good, good_json, lab, read,
                                stored, until, write)
from flashemu_script import PROGRAM_HANG_S, ended, run

from flashemu_lab.runs.local import LocalEngine, batches
from flashemu_lab.runs.run import Run, Source
from flashemu_lab.runs.program import Tool

# Calls the program, and keeps a list of the replays that began.
LOGGED = """#!/bin/sh
[ "$1" = replay ] && echo "$*" >>%s/log
exec %s "$@"
"""
# 24 runs of about 20 ms, with a mark that no other process has.
LONGER = SMALL.replace("count=2000", "count=20000,seed={draw}").replace(
    "[device]", "draw = {from = 1, to = 4}\n[device]")


def logged():
    """A program that logs its replays; the folder belongs to one test."""
    path = write("flashemu", LOGGED % (os.getcwd(), FLASHEMU))
    os.chmod(path, 0o755)
    return {"FLASHEMU": os.path.abspath(path)}


def replays():
    """The runs of the replays that began, without the one that shows which members a result has."""
    if not os.path.exists("log"):
        return []
    found = []
    for line in read("log").splitlines():
        if not line.startswith("replay --json ideal"):
            found += [line for word in line.split() if word.startswith("gen:")]
    return found


def keys(name, env):
    return {r["key"] for r in good_json("show", name, env=env)["runs"]}


def begin(*args, **env):
    return subprocess.Popen([sys.executable, LAB, *args], stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True,
                            env=dict(os.environ, FLASHEMU_LAB_STORE="store", **env))


def test_a_run_from_the_store_is_the_same_byte_for_byte():
    write("x.toml", SMALL)
    env = logged()
    first = good("run", "x.toml", "-o", "one", env=env)
    assert len(replays()) == 6 and set(stored()) == keys("x.toml", env)
    second = good("run", "x.toml", "-o", "two", "--jobs", "1", env=env)
    assert len(replays()) == 6, "what is stored is not run"
    assert first.replace("one/", "two/") == second
    good("run", "x.toml", "-o", "three", store="another", env=env)
    assert len(replays()) == 12
    names = sorted(os.listdir("one"))
    assert [n for n in names if not n.startswith("figure-")] == [
        "experiment.toml", "index.html", "results.csv", "results.json"]
    for name in names:
        if not name.endswith(".png"):
            assert read("one/" + name) == read("two/" + name) == read("three/" + name), name
    good("run", "x.toml", "-o", "four", "--again", env=env)
    assert len(replays()) == 18 and read("one/results.json") == read("four/results.json")


def test_killed_runs_continue():
    text = LONGER.replace("ssd-page", "./marked.ini")
    write("marked.ini", ended([FLASHEMU, "show", "ssd-page"])[1])
    write("x.toml", text)
    env = logged()
    want = keys("x.toml", env)
    assert len(want) == 24
    kills = 0
    while len(stored()) < 20:
        have = len(stored())
        p = begin("run", "x.toml", "--jobs", "2", **env)
        until(lambda: len(stored()) > have + 3 or p.poll() is not None)
        assert p.poll() is None
        p.kill()
        p.communicate()
        kills += 1
        until(lambda: not children_of("marked.ini"))
    assert kills > 2 and set(stored()) < want
    there = stored()
    before = len(replays())
    good("run", "x.toml", "-o", "one", env=env)
    # A child of the last kill may have started so late that it is among these: the same run twice.
    started = set(replays()[before:])
    assert len(started) == len(want) - len(there), "only what was missing is run"
    assert set(stored()) == want and there.items() <= stored().items()
    assert os.listdir("store/tmp") == []
    good("run", "x.toml", "-o", "two", store="fresh", env=env)
    assert stored("fresh") == stored() and read("one/index.html") == read("two/index.html")


def stopped(number):
    write("x.toml", LONGER.replace("20000", "600000"))
    p = begin("run", "x.toml", "--jobs", "2")
    until(lambda: stored() or p.poll() is not None)
    p.send_signal(number)
    _, err = p.communicate(timeout=PROGRAM_HANG_S)
    assert p.returncode == 130, err
    assert re.fullmatch(r"flashemu-lab: stopped with \d+ of 24 runs stored; the same command "
                        r"continues\n", err), err
    assert not children_of("count=600000,seed=")
    assert os.listdir("store/tmp") == []


def test_ctrl_c_leaves_nothing_running():
    stopped(signal.SIGINT)


def test_sigterm_leaves_nothing_running():
    stopped(signal.SIGTERM)


# A region behind the end of the device, which only the device can know.
FAILING = SMALL.replace('"4K", "8K", "16K"', '"4K", "8K", "4K,offset=1T"')


def test_a_run_that_fails_does_not_end_the_others():
    write("x.toml", FAILING)
    env = logged()
    code, out, err = lab("run", "x.toml", "--json", env=env)
    assert code == 1 and err == "", err
    rows = json.loads(out)["rows"]
    failed = [r for r in rows if r["status"] == "failed"]
    assert len(failed) == 2 and all(r["levels"]["bs"] == "4K,offset=1T" for r in failed)
    assert all(r["message"] and not r["values"] for r in failed)
    assert "2 of 6 runs failed. The first message: " in json.loads(out)["conclusion"][-1]
    begun = len(replays())
    assert lab("run", "x.toml", "--json", env=env) == (1, out, "")
    assert len(replays()) == begun, "a failure is a result"
    assert lab("run", "x.toml", "--json", "--retry", env=env) == (1, out, "")
    assert len(replays()) == begun + 2
    code, out, err = lab("run", "x.toml", "-o", "x")
    assert code == 1 and "failed" in read("x/index.html")


def runs_of(count, **kwargs):
    """Runs that differ in their requests, and a program that logs them."""
    tool = Tool(Path(logged()["FLASHEMU"]))
    values = {"program": "1", "profile": "ideal", "overrides": (), "canonical": "c", "seed": 1,
              "flags": (), **kwargs}
    return tool, [Run(requests=(Source("pattern", "gen:random,count=%d" % n, str(n)),), **values)
                  for n in range(1, count + 1)]


def test_runs_on_one_device_share_a_process():
    _, runs = runs_of(40)
    _, others = runs_of(3, seed=2)
    mixed = [*runs[:20], *others, *runs[20:]]
    found = batches(mixed, 1)
    assert [len(b) for b in found] == [10, 10, 10, 10, 3] and found[4] == others
    assert sum(found[:4], []) == runs, "each run once, in their order"
    assert [len(b) for b in batches(mixed, 4)][:3] == [2, 2, 2]
    assert [len(b) for b in batches(runs[:7], 2)] == [1] * 7, "few runs use all processors"
    assert max(len(b) for b in batches(runs_of(1100)[1], 1)) == 256 and batches([], 2) == []
    sets = [run for seed in range(9) for run in runs_of(40, seed=seed)[1]]
    assert [len(b) for b in batches(sets, 2)] == [40] * 9, "many devices are made once each"
    for other in ({"seed": 2}, {"overrides": ("a.b=1",)}, {"depth": 2}, {"flags": ("--wrap",)},
                  {"profile": "x"}, {"canonical": "d"}, {"warmup": runs[0].requests[0]}):
        assert runs_of(1, **other)[1][0].shared() != runs[0].shared(), other
    several = [dataclasses.replace(r, requests=r.requests * 2) for r in runs[:2]]
    assert several[0].shared() != several[1].shared()


def test_results_of_a_process_belong_to_its_runs():
    tool, runs = runs_of(16)
    found = list(LocalEngine(tool, 2).perform(runs))
    assert len(read("log").splitlines()) == 8, "two runs each"
    assert sorted(r.key() for r, _ in found) == sorted(r.key() for r in runs)
    assert all(o.status == "done" and o.result["records"] == int(r.requests[0].identity)
               for r, o in found), found


def test_a_failure_in_a_process_is_that_of_its_run():
    tool, runs = runs_of(12)
    wrong = {3: Source("pattern", "gen:nope", "nope"), 7: Source("trace", "/none", "none")}
    runs = [dataclasses.replace(r, requests=(wrong[i],)) if i in wrong else r
            for i, r in enumerate(runs)]
    found = {r.key(): o for r, o in LocalEngine(tool, 1).perform(runs)}
    status = ["failed" if i in wrong else "done" for i in range(12)]
    assert [found[r.key()].status for r in runs] == status and len(found) == 12
    assert "no pattern 'nope'" in found[runs[3].key()].message
    assert "/none: No such file" in found[runs[7].key()].message
    missing = Tool(Path("/none/flashemu"))
    assert [o.status for _, o in LocalEngine(missing, 1).perform(runs)] == ["lost"] * 12


def test_a_process_that_is_killed_loses_one_run():
    _, runs = runs_of(12)
    path = write("flashemu", '#!/bin/sh\ncase "$3" in *count=5) kill -9 $$;; esac\n'
                 'exec %s "$@"\n' % FLASHEMU)
    os.chmod(path, 0o755)
    assert len(batches(runs[4:], 1)[0]) == 2
    found = dict(LocalEngine(Tool(Path(path).resolve()), 1).perform(runs[4:]))
    assert [found[r].status for r in runs[4:]] == ["lost"] + ["done"] * 7
    assert found[runs[4]].message == "flashemu ended by SIGKILL"


def test_a_program_that_is_killed_is_no_result():
    write("x.toml", SMALL)
    path = write("flashemu", '#!/bin/sh\ncase "$*" in replay*bs=8K*) kill -9 $$;; esac\n'
                 'exec %s "$@"\n' % FLASHEMU)
    os.chmod(path, 0o755)
    code, out, err = lab("run", "x.toml", "--json", env={"FLASHEMU": os.path.abspath(path)})
    assert code == 1 and err == "", err
    assert sorted(r["status"] for r in json.loads(out)["rows"]) == ["done"] * 4 + ["lost"] * 2
    assert len(stored()) == 4
    assert "flashemu ended by SIGKILL" in json.loads(out)["conclusion"][-1]


def test_two_results_that_differ_are_shown():
    write("x.toml", SMALL)
    good("run", "x.toml")
    name = sorted(stored())[0]
    path = "store/%s/%s.json" % (name[:2], name)
    record = json.loads(read(path))
    record["result"]["nand"]["block_erases"] += 1
    write(path, json.dumps(record))
    bad("two runs under the key %s differ in nand: " % name, "run", "x.toml", "--again", code=1)
    good("run", "x.toml")
    write(path, "")
    bad(path + ": is damaged", "run", "x.toml")


def test_the_page_has_everything():
    write("x.toml", SMALL)
    good("run", "x.toml", "-o", "x")
    page = read("x/index.html")
    result = json.loads(read("x/results.json"))
    assert len(result["rows"]) == 6 and result["experiment"] == SMALL
    for row in result["rows"]:
        assert row["command"].replace("'", "&#x27;") in page, row
        code, out, err = ended(["sh", "-c", row["command"].replace("flashemu", FLASHEMU, 1)
                                + " --json"])
        assert code == 0, err
        assert json.loads(out)["ftl"]["waf"] == row["values"]["waf"]
    assert not re.search(r"<(script|link|img|iframe)|@import|url\(|NaN|\binf\b", page)
    assert re.findall(r"https?://[^\"]*", page.replace("http://www.w3.org/2000/svg", "")) == []
    assert os.getcwd() not in page and "A small experiment" in page
    pictures = re.findall(r"<svg.*?</svg>", page, re.S)
    assert len(pictures) == 4
    tips = []
    for picture in pictures:
        root = xml.etree.ElementTree.fromstring(picture)
        tips += [e.text for e in root.iter("{http://www.w3.org/2000/svg}title")]
    for row in result["rows"]:
        levels = "ftl.op %s, request %s: " % tuple(row["levels"].values())
        assert sum(t.startswith(levels) for t in tips) == 2, levels
    alone = [n for n in os.listdir("x") if n.endswith(".svg")]
    assert len(alone) == 4
    for name in alone:
        xml.etree.ElementTree.parse("x/" + name)
        assert "var(" not in read("x/" + name)
    for sentence in result["conclusion"]:
        assert sentence.replace("'", "&#x27;") in page


def test_csv_has_the_rows():
    write("x.toml", SMALL)
    good("run", "x.toml", "-o", "x")
    rows = list(csv.DictReader(read("x/results.csv").splitlines()))
    for row, other in zip(rows, json.loads(read("x/results.json"))["rows"], strict=True):
        assert float(row["waf"]) == other["values"]["waf"] and row["key"] == other["key"]
        assert row["bs"] == other["levels"]["bs"] and row["command"] == other["command"]


def test_the_report_is_the_page_again():
    write("x.toml", SMALL)
    good("run", "x.toml", "-o", "x")
    assert good("report", "x", "-o", "again.html") == ""
    assert read("again.html") == read("x/index.html")
    bad("nowhere/results.json: No such file", "report", "nowhere", "-o", "a.html")
    bad("nowhere/a.html: No such file", "report", "x", "-o", "nowhere/a.html")
    for text, message in (("", ": is empty"), ("{", ":1: is no JSON: "), ("[]", ": is not a result of flashemu-lab"),
                          ("{}", ": is not a result of flashemu-lab")):
        write("x/results.json", text)
        bad("x/results.json" + message, "report", "x", "-o", "a.html")
    assert not os.path.exists("a.html")


def test_a_sweep_is_an_experiment():
    out = good_json("sweep", "ssd-page,transcend8g", "device.used=16T", "nand.tPROG=300us,900us",
                    "gen:random,op=write,count=50", "gen:sequential,op=write,count=50", "--seed",
                    "1,2", "-o", "x")
    assert [f["name"] for f in out["factors"]] == ["profile", "nand.tPROG", "requests", "seed"]
    assert len(out["rows"]) == 16 and {m["name"] for m in out["measures"]} == {
        "rate", "waf", "erases"}
    again = good_json("run", "x/experiment.toml")
    assert again["rows"] == out["rows"]
    mixed = good_json("sweep", "ssd-page", "ftl.op=7%,28%", "--seed", "1,2",
                      "gen:random,op=write,count=50")  # options between operands
    assert len(mixed["rows"]) == 4
    one = good_json("sweep", "ideal", "gen:random,op=write,count=5", "--measure",
                    "n=host.write.ops")
    assert one["rows"][0]["values"] == {"n": 5} and len(one["rows"]) == 1


def test_sweeps_over_trace_files():
    for seed in "12":
        ended([FLASHEMU, "gen", "random,op=write,count=9,size=1M,seed=" + seed, "-o", "t" + seed])
    out = good_json("sweep", "ideal", "t1", "t2")
    assert [r["levels"] for r in out["rows"]] == [{"requests": "t1"}, {"requests": "t2"}]
    before = set(stored())
    os.rename("t1", "other")
    good("sweep", "ideal", "other")
    assert set(stored()) == before, "the content counts and not the name"
    write("other", read("t2"))
    good("sweep", "ideal", "other")
    assert set(stored()) == before
    bad("t1: No such file or directory; allowed: a trace file, gen:PATTERN or "
        "rec:RECORDING", "sweep", "ideal",
        "t1")


def test_wrong_use():
    bad("a sweep needs requests", "sweep", "ideal", "ftl.op=1%,2%")
    for message, *words in (  # there is no file that the user could open
            ("profile=idle: no profile of that name", "idle"),
            ("ftl.op=x: is not a number", "ssd-page", "ftl.op=x"),
            ("2 x 2 = 4 runs; allowed: 3", "ssd-page", "ftl.op=7%,8%", "--seed", "1,2", "--most",
             "3"),
            ("tPROG=1us: is neither a key of a profile with its values, such as ftl.op=7%",
             "ssd-page", "tPROG=1us")):
        assert bad(message, "sweep", *words, "gen:random,count=9")[0].startswith(message)
    bad("--measure x: expected NAME=EXPRESSION", "sweep", "ideal", "gen:random", "--measure", "x")
    bad("--jobs: 0: allowed: 1 to 1024", "run", "waf", "--jobs", "0")
    bad("--seed: x: allowed: whole numbers", "sweep", "ideal", "gen:random", "--seed", "x")
    bad("unrecognized arguments: --nope", "run", "waf", "--nope")
    bad("invalid choice: 'nope'", "nope")
    bad("FLASHEMU=/nowhere: is not a program", "run", "waf", env={"FLASHEMU": "/nowhere"})
    bad("cannot open the store: ", "run", "waf", store="/dev/null/x")
    version = ended([FLASHEMU, "--version"])[1].split()[1]
    assert good("--version") == "flashemu-lab %s\n" % version
    code, out, err = lab()
    assert code == 2 and out.startswith("usage: flashemu-lab")


run(globals())
