# SPDX-License-Identifier: BSD-3-Clause
"""Sets of parameters that fit a device's published figures as well as its profile does.

A profile has numbers that somebody measured, and numbers that were assumed or fitted.  A conclusion
that holds with one set of the latter may not hold with another.  So an ensemble is one more factor
of an experiment.  Its first level is the profile as shipped.  Each other level sets the keys that
were drawn for it:

    times, rates, shares      times a factor between 0.9 and 1.1, uniformly
    whole numbers of [ftl]    one less or one more, each in a quarter of the draws

Only keys whose provenance says that they are assumed, fitted, inferred or estimated are drawn.
What makes up the device's structure, such as pages, blocks, units, chips and the strategy, stays.

A draw is kept if the figures of [fidelity] still hold:

    * procedures that need no kernel are measured by `flashemu verify --quick`, and no row that is
      met with the profile as shipped may be off
    * for the others there is a pattern that stands for the procedure; its rate must not differ
      from that with the profile as shipped by more than the tolerance of the row

The draws depend on the seed, the profile and the number of the draw, and on nothing else.
"""

from __future__ import annotations

import hashlib
import json
import random
import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from decimal import Decimal
from typing import Iterable

from ...core.errors import LabError
from ...core.files import write_whole
from ...core.json_text import loads, record
from ...core.text import lines_of
from ...runs.expression import evaluate, parse_profile
from ...runs.local import LocalEngine, execute
from ...runs.program import Tool
from ...runs.run import Json, Run, Source
from ...runs.store import Store
from ..evidence import Judged
from ..plan import profiles
from ..spec import ENSEMBLE, Experiment
from ..sweep import text

SHIPPED = "as shipped"
# How many draws there may be for each set that is wanted.
_DRAWS = 40
_WIDTH = 0.1
# To be changed with the way in which sets are drawn.
_VERSION = 2
_UNSURE = re.compile(r"\b(assumed|fitted|inferred|estimated)\b")
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_RATE = "(host.read.bytes + host.write.bytes) / elapsed_ns * 1000"

# Patterns that stand for procedures that need a kernel: what the procedure's name begins with, and
# the requests that matter most in it.
_STANDINS = (
    ("hdparm-t", "gen:sequential,op=read,bs=%(limit)s,size=64M,count=500", ""),
    ("hdtune", "gen:sequential,op=read,bs=64K,size=64M,count=500,think=250us", ""),
    ("atto-read", "gen:sequential,op=read,bs=%(limit)s,size=64M,count=500", ""),
    ("file-fat32-factory", "gen:sequential,op=write,bs=%(limit)s,offset=4096.5K,count=800", ""),
    ("file-fat32-aligned", "gen:sequential,op=write,bs=%(limit)s,offset=4098K,count=800", ""),
    ("copy-fat32-factory", "gen:sequential,op=write,bs=%(limit)s,offset=4096.5K,count=800", ""),
    ("file-ntfs64k-fresh", "gen:sequential,op=write,bs=%(limit)s,offset=4M,count=800",
     "device.used=0"),
    ("fragments-read-whole", "gen:sequential,op=read,bs=%(limit)s,size=64M,count=200", ""),
    ("fragments-read", "gen:random,op=read,bs=4K,size=64M,count=500", ""),
    ("fragments-write", "gen:random,op=write,bs=4K,size=64M,count=200", ""),
    ("", "gen:sequential,op=write,bs=%(limit)s,offset=4M,count=800", ""),
)


@dataclass(frozen=True)
class Check:
    """A row of [fidelity] with a pattern that stands for its procedure.

    tolerance  a fraction of 1
    setting    "SECTION.KEY=VALUE" that belongs to the procedure, or ""
    """

    row: str
    pattern: str
    tolerance: float
    setting: str


@dataclass(frozen=True)
class Basis:
    """What an ensemble of one profile starts from.

    values  the keys that are drawn, with their values as shipped
    types   of these keys, as in `flashemu help --json`
    model   the rows that `verify` measures without a kernel and that are met as shipped
    checks  the rows for which a pattern stands
    """

    profile: str
    values: dict[str, str]
    types: dict[str, str]
    model: tuple[str, ...]
    checks: tuple[Check, ...]


