#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Logs that people have published, in tests/data/logs: what each of them says, computed by hand."""

import os
import re

from flashemu_lab_bench import TOP, bad, good, good_json
from flashemu_script import run

from pathlib import Path

from flashemu_lab.measurement import schema
from flashemu_lab.measurement.importing import read_log
from flashemu_lab.measurement.reader import Line, Sink
from flashemu_lab.measurement.readers import crystaldiskmark, fio_command, fio_jobs, refused

LOGS = Path(TOP, "tests/data/logs")
MIB = 1 << 20


def log_of(name, change=lambda data: data, fio=None):
    return read_log(change((LOGS / name).read_bytes()), name, fio)


def said(log):
    """[(procedure, parameters, values)] of a log."""
    return [(p.procedure, dict(p.parameters), list(p.values)) for p in log.points]


def check(name, *wanted, left=(), fio=None):
    """The points of a log, each as (procedure, value, parameters), and why others were left out."""
    log = log_of(name, fio=fio)
    found = said(log)
    assert [(p, how) for p, how, _ in found] == [(p, how) for p, _, how in wanted], (name, found)
    for (_, _, (value,)), (_, expected, _) in zip(found, wanted):
        assert abs(value / expected - 1) < 1e-9, (name, value, expected)
    assert [one.reason for one in log.left] == list(left), (name, log.left)
    return log


RW4K = {"op": "write", "pattern": "random", "bs": 4096, "depth": 1, "jobs": 1, "direct": True,
        "size": 1 << 30, "job": "rw4k"}
SEQ_1M = {"op": "write", "pattern": "sequential", "bs": MIB, "depth": 1, "jobs": 1, "direct": True,
          "size": 4 << 30, "job": "seqwrite"}


def both(rate, latency, how):
    return ("fio-rate", rate, how), ("fio-latency", latency, how)


def test_a_synchronous_engine_has_one_request_in_flight():
    check("fio-psync.json", *both(2.5e6, 1.6e6, RW4K))
    log = check("fio-psync.txt", *both(53.4e6, 19.55e6, SEQ_1M))
    assert dict(log.points[1].percentiles) == {"1": (18e6,), "5": (18e6,), "10": (18e6,),
                                               "20": (18e6,)}
    check("fio-buffered0.json", *both(2.5e6, 6.5e6, {**RW4K, "depth": 4}))


def test_processes_at_once_are_one_figure():
    how = {"op": "write", "pattern": "random", "bs": 4096, "depth": 4, "jobs": 4, "direct": False,
           "size": MIB, "job": "rnd", "shared": True}
    means = (41346.898437, 7304.753906, 10750.671875, 7658.742188)
    found = said(log_of("numjobs4.json"))
    assert [h for _, h, _ in found] == [how] * 2
    assert found[0][2] == [262144000 + 209715200 + 349525333 + 262144000]
    assert abs(found[1][2][0] - sum(means) / 4) < 1e-6
    check("numjobs4-group.json", *both(2097152000, 11660.270508, how))
    # 256 requests of each of the four; the normal output rounds the rates
    text = {k: v for k, v in how.items() if k not in ("direct", "size", "shared")}
    found = said(log_of("numjobs4.txt"))
    assert [h for _, h, _ in found] == [text] * 2
    assert found[0][2] == [524e6 + 524e6 + 350e6 + 524e6]
    means = ((12837.12, 6506.91), (15592.97, 29974.79), (13147.40, 15524.05), (14971.16, 32682.32))
    mean = sum(m for m, _ in means) / 4
    assert abs(found[1][2][0] - mean) < 0.01
    spread = (sum(m * m + s * s for m, s in means) / 4 - mean * mean) ** 0.5
    assert abs(log_of("numjobs4.txt").points[1].spread - spread) < 0.01


