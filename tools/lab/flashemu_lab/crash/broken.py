# SPDX-License-Identifier: BSD-3-Clause
"""What the cuts of a recorded work have come to: sentences, JSON, JUnit's XML and a page."""

from __future__ import annotations

import json
import shlex
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

from markupsafe import Markup

from ..core.text import counted, listed
from ..report import charts, html, svg
from ..report.charts import WIDTH
from ..report.page import document
from ..runs.run import Json
from .checks import Verdict
from .owed import Owed
from .states import Data, Enumerated, State
from .work import Mark, Recording, Request, read_trace

_FORMAT = 1
_SHOWN = 120  # requests in front of a cut that a page shows
_TOP, _HIGH = 64.0, 220.0  # where their picture begins below its title and legend, and its height


@dataclass(frozen=True)
class Judged:
    """A recording with all verdicts, in the order of the cuts; `image` is that of the first state
    which is broken, and `missing` the bytes that the device owes in each broken one, by its id.
    `any_device` are verdicts about states for which no device was asked.  `uncut` is what is broken
    without a cut, because the device has lied while the work was done; "" if nothing is."""

    program: str
    recording: Recording
    found: Enumerated
    verdicts: list[Verdict]
    image: Path | None
    missing: dict[str, int] = field(default_factory=dict)
    any_device: list[Verdict] = field(default_factory=list)
    uncut: str = ""

    def of(self, word: str) -> list[Verdict]:
        """The verdicts that are kept, unknown or broken."""
        return [v for v in self.verdicts if v.word == word]

    @property
    def is_drawn(self) -> bool:
        """Whether some of the states were judged, and not all."""
        return 0 < len(self.verdicts) < int(self.found.numbers["cases"])

    @property
    def broken(self) -> list[Verdict]:
        """Those that are broken, the earliest cut first."""
        return self.of("broken")


def _broken_anywhere(judged: Judged) -> list[Verdict]:
    return [v for v in judged.any_device if v.word == "broken"]


def missing_of(judged: Judged) -> dict[str, int]:
    """What `Judged.missing` is."""
    requests, _ = read_trace(judged.recording.trace)
    owed = Owed(requests, Data(judged.recording.data), judged.found.data)
    return {v.state.id: owed.missing(v.state) for v in judged.broken}


def command_of(recording: Recording, state: State) -> str:
    """The line that judges this state alone."""
    return shlex.join(["flashemu-lab", "crash", "--state", state.id, "-o", str(recording.folder)])


def _place(state: State, requests: list[Request], marks: list[Mark]) -> str:
    where = "before the first request" if not state.request else _request(requests, state)
    behind = f"behind the mark '{marks[state.marks - 1].text}'" if state.marks else \
        "in front of the first mark" if marks else "in a work without marks"
    return f"{where}, {behind}, at {state.time / 1e6:.3f} ms"


def _request(requests: list[Request], state: State) -> str:
    r = requests[state.request - 1]
    what = r.op if r.op == "flush" else f"{r.op} of {r.length} bytes at {r.offset}"
    return f"with request {r.number} of {len(requests)} ({what})"


_NOTES = {
    "dirty": "the filesystem says that it was not unmounted",
    "lost-clusters": "clusters are used that belong to no file",
    "summary": "the number of free clusters is not right",
    "fats-differ": "the second FAT is older than the first",
    "crashed-once": "the kernel crashed and did not do so in another machine",
}


def notes_of(judged: Judged) -> dict[str, int]:
    """In how many states something was found that is no fault."""
    counts = Counter(note for v in judged.verdicts for note in set(v.told.notes))
    return dict(sorted(counts.items()))


