#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Recordings: what is in them, how they are moved and measured, and every mistake."""

import gzip
import json
import os
import re
from pathlib import Path

from flashemu_lab_bench import FLASHEMU, TOP, good, good_json, read, write
from flashemu_script import ended, run

from flashemu_lab.kernel import full_runs, record
from flashemu_lab.recording import recipes, recordings
from flashemu_lab.core.errors import LabError
from flashemu_lab.experiment.plan import plan
from flashemu_lab.runs.run import Source
from flashemu_lab.experiment.spec import load
from flashemu_lab.runs.program import Tool

CAPACITY = 8019509248  # of transcend8g
TAIL = CAPACITY - 4096
OFFERS = "# offers: flush fua\n"
CACHE = "cache.size=64K"  # then the device offers flush and FUA
COMMENTS = """# flashemu trace 1
# filesystem: vfat
# work: large 1
# mkfs: mkfs.vfat -F 32
# mount: mount -t vfat
# kernel: 6.1.0
# tools: mkfs.fat 4.2
# limit: 122880
# offers: flush fua
# command: flashemu-lab record made
# capacity: %d
# partition: 256 2048
# phase: format 4 0
# phase: write 7 16384
# phase: read 8 8192
""" % CAPACITY
REQUESTS = """0 read 0 4096
0 read %d 4096
0 write 131072 512
0 write 1179136 512
0 write 135168 8192
0 write 143360 8192 fua
0 flush 0 0
0 read 135168 8192
""" % TAIL


THINK = "# think: of the host, emulated\n"


def make(name="made", text=COMMENTS + REQUESTS):
    os.makedirs(os.path.dirname("mine/" + name), exist_ok=True)
    with open("mine/%s.trace.gz" % name, "wb") as f:
        f.write(gzip.compress(text.encode(), mtime=0))
    os.environ["FLASHEMU_RECORDINGS"] = os.path.abspath("mine")


def flashemu(*words):
    code, out, err = ended([FLASHEMU, *words])
    assert code == 0, (words, err)
    return out


def refused(message, *words):
    code, out, err = ended([FLASHEMU, *words])
    assert code == 2 and out == "" and message in err and err.count("\n") == 1, (words, code, err)


def replay(operand, *words, profile="transcend8g"):
    return json.loads(flashemu("replay", "--json", profile, operand, *words))


def requests(operand):
    return [line.split()[1:] for line in flashemu("trace", operand).splitlines()
            if not line.startswith("#")]


def wrong(message, function, *args):
    try:
        function(*args)
    except LabError as e:
        assert message in str(e) and "\n" not in str(e), e
    else:
        raise AssertionError("no error: " + message)


def test_a_recording_says_what_is_in_it():
    make()
    r = recordings.load("made")
    assert (r.name, r.filesystem, r.work, r.limit) == ("made", "vfat", "large 1", 122880)
    assert (r.capacity, r.start, r.sectors) == (CAPACITY, 256, 2048)
    assert [(p.name, p.first, p.last, p.bytes) for p in r.phases] == [
        ("format", 0, 4, 0), ("write", 4, 7, 16384), ("read", 7, 8, 8192)]
    assert r.phase("write").last == 7
    assert "made" in recordings.names() and recordings.load("./mine/made.trace.gz").phases == r.phases
    wrong("measure=x: this recording has the phases format, write, read", r.phase, "x")
    wrong("rec:none: there is no such recording; flashemu-lab list --recordings shows them",
          recordings.load, "none")
    wrong("rec:mode: there is no such recording; near to it: made; flashemu-lab list",
          recordings.load, "mode")