def basis(tool: Tool, profile: str) -> Basis:
    """What can be drawn and what has to hold.

    LabError if the profile has no published figures, or nothing that is unsure.
    """
    types = {o["key"]: o["type"] for o in json.loads(tool.ask("help", "--json"))}
    values = parse_profile(tool.canonical(profile, ()))
    unsure = {key: values[key] for key, why in _provenance(tool.ask("show", profile)).items()
              if key in values and _UNSURE.search(why) and _varies(key, types.get(key, ""))}
    rows = _rows(tool, profile, ())
    if not rows:
        raise LabError(f"--ensemble: {profile} has no published figures in [fidelity], so nothing "
                       "says which sets of parameters fit")
    if not unsure:
        raise LabError(f"--ensemble: {profile} has no number that is assumed or fitted")
    limit = values.get("link.max_transfer", "1M")
    checks = tuple(_standin(row, limit) for row in rows if row["where"] == "kernel")
    model = tuple(row["id"] for row in rows if row["verdict"] == "ok")
    return Basis(profile, unsure, {key: types[key] for key in unsure}, model, checks)


def _provenance(shown: str) -> dict[str, str]:
    """The explanations of a profile by key; a line that is indented continues the last one."""
    found: dict[str, str] = {}
    key = ""
    for line in lines_of(shown.partition("[provenance]\n")[2]):
        if line.startswith("["):
            break
        if line.startswith(" "):
            found[key] += " " + line.strip()
        elif " = " in line:
            key, _, why = line.partition(" = ")
            found[key] = why
    return found


def _varies(key: str, kind: str) -> bool:
    if kind == "number":
        return key.startswith("ftl.")
    return kind in ("time", "times", "rate", "share") and not key.startswith("faults.")


def _rows(tool: Tool, profile: str, settings: tuple[str, ...]) -> list[Json]:
    """The rows of `flashemu verify` without a kernel; none if there are no figures."""
    try:
        answer = tool.ask("verify", profile, *settings, "--quick", "--kernel", "none", "--json",
                          codes=(0, 1, 3))
    except LabError as e:
        if "no published" in str(e):
            return []
        raise
    rows: list[Json] = json.loads(answer)["rows"]
    return rows


def _standin(row: Json, limit: str) -> Check:
    name = row["procedure"].split()[0]
    _, pattern, setting = next(s for s in _STANDINS if name.startswith(s[0]))
    return Check(row["id"], pattern % {"limit": limit}, row["tolerance_percent"] / 100, setting)


def draw(b: Basis, seed: int, number: int) -> dict[str, str]:
    """The values of one draw, for the keys that differ from the profile."""
    rng = random.Random(f"{seed}/{b.profile}/{number}")
    found = {}
    for key in sorted(b.values):
        value = b.values[key]
        if b.types[key] == "number":
            step = rng.choice((-1, 0, 0, 1))
            drawn = str(int(value) + step) if value.isdigit() else value
        else:
            factor = rng.uniform(1 - _WIDTH, 1 + _WIDTH)
            drawn = _NUMBER.sub(lambda m: _rounded(float(m[0]) * factor), value)
        if drawn != value:
            found[key] = drawn
    return found


def _rounded(value: float) -> str:
    """Four digits that count, without an exponent, which no profile may have."""
    return f"{Decimal(f'{value:.4g}'):f}"


def _settings(values: dict[str, str]) -> tuple[str, ...]:
    return tuple(f"{key}={value}" for key, value in values.items())


def _runs(tool: Tool, b: Basis, drawn: dict[str, str]) -> list[Run]:
    """The runs of the stand-ins with a draw, in their order.  LabError if the program refuses the
    values."""
    found = []
    for check in b.checks:
        words = dict(drawn)
        key, _, value = check.setting.partition("=")
        if key:
            words[key] = value
        found.append(tool.run(b.profile, _settings(words), (Source.pattern(check.pattern),)))
    return found


def _rates(tool: Tool, store: Store, jobs: int, runs: list[Run]) -> dict[str, float]:
    """The rate of each run by its key; runs that fail have none."""
    found = {}
    for run, outcome in execute(runs, store, LocalEngine(tool, jobs)):
        rate = evaluate(_RATE, outcome.result, {}) if outcome.result else None
        if rate:
            found[run.key()] = rate
    return found


def missed(b: Basis, shipped: list[float], rates: list[float | None]) -> list[str]:
    """The rows whose stand-ins are not within their tolerances; the same order as checks.  A draw
    with which a stand-in does not work has no rate, and misses the row."""
    return [check.row for check, before, now in zip(b.checks, shipped, rates)
            if now is None or abs(now / before - 1) > check.tolerance]


@dataclass(frozen=True)
class Drawn:
    """Sets that fit, and what each figure has said about the draws.

    Figures with a stand-in were asked about every draw that a device can have.  Figures that
    `verify` measures were asked about the draws that all stand-ins have left.
    """

    sets: list[dict[str, str]]
    judged: tuple[Judged, ...]