def sentences(judged: Judged) -> list[str]:
    """The conclusion, the most important sentence first."""
    n = judged.found.numbers
    told = [_left(n)]
    if judged.is_drawn:
        told.append(f"{len(judged.verdicts)} of them were judged, drawn by seed "
                    f"{judged.recording.work.seed}.")
    if n["failed"]:
        told.insert(0, f"After {counted(n['failed'], 'cut')} the device does not come back; the "
                       f"first is {n['first_failed']}.")
    if n["dead"]:
        told.append(f"As its profile says, {counted(n['dead'], 'cut')} killed the device.")
    if n["unreadable"]:
        told.append(f"In {counted(n['unreadable'], 'state')} there are sectors that cannot be "
                    "read.")
    told += [f"In {counted(count, 'state')} {_NOTES.get(note, note)}, which is no fault."
             for note, count in notes_of(judged).items()]
    told += _without_device(judged)
    requests, marks = read_trace(judged.recording.trace)
    if not any(r.op == "flush" or r.fua for r in requests):
        told.append("The work never flushed and wrote nothing with FUA, so the device owes it "
                    "nothing.")
    if not judged.verdicts:
        return told
    unknown = len(judged.of("unknown"))
    if unknown:
        told.append(f"The check could not judge {counted(unknown, 'state')}.")
    lied = [f"A promise is broken without a power cut: {judged.uncut}. On the same device without "
            "its lie none is broken: what the host read from this device has misled it."
            ] * bool(judged.uncut)
    if not judged.broken:
        kept = f"No promise is broken in {counted(len(judged.of('kept')), 'state')}."
        return [*lied, kept, *told]
    first = judged.broken[0]
    return [*lied,
            f"A promise is broken in {len(judged.broken)} of {len(judged.verdicts)} states.",
            f"The earliest cut{' that was judged' * judged.is_drawn}: "
            f"{_place(first.state, requests, marks)}; {first.reason()}.",
            f"Again: {command_of(judged.recording, first.state)}",
            f"What has failed: {_by_kind(judged)}. {_whose(judged)}".rstrip(), *told]


def _left(n: Json) -> str:
    """How many cuts were made, and what they have left.  A state is what the device has, with what
    was promised by then."""
    more = n["cases"] - n["states"]
    of_which = f": {n['states']} differ in a byte, and {more} more only in what was promised by " \
        "then" if more else ""
    return (f"{counted(n['cuts'] + n['second_cuts'], 'power cut')} at "
            f"{counted(n['instants'], 'instant')} left {counted(n['cases'], 'state')}{of_which}.")


def _without_device(judged: Judged) -> list[str]:
    """What has come of the states for which no device was asked."""
    n, bad = len(judged.any_device), _broken_anywhere(judged)
    drawn = judged.found.numbers.get("subsets", 0)
    if not drawn:
        return []
    head = (f"For any device: {counted(drawn, 'draw')} of the unflushed writes that have arrived "
            f"left {counted(judged.found.numbers['subset_cases'], 'other state')}")
    if not n:
        return [head + "."]
    if not bad:
        return [f"{head}, and a promise is broken in none of them."]
    return [f"{head}; a promise is broken in {len(bad)} of them, the first {bad[0].state.id}: "
            f"{bad[0].reason()}."]


_KINDS = {"check": "the check", "mount": "the mount", "umount": "the unmount", "fsck": "fsck",
          "kernel": "the kernel", "time": "the time"}


def _by_kind(judged: Judged) -> str:
    counts = Counter(v.kind for v in judged.broken)
    return ", ".join(f"{_KINDS[kind]} in {n}" for kind, n in counts.most_common())


def _whose(judged: Judged) -> str:
    """Whose fault it is, as far as the device can tell."""
    lost = sum(bool(n) for n in judged.missing.values())
    if lost:
        return (f"In {lost} of {len(judged.broken)} of them the device has lost what was flushed: "
                "that is its own fault.")
    if judged.uncut:
        return ""
    return ("In each of them the device has all that was flushed. So the work counts on an order "
            "of its writes for which no flush asks.")


def to_text(judged: Judged) -> str:
    """For a terminal."""
    return "\n".join(sentences(judged)) + "\n"


def _failure(judged: Judged, verdict: Verdict, marks: list[Mark]) -> Json:
    s = verdict.state
    return {"id": s.id, "request": s.request, "time_ns": s.time, "marks": s.marks,
            "mark": marks[s.marks - 1].text if s.marks else None, "hash": s.hash,
            "code": verdict.told.code, "kind": verdict.kind, "reason": verdict.reason(),
            "flushed_missing": judged.missing.get(s.id, 0),
            "command": command_of(judged.recording, s)}


def to_json(*judged: Judged) -> str:
    """Everything, for programs; several works are a list."""
    found = [_members(one) for one in judged]
    whole = found[0] if len(found) == 1 else {"format": _FORMAT, "kind": "cuts of several works",
                                              "works": found}
    return json.dumps(whole, indent=1, ensure_ascii=False) + "\n"


