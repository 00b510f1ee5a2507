# SPDX-License-Identifier: BSD-3-Clause
"""What `refine` leaves behind: the profile with its new numbers, a page, and the same as JSON.

The profile keeps its text.  Only the lines of numbers that moved differ, and what [provenance] says
about these numbers.
"""

from __future__ import annotations

import json
import re

from ..core.text import counted, lines_of, listed
from ..measurement.schema import Measurement
from ..probe import next_step
from ..report import html
from .fit_result import errors_json, errors_text, table, whole_page
from .fitting import Errors, summed
from .refining import Refined, sorts


# --- the profile ---

def profile(r: Refined, text: str, source: str, made_by: str) -> str:
    """The profile `text` with the numbers of `r`."""
    lines = lines_of(text)
    for key, value in r.after.items():
        section, _, word = key.partition(".")
        _set(lines, section, word, value)
        _set(lines, "provenance", key, f"fitted to {source} by {made_by}; was {r.before[key]}")
    return "\n".join(lines) + "\n"


def _set(lines: list[str], section: str, word: str, value: str) -> None:
    """Replaces a line of a section and what belongs to it, or adds one at the section's end.  A
    section that is not there is added at the end."""
    if f"[{section}]" not in lines:
        lines += ["", f"[{section}]"]
    begin = lines.index(f"[{section}]") + 1
    end = next((i for i in range(begin, len(lines)) if lines[i].startswith("[")), len(lines))
    for at in range(begin, end):
        if "=" in lines[at] and lines[at].partition("=")[0].strip() == word:
            after = at + 1
            while after < end and lines[after][:1] in (" ", "\t") and lines[after].strip():
                after += 1
            lines[at:after] = [f"{word} = {value}"]
            return
    while end > begin and not lines[end - 1].strip():
        end -= 1
    lines.insert(end, f"{word} = {value}")


_UNMEASURED = re.compile(r"([a-z]+\.\w+)\s*=\s*(taken from \S+|assumed)(?=, not measured)")


def unmeasured(r: Refined, text: str) -> list[str]:
    """What the profile `text` says that nobody has measured, and that has not moved: a sentence for
    each source."""
    sources: dict[str, list[str]] = {}
    for line in lines_of(text):
        match = _UNMEASURED.match(line)
        if match and match[1] not in r.after:
            sources.setdefault(match[2], []).append(match[1])
    return [f"{source[0].upper()}{source[1:]}, not measured: {listed(keys)}."
            for source, keys in sources.items()]


# --- in words ---

def by_kind(r: Refined, m: Measurement) -> dict[str, tuple[Errors, Errors]]:
    """The errors of each sort of test, with the profile and with the new numbers."""
    found = {}
    before = sorts(m, r.was)
    for name, errors in sorts(m, r.errors).items():
        was, now = summed(before.get(name, [])), summed(errors)
        if was and now:
            found[name] = (was, now)
    return found


def sentences(r: Refined, m: Measurement, text: str) -> list[str]:
    """What came out, the verdict first; in front of it what nobody has measured, here or for the
    profile `text`."""
    told = next_step.left_open(m) + unmeasured(r, text)
    if not r.better:
        told += [f"{r.comparisons} comparisons found no other numbers that come nearer in some "
                "sorts of test and are further off in none."]
    else:
        numbers = counted(len(r.after), "number") + (" has" if len(r.after) == 1 else " have")
        told += [f"{numbers} changed, and no sort of test is further off by its median error."]
    for name, (was, now) in by_kind(r, m).items():
        text = f"{name[0].upper()}{name[1:]}: {errors_text(was)}"
        told.append(f"{text}." if was == now else f"{text}; now {errors_text(now)}.")
    return told


# --- for programs ---

def to_json(r: Refined, m: Measurement, source: str, start: str, made_by: str) -> str:
    """The whole result."""
    return json.dumps({
        "made_by": made_by, "measurement": source, "from": start, "better": r.better,
        "numbers": {key: {"was": r.before[key], "now": r.after[key]} for key in r.after},
        "tests": {name: {"was": errors_json(was), "now": errors_json(now)}
                  for name, (was, now) in by_kind(r, m).items()},
        "comparisons": r.comparisons,
        "points": [{"procedure": p.procedure, "parameters": dict(p.parameters), "unit": p.unit,
                    "measured": p.value, "model": got, "log_error": now, "log_error_was": was}
                   for p, got, was, now in zip(m.points, r.measured, r.was, r.errors)]},
        indent=1, ensure_ascii=False) + "\n"


# --- the page ---

def page(r: Refined, m: Measurement, source: str, start: str, made_by: str, text: str) -> str:
    """The page about a refined profile, which began as `text`."""
    rows = [[html.part("code", key), r.before[key], value] for key, value in r.after.items()]
    return whole_page("refine", m, source, f"{start}, fitted to {source} by {made_by}",
                      sentences(r, m, text), r,
                      [table("The numbers that moved", ["key", "was", "now"], rows, 2)])
