#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""flashemu-lab advise: the choice, what the others cost, and lines that do what they say."""

import dataclasses
import json
import os
import re
import shutil
import struct
from pathlib import Path

from flashemu_lab_bench import SMALL, bad, good, good_json, read, stored, write
from flashemu_script import ended, run

from flashemu_lab.advise import filesystems, raw_writes
from flashemu_lab.recording import recordings
from flashemu_lab.experiment.choice import choose, costs, scores
from flashemu_lab.experiment.conclusion import conclusion
from flashemu_lab.advise.sd_layout import sda_layout
from flashemu_lab.advise.paste import Hints, lines
from flashemu_lab.recording.recordings import Phase, Recording
from flashemu_lab.experiment.spec import parse
from flashemu_lab.experiment.table import Row, Table
from flashemu_lab.runs.program import Tool

TOOL = Tool()
# A device on which advice takes a second.
QUICK = ("sandisk-su04g", "device.used=0", "--workload", "log,database,video")
CHOOSING = SMALL.replace('"ftl.op" = ["10%", "28%"]', 'layout = ["1", "2", "3"]').replace(
    '"device.used=16T"', '"ftl.op={layout}%"') + """
[[conclusion]]
say = "choose"
measure = "rate"
wear = "waf"
factor = "layout"
"""


def table_of(rates, wafs, threshold="2%", among=""):
    """Three layouts by three request sizes."""
    e = parse(CHOOSING + 'threshold = "%s"\namong = "%s"\n' % (threshold, among), "x")
    rows = []
    for i, layout in enumerate("123"):
        for j, bs in enumerate(("4K", "8K", "16K")):
            rows.append(Row((layout, bs), "", "done", {"rate": rates[i][j], "waf": wafs[i][j]},
                            None, "", ""))
    return Table(e, "", tuple(rows))


EQUAL = [[1, 1, 1]] * 3


def chosen(rates, wafs=EQUAL, threshold="2%", among=""):
    table = table_of(rates, wafs, threshold, among)
    return choose(table, table.experiment.statements[0].words)


def test_scores_by_hand():
    table = table_of([[8, 1, 30], [4, 2, 30], [8, 4, 60]], [[2, 1, 1], [1, 1, 1], [1, 1, 4]])
    e = table.experiment
    found = scores(table, "layout", e.measure("rate"))
    want = {"1": (1 * .25 * .5)**(1 / 3), "2": (.5 * .5 * .5)**(1 / 3), "3": 1}
    assert all(abs(found[k] - want[k]) < 1e-12 for k in want) and len(found) == 3
    found = scores(table, "layout", e.measure("waf"))
    want = {"1": .5**(1 / 3), "2": 1, "3": .25**(1 / 3)}
    assert all(abs(found[k] - want[k]) < 1e-12 for k in want)
    # A combination that has no value at some level says nothing about any.
    rows = tuple(r for r in table.rows if r.levels != ("2", "8K"))
    found = scores(Table(e, "", rows), "layout", e.measure("rate"))
    assert abs(found["1"] - .5**.5) < 1e-12 and found["3"] == 1


def test_the_choice():
    best = [[1, 1, 1], [1, 1, 1.1], [1, 1, 1]]
    assert chosen(best).level == "2" and chosen(best).equal == ("2",)
    near = chosen([[1, 1, 1], [1, 1, 1.05], [1, 1, 1]])
    assert near.level == "1" and near.equal == ("1", "2", "3"), "less than the threshold is equal"
    assert chosen([[1, 1, 1], [1, 1, 1.05], [1, 1, 1]], threshold="1%").level == "2"
    # What is only there for comparison is not chosen, and not called as good.
    assert chosen(best, among="3").equal == ("3",)
    # Of what is equally fast, the one that wears less.
    assert chosen(EQUAL, [[2, 1, 1], [1, 1, 1], [1, 1, 1]]).equal == ("2", "3")
    assert chosen([[9, 9, 9], [1, 1, 1], [1, 1, 1]], [[2, 1, 1], [1, 1, 1], [1, 1, 1]]).level == "1"
    assert chosen([[0, 0, 0]] * 3) is None


