#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""flashemu gen and flashemu trace."""

import gzip
import json
import os
import pty
import re
import shutil
import subprocess

from flashemu_script import run
from flashemu_tool import TOOL, bad, call, good, read, trace_formats, trace_lines, write

HEAD = "# flashemu trace 1\n"


def records(text):
    return [line.split() for line in trace_lines(text)]


def test_gen_of_the_interface():
    r = records(good("gen", "random", "--op", "write", "--bs", "8K", "--size", "1M", "--offset",
                     "1M", "--count", "100", "--seed", "7"))
    assert len(r) == 100
    for time, op, offset, size in r:
        assert op == "write" and size == "8192"
        assert 1 << 20 <= int(offset) <= (2 << 20) - 8192 and int(offset) % 8192 == 0
    again = good("gen", "random,op=write,bs=8K,size=1M", "--offset=1M", "--count=100", "--seed=7")
    assert records(again) == r
    assert records(good("gen", "random", "--op", "write", "--bs", "8K", "--size", "1M", "--offset",
                        "1M", "--count", "100", "--seed", "8")) != r


def test_gen_lists_patterns_and_their_options():
    names = [line.split()[0] for line in good("gen", "--patterns").splitlines()]
    for name in ["sequential", "random", "zipf", "hotcold", "fat-append", "uflip-order",
                 "flashbench-open-au"]:
        assert name in names
    for name in names:
        options = good("gen", name, "--options")
        assert options.startswith(name + ": ") and "\n  seed=1 " in options
        assert len(records(good("gen", name, "--count", "5"))) == 5, name
    bad("no pattern", "gen", "nope", "--options")


def test_gen_mistakes():
    bad("expected one PATTERN", "gen")
    bad("expected one PATTERN", "gen", "random", "zipf")
    bad("there is no pattern 'nope'", "gen", "nope")
    bad("no option 'foo'", "gen", "random", "--foo", "1")
    bad("expected bs=a size", "gen", "random", "--bs", "4 K")
    bad("expected bs=a size", "gen", "random", "--bs", "4K\n")
    bad("--patterns takes no argument 'random'", "gen", "random", "--patterns")
    bad("given twice", "gen", "random", "--bs", "4K", "--bs", "4K")
    bad("format 'csv'", "gen", "random", "--format", "csv")
    bad("--capacity", "gen", "random", "--capacity", "x")
    bad("behind the capacity", "gen", "random", "--capacity", "1M", "--size", "2M")
    bad("cannot hold FUA", "gen", "random", "--op", "write", "--fua", "yes", "--format", "iolog")
    bad("No such file", "gen", "random", "-o", "missing/x")


def test_a_failed_output_is_removed():
    bad("cannot hold flush", "gen", "random", "--op", "write", "--flush", "9", "--format", "msr",
        "-o", "x")
    assert not os.path.exists("x")
    good("gen", "random", "--op", "write", "--flush", "9", "--format", "msr", "--lossy", "-o", "x")
    assert os.path.exists("x")


def test_formats_are_listed_with_a_sentence():
    assert set(trace_formats()) >= {"text", "binary", "iolog", "iolog2", "blkparse", "msr"}
    for line in good("trace", "--formats").splitlines():
        assert len(line.split()) > 2, line
    bad("--formats lists the formats and takes no FILE", "trace", "--formats", "t")
    for name in trace_formats():
        assert name in bad("allowed are", "gen", "random", "--format", "csv")


def test_the_manual_page_has_every_format():
    page = read(os.path.join(os.path.dirname(TOOL), "flashemu-trace.5"))
    for line in good("trace", "--formats").splitlines():
        name, summary = line.split(None, 1)
        assert "\n.It Cm %s\n%s.\n" % (name, summary.replace("-", "\\-")) in page, name
    # every attribute of a request, and every word of a status
    told = bad("is not fua", "trace", write("t", "# flashemu trace 1\n0 read 0 512 x=1\n"))
    keys = re.findall(r"(\w+)=", told.split("is not")[1])
    assert {"programmed", "done"} <= set(keys)
    for key in keys:
        assert "Cm %s Ns = Ns Ar" % key in page, key


def test_formats_convert_to_each_other():
    text = good("gen", "random", "--op", "write", "--reads", "40%", "--count", "200",
                "--interval", "250us")
    write("t.text", text)
    for fmt in trace_formats(requests=True):
        assert good("trace", "t.text", "--to", fmt, "-o", "t." + fmt + ".out") == ""
        back = [r[:4] for r in records(good("trace", "t." + fmt + ".out"))]
        assert back == records(text), fmt
        assert [r[:4] for r in records(good("trace", "-", stdin=read("t." + fmt + ".out")))] == back
    assert good("trace", "t.text") == text


