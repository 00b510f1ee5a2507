# SPDX-License-Identifier: BSD-3-Clause
"""An experiment file as a value.

The file is TOML.  `flashemu-experiment(5)` describes it, and the shipped ones are examples.

    name, title, question           text
    [factors]      NAME = [level, ...]        what is varied: every combination is run
    [device]       profile, set               which device
    [workload]     requests, warmup, depth, seed, flags
    [measure.NAME] value, label, unit, better, scale
    [theory]       law, measure
    [[figure]]     kind, measure, x, series, panel, scale, range, only
    [[conclusion]] say, and what it is about

A factor that is called like a key of a profile sets that key; `profile` and `seed` set these; any
other factor is a word of your own, and {NAME} in [device] and [workload] stands for its level.
The levels of a factor may also be a table, which gives each of them values of several words:

    [factors.layout.levels]
    "sector 63" = {start = "31.5K", cluster = "4K"}
    "SD card" = {start = "4M", cluster = "32K"}

A word that is called like a key sets that key, unless [device] or another factor does, and
PROFILE:KEY sets it only with that profile.

`parse` finds the mistakes that can be seen in the file alone; `check` asks the C program about
profiles, keys, patterns and members.  Both tell all mistakes, each as FILE:LINE: message.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path as FilePath
from typing import Any, Callable

from ..core.errors import LabError
from ..core.text import meant
from ..core.toml_lines import Lines, Path
from ..core.units import quantity, whole

FIGURES = ("lines", "bars", "heatmap", "effects", "scores")
STATEMENTS = {  # what [[conclusion]] can say, and which members that takes
    "effects": ("measure",),
    "extremes": ("measure",),
    "compare": ("measure", "factor", "from", "to", "only"),
    "between": ("measure", "before", "after"),
    "limit": ("measure", "factor", "share", "what"),
    "choose": ("measure", "factor", "threshold", "wear", "among", "steady", "by", "against"),
    "published": ("measure", "factor", "only", "published", "times", "rest"),
    "theory": (),
    "text": ("text",),
}
LAWS = ("uniform-writes",)
SPECIAL = ("profile", "seed")
# The factor that --ensemble adds.
ENSEMBLE = "ensemble"
FLAGS = ("--timed", "--wrap", "--drop-trim")
_NAME = re.compile(r"[a-z][a-z0-9-]*")
_WORD = re.compile(r"[a-z][a-z0-9_]*")
_SETS = re.compile(r"([^:]+:)?[a-z]+\.[A-Za-z_]+")
_HOLE = re.compile(r"\{([^{}]*)\}")


@dataclass(frozen=True)
class Factor:
    """What is varied: levels as text, in the order of the file.

    words  for each level the words that it gives values to, or empty if no level does
    noun   how sentences call a level, such as "sector {}"; or ""
    """

    name: str
    label: str
    levels: tuple[str, ...]
    words: tuple[tuple[tuple[str, str], ...], ...] = ()
    noun: str = ""

    @property
    def is_key(self) -> bool:
        """Whether the factor is a key of the profile."""
        return "." in self.name

    def given(self, level: str) -> dict[str, str]:
        """The words that a level gives values to."""
        return dict(self.words[self.levels.index(level)]) if self.words else {}

    @property
    def holes(self) -> tuple[str, ...]:
        """The words that {NAME} may name."""
        return (self.name, *dict.fromkeys(word for row in self.words for word, _ in row
                                          if "." not in word))


@dataclass(frozen=True)
class Measure:
    """A number of each run.  better is "less", "more" or ""; with `log`, ratios count."""

    name: str
    value: str
    label: str
    unit: str
    better: str
    log: bool


@dataclass(frozen=True)
class Figure:
    """A figure: the levels of `x` from left to right, a colour for each level of `series`, and a
    picture for each level of `panel`.

    scale  "linear" or "log"; "" is the measure's
    range  "shared" if all pictures have one scale, so that they can be compared, or "own"
    only   pictures only of these levels, as in "fs=ext4, start=63"; "" is all
    """

    kind: str
    measure: str
    x: str = ""
    series: str = ""
    panel: str = ""
    scale: str = ""
    range: str = "shared"
    only: str = ""

    def chosen(self) -> dict[str, str]:
        """The levels of `only`, by factor."""
        return dict(word.strip().split("=", 1) for word in self.only.split(",") if word)


@dataclass(frozen=True)
class Statement:
    """A sentence that is computed; `words` has the members besides `say`."""

    say: str
    words: dict[str, str]


@dataclass(frozen=True)
class Experiment:
    """All of a file.  `text` is the file itself, and `path` is how the user named it."""

    path: str
    text: str
    name: str
    title: str
    question: str
    factors: tuple[Factor, ...]
    profile: str
    settings: tuple[str, ...]
    requests: tuple[str, ...]
    warmup: str
    depth: int
    seed: int
    flags: tuple[str, ...]
    measures: tuple[Measure, ...]
    law: str
    law_measure: str
    figures: tuple[Figure, ...]
    statements: tuple[Statement, ...]
    notes: str

    def factor(self, name: str) -> Factor:
        """The factor of this name, which must exist."""
        return next(f for f in self.factors if f.name == name)

    def measure(self, name: str) -> Measure:
        """The measure of this name, which must exist."""
        return next(m for m in self.measures if m.name == name)

    @property
    def base(self) -> FilePath:
        """The folder that paths of traces are relative to."""
        return FilePath(self.path).parent


class Mistakes:
    """Collects mistakes with their lines."""

    def __init__(self, path: str, lines: Lines) -> None:
        self._path = path
        self._lines = lines
        self._found: list[tuple[int, str]] = []

    def add(self, place: Path, message: str, value: object = None) -> None:
        """A mistake at a key; `value` finds the line in a value of several lines."""
        self._found.append((self._lines.of(place, value), message))

    def end(self) -> None:
        """LabError if there was a mistake."""
        if self._found:
            rows = sorted(set(self._found))
            raise LabError("\n".join(f"{self._path}:{line}: {text}" for line, text in rows))


class _Table:
    """One table of the file.  Reading a member marks it as known; `end` reports the others."""

    def __init__(self, value: object, place: Path, mistakes: Mistakes) -> None:
        self.place = place
        self.mistakes = mistakes
        self._known: list[str] = []
        self.value: dict[str, Any] = {}
        if isinstance(value, dict):
            self.value = value
        else:
            mistakes.add(place, f"{_dotted(place)}: expected a table")

    def known(self, *keys: str) -> None:
        """Members that the caller reads by itself."""
        self._known += keys

    def bad(self, key: str, message: str, value: object = None) -> None:
        self.mistakes.add((*self.place, key), message, value)

    def text(self, key: str, default: str | None = None,
             allowed: tuple[str, ...] | None = None) -> str:
        """A text; without a default it must be there."""
        self._known.append(key)
        value = self.value.get(key, default)
        if value is None:
            where = f"[{_dotted(self.place)}]" if self.place else "the file"
            self.bad(key, f"{where} has no '{key}'")
            return ""
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            value = str(value)
        if not isinstance(value, str) or (default is None and not value.strip()):
            self.bad(key, f"{key} = {_shown(value)}: expected a text")
            return ""
        none_to_name = not allowed and value == default  # a mistake of the key that has none
        if allowed is not None and value not in allowed and not none_to_name:
            self.bad(key, f"{key} = {_shown(value)}: allowed: "
                          f"{', '.join(a for a in allowed if a)}{meant(value, allowed)}")
            return default or ""
        return value

    def number(self, key: str, default: int, least: int, most: int) -> int:
        """A whole number from `least` to `most`."""
        self._known.append(key)
        value = self.value.get(key, default)
        if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
            self.bad(key, f"{key} = {_shown(value)}: allowed: a whole number from {least} to "
                          f"{most}")
            return default
        return value

    def texts(self, key: str) -> tuple[str, ...]:
        """An array of texts, or one text; empty by default."""
        self._known.append(key)
        value = self.value.get(key, [])
        found = [value] if isinstance(value, str) else value
        if not isinstance(found, list) or not all(isinstance(v, str) for v in found):
            self.bad(key, f"{key} = {_shown(value)}: expected an array of texts")
            return ()
        return tuple(found)

    def tables(self, key: str) -> list[_Table]:
        """An array of tables, [[key]]; empty by default."""
        self._known.append(key)
        value = self.value.get(key, [])
        if not isinstance(value, list):
            self.bad(key, f"{key}: expected [[{key}]]")
            return []
        return [_Table(v, (*self.place, key, i), self.mistakes) for i, v in enumerate(value)]

    def table(self, key: str) -> _Table:
        """A table, [key]; empty by default."""
        self._known.append(key)
        return _Table(self.value.get(key, {}), (*self.place, key), self.mistakes)

    def end(self) -> None:
        for key in self.value:
            if key not in self._known:
                self.bad(key, f"unknown key '{key}'; allowed: "
                              f"{', '.join(self._known)}{meant(key, self._known)}")


def _dotted(place: Path) -> str:
    return ".".join(str(p) for p in place if not isinstance(p, int))


def _shown(value: object) -> str:
    return f'"{value}"' if isinstance(value, str) else repr(value)


def load(path: str) -> Experiment:
    """The experiment in a file.  LabError if the file cannot be read or has a mistake."""
    try:
        text = FilePath(path).read_text(encoding="utf-8")
    except OSError as e:
        raise LabError(f"{path}: {e.strerror}") from None
    except UnicodeDecodeError:
        raise LabError(f"{path}: is not a text in UTF-8") from None
    return parse(text, path)


def parse(text: str, path: str) -> Experiment:
    """The experiment in a text; `path` is named in messages."""
    try:
        value = tomllib.loads(text)
    except (RecursionError, OverflowError):
        raise LabError(f"{path}: is no TOML that can be read") from None
    except tomllib.TOMLDecodeError as e:
        match = re.search(r" \(at line (\d+), column \d+\)$", str(e))
        line = match[1] if match else str(text.count("\n") + 1)
        raise LabError(f"{path}:{line}: {str(e)[:match.start()] if match else e}") from None
    mistakes = Mistakes(path, Lines(text))
    found = _experiment(_Table(value, (), mistakes), text, path)
    mistakes.end()
    return found


def _experiment(top: _Table, text: str, path: str) -> Experiment:
    name = top.text("name")
    if name and not _NAME.fullmatch(name):
        top.bad("name", f"name = {_shown(name)}: allowed: small letters, digits and '-'")
    title, question = top.text("title"), top.text("question", "")
    factors = _factors(top.table("factors"))
    names = tuple(f.name for f in factors)
    holes = tuple(hole for f in factors for hole in f.holes)
    device = top.table("device")
    varied = "profile" in names
    profile = device.text("profile", "" if varied else None)
    if varied and profile:
        device.bad("profile", "profile is also a factor; allowed: one of the two")
    settings = device.texts("set")
    _check_settings(device, settings, names)
    device.end()
    work = top.table("workload")
    requests = work.texts("requests")
    if not requests:
        work.bad("requests", "[workload] has no 'requests'; allowed: trace files, "
                 "gen:PATTERN and rec:RECORDING")
    warmup = work.text("warmup", "")
    depth, seed = work.number("depth", 1, 1, 1024), work.number("seed", 1, 0, 2**63 - 1)
    flags = work.texts("flags")
    for flag in flags:
        if flag not in FLAGS:
            work.bad("flags", f"flags: '{flag}': allowed: {', '.join(FLAGS)}", flag)
    work.end()
    _check_holes(device, "set", settings, holes)
    _check_holes(device, "profile", (profile,), holes)
    _check_holes(work, "requests", requests, holes)
    _check_holes(work, "warmup", (warmup,), holes)
    values = tuple(value for f in factors for row in f.words for _, value in row)
    _check_used(top, factors, (profile, *settings, *requests, warmup, *values))
    measures = _measures(top.table("measure"))
    known = tuple(m.name for m in measures)
    theory = top.table("theory")
    law = theory.text("law", "" if not theory.value else None, ("", *LAWS))
    law_measure = theory.text("measure", known[0] if known else "", known)
    theory.end()
    figures = tuple(_figure(t, factors, known) for t in top.tables("figure"))
    statements = tuple(_statement(t, factors, known, law) for t in top.tables("conclusion"))
    notes = top.text("notes", "")
    top.end()
    return Experiment(path, text, name, title, question, factors, profile, settings, requests,
                      warmup, depth, seed, flags, measures, law, law_measure, figures, statements,
                      notes)


def _factors(table: _Table) -> tuple[Factor, ...]:
    found = []
    for name, value in _flat(table.value):
        label, levels, noun = name, value, ""
        if isinstance(value, dict):
            inner = _Table(value, (*table.place, name), table.mistakes)
            label, noun = inner.text("label", name), inner.text("noun", "")
            if noun and noun.count("{}") + noun.count("{size}") != 1:
                inner.bad("noun", f"noun = {_shown(noun)}: allowed: a text with {{}} or {{size}}")
            levels = value.get("levels")
            if levels is None and {"from", "to"} <= set(value):
                first, last = inner.number("from", 0, 0, 2**62), inner.number("to", 0, 0, 2**62)
                levels = list(range(first, last + 1, inner.number("step", 1, 1, 2**62)))[:100001]
            inner.known("levels", "from", "to", "step")
            inner.end()
        words: tuple[tuple[tuple[str, str], ...], ...] = ()
        if isinstance(levels, dict):
            words = _words(table, name, levels)
            levels = list(levels)
        if not (_WORD.fullmatch(name) or re.fullmatch(r"[a-z]+\.[A-Za-z_]+", name)):
            table.bad(name, f"factor '{name}': allowed: a word of small letters, or SECTION.KEY")
        if not isinstance(levels, list) or not levels:
            table.bad(name, f"{name}: expected an array of levels, or {{levels = [...], label = "
                      "\"...\"}, or {from = N, to = N, step = N}")
            continue
        texts = []
        for level in levels:
            if isinstance(level, bool) or not isinstance(level, (str, int, float)):
                table.bad(name, f"{name}: the level {_shown(level)} is neither a text nor a number")
            elif str(level) in texts:
                table.bad(name, f"{name}: the level {level} comes twice", level)
            texts.append(str(level))
        if name == "seed":
            for text in texts:
                if whole(text) is None or int(text) > 2**63 - 1:
                    table.bad(name, f"seed: the level {text} is not a whole number", text)
        found.append(Factor(name, label, tuple(texts), words, noun))
    return tuple(found)


def _words(table: _Table, name: str, levels: dict[str, Any]
           ) -> tuple[tuple[tuple[str, str], ...], ...]:
    """The words of each level; all levels must give the same words of {NAME} a value."""
    def bad(level: str, message: str) -> None:
        table.mistakes.add((*table.place, name, "levels", level), f"{name}: {message}")

    rows = []
    for level, value in levels.items():
        if not isinstance(value, dict):
            bad(level, f"the level {level}: expected a table, such as {{start = \"1M\"}}")
            value = {}
        row = []
        for word, text in _flat(value):
            if isinstance(text, bool) or not isinstance(text, (str, int, float)):
                bad(level, f"{word} = {_shown(text)} is neither a text nor a number")
            elif not (_WORD.fullmatch(word) or _SETS.fullmatch(word)):
                bad(level, f"'{word}': allowed: a word of small letters, SECTION.KEY, or "
                    "PROFILE:SECTION.KEY")
            row.append((word, str(text)))
        rows.append(tuple(row))
    wanted = {word for given in rows for word, _ in given if "." not in word}
    for level, given in zip(levels, rows):
        for word in sorted(wanted - {word for word, _ in given}):
            bad(level, f"the level {level} has no '{word}', which other levels have")
    return tuple(rows)


def _flat(value: dict[str, Any]) -> list[tuple[str, Any]]:
    """Factors with dotted names are tables in tables for TOML: {"ftl": {"op": [...]}}."""
    found = []
    for name, inner in value.items():
        if isinstance(inner, dict) and not {"levels", "from", "label", "to"} & set(inner):
            found += [(f"{name}.{key}", v) for key, v in inner.items()] or [(name, inner)]
        else:
            found.append((name, inner))
    return found


def _check_settings(table: _Table, settings: tuple[str, ...], names: tuple[str, ...]) -> None:
    for setting in settings:
        key = setting.split("=", 1)[0]
        if "=" not in setting:
            table.bad("set", f"set: '{setting}': expected SECTION.KEY=VALUE", setting)
        elif key in names:
            table.bad("set", f"set: {key} is also a factor; allowed: one of the two", setting)


def _check_holes(table: _Table, key: str, texts: tuple[str, ...], names: tuple[str, ...]) -> None:
    for text in texts:
        for hole in _HOLE.findall(text):
            if hole not in names:
                table.bad(key, f"{key}: {{{hole}}} is not a factor; allowed: "
                          f"{', '.join(names) or 'none'}", "{" + hole + "}")


def _check_used(top: _Table, factors: tuple[Factor, ...], texts: tuple[str, ...]) -> None:
    used = {hole for text in texts for hole in _HOLE.findall(text)}
    for f in factors:
        sets = any("." in word for row in f.words for word, _ in row)
        if not (f.is_key or f.name in SPECIAL or sets or used & set(f.holes)):
            top.mistakes.add(("factors", f.name),
                              f"the factor {f.name} changes nothing: {{{f.name}}} is neither in "
                              "[device] nor in [workload]")


def _measures(table: _Table) -> tuple[Measure, ...]:
    if not table.value:
        table.mistakes.add((), "the file has no [measure.NAME]: nothing is measured")
    found = []
    for name in table.value:
        inner = table.table(name)
        found.append(Measure(name, inner.text("value"), inner.text("label", name),
                             inner.text("unit", ""), inner.text("better", "", ("", "less", "more")),
                             inner.text("scale", "linear", ("linear", "log")) == "log"))
        inner.end()
    return tuple(found)


def _figure(table: _Table, factors: tuple[Factor, ...], measures: tuple[str, ...]) -> Figure:
    names = tuple(f.name for f in factors)
    kind = table.text("kind", None, FIGURES)
    measure = table.text("measure", measures[0] if measures else "", measures)
    roles = {role: table.text(role, "", ("", *names)) for role in ("x", "series", "panel")}
    if kind not in ("", "effects") and not roles["x"]:
        table.bad("x", f"a figure of kind {kind} needs x; allowed: {', '.join(names)}")
    if kind == "heatmap" and not roles["series"]:
        table.bad("series", f"a heatmap needs series, its rows; allowed: {', '.join(names)}")
    given = [name for name in roles.values() if name]
    if len(set(given)) < len(given):
        table.bad("kind", "a factor is used twice in this figure")
    scale = table.text("scale", "", ("", "linear", "log"))
    extent = table.text("range", "shared", ("shared", "own"))
    only = _some_levels(table, factors, (roles["x"], roles["series"]))
    table.end()
    return Figure(kind, measure, roles["x"], roles["series"], roles["panel"], scale, extent, only)


def _some_levels(table: _Table, factors: tuple[Factor, ...], drawn: tuple[str, ...]) -> str:
    """The member `only` of a figure: a level for some of the factors that it does not draw."""
    text = table.text("only", "")
    free = {f.name: f for f in factors if f.name not in drawn}
    for word in text.split(",") if text else ():
        name, _, level = word.strip().partition("=")
        if name not in free:
            table.bad("only", f"only: '{name}': allowed: {', '.join(free)}")
        elif level not in free[name].levels:
            table.bad("only", f"only: {name}={level}: allowed: {', '.join(free[name].levels)}")
    return text


def _combination(table: _Table, key: str, factors: tuple[Factor, ...]) -> str:
    """A level of each factor, as in "fs=ext4, start=63"; factors with one level and the ensemble
    may be left out."""
    text = table.text(key)
    given = dict(word.strip().partition("=")[::2] for word in text.split(",")) if text else {}
    for f in factors:
        usual = f.levels[0] if len(f.levels) == 1 or f.name == ENSEMBLE else None
        level = given.pop(f.name, usual)
        if level is None:
            table.bad(key, f"{key} names no level of {f.name}; allowed: {', '.join(f.levels)}")
        elif level not in f.levels:
            table.bad(key, f"{key}: {f.name}={level}: allowed: {', '.join(f.levels)}")
    for name in given:
        table.bad(key, f"{key}: '{name}' is not a factor; allowed: "
                       f"{', '.join(f.name for f in factors)}")
    return text


def _by_level(table: _Table, key: str, factors: tuple[Factor, ...], name: str) -> str:
    """A number for levels of a factor, as in "transcend8g=14.2, luxmini32g=20"."""
    text = table.text(key)
    levels = next((f.levels for f in factors if f.name == name), ())
    for word in text.split(","):
        level, _, value = word.strip().partition("=")
        if level not in levels:
            table.bad(key, f"{key}: '{level}' is not a level of {name}; allowed: "
                           f"{', '.join(levels)}")
        elif (quantity(value) or 0) <= 0:
            table.bad(key, f"{key}: {level}={value}: allowed: a number above 0")
    return text


def _among(table: _Table, factors: tuple[Factor, ...], name: str) -> str:
    """A text that is in the names of some levels of a factor."""
    text = table.text("among", "")
    levels = next((f.levels for f in factors if f.name == name), ())
    if levels and not any(text in level for level in levels):
        table.bad("among", f"among = {_shown(text)}: is in no level of {name}; they are: "
                           f"{', '.join(levels)}")
    return text


def _statement(table: _Table, factors: tuple[Factor, ...], measures: tuple[str, ...],
               law: str) -> Statement:
    say = table.text("say", None, tuple(STATEMENTS))
    words: dict[str, str] = {}
    names = tuple(f.name for f in factors)
    readers: dict[str, Callable[[], str]] = {
        "measure": lambda: table.text("measure", measures[0] if measures else "", measures),
        "factor": lambda: table.text("factor", None, names),
        "share": lambda: table.text("share", "0.8"),
        "what": lambda: table.text("what", ""),
        "threshold": lambda: table.text("threshold", "2%"),
        "wear": lambda: table.text("wear", "", ("", *measures)),
        "steady": lambda: table.text("steady", "", ("", *measures)),
        "by": lambda: table.text("by", "", ("", *(n for n in names if n != words.get("factor")))),
        "among": lambda: _among(table, factors, words.get("factor", "")),
        "against": lambda: table.text("against", "", ("", *next(
            (f.levels for f in factors if f.name == words.get("factor")), ()))),
        "only": lambda: table.text("only", "", ("", *(
            f"{f.name}={level}" for f in factors for level in f.levels))),
        "before": lambda: _combination(table, "before", factors),
        "after": lambda: _combination(table, "after", factors),
        "times": lambda: table.text("times", "1"),
        "rest": lambda: table.text("rest"),
        "text": lambda: table.text("text"),
    }
    for key in STATEMENTS.get(say, ()):
        if key in ("from", "to"):
            levels = next((f.levels for f in factors if f.name == words.get("factor")), ())
            words[key] = table.text(key, None, levels)
        elif key == "published":
            words[key] = _by_level(table, key, factors, words.get("factor", ""))
        else:
            words[key] = readers[key]()
    times = quantity(words.get("times", "1"))
    if times is None or times <= 0:
        table.bad("times", f"times = {_shown(words['times'])}: allowed: a number above 0")
    if "share" in words and quantity(words["share"]) is None:
        table.bad("share", f"share = {_shown(words['share'])}: allowed: a number, or one with %")
    share = quantity(words.get("threshold", "0"))
    if share is None or not 0 <= share < 1:
        table.bad("threshold", f"threshold = {_shown(words['threshold'])}: allowed: 0% to below "
                               "100%")
    if say == "theory" and not law:
        table.bad("say", "say = \"theory\" needs [theory]")
    table.end()
    return Statement(say, words)
