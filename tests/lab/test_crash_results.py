#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""What is said of power cuts, from results by hand in which every number is another one."""

import dataclasses
import itertools
import re

from flashemu_lab_bench import FLASHEMU, opens_short  # noqa: F401
from flashemu_script import run

from flashemu_lab.crash import results
from flashemu_lab.crash.checks import reason_of
from flashemu_lab.crash.power_cuts import COUNTS, Cut, _listen, _members, parse_id
from flashemu_lab.crash.results import Crashed, Done
from flashemu_lab.runs.program import Outcome

CUT = Cut("p", "ext4", "files", 1, 2, 30, 300, ("a.b=1",), 4 << 20, "canonical", "program",
          "plugin", "machine")


def test_every_field_of_a_cut_counts():
    """Whatever decides about a result is in the key; what only says where it lies is not."""
    other = {"filesystem": "xfs", "workload": "log", "seed": 2, "number": 3, "writes": 31,
             "size": 8 << 20, "canonical": "other", "program": "2", "plugin": "2", "machine": "2"}
    silent = {"profile": "q", "within": 400, "settings": ()}  # they are in `canonical`, `writes`
    assert {f.name for f in dataclasses.fields(Cut)} == {*other, *silent}
    for name, value in other.items():
        assert dataclasses.replace(CUT, **{name: value}).key() != CUT.key(), name
    for name, value in silent.items():
        assert dataclasses.replace(CUT, **{name: value}).key() == CUT.key(), name
    for one, two in itertools.combinations(other, 2):   # and each by itself
        assert dataclasses.replace(CUT, **{one: other[one]}).key() != \
            dataclasses.replace(CUT, **{two: other[two]}).key(), (one, two)


def test_the_command_of_a_cut():
    assert CUT.id == "p:ext4:files:1:2" and parse_id(CUT.id) == ("p", "ext4", "files", 1, 2)
    assert CUT.command() == ("flashemu-lab crash a.b=1 --size 4194304 --within 300 --again --cut "
                             "p:ext4:files:1:2")
    assert "--size 16T " in dataclasses.replace(CUT, size=0).command()
    assert parse_id("a:b:vfat:log:3:4")[0] == "a:b"


def cut(name, counts, mounted="yes", fsck="clean", mount=1, recover=1):
    """A result; counts are synced, lost, wrong, unsynced, whole, part, gone, bad."""
    result = dict(zip(COUNTS, counts), mounted=mounted, fsck=fsck, mount_ns=mount,
                  recover_ns=recover)
    return Done(name, 7, "k", "c", Outcome("done", result))


# xfs: sums 12, 0, 3, 10, 1, 6, 2, 8.  ext4: 11, 5, 0, 13, 3, 7, 1, 2.  vfat: 9, 0, 4, 6, 2, 2, 1, 1
SOME = Crashed("program", [
    cut("p:xfs:files:1:0", (5, 0, 1, 4, 0, 2, 1, 3), "no", "errors", 5000000, 11000000),
    cut("p:xfs:files:1:1", (7, 0, 2, 6, 1, 4, 1, 5), "repaired", "clean", 1000000, 12000000),
    cut("p:xfs:files:1:2", (0,) * 8, "repaired", "errors", 2500000, 16000000),
    cut("p:ext4:log:1:0", (11, 5, 0, 13, 3, 7, 1, 2), mount=7000000, recover=3000000),
    cut("p:vfat:database:1:0", (9, 0, 4, 6, 2, 2, 1, 1), mount=100000, recover=200000),
    cut("q:exfat:files:1:0", (17, 0, 0, 19, 0, 0, 0, 0), mount=300000, recover=400000),
    cut("q:f2fs:log:1:0", (0, 0, 0, 3, 3, 0, 0, 0), mount=500000, recover=600000),
    Done("q:f2fs:log:1:1", 8, "k", "c", Outcome("lost", message="no power")),
    Done("q:f2fs:log:1:2", 9, "k", "c", Outcome("failed", message="no room"))])


def test_how_a_check_ended():
    """A shell says 128 and the signal; 128 alone is no signal, nor is what Python's exit(-1) leaves."""
    said = [reason_of(code).split("the check ")[1] for code in (None, 7, 128, 129, 137, 255, -11, -40)]
    assert said == ["took too long", "ended with exit code 7", "ended with exit code 128",
                    "was ended by SIGHUP", "was ended by SIGKILL", "ended with exit code 255",
                    "was ended by SIGSEGV", "was ended by signal 40"], said
    assert reason_of(134, "x.c:3: no") == "the check was ended by SIGABRT: x.c:3: no"