def test_fio_2_says_no_options():
    log = log_of("fio2.json")
    assert log.points == () and "does not say rw" in log.left[0].reason
    assert "bs=65536 iodepth=8" in log.left[0].reason
    how = {"op": "write", "pattern": "random", "bs": 65536, "depth": 8, "jobs": 1,
           "job": "rand-write"}
    check("fio2.json", *both(16384 * 1024, 31.18e6, how), fio={"rw": "randwrite"})
    check("fio2.json", *both(16384 * 1024, 31.18e6, {**how, "depth": 12, "direct": True}),
          fio={"rw": "randwrite", "iodepth": "12", "direct": "1"})
    # what follows from its figures cannot be said otherwise
    wrong = dict(rw="randwrite", bs="4k")
    assert log_of("fio2.json", fio=wrong).left[0].reason == \
        "--fio says bs=4k, and its figures say 65536"
    check("fio2.txt", *both(16384 * 1024, 31.18e6, how))


def test_syncs():
    how = {"op": "write", "pattern": "random", "bs": 4096, "depth": 1, "jobs": 1, "direct": True,
           "size": 256 * MIB, "job": "commit"}
    check("fio-fsync1.json", *both(150e3, 3e6, {**how, "fsync": 1}))
    check("fio-sync1.json", *both(150e3, 27e6, {**how, "sync": "sync"}))
    how = {"op": "write", "pattern": "sequential", "bs": 2300, "depth": 1, "jobs": 1,
           "direct": False, "size": 22 * MIB, "job": "mytest", "fdatasync": 1}
    log = check("fio-etcd.json", *both(57e3, 30e3, how), ("fio-sync-latency", 39e6, how))
    assert log.points[2].percentiles == (("99", (120586240,)),) and log.points[2].spread == 20e6
    # 199.6 % of the writes were requests: there was a sync behind each
    how = {"op": "write", "pattern": "sequential", "bs": 4096, "depth": 1, "jobs": 1, "job": "t",
           "fsync": 1}
    log = check("fio-fdatasync.txt", *both(31.8e6, 6740, how), ("fio-sync-latency", 117520, how))
    assert dict(log.points[2].percentiles)["99.5"] == (469e3,)


def test_a_rate_that_was_asked_for_is_no_result():
    how = {"op": "write", "pattern": "sequential", "bs": 65536, "depth": 1, "jobs": 1,
           "direct": True, "size": 256 * MIB, "job": "log", "rate": MIB}
    check("fio-rate.json", ("fio-latency", 900e3, how),
          left=["rate=1m limits it; the device could do more"])


def test_sizes_and_places():
    how = {"op": "write", "pattern": "random", "depth": 1, "jobs": 1, "direct": True,
           "size": 256 * MIB, "job": "x"}
    check("fio-bssplit.json", *both(MIB, 900e3, {**how, "sizes": "4096/60:65536/40"}))
    check("fio-zipf.json", *both(MIB, 900e3, {**how, "bs": 4096, "distribution": "zipf:1.1"}))
    how["pattern"] = "sequential"
    check("fio-seq8.json", *both(MIB, 900e3, {**how, "bs": 4096, "gap": 28 * 1024}))
    check("fio-offset.json", *both(MIB, 900e3, {**how, "bs": MIB, "size": 1 << 30,
                                                "offset": 2 << 30}))


def test_a_failed_run_is_no_result():
    check("failed.json", left=["ended with error 22, so it is no result"])
    check("fio-err.json", left=["ended with error 5, so it is no result"])
    message = "failed.json: no result can be taken; 1: fio job etcd: ended with error 22"
    bad(message, "import", str(LOGS / "failed.json"), "-o", "x.json")
    assert not os.path.exists("x.json")


def test_units_of_fio():
    how = {"op": "write", "pattern": "sequential", "bs": 4000, "depth": 1, "jobs": 1,
           "direct": False, "size": 1000000, "job": "t"}
    check("kib.json", *both(1e9, 2115.884, how))


def test_one_run_counts_once():
    how = {"op": "write", "pattern": "sequential", "bs": 4096, "depth": 1, "jobs": 1,
           "direct": False, "size": MIB, "job": "t"}
    check("both.txt", *both(524288000, 2602.546875, how))
    check("fio-client3.json", *both(2.5e6, 1.6e6, RW4K))