def test_what_is_said():
    told = conclusion(table_of(EQUAL, EQUAL))
    assert told == ["The layout does not matter here: rate and write amplification differ by less "
                    "than 2 % in the mean, which is less than the model can tell. Take 1."]
    table = table_of([[10, 10, 10], [10, 10, 10], [5, 10, 2.5]], [[1, 1, 1], [1, 1, 1], [1, 2, 4]])
    told = conclusion(table)
    assert told[:2] == ["Choose 1.", "As good, because less than 2 % is less than the model can "
                        "tell: 2."]
    assert told[2] == ("3, compared with the choice: rate 50 % (25 % with 16K, 100 % with 8K) and "
                       "write amplification 2 times (100 % with 4K, 4 times with 16K).")
    words = table.experiment.statements[0].words
    found = costs(table, words, choose(table, words), "3")
    assert [(c.measure.name, c.least_at, c.most_at) for c in found] == [
        ("rate", "16K", "8K"), ("waf", "4K", "16K")]
    assert abs(found[0].ratio - .5) < 1e-12 and abs(found[1].ratio - 2) < 1e-12


def test_advice_is_an_experiment():
    out = good_json("advise", *QUICK, "-o", "x")
    layouts = list(dict.fromkeys(r["levels"]["layout"] for r in out["rows"]))
    for start in ("1 MiB, ", "4 MiB, ", "8 MiB, ", "SD Association, ", "sector 63, "):
        assert any(layout.startswith(start) for layout in layouts), start
    assert [r["levels"]["workload"] for r in out["rows"][:3]] == ["log", "database", "video"]
    assert all(r["status"] == "done" and r["values"]["rate"] > 0 for r in out["rows"])
    assert out["conclusion"][0].startswith("Choose ") and "flashemu align" in out["conclusion"][-1]
    before = stored()
    assert good_json("advise", *QUICK) == out and stored() == before
    assert out["filesystems"] is None or out["filesystems"]["rows"]
    assert good_json("run", "x/experiment.toml")["rows"] == out["rows"]
    # The same work with every layout.
    work = {}
    for row in out["rows"]:
        result = json.loads(before[row["key"]])["result"]
        work.setdefault(row["levels"]["workload"], set()).add(result["host"]["write"]["ops"])
    assert all(len(ops) == 1 for ops in work.values()), work
    text = good("advise", *QUICK)
    literal = text[text.index("# The partition."):]
    page = read("x/index.html")
    assert "mkfs.vfat -F 32" in literal and page.index("answer") < page.index("To paste")
    assert page.index("To paste") < page.index("<svg") < page.index("<h2>All ")
    assert good("report", "x", "-o", "again.html") == "" and read("again.html") == page


def test_filesystems_come_from_recordings():
    words = ("sandisk-su04g", "device.used=0", "--workload", "large-file")
    out = good_json("advise", *words, "-o", "x")
    found = out["filesystems"]
    names = [r["levels"]["filesystem"] for r in found["rows"]]
    start = re.search("^Choose ([^,]*), ", out["conclusion"][0])[1]
    assert {"ext4 at " + start, "vfat-32k at " + start, "exfat at sector 63"} <= set(names)
    assert not any(name.startswith("f2fs") for name in names), "f2fs looks at the start"
    assert all(r["status"] == "done" and r["values"]["rate"] > 0 for r in found["rows"]), found
    assert found["conclusion"][0].startswith("Choose ")
    for row in found["rows"]:
        at = "63" if row["levels"]["filesystem"].endswith("63") else str(
            int(float(start.split()[0]) * 2048))
        assert ",start=%s,measure=write" % at in row["command"], row
    assert good_json("run", "x/filesystems/experiment.toml")["rows"] == found["rows"]
    assert good_json("advise", *words) == out
    text = good("advise", *words)
    assert text.count("sfdisk --wipe") == 2 and "mount -t" in text


def test_reads_of_a_boot_count():
    out = good_json("advise", "sandisk-su04g", "device.used=0", "--workload", "log,boot")
    assert {r["levels"]["workload"] for r in out["rows"]} == {"log"}
    rows = out["filesystems"]["rows"]
    assert {r["levels"]["workload"] for r in rows} == {"log", "boot"}
    for r in rows:
        reads = r["levels"]["workload"] == "boot"
        assert ("measure=read" if reads else "measure=write") in r["command"], r
        assert r["values"]["rate"] > 0 and (r["values"]["written"] < 1 if reads else True)
    assert out["filesystems"]["conclusion"][0].startswith("Choose ")
    assert "sector 63" not in out["filesystems"]["conclusion"][0]


def test_advice_for_everything_has_filesystems():
    """The shipped recordings, of which not every filesystem has all."""
    everything = [*raw_writes.WORKLOADS, *raw_writes.RECORDED]
    assert set(everything) == set(filesystems.WORKS)
    for workloads, others, least in (
            (everything, {"vfat", "exfat", "btrfs", "f2fs", "ntfs", "xfs"}, 7),
            (["database", "log"], {"vfat", "xfs"}, 2),
            (["large-file"], {"vfat-2k", "btrfs", "ntfs"}, 1),
            (["packages", "boot"], {"btrfs"}, 1)):
        found = filesystems.known(workloads, 2**24)
        names = [f.name for f in found]
        assert names[0] == "ext4" and others < set(names), (workloads, names)
        assert len(found[0].by_workload) >= least, found[0]