def test_groups():
    groups = {g.name[1]: g for g in SOME.groups()}
    assert list(groups) == ["xfs", "ext4", "vfat", "exfat", "f2fs"]
    xfs = groups["xfs"]
    assert [xfs.counts[c] for c in COUNTS] == [12, 0, 3, 10, 1, 6, 2, 8]
    assert (xfs.cuts, xfs.errors, xfs.repaired, xfs.unusable) == (3, 2, 2, 1)
    assert xfs.mounts == [5000000, 1000000, 2500000]
    assert xfs.recovers == [11000000, 12000000, 16000000]
    assert groups["f2fs"].cuts == 1 and [d.id for d in SOME.failures] == [
        "q:f2fs:log:1:1", "q:f2fs:log:1:2"]


def test_sentences():
    """What is damaged is as bad as what is lost; and a filesystem that promises less breaks no
    promise."""
    assert results.sentences(SOME) == [
        "XFS on p (files) damaged 3 of 12 synced files in 3 power cuts; that breaks the promise of "
        "fsync.",
        "ext4 on p (log) lost 5 of 11 synced records in 1 power cut; that breaks the promise of "
        "fsync.",
        "FAT32 on p (database) damaged 4 of 9 synced blocks in 1 power cut, although fsync had "
        "confirmed them.",
        "Nothing that fsync had confirmed was lost with exFAT on q: 17 files, records and blocks "
        "in 1 power cut.",
        "XFS on p (files) could be mounted only after a repair 2 times and not at all 1 time in 3 "
        "power cuts.",
        "The slowest mount took 7 ms of the device's time with ext4 on p (log).",
        "2 of 9 cuts have no result. The first message: q:f2fs:log:1:1: no power."]


def test_the_table():
    """Medians of times in ms; each count in its column."""
    head, *rows = [line.split() for line in results.to_text(SOME).splitlines()[:6]]
    assert head == ("profile filesystem workload cuts synced lost damaged not synced whole in part "
                    "gone other fsck errors repaired unusable mount ms ready ms").split()
    assert rows == [
        ["p", "XFS", "files", *"3 12 0 3 10 1 6 2 8 2 2 1 2.5 12".split()],
        ["p", "ext4", "log", *"1 11 5 0 13 3 7 1 2 0 0 0 7 3".split()],
        ["p", "FAT32", "database", *"1 9 0 4 6 2 2 1 1 0 0 0 0.1 0.2".split()],
        ["q", "exFAT", "files", *"1 17 0 0 19 0 0 0 0 0 0 0 0.3 0.4".split()],
        ["q", "F2FS", "log", *"1 0 0 0 3 3 0 0 0 0 0 0 0.5 0.6".split()]]


def test_figures():
    """What was lost or damaged is a share of what was synced, and what is whole of what was not."""
    page = results.to_page(SOME)
    assert opens_short(page) and page.count("<table") == 2
    for text in ("XFS on p (files): 25 % of what was synced",
                 "ext4 on p (log): 45.5 % of what was synced",
                 "FAT32 on p (database): 44.4 % of what was synced",
                 "exFAT on q (files): 0 % of what was synced",
                 "XFS on p (files): 10 % of what was not synced",
                 "F2FS on q (log): 100 % of what was not synced",
                 "XFS on p (files): 2.5 ms (median)"):
        assert text in page, text
    assert results.from_json(results.to_json(SOME), "r.json") == SOME


def test_what_the_guest_says():
    cuts = ("mkfs\nbegin a\nbegin p:ext4:files:1:2\n"
            "result p:ext4:files:1:2 lost=3 fsck=clean wrong=-4\n"
            "end p:ext4:files:1:22\nend p:ext4:files:1:2\nmore\n")
    other = []
    found, begun = _listen(iter(cuts.splitlines(True)), CUT, other)
    assert begun and found == Outcome("done", {"lost": 3, "fsck": "clean", "wrong": -4})
    assert other == ["mkfs\n", "begin a\n", "end p:ext4:files:1:22\n"]
    assert _listen(iter(["begin p:ext4:files:1:2\n"]), CUT, other) == (None, True)
    assert _listen(iter(["mkfs\n"]), CUT, other) == (None, False)
    assert _listen(iter(["begin p:ext4:files:1:2\n", "end p:ext4:files:1:2\n"]), CUT, other)[0] \
        .status == "lost"
    assert _members("b=2 a=x c=12345678901234567890") == {
        "a": "x", "b": 2, "c": "12345678901234567890"}


def test_of_nothing_there_is_no_share():
    """F2FS had nothing synced, so no bar says that nothing of it was lost."""
    page = results.to_page(SOME)
    first, second, *_ = re.findall("<svg .*?</svg>", page, re.S)
    told = [re.findall(r"<title>(.*?) on ", drawn) for drawn in (first, second)]
    assert told == [["XFS", "ext4", "FAT32", "exFAT"], ["XFS", "ext4", "FAT32", "exFAT", "F2FS"]], told
    assert "F2FS on q (log): 100 % of what was not synced" in second
    for name in ("XFS", "ext4", "FAT32", "exFAT", "F2FS"):
        assert ">%s</text>" % name in first, name


run(globals())