def _members(judged: Judged) -> Json:
    work = judged.recording.work
    _, marks = read_trace(judged.recording.trace)
    return {
        "format": _FORMAT, "kind": "cuts", "program": judged.program, "profile": work.profile,
        "settings": list(work.settings), "seed": work.seed, "run": work.run, "check": work.check,
        "fs": work.fs or None, "mount": work.mount or None,
        "kernel": judged.recording.kernel or None, "notes": notes_of(judged),
        "recording": judged.found.numbers["recording"], "conclusion": sentences(judged),
        "numbers": {key: value for key, value in judged.found.numbers.items()
                    if isinstance(value, int) and key != "seed"},
        "judged": len(judged.verdicts),
        **{word: len(judged.of(word)) for word in ("kept", "unknown")},
        "broken": [_failure(judged, v, marks) for v in judged.broken],
        "any_device": {
            **{word: sum(v.word == word for v in judged.any_device)
               for word in ("kept", "unknown")},
            "broken": [_failure(judged, v, marks) for v in _broken_anywhere(judged)]},
        "uncut": judged.uncut or None,
        "image": str(judged.image) if judged.image else None,
    }


def to_junit(judged: dict[str, Judged]) -> str:
    """For a system that shows tests: one for each broken state, and one for all that are kept.
    Several works, by name, are suites of their own."""
    return html.render("junit.xml", suites=[
        {"name": "power cuts" if len(judged) == 1 else f"power cuts, {name}",
         "device": one.recording.work.profile,
         "broken": [*[("without a power cut", one.uncut, one.recording.work.run)] * bool(one.uncut),
                    *((v.state.id, v.reason(), command_of(one.recording, v.state))
                      for v in one.broken)],
         "kept": len(one.of("kept")), "unknown": len(one.of("unknown"))}
        for name, one in judged.items()])


def to_overview(judged: dict[str, Judged]) -> str:
    """A page about several works, by name, which are in folders of these names."""
    rows = [[html.part("link", f"{quote(name)}/index.html", name), str(len(one.verdicts)),
             str(len(one.broken)), sentences(one)[0]] for name, one in judged.items()]
    shares = [(name, len(one.broken) / len(one.verdicts)) for name, one in judged.items()
              if one.verdicts]
    bad = [name for name, one in judged.items() if one.uncut or one.broken]
    first = (f"A promise is broken with {listed(bad)}." if bad else
             "No promise is broken anywhere.")
    return document("cuts", "What does a power cut break?",
                    "One work, on several filesystems or devices. Each has a page of its own.",
                    [first], [_table(["work", "states", "broken", "what has come out"], rows)],
                    charts.share_chart("States in which a promise is broken", shares,
                                       "of its states") if shares else "")


# --- the page ---

@dataclass(frozen=True)
class Fate:
    """What has become of a request at a cut.

    answered, durable   acknowledged by then; and flushed, or written with FUA
    lost                bytes of it that the host does not find, of those that no later request
                        had written
    """

    request: Request
    answered: bool
    durable: bool
    lost: int


def fates(state: State, requests: list[Request]) -> list[Fate]:
    """Of the requests that had arrived."""
    seen = requests[:state.request]
    flushes = [r for r in seen if r.op == "flush" and r.done <= state.time]
    last_flush = flushes[-1].arrival if flushes else -1
    missing = [(a, a + n) for a, n in (*((d[0], d[1]) for d in state.data), *state.zeros,
                                       *state.unreadable)]
    found = []
    for r in reversed(seen):
        lost, rest = 0, []
        for a, b in missing if r.op in ("write", "trim") else ():
            low, high = max(a, r.offset), min(b, r.offset + r.length)
            if low >= high:
                rest.append((a, b))
                continue
            lost += high - low
            rest += [(x, y) for x, y in ((a, low), (high, b)) if x < y]
        missing = rest if r.op in ("write", "trim") else missing
        answered = r.done <= state.time
        found.append(Fate(r, answered, answered and (r.fua or r.done <= last_flush), lost))
    return found[::-1]


def _word(fate: Fate) -> str:
    if fate.request.op not in ("write", "trim"):
        return "-"
    if not fate.lost:
        return "there"
    return "lost" if fate.lost >= fate.request.length else f"{fate.lost} bytes lost"


# How a request is drawn, by what has become of it: shapes differ, and not only colours.
_LOOKS = {"durable": "f2", "acknowledged": "hollow k0", "under way": "hollow waiting k7",
          "lost": "lost"}


def _look(fate: Fate) -> str:
    if fate.lost:
        return "lost"
    return "durable" if fate.durable else "acknowledged" if fate.answered else "under way"


