#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""flashemu cuts: every state after a power cut, against what the device had promised.

Each sector that request i writes says "version i of sector s", as in tests/crash.  At an instant a
sector may hold the last version that was promised, or a later one that the host has asked for.  What is
promised is computed here from the times of a plain replay."""

import os
import random

import flashemu_data
from flashemu_script import run
from flashemu_tool import bad, call, good, good_json, read, trace_lines, write

SECTOR = 512
# A small device: a chip of two dies.
PROFILE = """[device]
capacity = 128K
discard = %s
[nand]
cell = slc
dies_per_channel = 2
blocks_per_plane = 16
pages_per_block = 8
page_size = 2K
oob_size = 64
tR = 30us
tPROG = 300us
tBERS = 3ms
bus_rate = 40MB/s
[ftl]
type = %s
"""
# Strategy, whether it has TRIM, and further keys.
DEVICES = {
    "page": ("page", "yes"),
    "page, cached": ("page", "yes", "cache.size=16K"),
    "page, safe cache": ("page", "yes", "cache.size=16K", "cache.volatile=no"),
    "dftl": ("dftl", "yes", "ftl.map_cache=512", "cache.size=8K"),
    "bast": ("bast", "no", "ftl.unit_size=16K"),
    "segment": ("segment", "no", "ftl.unit_size=16K"),
}


def device_of(name):
    """The words that say which device it is."""
    strategy, trims, *keys = DEVICES[name]
    return [write(strategy + ".ini", PROFILE % (trims, strategy)), *keys]


class Request:
    def __init__(self, op, sector=0, n=0, fua=False):
        self.op, self.sector, self.n, self.fua = op, sector, n, fua
        self.arrival = self.done = 0


def content(sector, version):
    return (sector.to_bytes(8, "little") + version.to_bytes(8, "little")) * (SECTOR // 16)


def make_work(path, seed, n_sectors, count, trims):
    """A trace of `count` requests with a mark in front of each fifth one."""
    r, trace, requests = random.Random(seed), flashemu_data.Writer(path), []
    for i in range(1, count + 1):
        kind, at, n = r.random(), r.randrange(n_sectors - 8), r.randint(1, 8)
        if kind < 0.15:
            requests.append(Request("flush"))
            trace.line(0, "flush", 0, 0)
        elif kind < 0.25 and trims:
            requests.append(Request("trim", at, n))
            trace.line(0, "trim", at * SECTOR, n * SECTOR)
        else:
            at = r.randrange(12) if kind < 0.6 else at
            requests.append(Request("write", at, n, r.random() < 0.1))
            trace.write(at * SECTOR, b"".join(content(at + k, i) for k in range(n)),
                        words="fua" if requests[-1].fua else "")
        if i % 5 == 0:
            trace.line(0, "mark", "number", i)
    trace.close()
    return requests


def take_times(requests, trace, device):
    good("replay", device[0], trace, *device[1:], "--record", trace + ".times")
    lines = [line.split() for line in trace_lines(read(trace + ".times")) if " mark " not in line]
    assert len(lines) == len(requests)
    for request, words in zip(requests, lines):
        request.arrival = int(words[0])
        request.done = int(dict(w.split("=") for w in words if "=" in w).get("done", 0))


def is_promised(requests, i, at, volatile):
    request = requests[i]
    if request.done <= at and (not volatile or request.fua):
        return True
    return any(f.op == "flush" and f.done <= at and request.done <= f.arrival
               for f in requests[i + 1:])


class Oracle:
    """What a sector may hold at an instant."""

    def __init__(self, requests, n_sectors, volatile):
        self.requests, self.n_sectors, self.volatile = requests, n_sectors, volatile

    def versions(self, last, at):
        """Of each sector: the version that is promised, and the set of those that are possible."""
        least, may = [0] * self.n_sectors, [{0} for _ in range(self.n_sectors)]
        for i, request in enumerate(self.requests[:last]):
            if request.op == "flush":
                continue
            promised = is_promised(self.requests, i, at, self.volatile)
            for s in range(request.sector, request.sector + request.n):
                version = -(i + 1) if request.op == "trim" else i + 1
                may[s] = {version} if promised else may[s] | {version}
                least[s] = version if promised else least[s]
        return least, may

    def base(self, last):
        image = bytearray(self.n_sectors * SECTOR)
        for i, request in enumerate(self.requests[:last]):
            for s in range(request.sector, request.sector + request.n):
                new = content(s, i + 1) if request.op == "write" else bytes(SECTOR)
                image[s * SECTOR:(s + 1) * SECTOR] = new
        return bytes(image)

    def check(self, state, image):
        """The number of sectors that have not what the host has asked for last."""
        _, may = self.versions(state["request"], state["time_ns"])
        base, old = self.base(state["request"]), 0
        for s in range(self.n_sectors):
            got = image[s * SECTOR:(s + 1) * SECTOR]
            old += got != base[s * SECTOR:(s + 1) * SECTOR]
            allowed = [content(s, v) if v > 0 else bytes(SECTOR) for v in may[s]]
            assert got in allowed, (state["id"], s, may[s], got[8:16])
        return old


def cuts(trace, device, *options):
    return good_json("cuts", device[0], trace, *device[1:], "--json", *options)


def enumerate_states(name, seed, count=60):
    """Enumerates all states of a device and a work; (result, states, images, oracle)."""
    device = device_of(name)
    n_sectors = 256
    trace = "%s-%d" % (name.replace(" ", ""), seed)
    requests = make_work(trace, seed, n_sectors, count, DEVICES[name][1] == "yes")
    take_times(requests, trace, device)
    oracle = Oracle(requests, n_sectors, name in ("page, cached", "dftl"))
    result = cuts(trace, device, "--states", trace + ".states", "--second", "3")
    found = flashemu_data.states(trace + ".states")
    data = flashemu_data.Data(trace + ".states.data")
    images = [flashemu_data.image_of(s, oracle.base(s["request"]), data) for s in found]
    return trace, result, found, images, oracle


def test_every_state_keeps_what_was_promised():
    for name in DEVICES:
        lost = 0
        for seed, count in ((1, 60), (2, 60), (3, 60)) if "ftl.unit_size=16K" not in \
                DEVICES[name] else ((1, 20),):
            _, result, found, images, oracle = enumerate_states(name, seed, count)
            assert result["requests"] == count and result["marks"] == count // 5, result
            assert result["failed"] == result["dead"] == result["unreadable"] == 0, result
            assert result["cases"] == len(found) >= result["states"] > 20, (name, result)
            assert result["states"] == len(set(images)), (name, result)
            assert len({(s["hash"], s["marks"]) for s in found}) == len(found)
            assert len({s["hash"] for s in found}) == result["states"]
            lost += sum(oracle.check(s, image) > 0 for s, image in zip(found, images))
        # Power cuts do lose what was not promised, unless a capacitor keeps it.
        assert (lost > 0) == (name != "page, safe cache"), (name, lost)


def test_a_cut_alone_is_the_same_state():
    trace, _, found, images, _ = enumerate_states("dftl", 4, 25)
    device = device_of("dftl")
    twice = [s for s in found if s["id"].count(":") > 3]
    assert twice, found
    chosen = random.Random(5).sample(range(len(found)), 12) + [found.index(s) for s in twice[:4]]
    for i in chosen + [0, len(found) - 1]:
        state = found[i]
        got = cuts(trace, device, "--state", state["id"], "-o", "image")
        assert got["hash"] == state["hash"] and got["marks"] == state["marks"], (got, state)
        with open("image", "rb") as f:
            assert f.read() == images[i], state["id"]


def test_the_result_does_not_depend_on_processes():
    trace, _, _, _, _ = enumerate_states("dftl", 6, 30)
    device = device_of("dftl")
    results = []
    for jobs in ("1", "2", "5"):
        result = cuts(trace, device, "--jobs", jobs, "--states", "s", "--second", "3")
        del result["command"]
        with open("s.data", "rb") as f:
            results.append((result, read("s"), f.read()))
    assert results[0] == results[1] == results[2]


def test_marks_are_told_with_the_cuts_behind_them():
    trace = flashemu_data.Writer("marked")
    trace.write(0, content(0, 1))
    trace.line(0, "mark", "one")
    trace.line(0, "mark", "two")
    trace.write(SECTOR * 64, content(64, 2))
    trace.line(0, "mark", "three")
    trace.close()
    result = cuts("marked", device_of("page"), "--states", "s", "--second", "0", "--jobs", "1")
    told = [(s["id"].split(":", 1)[1], s["marks"]) for s in flashemu_data.states("s")]
    # The new device; the first write torn or not begun, which is the same, or done but not answered
    # yet; the two marks behind it; likewise the second write.
    assert told == [("0:end", 0), ("1:0:2", 0), ("1:end", 2), ("2:0:2", 2), ("2:end", 3)], told
    assert result["states"] == 3 and result["cases"] == 5 and result["instants"] == 10, result
    assert cuts("marked", device_of("page"), "--cuts", "4")["cuts"] == 4
    for behind, instants, ids in (("2", 6, told[2:]), ("3", 2, told[4:])):
        result = cuts("marked", device_of("page"), "--states", "s", "--second", "0", "--behind", behind)
        assert result["instants"] == result["cuts"] == instants, result
        assert [(s["id"].split(":", 1)[1], s["marks"]) for s in flashemu_data.states("s")] == ids
    bad("--behind 4: marked has 3 marks", "cuts", "ssd-page", "marked", *device_of("page")[1:],
        "--behind", "4")


def test_recorded_times_decide_with_timed():
    trace = flashemu_data.Writer("timed")
    for i in range(8):
        trace.write(SECTOR * 8 * i, content(8 * i, i + 1), time=100 * i)
    trace.close()
    device = device_of("page") + ["link.queue_depth=4"]
    alone = cuts("timed", device, "--second", "0")
    together = cuts("timed", device, "--second", "0", "--timed")
    assert alone["recording"] != together["recording"]
    assert together["states"] > alone["states"] == 9, (together, alone)


def test_ids_of_something_else():
    trace = flashemu_data.Writer("one")
    trace.write(0, content(0, 1))
    trace.close()
    device = device_of("page")
    mine = cuts("one", device)["recording"]
    for other in (("seed=2",), ("nand.tPROG=301us",), ("--timed",)):
        assert cuts("one", device, *other)["recording"] != mine, other
    assert cuts("one", device, "--seed", "2")["recording"] == cuts("one", device, "seed=2")["recording"]
    for name, words in (("seed", ("seed=2", "seed=2")), ("option --seed", ("--seed", "2", "--seed", "2")),
                        ("seed", ("--seed", "2", "seed=2")), ("size", ("size=64K", "size=64K"))):
        bad(name, "cuts", device[0], "one", *words)
    for wrong in ("x:1:end", mine, mine + ":1", mine + ":1:0", mine + ":1:0:3", mine + ":1:end:0:1:2",
                  mine + ":1:0:1:end", mine + ":-1:end"):
        bad("ids begin with " + mine, "cuts", device[0], "one", *device[1:], "--state", wrong, "-o", "i")
    for none in (mine + ":2:end", mine + ":1:7:0", mine + ":0:idle", mine + ":1:0:1:99:0"):
        bad("there is no such cut", "cuts", device[0], "one", *device[1:], "--state", none, "-o", "i")
    assert not os.path.exists("i")


def test_what_cannot_be_enumerated():
    device = device_of("page")
    write("plain", "# flashemu trace 1\n0 write 0 512\n")
    bad("plain:2: the trace does not say what was written", "cuts", device[0], "plain", *device[1:])
    write("unnamed", "# flashemu trace 1\n0 write 0 512 data=18\n")
    bad("unnamed: is a trace without data", "cuts", device[0], "unnamed", *device[1:])
    write("gone", "# flashemu trace 1\n# data: nowhere\n0 write 0 512 data=18\n")
    bad("nowhere: No such file or directory; what gone has written is in this file, so put it there",
        "cuts", device[0], "gone", *device[1:])
    os.mkdir("moved")
    os.rename("gone", "moved/gone")
    bad("moved/nowhere: No such file or directory; what moved/gone has", "cuts", device[0], "moved/gone",
        *device[1:])
    err = bad("gen:random: No such file or directory", "cuts", device[0], "gen:random", *device[1:])
    assert "allowed" not in err, "it takes a trace only"
    write("failed", "# flashemu trace 1\n0 write 0 512 data=18 status=no-power\n")
    bad("failed:2: the request had failed", "cuts", device[0], "failed", *device[1:])
    write("behind", "# flashemu trace 1\n0 read 1125899906842624 512\n")
    bad("behind:2: is behind the end", "cuts", device[0], "behind", *device[1:])
    bad("has no chip", "cuts", "generic32m", "plain")
    bad("-o IMAGE", "cuts", "ssd-page", "plain", "--state", "x")
    bad("expected PROFILE and TRACE", "cuts", "ssd-page")
    trace = flashemu_data.Writer("damaged")
    trace.write(0, content(0, 1))
    trace.data[100] ^= 1
    trace.close()
    bad("is damaged", "cuts", device[0], "damaged", *device[1:])


def test_works_that_do_little():
    device = device_of("page, cached")
    write("empty", "# flashemu trace 1\n")
    assert cuts("empty", device)["states"] == 1
    write("reads", "# flashemu trace 1\n0 read 0 4096\n0 flush 0 0\n5 mark here\n")
    got = cuts("reads", device)
    assert (got["states"], got["cases"]) == (1, 2), got
    trace = flashemu_data.Writer("unflushed")  # reaches the chip when the device is idle, not before
    trace.write(0, content(0, 1))
    trace.close()
    cuts("unflushed", device, "--states", "s")
    assert [s["id"].split(":", 1)[1] for s in flashemu_data.states("s")] == ["0:end", "1:idle"]


def test_a_full_disk_leaves_nothing():
    trace, _, _, _, _ = enumerate_states("page", 7, 10)
    code, out, err = call("cuts", *device_of("page"), trace, "--states", "/dev/full")
    assert code == 2 and out == "" and "No space left" in err and err.count("\n") == 1, (out, err)


def test_text():
    trace = flashemu_data.Writer("text")
    trace.write(0, content(0, 1))
    trace.close()
    said = dict(line.split(None, 1) for line in
                good("cuts", *device_of("page"), "text").splitlines())
    assert said["requests"] == "1" and said["states"] == "2" and said["instants"] == "6", said


run(globals())
