# SPDX-License-Identifier: BSD-3-Clause
"""Sentences that are computed from a table.

An experiment lists what it wants to say in [[conclusion]]; without any, it says which factor
matters how much, and which runs are the best and the worst.
"""

from __future__ import annotations

import math
from statistics import geometric_mean
from typing import Callable, Iterator

from ..core.text import counted, listed
from ..core.units import alike, measured, number, quantity
from .agreement import Agreement, agreement, split
from .choice import Choice, cells, choose, costs, least_margin, percent
from .decision import Decision, decide, decisive, weighty
from .effects import Effect, analyse
from .replay_accuracy import in_percent
from .spec import Experiment, Measure, Statement
from .step_path import Step, Way, way
from .table import Row, Table, to_json

# Effects with a smaller share of the variation are not worth a word.
_SMALL_SHARE = 0.01
# So many levels that are equally good are named.
_NAMED = 4
# A step that alone makes less of the whole change than this does not help alone.
_HELPS = 0.2


def with_unit(value: float, measure: Measure) -> str:
    """A value with its unit, as in "6.20 MB/s"; without a unit it may be a count, as in "848"."""
    return f"{measured(value)} {measure.unit}" if measure.unit else alike([value])[0]


def _statements(e: Experiment) -> tuple[Statement, ...]:
    """What is to be said: what the file asks for, or the usual sentences."""
    return e.statements or tuple(
        Statement(say, {"measure": m.name}) for m in e.measures for say in ("extremes", "effects"))


def agreements(table: Table) -> list[Agreement]:
    """In which sets of an ensemble each claim holds; none without an ensemble."""
    tables = split(table)
    return agreement(tables, _statements(tables[0].experiment)) if len(tables) > 1 else []


def decisions(table: Table) -> list[Decision]:
    """Which measurement would decide, for each claim that some sets contradict."""
    found = (decide(a, table.evidence.trials) for a in agreements(table))
    return [d for d in found if d]


def conclusion(table: Table) -> list[str]:
    """The sentences, the most important one first."""
    found: list[str] = []
    base = split(table)[0]
    for statement in _statements(base.experiment):
        found += _SAYINGS[statement.say](base, statement.words)
    found += [a.sentence() for a in agreements(table)]
    found += [decisive(d) for d in decisions(table)]
    found += weighty(table.evidence.judged)
    found += _kernel(table)
    failed, lost = ([r for r in table.failures if r.status == s] for s in ("failed", "lost"))
    if failed:
        found.append(f"{len(failed)} of {len(table.rows)} runs failed. The first message: "
                     f"{failed[0].message}.")
    if lost:
        found.append(f"{len(lost)} of {len(table.rows)} runs have no result yet: "
                     f"{lost[0].message}.")
    return found


def result(table: Table) -> str:
    """results.json: the table, its conclusion, and what would decide."""
    return to_json(table, conclusion(table), [d.to_json() for d in decisions(table)])


def _kernel(table: Table) -> Iterator[str]:
    """How far the replay is from a kernel."""
    for measure in table.experiment.measures:
        errors = [(full / replayed - 1, row) for row, replayed, full in
                  table.differences(measure.name)]
        if errors:
            worst, row = max(errors, key=lambda pair: abs(pair[0]))
            mean = sum(abs(error) for error, _ in errors) / len(errors)
            yield (f"{len(errors)} of the runs went through a kernel as well: {measure.label} "
                   f"differs there from the replay by {number(100 * mean)} % in the mean and by at "
                   f"most {number(abs(100 * worst))} % ({_levels(row, table.experiment)}).")


def shares(table: Table, measure: Measure) -> list[Effect]:
    """The effects on a measure; none unless every run has a value.

    Of a logarithmic measure the logarithms are analysed, so that ratios count.
    """
    values = [row.values.get(measure.name) for row in table.rows]
    known = [v for v in values if v is not None and (v > 0 or not measure.log)]
    if not values or len(known) < len(values):
        return []
    return analyse([math.log(v) for v in known] if measure.log else known,
                   [len(f.levels) for f in table.experiment.factors])


def effect_name(effect: Effect, e: Experiment) -> str:
    """Such as "start x bs"."""
    return " x ".join(e.factors[i].label for i in effect.factors)


def _effects(table: Table, words: dict[str, str]) -> Iterator[str]:
    e = table.experiment
    measure = e.measure(words["measure"])
    found = [x for x in shares(table, measure) if x.share >= _SMALL_SHARE][:4]
    parts = []
    for effect in found:
        names = [e.factors[i].label for i in effect.factors]
        who = names[0] if len(names) == 1 else f"{listed(names)} together"
        parts.append(f"{who} ({100 * effect.share:.0f} %)")
    if len([f for f in e.factors if len(f.levels) > 1]) == 1 and parts:
        return  # there is nothing else that could matter
    if parts:
        yield f"What makes {measure.label} differ from run to run: {listed(parts)}."
    elif len(table.rows) > 1 and not table.failures:
        values = {row.values.get(measure.name) for row in table.rows}
        yield (f"{_capital(measure.label)} is the same in all runs." if len(values) == 1 else
               f"Which factor decides about {measure.label} is not computed: not every run has a "
               "value" + (" above 0." if measure.log else "."))


