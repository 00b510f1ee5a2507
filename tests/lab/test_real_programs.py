#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""What fio and dd of this machine print, read in each of fio's forms, says what they were told."""

import json
import shutil

from flashemu_script import ended, run, skip

import flashemu_lab_bench  # noqa: F401
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


run(globals())
