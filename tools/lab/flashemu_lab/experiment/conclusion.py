# SPDX-License-Identifier: BSD-3-Clause
"""Sentences that are computed from a table.

An experiment lists what it wants to say in [[conclusion]]; without any, it says which factor
matters how much, and which runs are the best and the worst.

`_SAYINGS` has each kind of statement: its sentences, and the claims behind them, which are counted
over the sets of an ensemble.  Both begin with the same finding, so they cannot contradict each
other.  The members of each kind are in spec.STATEMENTS.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from statistics import geometric_mean
from typing import Callable, Iterator

from ..core.text import counted, listed
from ..core.units import alike, measured, number, quantity
from ..recording.recipes import spelled
from .ensemble.agreement import Agreement, Claim, agreement, split
from .choice import Choice, cells, choose, costs, least_margin, percent
from .ensemble.decision import Decision, decide, decisive, weighty
from .effects import Effect, analyse
from .nouns import agreeing, called, combination, instead, noun, nouns, several, the
from .ratio_words import SAME, step
from .replay_accuracy import in_percent
from .spec import Experiment, Factor, Measure, Statement
from .step_path import NEARLY_ALL, Step, Way, way
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


def _with_units(values: list[float], measure: Measure) -> list[str]:
    """Values of one sentence, which have one number of digits."""
    return [with_unit(v, measure) for v in values] if measure.unit else alike(values)


def _statements(e: Experiment) -> tuple[Statement, ...]:
    """What is to be said: what the file asks for, or the usual sentences."""
    return e.statements or tuple(
        Statement(say, {"measure": m.name}) for m in e.measures for say in ("extremes", "effects"))


def agreements(table: Table) -> list[Agreement]:
    """In which sets of an ensemble each claim holds; none without an ensemble."""
    base, *others = split(table)
    return agreement([base, *others], [partial(claims, s) for s in _statements(base.experiment)]) \
        if others else []


def claims(statement: Statement, table: Table) -> Iterator[Claim]:
    """What a statement claims about a table without an ensemble."""
    return _SAYINGS[statement.say].claims(table, statement.words)


def decisions(table: Table) -> list[Decision]:
    """Which measurement would decide, for each claim that some sets contradict."""
    found = (decide(a, table.evidence.trials) for a in agreements(table))
    return [d for d in found if d]


def conclusion(table: Table) -> list[str]:
    """The sentences, the most important one first."""
    found: list[str] = []
    base = split(table)[0]
    for statement in _statements(base.experiment):
        found += _SAYINGS[statement.say].sentences(base, statement.words)
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
            yield (f"{counted(len(errors), 'run')} went through a kernel as well. Of "
                   f"{the(measure.label)}, the replay is off by {_mean_and_most(errors, table)}.")


def _mean_and_most(errors: list[tuple[float, Row]], table: Table) -> str:
    """Shares by which runs are off, such as "20 % in the mean and by at most 50 % (fat, big)"."""
    worst, row = max(errors, key=lambda pair: abs(pair[0]))
    mean = sum(abs(error) for error, _ in errors) / len(errors)
    if worst == 0:
        return "0 %"
    where = ", ".join(combination(table.experiment, row.levels))
    most = f"{number(abs(100 * worst))} %" + (f" ({where})" if where else "")
    return most if len(errors) == 1 else f"{number(100 * mean)} % in the mean and by at most {most}"


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
    if len([f for f in e.factors if len(f.levels) > 1]) == 1 and found:
        return  # there is nothing else that could matter
    if len(found) == 1 and found[0].share > 0.995:
        names = [the(e.factors[i].label) for i in found[0].factors]
        makes = "makes" if len(names) == 1 else "make"
        together = "" if len(names) == 1 else " together"
        yield f"Only {listed(names)}{together} {makes} a difference to {the(measure.label)}."
    elif found:
        parts = [f"{100 * x.share:.0f} % {'from' if i else 'come from'} {_source(x, e)}"
                 for i, x in enumerate(found)]
        yield (f"Of the differences in {the(measure.label)} between the runs, {listed(parts)}.")
    elif len(table.rows) > 1 and not table.failures:
        values = {row.values.get(measure.name) for row in table.rows}
        yield (f"{_capital(agreeing(measure, 'is'))} the same in all runs." if len(values) == 1
               else f"Which factor decides about {the(measure.label)} is not computed: not every "
               "run has a value" + (" above 0." if measure.log else "."))


def _source(effect: Effect, e: Experiment) -> str:
    """Such as "the filesystem" and "how the filesystem and the writes act together"."""
    names = listed([the(e.factors[i].label) for i in effect.factors])
    return names if len(effect.factors) == 1 else f"how {names} act together"


def _extremes(table: Table, words: dict[str, str]) -> Iterator[str]:
    e = table.experiment
    measure = e.measure(words["measure"])
    rows = sorted(table.select(measure.name, {}), key=lambda pair: pair[1])
    if len(rows) < 2 or rows[0][1] == rows[-1][1]:
        return
    least, most = rows[0][1], rows[-1][1]
    small, large = _with_units([least, most], measure)
    if small == large:
        yield f"{_capital(agreeing(measure, 'is'))} nearly the same in all runs: {small}."
        return

    def where(value: float) -> str:
        equal = [row for row, other in rows if math.isclose(other, value, rel_tol=1e-9)]
        more = f", and equally in {counted(len(equal) - 1, 'other run')}" if len(equal) > 1 else ""
        return f"{listed(combination(e, equal[0].levels))}{more}"

    times = f", {measured(most / least)} times as much" if least > 0 else ""
    they = "They are" if several(measure.label) else "It is"
    yield (f"{_capital(agreeing(measure, 'is'))} lowest with {where(least)}: {small}. {they} "
           f"highest with {where(most)}: {large}{times}.")


def _extreme_claims(table: Table, words: dict[str, str]) -> Iterator[Claim]:
    e = table.experiment
    rows = table.select(words["measure"], {})
    for word, best in (("lowest", min), ("highest", max)) if rows else ():
        row, _ = best(rows, key=lambda pair: pair[1])
        yield Claim(f"{agreeing(e.measure(words['measure']), 'is')} {word} with "
                    f"{listed(combination(e, row.levels))}")


def _only(words: dict[str, str]) -> dict[str, str]:
    """The factor and its level of which alone a statement speaks."""
    return dict([words["only"].split("=", 1)]) if words["only"] else {}


def _ratios(table: Table, words: dict[str, str]) -> list[float]:
    """Of two levels of a factor, over all levels of the others where both have values above 0."""
    e = table.experiment
    place = e.factors.index(e.factor(words["factor"]))

    def by_others(level: str) -> dict[tuple[str, ...], float]:
        return {row.levels[:place] + row.levels[place + 1:]: value
                for row, value in table.select(words["measure"],
                                               {words["factor"]: level, **_only(words)})}

    before, after = by_others(words["from"]), by_others(words["to"])
    return [after[k] / before[k] for k in before if after.get(k, 0) > 0 and before[k] > 0]


def _step(table: Table, words: dict[str, str]) -> str:
    """What is compared, such as "start 63 instead of 1M"."""
    return instead(table.experiment.factor(words["factor"]), words["to"], words["from"])


def _compare(table: Table, words: dict[str, str]) -> Iterator[str]:
    e, ratios = table.experiment, _ratios(table, words)
    if ratios:
        where = "".join(f"with {name}, " for name in nouns(e, _only(words)))
        yield _capital(f"{where}{_step(table, words)} "
                       f"{step(ratios, e.measure(words['measure']))}.")


def _compare_claims(table: Table, words: dict[str, str]) -> Iterator[Claim]:
    e, ratios = table.experiment, _ratios(table, words)
    if ratios:
        mean = geometric_mean(ratios)
        does = "hardly changes" if abs(mean - 1) < SAME else "raises" if mean > 1 else "lowers"
        where = "".join(f" with {name}" for name in nouns(e, _only(words)))
        yield Claim(f"{_step(table, words)} {does} {the(e.measure(words['measure']).label)}{where}",
                    mean)


def _between(table: Table, words: dict[str, str]) -> Iterator[str]:
    """What each of the factors adds on the way from one combination to another."""
    e = table.experiment
    measure = e.measure(words["measure"])
    found = way(table, words)
    if not found:
        return
    changed = {s.factor.name for s in found.steps}
    same = nouns(e, {name: level for name, level in found.before.items() if name not in changed})
    where = f", with {listed(same)}" if same else ""
    verb = "raise" if found.last > found.first else "lower"
    steps = [s.factor for s in found.steps]
    values = [found.first, found.last, found.together, *(s.alone for s in found.steps)]
    first, last, *told = _with_units(values, measure)
    if len(steps) == 1:
        levels = (found.after[steps[0].name], found.before[steps[0].name])
        yield (f"{_capital(instead(steps[0], *levels))} {verb}s {the(measure.label)} from {first} "
               f"to {last}{where}.")
        return
    after, before = (listed(nouns(e, {name: levels[name] for name in changed}))
                     for levels in (found.after, found.before))
    yield (f"{_capital(after)}, instead of {before}, {verb} {the(measure.label)} from {first} to "
           f"{last}{where}. {_who_does_it(found, measure, told)}")


def _between_claims(table: Table, words: dict[str, str]) -> Iterator[Claim]:
    found = way(table, words)
    if found:
        yield Claim(f"{the(found.steps[0].factor.label)} has the largest part in the change of "
                    f"{the(table.experiment.measure(words['measure']).label)}")


def _who_does_it(found: Way, measure: Measure, told: list[str]) -> str:
    """What of a way makes the difference: one step alone, each of several alone, or several only
    together; `told` is what the enough ones give together and what each step gives alone."""
    value = {s.factor.name: text for s, text in zip(found.steps, told[1:])}

    def name(s: Step) -> str:
        return noun(s.factor, found.after[s.factor.name])

    def alone(s: Step) -> str:
        return f"{name(s)} ({value[s.factor.name]})"

    enough, together = found.enough, told[0]
    beyond = (found.together - found.last) * (found.last - found.first) > 0
    as_well = [s for s in found.steps
               if s not in enough and len(enough) == 1 and s.alone_share >= NEARLY_ALL]
    same = math.isclose(found.together, found.last, rel_tol=0.01)
    if as_well:
        either = "Either" if len(as_well) == 1 else "Any"
        text = f"{either} of {listed([alone(s) for s in (*enough, *as_well)])} does that alone."
    elif len(enough) == 1:
        does = "more than that" if beyond and not same else "that"
        text = f"{_capital(alone(enough[0]))} does {does} alone."
    elif all(abs(s.alone_share) < _HELPS for s in enough):
        who = (f"Neither {alone(enough[0])} nor {alone(enough[1])}" if len(enough) == 2 else
               f"None of {listed([alone(s) for s in enough])}")
        all_of = "both" if len(enough) == 2 else "all of them"
        text = f"{who} {_helps(found, measure)} alone; {all_of} together do ({together})."
    else:
        each = listed([f"{name(s)} gives {value[s.factor.name]}" for s in enough])
        text = f"Alone, {each}; together they give {together}."
    others = [s for s in found.steps if s not in enough and s not in as_well]
    if others:
        ending = "s" if len(others) == 1 else ""
        text += f" {_capital(listed([name(s) for s in others]))} " + (
            f"change{ending} nothing more." if same else
            f"take{ending} some of it back." if beyond else
            f"make{ending} the remaining difference.")
    return text


def _helps(found: Way, measure: Measure) -> str:
    """What a step on the way does, if it does something: whether more or less is better."""
    if not measure.better:
        return "changes much"
    return "helps" if (found.last > found.first) == (measure.better == "more") else "costs much"


# The levels of the other factors, those of a factor with their values, and how many of these are
# near the first one.
_Curve = tuple[tuple[str, ...], list[tuple[str, float]], int]


def _curves(table: Table, words: dict[str, str]) -> Iterator[_Curve]:
    """How a measure goes on with a factor, for each combination of the others."""
    e = table.experiment
    place, share = e.factors.index(e.factor(words["factor"])), quantity(words["share"])
    assert share is not None
    curves: dict[tuple[str, ...], list[tuple[str, float]]] = {}
    for row, value in table.select(words["measure"], {}):
        others = row.levels[:place] + row.levels[place + 1:]
        curves.setdefault(others, []).append((row.levels[place], value))
    for others, curve in curves.items():
        good = 1
        while good < len(curve) and curve[good][1] >= share * curve[0][1]:
            good += 1
        yield others, curve, good


def _kept(words: dict[str, str]) -> str:
    return f"{number(100 * (quantity(words['share']) or 0))} % of the first value"


def _level(table: Table, words: dict[str, str], level: str) -> str:
    """A level of a limit, with what it counts."""
    return f"{level} {words['what']}" if words["what"] else \
        noun(table.experiment.factor(words["factor"]), level)


def _limit_claims(table: Table, words: dict[str, str]) -> Iterator[Claim]:
    keeps = f"{agreeing(table.experiment.measure(words['measure']), 'keeps')} {_kept(words)}"
    for others, curve, good in _curves(table, words):
        where = f" with {', '.join(others)}" if others else ""
        yield Claim(f"{keeps} up to {_level(table, words, curve[good - 1][0])}{where}")


def _limit(table: Table, words: dict[str, str]) -> Iterator[str]:
    """Up to which level of a factor a measure stays near that of the first level."""
    e = table.experiment
    measure, factor = e.measure(words["measure"]), e.factor(words["factor"])
    name, kept = partial(_level, table, words), _kept(words)
    for others, curve, good in _curves(table, words):
        rest = [noun(f, level) for f, level in
                zip((f for f in e.factors if f != factor), others) if len(f.levels) > 1]
        where = f"with {listed(rest)}, " if rest else ""
        (last, value), following = curve[good - 1], curve[good:]
        if good == 1 and following:
            text = (f"{agreeing(measure, 'falls')} below {kept} at once, from "
                    f"{with_unit(value, measure)} with {name(last)} to ")
        else:
            end = "" if following else "the last one, "
            text = (f"{agreeing(measure, 'keeps')} {kept} up to {end}{name(last)} "
                    f"({with_unit(value, measure)})" + (", and no longer: " if following else ""))
        if following:
            level, value = following[0]
            text += f"{with_unit(value, measure)} with {name(level)}"
        yield f"{_capital(where + text)}."


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
    first = factor.given(found.level).get("say", f"Choose {called(factor, found.level)}")
    others = [called(factor, level) for level in found.equal if level != found.level]
    if len(found.equal) == len(factor.levels):
        yield (f"{_capital(the(factor.label))} does not matter here: no difference in "
               f"{listed([the(label) for label in labels], 'or')} counts. {first}.")
    else:
        yield f"{first}. {_where_worst(found, words, table)}.{_against(table, words, found)}"
        if others:
            yield ("Just as good, because the differences are too small to count: "
                   f"{_first(tuple(others))}.")
    yield from _for_each(found, factor)
    yield _what_counts(table, words, found)
    if found.unsteady:
        yield _not_steady(e.measure(words["wear"]).label, found)
    for level in factor.levels:
        if level not in found.equal:
            parts = listed([cost.words() for cost in costs(table, words, found, level)])
            yield f"{_capital(called(factor, level))} instead gives {parts}."


def _choose_claims(table: Table, words: dict[str, str]) -> Iterator[Claim]:
    """No choice is better than any of those that are equal, of which the conclusion names one."""
    found = choose(table, words)
    for level in found.equal if found else ():
        yield Claim(f"no choice is better than "
                    f"{called(table.experiment.factor(words['factor']), level)}",
                    stated=found is not None and level == found.level)


def _against(table: Table, words: dict[str, str], found: Choice) -> str:
    """What the level that the statement names costs, such as "Sector 63 costs up to 38 % of the
    rate (video).", or ""."""
    level = words["against"]
    if not level or level in found.equal:
        return ""
    name = called(table.experiment.factor(words["factor"]), level)
    cost = next((c for c in costs(table, words, found, level)
                 if c.measure.name == words["measure"]), None)
    if not cost or cost.least >= 1 or cost.measure.better == "less":
        return ""
    upto = "up to " if cost.most > cost.least * 1.02 else ""
    return (f" {_capital(name)} costs {upto}{percent(1 - cost.least)} of "
            f"{the(cost.measure.label)} ({cost.least_at}).")