def _box(x: float, y: float, width: float, height: float, look: str, tip: str = "") -> list[str]:
    """A request, or one of the legend, which has no tip.  What is lost is crossed out."""
    drawn = [svg.box(x, y, width, height, _LOOKS[look] + ("" if tip else " key"), tip)]
    if look == "lost":
        drawn += [svg.line(x, y, x + width, y + height, "cross quiet"),
                  svg.line(x, y + height, x + width, y, "cross quiet")]
    return drawn


def _legend() -> list[str]:
    parts: list[str] = []
    x = 8.0
    for look in _LOOKS:
        parts += [*_box(x, 27, 14, 11, look), svg.text(x + 19, 37, look)]
        x += svg.text_width(look) + 40
    return [*parts, svg.line(x + 7, 24, x + 7, 41, "theory"), svg.text(x + 14, 37, "flush")]


def _picture(shown: list[Fate]) -> str:
    """A column for each request, in the order of arrival; addresses that were used go down."""
    edges = sorted({at for f in shown if f.request.length
                    for at in (f.request.offset, f.request.offset + f.request.length)})
    rank = {at: i for i, at in enumerate(edges)}
    width, height = (WIDTH - 16) / len(shown), _HIGH / max(len(edges) - 1, 1)
    parts = [*_legend(), svg.text(8, 57, "addresses that were used, downwards", "faint small")]
    for i, f in enumerate(shown):
        r, x = f.request, 8 + i * width
        if r.op == "flush":
            parts.append(svg.line(x + width / 2, _TOP, x + width / 2, _TOP + _HIGH, "theory"))
        if r.op not in ("write", "trim"):
            continue
        top, bottom = rank[r.offset] * height, rank[r.offset + r.length] * height
        parts += _box(x, _TOP + top, max(width - 0.75, 2), max(bottom - top - 0.75, 2), _look(f),
                      f"request {r.number}: {r.op} of {r.length} bytes at {r.offset}, "
                      f"{_state(f)}")
    parts.append(svg.text(WIDTH - 8, _TOP + _HIGH + 18, "requests in the order of their arrival",
                          "faint", "end"))
    title = "What the host had written before the earliest cut that breaks a promise"
    return charts.under(title, _TOP + _HIGH + 26, parts)


def _state(fate: Fate) -> str:
    """What has become of a write, for the pointer."""
    said = "durable" if fate.durable else "acknowledged" if fate.answered else "under way"
    return f"{said}, {_word(fate)}"


def _table(heads: list[str], rows: list[list[str]]) -> Markup:
    return html.table([(head, False) for head in heads], rows)


def to_page(judged: Judged) -> str:
    """A page that needs nothing else."""
    requests, marks = read_trace(judged.recording.trace)
    work = judged.recording.work
    parts: list[Markup] = []
    figure = ""
    if judged.broken:
        shown = fates(judged.broken[0].state, requests)[-_SHOWN:]
        figure = _picture(shown) if shown else figure
        parts.append(html.part("fold", "The requests in front of the earliest cut that breaks a "
                               "promise", _table(
            ["request", "", "offset", "bytes", "arrived ms", "answered ms", "acknowledged",
             "durable", "after the cut"],
            [[str(f.request.number), f.request.op + (" fua" if f.request.fua else ""),
              str(f.request.offset), str(f.request.length), f"{f.request.arrival / 1e6:.3f}",
              f"{f.request.done / 1e6:.3f}", "yes" if f.answered else "no",
              "yes" if f.durable else "no", _word(f)] for f in shown])))
        parts.append(html.part("fold", f"All {len(judged.broken)} broken states", _table(
            ["cut", "where", "how the check ended", "flushed bytes that are missing",
             "the command that judges it again"],
            [[v.state.id, _place(v.state, requests, marks), v.reason(),
              str(judged.missing[v.state.id]), command_of(judged.recording, v.state)]
             for v in judged.broken])))
    device = " ".join([work.profile, *work.settings, f"seed={work.seed}"])
    if judged.any_device:
        parts.append(html.part("fold", "For any device: any part of what was not flushed", _table(
            ["state", "where", "how the check ended", "the command that judges it again"],
            [[v.state.id, _place(v.state, requests, marks), v.reason(),
              command_of(judged.recording, v.state)] for v in _broken_anywhere(judged)])))
    parts.append(html.part("fold", "How it was done", _table(
        ["device", "filesystem", "run", "check", "program"],
        [[device, " ".join([work.fs, work.mount]).strip() or "none", work.run, work.check,
          judged.program]])))
    return document("cuts", "What does a power cut break?",
                    "A program works, the power fails at every operation of the chip, and a check "
                    "looks at each state that is left.", sentences(judged), parts, figure)
