#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""flashemu-lab advise: the choice, what the others cost, and lines that do what they say."""

import dataclasses
import json
import re
from pathlib import Path

from flashemu_lab_bench import SMALL, bad, good, good_json, read, stored
from flashemu_script import run

from flashemu_lab.advise import filesystems, raw_writes
from flashemu_lab.advise.workloads import ABOUT, RECORDED, WORKLOADS
from flashemu_lab.recording import recordings
from flashemu_lab.experiment.choice import choose, costs, ratios, worst
from flashemu_lab.experiment.conclusion import conclusion
from flashemu_lab.recording.recordings import Phase, Recording
from flashemu_lab.experiment.spec import parse
from flashemu_lab.experiment.table import Row, Table
from flashemu_lab.report.figures import draw
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


def table_of(rates, wafs, threshold="2%", among="", more="", replay=None, steady=None):
    """Three layouts by three request sizes."""
    text = CHOOSING
    if steady:
        text = text.replace("[[conclusion]]", '[measure.new]\nvalue = "busy_ns"\n[[conclusion]]', 1)
        more += 'steady = "new"\n'
    e = parse(text + 'threshold = "%s"\namong = "%s"\n%s' % (threshold, among, more), "x")
    rows = []
    for i, layout in enumerate("123"):
        for j, bs in enumerate(("4K", "8K", "16K")):
            values = {"rate": rates[i][j], "waf": wafs[i][j]}
            if steady:
                values["new"] = steady[i][j]
            rows.append(Row((layout, bs), "", "done", values, None, "", ""))
    return Table(e, "", tuple(rows), replay=replay)


EQUAL = [[1, 1, 1]] * 3


def chosen(rates, wafs=EQUAL, *args, **more):
    table = table_of(rates, wafs, *args, **more)
    return choose(table, table.experiment.statements[0].words)


def test_ratios_by_hand():
    table = table_of([[8, 1, 30], [4, 2, 30], [8, 4, 60]], [[2, 1, 1], [1, 1, 1], [1, 1, 4]])
    rate, waf = (table.experiment.measure(name) for name in ("rate", "waf"))
    found = ratios(table, "layout", rate)
    assert found == {("4K",): {"1": 1, "2": .5, "3": 1}, ("8K",): {"1": .25, "2": .5, "3": 1},
                     ("16K",): {"1": .5, "2": .5, "3": 1}}
    assert worst(found, rate) == {"1": .25, "2": .5, "3": 1}
    # Of what is better if there is less, a ratio says how many times as much there is.
    found = ratios(table, "layout", waf)
    assert found == {("4K",): {"1": 2, "2": 1, "3": 1}, ("8K",): {"1": 1, "2": 1, "3": 1},
                     ("16K",): {"1": 1, "2": 1, "3": 4}}
    assert worst(found, waf) == {"1": 2, "2": 1, "3": 4}
    # A combination that has no value at some level says nothing about any.
    rows = tuple(r for r in table.rows if r.levels != ("2", "8K"))
    found = ratios(Table(table.experiment, "", rows), "layout", rate)
    assert list(found) == [("4K",), ("16K",)] and worst(found, rate)["1"] == .5
    assert worst({}, rate) == {}


def test_the_choice():
    best = [[1, 1, 1], [1, 1, 1.1], [1, 1, 1]]
    assert chosen(best).level == "2" and chosen(best).equal == ("2",)
    near = chosen([[1, 1, 1], [1, 1, 1.02], [1, 1, 1]])
    assert near.level == "1" and near.equal == ("1", "2", "3"), "less than the threshold is equal"
    assert chosen([[1, 1, 1], [1, 1, 1.02], [1, 1, 1]], threshold="1%").level == "2"
    assert chosen([[.98, 1, 1], [1, 1, 1], [1, 1, 1]]).equal == ("1", "2", "3"), "just 2 %"
    assert chosen([[.979, 1, 1], [1, 1, 1], [1, 1, 1]]).equal == ("2", "3")
    # What is only there for comparison is not chosen, not called as good, and no measure of others.
    assert chosen(best, among="3").equal == ("3",)
    assert chosen(best, among="3").share == (1, "4K")
    # Of what is equally fast, the one that wears less.
    assert chosen(EQUAL, [[2, 1, 1], [1, 1, 1], [1, 1, 1]]).equal == ("2", "3")
    assert chosen([[9, 9, 9], [1, 1, 1], [1, 1, 1]], [[2, 1, 1], [1, 1, 1], [1, 1, 1]]).level == "1"
    assert chosen([[0, 0, 0]] * 3) is None


