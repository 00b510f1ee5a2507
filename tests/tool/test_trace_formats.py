#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""flashemu trace on the files that other programs make: those of tests/data/traces, and others."""

import bz2
import gzip
import lzma
import os
import struct

from flashemu_script import run
from flashemu_tool import bad, call, trace_formats, trace_lines, write

DATA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../data/traces")

# The requests of each file, with what was recorded, and what standard error says.
BLKPARSE = ["2000 write 1048576 4096 stream=1234 done=900000",
            "1002000 read 2097152 8192 stream=1234 done=1900000"]
FILES = {
    "blkparse-piped.txt": (BLKPARSE, "5 events"),
    "blkparse-1.3.0.txt": (BLKPARSE, "5 events"),
    "blkparse-terminal.txt": (BLKPARSE, "5 events"),
    "blkparse-2cpus.txt": (BLKPARSE, "5 events"),
    "sdz.blktrace.0": (BLKPARSE, "6 events"),
    "alibaba.csv": (["0 read 126703661056 4096"], ":2: requests of a second device 1 after 0"),
    "tencent.csv": (["0 read 6610407424 65536"], ":2: requests of a second device 1088 after 1063"),
    "biotracer.txt": (["0 write 3611295744 4096 done=800000"], ""),
    "disksim.trace": (["551706 write 10721927168 8192", "554041 read 10721198080 8192"], ""),
    "mqsim.trace": (["4253 write 16384 4096", "10000 read 32768 8192"], ""),
    "fin.spc": (["551706000 write 10721927168 8192", "554041000 write 10721198080 8192"], ""),
    "fiu.trace": (["0 write 462983966720 4096 stream=4892"], ""),
    "systor.csv": (["0 read 899056122368 131072 done=806000",
                    "900000 write 899056253440 4096 done=2706000"], ""),
    "biosnoop.txt": (["0 write 2415603712 4096 stream=128 done=3210000",
                      "14300000 read 4194304 16384 stream=901 done=15210000"], ""),
    "ftrace.txt": (["0 flush 0 0 stream=89",
                    "0 write 2415603712 4096 fua stream=89 done=269655000",
                    "801675000 read 3778924544 4096 stream=123"], "1 events"),
    "perf.txt": (["0 write 2415603712 4096 stream=128"], ""),
    "msr.csv.xz": ([], ":1: compressed by xz; decompress it first: xz -dc FILE | flashemu replay"),
    "sda.blktrace.0": ([], "blktrace's own file, without events of kind D; blkparse -i"),
}


def requests_of(*words):
    """Standard error may count events that were not asked for."""
    code, out, err = call("trace", *words)
    assert code == 0, (words, err)
    return trace_lines(out)


def test_files_of_other_programs():
    assert set(FILES) | {"iolog.txt"} == set(os.listdir(DATA))
    for name, (requests, told) in FILES.items():
        code, out, err = call("trace", os.path.join(DATA, name))
        assert (trace_lines(out) if out else []) == requests, (name, out)
        assert told in err if told else err == "", (name, err)
        assert code == (2 if ": " in err and "events were" not in err else 0), (name, code, err)


def test_one_of_several_devices():
    assert requests_of("--from-device", "1", os.path.join(DATA, "alibaba.csv")) == [
        "0 write 19496058880 77824"]
    assert requests_of("--from-device", "1088", os.path.join(DATA, "tencent.csv")) == [
        "0 write 3154148864 8192"]


def test_an_iolog_with_sync_file_range():
    code, out, err = call("trace", os.path.join(DATA, "iolog.txt"))
    requests = [line.split() for line in trace_lines(out)]
    with open(os.path.join(DATA, "iolog.txt"), encoding="ascii") as f:
        lines = f.read().split("\n")
    syncs = sum(" sync_file_range " in line for line in lines)
    assert code == 0 and syncs > 10, err
    assert "%d events were not the requests asked for" % syncs in err, err
    assert len(requests) == sum(" write " in line for line in lines)
    assert {r[1] for r in requests} == {"write"}


def test_formats_that_are_only_read():
    write("t", "# flashemu trace 1\n0 write 0 4096\n")
    for name in set(trace_formats()) - set(trace_formats(written=True)):
        told = "the format %s can be read, not written" % name
        bad(told, "trace", "t", "--to", name, "-o", "out")
        bad(told, "gen", "random", "--format", name)
        assert not os.path.exists("out")


def test_compressed_traces():
    text = b"128166372003061629,usr,0,Read,512,1024,10\n" * 99
    for name, data, command in (("t.xz", lzma.compress(text), "xz -dc FILE"),
                                ("t.bz2", bz2.compress(text), "bzip2 -dc FILE"),
                                ("t.zst", b"\x28\xb5\x2f\xfd" + bytes(99), "zstd -dc FILE"),
                                ("t.gz", gzip.compress(text), None)):
        with open(name, "wb") as f:
            f.write(data)
        if command:
            for words in (["trace", name], ["replay", "ideal", name]):
                assert command in bad(name + ":1: compressed by ", *words)
        else:
            assert len(requests_of(name)) == 99