def _levels(row: Row, e: Experiment, without: str = "") -> str:
    return ", ".join(f"{f.label} {level}" for f, level in zip(e.factors, row.levels)
                     if len(f.levels) > 1 and f.name != without)


def _extremes(table: Table, words: dict[str, str]) -> Iterator[str]:
    e = table.experiment
    measure = e.measure(words["measure"])
    rows = sorted(table.select(measure.name, {}), key=lambda pair: pair[1])
    if len(rows) < 2 or rows[0][1] == rows[-1][1]:
        return
    least, most = rows[0][1], rows[-1][1]

    def where(value: float) -> str:
        equal = [row for row, other in rows if math.isclose(other, value, rel_tol=1e-9)]
        more = f", and in {counted(len(equal) - 1, 'more run')} alike" if len(equal) > 1 else ""
        return f"{_levels(equal[0], e)}{more}"

    small, large = (f"{text} {measure.unit}".rstrip() for text in alike([least, most]))
    times = f", {measured(most / least)} times as much" if least > 0 else ""
    yield (f"Least {measure.label}: {small}, with {where(least)}. Most: {large}, with "
           f"{where(most)}{times}.")


def _compare(table: Table, words: dict[str, str]) -> Iterator[str]:
    """The ratio of two levels of a factor, over all levels of the others."""
    e = table.experiment
    measure, factor = e.measure(words["measure"]), e.factor(words["factor"])
    place = e.factors.index(factor)
    only = dict([words["only"].split("=", 1)]) if words["only"] else {}

    def by_others(level: str) -> dict[tuple[str, ...], float]:
        return {row.levels[:place] + row.levels[place + 1:]: value
                for row, value in table.select(measure.name, {factor.name: level, **only})}

    before, after = by_others(words["from"]), by_others(words["to"])
    ratios = [after[k] / before[k] for k in before if after.get(k, 0) > 0 and before[k] > 0]
    if not ratios:
        return
    where = "".join(f", with {e.factor(name).label} {level}," for name, level in only.items())
    yield (f"{_capital(factor.label)} {words['to']} instead of {words['from']}{where} "
           f"{_changes(geometric_mean(ratios), ratios, measure.label)}.")


def _changes(mean: float, ratios: list[float], label: str) -> str:
    """What a step does to a measure; all ratios in one unit, and of how many pairs they are."""
    place, unit = (1, "times") if mean >= 1 else (100, "%")
    if abs(mean - 1) < 0.005:
        place, unit, verb = 100, "%", f"hardly changes {label}"
    elif mean > 1:
        verb = f"makes {label} {measured(mean)} times as large"
    else:
        verb = f"leaves {measured(100 * mean)} % of {label}"
    if len(ratios) == 1:
        return f"{verb} (one pair of runs)"
    least, most = measured(place * min(ratios)), measured(place * max(ratios))
    return f"{verb} in the mean of {len(ratios)} pairs of runs ({least} to {most} {unit})"


def _between(table: Table, words: dict[str, str]) -> Iterator[str]:
    """What each of the factors adds on the way from one combination to another."""
    e = table.experiment
    measure = e.measure(words["measure"])
    found = way(table, words)
    if not found:
        return
    changed = {s.factor.name for s in found.steps}
    rest = _levels_of({name: level for name, level in found.before.items()
                       if name not in changed}, e)
    where = f" ({rest})" if rest else ""
    yield (f"{_capital(measure.label)} {'grows' if found.last > found.first else 'falls'} from "
           f"{with_unit(found.first, measure)} to {with_unit(found.last, measure)}{where}. "
           f"{_who_does_it(found, measure)}")


