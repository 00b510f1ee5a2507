#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""trace=FILE: what a server records, and that a replay of it is the same device's life."""

import errno
import os
import tempfile
import threading
import time

from flashemu_server import PLUGIN, Ctl, Server, fails, has_all, refused, run, run_nbdkit
from flashemu_tool import bad, call, good, good_json

KB = 1024
GEN = ("gen", "random", "--count", "1", "--force", "-o")
OPTIONS = ("device.discard=yes", "cache.size=64K")


class Record:
    def __init__(self, line):
        words = line.split()
        self.time, self.op = int(words[0]), words[1]
        self.offset, self.len = int(words[2]), int(words[3])
        self.fua = "fua" in words
        rest = dict(word.split("=") for word in words[4:] if "=" in word)
        self.done, self.status = int(rest["done"]), rest.get("status", "ok")
        self.work = [int(rest.get(key, 0)) for key in ("programmed", "collections", "merges")]

    def request(self):
        return self.op, self.offset, self.len, self.fua


def records_of(path):
    with open(path) as f:
        lines = f.read().splitlines()
    assert lines[0] == "# flashemu trace 1", lines[:1]
    if "# end: the last line is '# end'" in lines and lines[-1] == "# end":
        lines.pop()
    records = [line for line in lines if not line.startswith("#")]
    assert lines[len(lines) - len(records):] == records  # what the file says of itself comes first
    return [Record(line) for line in records]


def replay(path, *options):
    return good_json("replay", "ssd-page", path, "--json", *options)


class Folder:
    def __enter__(self):
        self.folder = tempfile.TemporaryDirectory(prefix="fe")
        self.trace = os.path.join(self.folder.name, "trace")
        return self

    def __exit__(self, *exc):
        self.folder.cleanup()


def test_requests_and_their_times():
    with Folder() as f:
        with open(f.trace, "w") as old:
            old.write("# flashemu trace 1\n0 read 0 512 done=1\n")
        with Server("ssd-page", "clock=virtual", "trace=" + f.trace, *OPTIONS) as s:
            h = s.connect()
            h.pwrite(bytes(8 * KB), 64 * KB)
            h.pwrite(bytes(4 * KB), 0, 1)  # FUA
            h.pread(512, 512)
            h.trim(4 * KB, 64 * KB)
            h.flush()
            with fails(errno.EINVAL):  # nothing that the device has seen
                h.set_strict_mode(0)
                h.pwrite(bytes(100), 0)
            h.shutdown()
            busy = s.stats()["busy_ns"]
            assert s.terminate() == 0
        got = records_of(f.trace)
        assert [r.request() for r in got] == [
            ("write", 64 * KB, 8 * KB, False), ("write", 0, 4 * KB, True),
            ("read", 512, 512, False), ("trim", 64 * KB, 4 * KB, False), ("flush", 0, 0, False)]
        assert all(r.status == "ok" and r.done >= r.time for r in got)
        assert [r.time for r in got[1:]] == [r.done for r in got[:-1]]  # nobody paused
        assert replay(f.trace, *OPTIONS)["busy_ns"] == busy > 0


def test_a_trace_says_where_it_comes_from():
    with Folder() as f:
        with Server("ssd-page", "clock=virtual", "trace=" + f.trace, "link.queue_depth=3",
                    "seed=7") as s:
            s.terminate()
        with open(f.trace) as file:
            told = dict(line[2:].rstrip().split(": ", 1) for line in list(file)[1:-1])
        assert told.pop("end") == "the last line is '# end'"
        assert told["profile"] == "ssd-page" and told["seed"] == "7", told
        assert told["overrides"] == "link.queue_depth=3" and told["version"], told
        assert "nbdkit" in told["command"] and "link.queue_depth=3" in told["command"], told


