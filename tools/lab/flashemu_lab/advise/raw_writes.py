# SPDX-License-Identifier: BSD-3-Clause
"""The experiment behind `flashemu-lab advise`: where to start a partition, and how to format it.

Like a sweep, advice is an experiment in TOML that is run, drawn and stored as any other.  It has
two factors.  A level of `layout` is a partition with a FAT32 filesystem, and it also has the lines
that make both, to paste.  A level of `workload` is a pattern that stands for what a host does:

    large file     one file grows; its FAT entries and its directory entry are written every 15 or
                   16 MiB, because a kernel keeps them for some seconds
    small files    64 KiB go into new clusters, with FAT entries and one of 100 directory entries
    database       pages of 4 KiB at random places of a file, with a flush after each
    log            one file grows by 4 KiB, each time with its FAT entries and its directory entry
    files at once  four files grow in turn by 64 KiB, with such entries every 4 MiB of each
    video          one file grows in large requests, with such entries after each

The same work is done with every layout.  The patterns know where a FAT32 has its parts, but they
are no kernel: there is no page cache, no journal and no fragmentation.  Only writes are measured,
because no layout changes much about reads.

`flashemu align` says which starts are good without any filesystem, and chooses the candidates.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass

from ..core.errors import LabError
from ..core.text import allowed
from ..core.units import quantity
from ..experiment.ensemble.agreement import split
from ..experiment.choice import choose
from ..experiment.sweep import MEASURES, Measure, array, measure_lines, text
from ..experiment.table import Table
from ..runs.expression import parse_profile
from ..runs.program import Tool
from . import paste
from .sd_layout import Layout, SECTOR, mkfs_vfat, sda_layout
from .workloads import NOUNS, RECORDED, WORKLOADS

_K, _M = 2**10, 2**20
# Rates of two layouts that differ by less are said to be equal.
THRESHOLD = "2%"
# What the most common image builders and formatters use, the most common one first.
_STARTS = (_M, 4 * _M, 8 * _M)
_CLUSTERS = (4 * _K, 16 * _K, 32 * _K, 64 * _K)
_LEAST_CAPACITY = 4 * _M

@dataclass(frozen=True)
class Device:
    """What advice needs to know about a device.

    profile   the name or path, with `overrides` ("SECTION.KEY=VALUE" each)
    capacity  bytes
    limit     bytes of the longest request that a host sends
    unit      bytes of an allocation unit, or 0 if the strategy has none
    multiple  bytes: good starts are multiples of it, or 0 if there is no such rule
    finding   the sentence of `flashemu align`
    note      its sentences about what nobody has measured, or ""
    """

    profile: str
    overrides: tuple[str, ...]
    capacity: int
    limit: int
    unit: int
    multiple: int
    finding: str
    note: str = ""

    def beginning(self, name: str, title: str, question: str, notes: str,
                  requests: str) -> list[str]:
        """An experiment up to its factors, as lines of TOML."""
        return [f"name = {text(name)}", f"title = {text(title)}", f"question = {text(question)}",
                f"notes = {text(notes)}", "", "[device]", f"profile = {text(self.profile)}",
                f"set = {array(list(self.overrides))}", "", "[workload]",
                f"requests = {text(requests)}", ""]

    def ending(self, factor: str, measures: tuple[Measure, ...], choice: str,
               found: list[str]) -> list[str]:
        """What follows the factors: a level of `factor` is chosen, with one more line about the
        choice, and with sentences behind it.  The rate comes first among the measures, the wear
        second, and what says how steady the device was last; it is not drawn."""
        lines = [*measure_lines(measures, "log"), *_say_text(self.note), "", "[[conclusion]]",
                 'say = "choose"', 'measure = "rate"', f"wear = {text(measures[1][0])}",
                 'steady = "renewed"', f"factor = {text(factor)}", f'threshold = "{THRESHOLD}"',
                 choice]
        for sentence in found:
            lines += _say_text(sentence)
        for measure in measures[:-1]:
            lines += ["", "[[figure]]", 'kind = "scores"', f"measure = {text(measure[0])}",
                      f"x = {text(factor)}"]
        return lines


def _say_text(sentence: str) -> list[str]:
    return ["", "[[conclusion]]", 'say = "text"', f"text = {text(sentence)}"] if sentence else []


@dataclass(frozen=True)
class Candidate:
    """A layout that is tried: a partition and FAT32 on it.

    style   of the pattern fat-append: "mkfs" or "factory"
    align   bytes: the data area begins at a multiple of it; only with "factory"
    layout  the places of the parts
    """

    label: str
    style: str
    align: int
    layout: Layout

    @property
    def start(self) -> int:
        """Bytes."""
        return self.layout.start * SECTOR

    @property
    def end(self) -> int:
        """Where the partition ends on the device, in bytes."""
        return (self.layout.start + self.layout.sectors) * SECTOR

    @property
    def data(self) -> int:
        """Where the data area begins on the device, in bytes."""
        return (self.layout.start + self.layout.data) * SECTOR


def look(tool: Tool, profile: str, overrides: tuple[str, ...]) -> Device:
    """Asks the program about a device.  LabError if it refuses, or if the device is too small; with
    exit code 1 if nobody has measured what decides about starts."""
    keys = parse_profile(tool.canonical(profile, overrides))
    found = json.loads(tool.ask("align", profile, *overrides, "--json"))
    if found["capacity"] < _LEAST_CAPACITY:
        raise LabError(f"{profile}: a device of {found['capacity']} bytes is too small for advice; "
                       "allowed: at least 4 MiB")
    if not found["advice"]["given"]:
        raise LabError(f"{profile}: {found['advice']['text'].replace('.  ', '. ')}", 1)
    unit = quantity(keys.get("ftl.unit_size", "0")) if keys.get("ftl.type") in (
        "segment", "block") else 0
    limit = quantity(keys.get("link.max_transfer", "1M")) or _M
    return Device(profile, overrides, found["capacity"], min(int(limit), _M), int(unit or 0),
                  found["advice"]["multiple"] or 0,
                  found["advice"]["text"].removeprefix(found["note"]),
                  found["note"].replace(".  ", ". ").strip())


def size(value: int) -> str:
    """Bytes as options take them, such as "4M", "32K" or "32256"."""
    for unit, letter in ((_M, "M"), (_K, "K")):
        if value and value % unit == 0:
            return f"{value // unit}{letter}"
    return str(value)


def told_size(value: int) -> str:
    """Bytes as people say them: "4 MiB", "32 KiB" or "32256 bytes"."""
    for unit, letter in ((_M, "M"), (_K, "K")):
        if value and value % unit == 0:
            return f"{value // unit} {letter}iB"
    return f"{value} bytes"


def place(value: int) -> str:
    """A start as people say it: "sector 63" or "4 MiB"."""
    return f"{value // _M} MiB" if value % _M == 0 else f"sector {value // SECTOR}"


def candidates(d: Device) -> list[Candidate]:
    """The layouts to try, the most common one first."""
    card = sda_layout(d.capacity)
    fitting = [c for c in _CLUSTERS if _plain(d, _M, c)]
    if not fitting:
        raise LabError(f"{d.profile}: {d.capacity} bytes are too few for FAT32 with clusters of "
                       "4 KiB, which advice is about; flashemu align says what starts do")
    usual = max(c for c in fitting if c <= max(card.cluster, fitting[0]))
    starts = [s for s in dict.fromkeys((*_STARTS, d.multiple, d.unit))
              if s >= _M and s <= d.capacity // 4] or [_STARTS[0]]
    good = next((s for s in starts if not d.multiple or s % d.multiple == 0), starts[0])
    align = max(d.unit, d.multiple, 64 * _K)
    found = [_plain(d, s, usual) for s in starts]
    found += [_aligned(d, good, usual, align)]
    for cluster in fitting:
        if cluster != usual:
            found += [_plain(d, good, cluster), _aligned(d, good, cluster, align)]
    found.append(_card(d, card))
    found.append(_plain(d, 63 * SECTOR, usual))
    return [c for c in found if c]


def _sectors(d: Device, start: int) -> int:
    """Those of a partition: whole MiB up to the end of the device."""
    return (d.capacity - start) // _M * _M // SECTOR


def _plain(d: Device, start: int, cluster: int) -> Candidate | None:
    """What mkfs.vfat makes without options; None if FAT32 cannot have such clusters there."""
    label = f"{place(start)}, {told_size(cluster)}"
    sectors = _sectors(d, start)
    try:
        return Candidate(label, "mkfs", 0, mkfs_vfat(start // SECTOR, sectors, cluster))
    except LabError:
        return None


def _card(d: Device, card: Layout) -> Candidate | None:
    """The SD Association's layout; None for exFAT.  FAT12 and FAT16 have shorter entries than the
    FAT32 of the patterns, and that is all that differs."""
    if card.filesystem == "exFAT":
        return None
    label = f"SD Association, {told_size(card.cluster)}"
    found = _aligned(d, card.start * SECTOR, card.cluster, card.unit)
    return Candidate(label, "factory", card.unit,
                     found.layout if found and card.filesystem == "FAT32" else card)


def _aligned(d: Device, start: int, cluster: int, align: int) -> Candidate | None:
    """The same with a data area at a multiple of `align`; None if mkfs.vfat cannot do that."""
    label = f"{place(start)}, {told_size(cluster)}, data at {told_size(align)}"
    try:
        layout = mkfs_vfat(start // SECTOR, _sectors(d, start), cluster, align)
    except LabError:
        return None
    if layout.reserved > 65535:
        return None
    return Candidate(label, "factory", align, layout)


def _amounts(d: Device) -> dict[str, str]:
    """The numbers in the patterns.  A step of fat-append is data and three requests behind them:
    two FATs and a directory entry."""
    large = math.lcm(d.limit, 64 * _K)
    most = min(128 * _M, d.capacity // 4)
    smalls, logs = min(900, most // 64 // _K), min(1500, most // 4 // _K)
    return {"large": size(large), "sync": size(16 * large),
            "larges": str(19 * max(1, most // large // 16)),
            "videos": str(4 * max(1, most // large)),
            "smalls": str(4 * smalls), "logs": str(4 * logs),
            "several": str(67 * max(1, most // _M // 4)),
            "region": size(min(64 * _M, d.capacity // 8) // 4096 * 4096)}


def chosen_start(table: Table) -> int:
    """Where the partition of the chosen layout starts, in bytes; 1 MiB if nothing was chosen."""
    shipped = split(table)[0]
    words = next(s.words for s in shipped.experiment.statements if s.say == "choose")
    found = choose(shipped, words)
    layouts = shipped.experiment.factor("layout")
    return int(quantity(layouts.given(found.level)["start"]) or 0) if found else _M


def check_workloads(workloads: list[str]) -> None:
    """LabError for a workload that is unknown or given twice, and if none of them has a pattern."""
    for i, name in enumerate(workloads):
        if name not in WORKLOADS and name not in RECORDED:
            raise LabError(f"--workload {name}: there is no such workload; "
                           f"{allowed(name, (*WORKLOADS, *RECORDED))}")
        if name in workloads[:i]:
            raise LabError(f"--workload {name}: is given twice")
    if not any(name in WORKLOADS for name in workloads):
        raise LabError(f"--workload {','.join(workloads)}: says nothing about layouts; allowed: "
                       f"together with one of {', '.join(WORKLOADS)}")


def workload_level(name: str, words: str) -> str:
    """A level of the factor of workloads, as a line of TOML: its label, and an inline table with
    these words and the noun."""
    label = name.replace("-", " ")
    return f"{text(label)} = {{{words}, noun = {text(NOUNS.get(name, label))}}}"


def advise_text(d: Device, workloads: list[str]) -> str:
    """The experiment in TOML, for workloads that have passed `check_workloads`."""
    patterns = [name for name in workloads if name in WORKLOADS]
    tried = candidates(d)
    lines = [
        *d.beginning("advise", f"How should {d.profile} be partitioned?", _QUESTION, _NOTES,
                     "{run}"),
        "[factors.layout]", 'label = "layout"', "[factors.layout.levels]",
        *(_level(d, c) for c in tried), "",
        "[factors.workload]", 'label = "workload"', 'noun = "{}"', "[factors.workload.levels]"]
    amounts = _amounts(d)
    lines += [workload_level(name, f"run = {text(WORKLOADS[name] % amounts)}") for name in patterns]
    lines += d.ending("layout", (*MEASURES[:2], _ERASES, RENEWED),
                      f"against = {text(tried[-1].label)}",
                      ["Without a filesystem, by flashemu align: " + d.finding])
    return "\n".join(lines) + "\n"


_QUESTION = ("Where should a partition start, how large should clusters be, and what does it cost "
             "to choose otherwise, in speed and in wear?")
_NOTES = (
    "'1 MiB, 32 KiB, data at 4 MiB' is a partition at 1 MiB with FAT32, clusters of 32 KiB, and a "
    "data area at a multiple of 4 MiB on the device. The workloads are patterns that stand for "
    "what a host does, and no recordings of a kernel. Each of them does the same work on each "
    "layout, on a device as full as its profile says. The patterns know where a FAT32 has its "
    "FATs, its directory and its data, and nothing of a page cache, a journal or fragments. The "
    "layout is chosen whose worst workload comes nearest to the best one. Rates that differ by "
    "less than 2 % are said to be equal, and of equal layouts the most common one is chosen. A "
    "device that is in a steady state erases as much as it programs.")
_ERASES = ("erases", "nand.block_erases / host.write.bytes * 1000000000", "erases for each GB",
           "", "less")
# About 1 in a steady state, and about 0 as long as the device fills blocks that are still empty.
RENEWED = ("renewed", "nand.block_erases * profile.nand.pages_per_block / nand.page_programs",
           "erased of what was programmed", "", "")


def _say(c: Candidate) -> str:
    """What to do, as one tells it to a friend."""
    fat = f"{c.layout.filesystem} with {told_size(c.layout.cluster)} clusters"
    data = ""
    if c.style == "factory":
        data = f", with the data area at a multiple of {told_size(c.align)}"
    return f"Start the partition at {place(c.start)} and format {fat}{data}"


def _noun(c: Candidate) -> str:
    """What sentences call it.  There is one layout at sector 63."""
    return c.label if c.start % _M == 0 else place(c.start)


def _level(d: Device, c: Candidate) -> str:
    words = {"start": size(c.start), "cluster": size(c.layout.cluster), "style": c.style,
             "align": size(c.align or c.layout.cluster), "data": str(c.data), "end": str(c.end),
             "say": _say(c), "noun": _noun(c), "paste": paste.lines(
                 c.layout, c.style == "factory", paste.Hints(d.capacity, d.unit, d.multiple))}
    inner = ", ".join(f"{word} = {text(value)}" for word, value in words.items())
    return f"{text(c.label)} = {{{inner}}}"