def _where_worst(found: Choice, words: dict[str, str], table: Table) -> str:
    share, at = found.share
    if share == 1:
        label = table.experiment.factor(words["factor"]).label
        return f"No other {label} is better by a difference that counts"
    measure = table.experiment.measure(words["measure"])
    if measure.better == "less":
        return f"It is weakest with {at}: {measured(1 / share)} times the least {measure.label}"
    return f"It is weakest with {at}: {percent(share)} of the best {measure.label}"


def _for_each(found: Choice, factor: Factor) -> Iterator[str]:
    """What is best for which work; of several that are equal none is called the best."""
    same = [b.group for b in found.best if b.worst[1] == 1]
    for b in found.best:
        if b.group not in same:
            best, perhaps = (tuple(called(factor, level) for level in levels)
                             for levels in (b.levels, b.perhaps))
            level, share = b.worst
            text = f"{'Best' if len(best + perhaps) == 1 else 'Good'} for {b.group}: {_first(best)}"
            if perhaps:
                text += f"; perhaps as good: {_first(perhaps)}"
            yield (f"{text}. Worst: {called(factor, level)}, with {percent(share)} of the best.")
    if same:
        yield f"No difference counts for {listed(same)}."


def _first(levels: tuple[str, ...]) -> str:
    """The levels, or the first ones of many, as a sentence names them."""
    more = len(levels) - _NAMED
    return "; ".join(levels) if more < 2 else \
        f"{'; '.join(levels[:_NAMED])}; and {more} more"


