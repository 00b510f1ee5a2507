#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""flashemu replay over profiles, --vary and --each: every combination, in order, as if alone."""

import itertools
import json
import os
import pty
import re
import signal
import subprocess
import time

from flashemu_script import alive, run
from flashemu_tool import TOOL, bad, call, digits, good, good_json, write

HEAD = "# flashemu trace 1\n"
LATER = ["wall_seconds", "cpu_seconds", "host_ops_per_second", "command"]
WRITES = "gen:random,op=write,bs=4K,size=8M,count=6000"
SMALL = ["nand.blocks_per_plane=16"]


def result(o):
    for key in LATER:
        del o[key]
    return o


def alone(*args):
    return result(good_json("replay", "--json", *args))


def several(*args):
    o = good_json("replay", "--json", *args)
    assert o["version"] and o["command"].startswith("flashemu replay")
    for one in o["runs"]:
        assert one["error"] is None
        result(one["result"])
    return o["runs"]


def test_all_combinations_in_order_each_as_if_alone():
    ops, seeds = ["20%", "60%"], ["1", "7"]
    profile, other = "ssd-page", write("other.ini", good("show", "ssd-page", "nand.tR=1ms"))
    reads = "gen:random,size=4M,count=50"
    chance = [*SMALL, "device.used=16T", "ftl.gc_policy=random"]  # so that seeds matter
    for jobs in "1", "3":
        found = several("%s,%s" % (profile, other), WRITES, reads, *chance, "--jobs", jobs,
                        "--vary", "ftl.op=" + ",".join(ops), "--vary=seed=" + ",".join(seeds))
        want = list(itertools.product([profile, other], ops, seeds))
        assert [list(o["vary"].values()) for o in found] == [list(w) for w in want]
        assert list(found[0]["vary"]) == ["profile", "ftl.op", "seed"]
        for o, (name, op, seed) in zip(found, want):
            assert o["result"] == alone(name, WRITES, reads, *chance, "ftl.op=" + op,
                                        "seed=" + seed), o["vary"]
    assert len({str(o["result"]) for o in found}) == len(found), "each differs from the others"


def test_traces_by_themselves_share_the_device_that_is_varied():
    traces = [WRITES, WRITES + ",seed=3", "gen:sequential,count=30"]
    found = several("ssd-page", *traces, "--each", *SMALL, "--vary", "ftl.op=20%,60%",
                    "--warmup", "gen:sequential,op=write,count=100", "device.used=16T")
    want = list(itertools.product(["20%", "60%"], traces))
    assert [(o["vary"]["ftl.op"], o["vary"]["trace"]) for o in found] == want
    for o, (op, trace) in zip(found, want):
        assert o["result"] == alone("ssd-page", trace, *SMALL, "device.used=16T", "ftl.op=" + op,
                                    "--warmup", "gen:sequential,op=write,count=100")


def test_traces_share_a_device_of_their_own_seed():
    traces, chance = [WRITES, WRITES + ",seed=3"], [*SMALL, "device.used=16T",
                                                    "ftl.op=20%", "ftl.gc_policy=random"]
    found = several("ssd-page", *traces, "--each", *chance, "--vary", "seed=1,7")
    want = list(itertools.product("17", traces))
    assert [(o["vary"]["seed"], o["vary"]["trace"]) for o in found] == want
    for o, (seed, trace) in zip(found, want):
        assert o["result"] == alone("ssd-page", trace, *chance, "seed=" + seed)
    assert len({o["result"]["ftl"]["pages_copied"] for o in found}) == len(found), "seeds matter"


def test_a_seed_that_does_nothing_is_refused():
    """Behind the table; a policy that draws, or a single seed, is no mistake."""
    work = ["replay", "ssd-page", "gen:random,op=write,count=3K", "device.used=16T",
            "nand.blocks_per_plane=32"]
    ten = ["ftl.op=10%"]
    code, out, err = call(*work, *ten, "--vary", "seed=1,2")
    assert code == 2 and len(out.splitlines()) == 3, (code, out)
    assert err == ("flashemu: --vary seed: changes nothing here: nothing was drawn at "
                   "random; a pattern has a seed of its own, as in gen:random,seed=2\n"), err
    for more in (["ftl.op=10%,28%"], ["ftl.op=28%,10%"]):
        for order in (["--vary", more[0], "--vary", "seed=1,2"],
                      ["--vary", "seed=1,2", "--vary", more[0]]):
            assert call(*work, *order)[0] == 2, order
    work += ten
    draws = "ftl.gc_policy=random"
    good(*work, draws, "--vary", "seed=1,2")
    good(*work, "--vary", "seed=1,2", "--vary", "ftl.gc_policy=greedy,random")
    good(*work, "--vary", "seed=1")