def test_terse():
    for name, job, bs, rate, mean, depth in (("terse.txt", "rand4k", 4096, 2736, 1456.1, 1),
                                             ("terse-real.txt", "t", 4096, 27675, 5.571867, 1)):
        assert "does not say rw" in log_of(name).left[0].reason
        how = {"op": "write", "pattern": "random", "bs": bs, "depth": depth, "jobs": 1, "job": job}
        check(name, *both(rate * 1024, mean * 1e3, how), fio={"rw": "randwrite"})


def test_dd():
    how = {"op": "write", "bytes": 2097152000, "bs": MIB, "offset": 0, "on": "device",
           "direct": True}
    check("dd-progress.txt", ("dd", 2097152000 / 310.52, how), left=["is not the end"])
    how = {"op": "write", "bytes": 10**9, "bs": 10**6, "offset": 16 * 10**6, "on": "device",
           "direct": True}
    check("dd-mb.txt", ("dd", 10**9 / 140.2, how))
    how = {"op": "read", "bytes": 104857600, "bs": 4096, "offset": 0, "on": "device",
           "direct": True}
    check("dd-iflag.txt", ("dd", 104857600 / 10.5, how),
          ("dd", 104857600 / 1.2, {**how, "bs": 4 * MIB}))
    how = {"op": "write", "bytes": 209715200, "bs": 4 * MIB, "offset": 0, "on": "device",
           "direct": True}
    check("my8gb.txt", ("hdparm-t", 20.21 * MIB, {"direct": False}), ("dd", 5242880, how),
          ("dd", 10485760 / 21, {**how, "bytes": 10485760, "bs": 4096}))


def test_commands_of_dd_in_a_shell():
    """What the shell reads ends an operand, and two commands of one line have two ends."""
    end = b"1+0 records in\n1+0 records out\n4194304 bytes (4.2 MB, 4.0 MiB) copied, 0.5 s, 8.4 MB/s\n"
    other = end.replace(b"0.5 s, 8.4", b"0.25 s, 16.8")
    for command in (b"dd if=/dev/zero of=/dev/sdb bs=4M count=1 oflag=nocache,direct; sync",
                    b"time sh -c 'dd if=/dev/zero of=/dev/sdb bs=4M count=1 oflag=direct'",
                    b"(dd if=/dev/zero of=\"/dev/sdb\" oflag=direct bs=4M count=1) 2>&1",
                    b"dd if=/dev/zero of=/dev/sdb bs=4M oflag=direct count=1&& sync"):
        (p,) = read_log(b"$ " + command + b"\n" + end, "x").points
        assert dict(p.parameters) == {"op": "write", "bytes": 4 * MIB, "bs": 4 * MIB, "offset": 0,
                                      "on": "device", "direct": True}, (command, p)
    raw = b"% sudo dd if=/dev/rdisk4 of=/dev/null bs=64k count=64\n64+0 records in\n64+0 records out\n" \
        b"4194304 bytes transferred in 0.250000 secs (16777216 bytes/sec)\n"
    (p,) = read_log(raw, "x").points
    assert dict(p.parameters)["direct"] is True and dict(p.parameters)["bs"] == 65536
    both = b"$ dd if=/dev/zero of=/dev/sdb bs=4M count=1 conv=fsync; dd if=/dev/sdb of=/dev/null " \
        b"bs=2M count=2 iflag=direct && echo done\n" + end + other
    how = {"bytes": 4 * MIB, "offset": 0, "on": "device"}
    assert said(read_log(both, "x")) == [
        ("dd", {"op": "write", **how, "bs": 4 * MIB, "direct": False, "end_fsync": True},
         [4194304 / 0.5]),
        ("dd", {"op": "read", **how, "bs": 2 * MIB, "direct": True}, [4194304 / 0.25])]


COLUMNS = ("write", "rewrite", "read", "reread", "random-read", "random-write")


