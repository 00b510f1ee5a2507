#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Sentences as one tells them to a friend: names of levels, articles, verbs, numbers in one unit, and
what a step does to a measure of which more, less or neither is better."""

import dataclasses
import itertools

from flashemu_lab_bench import FLASHEMU  # noqa: F401
from flashemu_script import run

from flashemu_lab.core.errors import LabError
from flashemu_lab.core.text import lines_of, listed
from flashemu_lab.experiment.conclusion import conclusion
from flashemu_lab.experiment.nouns import agreeing, called, instead, noun, several, the
from flashemu_lab.experiment.ratio_words import step
from flashemu_lab.experiment.replay_accuracy import off
from flashemu_lab.experiment.spec import Measure, parse
from flashemu_lab.experiment.table import Row, Table
from flashemu_lab.recording.recipes import spelled

FACTORS = """name = "x"
title = "X"
[factors]
fs = {label = "filesystem", noun = "{}", levels = {"FAT32" = {name = "vfat"}, "ext4" = {name = "ext4"}}}
start = {label = "start sector", noun = "sector {}", levels = ["63", "256"]}
writes = {label = "writes", noun = "{} writes", levels = ["buffered", "synced"]}
[device]
profile = "ideal"
[workload]
requests = "{name}{start}{writes}"
"""


def measure(label, unit="", better="", log=False):
    return Measure("m", "elapsed_ns", label, unit, better, log)


def told(m, say, values, factors=FACTORS):
    """The conclusion about values in the order of the file, the last factor first."""
    e = parse(f'{factors}[measure.m]\nvalue = "elapsed_ns"\nlabel = "{m.label}"\nunit = "{m.unit}"\n'
              f'better = "{m.better}"\n[[conclusion]]\n{say}', "x.toml")
    return conclusion(Table(e, "", tuple(
        Row(levels, "", "done", {"m": value}, None, "", "")
        for levels, value in zip(itertools.product(*(f.levels for f in e.factors)), values))))


def test_names_of_levels():
    e = parse(FACTORS.replace("[device]", """age = {levels = {"0" = {noun = "a new card"}, "9" = {noun = \
"an old card"}}}
bs = {label = "request", noun = "{size} requests", levels = ["4k", "1.5M", "512", "all"]}
depth = {label = "queue", levels = ["1", "32"]}
[device]""").replace("{writes}", "{writes}{bs}{depth}{age}") + '[measure.m]\nvalue = "elapsed_ns"\n', "x.toml")
    fs, start, writes, age, bs, depth = e.factors
    assert [noun(f, f.levels[-1]) for f in e.factors] == [
        "ext4", "sector 256", "synced writes", "an old card", "all requests", "queue 32"]
    assert [noun(bs, level) for level in bs.levels[:3]] == ["4 KiB requests", "1.5 MiB requests",
                                                            "512 requests"]
    assert [instead(f, f.levels[1], f.levels[0]) for f in e.factors] == [
        "ext4 instead of FAT32", "sector 256 instead of 63", "synced instead of buffered writes",
        "an old card instead of a new card", "1.5 MiB instead of 4 KiB requests", "queue 32 instead of 1"]
    assert instead(dataclasses.replace(start, noun="the kernel of {}"), "256", "63") == \
        "the kernel of 256 instead of that of 63"
    assert [called(f, f.levels[0]) for f in e.factors] == [
        "FAT32", "sector 63", "buffered writes", "a new card", "4 KiB requests", "1"]
    for wrong in ("sector", "{} to {}", "{} {size}"):
        try:
            parse(FACTORS.replace("sector {}", wrong) + '[measure.m]\nvalue = "a"\n', "x.toml")
        except LabError as error:
            assert str(error) == f'x.toml:5: noun = "{wrong}": allowed: a text with {{}} or {{size}}'
        else:
            raise AssertionError(wrong)


def test_articles_and_verbs():
    assert [the(label) for label in ("rate", "the slowest 1 % of the writes", "ftl.op")] == [
        "the rate", "the slowest 1 % of the writes", "ftl.op"]
    for label, plural in (("rate", False), ("erased blocks", True), ("appends a second", True),
                          ("write amplification", False), ("pages copied for each write", True),
                          ("flash written for each byte of files", False), ("loss", False),
                          ("bus use", False), ("rate of files", False), ("delays", True)):
        assert several(label) == plural, label
    assert agreeing(measure("rate"), "is") == "the rate is"
    assert agreeing(measure("erases for each GB"), "is") == "the erases for each GB are"
    assert agreeing(measure("appends a second"), "keeps") == "the appends a second keep"
    assert listed(["a"], "or") == "a" and listed(["a", "b", "c"], "or") == "a, b or c"
    assert lines_of("") == [] and lines_of("a") == lines_of("a\n") == ["a"]
    assert lines_of("a\u2028b\x0c\n\nc\r\n") == ["a\u2028b\x0c", "", "c\r"]


def test_what_a_step_does():
    rate, waf, delay = measure("rate", better="more"), measure("write amplification", better="less"), \
        measure("delay")
    for ratios, m, words in (
            ([.61], rate, "costs 39 % of the rate (one pair of runs)"),
            ([.61], waf, "saves 39 % of the write amplification (one pair of runs)"),
            ([.61], delay, "takes away 39 % of the delay (one pair of runs)"),
            ([.27], waf, "leaves 27 % of the write amplification (one pair of runs)"),
            ([.04], rate, "leaves 4.0 % of the rate (one pair of runs)"),
            ([.00001], rate, "leaves less than 0.01 % of the rate (one pair of runs)"),
            ([1.04], delay, "adds 4.0 % to the delay (one pair of runs)"),
            ([1.61], rate, "gives 1.61 times the rate (one pair of runs)"),
            ([12.34], waf, "gives 12.3 times the write amplification (one pair of runs)"),
            ([1.004], rate, "hardly changes the rate (one pair of runs)"),
            ([.5, .5, .5], rate, "costs 50 % of the rate in each of 3 pairs of runs"),
            ([.6, .9375], rate, "costs 25 % of the rate on average over 2 pairs of runs (6 to 40 %)"),
            ([.8, .9, 1.25], rate,
             "costs 3.5 % of the rate on average over 3 pairs of runs (from 20.0 % less to 25.0 % more)"),
            ([.01, .16], rate, "leaves 4.0 % of the rate on average over 2 pairs of runs (1.0 to 16.0 %)"),
            ([.9, 4], rate, "gives 1.90 times the rate on average over 2 pairs of runs (0.90 to 4.00 times)"),
            ([.4, 2.5], rate, "hardly changes the rate on average over 2 pairs of runs (from 60.0 % less to "
                              "2.50 times as much)"),
            ([.999, 1.001], rate, "hardly changes the rate in each of 2 pairs of runs"),
            ([.997, 1.004], rate,
             "hardly changes the rate on average over 2 pairs of runs (from 0.3 % less to 0.4 % more)")):
        assert step(ratios, m) == words, (ratios, step(ratios, m))


BETWEEN = """say = "between"
before = "fs=FAT32, start=63, writes=synced"
after = "fs=ext4, start=256, writes=synced"
"""


def between(m, first, start, fs, last):
    """Values with synced writes; those with buffered ones must not matter."""
    return told(m, BETWEEN, [77, first, 77, start, 77, fs, 77, last])[0]


def test_who_makes_a_difference():
    rate, erases = measure("rate", "MB/s", "more"), measure("erases", "", "less")
    head = "Ext4 and sector 256, instead of FAT32 and sector 63, "
    assert between(rate, 3, 3.1, 3.2, 9) == (
        head + "raise the rate from 3.00 MB/s to 9.00 MB/s, with synced writes. Neither ext4 (3.20 MB/s) nor "
        "sector 256 (3.10 MB/s) helps alone; both together do (9.00 MB/s).")
    assert between(erases, 300, 310, 320, 900) == (
        head + "raise the erases from 300 to 900, with synced writes. Neither ext4 (320) nor sector 256 (310) "
        "costs much alone; both together do (900).")
    assert between(erases, 900, 880, 890, 300).endswith("helps alone; both together do (300).")
    # one alone, with all of it, most of it, and more than it
    assert between(rate, 3, 9, 3, 9).endswith("Sector 256 (9.00 MB/s) does that alone. Ext4 changes nothing "
                                              "more.")
    assert between(rate, 3, 8.7, 3, 9).endswith(" does that alone. Ext4 makes the remaining difference.")
    assert between(rate, 3, 12, 2, 9).endswith("Sector 256 (12.0 MB/s) does more than that alone. Ext4 takes "
                                               "some of it back.")
    # each of two does it
    assert between(rate, 3, 9, 9, 9).endswith("Either of ext4 (9.00 MB/s) and sector 256 (9.00 MB/s) does that "
                                              "alone.") or \
        between(rate, 3, 9, 9, 9).endswith("Either of sector 256 (9.00 MB/s) and ext4 (9.00 MB/s) does that alone.")
    one = BETWEEN.replace("ext4", "FAT32")
    assert told(rate, one, [7, 3, 7, 1.5, 7, 7, 7, 7]) == [
        "Sector 256 instead of 63 lowers the rate from 3.00 MB/s to 1.50 MB/s, with FAT32 and synced writes."]
    # three, in one number of digits
    three = BETWEEN.replace("63, writes=synced", "63, writes=buffered")
    assert told(measure("erases", "", "less"), three, [50, 51, 52.5, 50, 51, 50, 51, 90]) == [
        "Ext4, sector 256 and synced writes, instead of FAT32, sector 63 and buffered writes, raise the erases "
        "from 50.0 to 90.0. None of ext4 (51.0), sector 256 (52.5) and synced writes (51.0) costs much alone; "
        "all of them together do (90.0)."]


def test_lowest_and_highest():
    rate = measure("rate", "MB/s")
    say = 'say = "extremes"\n'
    assert told(rate, say, [5, 6, 7, 8, 9, 10, 11, 4]) == [
        "The rate is lowest with ext4, sector 256 and synced writes: 4.00 MB/s. It is highest with ext4, sector "
        "256 and buffered writes: 11.0 MB/s, 2.75 times as much."]
    assert told(measure("erased blocks"), say, [0, 6, 7, 8, 9, 12, 12, 12]) == [
        "The erased blocks are lowest with FAT32, sector 63 and buffered writes: 0. They are highest with ext4, "
        "sector 63 and synced writes, and equally in 2 other runs: 12."]
    assert told(rate, say, [5, 5.001, 5, 5, 5, 5, 5, 5]) == [
        "The rate is nearly the same in all runs: 5.00 MB/s."]


CHOOSE = 'say = "choose"\nfactor = "fs"\nby = "start"\nagainst = "FAT32"\n'


def test_none_of_two_equal_is_the_best():
    three = FACTORS.replace('"ext4" = {name = "ext4"}', '"ext4" = {name = "ext4"}, "XFS" = {name = "xfs"}')
    rate = measure("rate", "MB/s", "more")
    # with sector 63 XFS alone is best; with 256 ext4 and XFS are equal
    found = told(rate, CHOOSE, [6, 6, 5, 10, 8, 8, 10, 10, 10, 10, 10, 10], three)
    assert found == [
        "Choose XFS. No other filesystem is better by a difference that counts. FAT32 costs up to 50 % of the "
        "rate (sector 256, buffered writes).",
        "Best for sector 63: XFS. Worst: FAT32, with 60 % of the best.",
        "Good for sector 256: ext4; XFS. Worst: FAT32, with 50 % of the best.",
        "A difference counts from 2 % on: the model cannot tell smaller ones.",
        "FAT32 instead gives 50 % (sector 256, buffered writes) to 100 % (sector 256, synced writes) of the rate.",
        "Ext4 instead gives 80 % (sector 63, buffered writes) to 100 % (sector 256, synced writes) of the "
        "rate."], found
    less = told(measure("erases", "", "less"), CHOOSE, [8, 8, 4, 4, 6, 6, 6, 6, 4, 4, 8, 8], three)
    assert less[0] == "Choose ext4. It is weakest with sector 63, buffered writes: 1.50 times the least erases."


def test_how_far_replays_of_starts_may_be_off():
    """A start is no filesystem: what counts is the filesystem that is replayed, not any other one."""
    replay = {"largest": 1.81, "like": {"samples": 9, "largest": 1.5}, "any": {
        "ext4": {"samples": 4, "largest": .004}, "xfs": {"samples": 2, "largest": .03}},
        "filesystems": {"ext4": {"samples": 3, "largest": .001}, "xfs": {"samples": 0, "largest": None}}}
    assert [off(replay, name) for name in ("ext4", "xfs", "1 MiB")] == [.001, .03, .03]
    assert off({**replay, "filesystems": {}}, "1 MiB") == 1.5 and off(None, "1 MiB") == 0


def test_names_of_filesystems():
    assert [spelled(name) for name in ("vfat", "vfat-32k", "vfat16", "exfat", "ext4", "ext4-nojournal", "f2fs",
                                       "ext4-lines")] == [
        "FAT32", "FAT32 (32 KiB clusters)", "FAT16", "exFAT", "ext4", "ext4 without a journal", "F2FS",
        "ext4 (lines)"]


run(globals())