def test_marks_and_what_was_written():
    with Folder() as f:
        data = f.trace + ".data"
        with Server("ssd-page", "clock=virtual", "trace=" + f.trace, "trace-data=" + data,
                    *OPTIONS) as s, Ctl(s.control) as ctl:
            h = s.connect()
            h.pwrite(bytes([5]) * 8 * KB, 4 * KB)
            h.flush()
            said = ctl.ask("mark", "record", "1")
            assert said["ok"], said
            with open(f.trace) as file:  # while the server runs
                assert file.read().endswith("mark record 1\n")
            h.pwrite(bytes([5]) * 4 * KB, 0)
            assert ctl.ask("mark", "record 2")["ok"]
            for wrong in ("two\nlines", "", " x", "m" * 401):
                assert "mark: must be 1 to 400 bytes" in ctl.ask("mark", wrong)["error"]
            h.shutdown()
            assert s.terminate() == 0
        with open(f.trace) as file:
            lines = [line.split() for line in file if not line.startswith("#")]
        assert [line[1] for line in lines] == ["write", "flush", "mark", "write", "mark"], lines
        assert lines[2] == [str(said["device_ns"]), "mark", "record", "1"]
        places = [line[-1] for line in lines if line[1] == "write"]
        # One block of 4 KiB, a list of two, and a list of one; the records' heads have 12 bytes.
        assert places == ["data=%d" % (18 + 12 + 4096), "data=%d" % (18 + 12 + 4096 + 12 + 16)]
        assert os.path.getsize(data) == 18 + 12 + 4096 + 12 + 16 + 12 + 8
        with open(f.trace) as file:
            assert "# data: trace.data\n" in file.read()


def test_a_mark_without_a_trace():
    with Server("ssd-page", "clock=virtual") as s, Ctl(s.control) as ctl:
        assert "trace=FILE" in ctl.ask("mark", "x")["error"]


def test_a_replay_is_the_same_life():
    """More than the recorder keeps back; collections included."""
    with Folder() as f:
        params = ("nand.blocks_per_plane=16", "ftl.op=30%")
        with Server("ssd-page", "clock=virtual", "trace=" + f.trace, *params) as s:
            h = s.connect()
            pages = h.get_size() // (4 * KB)
            for i in range(3 * pages):
                h.pwrite(bytes(4 * KB), i * 7919 % pages * 4 * KB)
            h.shutdown()
            want = s.stats()
            assert s.terminate() == 0
        records = records_of(f.trace)
        assert len(records) == 3 * pages
        work = [sum(column) for column in zip(*(r.work for r in records))]
        assert work == [want["nand"]["bytes_programmed"], want["ftl"]["gc_runs"], 0], work
        again = os.path.join(f.folder.name, "again")
        got = replay(f.trace, *params, "--record", again)
        assert [r.work for r in records_of(again)] == [r.work for r in records]
        assert want["ftl"]["gc_runs"] > 0
        for key in ("busy_ns", "host", "nand", "ftl", "wear"):
            assert got[key] == want[key], key


def test_many_clients_in_the_order_of_the_device():
    with Folder() as f:
        with Server("ssd-page", "time-scale=0.01", "trace=" + f.trace) as s:
            def client(k):
                h = s.connect()
                for i in range(200):
                    h.pwrite(bytes(4 * KB), (200 * k + i) * 4 * KB)

            threads = [threading.Thread(target=client, args=(k,)) for k in range(6)]
            for t in threads:
                t.start()
            for t in threads:
                t.join()
            busy = s.stats()["busy_ns"]
            assert s.terminate() == 0
        got = records_of(f.trace)
        assert sorted(r.offset for r in got) == [4 * KB * i for i in range(1200)]
        assert all(a.time <= b.time for a, b in zip(got, got[1:]))
        assert replay(f.trace, "--timed")["busy_ns"] == busy


def test_power_that_fails_during_the_wait():
    with Folder() as f:
        with Server("ssd-page", "time-scale=10000", "trace=" + f.trace) as s:
            def write():
                with fails(errno.EIO):
                    s.connect().pwrite(bytes(4 * KB), 0)  # 320 us, dilated to 3 s

            t = threading.Thread(target=write)
            t.start()
            while s.stats()["host"]["write"]["ops"] == 0:
                pass
            assert s.ctl("power-cut")["ok"]
            t.join()
            assert s.terminate() == 0
        (got,) = records_of(f.trace)
        assert got.request() == ("write", 0, 4 * KB, False) and got.status == "no-power"


