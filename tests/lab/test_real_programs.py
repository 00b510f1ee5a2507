#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""What fio and dd of this machine print, read in each of fio's forms, says what they were told; and
what two or three versions of programs have printed, in tests/data/programs."""

import json
import shutil
from pathlib import Path

from flashemu_script import ended, run, skip

from flashemu_lab_bench import TOP
from flashemu_lab.measurement.importing import read_log

if not shutil.which("fio"):
    skip("no fio")


def fio(form, *options, job="a"):
    """The output of a call with one job."""
    code, out, err = ended(["fio", f"--output-format={form}", "--filename=f.dat", "--size=64k",
                            "--bs=4k", f"--name={job}", "--ioengine=psync", *options])
    assert code == 0, (out, err)
    return out


def taken(text, **more):
    log = read_log(text.encode(), "log", **more)
    return {p.procedure: p for p in log.points}, log


def test_each_form_says_the_same():
    """One call that prints all forms counts once; each form alone has the same figures."""
    text = fio("json,normal,terse", "--rw=randwrite", "--fsync=2")
    found, log = taken(text)
    start, end = text.index("{"), text.rindex("}") + 1
    job = json.loads(text[start:end])["jobs"][0]
    assert found["fio-rate"].values == (job["write"]["bw_bytes"],)
    assert found["fio-latency"].values == (job["write"]["clat_ns"]["mean"],)
    assert found["fio-sync-latency"].values == (job["sync"]["lat_ns"]["mean"],)
    how = {"op": "write", "pattern": "random", "bs": 4096, "depth": 1, "jobs": 1, "direct": False,
           "size": 65536, "job": "a", "fsync": 2}
    assert all(dict(p.parameters) == how for p in log.points) and len(log.points) == 3, log
    alone, log = taken("\n".join(line for line in (text[:start] + text[end:]).splitlines()
                                 if not line.startswith("3;fio")))
    terse = next(line for line in text.splitlines() if line.startswith("3;fio"))
    for name, share in (("fio-rate", 0.01), ("fio-latency", 0.01), ("fio-sync-latency", 0.01)):
        assert abs(alone[name].value / found[name].value - 1) < share, (name, alone, found)
        assert dict(alone[name].parameters)["fsync"] == 2
    short, _ = taken(terse, fio={"rw": "randwrite", "bs": "4k"})
    assert abs(short["fio-rate"].value / found["fio-rate"].value - 1) < 0.01
    assert abs(short["fio-latency"].value / found["fio-latency"].value - 1) < 0.001


def test_terse_versions():
    for version in (3, 4, 5):
        text = fio("terse", f"--terse-version={version}", "--rw=randrw")
        found, log = taken(text, fio={"rw": "randrw", "bs": "4k", "iodepth": "1"})
        assert [dict(p.parameters)["op"] for p in log.points] == ["read"] * 2 + ["write"] * 2, log
    log = taken(fio("terse", "--terse-version=2", "--rw=read"))[1]
    assert log.points == ()


def test_processes():
    """Two processes, with figures of each and of both."""
    for more in ((), ("--group_reporting",)):
        for form in ("json", "normal"):
            found, log = taken(fio(form, "--rw=randread", "--numjobs=2", *more))
            assert [dict(p.parameters)["jobs"] for p in log.points] == [2, 2], (more, form, log)
    # a job after the other, and both at the same time
    two = ("--name=b", "--rw=write", "--ioengine=psync", "--filename=g.dat", "--size=64k",
           "--bs=8k")
    for form in ("json", "normal"):
        log = taken(fio(form, "--rw=write", *two, "--stonewall"))[1]
        assert all("beside" not in dict(p.parameters) for p in log.points)
        log = taken(fio(form, "--rw=write", *two))[1]
        assert [dict(p.parameters)["beside"] for p in log.points] == [1] * 4, (form, log)
        # fio puts both together under the name of the first one
        log = taken(fio(form, "--rw=write", *two, "--group_reporting"))[1]
        assert form == "json" or (log.points == () and "together" in log.left[0].reason), log


def test_units():
    for text, bs in (("4k", 4096), ("4KiB", 4000), ("4ki", 4096), ("4kb", 4096), ("0x1000", 4096),
                     ("8192", 8192)):
        found, _ = taken(fio("json", "--rw=write", f"--bs={text}"))
        assert dict(found["fio-rate"].parameters)["bs"] == bs, text
        shown, _ = taken(fio("normal", "--rw=write", f"--bs={text}"))
        assert dict(shown["fio-rate"].parameters)["bs"] == bs, text
    for form in ("json", "normal"):     # 65 requests of 4000 bytes
        found, _ = taken(fio(form, "--rw=write", "--kb_base=1000", "--bs=4k"))
        assert dict(found["fio-rate"].parameters)["bs"] == 4000, form


def test_dd():
    for words, bs in ((["bs=1kB"], 1000), (["bs=2b"], 1024), (["bs=1KiB"], 1024),
                      (["bs=2x1K"], 2048)):
        command = ["dd", "if=/dev/zero", "of=d.dat", "count=100", "oflag=dsync", *words]
        code, _, err = ended(command)
        assert code == 0
        (p,) = read_log(f"$ {' '.join(command)}\n{err}".encode(), "x").points
        assert dict(p.parameters) == {"op": "write", "bytes": 100 * bs, "bs": bs, "on": "file",
                                      "direct": False, "sync": "dsync"}, p


PROGRAMS = Path(TOP, "tests/data/programs")


def kept(name, **more):
    """(procedure or test, what it said, the value) of each point, and the log."""
    log = read_log((PROGRAMS / name).read_bytes(), name, **more)
    return {(p.procedure, dict(p.parameters).get("test", dict(p.parameters).get("op")),
             dict(p.parameters).get("bs")): p for p in log.points}, log


def test_versions_of_fio():
    """A rate, a latency, and what a sync took; of JSON to the last digit."""
    how = {"op": "write", "pattern": "random", "bs": 4096, "depth": 1, "jobs": 1, "direct": False,
           "size": 262144, "job": "commit", "fsync": 4}
    for name, *values in (("fio-3.25.txt", 32.8e6, 43640, 298020),
                          ("fio-3.33.txt", 65.5e6, 6180, 167880),
                          ("fio-3.39.txt", 2731e3, 162900, 5666040),
                          ("fio-3.25.json", 65536000, 3550.953125, 221404.866667),
                          ("fio-3.33.json", 18724571, 4835.375, 874049.0),
                          ("fio-3.39.json", 43690666, 4326.796875, 343439.266667)):
        _, log = kept(name)
        assert [p.procedure for p in log.points] == ["fio-rate", "fio-latency", "fio-sync-latency"]
        assert all(dict(p.parameters) == how for p in log.points), (name, log.points)
        for p, value in zip(log.points, values):
            assert abs(p.value / value - 1) < 1e-12, (name, p, value)
        assert log.left == () and dict(log.points[2].percentiles)["99"], log
    for name in ("fio-3.25.terse", "fio-3.33.terse", "fio-3.39.terse"):
        fields = (PROGRAMS / name).read_text(encoding="utf-8").split(";")
        found, _ = kept(name, fio={"rw": "randwrite", "fsync": "4", "bs": "4k"})
        # fields 48 and 57 of fio's HOWTO: the rate in KiB/s, and the mean completion in us
        assert found["fio-rate", "write", 4096].value == int(fields[47]) * 1024, name
        assert abs(found["fio-latency", "write", 4096].value / (1e3 * float(fields[56])) - 1) < 1e-9


def test_versions_of_dd():
    for name in ("dd-8.32.txt", "dd-9.1.txt", "dd-9.7.txt"):
        text = (PROGRAMS / name).read_text(encoding="utf-8")
        seconds = [float(line.split(" copied, ")[1].split()[0]) for line in text.splitlines()
                   if " copied, " in line]
        write, read = kept(name)[1].points
        assert dict(write.parameters) == {"op": "write", "bytes": 210000, "bs": 3000, "on": "file",
                                          "direct": False, "sync": "dsync"}
        assert dict(read.parameters) == {"op": "read", "bytes": 40960, "bs": 4096, "on": "file",
                                         "direct": True}
        assert [write.value, read.value] == [210000 / seconds[0], 40960 / seconds[1]], name


def test_versions_of_iozone():
    tests = ("write", "rewrite", "read", "reread", "random-read", "random-write")
    for name, *lines in (
            ("iozone-3.489.txt", (31109, 26917, 25365, 28952, 25801, 27429),
             (311055, 1332826, 549495, 720607, 426227, 527624)),
            ("iozone-3.507.txt", (57583, 30553, 23590, 29151, 27154, 24613),
             (465707, 1096927, 492417, 917982, 395095, 383019))):
        found, log = kept(name)
        assert len(log.points) == 12 and log.left == (), log
        for bs, line in zip((4096, 512 << 10), lines):
            for test, kib in zip(tests, line):
                p = found["iozone", test, bs]
                assert p.value == kib * 1024, (name, p)
                assert dict(p.parameters) == {"test": test, "file": 4 << 20, "bs": bs,
                                              "direct": True, "fsync": True}


def test_versions_of_f3():
    for name, write, read in (("f3-8.0.txt", 38.28, 117.64), ("f3-9.0.txt", 96.38, 129.02)):
        found, log = kept(name)
        assert [p.value for p in log.points] == [write * 1024**2, read * 1024**2], log.points
        assert dict(log.points[1].parameters)["size"] == 8 << 20


def test_versions_of_programs_that_are_named():
    for name, program in (("bonnie++-2.00a.txt", "bonnie++"), ("sysbench-1.0.20.txt",
                          "sysbench fileio"), ("ioping-1.2.txt", "ioping"),
                          ("ioping-1.3.txt", "ioping"), ("iostat-12.5.2.txt", "sar -d or iostat"),
                          ("iostat-12.6.1.txt", "sar -d or iostat"),
                          ("iostat-12.7.5.txt", "sar -d or iostat")):
        _, log = kept(name)
        assert log.points == () and [one.what for one in log.left] == [program], log


run(globals())