def recording_of(name, work, sectors=1000, size=5, phase="write"):
    values = {"name": name, "path": Path(name), "filesystem": name.split("-")[0], "work": work,
              "mount": "mount", "start": 256, "sectors": sectors,
              "phases": (Phase(phase, 0, 9, size),)}
    return Recording(**{f.name: values.get(f.name, "") for f in dataclasses.fields(Recording)})


def known_of(*made, workloads=("large-file", "log"), room=2000):
    by_name = {r.name: r for r in made}
    names, load = recordings.names, recordings.load
    recordings.names, recordings.load = lambda: tuple(sorted(by_name)), by_name.__getitem__
    try:
        return [(f.name, sorted(f.by_workload)) for f in filesystems.known(list(workloads), room)]
    finally:
        recordings.names, recordings.load = names, load


def test_workloads_are_listed():
    names = [*raw_writes.WORKLOADS, *raw_writes.RECORDED]
    assert list(raw_writes.ABOUT) == names
    lines = good("list", "--workloads").splitlines()
    assert [line.split()[0] for line in lines] == names
    found = good_json("list", "--workloads")
    assert [w["name"] for w in found] == names and all(w["about"] for w in found)
    log = good_json("show", "log")
    assert log == found[names.index("log")] and log["pattern"] == raw_writes.WORKLOADS["log"]
    assert "ext4-log" in log["recordings"] and "ext4-large" not in log["recordings"]
    assert good_json("show", "boot")["pattern"] is None
    text = good("show", "boot")
    assert "none, only recordings" in text and "ext4-boot" in text
    bad("not allowed with argument", "list", "--workloads", "--recordings")


def test_which_filesystems_are_compared():
    a, b, c = (recording_of(n + "-large", "large 100") for n in ("xfs", "ext4", "exfat"))
    assert known_of(a, b, c) == [(n, ["large-file"]) for n in ("ext4", "exfat", "xfs")]
    assert known_of(a) == [], "one filesystem is no comparison"
    assert known_of(a, b, workloads=["log"]) == []
    logs = [recording_of(n + "-log", "log 9") for n in ("xfs", "exfat")]
    both = ["large-file", "log"]
    assert known_of(a, b, c, *logs) == [("exfat", both), ("xfs", both)], "ext4 has no log"
    many = [recording_of(n + "-large", "large 1") for n in ("jfs", "zfs", "ntfs")]
    assert known_of(a, b, c, *logs, *many) == [
        (n, ["large-file"]) for n in ("ext4", "exfat", "jfs", "ntfs", "xfs", "zfs")], "6 > 2 * 2"
    assert known_of(a, recording_of("ext4-log", "log 9")) == []
    boots = [recording_of(n + "-boot", "boot 1", phase="read") for n in ("xfs", "ext4")]
    boot = [recording_of("exfat-boot", "boot 1", phase="write")]
    assert known_of(*boots, *boot, workloads=["boot"]) == [(n, ["boot"]) for n in ("ext4", "xfs")]
    other = [recording_of("ntfs-large", "large 5", sectors=3000),
             recording_of("vfat-large", "large 5", sectors=900),
             recording_of("f2fs-large", "large 5", size=0),
             recording_of("btrfs-large", "tree 5"),
             recording_of("jfs-large", "large 5", phase="read")]
    assert known_of(a, b, c, *other) == known_of(a, b, c), "too long, too short, nothing written"


def test_fat16_is_for_small_devices():
    for room, there in ((65525 * 32 - 1, True), (65525 * 32, False)):
        for command, wanted in (("-F 16 -s 32", there), ("-F 16 -s 64", True), ("-F 16", False),
                                ("-F 12 -s 32", False), ("-F 32 -s 32", True)):
            fat = dataclasses.replace(recording_of("fat-large", "large 1"),
                                      mkfs="mkfs.vfat " + command)
            found = known_of(fat, recording_of("ext4-large", "large 1"),
                             recording_of("xfs-large", "large 1"), room=room)
            assert ("fat", ["large-file"]) in found or not wanted, (room, command)
            assert ("fat", ["large-file"]) not in found or wanted, (room, command)