def _what_counts(table: Table, words: dict[str, str], found: Choice) -> str:
    """Such as "A difference counts from 2 % on, with exFAT from 13.2 % on: ..."."""
    factor, least = table.experiment.factor(words["factor"]), least_margin(words) - 1
    text = f"A difference counts from {number(100 * (quantity(words['threshold']) or 0))} % on"
    by_name: dict[str, list[str]] = {}
    for level, may in found.counts.items():
        if may > least:
            names = by_name.setdefault(in_percent(may), [])
            given = factor.given(level).get("filesystem", "")
            name = spelled(given) if given else called(factor, level)
            names += [name] if name not in names else []
    if not by_name:
        return f"{text}: the model cannot tell smaller ones."
    parts = [f"with {listed(names)} from {may}" for may, names in by_name.items()]
    return (f"{text}, {listed(parts)}: by so much, replays have differed from a kernel. Of two "
            "that are compared, both count.")


def _not_steady(label: str, found: Choice) -> str:
    return (f"With {listed(list(found.unsteady))}, the device is not in a steady state: it has "
            "blocks that nobody has written yet, and erases less than half of what it programs. "
            f"{_capital(the(label))} will grow, so wear does not decide there.")


def _published(table: Table, words: dict[str, str]) -> Iterator[str]:
    """Published values of the levels, each of which has something that the runs do not have.

    It is the same for all levels: what the least published value leaves when `times` the value of
    its run is taken away.
    """
    e = table.experiment
    measure, factor = e.measure(words["measure"]), e.factor(words["factor"])
    only = _only(words)
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
    names = [[called(factor, level) for level in order] for order in orders]
    order = (f"the order is as published: {listed(names[0])}" if orders[0] == orders[1] else
             f"the order is {listed(names[0])}, but {listed(names[1])} was published")
    parts = []
    for level in orders[1]:
        value = found[level] + rest
        if level != least:
            ours, theirs = alike([value, told[level]])
            unit = f" {measure.unit}" if measure.unit else ""
            parts.append(f"{called(factor, level)} has {ours} where {theirs}{unit} was published "
                         f"({100 * (value / told[level] - 1):+.0f} %)")
    where = "".join(f"with {name}, " for name in nouns(e, only))
    yield _capital(f"{where}{order}. {_capital(called(factor, least))} leaves "
                   f"{with_unit(rest, measure)} of its {with_unit(told[least], measure)} for "
                   f"{words['rest']}. With as much for the others, {listed(parts)}.")


