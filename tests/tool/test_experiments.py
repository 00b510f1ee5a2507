#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""The experiments that verify runs in its own process, against others of the same kind.

`append` is compared with a trace of its own making that is replayed and added up here;
`runs` with the thresholds that a profile was given.
"""

import json
import math

from flashemu_script import run
from flashemu_tool import bad, call, good, read, write

NOR = """[device]
capacity = %d
used = 16M
[nand]
cell = nor
blocks_per_plane = %d
pages_per_block = 64
page_size = 512
program_unit = 32
tR = 4us
tPROG = 100us
tBERS = 700ms
[ftl]
type = norlog
gc_reserve = 1
[link]
type = parallel
command_overhead = 300us
[fidelity]
"""


def verify(path):
    """The JSON of figures that are nowhere near what they should be."""
    code, out, err = call("verify", path, "--json", "--kernel", "none")
    assert code in (0, 1) and err == "", (code, err)
    return json.loads(out)


def measured(path, *rows):
    """The figures of rows "procedure | unit"."""
    with open(path, "a") as f:
        for i, row in enumerate(rows):
            f.write("r%d = %s | 1 %s | 1%%\n" % (i, *row.split(" | ")))
    out = verify(path)
    return [r["measured"] for r in out["rows"]], out["details"]


def fat_calls(capacity):
    """The requests of each call, from the layout of a FAT12 volume with clusters of 2 KiB."""
    sectors, fat = capacity // 512, 1
    while True:
        clusters = (sectors - 33 - 2 * fat) // 4
        if math.ceil(math.ceil((clusters + 2) * 1.5) / 512) <= fat:
            break
        fat += 1
    assert clusters <= 4084
    data = 33 + 2 * fat
    for byte in range(0, clusters * 2048, 256):
        call = [data + byte // 512]
        if byte % 2048 == 0:
            entry = (2 + byte // 2048) * 3 // 2 // 512
            call += [1 + entry, 1 + fat + entry, 1 + 2 * fat]
        yield call


def replayed(path, calls):
    """Milliseconds of each call."""
    lines = ["0 write %d 512" % (512 * s) for call in calls for s in call]
    write("calls.trace", "# flashemu trace 1\n" + "\n".join(lines) + "\n")
    good("replay", path, "calls.trace", "--record", "calls.record")
    times = iter([(int(w[4][5:]) - int(w[0])) / 1e6 for w in
                  (line.split() for line in open("calls.record") if line[0] != "#")])
    return [sum(next(times) for _ in call) for call in calls]


def mean(values):
    return sum(values) / len(values)


def test_append_is_what_a_trace_of_it_gives():
    for capacity, blocks in [(700 * 512, 14), (1900 * 512, 34), (2345 * 512, 41)]:
        path = write("nor.ini", NOR % (capacity, blocks))
        ms = replayed(path, list(fat_calls(capacity)))
        slow = [i for i, t in enumerate(ms) if t >= 700]
        quick = [t for t in ms if t < 700]
        window = [i for i in slow if len(ms) * 20 // 100 <= i < len(ms) * 70 // 100]
        figures, details = measured(
            path, "append-collections | count", "append-quiet | ms",
            "append-quiet-share below=7ms | %", "append-collect from=0% to=100% | ms",
            "append-collect from=20% to=70% | ms", "append-period from=20% to=70% | count")
        want = [len(slow), mean(quick), 100 * mean([t < 7 for t in quick]),
                mean([ms[i] for i in slow]), mean([ms[i] for i in window]),
                (len(ms) * 70 // 100 - len(ms) * 20 // 100) / len(window)]
        assert len(slow) > 20 and len(window) < len(slow), (len(slow), len(window))
        for got, expected, slack in zip(figures, want, [0, 1e-5, 1e-3, 1e-5, 1e-5, 0.51]):
            assert abs(got - expected) <= slack, (capacity, figures, want)
        calls = details["append-collections"]
        assert calls["calls"] == len(ms) and sum(calls["quiet"]) == len(quick)
        assert [i for i, _ in calls["collections"]] == slow
        assert all(abs(t - ms[i]) < 1e-5 for i, t in calls["collections"])


def test_append_chooses_the_file_system():
    """FAT16 for more than 4084 clusters; a share of the disk to fill it is asked for."""
    path = write("big.ini", "[device]\ncapacity = 10M\n[ftl]\ntype = step\n[fidelity]\n")
    figures, details = measured(path, "append-quiet | ms", "append-collections | count")
    assert figures[1] == 0, figures
    assert details["append-quiet"]["calls"] == 8 * ((20480 - 33 - 2 * 20) // 4)
    for size, message in [("2K", "are too few"), ("200M", "are too many")]:
        path = write("odd.ini", "[device]\ncapacity = %s\n[ftl]\ntype = step\n[fidelity]\n"
                     "a = append-quiet | 1 ms | 1%%\n" % size)
        row = verify(path)["rows"][0]
        assert row["verdict"] == "failed" and message in row["reason"], row
    write("odd.ini", "[device]\ncapacity = 8M\n[ftl]\ntype = step\n[fidelity]\n"
          "a = append-period from=0% to=0% | 1 count | 1%\n")
    bad("is out of range", "verify", "odd.ini")


def test_flashbench_rates_have_their_peaks():
    """The stick logs small writes: 64 KiB go to the log.  A write of 128 KiB costs a copy of the
    unit, except where the whole unit is written in one request; without the log, every size costs
    a copy. So many units are open that flashbench's other tests, which use several, do not cause a
    merge for every request."""
    sizes = ["4M", "2M", "128K", "64K", "32K"]
    rates = {}
    for log, write_size in (("8", "64K"), ("0", "0")):
        path = write("stick.ini", good("show", "luxmini32g", "ftl.small_log=" + log,
                                       "ftl.small_pace=at-once",
                                       "ftl.small_write=" + write_size, "ftl.open_random=16")
                     .split("[fidelity]")[0] + "[fidelity]\n")
        rows = ["flashbench-rate bs=%s | MB/s" % bs for bs in sizes]
        rates[log], details = measured(path, *rows)
        assert list(details) == ["flashbench-rate bs=4M"], "one run has all of them"
        write("stick.ini", read("stick.ini").split("[fidelity]")[0] + "[fidelity]\n")
        assert measured(path, rows[3])[0] == rates[log][3:4], "whoever else is there"
    m4, m2, k128, k64, k32 = rates["8"]
    assert k64 > 1.8 * k128 and m4 > 1.8 * m2 and k64 > k32, rates
    assert max(rates["0"]) < 1.05 * min(rates["0"]), rates


def test_runs_find_the_thresholds_of_the_profile():
    step = "[device]\ncapacity = 4M\n[ftl]\ntype = step\n[step]\n%s[fidelity]\n"
    for keys, reads, writes in [
            ("read_spike = 3ms\nwrite_spike = 9ms\nwrite_step = 1ms\n", [32, 96, 224, 480, 736],
             [195, 451, 707]),
            ("read_spike = 2ms,first:5,limit:7\n"
             "read_random = 9ms\nwrite_spike = 1ms,first:2,period:3\n",
             [5, 12, 19, 26], [2, 5, 8, 11])]:
        path = write("step.ini", step % keys)
        rows = ["run-read-delay nth=%d | count" % (i + 1) for i in range(len(reads))]
        rows += ["run-write-delay nth=%d | count" % (i + 1) for i in range(len(writes))]
        figures, _ = measured(path, *rows)
        assert figures == reads + writes, (figures, reads, writes)


def test_runs_without_a_delay_have_no_figure():
    path = write("even.ini", "[device]\ncapacity = 4M\n[ftl]\ntype = step\n[step]\n"
                 "write_step = 1ms\n[fidelity]\n")
    figures, _ = measured(path, "run-read-delay nth=1 | count", "run-write-delay nth=1 | count")
    assert figures == [None, None]


def test_shipped_profiles_are_as_published():
    """Those whose figures need no kernel."""
    for name, rows in [("flashfx4m", 8), ("generic32m", 8), ("luxmini32g", 2)]:
        code, out, err = call("verify", name, "--json", "--kernel", "none")
        out = json.loads(out)
        assert code in (0, 3) and err == "", (name, code, err)
        assert out["verdicts"]["ok"] == rows, out["rows"]
        assert out["mean_error_percent"] <= 5, out


run(globals())