def test_lines_for_a_recorded_filesystem():
    d = raw_writes.Device("x", (), 2**30, 4096, 0, 0, "")
    for name, mkfs, want, kind in (
            ("ext4", "mke2fs -q -F -t ext4", "mke2fs -q -t ext4", "83"),
            ("vfat", "mkfs.vfat -F 32 -s 8", "mkfs.vfat -F 32 -s 8", "c"),
            ("vfat", "mkfs.vfat -F 16 -s 8", "mkfs.vfat -F 16 -s 8", "e"),
            ("vfat", "mkfs.vfat -F 12", "mkfs.vfat -F 12", "1"),
            ("btrfs", "mkfs.btrfs -q -f", "mkfs.btrfs -q -f", "83"),
            ("ntfs", "mkntfs -q -Q -F", "mkntfs -q -Q", "7")):
        r = dataclasses.replace(recording_of(name + "-large", "large 1"), mkfs=mkfs)
        lines = filesystems._paste(d, filesystems.Filesystem(name, {"large-file": r}), 2**22)
        assert lines.splitlines()[1:] == [
            "printf 'label: dos\\nstart=8192, size=%d, type=%s\\n' | sfdisk --wipe always /dev/sdX"
            % (2**21 - 8192, kind), want + " /dev/sdX1", "mount /dev/sdX1 /mnt"], lines


def test_wrong_use():
    bad("m.json: No such file", "advise", "m.json")
    bad("--workload x: there is no such workload; allowed: large-file, small-files, database",
        "advise", "ideal", "--workload", "log,x")
    bad("--workload log: is given twice", "advise", "ideal", "--workload", "log,log")
    bad("--workload boot,packages: says nothing about layouts; allowed: together with one of "
        "large-file, ", "advise", "ideal", "--workload", "boot,packages")
    bad("profile=nope: no profile of that name", "advise", "nope")
    bad("ftl.nothing=1: unknown key", "advise", "ideal", "ftl.nothing=1")
    bad("too few for FAT32", "advise", "generic32m")
    bad("allowed: at least 4 MiB", "advise", "generic32m", "device.capacity=2M")


# Profiles, with the capacity and the unit that matter here; all layouts of each are made.
DEVICES = (("transcend8g", 8019509248, 4 << 20), ("kingston512m", 490 << 20, 256 << 10),
           ("sandisk-sd4gb", 3796 << 20, 4 << 20), ("rundisk1g", 980 << 20, 1 << 20))


def paste_of(profile, capacity, unit):
    d = raw_writes.Device(profile, (), capacity, 122880, unit, 65536, "")
    for c in raw_writes.candidates(d):
        yield c, lines(c.layout, c.style == "factory", Hints(capacity, unit, 65536))


def make(line, size):
    """Does what a line says, to files: `disk` of `size` bytes, and `part`."""
    with open("disk", "wb") as file:
        file.truncate(size)
    code, _, err = ended(["bash", "-c", line.replace("/dev/sdX1", "part").replace("/dev/sdX",
                                                                                  "disk")])
    assert code == 0, (line, err)


def boot_block(size):
    with open("part", "rb") as file:
        return file.read(size)