def _theory(table: Table, words: dict[str, str]) -> Iterator[str]:
    e = table.experiment
    errors = []
    for row, value in table.select(e.law_measure, {}):
        if row.theory:
            errors.append((value / row.theory - 1, row))
    if not errors:
        return
    yield (f"{_capital(the(e.measure(e.law_measure).label))} can be compared with a theory in "
           f"{counted(len(errors), 'run')}, and is off by {_mean_and_most(errors, table)}.")


def _text(table: Table, words: dict[str, str]) -> Iterator[str]:
    yield words["text"]


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _no_claims(table: Table, words: dict[str, str]) -> Iterator[Claim]:
    """Of what is not counted over an ensemble."""
    yield from ()


@dataclass(frozen=True)
class _Saying:
    """A kind of statement: what it says about a table, and what it claims by that."""

    sentences: Callable[[Table, dict[str, str]], Iterator[str]]
    claims: Callable[[Table, dict[str, str]], Iterator[Claim]] = _no_claims


_SAYINGS = {
    "effects": _Saying(_effects), "extremes": _Saying(_extremes, _extreme_claims),
    "compare": _Saying(_compare, _compare_claims), "limit": _Saying(_limit, _limit_claims),
    "choose": _Saying(_choose, _choose_claims), "between": _Saying(_between, _between_claims),
    "published": _Saying(_published), "theory": _Saying(_theory), "text": _Saying(_text)}