def test_the_key_has_what_decides_and_nothing_else():
    make()
    of = recordings.identity
    make("same", COMMENTS.replace("6.1.0", "6.12") + REQUESTS)
    make("other", COMMENTS + REQUESTS.replace("1179136", "1179648"))
    make("phased", COMMENTS.replace("format 4", "format 3") + REQUESTS)
    make("fua", COMMENTS + REQUESTS.replace(" fua", ""))
    make("mkfs", COMMENTS.replace("-F 32", "-F 16") + REQUESTS)
    make("old", COMMENTS.replace(OFFERS, "") + REQUESTS)
    assert of("rec:made") == of("rec:same") == of("rec:made,start=256") == of("rec:made,start=128K")
    keys = [of("rec:" + x) for x in ("made", "other", "phased", "fua", "mkfs", "old",
                                     "made,start=257", "made,measure=write", "made,measure=read")]
    assert len(set(keys)) == 9
    source = Source.of("rec:made,start=63", Path("."), 122880)
    assert (source.kind, source.text) == ("recording", "rec:made,start=63")
    wrong("'size=1': a recording takes start=SECTOR, measure=PHASE and pace=R", of,
          "rec:made,size=1")
    for value in ("", "x", "-1", "1.3K", "1s"):  # 10^9 ns are whole sectors, but no size
        wrong("start=%s: allowed: a sector" % value, of, "rec:made,start=" + value)


def test_the_partition_moves_and_the_rest_stays():
    make()
    there = requests("rec:made")
    assert there == [line.split()[1:] for line in REQUESTS.splitlines()]
    moved = requests("rec:made,start=63")
    shift = (256 - 63) * 512
    want = [[op, str(int(offset) - shift), *rest] if 2 <= i != 6 else [op, offset, *rest]
            for i, (op, offset, *rest) in enumerate(there)]
    assert moved == want
    assert requests("rec:made,start=4M")[2] == ["write", str(4 << 20), "512"]
    assert requests("rec:made,start=4M") == requests("rec:made,start=8192")


def test_what_wiped_the_device_stays():
    """Writes in front of the last one of the table stay; reads there move, and so does the rest."""
    table = [("write", 0, 122880), ("write", 122880, 122880), ("write", 245760, 4096),
             ("trim", 249856, 118784),
             ("write", CAPACITY - 16384, 16384), ("read", 266240, 4096), ("read", TAIL, 4096),
             ("write", 0, 512)]
    behind = [("write", 131072, 512), ("flush", 0, 0), ("write", 266240, 4096), ("read", 0, 4096)]
    later = [("write", 0, 512), ("write", 266240, 4096)]  # no table: the phase has ended
    for partition in ("256 2048", "256 15662848"):  # a short one, and one up to the device's end
        comments = COMMENTS.replace("format 4", "format 12").replace("write 7", "write 13")
        make("made", comments.replace("256 2048", partition).replace("read 8", "read 14")
            + "".join("0 %s %d %d\n" % r for r in table + behind + later))
        assert len(requests("rec:made")) == 14
        end = -193 * 512 if "2048" not in partition.split() else 0  # this one has the last sectors
        by = [0, 0, 0, 0, 0, -193 * 512, end, 0, -193 * 512, 0, -193 * 512, 0, 0, -193 * 512]
        want = [[kind, str(offset + b), str(length)] for (kind, offset, length), b in
                zip(table + behind + later, by, strict=True)]
        assert requests("rec:made,start=63") == want, partition
    make("made", comments.replace("read 8", "read 14") + "".join(
        "0 %s %d %d\n" % r for r in table + behind + later))
    larger = 30608 << 20
    flashemu("replay", "luxmini32g", "rec:made,start=8192", "--drop-trim", "--record",
             "out.trace")
    lines = [line.split()[1:4] for line in read("out.trace").splitlines() if line[0] != "#"]
    assert [int(line[1]) for line in lines if line[0] != "flush"] == [
        0, 122880, 245760, larger - 16384, 266240 + (8192 - 256) * 512, larger - 4096, 0,
        8192 * 512, 266240 + (8192 - 256) * 512, 0, 0, 266240 + (8192 - 256) * 512]