def test_the_worst_work_decides():
    """In the mean 1 would be best: 0.16^(1/3) = 0.54, and 2 has 0.5."""
    rates = [[100, 100, 16], [50, 50, 50], [50, 50, 100]]
    found = chosen(rates)
    # Of equal worst shares the mean decides: 0.5, and (0.5 x 0.5 x 1)^(1/3) = 0.63.
    assert (found.level, found.equal, found.share) == ("3", ("3",), (.5, "4K"))
    assert [(b.group, b.levels, b.worst) for b in found.best] == [
        ("4K", ("1",), ("2", .5)), ("8K", ("1",), ("2", .5)), ("16K", ("3",), ("1", .16))]
    told = conclusion(table_of(rates, EQUAL))
    assert told[:4] == ["Choose 3. It is weakest with 4K: 50 % of the best rate.",
                        "Best for 4K: 1. Worst: 2, with 50 % of the best.",
                        "Best for 8K: 1. Worst: 2, with 50 % of the best.",
                        "Best for 16K: 3. Worst: 1, with 16 % of the best."], told
    # Asked for one work only, its best one is chosen.
    table = table_of(rates, EQUAL)
    for bs, level in (("4K", "1"), ("16K", "3")):
        e = parse(table.experiment.text.replace(
            'levels = ["4K", "8K", "16K"]', f'levels = ["{bs}"]'), "x")
        rows = tuple(r for r in table.rows if r.levels[1] == bs)
        assert choose(Table(e, "", rows), e.statements[0].words).level == level, bs


def replay_of(like, **by_filesystem):
    numbers = {name: {"samples": 1, "largest": value} for name, value in by_filesystem.items()}
    return {"sentence": "", "samples": 9, "largest": 2.0, "filesystems": numbers, "any": {},
            "like": {"samples": 5, "largest": like}}