def log_writes(*entries):
    """A log as the kernel writes it: (sector, sectors, flags, what was written, mark)."""
    log = struct.pack("<QQQI", 0x6a736677736872, 1, len(entries), 512).ljust(512, b"\0")
    for sector, n, flags, data, mark in entries:
        log += (struct.pack("<QQQQ", sector, n, flags, len(mark)) + mark).ljust(512, b"\0") + data
    return log


def test_logs_of_dm_log_writes_with_their_data():
    """There and back: a log is a trace with data, and the same log again."""
    log = log_writes((8, 2, 0, bytes(range(256)) * 4, b""), (0, 0, 1, b"", b""), (96, 64, 4, b"", b""),
                     (0, 0, 8, b"", b"file-7"), (15, 10, 2, b"x" * 2048 + b"y" * 3072, b""))
    with open("log", "wb") as f:
        f.write(log + b"what was there before")
    requests = ["0 write 4096 1024", "0 flush 0 0", "0 trim 49152 32768", "0 mark file-7",
                "0 write 7680 5120 fua"]
    assert requests_of("log") == requests
    os.mkdir("there")
    assert call("trace", "log", "--to-data", "log.data", "-o", "there/t")[0] == 0
    with open("there/t", encoding="ascii") as f:
        assert "\n# data: log.data\n" in f.read()
    for to in ("text", "binary"):  # by way of another file of data, and of another form
        call("trace", "log", "--to-data", "there/d", "--to", to, "-o", "there/" + to)
        with open("there/" + to, "rb") as f:
            assert b"\n# data: d\n" in f.read()
        assert call("trace", "there/" + to, "--to", "dm-log-writes", "-o", "again")[0] == 0
        with open("again", "rb") as f:
            assert f.read() == log, to
        os.remove("again")
    assert [r.split(" data=")[0] for r in requests_of("there/t", "--data", "log.data")] == requests
    os.rename("there/d", "d")
    bad("there/d: No such file", "trace", "there/text", "--to", "dm-log-writes", "-o", "again")
    assert call("trace", "there/text", "--data", "d", "--to", "dm-log-writes", "-o", "again")[0] == 0
    with open("d", "r+b") as f:
        f.seek(40)
        f.write(b"spoilt")
    for words in ((), ("--to", "dm-log-writes"), ("--to-data", "x.data")):
        bad("is damaged", "trace", "there/text", "--data", "d", "-o", "x", *words)
    assert not os.path.exists("x") and not os.path.exists("x.data")


def test_what_cannot_be_with_data():
    with open("log", "wb") as f:
        f.write(log_writes((8, 1, 0, bytes(512), b"")))
    write("t", "# flashemu trace 1\n0 write 0 4096 data=22\n")
    bad("t:2: the trace does not say what was written", "trace", "t", "--to-data", "d", "-o", "o")
    bad("a write whose data the trace does not have", "trace", "t", "--to", "dm-log-writes", "-o", "o")
    bad("--data d: log has in itself what was written", "trace", "log", "--data", "d")
    bad("the format iolog has no places of data", "trace", "log", "--to", "iolog", "--to-data", "d")
    bad("log: is also the input", "trace", "log", "--to-data", "log")
    bad("because its first sector counts", "trace", "log", "--to", "dm-log-writes")
    assert call("trace", "t", "--to", "dm-log-writes", "--lossy", "-o", "o")[0] == 0
    assert os.path.getsize("o") == 512


def event(time, what, sector, size, flags=0, big=False, follow=b""):
    return struct.pack((">" if big else "<") + "IIQQIIIIIHH", 0x65617407, 1, time, sector, size,
                       what | flags << 16, 7, 8 << 20, 0, 0, len(follow)) + follow


def test_the_files_of_all_processors():
    """Read as one, in order of time: the first event is not on the first processor, and a request
    ends on another processor than it began."""
    issue, complete, writes, flush = 7, 8, 2, 4
    for big in (False, True):
        with open("x.blktrace.3", "wb") as f:
            f.write(event(500, 0, 0, 0, 1 << 10, big, b"name") +
                    event(1000, issue, 8, 4096, writes, big) +
                    event(9000, issue, 16, 512, 0, big, b"abc") +
                    event(9500, complete, 16, 512, 0, big))
        with open("x.blktrace.0", "wb") as f:
            f.write(event(2000, issue, 0, 0, flush, big) +
                    event(3000, issue, 32, 1024, writes, big) +
                    event(4000, complete, 8, 4096, writes, big))
        for name in ("x.blktrace.0", "x.blktrace.3"):
            assert requests_of(name) == [
                "0 write 4096 4096 stream=7 done=3000",
                "1000 flush 0 0 stream=7",
                "2000 write 16384 1024 stream=7",
                "8000 read 8192 512 stream=7 done=8500"], (big, name)
    with open("x.blktrace.0", "rb") as f:
        whole = f.read()
    with open("y.blktrace.0", "wb") as f:
        f.write(whole)
    with open("y.blktrace.1", "wb") as f:
        f.write(whole[:-20])
    assert "ends in the middle of an event" in call("trace", "y.blktrace.0")[2]
    os.remove("y.blktrace.1")
    assert len(requests_of("y.blktrace.0")) == 2
    os.rename("y.blktrace.0", "z")  # as blktrace -o - prints it
    assert len(requests_of("z")) == 2


run(globals())