def table(bs, values, columns=COLUMNS, unit=1024.0, **more):
    """Points of a row of iozone."""
    return [("iozone", value * unit, {"test": test, "file": 102400 << 10, "bs": bs, "direct": True,
                                      "fsync": False, **more})
            for test, value in zip(columns, values)]


def test_iozone():
    rows = ((4, (3870, 5010, 5180, 5190, 4550, 4940)),
            (512, (29180, 29630, 30050, 30030, 29390, 29550)),
            (16384, (31520, 31540, 32020, 32150, 32230, 31440)))
    check("iozone-cmd.txt", *(p for kb, row in rows for p in table(kb << 10, row, fsync=True)))
    check("iozone-n.txt", *table(4096, [4096e6 / us for us in (1640, 1500, 480, 478, 490, 1930)],
                                 unit=1))
    check("iozone-02.txt", *table(4096, (1640, 1500, 490, 193),
                                  ("write", "rewrite", "random-read", "random-write")))
    check("iozone-plus.txt", *table(4096, (1640, 1500, 4500, 4510, 4490, 193, 3303),
                                    (*COLUMNS, "stride-read")))
    file = {"file": 1 << 30, "bs": 4096, "direct": True}
    check("iozone-t.txt", *(("iozone", kb * 1024, {"test": test, **file, "fsync": True, "jobs": 4})
                            for test, kb in (("write", 2632.07), ("random-write", 1632.07))))
    check("iozone-tops.txt", *(("iozone", ops * 4096, {"test": test, **file, "fsync": False})
                               for test, ops in (("write", 2632.07), ("random-read", 2047.07))))


def test_a_command_of_iozone_ends_where_the_shell_begins():
    log = log_of("iozone-cmd.txt", lambda data: re.sub(rb"(iozone [^\n]*) -I\b([^\n]*)",
                                                      rb"\1\2 -I; sync", data))
    assert said(log) == said(log_of("iozone-cmd.txt")) and len(log.points) == 18, log.points[0]