def test_differences_count_from_what_replays_differ_by():
    """Both count: 1.1 x 1.2 = 1.32, and 1.1 x 1.02 is more than 1.1."""
    names = {"1": .1, "2": .2, "3": .0}
    for rate, equal in ((1.31, ("1", "2")), (1.33, ("2",))):
        rates = [[1, 1, 1], [rate, 1, 1], [.5, 1, 1]]
        found = chosen(rates, replay=replay_of(.3, **names))
        assert found.equal == equal, (rate, found)
        assert found.level == "2", "of equal ones that with the better numbers"
        best = found.best[0]
        assert (best.levels, best.perhaps) == (("2",), ("1",) if len(equal) == 2 else ())
    assert chosen([[1, 1, 1], [1.31, 1, 1], [.5, 1, 1]]).equal == ("2",), "without a replay"
    # The exact one differs from the first by more than 1.1, from the second by more than 1.2.
    assert chosen([[1, 1, 1], [1, 1, 1], [1.15, 1, 1]],
                  replay=replay_of(.3, **names)).equal == ("2", "3")
    # 2 % is the least; and a filesystem without samples is as far off as the worst like it.
    assert chosen([[1, 1, 1], [1.03, 1, 1], [1, 1, 1]],
                  replay=replay_of(.3, **dict.fromkeys("123", 0.))).equal == ("2",)
    unknown = replay_of(.3, **{"1": .1, "2": None, "3": .0})
    assert chosen([[1, 1, 1], [1.42, 1, 1], [.5, 1, 1]], replay=unknown).equal == ("1", "2")
    assert chosen([[1, 1, 1], [1.44, 1, 1], [.5, 1, 1]], replay=unknown).equal == ("2",)
    told = conclusion(table_of([[1, 1, 1], [1.31, 1, 1], [.5, 1, 1]], EQUAL,
                               replay=replay_of(.3, **names)))
    assert told[:5] == [
        "Choose 2. No other layout is better by a difference that counts.",
        "Just as good, because the differences are too small to count: 1.",
        "Good for 4K: 2; perhaps as good: 1. Worst: 3, with 38 % of the best.",
        "No difference counts for 8K and 16K.",
        "A difference counts from 2 % on, with 1 from 10.0 % and with 2 from 20.0 %: by so much, "
        "replays have differed from a kernel. Of two that are compared, both count."], told
    # A level may tell its filesystem.
    table = table_of([[1, 1, 1], [1.31, 1, 1], [.5, 1, 1]], EQUAL)
    e = parse(table.experiment.text.replace('layout = ["1", "2", "3"]', """layout.label = "layout"
layout.levels = {"1" = {filesystem = "a"}, "2" = {filesystem = "b"}, "3" = {filesystem = "c"}}"""),
              "x")
    table = Table(e, "", table.rows, replay=replay_of(.3, a=.1, b=.2, c=0.))
    assert choose(table, e.statements[0].words).equal == ("1", "2")


def test_wear_counts_in_a_steady_state():
    wafs = [[9, 1, 1], [1, 1, 1], [1, 1, 2]]
    assert chosen(EQUAL, wafs).equal == ("2",)
    new = [[1, 1, 1], [1, 1, 1], [1, 1, .49]]
    found = chosen(EQUAL, wafs, steady=new)
    assert (found.equal, found.unsteady) == (("2", "3"), ("16K",))
    assert chosen(EQUAL, wafs, steady=[[.5] * 3] * 3).equal == ("2",)
    found = chosen(EQUAL, wafs, steady=[[0] * 3] * 3)
    assert (found.equal, found.unsteady) == (("1", "2", "3"), ("4K", "8K", "16K"))
    table = table_of(EQUAL, wafs, steady=new)
    told = conclusion(table)
    assert ("With 16K, the device is not in a steady state: it has blocks that nobody has written "
            "yet, and erases less than half of what it programs. The write amplification will grow, so "
            "wear does not decide there.") in told, told
    assert told[-1] == (
        "1 instead gives as much of the rate and 1.00 (8K) to 9.00 times (4K) the write amplification.")
    words = table.experiment.statements[0].words
    found = costs(table, words, choose(table, words), "3")
    assert [(c.measure.name, c.least, c.most) for c in found] == [("rate", 1, 1), ("waf", 1, 1)]
    told = conclusion(table_of(EQUAL, wafs, steady=[[0] * 3] * 3))
    assert told[0] == ("The layout does not matter here: no difference in the rate counts. Choose 1."), told


def test_a_work_may_have_several_rows():
    """What is best for a device is what is good at each size."""
    text = CHOOSING.replace('bs = {', 'profile = ["a", "b"]\nbs = {').replace(
        'profile = "ssd-page"\n', "") + 'by = "BY"\n'
    rates = {"a": [[8, 8, 8], [4, 8, 8], [8, 8, 8]], "b": [[2, 2, 2], [2, 2, 2], [2, 1, 2]]}
    for by, want in (("profile", [("a", ("1", "3"), ("2", .5)), ("b", ("1", "2"), ("3", .5))]),
                     ("bs", [("4K", ("1", "3"), ("2", .5)), ("8K", ("1", "2"), ("3", .5)),
                             ("16K", ("1", "2", "3"), ("1", 1))]), ("", [])):
        e = parse(text.replace("BY", by), "x")
        assert [f.name for f in e.factors] == ["layout", "profile", "bs"]
        rows = tuple(Row((layout, profile, bs), "", "done",
                         {"rate": rates[profile][i][j], "waf": 1}, None, "", "")
                     for i, layout in enumerate("123") for profile in "ab"
                     for j, bs in enumerate(("4K", "8K", "16K")))
        found = choose(Table(e, "", rows), e.statements[0].words)
        assert (found.level, found.equal) == ("1", ("1",))
        assert [(b.group, b.levels, b.worst) for b in found.best] == want, by


