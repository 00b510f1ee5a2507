# SPDX-License-Identifier: BSD-3-Clause
"""One page for a result: a file of HTML that needs nothing else.

The conclusion comes first, then the figures, the table, and all inputs.  The page follows the
reader's light or dark setting, fits a phone, and can be printed.  It has no script, no time and no
path of this machine, so two runs of an experiment give the same page, byte for byte.
"""

from __future__ import annotations

import itertools

from markupsafe import Markup

from ..core.text import listed
from ..core.units import alike, number
from ..experiment.ensemble.agreement import split
from ..experiment.choice import paste
from ..experiment.conclusion import conclusion, decisions
from ..experiment.spec import Experiment
from ..experiment.table import Table
from . import html
from .figures import Drawn, draw

# So many sentences stand below the first one; the others are folded.
_SHOWN = 4

# The pages of advice, by the names of their experiments: where each is from the other one.
_OTHER = {"advise": ("Which filesystem?", "filesystems/index.html"),
          "advise-filesystems": ("Where to start, and which clusters?", "../index.html")}


def page(table: Table, folder: str = "") -> str:
    """The whole file.  `folder` is where its folder is from where the page will be, for links."""
    e = table.experiment
    drawn = draw(table)
    return document(e.name, e.title, e.question, conclusion(table),
                    [_other(e.name, folder), _replay(table), _paste(table), _figures(drawn[1:]),
                     _decisions(table), _judged(table), _checks(table), _rows(table),
                     _inputs(table)],
                    drawn[0].picture if drawn else "")


def document(name: str, title: str, question: str, sentences: list[str], parts: list[Markup],
             figure: str = "") -> str:
    """A page: the first sentences of the conclusion beside the figure that answers, the other
    sentences folded, and behind them parts in HTML."""
    return html.render("page.html", name=name, title=title, question=question,
                       sentences=sentences[:1 + _SHOWN], folded=sentences[1 + _SHOWN:],
                       figure=Markup(figure), parts=[part for part in parts if part])


def fold(heading: str, inner: Markup) -> Markup:
    """A part that is one click away."""
    return html.part("fold", heading, inner)


def _other(name: str, folder: str) -> Markup:
    """A link to the other page of this advice."""
    if name not in _OTHER:
        return Markup()
    words, place = _OTHER[name]
    return html.part("other", f"{folder}/{place}" if folder else place, words)


def _replay(table: Table) -> Markup:
    """How far replays of these recordings are from a kernel."""
    said = table.replay["sentence"] if table.replay else ""
    return html.part("replay", said) if said else Markup()


def _paste(table: Table) -> Markup:
    """What the chosen level has to paste, if there is something."""
    lines = paste(split(table)[0])
    return html.part("headed", "To paste", html.part("pre", lines)) if lines else Markup()


def _figures(drawn: list[Drawn]) -> Markup:
    """Figures of several pictures have a heading each; the others follow side by side."""
    found = []
    single = []
    for heading, group in itertools.groupby(drawn, key=lambda d: d.heading):
        pictures = [d.picture for d in group]
        if len(pictures) == 1:
            single += pictures
        else:
            found.append(grid(heading, pictures))
    if single:
        found.append(grid("More figures" if found else "Figures", single))
    return Markup("\n").join(found)


def grid(heading: str, pictures: list[str]) -> Markup:
    """Pictures side by side under a heading."""
    return fold(heading, html.pictures(pictures))


def _heads(e: Experiment) -> list[tuple[str, bool]]:
    found = [(f.label, False) for f in e.factors]
    for m in e.measures:
        found.append((f"{m.label}, {m.unit}" if m.unit else m.label, True))
        if e.law and e.law_measure == m.name:
            found.append(("theory", True))
    return [*found, ("the command that repeats the run", False)]


def _rows(table: Table) -> Markup:
    """All runs; the numbers of a column are alike."""
    e = table.experiment
    columns: list[list[str]] = []
    for m in e.measures:
        columns.append(alike([row.values.get(m.name) for row in table.rows]))
        if e.law and e.law_measure == m.name:
            columns.append(alike([row.theory for row in table.rows]))
    return fold(f"All {len(table.rows)} runs", html.table(_heads(e), [
        [*row.levels, *(column[i] for column in columns),
         html.part("again", row.command, row.message)] for i, row in enumerate(table.rows)]))


def _checks(table: Table) -> Markup:
    """What a kernel measured, next to the replay."""
    if not table.checks:
        return Markup()
    e = table.experiment
    rows = [[*row.levels, measure.label, *alike([replayed, full]),
             f"{100 * (full / replayed - 1):+.1f} %"]
            for measure in e.measures
            for row, replayed, full in table.differences(measure.name)]
    heads = [*((f.label, False) for f in e.factors), ("", False), ("replay", True),
             ("kernel", True), ("difference", True)]
    kernels = listed(sorted({check.kernel for check in table.checks if check.kernel}))
    title = f"The replay against a kernel{': ' if kernels else ''}{kernels}"
    return fold(title, html.table(heads, rows, False))


def plain_table(heading: str, intro: str, heads: list[tuple[str, bool]],
                rows: list[list[str]]) -> Markup:
    """A table under a heading; heads that are marked are of numbers."""
    return fold(heading, html.part("notes", intro) + html.table(heads, rows, False))


def _decisions(table: Table) -> Markup:
    """Which measurement on the real device would decide."""
    found = decisions(table)
    if not found:
        return Markup()
    rows = []
    for d in found:
        side = "above" if d.above else "below"
        rows.append([d.claim, f"{d.trial.what} on {d.trial.profile}",
                     f"{side} {number(d.threshold)} {d.trial.unit}",
                     *(f"{number(low)} to {number(high)}" for low, high in (d.where, d.where_not)),
                     f"{100 * d.right:.0f} %", f"{100 * d.chance:.0f} %", d.trial.how])
    return plain_table("What would decide", _DECIDES.format(tried=found[0].tried), [
        ("what some sets contradict", False), ("measurement", False), ("holds", True),
        ("where it holds", True), ("where not", True), ("right", True), ("by chance", True),
        ("how to measure it", False)], rows)


_DECIDES = (
    "Not all sets of parameters agree. {tried} measurements were tried with each set. For each "
    "line of the conclusion that some sets contradict, this is the one that best separates the "
    "sets where the line holds from the others. \"Right\" is the share of the sets that it would "
    "put on the right side if it is off by 2 %; a coin has 50 %. \"By chance\" is how often some "
    "measurement would look as good if the sets agreed at random: above 5 %, use more sets. The "
    "device must be as full as the profile says.")


def _judged(table: Table) -> Markup:
    """Which published figures say most about the parameters."""
    judged = sorted((j for j in table.evidence.judged if j.judged),
                    key=lambda j: (j.profile, -j.rejected / j.judged))
    rows = [[j.profile, j.row, str(j.judged), str(j.rejected),
             f"{100 * j.rejected / j.judged:.0f} %"] for j in judged]
    return plain_table("What the published figures are worth", _JUDGES, [
        ("profile", False), ("figure", False), ("draws", True), ("rejected", True),
        ("share", True)], rows) if rows else Markup()


_JUDGES = (
    "Each set was drawn at random and had to meet the published figures. A figure that rejects "
    "many draws says much about the parameters that were drawn; one that rejects none says "
    "nothing.")


def _inputs(table: Table) -> Markup:
    return fold("What was done, and how to do it again",
                html.part("inputs", table.experiment, table.program))