def test_the_lines_make_the_layout():
    if not all(shutil.which(p) for p in ("sfdisk", "mkfs.vfat")):
        print("SKIP: no sfdisk or mkfs.vfat")
        return
    for profile, capacity, unit in DEVICES:
        seen = 0
        for c, text in paste_of(profile, capacity, unit):
            table, fat = [line for line in text.splitlines() if line.startswith(("printf",
                                                                                 "mkfs.vfat"))]
            make(table, capacity)
            code, out, err = ended(["sfdisk", "-J", "disk"])
            part, = json.loads(out)["partitiontable"]["partitions"]
            assert (part["start"], part["type"]) == (c.layout.start, "c"), (c, part)
            with open("part", "wb") as file:
                file.truncate(part["size"] * 512)
            make(fat, capacity)
            b = boot_block(512)
            reserved, fats, root = struct.unpack_from("<HBH", b, 14)
            length = struct.unpack_from("<H", b, 22)[0] or struct.unpack_from("<I", b, 36)[0]
            data = part["start"] * 512 + (reserved + fats * length + root // 16) * 512
            assert b[13] * 512 == c.layout.cluster and data == c.data, (profile, c, data)
            # ... which is what the label says.
            match = re.search(r"data at (\d+)([KM])", c.label)
            if match:
                seen += 1
                assert data % (int(match[1]) << {"K": 10, "M": 20}[match[2]]) == 0
            assert not c.label.startswith("SD") or (
                data % sda_layout(capacity).unit == 0
                and part["start"] == sda_layout(capacity).start)
        assert seen >= 1, profile


def test_the_lines_for_other_filesystems():
    for profile, capacity, unit in DEVICES[1:3]:
        c, text = next(paste_of(profile, capacity, unit))
        size = raw_writes._sectors(raw_writes.Device(profile, (), capacity, 0, 0, 0, ""), c.start) * 512
        for program in ("mkfs.exfat", "mkfs.ext4"):
            line = next(line for line in text.splitlines() if line.startswith(program))
            if not shutil.which(program):
                print("SKIP: no", program)
                continue
            with open("part", "wb") as file:
                file.truncate(size)
            make(line, capacity)
            b = boot_block(4096)
            if program == "mkfs.exfat":
                fat, length, heap = struct.unpack_from("<III", b, 80)
                sector = 1 << b[108]
                boundary = max(unit, 1 << 20)
                assert fat * sector % boundary == 0 and heap * sector % boundary == 0, (fat, heap)
                assert heap >= fat + length and sector << b[109] == max(c.layout.cluster, 32768)
            else:
                stride, = struct.unpack_from("<H", b, 1024 + 0x164)
                width, = struct.unpack_from("<I", b, 1024 + 0x170)
                assert stride * 4096 == 65536 and width * 4096 == max(unit, 65536), (stride, width)


def with_genimage(text, capacity):
    """Does what the lines for genimage say, and returns the partition as sfdisk sees it; the image
    is `out/disk.img`."""
    for folder in ("in", "root", "out"):
        os.makedirs(folder, exist_ok=True)
    write("root/file", "x")
    write("g.cfg", text.partition("# The same for genimage:\n")[2])
    code, out, err = ended(["genimage", "--config", "g.cfg", "--rootpath", "root", "--inputpath",
                            "in", "--outputpath", "out", "--tmppath", "tmp"])
    shutil.rmtree("tmp", ignore_errors=True) # later versions of genimage remove it
    assert code == 0, (text, out, err)
    assert os.path.getsize("out/disk.img") <= capacity, text
    return json.loads(ended(["sfdisk", "-J", "out/disk.img"])[1])["partitiontable"]["partitions"]


def test_genimage_makes_the_layout():
    missing = [p for p in ("genimage", "mcopy", "mkdosfs", "sfdisk") if not shutil.which(p)]
    if missing:
        print("SKIP: no", ", ".join(missing))
        return
    seen = set()
    for c, text in paste_of("kingston512m", 490 << 20, 4 << 20):
        if c.layout.filesystem != "FAT32":
            continue
        part, = with_genimage(text, 490 << 20)
        size, = re.findall(r"size=(\d+),", text)
        assert (part["start"], part["size"], part["type"]) == (c.layout.start, int(size), "c"), part
        with open("out/disk.img", "rb") as file:
            file.seek(part["start"] * 512)
            b = file.read(512)
        reserved, fats = struct.unpack_from("<HB", b, 14)
        data = part["start"] + reserved + fats * struct.unpack_from("<I", b, 36)[0]
        assert b[13] * 512 == c.layout.cluster and data * 512 == c.data, (c, data)
        seen.add(part["start"])
    assert {63, 2048, 8192} <= seen, seen


def test_the_lines_agree():
    for profile, capacity, unit in DEVICES:
        for c, text in paste_of(profile, capacity, unit):
            options, = re.findall(r"^mkfs\.vfat (.*) /dev/sdX1$", text, re.M)
            if c.layout.filesystem != "FAT32":
                assert "wic" not in text
                continue
            size, = re.findall(r"size=(\d+),", text)
            assert '--mkfs-extraopts "%s"' % options in text
            assert 'extraargs = "%s"' % options in text
            assert "--fixed-size %dM " % (int(size) >> 11) in text
            assert "    size = %dM\n" % (int(size) >> 11) in text
            assert "offset = %d " % c.start in text
            where, = re.findall(r"--align (\d+) ", text) or [0]
            offset, = re.findall(r"--offset (\d+)s ", text) or [0]
            assert int(where) * 1024 == c.start or int(offset) * 512 == c.start
            align, = re.findall(r"align = (\d+) ", text)
            assert c.start % int(align) == 0
            assert c.start + int(size) * 512 <= capacity


def test_all_shipped_profiles_have_an_answer():
    for profile in TOOL.profiles():
        if profile in ("generic32m", "flashfx4m"):
            continue
        d = raw_writes.look(TOOL, profile, ())
        found = raw_writes.candidates(d)
        assert len({c.label for c in found}) == len(found) >= 5, profile
        text = raw_writes.advise_text(d, [*raw_writes.WORKLOADS, *raw_writes.RECORDED])
        assert parse(text, "x").factors[0].levels == tuple(
            c.label for c in found)


run(globals())