def test_what_is_said():
    told = conclusion(table_of(EQUAL, EQUAL))
    assert told == ["The layout does not matter here: no difference in the rate or the write "
                    "amplification counts. Choose 1.", "No difference counts for 4K, 8K and 16K.",
                    "A difference counts from 2 % on: the model cannot tell smaller ones."], told
    table = table_of([[10, 10, 10], [10, 10, 10], [5, 10, 2.5]], [[1, 1, 1], [1, 1, 1], [1, 2, 4]])
    told = conclusion(table)
    assert told[:2] == ["Choose 1. No other layout is better by a difference that counts.",
                        "Just as good, because the differences are too small to count: 2."]
    assert told[-1] == ("3 instead gives 25 % (16K) to 100 % (8K) of the rate and 1.00 (4K) to 4.00 "
                        "times (16K) the write amplification.")
    words = table.experiment.statements[0].words
    found = costs(table, words, choose(table, words), "3")
    assert [(c.measure.name, c.least, c.least_at, c.most, c.most_at) for c in found] == [
        ("rate", .25, "16K", 1, "8K"), ("waf", 1, "4K", 4, "16K")]


def test_a_map_of_layouts_and_works():
    """Full colour is good for a rate and bad for wear; each number is that of its layout and work; the
    chosen layout has the frame."""
    figures = ('[[figure]]\nkind = "scores"\nmeasure = "rate"\nx = "layout"\n'
               '[[figure]]\nkind = "scores"\nmeasure = "waf"\nx = "layout"\n')
    table = table_of([[6, 8, 8], [4, 8, 8], [8, 8, 8]], [[1, 1, 1], [1, 1, 1], [1, 5, 2]],
                     more=figures)
    drawn = draw(table)
    assert [d.heading for d in drawn] == [
        "Rate, in % of the best: full colour is good",
        "Write amplification, in multiples of the least: full colour is bad"]
    for picture, want in ((drawn[0].picture, ["75", "100", "100", "75", "50", "100", "100", "50",
                                              "100", "100", "100", "100"]),
                          (drawn[1].picture, ["1"] * 8 + ["1", "5", "2", "5"])):
        cells = re.findall(r'<rect x="([0-9.]+)" y="([0-9.]+)"[^>]*fill-opacity="([0-9.]+)">'
                           r"<title>layout (.), (.*?): ([0-9]+) ", picture)
        assert [c[5] for c in cells] == want, cells
        assert [c[3] for c in cells] == ["1"] * 4 + ["2"] * 4 + ["3"] * 4
        assert [c[4] for c in cells[:4]] == ["4K", "8K", "16K", "worst case"]
        by_value = sorted(cells, key=lambda c: float(c[5]))
        assert [c[2] for c in by_value] == sorted(c[2] for c in cells), "the larger, the darker"
        frame, = re.findall(r'<rect x="[0-9.]+" y="([0-9.]+)"[^>]*class="mark key"', picture)
        assert abs(float(frame) - float(cells[8][1])) < 3, "3 is chosen"