def _who_does_it(found: Way, measure: Measure) -> str:
    """What of a way makes the difference: one step alone, or several only together."""
    def name(s: Step) -> str:
        return (f"{s.factor.label} {found.after[s.factor.name]} instead of "
                f"{found.before[s.factor.name]}")

    def alone(s: Step) -> str:
        return f"{name(s)} ({with_unit(s.alone, measure)})"

    enough = found.enough
    others = [s for s in found.steps if s not in enough]
    if len(enough) == 1:
        text = f"{_capital(alone(enough[0]))} does that alone."
    elif all(abs(s.alone_share) < _HELPS for s in enough):
        helps = "changes much" if found.last < found.first else "helps"
        if len(enough) == 2:
            text = f"Neither {alone(enough[0])} nor {alone(enough[1])} {helps} alone; both do"
        else:
            text = f"None of {listed([alone(s) for s in enough])} {helps} alone; all together do"
        text += f" ({with_unit(found.together, measure)})."
    else:
        each = listed([f"{name(s)} gives {with_unit(s.alone, measure)}" for s in enough])
        text = f"Alone, {each}; together they give {with_unit(found.together, measure)}."
    if others:
        makes, adds = ("makes", "adds") if len(others) == 1 else ("make", "add")
        same = math.isclose(found.together, found.last, rel_tol=0.01)
        text += (f" {_capital(listed([name(s) for s in others]))} "
                 f"{f'{makes} no difference' if same else f'{adds} the rest'}.")
    return text


def _levels_of(levels: dict[str, str], e: Experiment) -> str:
    return ", ".join(f"{e.factor(name).label} {level}" for name, level in levels.items())


def _limit(table: Table, words: dict[str, str]) -> Iterator[str]:
    """Up to which level of a factor a measure stays near that of the first level."""
    e = table.experiment
    measure, factor = e.measure(words["measure"]), e.factor(words["factor"])
    share = quantity(words["share"])
    assert share is not None
    place = e.factors.index(factor)
    curves: dict[tuple[str, ...], list[tuple[str, float]]] = {}
    for row, value in table.select(measure.name, {}):
        others = row.levels[:place] + row.levels[place + 1:]
        curves.setdefault(others, []).append((row.levels[place], value))
    what = words["what"] or factor.label
    for others, curve in curves.items():
        name = f"{', '.join(others)}: " if others else ""
        good = 1
        while good < len(curve) and curve[good][1] >= share * curve[0][1]:
            good += 1
        if good == len(curve):
            yield (f"{name}{measure.label} stays above {number(100 * share)} % up to the last "
                   f"of {curve[-1][0]} {what}.")
            continue
        (level, value), (next_level, next_value) = curve[good - 1], curve[good]
        up_to = "up to " if good > 1 else ""
        yield (f"{name}{with_unit(value, measure)} with {up_to}{level}, "
               f"{with_unit(next_value, measure)} with {next_level} {what}.")


def _choose(table: Table, words: dict[str, str]) -> Iterator[str]:
    """The level that comes out best, what is best for each work, and what the others cost."""
    e = table.experiment
    factor = e.factor(words["factor"])
    found = choose(table, words)
    if not found:
        return
    known = words["wear"] if len(found.unsteady) < len(cells(table, factor.name,
                                                             e.measure(words["measure"]))) else ""
    labels = [e.measure(name).label for name in (words["measure"], known) if name]
    first = factor.given(found.level).get("say", f"Choose {found.level}")
    others = [level for level in found.equal if level != found.level]
    if len(found.equal) == len(factor.levels):
        yield (f"The {factor.label} does not matter here: no difference of {listed(labels)} "
               f"counts. {first}.")
    else:
        yield f"{first}. {_where_worst(found, words, table)}.{_against(table, words, found)}"
        if others:
            yield f"As good, because no difference counts: {'; '.join(others)}."
    yield from _for_each(found)
    yield _what_counts(table, words, found)
    if found.unsteady:
        yield _not_steady(e.measure(words["wear"]).label, found)
    for level in factor.levels:
        if level not in found.equal:
            parts = listed([cost.words() for cost in costs(table, words, found, level)])
            yield f"{_capital(level)}, compared with the choice: {parts}."


def _against(table: Table, words: dict[str, str], found: Choice) -> str:
    """What the level that the statement names costs, such as "Sector 63 costs up to 38 % of the
    rate (video).", or ""."""
    level = words["against"]
    if not level or level in found.equal:
        return ""
    name = table.experiment.factor(words["factor"]).given(level).get("noun", level)
    cost = next((c for c in costs(table, words, found, level)
                 if c.measure.name == words["measure"]), None)
    if not cost or cost.least >= 1 or cost.measure.better == "less":
        return ""
    upto = "up to " if cost.most > cost.least * 1.02 else ""
    return (f" {_capital(name)} costs {upto}{percent(1 - cost.least)} of the {cost.measure.label} "
            f"({cost.least_at}).")


def _where_worst(found: Choice, words: dict[str, str], table: Table) -> str:
    share, at = found.share
    label = table.experiment.factor(words["factor"]).label
    if share == 1:
        return f"No other {label} is better by a difference that counts"
    measure = table.experiment.measure(words["measure"]).label
    return f"This {label} is weakest with {at}: {percent(share)} of the best {measure}"