def test_each_command_has_version_and_quiet():
    version = good("--version")
    commands = [line.split()[0] for line in good("--complete").splitlines() if line[0] != "-"]
    assert {"replay", "verify", "gen"} <= set(commands), commands
    for command in commands:
        assert good(command, "-V") == version == good(command, "--version"), command
        listed = good(command, "--complete").splitlines()
        assert {"--quiet", "--version", "--help"} <= set(listed), command
        assert "-q, --quiet" in good(command, "--help"), command
    words = ["show", "transcend8g", "ftl.type=page"]
    assert "note: " in call(*words)[2] and call(*words, "-q")[2] == "" == call(*words, "--quiet")[2]
    assert call("-q", *words) == call("--quiet", *words) == call(*words, "-q")


def test_size_is_the_capacity():
    found = several("ideal", "gen:sequential,count=3", "--vary", "size=1G,2G")
    assert [o["vary"]["size"] for o in found] == ["1G", "2G"]
    assert [o["result"]["overrides"] for o in found] == [
        alone("ideal", "gen:sequential,count=3", "size=" + size)["overrides"]
        for size in ("1G", "2G")]


def test_the_table_has_the_numbers():
    text = good("replay", "ssd-page", WRITES, *SMALL, "--vary", "ftl.op=20%,60%")
    lines = [line.split() for line in text.splitlines()]
    assert lines[0][0] == "ftl.op" and [line[0] for line in lines[1:]] == ["20%", "60%"]
    # of reads, writes and trims
    four = "0 write 0 8192\n0 read 0 4096\n0 trim 4096 4096\n0 flush 0 0\n"
    mixed = write("mixed", HEAD + four * 9)
    text = good("replay", "ssd-page", mixed, "device.discard=yes", "--vary", "ftl.op=10%,20%")
    o = alone("ssd-page", mixed, "device.discard=yes")
    want = [digits(n * 1e3 / o["elapsed_ns"]) for n in (9 * 4096, 9 * 8192, 27 * 1e6)]
    for line in text.splitlines()[1:]:
        assert line.split()[1:4] == want, (line, want)
    for line in lines[1:]:
        o = alone("ssd-page", WRITES, *SMALL, "ftl.op=" + line[0])
        rate = o["host"]["write"]["bytes"] * 1e3 / o["elapsed_ns"]
        assert line[2] == digits(rate) and line[4] == digits(o["ftl"]["waf"])
        assert line[3] == digits(o["host"]["write"]["ops"] * 1e9 / o["elapsed_ns"])
        assert line[5] == str(o["nand"]["block_erases"])
    # summaries of traces come first
    text = good("replay", "--each", "ssd-page", *SMALL, "ftl.op=60%", WRITES,
                "gen:sequential,count=3")
    assert text.count("device time") == 2 and text.split("\n\n")[1].startswith("trace ")


def time_text(ns):
    for unit, one in (("s", 1e9), ("ms", 1e6), ("us", 1e3)):
        if ns >= one:
            return "%.4g %s" % (ns / one, unit)
    return "%.4g ns" % ns