def test_into_the_background():
    """The file is named by the folder that the server was started in, and has one beginning."""
    with Folder() as f:
        folder = f.folder.name
        code, _, err = run_nbdkit("-U", "nbd", "-P", os.path.join(folder, "pid"), PLUGIN, "ideal",
                                  "control=ctl", "trace=trace", cwd=folder)
        assert code == 0, err
        with Ctl(os.path.join(folder, "ctl")) as c:
            assert c.ask("quit")["ok"]
            assert c.line() is None
        assert records_of(f.trace) == []


def test_files_that_cannot_be_written():
    has_all(refused("ideal", "trace="), "^trace=: ", "path of the trace")
    has_all(refused("ideal", "trace=/no/such/folder"), "^trace=/no/such/folder: No such file")
    has_all(refused("ideal", "trace=/tmp"), "^trace=/tmp: Is a directory")
    has_all(refused("ideal", "trace=/dev/full"), "^trace=/dev/full: No space left")
    with Folder() as f:
        os.mkfifo(f.trace)
        reader = os.open(f.trace, os.O_RDONLY | os.O_NONBLOCK)
        with Server("ideal", "trace=" + f.trace) as s:
            os.close(reader)
            h = s.connect()
            for _ in range(5000):
                h.pread(512, 0)
            h.shutdown()
            assert s.terminate() == 0
            has_all(s.text(), "note: .*trace: Broken pipe")
            assert s.text().count("note: ") == 1 and s.text().count("trace: Broken pipe") == 1


def test_a_file_that_is_no_trace_stays():
    with Folder() as f:
        with open(f.trace, "w") as old:
            old.write("what was there before\n")
        has_all(refused("ideal", "trace=" + f.trace), "^trace=.*: the file is not a flashemu trace",
                "not overwritten; allowed: a new file")
        with open(f.trace) as old:
            assert old.read() == "what was there before\n"
        # not even the image that the same command line names
        image = os.path.join(f.folder.name, "image")
        with Server("ideal", "size=1M", "file=" + image) as s:
            s.connect().pwrite(b"a" * 512, 0)
        has_all(refused("ideal", "size=1M", "file=" + image, "trace=" + image),
                "^trace=.*image: is file= as well")
        other = os.path.join(f.folder.name, ".", "image")
        has_all(refused("ideal", "size=1M", "file=" + image, "trace=" + other),
                "^trace=.*image: the file is not a flashemu trace")
        with Server("ideal", "size=1M", "file=" + image) as s:
            assert s.connect().pread(512, 0) == b"a" * 512


def test_a_trace_has_one_server():
    with Folder() as f:
        with Server("ideal", "trace=" + f.trace) as s:
            h = s.connect()
            h.pread(512, 0)
            has_all(refused("ideal", "trace=" + f.trace),
                    "^trace=.*: is in use by another flashemu server or tool$")
            h.pread(512, 512)
            assert s.terminate() == 0
        assert [r.offset for r in records_of(f.trace)] == [0, 512]
        with Server("ideal", "trace=" + f.trace) as s: # a server that has ended has it no more
            s.connect().pread(512, 1024)
            assert s.terminate() == 0
        assert [r.offset for r in records_of(f.trace)] == [1024]


def test_no_command_replaces_what_a_server_writes():
    """A rename would leave the server with a file that has no name, and its trace would be lost."""
    with Folder() as f:
        image = os.path.join(f.folder.name, "image")
        with Server("ideal", "size=1M", "trace=" + f.trace, "file=" + image) as s:
            s.connect().pread(512, 0)
            for path in (f.trace, image):
                bad(path + ": is in use by another flashemu server or tool", *GEN, path)
            assert s.terminate() == 0
        assert [r.offset for r in records_of(f.trace)] == [0]
        good(*GEN, f.trace) # of a server that has ended


def test_a_stalled_disk_ends_the_trace_and_not_the_device():
    """Nobody reads the pipe.  The trace ends, and says so once; the device goes on."""
    with Folder() as f:
        os.mkfifo(f.trace)
        reader = os.open(f.trace, os.O_RDONLY | os.O_NONBLOCK)
        with Server("ideal", "clock=virtual", "trace=" + f.trace) as s:
            h = s.connect()
            n = 80000  # the pipe itself takes some 5000 records of 13 bytes
            for _ in range(n):
                h.pread(512, 0)
            trace = s.stats()["trace"]
            assert list(trace) == ["file", "records", "lost", "ended"], trace
            assert trace["file"] == f.trace and trace["records"] + trace["lost"] == n
            assert trace["records"] >= 65536 and trace["lost"] > 0
            has_all(trace["ended"],
                    "^trace=.*: the trace ends after %d requests" % trace["records"])
            h.shutdown()
            os.set_blocking(reader, True)
            s.proc.terminate()
            with os.fdopen(reader) as pipe:
                lines = pipe.read().splitlines()
            assert s.wait() == 0
            lines = [line for line in lines if not line.startswith("#")]
            assert len(lines) == trace["records"] and lines[-1].startswith("%d read" % 0)
            assert s.text().count("the trace ends after") == 1, s.text()