def _for_each(found: Choice) -> Iterator[str]:
    """What is best for which work."""
    same = [b.group for b in found.best if b.worst[1] == 1]
    for b in found.best:
        if b.group not in same:
            level, share = b.worst
            more = f" Perhaps as good: {_first(b.perhaps)}." if b.perhaps else ""
            yield (f"Best for {b.group}: {_first(b.levels)}.{more} Worst: {level}, with "
                   f"{percent(share)} of the best.")
    if same:
        yield f"No difference counts for {listed(same)}."


def _first(levels: tuple[str, ...]) -> str:
    """The levels, or the first ones of many, as a sentence names them."""
    more = len(levels) - _NAMED
    return "; ".join(levels) if more < 2 else \
        f"{'; '.join(levels[:_NAMED])}; and {more} more"


def _what_counts(table: Table, words: dict[str, str], found: Choice) -> str:
    """Such as "A difference counts from 2 % on, and with exfat from 13.2 % on: ..."."""
    factor, least = table.experiment.factor(words["factor"]), least_margin(words) - 1
    text = f"A difference counts from {number(100 * (quantity(words['threshold']) or 0))} % on"
    by_name: dict[str, list[str]] = {}
    for level, may in found.counts.items():
        if may > least:
            names = by_name.setdefault(in_percent(may), [])
            name = factor.given(level).get("filesystem", level)
            names += [name] if name not in names else []
    if not by_name:
        return f"{text}: that is what the model can tell."
    parts = [f"with {listed(names)} {may}" for may, names in by_name.items()]
    return (f"{text}; {listed(parts)}. So much have replays differed from a kernel, and of two "
            "that are compared both count.")


def _not_steady(label: str, found: Choice) -> str:
    return (f"The device is not in a steady state with {listed(list(found.unsteady))}: it has "
            "blocks that nobody has written yet, and erases less than half of what it programs. "
            f"Its {label} grows later, so wear does not decide there.")


def _published(table: Table, words: dict[str, str]) -> Iterator[str]:
    """Published values of the levels, each of which has something that the runs do not have.

    It is the same for all levels: what the least published value leaves when `times` the value of
    its run is taken away.
    """
    e = table.experiment
    measure, factor = e.measure(words["measure"]), e.factor(words["factor"])
    only = dict([words["only"].split("=", 1)]) if words["only"] else {}
    pairs = (word.strip().split("=") for word in words["published"].split(","))
    told = {level: quantity(value) or 0 for level, value in pairs}
    rows: dict[str, list[float]] = {level: [] for level in told}
    for row, value in table.select(measure.name, only):
        rows.setdefault(row.levels[e.factors.index(factor)], []).append(value)
    if not all(rows[level] for level in told):
        return
    times = quantity(words["times"]) or 1
    found = {level: times * sum(rows[level]) / len(rows[level]) for level in told}
    least = min(told, key=lambda level: told[level])
    rest = told[least] - found[least]
    orders = [sorted(told, key=lambda level: -values[level]) for values in (found, told)]
    order = (f"the order is as published: {listed(orders[0])}" if orders[0] == orders[1] else
             f"the order is {listed(orders[0])}, and published is {listed(orders[1])}")
    parts = []
    for level in orders[1]:
        value = found[level] + rest
        if level != least:
            parts.append(f"{level} {with_unit(value, measure)} instead of "
                         f"{with_unit(told[level], measure)} "
                         f"({100 * (value / told[level] - 1):+.0f} %)")
    where = "".join(f"{e.factor(name).label} {level}: " for name, level in only.items())
    yield (f"{where}{order}. {least} leaves {with_unit(rest, measure)} of its "
           f"{with_unit(told[least], measure)} for {words['rest']}. With as much for the others "
           f"there are {listed(parts)}.")


def _theory(table: Table, words: dict[str, str]) -> Iterator[str]:
    e = table.experiment
    errors = []
    for row, value in table.select(e.law_measure, {}):
        if row.theory:
            errors.append((value / row.theory - 1, row))
    if not errors:
        return
    worst, row = max(errors, key=lambda pair: abs(pair[0]))
    mean = sum(abs(error) for error, _ in errors) / len(errors)
    label = e.measure(e.law_measure).label
    yield (f"Where there is a theory ({len(errors)} runs), {label} differs from the theory by "
           f"{number(100 * mean)} % in the mean and by at most {number(abs(100 * worst))} % "
           f"({_levels(row, e)}).")


def _text(table: Table, words: dict[str, str]) -> Iterator[str]:
    yield words["text"]


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


_SAYINGS: dict[str, Callable[[Table, dict[str, str]], Iterator[str]]] = {
    "effects": _effects, "extremes": _extremes, "compare": _compare, "limit": _limit,
    "choose": _choose, "between": _between, "published": _published, "theory": _theory,
    "text": _text,
}