def test_advice_is_an_experiment():
    out = good_json("advise", *QUICK, "-o", "x")
    layouts = list(dict.fromkeys(r["levels"]["layout"] for r in out["rows"]))
    for start in ("1 MiB, ", "4 MiB, ", "8 MiB, ", "SD Association, ", "sector 63, "):
        assert any(layout.startswith(start) for layout in layouts), start
    assert [r["levels"]["workload"] for r in out["rows"][:3]] == ["log", "database", "video"]
    assert all(r["status"] == "done" and r["values"]["rate"] > 0 for r in out["rows"])
    assert out["conclusion"][0].startswith("Start the partition at ")
    assert " and format FAT32 with " in out["conclusion"][0]
    assert "flashemu align" in out["conclusion"][-1]
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
    assert page.index("answer") < page.index("<svg") < page.index("To paste")
    assert page.index("To paste") < page.index("<details><summary>All ")
    assert '<a href="filesystems/index.html">' in page
    assert '<a href="../index.html">' in read("x/filesystems/index.html")
    assert good("report", "x", "-o", "x/again.html") == "" and read("x/again.html") == page
    assert good("report", "x", "-o", "again.html") == ""
    assert read("again.html") == page.replace('href="f', 'href="x/f'), "links lead there as well"


def test_filesystems_come_from_recordings():
    words = ("sandisk-su04g", "device.used=0", "--workload", "large-file")
    out = good_json("advise", *words, "-o", "x")
    found = out["filesystems"]
    names = [r["levels"]["filesystem"] for r in found["rows"]]
    start = re.search("^Start the partition at (.*?) and format ", out["conclusion"][0])[1]
    assert {"ext4 at " + start, "FAT32 (32 KiB clusters) at " + start, "exFAT at sector 63"} <= set(names)
    assert not any(name.startswith("F2FS") for name in names), "f2fs looks at the start"
    assert all(r["status"] == "done" and r["values"]["rate"] > 0 for r in found["rows"]), found
    assert found["conclusion"][0].startswith("Format the partition at %s with " % start)
    for row in found["rows"]:
        at = "63" if row["levels"]["filesystem"].endswith("63") else str(
            int(float(start.split()[0]) * 2048))
        assert ",start=%s,measure=write" % at in row["command"], row
    assert good_json("run", "x/filesystems/experiment.toml")["rows"] == found["rows"]
    assert good_json("advise", *words) == out
    text = good("advise", *words)
    assert text.count("sfdisk --wipe") == 2 and "mount -t" in text


def test_the_answer_comes_first():
    text = good("advise", *QUICK)
    assert text.startswith("Start the partition at ") and "workload  " not in text
    told = good("advise", *QUICK, "--rows")
    assert told.startswith(text), "the rows come behind the answer"
    rows = [line for line in told[len(text):].splitlines() if line.strip()]
    heads = [line for line in rows if re.match("(layout|filesystem) +workload +rate", line)]
    found = good_json("advise", *QUICK)
    assert len(heads) == 2
    assert len(rows) == 2 + len(found["rows"]) + len(found["filesystems"]["rows"])
    bad("unrecognized arguments: --rows", "sweep", "ideal", "gen:random,op=write,count=1", "--rows")


def test_works_that_were_asked_for():
    """Packages need links and owners, so for them only some filesystems are there."""
    words = ("sandisk-su04g", "device.used=0", "--workload", "log,packages")
    rows = good_json("advise", *words)["filesystems"]["rows"]
    assert {r["levels"]["workload"] for r in rows} == {"log", "packages"}
    assert not any(r["levels"]["filesystem"].startswith(("FAT", "exFAT")) for r in rows)


def test_a_card_that_fills_its_blocks_says_so():
    """Its cache takes all that is written, so nothing is erased."""
    out = good_json("advise", "raspberrypi32g", "--workload", "log")
    rows = [r for r in out["rows"] + out["filesystems"]["rows"]]
    assert all(r["values"]["erases"] == 0 == r["values"]["renewed"] for r in rows)
    for found in (out, out["filesystems"]):
        assert any(s.startswith("With log, the device is not in a steady state: ")
                   for s in found["conclusion"])
    out = good_json("advise", "sandisk-su04g", "--workload", "log")  # it has been written all over
    assert all(.5 < r["values"]["renewed"] < 1.5 for r in out["rows"])
    assert not any("steady" in s for s in out["conclusion"])