def test_the_table_has_percentiles_of_what_was_done():
    """2000 commits: 1 in 20 is of 64 KiB, 1 in 200 of 1 MiB; and reads of which as many are long."""
    work = HEAD
    for i in range(2000):
        size = 1 << 20 if i % 200 == 7 else 65536 if i % 20 == 3 else 4096
        work += "0 write %d %d\n0 write 0 4096\n0 flush 0 0\n" % (i % 64 << 20, size)
        work += "0 read %d %d\n" % (i % 64 << 20, size // 2 if size > 4096 else size)
    work = write("commits", work)
    columns = [(op, which) for op in ("read", "write", "commit") for which in ("p99", "p999")]
    small = ["ftl.op=60%", "link.bandwidth=20MB/s"]
    o = alone("ssd-page", work, *small)["latency_ns"]
    assert len({o[op][which] for op, which in columns}) == len(columns), "each is another number"
    text = good("replay", "ssd-page", work, *small, "--vary", "nand.tR=25us,50us")
    # a blank stands between a number and its unit as well
    head, *rows = [re.split(r"  +", line) for line in text.splitlines()]
    assert head[-6:] == ["read p99", "read p99.9", "write p99", "write p99.9", "commit p99",
                         "commit p99.9"], head
    for row, tR in zip(rows, ("25us", "50us")):
        o = alone("ssd-page", work, *small, "nand.tR=" + tR)["latency_ns"]
        assert row[-6:] == [time_text(o[op][which]) for op, which in columns], (row, o)
    # a run without writes stands beside one that has some; nobody has commits
    text = good("replay", "ssd-page", "gen:random,op=write,count=9", "gen:random,count=9", "--each")
    table = text.split("\n\n")[-1].splitlines()
    assert table[0].endswith("read p99.9     write p99   write p99.9") and len(table) == 3, table
    assert [re.split(r"  +", line)[-4:].index("-") for line in table[1:]] == [0, 2], table


def test_a_run_that_fails_has_one_message_and_the_others_go_on():
    args = ["replay", "ssd-page,nosuch", WRITES, "--vary", "ftl.op=20%,x%", *SMALL]
    code, out, err = call(*args)
    assert code == 2 and err.count("\n") == 3, err
    for line, name in zip(err.splitlines(), ["profile=ssd-page ftl.op=x%", "profile=nosuch "
                                             "ftl.op=20%", "profile=nosuch ftl.op=x%"]):
        assert line.startswith("flashemu: %s: " % name), line
    assert [line.split()[2] == "failed" for line in out.splitlines()[1:]] == [
        False, True, True, True]
    # the traces that share a device that cannot be made
    code, out, err = call("replay", "ssd-page", "--each", WRITES, "gen:random,count=1", "--vary",
                          "ftl.op=x", "--json")
    assert code == 2 and err.count("\n") == 2 and err.count("is not a number") == 2
    assert out.count('"error": "ftl.op=x') == 2 and out.count('"result": null') == 2


def test_each_trace_has_data_of_its_own():
    traces = ["gen:random,op=write,reads=50%%,bs=2K,size=8M,count=9000,seed=%d" % seed
              for seed in (1, 2, 3)]
    args = ["ssd-page", "--payload", *traces, "--each", *SMALL, "ftl.op=60%"]
    text = good("replay", "--json", *args)
    assert text.count('"wrong_sectors": 0') == 3 and text.count('"verified_sectors"') == 3


def test_wrong_data_are_the_answer_no():
    code, out, err = call("replay", "ssd-page", "--payload", "gen:random,op=write,size=1M,count=9",
                          "--vary", "ftl.op=10%,20%")
    assert code == 0 and err == "" and out.count("\n") == 3
    # a worn device that silently loses data
    lost = ["ssd-page", "--payload", *SMALL, "ftl.op=60%", "faults.end_of_life=silent",
            "gen:random,op=write,reads=30%,bs=4K,size=4M,count=40000"]
    code, out, err = call("replay", *lost, "nand.endurance=2", "--json")
    o = json.loads(out)
    wrong, compared = o["wrong_sectors"], o["verified_sectors"]
    assert code == 1 and 0 < wrong < compared and err.startswith("flashemu: %d sectors" % wrong)
    code, out, err = call("replay", *lost, "nand.endurance=2")
    assert code == 1 and "%d sectors read as they were written" % (compared - wrong) in out
    code, out, err = call("replay", *lost, "--json", "--vary", "nand.endurance=unlimited,2")
    runs = json.loads(out)["runs"]
    assert code == 1 and [run["result"]["wrong_sectors"] for run in runs] == [0, wrong]
    assert runs[0]["error"] is None and runs[1]["error"].startswith("%d sectors read" % wrong)
    assert err.count("\n") == 1 and "nand.endurance=2: %d sectors" % wrong in err


def test_mistakes():
    def refused(message, *args):
        bad(message, "replay", *args)
    one = "gen:random,count=1"
    for word in "ftl.op", "ftl.op=", "=1", "ftl.op=1,,2", "ftl.op=,1", "ftl.op=1,":
        refused("--vary %s: expected KEY=VALUE,VALUE..." % word, "ideal", one, "--vary", word)
    refused("'ftl.x' is neither a key of a profile, size nor seed", "ideal", one, "--vary",
            "ftl.x=1")
    refused("ftl.op is varied twice", "ideal", one, "--vary", "ftl.op=1%", "--vary", "ftl.op=2%")
    refused("ftl.op is also given by itself", "ssd-page", one, "--vary", "ftl.op=1%", "ftl.op=2%")
    refused("seed is also given by itself", "ideal", one, "--vary", "seed=1", "seed=2")
    refused("size is also given by itself", "ideal", one, "--vary", "size=1G", "size=2G")
    refused("'x' is not a number", "ideal", one, "--vary", "seed=1,x")
    refused("more than 100000 combinations", "ideal", one, *("--vary=%s=" % key + ",".join(
        form % n for n in range(1, 401)) for key, form in (("seed", "%d"), ("size", "%dM"))))
    refused("--vary ftl.op=7%,9%,7%: 7% is given twice", "ssd-page", one, "--vary", "ftl.op=7%,9%,7%")
    refused("more than 16 times", "ideal", one, *["--vary=seed=1"] * 17)
    refused("has an empty name", "ideal,,ssd-page", one)
    refused("--jobs 0", "ideal", one, "--jobs", "0")
    for option in "--record", "-o":
        refused("--vary: has several results, and %s is one file" % option, "ideal", one, option,
                "x", "--vary", "seed=1,2")
        refused("several profiles: has several results", "ideal,ssd-page", one, option, "x")
    refused("-: standard input can be read by one run only", "ideal", "-", "--vary", "seed=1,2")
    refused("-: standard input can be read by one run only", "ideal,ssd-page", one, "--warmup",
            "-")


def test_one_run_may_read_standard_input():
    code, out, err = call("replay", "ideal", "--each", "-", "gen:random,count=2", "--json",
                          stdin=HEAD + "0 read 0 512\n")
    assert code == 0 and err == "" and out.count('"records": 1,') == 1, err


def test_a_profile_may_have_a_comma_in_its_path():
    path = write("a,b.ini", good("show", "ideal"))
    assert alone("./" + path, "gen:random,count=3")["records"] == 3


def test_nothing_is_left_after_an_interruption():
    for number in signal.SIGINT, signal.SIGTERM, signal.SIGKILL:
        mark = "gen:random,op=write,count=1000M,seed=%d" % (81000 + 100 * os.getpid() + number)
        p = subprocess.Popen([TOOL, "replay", "ideal", mark, "--vary", "seed=1,2,3", "--jobs", "3"],
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        while len(alive(mark)) < 4:
            assert p.poll() is None
            time.sleep(0.01)
        p.send_signal(number)
        out, err = p.communicate()
        assert p.returncode == -number and out == b"" and err == b""
        while alive(mark):
            time.sleep(0.01)


def test_a_run_that_is_killed_is_a_failure_of_that_run():
    mark = "gen:random,op=write,count=1000M,seed=%d" % (82000 + 100 * os.getpid())
    p = subprocess.Popen([TOOL, "replay", "ideal", mark, "--each", "gen:random,count=4",
                          "--vary", "seed=1"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                         text=True)
    while len(alive(mark)) < 2:
        assert p.poll() is None
        time.sleep(0.01)
    for pid in alive(mark):
        if pid != p.pid:
            os.kill(pid, signal.SIGKILL)
            break
    out, err = p.communicate()
    assert p.returncode == 2 and err.count("signal 9 has ended this run") == 1, err
    lines = out.splitlines()
    assert len(lines) == 3 and ("failed" in lines[1]) != ("failed" in lines[2])


def test_progress_is_for_terminals():
    master, slave = pty.openpty()
    p = subprocess.run([TOOL, "replay", "ideal", "gen:random,count=9", "--vary", "size=1M,2M"],
                       stderr=slave, stdout=subprocess.PIPE, timeout=120)
    os.close(slave)
    shown = b""
    while not shown.endswith(b"\r\033[K") or b"1 of" not in shown:
        shown += os.read(master, 65536)  # fails at its end
    os.close(master)
    assert p.returncode == 0 and b"0 of 2 runs" in shown, shown


def test_what_is_varied_is_named_once():
    for words, want in (
            (("ideal,transcend9g", "gen:random,count=1"),
             "flashemu: profile=transcend9g: no profile of that name; did you mean "),
            (("ssd-page", "gen:random,count=1", "--vary", "ftl.op=7%,x"), "flashemu: ftl.op=x: is not"),
            # what the message does not name is said in front of it
            (("ideal,ssd-page", "gen:random,count=1", "--vary", "size=1M,8G"), "flashemu: profile=")):
        code, _, err = call("replay", *words)
        assert code == 2 and err.startswith(want), (words, err)
        assert err.count("profile=") <= err.count("\n") and err.count("ftl.op=") <= 1, (words, err)


run(globals())