def sets(tool: Tool, store: Store, jobs: int, profile: str, count: int, seed: int) -> Drawn:
    """`count` sets of values that fit.  LabError if not enough of 40 times as many draws do."""
    b = basis(tool, profile)
    found = _rates(tool, store, jobs, _runs(tool, b, {}))
    runs = _runs(tool, b, {})
    # A stand-in that the device cannot do says nothing.
    b = replace(b, checks=tuple(c for c, run in zip(b.checks, runs) if run.key() in found))
    before = [found[run.key()] for run in runs if run.key() in found]
    kept: list[dict[str, str]] = []
    judge = _Judge({row: [0, 0] for row in (*(c.row for c in b.checks), *b.model)})
    for first in range(0, _DRAWS * count, 2 * count):
        drawn = [draw(b, seed, first + i) for i in range(2 * count)]
        kept += _fitting(tool, store, jobs, b, before, drawn, judge)
        if len(kept) >= count:
            return Drawn(kept[:count], tuple(Judged(profile, row, asked, no)
                                             for row, (asked, no) in judge.counts.items()))
    raise LabError(f"--ensemble {count}: of {_DRAWS * count} draws for {profile} only {len(kept)} "
                   "keep its published figures; a smaller N is possible", 1)


@dataclass
class _Judge:
    """Counts for each row the draws that it was asked about, and those that miss it."""

    counts: dict[str, list[int]]

    def fits(self, rows: Iterable[str], wrong: list[str]) -> bool:
        """Counts a draw; whether it misses none of the rows."""
        for row in rows:
            self.counts[row][0] += 1
            self.counts[row][1] += row in wrong
        return not wrong


def _fitting(tool: Tool, store: Store, jobs: int, b: Basis, before: list[float],
             drawn: list[dict[str, str]], judge: _Judge) -> list[dict[str, str]]:
    """Those of the draws that fit, in their order."""
    planned: list[tuple[dict[str, str], list[Run]]] = []
    for values in drawn:
        try:
            tool.canonical(b.profile, _settings(values))
            planned.append((values, _runs(tool, b, values)))
        except LabError:
            continue  # a value that no device can have
    rates = _rates(tool, store, jobs, [run for _, runs in planned for run in runs])
    rows = [check.row for check in b.checks]
    near = [values for values, runs in planned
            if judge.fits(rows, missed(b, before, [rates.get(run.key()) for run in runs]))]
    if not b.model:
        return near

    def off(values: dict[str, str]) -> list[str]:
        verdicts = {row["id"]: row["verdict"] for row in
                    _rows(tool, b.profile, _settings(values))}
        return [name for name in b.model if verdicts.get(name) != "ok"]

    with ThreadPoolExecutor(jobs) as pool:
        return [values for values, wrong in zip(near, pool.map(off, near))
                if judge.fits(b.model, wrong)]


def with_sets(e: Experiment, tool: Tool, store: Store, jobs: int, count: int, seed: int
              ) -> tuple[str, tuple[Judged, ...]]:
    """The experiment's text with the ensemble as its last factor, and what the published figures
    have said about the draws.

    LabError if the experiment has one already, or a profile that depends on other factors.
    """
    if any(f.name == ENSEMBLE for f in e.factors):
        raise LabError(f"{e.path}: has a factor '{ENSEMBLE}' already")
    names = profiles(e)
    drawn = {p: _kept(tool, store, jobs, p, count, seed) for p in names}
    lines = [e.text.rstrip("\n"), "",
             f"# {count} sets of parameters that fit the published figures, drawn with seed {seed}",
             f"[factors.{ENSEMBLE}]", 'label = "parameters"', f"[factors.{ENSEMBLE}.levels]",
             f"{text(SHIPPED)} = {{}}"]
    for i in range(count):
        words = [f"{text(f'{p}:{key}')} = {text(value)}" for p in names
                 for key, value in drawn[p].sets[i].items()]
        lines.append(f"{text(f'set {i + 1}')} = {{{', '.join(words)}}}")
    return "\n".join(lines) + "\n", tuple(j for p in names for j in drawn[p].judged)


def _kept(tool: Tool, store: Store, jobs: int, profile: str, count: int, seed: int) -> Drawn:
    """`sets`, remembered in the folder of the store under the profile's text and the program."""
    asked = f"{_VERSION}\n{tool.program}\n{tool.ask('show', profile)}\n{count} {seed}"
    name = hashlib.sha256(asked.encode()).hexdigest()
    path = store.folder / "ensembles" / f"{name}.json"
    try:
        known = record(Drawn, loads(path.read_text(encoding="utf-8"), ""), "")
        if len(known.sets) == count:
            return known
    except (OSError, ValueError, LabError):
        pass
    found = sets(tool, store, jobs, profile, count, seed)
    path.parent.mkdir(exist_ok=True)
    write_whole(path, json.dumps(asdict(found), indent=1) + "\n")
    return found