def test_compressed_data_that_are_cut_off_or_damaged():
    text = good("gen", "random", "--op", "write", "--size", "8M", "--count", "9000")
    data = gzip.compress(text.encode())
    for name, content, message in (
            ("cut.gz", data[:len(data) // 2], "ends in the middle of its compressed data"),
            ("spoilt.gz", data[:3000] + b"\xff" * 300 + data[3300:],
             "its compressed data are damaged")):
        with open(name, "wb") as f:
            f.write(content)
        bad(f"{name}: {message}", "replay", "ssd-page", name)
        bad(f"{name}: {message}", "trace", name, "-o", "t")
    with open("whole.gz", "wb") as f:
        f.write(data)
    good("replay", "ssd-page", "whole.gz")


def test_binary_is_text_in_other_words():
    good("replay", "ssd-page", "gen:random,op=write,reads=30%,count=300,flush=20,think=1ms",
         "--record", "t")
    good("trace", "t", "--to", "binary", "-o", "b")
    assert read("b").startswith("# flashemu binary trace 1\n# version: ")
    assert good("trace", "b") == read("t"), "with the origin and all that was recorded"
    assert 3 * os.path.getsize("b") < os.path.getsize("t")
    whole = open("b", "rb").read()
    with open("cut", "wb") as f:
        f.write(whole[:-1])
    assert "cut:%d: the trace ends in the middle of a record" % len(trace_lines(read("t"))) in call(
        "trace", "cut")[2]
    bad("b:1: this flashemu reads version 1", "trace", write("b", "# flashemu binary trace 2\n"))


def test_no_binary_on_a_terminal():
    master, slave = pty.openpty()
    for command in (["gen", "random", "--count=1", "--format=binary"],
                    ["trace", "gen:random,count=1", "--to=binary"]):
        p = subprocess.run([TOOL, *command], stdout=slave, stderr=subprocess.PIPE, text=True,
                           timeout=60)
        assert p.returncode == 2 and "not for a terminal" in p.stderr, p.stderr
    os.close(slave)
    os.close(master)


def peak_memory(trace, *words):
    """Largest resident size of flashemu WORDS in KiB, when it has read nearly all of the trace."""
    p = subprocess.Popen([TOOL, *words], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
    p.stdin.write(trace)
    p.stdin.flush()  # all but what a pipe holds has been read
    with open("/proc/%d/status" % p.pid) as f:
        peak = int(f.read().split("VmHWM:")[1].split()[0])
    p.stdin.close()
    assert p.wait() == 0
    return peak


def test_memory_does_not_depend_on_the_length_of_a_trace():
    good("gen", "random", "--op", "write", "--size", "4M", "--count", "1000000", "-o", "text")
    good("trace", "text", "--to", "binary", "-o", "binary")
    for name in "text", "binary":
        with open(name, "rb") as f:
            whole = f.read()
        part = good("gen", "random", "--op", "write", "--size", "4M", "--count", "100000",
                    "--format", name, "-o", "part") or open("part", "rb").read()
        for words in (["replay", "ideal", "size=64M", "-"], ["trace", "-", "--to", "binary"],
                      ["replay", "ideal", "size=64M", "-", "--record", "r"]):
            least, most = peak_memory(part, *words), peak_memory(whole, *words)
            assert len(whole) > 9 * len(part) and most - least < 400, (name, words, least, most)


def fio(*args):
    p = subprocess.run(["fio", "--name=x", "--ioengine=psync", "--output-format=json", *args],
                       stdout=subprocess.PIPE, timeout=60, check=True, universal_newlines=True)
    return json.loads(p.stdout[p.stdout.index("{"):])["jobs"][0]


def test_fio_replays_what_gen_writes():
    if not shutil.which("fio"):
        print("no fio: not compared")
        return
    write("disk", "")
    os.truncate("disk", 1 << 20)
    for fmt in ["iolog", "iolog2"]:
        good("gen", "random", "--op", "write", "--reads", "50%", "--size", "1M", "--flush", "10",
             "--count", "100", "--format", fmt, "--device", "disk", "--force", "-o", "log")
        job = fio("--read_iolog=log")
        ops = [r[1] for r in records(good("trace", "log"))]
        assert job["read"]["total_ios"] == ops.count("read") > 30, fmt
        assert job["write"]["total_ios"] == ops.count("write") > 30, fmt
        assert job["sync"]["total_ios"] == ops.count("flush") > 3, fmt


def test_fio_writes_what_trace_reads():
    if not shutil.which("fio"):
        print("no fio: not compared")
        return
    job = fio("--filename=disk", "--size=1M", "--rw=randrw", "--bs=4k", "--fsync=8",
              "--write_iolog=log")
    ops = [r[1] for r in records(good("trace", "log"))]
    assert job["read"]["total_ios"] == ops.count("read")
    assert job["write"]["total_ios"] == ops.count("write")
    assert ops.count("flush") > 3


def test_trace_mistakes():
    bad("expected one FILE", "trace")
    bad("No such file", "trace", "missing")
    bad("directory", "trace", ".")
    bad("t:1: empty file", "trace", write("t", ""))
    bad("t:1: not the first line", "trace", write("t", "hello\n"))
    bad("standard input:1: ", "trace", "-", stdin="hello\n")
    bad("allowed are", "trace", "--format", "csv", "t")
    bad("allowed are", "trace", "--event", "Z", "t")
    bad("t:3: ", "trace", write("t", HEAD + "0 read 0 512\n0 reed 0 512\n"), "-o", "out")
    assert not os.path.exists("out")
    bad("t:2: offset 512 and length 1024 must be multiples of the sector size 4096", "trace",
        "--sector", "4K", write("t", HEAD + "0 read 512 1024\n"), "-o", "out")


def test_trace_prints_in_front_of_a_mistake():
    text = HEAD + "0 read 0 512\n"
    code, out, err = call("trace", write("t", text + "0 reed 0 512\n"))
    assert code == 2 and "t:3: 'reed'" in err and records(out) == records(text), (out, err)


def test_hostile_names_stay_on_one_line():
    bad("evil?flashemu: all is well:1: ", "trace", write("evil\nflashemu: all is well", "x\n"))


def test_trace_tells_what_was_left_out():
    event = "  8,0    3        1     0.000000000   697  %s   W 8 + 8 [dd]\n"
    write("t", event % "Q" + event % "D" + event % "C")
    code, out, err = call("trace", "t")
    assert code == 0 and len(records(out)) == 1
    assert err == "flashemu: note: t: 2 events were not the requests asked for\n", err
    code, quiet, err = call("trace", "-q", "t")
    assert code == 0 and err == "" and records(quiet) == records(out), err


run(globals())