def test_flashbench():
    how = {"erasesize": 4 * MIB, "open": 5, "random": True}
    check("fb-r.txt", *(("flashbench-open-au", rate, {**how, "chunk": chunk}) for chunk, rate in (
        (4 * MIB, 3.34e6), (2 * MIB, 3.55e6), (MIB, 1.84e6), (MIB // 2, 868e3))))


def test_what_stands_in_front_of_a_line():
    log = log_of("fb-indented.txt")
    assert len(log.points) == 28 and log.skipped == () and log.points[1].values == (2.49e6,)
    assert {dict(p.parameters)["bs"] for p in log.points} == {1024}
    log = log_of("fb-quoted.txt")
    assert len(log.points) == 24 and log.points[3].values == (-412331,)
    assert {dict(p.parameters)["bs"] for p in log.points} == {16384}
    check("ind-fio.txt", *both(53.4e6, 19.55e6, SEQ_1M))
    for name in ("arr-json.txt", "ind-json.txt", "wrap-json.txt"):
        check(name, *both(2.5e6, 1.6e6, RW4K))


def test_an_object_that_nobody_knows_is_skipped():
    """It is told with its place and its lines, and no reader of lines takes it for its own."""
    log = read_log(b'first\n{"hello": [1, 2],\n "b": {"c": 3}}\nlast\n', "x.log")
    assert log.lines == 4 and not log.points and not log.left
    assert log.skipped == ("first", "2 lines of JSON from line 2 on", "last"), log.skipped


def test_latencies_of_several_processes():
    """Each counts by its requests, and alike if nothing says how many they were."""
    def joined(*times):
        sink = Sink()
        fio_jobs._latency(3, "x", "fio-sync-latency", list(times), dict(
            op="write", pattern="random", bs=4096, depth=1, jobs=2, direct=True, size=MIB), sink)
        (point,) = sink.points()
        return point.value, point.spread
    mean, spread = joined(fio_jobs.Latency(100.0), fio_jobs.Latency(400.0))
    assert (mean, spread) == (250, 150)
    mean, spread = joined(fio_jobs.Latency(100.0, 30.0, 3.0), fio_jobs.Latency(500.0, 40.0, 1.0))
    assert mean == 200 and abs(spread**2 - (3 * (900 + 10000) + 1600 + 250000) / 4 + 40000) < 1e-6


def test_words_of_a_job_file_without_a_value():
    """They belong to the job if fio knows them; what nobody knows ends it."""
    file = fio_command.JobFile()

    def takes(*texts):
        return [file.take(Line(n, text, text)) for n, text in enumerate(texts)]
    assert takes("[global]", "direct=1", "group_reporting", "thread ; as a process", "[a]", "rw=randread",
                 "time_based", "norandommap", "runtime = 7 # s", "stonewall") == [True] * 10
    assert takes("Starting 1 process", "rw=write") == [False, False]
    assert takes("[b]", "bs=8k", "nonsense", "size=1m") == [True, True, False, False]
    shared = {"direct": "1", "group_reporting": "1", "thread": "1"}
    assert file.jobs() == {"a": {**shared, "rw": "randread", "time_based": "1", "norandommap": "1",
                                 "runtime": "7", "stonewall": "1"}, "b": {**shared, "bs": "8k"}}
    assert file.jobs() == {}


def test_what_is_not_read_is_no_rubbish():
    """A line of a program that is refused is known, each time it comes; told once."""
    sink, reader = Sink(), refused.RefusedReader()
    lines = [line for line in ("ATTO Disk Benchmark", "AS SSD Benchmark 2.0", "nothing", "Iometer 1.1") for _ in range(2)]
    taken = [reader.take(Line(n, text, text), sink) for n, text in enumerate(lines, 1)]
    assert taken[4:6] == [False, False] and any(taken) and taken[::2] == taken[1::2], taken
    assert len(sink.left) == sum(taken) // 2


def test_units_of_crystaldiskmark():
    """Of 1000, whatever Windows calls its own; in small letters, too."""
    for unit, wanted in (("KB", 3250.0), ("MB", 3.25e6), ("GB", 3.25e9), ("kb", 3250.0), ("Mb", 3.25e6)):
        assert crystaldiskmark._rate("3.25", unit) == wanted, unit
    assert crystaldiskmark._rate("0.0005", "KB") == 0.5


def test_agnostics():
    how = {"op": "write", "pattern": "sequential", "bs": 512 << 10, "depth": 4, "jobs": 1,
           "direct": True, "size": 64 * MIB}
    end = {"end_fsync": True}
    found = said(log_of("agnostics.txt"))
    assert found[:4] == [
        ("fio-rate", {**how, "job": "prepare-file", **end}, [10556 * 1024]),
        ("fio-rate", {**how, "job": "seq-write", **end}, [14160 * 1024]),
        ("fio-rate", {**how, "pattern": "random", "bs": 4096, "job": "rand-4k-write", **end},
         [855 * 1024]),
        ("fio-rate", {**how, "op": "read", "pattern": "random", "bs": 4096, "job": "rand-4k-read"},
         [3534 * 1024])]
    assert [values for _, _, values in found[4:]] == [[k * 1024] for k in (10609, 12089, 767, 3742)]
    # 4 MiB: 3 requests a second
    later = read_log(b"seq-write;0;0;14160;3\nseq-write;0;0;14160;9\n", "x")
    assert [dict(p.parameters)["bs"] for p in later.points] == [4 * MIB]
    assert later.left[0].line == 2 and "of no size" in later.left[0].reason


def marks(name, program, size, rates, blocks):
    """Eight figures: reads and writes, of (pattern, bs, depth, jobs) each."""
    how = [{"op": op, "pattern": pattern, "bs": bs, "size": size, "depth": depth, "jobs": jobs,
            "program": program}
           for op, (pattern, bs, depth, jobs) in zip(
               *zip(*[(op, block) for op, block in blocks]))]
    check(name, *(("load", rate * 1e6, one) for rate, one in zip(rates, how)))


def test_crystaldiskmark_and_kdiskmark():
    seq, rnd = ("sequential", MIB), ("random", 4096)
    rows = [(*seq, 8, 1), (*seq, 1, 1), (*rnd, 32, 1), (*rnd, 1, 1)]
    both_ops = [("read", row) for row in rows] + [("write", row) for row in rows]
    marks("cdm.txt", "crystaldiskmark", 64 * MIB,
          (33.064, 32.158, 4.640, 4.202, 6.390, 6.076, 0.014, 0.013), both_ops)
    many = [(op, (*rnd, 32, 16) if row[2] == 32 else row) for op, row in both_ops]
    marks("kdm.txt", "kdiskmark", 128 * MIB,
          (33.010, 32.700, 4.100, 2.328, 7.000, 6.900, 0.014, 0.013), many)
    rows = [("sequential", 128 << 10, 32, 1), (*rnd, 32, 1), (*seq, 1, 1), (*rnd, 1, 1)]
    marks("cdm5.txt", "crystaldiskmark", 1024 * MIB,
          (33.872, 6.100, 4.872, 0.013, 33.100, 6.050, 4.520, 0.013),
          [(op, row) for row in rows for op in ("read", "write")])
    log = log_of("cdm.txt", lambda data: data.replace(b" 0.014 MB/s", b" 0.000 MB/s"))
    assert len(log.points) == 7 and log.left[0].reason == "its rate is shown as 0"
    # a section of its own for a mix, whose rows look like those of writes
    mix = log_of("cdm.txt", lambda data: data.replace(
        b"  Test:", b"[Mix] Read 70%/Write 30%\n  RND    4KiB (Q=  4, T= 2):     9.876 MB/s "
        b"[   2411.1 IOPS] <  3317.00 us>\n\n  Test:"))
    assert len(mix.points) == 8 and [one.reason for one in mix.left] == [
        "is a mix of reads and writes"], mix
    # a comma in front of the fraction
    comma = log_of("kdm.txt", lambda data: data.replace(b".", b","))
    assert [p.values for p in comma.points] == [p.values for p in log_of("kdm.txt").points]


def test_programs_that_fill_a_device():
    how = {"op": "write", "pattern": "sequential", "bs": MIB, "size": 30107 * MIB,
           "program": "h2testw"}
    check("h2.txt", ("load", 17.7 * MIB, how), ("load", 17.9 * MIB, {**how, "op": "read"}))
    german = b"Achtung: Nur 30107 von 30108 MByte getestet.\nSchreibrate: 17,7 MByte/s\n" \
        b"Leserate: 17,9 MByte/s\nH2testw v1.4\n"
    assert said(read_log(german, "x")) == said(log_of("h2.txt"))
    how = {"op": "write", "pattern": "sequential", "bs": MIB, "program": "f3"}
    check("f3w.txt", ("load", 5.23 * MIB, how),
          ("load", 18.11 * MIB, {**how, "op": "read", "bs": 128 << 10}))


def test_a_fake_is_read_to_its_end():
    """f3 reads what is lost as well."""
    lost = b"  Data OK: 1.00 MB (2048 sectors)\nData LOST: 3.00 MB (6144 sectors)\n" \
        b"Average reading speed: 20.88 MB/s\n"
    (p,) = read_log(lost, "x").points
    assert dict(p.parameters)["size"] == 4 * MIB and p.values == (20.88 * MIB,)


def test_hd_tune_pro_says_which_side():
    text = b"HD Tune Pro: Generic STORAGE DEVICE Benchmark\n\nWrite transfer rate\n" \
        b"Transfer Rate Average : 7.7 MB/s\nAccess Time : 24.8 ms\nRead transfer rate\n" \
        b"Transfer Rate Average : 21.5 MB/s\n"
    assert [(dict(p.parameters)["op"], p.values) for p in read_log(text, "x").points] == [
        ("write", (7.7e6,)), ("write", (24.8e6,)), ("read", (21.5e6,))]


def test_hd_tune():
    how = {"op": "read", "pattern": "sequential", "bs": 65536, "size": 256 * MIB, "depth": 1,
           "program": "hdtune"}
    check("hdtune.txt", ("load", 20.1e6, how),
          ("load-latency", 0.9e6, {**how, "pattern": "random", "bs": 512,
                                   "program": "hdtune-access"}),
          left=["does not say at which place of the device"] * 2 + [
              "is about the link and the cache"])


def test_programs_that_are_named():
    for name, program, row in (("bonnie.csv", "bonnie++", "other,write,sequential,1M"),
                               ("diskspd.xml", "diskspd", "other,write,random,4K"),
                               ("sdfat.txt", "SdFat bench", "other,write,sequential,512"),
                               ("sysbench.txt", "sysbench fileio", "other,write,random,16K")):
        log = log_of(name)
        assert log.points == () and [one.what for one in log.left] == [program], (name, log.left)
        assert row in log.left[0].reason and "program,op,pattern,block" in log.left[0].reason
    for text, program in (("1.98,2.00a,vm,1,1796011228,16M,,8192,5,380,19,+++++", "bonnie++"),
                          ("Version 2.00a       ------Sequential Output------ --Seq", "bonnie++"),
                          ("Version  1.03e       ------Sequential Output------ -", "bonnie++"),
                          ("Operations performed:  6000 Read, 4000 Write, 12800 Other = 22800 Total",
                           "sysbench fileio"), ("ATTO Disk Benchmark 4.01", "ATTO"),
                          ("Average Read Rate 20.5 MB/s (100 samples)", "gnome-disks"),
                          ("  Extended CSD rev 1.8 (MMC 5.1)", "mmc extcsd read"),
                          ("Device   r/s   rkB/s  rrqm/s  %rrqm", "sar -d or iostat"),
                          ("12:00:01 AM   DEV       tps     rkB/s", "sar -d or iostat")):
        log = read_log(text.encode(), "x")
        assert [one.what for one in log.left] == [program], (text, log.left, log.skipped)


def test_the_counts():
    """Each line has been counted: taken, left out with the reason, or of nothing."""
    out = good("import", str(LOGS / "fio-rate.json"), str(LOGS / "my8gb.txt"), "-o", "o.json")
    assert out.splitlines() == [
        "fio-rate.json: 1 of fio-latency; 1 left out; 0 of 132 lines skipped",
        "fio-rate.json:1: fio job log, write, rate: rate=1m limits it; the device could do more",
        "my8gb.txt: 2 of dd and 1 of hdparm-t; 1 of 6 lines skipped", "o.json: 4 points"]
    found = good_json("import", str(LOGS / "fio-rate.json"), "-o", "o.json")
    assert found["files"] == [{
        "name": "fio-rate.json", "lines": 132, "skipped": 0, "values": 1, "left_out": [{
            "line": 1, "what": "fio job log, write, rate",
            "reason": "rate=1m limits it; the device could do more"}]}]
    assert schema.load(Path("o.json")).sources[0].left_out == 1
    # fio's normal output alone does not tell, and a command in front does
    said = "fio-fdatasync.txt: 3 figures of fio do not say whether they went through the page " \
        "cache, and count as if not; --fio direct=1 or direct=0 says it"
    words = ("import", str(LOGS / "fio-fdatasync.txt"), "-o", "o.json")
    assert said in good(*words).splitlines() and good_json(*words)["files"][0]["direct_unsaid"] == 3
    assert "page cache" not in good(*words, "--fio", "direct=0")
    assert [dict(p.parameters)["direct"] for p in schema.load(Path("o.json")).points] == [False] * 3
    assert "page cache" not in good("import", str(LOGS / "fio-psync.txt"), "-o", "o.json")
    bad("--fio: my8gb.txt has no result of fio", "import", str(LOGS / "my8gb.txt"), "-o", "x.json",
        "--fio", "rw=read")
    bad("bs=4q has no meaning", "import", str(LOGS / "fio2.json"), "-o", "x.json", "--fio",
        "rw=read bs=4q")


run(globals())