def test_exfat_stays_aligned():
    """mkfs.exfat puts the FAT at the next multiple of 1 MiB, or of -b, behind the boot sectors."""
    mib, size, start = 2048, 204800, 256
    for command, unit, looks in (("mkfs.exfat", mib, True), ("mkfs.exfat -b x", mib, True),
                                 ("mkfs.exfat -b 4M -c 32K", 4 * mib, True),
                                 ("mkfs.vfat -b 4M", mib, False)):
        fat = -(-(start + 24) // unit) * unit
        places = [0, start, start + 23, fat - 1, fat, fat + unit, start + size - 2 * unit - 1,
                  start + size - 2 * unit, start + size - 1, start + size]
        make("made", COMMENTS.replace("256 2048", "%d %d" % (start, size)).replace(
            "mkfs.vfat -F 32", command).replace("format 4", "format %d" % len(places)).replace(
                "write 7", "write %d" % len(places)).replace("read 8", "read %d" % len(places))
            + "".join("0 write %d 512\n" % (p * 512) for p in places))
        assert [int(r[1]) // 512 for r in requests("rec:made")] == places
        for to in (1, 63, 2000, 2024, 2025, 2048, 8191):
            now = [int(r[1]) // 512 for r in requests("rec:made,start=%d" % to)]
            moved = [b - a for a, b in zip(places, now, strict=True)]
            by = -(-(to + 24) // unit) * unit - fat if looks else to - start
            assert moved == [0, *[to - start] * 3, *[by] * 3, *[to - start] * 2, 0], (command, to)


def test_what_is_behind_the_partition_keeps_its_distance_to_the_end():
    make()
    for profile, capacity in (("luxmini32g", 30608 << 20), ("kingston512m", 490 << 20)):
        flashemu("replay", profile, "rec:made,start=64", "--record", "out.trace")
        lines = [line.split() for line in read("out.trace").splitlines() if line[0] != "#"]
        assert lines[1][1:4] == ["read", str(capacity - 4096), "4096"]
        assert lines[2][1:4] == ["write", str(64 * 512), "512"]


def test_a_phase_is_measured_behind_its_warm_up():
    make()
    lines = REQUESTS.splitlines(True)
    write("warm.trace", "# flashemu trace 1\n" + "".join(lines[:4]))
    write("work.trace", "# flashemu trace 1\n" + "".join(lines[4:7]))
    one = replay("rec:made,measure=write", CACHE)
    two = replay("work.trace", "--warmup", "warm.trace", CACHE)
    assert one.pop("user_bytes") == 16384 and two.pop("user_bytes") is None
    for o in (one, two):
        for key in ("wall_seconds", "cpu_seconds", "host_ops_per_second", "command"):
            del o[key]
    assert one == two and one["records"] == 3 and one["busy_ns"] > 0
    assert one["host"]["write"]["ops"] == 2 and one["host"]["read"]["ops"] == 0
    whole = replay("rec:made", CACHE)
    assert whole["user_bytes"] == 24576 and whole["records"] == 8
    assert replay("rec:made,measure=read")["host"]["read"]["ops"] == 1
    flashemu("replay", "transcend8g", "rec:made,measure=write", CACHE, "--record", "out.trace")
    kept = [line for line in read("out.trace").splitlines() if not line.startswith("#")]
    assert len(kept) == 3 and kept[0].startswith("0 write 135168 8192")
    assert "files" in flashemu("replay", "transcend8g", "rec:made,measure=write")


def sent(*words):
    """What a device gets of the recording: the requests, without times and places."""
    flashemu("replay", "transcend8g", *words, "--record", "out.trace")
    lines = [line.split() for line in read("out.trace").splitlines() if line[0] != "#"]
    return [line[1] + (" fua" if "fua" in line else "") for line in lines]


def test_flushes_go_to_devices_that_offer_them():
    """The rule by which the plugin announces flush and FUA."""
    make()
    work = ["write", "write fua", "flush"]
    volatile = ([CACHE], ["cache.write_behind=64K"], [CACHE, "cache.write_behind=64K"],
                ["cache.reliable_write=100us"])
    safe = ([], [CACHE, "cache.mode=off"], ["cache.write_behind=64K", "cache.mode=off"],
            [CACHE, "cache.volatile=no"], ["cache.size=none"])
    for words in volatile:
        assert sent("rec:made,measure=write", *words) == work, words
        assert replay("rec:made", *words)["host"]["flush"]["ops"] == 1
    for words in safe:
        assert sent("rec:made,measure=write", *words) == ["write", "write"], words
        o = replay("rec:made", *words)
        assert o["records"] == 7 and o["host"]["flush"]["ops"] == 0
    make("bare", COMMENTS.replace("write 7", "write 6").replace("read 8", "read 7")
         + REQUESTS.replace(" fua", "").replace("0 flush 0 0\n", ""))
    assert replay("rec:made")["busy_ns"] == replay("rec:bare")["busy_ns"]
    assert replay("rec:made", CACHE)["busy_ns"] > replay("rec:bare", CACHE)["busy_ns"]
    assert sent("mine/made.trace.gz")[4:7] == work, "a trace is replayed as it is"
    # One that was made by an older version goes only where a kernel would send no flush.
    make("old", COMMENTS.replace(OFFERS, "") + REQUESTS)
    message = ("rec:old: was recorded without flushes, which a kernel would send to this device, "
               "because it offers them; make it again: flashemu-lab record")
    for words in volatile:
        refused(message, "replay", "transcend8g", "rec:old", *words)
    for words in safe:
        assert replay("rec:old", *words)["busy_ns"] == replay("rec:made", *words)["busy_ns"]
    assert recordings.load("old").offers == "" and recordings.load("made").offers == "flush fua"
    assert "no flush, no fua" in good("show", "old") and "  flush fua\n" in good("show", "made")


def limited(limit):
    """The text of a recording whose last request says which limit it is of."""
    return (COMMENTS.replace("122880", str(limit)) + REQUESTS).replace(
        "0 read 135168 8192", "0 read 135168 %d" % limit)


def chosen(*words):
    """The limit of the file that a device gets."""
    return replay("rec:made,measure=read", *words, profile="generic32m")["host"]["read"]["bytes"]


def test_a_device_gets_the_file_of_its_longest_command():
    """The nearest one by ratio and the larger one of two as near, in both programs."""
    lengths = {"4K": 4, "32K": 32, "64K": 64, "87K": 87, "88K": 88, "120K": 120, "247K": 247,
               "248K": 248, "512K": 512, "1M": 1024, "32M": 32768}
    cases = (({"": 120, "64K": 64, "512K": 512},
              [64, 64, 64, 64, 120, 120, 120, 512, 512, 512, 512]),
             ({"": 512, "64K": 64, "120K": 120},
              [64, 64, 64, 64, 120, 120, 120, 512, 512, 512, 512]),
             ({"64K": 64, "512K": 512}, [64] * 6 + [512] * 5),
             ({"": 120}, [120] * 11),
             ({"": 1024, "64K": 64}, [64] * 6 + [64, 64, 1024, 1024, 1024]))
    for files, want in cases:
        for name in ("", "64K", "120K", "512K"):
            if name in files:
                make(os.path.join(name, "made"), limited(files[name] << 10))
            elif os.path.exists("mine/%s/made.trace.gz" % name):
                os.remove("mine/%s/made.trace.gz" % name)
            assert "made" in recordings.names()
        assert recordings.limits(recordings.load("made")) == tuple(
            sorted(kib << 10 for kib in files.values()))
        for (text, kib), limit in zip(lengths.items(), want, strict=True):
            assert chosen("link.max_transfer=" + text) == limit << 10, (files, text)
            assert recordings.load("made", kib << 10).limit == limit << 10, (files, text)
    # Without a device: the one that says its limit itself.
    assert requests("rec:made")[-1][2] == str(1 << 20) and recordings.load("made").limit == 1 << 20
    # As near, up and down: 256 KiB between 64 KiB and 1 MiB.
    assert chosen("link.max_transfer=256K") == 1 << 20
    assert recordings.load("made", 256 << 10).limit == 1 << 20
    # A path is this file.
    path = "rec:mine/64K/made.trace.gz,measure=read"
    assert replay(path, profile="generic32m")["host"]["read"]["bytes"] == 64 << 10
    one, two = (recordings.identity("rec:made", kib << 10) for kib in (64, 512))
    assert one != two and one == recordings.identity("rec:mine/64K/made.trace.gz")
    # The key of a run is that of its device's file.
    write("x.toml", EXPERIMENT)
    points = plan(load(Path("x.toml")), Tool(Path(FLASHEMU)))
    assert [p.run.requests[0].identity for p in points] == [one, two]
    assert [p.run.warmup.identity for p in points] == [one, two]
    shown = good_json("show", "made")
    assert (shown["limit"], shown["limits"]) == (1 << 20, [64 << 10, 1 << 20])
    os.remove("mine/64K/made.trace.gz")


EXPERIMENT = """name = "x"
title = "X"
[factors]
"link.max_transfer" = ["64K", "512K"]
[device]
profile = "generic32m"
[workload]
requests = "rec:made"
warmup = "rec:made"
[measure.busy]
value = "busy_ns"
"""


READY = -1  # what comes with the request in front of it


def arrivals(*words):
    """How long the device waits in front of each request, in ns; or READY."""
    flashemu("replay", "generic32m", *words, "--record", "out.trace")
    lines = [line.split() for line in read("out.trace").splitlines() if line[0] != "#"]
    done = [0] + [int(w[5:]) for line in lines for w in line if w.startswith("done=")]
    came = [int(line[0]) for line in lines]
    return [READY if at < end and at == before else at - end
            for at, end, before in zip(came, done, [0] + came)]


def test_the_pace_is_that_of_the_recorded_host_times_a_factor():
    thoughts = [0, 7000, 0, 20, 1000000, 3, 500, 20000]
    lines = ["%s think=%d" % (line, t) if t else line
             for line, t in zip(REQUESTS.splitlines(), thoughts, strict=True)]
    make("thinks", COMMENTS.replace("# offers", THINK + "# offers") + "\n".join(lines) + "\n")
    make()
    assert arrivals("rec:thinks", CACHE) == arrivals("rec:thinks,pace=0", CACHE) == [0] * 8
    # A host that thinks does so for 1 ns at least; else it has the request ready.
    for pace, want in (("1", [0, 7000, READY, 20, 1000000, 3, 500, 20000]),
                       ("10", [0, 70000, READY, 200, 10000000, 30, 5000, 200000]),
                       ("0.25", [0, 1750, READY, 5, 250000, 1, 125, 5000]),
                       ("0.000000001", [0, 1, READY, 1, 1, 1, 1, 1]),
                       ("10000", [0, 70000000, READY, 200000, 10**10, 30000, 5000000, 2 * 10**8])):
        assert arrivals("rec:thinks,pace=" + pace, CACHE) == want, pace
    # What the host thinks in front of a flush that is left out, it thinks in front of the next one.
    assert arrivals("rec:thinks,pace=1") == [0, 7000, READY, 20, 1000000, 3, 20500]
    # Several requests in flight are a host of its own, which thinks in front of each.
    assert READY not in arrivals("rec:thinks,pace=1", "--depth", "2")
    assert arrivals("rec:thinks,measure=read,pace=1") == [20500]
    assert arrivals("rec:thinks,measure=read,pace=1", CACHE) == [20000]
    # Nothing else changes, and neither does the key of a host that takes no time.
    assert requests("rec:thinks") == requests("rec:made")
    assert requests("rec:thinks,pace=1")[1][3:] == ["think=7000"]
    of = recordings.identity
    assert of("rec:thinks") == of("rec:thinks,pace=0.0") == of("rec:made")
    assert of("rec:thinks,pace=1") == of("rec:thinks,pace=1.0")
    make("other", COMMENTS.replace("# offers", THINK + "# offers")
         + "\n".join(lines).replace("think=20000", "think=20001") + "\n")
    assert len({of("rec:" + x) for x in ("thinks", "thinks,pace=1", "thinks,pace=2",
                                         "other,pace=1")}) == 4
    r = recordings.load("thinks")
    assert [recordings.think_ns(r, p) for p in r.phases] == [7020, 1000503, 20000]
    assert recordings.think_ns(recordings.load("made"), r.phases[0]) == 0
    make("long", COMMENTS.replace("# offers", THINK + "# offers")
         + REQUESTS.replace("512\n", "512 think=18446744073709551615\n"))
    assert arrivals("rec:long,pace=0.000001")[2] == 18446744073709551615 // 10000 // 1000000
    for value in ("", "x", "-1", "10001", "1e3", "0.0000000001"):
        refused("pace=%s: allowed: a decimal number from 0 to 10000" % value, "replay",
                "transcend8g", "rec:thinks,pace=" + value)
        wrong("pace=%s: allowed: a decimal number from 0 to 10000" % value, of,
              "rec:thinks,pace=" + value)
    refused("made.trace.gz was recorded without the host's think times; make it again: "
            "flashemu-lab record", "replay", "transcend8g", "rec:made,pace=1")
    wrong("made.trace.gz was recorded without the host's think times; make it again: flashemu-lab "
          "record", of, "rec:made,pace=1")
    assert replay("rec:made,pace=0")["busy_ns"] == replay("rec:made")["busy_ns"]


def test_the_pace_of_a_phase_in_a_run_through_a_kernel():
    """What the host thought in its requests, over what it thought in the recording's.  Phases have 2, 3
    and 1 requests of all four kinds; the device waits 5, 50, 110, 200 and 900 ns for those after the
    first."""
    trace = Path(write("kernel.trace", """# flashemu trace 1
# profile: x
0 read 0 4096 done=10
15 write 0 4096 done=20
70 trim 0 4096 done=80
190 flush 0 0 done=200
400 read 512 512 done=500
1400 write 512 512 done=1500
"""))
    thoughts = [0, 3, 10, 20, 60, 1000]
    requests = [f"0 write {4096 * i} 512" + (f" think={t}" if t else "") for i, t in enumerate(thoughts)]
    make("phases", re.sub(r"# phase: .*\n", "", COMMENTS).replace("# offers", THINK + "# offers")
         + "# phase: a 2 0\n# phase: b 5 512\n# phase: c 6 512\n" + "\n".join(requests) + "\n")

    def ops(read, write, trim, flush):
        kinds = zip(("read", "write", "trim", "flush"), (read, write, trim, flush))
        return {"host": {kind: {"ops": n, "bytes": 7} for kind, n in kinds}}
    heard = record.Heard(results={"a": ops(1, 1, 0, 0), "b": ops(1, 0, 1, 1), "c": ops(0, 1, 0, 0)})
    r = recordings.load("phases")
    for phase, pace in (("a", 5 / 3), ("b", (50 + 110 + 200) / 90), ("c", 900 / 1000)):
        w = full_runs._Wanted(None, None, None, r, phase)
        assert full_runs._pace(w, heard, trace) == pace, (phase, full_runs._pace(w, heard, trace))


def test_think_times_come_from_the_trace_of_the_server():
    """Between the end of a request and the arrival of the next one, in seconds of the host."""
    path = Path(write("server.trace", """# flashemu trace 1
# profile: x
5000 read 0 4096 done=1005000
1005000 write 0 4096 fua done=2000000 programmed=4096
3234567 flush 0 0 done=3234568
3334567 read 512 512 done=3400000 status=ok
3399999 read 512 512 done=3500000
"""))
    assert record.think_times(path, 5) == [0, 0, 1234567, 99999, 0]
    assert record.think_times(path, 2) == [0, 0]
    wrong("the trace has 5 of 6 requests", record.think_times, path, 6)
    made = record._requests(path, 4, 0.1)  # the server waited a tenth: so did the host
    assert made == ["0 read 0 4096", "0 write 0 4096 fua", "0 flush 0 0 think=120000",
                    "0 read 512 512 think=10000"]
    assert [record._rounded(ns) for ns in (0, 499, 1500, 99400, 123456, 1e10)] == [
        0, 0, 2000, 99000, 120000, 10**10]


def test_a_compressed_trace_is_a_trace():
    make()
    plain = COMMENTS + REQUESTS
    write("plain.trace", plain)
    assert requests("plain.trace") == requests("mine/made.trace.gz") == requests("rec:made")
    write("empty.trace", "")
    refused("empty file", "trace", "empty.trace")
    whole = open("mine/made.trace.gz", "rb").read()
    for damaged in (whole[:100], whole[:60] + b"xxxx" + whole[64:], whole[:-4] + b"0000"):
        with open("cut.gz", "wb") as f:
            f.write(damaged)
        refused("cut.gz: ", "trace", "cut.gz")
        refused("damaged", "trace", "rec:./cut.gz")
        wrong("is damaged", recordings.load, "./cut.gz")


def test_mistakes_of_operands():
    make()
    for operand, message in (
            ("rec:none", "rec:none: there is no such recording; flashemu-lab list "
             "--recordings shows them"),
            ("rec:", "rec:: there is no such recording"),
            ("rec:a b", "allowed: a path, or a name of letters, digits"),
            ("rec:/none.gz", "/none.gz: No such file"),
            ("rec:made,start=1.3K", "start=1.3K: allowed: a sector, or a size in whole sectors"),
            ("rec:made,start=", "start=: allowed: a sector"),
            ("rec:made,start=0", "start=0: there is the partition table; allowed: 1 to 15661056"),
            ("rec:made,start=15661057", "start=15661057: the recorded partition has 2048 sectors, "
                                        "and the device has 15663104"),
            ("rec:made,measure=x", "measure=x: this recording has the phases format, write, read"),
            ("rec:made,size=4K", "'size=4K': a recording takes start=SECTOR, measure=PHASE and "
             "pace=R")):
        refused(message, "replay", "transcend8g", operand)
    refused("a recording has no times for --timed", "replay", "transcend8g", "rec:made", "--timed")
    flashemu("replay", "transcend8g", "rec:made,start=15661056")


def test_damaged_comments():
    make()
    for old, new in (("# phase: write 7 16384", "# phase: write 3 1"), ("# capacity: ", "# cap: "),
                     ("partition: 256 2048", "partition: 256 20480000"),
                     ("partition: 256 2048", "partition: 256"), ("# phase", "# phrase"),
                     ("phase: write 7", "phase: write x")):
        make("broken", (COMMENTS + REQUESTS).replace(old, new))
        refused("is not a recording: its first comments lack a capacity, a partition or phases",
                "replay", "transcend8g", "rec:broken")
    make("short", COMMENTS.replace("read 8", "read 9") + REQUESTS)
    refused("the recording ends after 8 of 9 requests", "replay", "transcend8g", "rec:short")
    make("alien", COMMENTS.replace("# kernel", "# colonel") + REQUESTS)
    wrong("is not a recording of flashemu-lab", recordings.load, "alien")


# Rows of docs/FIDELITY.md, which a kernel has measured at another time, and what replays them.  The
# unit is MB/s; an MB of the fragments has 2^20 bytes.
ROWS = {
    ("transcend8g", "file-fat32-factory"): ("article-fat32-untold-buffered,start=63", 1e6),
    ("transcend8g", "file-fat32-aligned"): ("article-fat32-untold-buffered,start=256", 1e6),
    ("transcend8g", "file-ext4-aligned"): ("article-ext4-told-buffered,start=256", 1e6),
    ("transcend8g", "file-ntfs64k-fresh"): ("ntfs-64k-fresh", 1e6, "device.used=0"),
    ("transcend8g", "file-ntfs64k-filled"): ("ntfs-64k-second", 1e6, "device.used=1T"),
    ("kingston512m", "fragments-fill"): ("kingston-fragments,measure=fill", 2**20),
    ("kingston512m", "fragments-write"): ("kingston-fragments,measure=write", 2**20),
    ("kingston512m", "fragments-read-whole"): ("kingston-fragments,measure=read-whole", 2**20),
    ("kingston512m", "fragments-read"): ("kingston-fragments,measure=read", 2**20),
}


def published_rows():
    found = {}
    for line in read(os.path.join(TOP, "docs/FIDELITY.md")).splitlines():
        cells = [c.strip() for c in line.strip("|").split("|")]
        if line.startswith("## "):
            profile = line[3:]
        elif len(cells) > 3 and (profile, cells[1]) in ROWS:
            found[profile, cells[1]] = float(cells[3])
    return found


def test_figures_of_verify():
    measured = published_rows()
    assert set(measured) == set(ROWS)
    for (profile, row), (operand, mb, *overrides) in ROWS.items():
        phase = "" if "measure=" in operand else ",measure=write"
        o = replay("rec:" + operand + phase, *overrides, profile=profile)
        rate = o["user_bytes"] / o["busy_ns"] * 1e9 / mb
        error = rate / measured[profile, row] - 1
        print("       %-14s %-22s verify %6.3f, replay %6.3f, %+.1f %%" % (
            profile, row, measured[profile, row], rate, 100 * error))
        # Two runs of a kernel differ by some percent; a wrong start is a factor of 1.6.
        assert abs(error) < 0.06, (profile, row, rate, measured[profile, row])


def test_the_shipped_ones():
    del os.environ["FLASHEMU_RECORDINGS"]
    os.environ["XDG_DATA_HOME"] = os.getcwd()
    folder = recordings.shipped_folder()
    names = recordings.names()
    known = recipes.load(recipes.shipped_path())
    assert set(names) == set(known) and len(names) >= 9
    assert sum(p.stat().st_size for p in folder.rglob("*") if p.is_file()) < 10_000_000
    limits = [64 << 10, 120 << 10, 512 << 10]
    for name in names:
        for limit in limits:
            r, first = recordings.load(name, limit), recordings.load(name)
            assert r.limit == limit, (name, limit)
            said = "" if r.path == first.path else f"--limit {limit >> 10}K "
            command = re.sub(" --kernel (timed|vm)", "", r.command)
            assert command == f"flashemu-lab record {said}{name}" and r.thinks, (name, limit)
            assert (r.mkfs, r.mount, r.work, r.start, r.sectors, r.capacity, r.offers) == (
                first.mkfs, first.mount, first.work, first.start, first.sectors, first.capacity,
                "flush fua"), (name, limit)
            assert [(p.name, p.bytes) for p in r.phases] == [
                (p.name, p.bytes) for p in first.phases], (name, limit)
            assert sum(recordings.think_ns(r, p) for p in r.phases) > 0
    by_profile = {}
    for name in names:
        r = recordings.load(name)
        recipe = known[name]
        assert (r.mkfs, r.mount, r.work) == (recipe.mkfs, recipe.mount, recipe.work), name
        assert (r.start, r.sectors) == (recipe.start, recipe.sectors)
        assert r.filesystem == recipe.filesystem and r.kernel and r.tools
        assert r.offers == "flush fua", name
        by_profile.setdefault(recipe.profile, []).append((name, r.phases[-1]))
    for profile, those in by_profile.items():
        operands = ["rec:%s,measure=%s" % (name, last.name) for name, last in those]
        parts = flashemu("replay", "--json", "--each", profile, "cache.mode=off",
                         *operands).split("\n}\n")[:-1]
        for (name, last), o in zip(those, [json.loads(part + "}") for part in parts], strict=True):
            lines = gzip.open(recordings.load(name).path, "rt").read().splitlines()
            lines = [line for line in lines if line[0] != "#"][last.first:last.last]
            assert o["records"] == sum(" flush " not in line for line in lines), name
            assert o["user_bytes"] in (last.bytes, None), name
    listed = good_json("list", "--recordings")
    assert [(r["name"], r["limits"], r["thinks"]) for r in listed] == [
        (name, limits, True) for name in names]
    assert names[0] in good("list", "--recordings")
    shown = good("show", names[0])
    assert recordings.load(names[0]).mkfs in shown and "phase" in shown
    assert good_json("show", names[0])["sha256"] == recordings.load(names[0]).sha256


run(globals())