def test_reads_of_a_boot_count():
    out = good_json("advise", "sandisk-su04g", "device.used=0", "--workload", "log,boot")
    assert {r["levels"]["workload"] for r in out["rows"]} == {"log"}
    rows = out["filesystems"]["rows"]
    assert {r["levels"]["workload"] for r in rows} == {"log", "boot"}
    for r in rows:
        reads = r["levels"]["workload"] == "boot"
        assert ("measure=read" if reads else "measure=write") in r["command"], r
        assert r["values"]["rate"] > 0 and (r["values"]["written"] < 1 if reads else True)
    assert out["filesystems"]["conclusion"][0].startswith("Format the partition at ")
    assert "sector 63" not in out["filesystems"]["conclusion"][0]


def test_advice_for_everything_has_filesystems():
    """The shipped recordings, of which not every filesystem has all."""
    everything = [*WORKLOADS, *RECORDED]
    assert set(everything) == set(filesystems.WORKS)
    for workloads, others, least in (
            (everything, {"vfat", "exfat", "btrfs", "f2fs", "ntfs", "xfs"}, 7),
            (["database", "log"], {"vfat", "xfs"}, 2),
            (["large-file"], {"vfat-2k", "btrfs", "ntfs"}, 1),
            (["packages", "boot"], {"btrfs"}, 1)):
        found = filesystems.known(workloads, 2**24, workloads is not everything)
        names = [f.name for f in found]
        assert names[0] == "ext4" and others < set(names), (workloads, names)
        assert len(found[0].by_workload) >= least, found[0]


def recording_of(name, work, sectors=1000, size=5, phase="write"):
    values = {"name": name, "path": Path(name), "filesystem": name.split("-")[0], "work": work,
              "mount": "mount", "start": 256, "sectors": sectors,
              "phases": (Phase(phase, 0, 9, size),)}
    return Recording(**{f.name: values.get(f.name, "") for f in dataclasses.fields(Recording)})


def known_of(*made, workloads=("large-file", "log"), room=2000, asked=False):
    by_name = {r.name: r for r in made}
    names, load = recordings.names, recordings.load
    recordings.names, recordings.load = lambda: tuple(sorted(by_name)), by_name.__getitem__
    try:
        return [(f.name, sorted(f.by_workload)) for f in filesystems.known(
            list(workloads), room, asked)]
    finally:
        recordings.names, recordings.load = names, load


def test_workloads_are_listed():
    names = [*WORKLOADS, *RECORDED]
    assert list(ABOUT) == names
    lines = good("list", "--workloads").splitlines()
    assert [line.split()[0] for line in lines] == names
    found = good_json("list", "--workloads")
    assert [w["name"] for w in found] == names and all(w["about"] for w in found)
    log = good_json("show", "log")
    assert log == found[names.index("log")] and log["pattern"] == WORKLOADS["log"]
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
    # Whoever asks for both works gets those filesystems that have both.
    assert known_of(a, b, c, *logs, *many, asked=True) == [("exfat", both), ("xfs", both)]
    assert known_of(a, b, c, logs[0], asked=True) == known_of(a, b, c, logs[0]) == [
        (n, ["large-file"]) for n in ("ext4", "exfat", "xfs")], "xfs alone is no comparison"
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


def test_all_shipped_profiles_have_an_answer():
    for profile in TOOL.profiles():
        if profile in ("generic32m", "flashfx4m"):
            continue
        d = raw_writes.look(TOOL, profile, ())
        found = raw_writes.candidates(d)
        assert len({c.label for c in found}) == len(found) >= 5, profile
        text = raw_writes.advise_text(d, [*WORKLOADS, *RECORDED])
        assert parse(text, "x").factors[0].levels == tuple(
            c.label for c in found)


run(globals())