MISSING = ("requests are missing at its end: what wrote it still runs, was killed, or could not write "
           "more, as on a full disk")


def said_of(trace):
    """What trace, replay, cuts and report say of a trace, which must be the same; "" if nothing."""
    page = trace + ".html"
    notes = set()
    for words in (["trace", trace], ["replay", "ideal", trace], ["cuts", "ideal", trace, "--cuts", "1"],
                  ["report", trace, "-o", page]):
        code, _, err = call(*words)
        assert code == 0, (words, err)
        notes.add(err)
        assert call(*words, "-q")[2] == "", words
    assert len(notes) == 1, notes
    with open(page) as file:
        assert (MISSING in file.read()) == (notes != {""}), notes
    return notes.pop()


def test_a_trace_that_was_cut_off_says_so():
    """By a disk that becomes full, by kill -9, and while the server runs; no trace that has ended."""
    for end in ("whole", "runs", "killed", "full", "torn"):
        with Folder() as f:
            limit = ["prlimit", "--fsize=8192"] if end == "full" else []
            with Server("ideal", "clock=virtual", "trace=" + f.trace, before=limit) as s:
                h = s.connect()
                for i in range(1000):
                    h.pread(512, 512 * i)
                    while i == 99 and os.path.getsize(f.trace) < 1000:  # it is behind by a pause
                        time.sleep(0.01)
                while end != "full" and os.path.getsize(f.trace) < 7000:
                    time.sleep(0.01)
                h.shutdown()
                if end == "runs":
                    assert said_of(f.trace) == "flashemu: note: %s: %s\n" % (f.trace, MISSING)
                if end == "full":
                    while not s.stats()["trace"]["ended"]:
                        time.sleep(0.01)
                    assert "File too large" in s.stats()["trace"]["ended"]
                if end == "killed":
                    s.proc.kill()
                    s.wait()
                else:
                    assert s.terminate() == 0
            if end == "torn":  # as `flashemu trace` leaves it behind > on a full disk
                code, out, _ = call("trace", f.trace)
                text = out[:-len("12 512\n# end\n")]
                with open(f.trace, "w") as file:
                    file.write(text)
                code, _, err = call("trace", f.trace)
                line = text.count("\n") + 1
                assert code == 2 and err.startswith("flashemu: %s:%d: " % (f.trace, line)), err
                assert err.endswith("; the file ends within this line\n"), err
            elif end in ("whole", "runs"):
                with open(f.trace) as file:
                    assert file.read().count(" read ") == 1000
                assert said_of(f.trace) == ""
            else:
                assert said_of(f.trace) == "flashemu: note: %s: %s\n" % (f.trace, MISSING), end
            if end in ("whole", "full"):  # what is made of a trace says the same
                copy = f.trace + ".copy"
                assert call("trace", f.trace, "-o", copy)[0] == 0
                assert said_of(copy).replace(".copy", "") == said_of(f.trace)


def test_a_last_line_without_an_end():
    """Of a trace that somebody typed it is none of our business."""
    with Folder() as f:
        for first, note in (("", False), ("# version: 0.3.0\n", True)):
            with open(f.trace, "w") as file:
                file.write("# flashemu trace 1\n" + first + "0 read 0 512\n0 read 512 512")
            assert (MISSING in call("trace", f.trace)[2]) == note


def test_stats_of_a_trace_that_goes_on():
    with Folder() as f:
        with Server("ideal", "trace=" + f.trace) as s:
            s.connect().pread(512, 0)
            assert s.stats()["trace"] == {"file": f.trace, "records": 1, "lost": 0, "ended": None}
        with Server("ideal") as s:
            assert "trace" not in s.stats()


run(globals())
