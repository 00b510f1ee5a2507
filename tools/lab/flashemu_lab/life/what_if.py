# SPDX-License-Identifier: BSD-3-Clause
"""The same with something changed, each by a replay of its own.

What the user does stays the same: the same commits, lines or files as often.  So another filesystem
may write more or less for them, and the years say which is better.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Iterator

from ..core.errors import LabError
from ..recording import recordings
from ..runs.program import Tool
from . import card as cards
from .card import Card
from .prediction import Prediction, Question
from .works import Work

_SEGMENT = 4096
# Starts of the partition, in sectors, and how they are called.
_STARTS = ((63, "31.5 KiB"), (2048, "1 MiB"), (8192, "4 MiB"))


def fixed(q: Question, found: Prediction, round_bytes: float) -> Work:
    """The work with how often it happens instead of how much it writes."""
    if q.work.rounds or not round_bytes or q.work.on_chip:
        return q.work
    return replace(q.work, per_day=0, rounds=found.per_day / round_bytes)


def _recorded(work: Work) -> recordings.Operand | None:
    """The recording of a work that is one."""
    if len(work.requests) == 1 and work.requests[0][1].startswith(recordings.PREFIX):
        return recordings.operand(work.requests[0][1])
    return None


def _siblings(work: Work, card: Card) -> Iterator[recordings.Recording]:
    """Other recordings of the same job on a partition of the same length."""
    o = _recorded(work)
    if not o:
        return
    for name in recordings.names():
        r = recordings.load(name, card.longest)
        if (r.name != o.recording.name and r.job == o.recording.job
                and r.sectors == o.recording.sectors
                and (not o.measure or any(p.name == o.measure for p in r.phases))):
            yield r


def recorded(work: Work, card: Card) -> Iterator[tuple[str, Work]]:
    """Other filesystems, other options, and other ways to do the same, as far as they were
    recorded; each is called by what differs."""
    o = _recorded(work)
    for r in _siblings(work, card):
        assert o
        start = o.start
        if r.filesystem == "f2fs":
            start += (r.start - start) % _SEGMENT
        text = f"{recordings.PREFIX}{r.name},start={start}"
        text += f",measure={o.measure}" if o.measure else ""
        text += f",pace={o.pace:f}" if o.pace and r.thinks else ""
        mine, its = ((x.mkfs, x.mount, x.way) for x in (o.recording, r))
        name = "; ".join(part for part, known in zip(its, mine) if part != known)
        yield name, replace(work, requests=(("recorded", text),))


def not_recorded(work: Work, card: Card) -> list[str]:
    """One line that says what people ask for and no recording can tell; none if all is there."""
    o = _recorded(work)
    found = [*_siblings(work, card), *([o.recording] if o else [])]
    mounts = {r.mount for r in found if o and r.filesystem == o.recording.filesystem}
    ways = {way for r in found for way in r.way.split()}
    lacks = [name for name, is_there in (
        ("another commit interval", len({_option(m, "commit=") for m in mounts}) > 1),
        ("noatime", len({_option(m, "noatime") for m in mounts}) > 1),
        ("WAL or a rollback journal", sum(w.startswith("journal_mode=") for w in ways) > 1),
        ("logs in memory", "log=memory" in ways)) if not is_there]
    if not lacks:
        return []
    if not o:
        return [f"another filesystem, {', '.join(lacks)}: only recordings of a work tell; "
                "flashemu-lab record makes them"]
    return [f"{', '.join(lacks)}: there is no recording of '{o.recording.job}' with it; "
            "flashemu-lab record makes it"]


def _option(mount: str, start: str) -> str:
    """The option of a mount command that begins so; "" if there is none."""
    options = mount.partition(" -o ")[2].split(",")
    return next((x for x in options if x.startswith(start)), "")


def starts(work: Work) -> Iterator[tuple[str, Work]]:
    """Other starts of the partition."""
    o = _recorded(work)
    if not o or o.recording.filesystem == "f2fs":  # it looks where it lies
        return
    for start, name in _STARTS:
        if start != o.start:
            text = work.requests[0][1].replace(f"start={o.start}", f"start={start}")
            if text != work.requests[0][1]:
                yield f"partition at {name}", replace(work, requests=(("recorded", text),))


def shares(tool: Tool, card: Card, year: int) -> Iterator[tuple[str, Card]]:
    """How much of the card has ever been written: what was not, the device has for itself."""
    for share, name in ((1.0, "card written all over before"),
                        (0.9, "written all over, but a tenth is unpartitioned"),
                        (0.7, "written all over, but three tenths are unpartitioned")):
        used = int(card.capacity * share) // 4096 * 4096
        setting = f"device.used={used}"
        kept = tuple(s for s in card.settings if not s.startswith("device.used="))
        yield name, cards.look(tool, card.profile, (*kept, setting), year)


def variants(tool: Tool, work: Work, card: Card, year: int) -> list[tuple[str, Work, Card]]:
    """Everything that can be changed."""
    found = [(name, w, card) for name, w in recorded(work, card)]
    found += [(name, w, card) for name, w in starts(work)]
    try:
        found += [(name, work, c) for name, c in shares(tool, card, year)]
    except LabError:
        pass  # a device that has nothing to say about what was written before
    return found

