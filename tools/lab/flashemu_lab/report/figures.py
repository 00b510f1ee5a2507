# SPDX-License-Identifier: BSD-3-Clause
"""The figures of a table: those that the experiment names, or the usual ones."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Iterable

from ..core.units import alike, number
from ..experiment.ensemble.agreement import Ranges, ranges, split
from ..experiment.choice import choose, ratios, worst
from ..experiment.conclusion import effect_name, shares, with_unit
from ..experiment.nouns import noun
from ..experiment.spec import Experiment, Factor, Figure, Measure
from ..experiment.table import Row, Table
from . import charts, svg


# A map of levels and combinations has room for the names of so many columns.
_MOST_COLUMNS = 16


@dataclass(frozen=True)
class Drawn:
    """A picture and the heading that it belongs to; pictures of one figure follow each other."""

    heading: str
    picture: str


def usual(e: Experiment) -> tuple[Figure, ...]:
    """The figures of an experiment that names none: lines over the factor with the most levels,
    in a picture for each level of the third factor, and the effects."""
    varied = sorted((f for f in e.factors if len(f.levels) > 1), key=lambda f: -len(f.levels))
    names = [f.name for f in varied] or [f.name for f in e.factors[:1]]
    found = []
    for measure in e.measures:
        if names:
            kind = "lines" if varied and len(varied[0].levels) > 4 else "bars"
            found.append(Figure(kind, measure.name, *(names + ["", "", ""])[:3]))
        if len(varied) > 1:
            found.append(Figure("effects", measure.name))
    return tuple(found)


def draw(table: Table) -> list[Drawn]:
    """All figures of a table; with an ensemble, of the parameters as shipped."""
    found = []
    tables = split(table)
    table = tables[0]
    for figure in table.experiment.figures or usual(table.experiment):
        measure = table.experiment.measure(figure.measure)
        if figure.kind == "effects":
            found += _effects(table, measure)
        elif figure.kind == "scores":
            found += _scores(table, figure.x, measure)
        else:
            spread = ranges(tables, measure.name) if len(tables) > 1 else {}
            found += _panels(table, figure, measure, spread)
    return found


def _effects(table: Table, measure: Measure) -> list[Drawn]:
    rows = [(effect_name(x, table.experiment), x.share) for x in shares(table, measure)]
    rows = [row for row in rows if row[1] >= 0.001][:8]
    if not rows:
        return []
    what = f"variation of {measure.label}" + (" (log)" if measure.log else "")
    return [Drawn("What matters", charts.share_chart(f"What decides: {what}", rows))]


def _scores(table: Table, name: str, measure: Measure) -> list[Drawn]:
    """How each level of a factor compares with the best one in each combination of the others, and
    in its worst one: a map of levels against combinations.  The chosen level is marked."""
    e = table.experiment
    factor = e.factor(name)
    found = ratios(table, name, measure)
    if not found:
        return []
    less = measure.better == "less"
    columns = {", ".join(others): values for others, values in found.items()}
    if len(columns) > 1:
        columns["worst case"] = worst(found, measure)
    heading = f"{_capital(measure.label)}, " + (
        "in multiples of the least: full colour is bad" if less else
        "in % of the best: full colour is good")
    place = 1 if less else 100
    values = [[place * columns[c][level] for c in columns] for level in factor.levels]
    unit = "times the least" if less else "% of the best"
    say = "{:.2f}" if less else "{:.0f}"
    tips = [[f"{factor.label} {level}, {c}: {number(place * columns[c][level])} {unit}"
             for c in columns] for level in factor.levels]
    statement = next((s for s in e.statements if s.say == "choose" and s.words["factor"] == name),
                     None)
    chosen = choose(table, statement.words) if statement else None
    mark = factor.levels.index(chosen.level) if chosen else None
    if len(columns) > _MOST_COLUMNS:  # then they are the rows
        return [Drawn(heading, charts.heat_map(
            heading, factor.label, list(factor.levels), "", list(columns),
            [list(row) for row in zip(*values)], [list(row) for row in zip(*tips)], less, say))]
    return [Drawn(heading, charts.heat_map(heading, "", list(columns), factor.label,
                                           list(factor.levels), values, tips, less, say, mark))]


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _panels(table: Table, figure: Figure, measure: Measure, spread: Ranges) -> list[Drawn]:
    """A picture for each level of the panel and of all factors that the figure does not use."""
    e = table.experiment
    used = {figure.x, figure.series}
    rest = [f for f in e.factors if f.name not in used]
    rest.sort(key=lambda f: f.name != figure.panel)
    drawn = []
    only = figure.chosen()
    for levels in itertools.product(*(
            (only[f.name],) if f.name in only else f.levels for f in rest)):
        fixed = {f.name: level for f, level in zip(rest, levels)}
        title = ", ".join(noun(f, level) for f, level in zip(rest, levels) if len(f.levels) > 1)
        drawn.append(Drawn(_heading(e, figure, measure),
                           _picture(table, figure, measure, fixed,
                                    title or _heading(e, figure, measure), spread)))
    return drawn


def _heading(e: Experiment, figure: Figure, measure: Measure) -> str:
    return f"{_capital(measure.label)} by {e.factor(figure.x).label}"


def _cells(table: Table, figure: Figure, measure: Measure, fixed: dict[str, str]
           ) -> dict[tuple[str, str], Row]:
    """The rows of one picture by their levels of x and series."""
    e = table.experiment
    names = [f.name for f in e.factors]
    found = {}
    for row in table.rows:
        levels = dict(zip(names, row.levels))
        if all(levels[name] == level for name, level in fixed.items()):
            found[(levels[figure.x], levels.get(figure.series, ""))] = row
    return found


def _tip(e: Experiment, row: Row, measure: Measure, spread: Ranges) -> str:
    """What the pointer learns at a mark."""
    levels = ", ".join(f"{f.label} {level}" for f, level in zip(e.factors, row.levels))
    value = row.values.get(measure.name)
    said = with_unit(value, measure) if value is not None else row.message or "no value"
    if row.levels in spread:
        low, high = spread[row.levels]
        low_text, high_text = alike([low, high])
        said += f" ({low_text} to {high_text} with other parameters)"
    return f"{levels}: {said}"


def _picture(table: Table, figure: Figure, measure: Measure, fixed: dict[str, str],
             title: str, spread: Ranges) -> str:
    e = table.experiment
    cells = _cells(table, figure, measure, fixed)
    x = e.factor(figure.x)
    lanes = e.factor(figure.series) if figure.series else Factor("", measure.label, ("",))

    def value(a: str, b: str) -> float | None:
        return cells[a, b].values.get(measure.name)

    def tips(b: str) -> list[str]:
        return [_tip(e, cells[a, b], measure, spread) for a in x.levels]

    if figure.kind == "heatmap":
        return charts.heat_map(title, x.label, list(x.levels), lanes.label,
                               list(lanes.levels),
                               [[value(a, b) for a in x.levels] for b in lanes.levels],
                               [tips(b) for b in lanes.levels], measure.log,
                               what=_unit_name(measure))
    series = []
    for i, b in enumerate(lanes.levels):
        series.append(charts.Series(b, [value(a, b) for a in x.levels], tips(b),
                                    i % svg.N_SERIES, spreads=[
                                        spread.get(cells[a, b].levels) for a in x.levels]))
    if e.law and e.law_measure == measure.name:
        for i, b in enumerate(lanes.levels):
            lane = [cells[a, b].theory for a in x.levels]
            if any(v is not None for v in lane):
                series.append(charts.Series(f"{b} in theory".strip(), lane, [""] * len(lane),
                                            i % svg.N_SERIES, theory=True))
    rows = list(table.rows if figure.range == "shared" else cells.values())
    least, top = _range(rows, e, measure)
    for row in rows:
        low, high = spread.get(row.levels, (least, top))
        least, top = min(least, low), max(top, high)
    log = figure.scale == "log" if figure.scale else measure.log
    chart = charts.Chart(title, x.label, list(x.levels), _unit_name(measure), series, log,
                         least, top)
    return charts.bar_chart(chart) if figure.kind == "bars" else charts.line_chart(chart)


def _unit_name(measure: Measure) -> str:
    return f"{measure.label}, {measure.unit}" if measure.unit else measure.label


def _range(rows: Iterable[Row], e: Experiment, measure: Measure) -> tuple[float, float]:
    """The smallest and the largest value of rows, theory included."""
    rows = list(rows)
    known = [v for row in rows if (v := row.values.get(measure.name)) is not None]
    if e.law and e.law_measure == measure.name:
        known += [row.theory for row in rows if row.theory is not None]
    return (min(known), max(known)) if known else (0.0, 1.0)
