#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Effects against factorials worked out by hand and against statsmodels; theory against the
published table."""

import itertools
import random
import re

import flashemu_lab_bench  # noqa: F401  (the path of the lab)
from flashemu_script import run

from flashemu_lab.report.charts import share_chart
from flashemu_lab.experiment.conclusion import conclusion
from flashemu_lab.experiment.effects import analyse, contributions
from flashemu_lab.runs.expression import parse_profile
from flashemu_lab.experiment.spec import parse
from flashemu_lab.experiment.table import Row, Table
from flashemu_lab.experiment.theory import d_choices, fifo, greedy, predict


def near(a, b, tolerance=1e-9):
    assert abs(a - b) <= tolerance * max(1, abs(b)), (a, b)


def by_factors(values, sizes):
    return {e.factors: e for e in analyse(values, sizes)}


def test_two_factors_with_two_levels():
    # Memory size and cache size of a workstation (Jain 1991, chapter 17): q0 = 40, qA = 20,
    # qB = 10, qAB = 5, so the sums of squares are 1600, 400, 100.
    found = by_factors([15, 25, 45, 75], [2, 2])
    assert found[(0,)].values.tolist() == [-20, 20]
    assert found[(1,)].values.tolist() == [-10, 10]
    assert found[(0, 1)].values.tolist() == [[5, -5], [-5, 5]]
    near(found[(0,)].share, 1600 / 2100)
    near(found[(1,)].share, 400 / 2100)
    near(found[(0, 1)].share, 100 / 2100)
    assert [e.factors for e in analyse([15, 25, 45, 75], [2, 2])] == [(0,), (1,), (0, 1)]


def test_levels_of_different_numbers():
    # rows 2 and 6, columns 2, 3 and 7, mean 4: 24 + 28 of 64, and 12 are left
    found = by_factors([1, 2, 3, 3, 4, 11], [2, 3])
    assert found[(0,)].values.tolist() == [-2, 2]
    assert found[(1,)].values.tolist() == [-2, -1, 3]
    assert found[(0, 1)].values.tolist() == [[1, 1, -2], [-1, -1, 2]]
    near(found[(0,)].share, 24 / 64)
    near(found[(1,)].share, 28 / 64)
    near(found[(0, 1)].share, 12 / 64)


def test_three_factors():
    # y = a + 2 b + 4 c + 8 a c with levels -1 and 1: squares 1, 4, 16 and 64 of 85
    values = [a + 2 * b + 4 * c + 8 * a * c for a, b, c in itertools.product((-1, 1), repeat=3)]
    found = by_factors(values, [2, 2, 2])
    for factors, square in (((0,), 1), ((1,), 4), ((2,), 16), ((0, 2), 64), ((0, 1), 0),
                            ((1, 2), 0), ((0, 1, 2), 0)):
        near(found[factors].share, square / 85)


def test_what_does_not_vary():
    assert analyse([3, 3, 3, 3], [2, 2]) == []
    assert analyse([7], [1]) == [] and analyse([7], []) == []
    assert analyse([0.1] * 6, [2, 3]) == []
    assert set(by_factors([1, 2], [1, 2])) == {(1,)}


def test_shares_add_up():
    draw = random.Random(3)
    for sizes in ([4], [2, 3], [3, 2, 4], [2, 2, 2, 3]):
        count = 1
        for size in sizes:
            count *= size
        found = analyse([draw.gauss(0, 1) for _ in range(count)], sizes)
        near(sum(e.share for e in found), 1)
        assert len(found) == 2 ** len(sizes) - 1
        for e in found:
            assert list(e.values.shape) == [sizes[i] for i in e.factors]
            for axis in range(e.values.ndim):
                assert abs(e.values.sum(axis=axis)).max() < 1e-9


def statsmodels_table(values, sizes, kind):
    """ANOVA of this type with all interactions except the highest: {factors: sum of squares};
    the highest interaction is the residual."""
    import pandas
    from statsmodels.formula.api import ols
    from statsmodels.stats.anova import anova_lm
    cells = itertools.product(*(range(s) for s in sizes))
    names = "PQRS"[:len(sizes)]
    frame = pandas.DataFrame([(*map(str, cell), v) for cell, v in zip(cells, values)],
                             columns=[*names, "y"])
    sets = [c for n in range(1, len(sizes)) for c in itertools.combinations(names, n)]
    # Type III is about terms that are orthogonal to each other, so the contrasts must be sums.
    formula = "y ~ " + " + ".join(":".join("C(%s, Sum)" % x for x in c) for c in sets)
    table = anova_lm(ols(formula, data=frame).fit(), typ=kind)
    found = {tuple(names.index(x) for x in c):
             table.loc[":".join("C(%s, Sum)" % x for x in c), "sum_sq"] for c in sets}
    found[tuple(range(len(sizes)))] = table.loc["Residual", "sum_sq"]
    return found


def test_statsmodels_says_the_same():
    """Random factorials with two to four factors of two to five levels; types I, II and III are
    the same for them, because every combination is there once."""
    try:
        import statsmodels  # noqa: F401
    except ImportError:
        print("no statsmodels: not compared")
        return
    draw = random.Random(5)
    for count in (2, 2, 2, 3, 3, 3, 4, 4):
        sizes = [draw.randint(2, 5 if count < 4 else 4) for _ in range(count)]
        if count == 4:
            sizes[draw.randrange(4)] = 5
        weights = [[draw.gauss(0, 3) for _ in range(s)] for s in sizes]
        values = []
        for cell in itertools.product(*(range(s) for s in sizes)):
            parts = [w[i] for w, i in zip(weights, cell)]
            values.append(100 + sum(parts) + parts[0] * parts[1] + draw.gauss(0, 1))
        mean = sum(values) / len(values)
        total = sum((v - mean) ** 2 for v in values)
        found = by_factors(values, sizes)
        for kind in (1, 2, 3):
            want = statsmodels_table(values, sizes, kind)
            assert set(want) == set(found), (sizes, kind)
            for factors, square in want.items():
                near(found[factors].share, square / total)


def test_statsmodels_has_the_same_terms():
    """With contrasts that are sums, the parameters of a model are the main effects and the
    interactions themselves."""
    try:
        import pandas
        from statsmodels.formula.api import ols
    except ImportError:
        print("no statsmodels: not compared")
        return
    draw = random.Random(6)
    for sizes in ([2, 2], [3, 5], [5, 4], [2, 5]):
        cells = list(itertools.product(*(range(s) for s in sizes)))
        values = [draw.gauss(a * 2 + a * b, 1) for a, b in cells]
        frame = pandas.DataFrame([(str(a), str(b), v) for (a, b), v in zip(cells, values)],
                                 columns=["A", "B", "y"])
        known = ols("y ~ C(A, Sum) * C(B, Sum)", data=frame).fit().params
        found = by_factors(values, sizes)
        for i in range(sizes[0] - 1):
            near(found[(0,)].values[i], known["C(A, Sum)[S.%d]" % i])
            for j in range(sizes[1] - 1):
                near(found[(1,)].values[j], known["C(B, Sum)[S.%d]" % j])
                near(found[(0, 1)].values[i, j], known["C(A, Sum)[S.%d]:C(B, Sum)[S.%d]" % (i, j)])


def test_contributions_by_hand():
    # A gives 4 alone and 2 behind B; B gives 6 alone and 4 behind A.
    values = {frozenset(): 1.0, frozenset({0}): 5.0, frozenset({1}): 7.0, frozenset({0, 1}): 9.0}
    assert contributions(values.__getitem__, 2) == [3.0, 5.0]
    assert contributions(lambda done: 2.0 * len(done), 1) == [2.0]


def test_contributions_are_the_mean_over_all_orders():
    draw = random.Random(5)
    sets = [frozenset(c) for n in range(5) for c in itertools.combinations(range(4), n)]
    values = {s: draw.random() for s in sets}
    want = [0.0] * 4
    orders = list(itertools.permutations(range(4)))
    for order in orders:
        for i, step in enumerate(order):
            done = frozenset(order[:i])
            want[step] += (values[done | {step}] - values[done]) / len(orders)
    got = contributions(values.__getitem__, 4)
    for a, b in zip(got, want):
        near(a, b)
    near(sum(got), values[sets[-1]] - values[sets[0]])


BETWEEN = """name = "x"
title = "X"
[factors]
fs = ["fat", "ext"]
start = ["63", "256"]
used = ["0", "1"]
[device]
profile = "ideal"
[workload]
requests = "{fs}{start}{used}"
[measure.rate]
value = "elapsed_ns"
unit = "MB/s"
[[conclusion]]
say = "between"
before = "fs=fat, start=63, used=1"
after = "fs=ext, start=256, used=1"
"""


def between(text, rates):
    e = parse(text, "x.toml")
    levels = itertools.product(*(f.levels for f in e.factors))
    return conclusion(Table(e, "", tuple(
        Row(one, "", "done", {"rate": rate}, None, "", "") for one, rate in zip(levels, rates))))


def test_what_is_between_two_combinations():
    # fs, start, used: the second of each pair has used=1
    rates = [99, 2, 99, 4, 99, 3, 99, 8]
    assert between(BETWEEN, rates) == [
        "Fs ext and start 256, instead of fs fat and start 63, raise the rate from 2.00 MB/s to 8.00 "
        "MB/s, with used 1. Alone, fs ext gives 3.00 MB/s and start 256 gives 4.00 MB/s; together "
        "they give 8.00 MB/s."]
    # alone 0.5 and 1.1 of 6: less than a fifth, each
    assert between(BETWEEN, [99, 2, 99, 2.5, 99, 3.1, 99, 8])[0].endswith(
        "with used 1. Neither fs ext (3.10 MB/s) nor start 256 (2.50 MB/s) changes much alone; both "
        "together do (8.00 MB/s).")
    assert between(BETWEEN, [99, 8, 99, 7.5, 99, 7, 99, 2])[0].endswith(
        "(7.50 MB/s) changes much alone; both together do (2.00 MB/s).")
    # one of them makes nine tenths, and the other one little or nothing
    for last, rest in ((8, "makes the remaining difference"), (7.5, "changes nothing more")):
        assert between(BETWEEN, [99, 2, 99, 7.5, 99, 2.1, 99, last])[0].endswith(
            f"with used 1. Start 256 (7.50 MB/s) does that alone. Fs ext {rest}.")
    # logarithms: 2 to 5 is two thirds of 2 to 8, and of the difference half
    log = BETWEEN.replace('unit = "MB/s"', 'unit = "MB/s"\nscale = "log"')
    assert "Neither" in between(log, [99, 1, 99, 1.3, 99, 1.3, 99, 8])[0]
    assert "Alone" in between(log, [99, 1, 99, 1.6, 99, 1.3, 99, 8])[0]  # 0.226 of ln 8
    assert between(BETWEEN, [99, 8, 99, 4, 99, 3, 99, 2])[0].startswith(
        "Fs ext and start 256, instead of fs fat and start 63, lower the rate from 8.00 MB/s to ")
    assert between(BETWEEN, [1, 2, 99, 4, 99, None, 99, 8]) == []
    assert between(BETWEEN, [1, 2, 99, 4, 99, 5, 99, 2]) == []


PUBLISHED = BETWEEN[:BETWEEN.index("[[conclusion]]")].replace('"MB/s"', '"s"') + """
[[conclusion]]
say = "published"
measure = "rate"
factor = "fs"
only = "used=1"
published = "fat=100, ext=10.5"
times = "2"
rest = "people"
"""


def test_published_values_have_a_rest_in_common():
    # fs, start, used: the mean of both starts counts; fat has 40 and ext 4, twice that is measured
    rates = [9, 30, 9, 50, 9, 3, 9, 5]
    assert between(PUBLISHED, rates) == [
        "With used 1, the order is as published: fat and ext. Ext leaves 2.50 s of its 10.5 s for "
        "people. With as much for the others, fat has 82.5 where 100 s was published (-18 %)."]
    assert between(PUBLISHED, [9, 3, 9, 5, 9, 30, 9, 50])[0].startswith(
        "With used 1, the order is ext and fat, but fat and ext was published. Ext leaves -69.5 s")
    assert between(PUBLISHED, [9, None, 9, None, 9, 3, 9, 5]) == []
    plain = PUBLISHED.replace('only = "used=1"\n', "").replace('times = "2"\n', "")
    assert between(plain, [100] * 4 + [10.5] * 4) == [
        "The order is as published: fat and ext. Ext leaves 0 s of its 10.5 s for people. With as "
        "much for the others, fat has 100 where 100 s was published (+0 %)."]


def test_what_decides_needs_a_value_everywhere():
    text = BETWEEN[:BETWEEN.index("[[conclusion]]")] + '[[conclusion]]\nsay = "effects"\n'
    assert between(text, [3] * 8) == ["The rate is the same in all runs."]
    unknown = ("Which factor decides about the rate is not computed: not every run has a value.")
    assert between(text, [3, 4, 5, None, 3, 3, 3, 3]) == [unknown]
    assert between(text.replace('"MB/s"', '"MB/s"\nscale = "log"'), [0, 1, 2, 3, 4, 5, 6, 7]) == [
        unknown.replace(".", " above 0.")]
    assert between(text, [1, 2] * 4) == ["Only the used makes a difference to the rate."]
    # used makes 8 and the start 4: 64 and 16 of 80
    assert between(text, [1, 9, 5, 13] * 2) == [
        "Of the differences in the rate between the runs, 80 % come from the used and 20 % from the "
        "start."]
    # of the only factor that is varied, everybody knows
    one = text.replace('["63", "256"]', '["63"]').replace('["0", "1"]', '["0"]')
    assert between(one, [1, 2]) == []
    # of two that are equal neither is the least
    least = text.replace('say = "effects"', 'say = "extremes"')
    assert between(least, [4, 9, 4, 8, 5, 8, 5, 9.5]) == [
        "The rate is lowest with fs fat, start 63 and used 0, and equally in 1 other run: 4.00 MB/s. "
        "It is highest with fs ext, start 256 and used 1: 9.50 MB/s, 2.38 times as much."]


def test_theory_of_write_amplification():
    # the columns: over-provisioning of 7, 10 and 28 %
    for law, rows in ((lambda a: fifo(a), (7.817, 5.677, 2.481)),
                      (lambda a: greedy(a, 64), (7.000, 5.241, 2.402)),
                      (lambda a: greedy(a, 128), (7.386, 5.450, 2.441)),
                      (lambda a: greedy(a, 256), (7.595, 5.562, 2.461)),
                      (lambda a: d_choices(a, 128, 10), (7.649, 5.627, 2.503)),
                      (lambda a: d_choices(a, 128, 4), (8.490, 6.216, 2.727)),
                      (lambda a: d_choices(a, 128, 2), (10.475, 7.613, 3.264))):
        for alpha, want in zip((1.07, 1.10, 1.28), rows):
            near(law(alpha), want, 0.002)


def test_theory_of_a_profile():
    text = ("[nand]\nchannels = 2\ndies_per_channel = 2\nplanes_per_die = 1\n"
            "blocks_per_plane = 256\npages_per_block = 64\n[ftl]\ntype = page\nop = 7%\n"
            "gc_reserve = 4\ngc_policy = ")
    alpha = 1.07 * 1020 / 1024
    near(predict("uniform-writes", parse_profile(text + "random")), alpha / (alpha - 1))
    near(predict("uniform-writes", parse_profile(text + "fifo")), fifo(alpha))
    near(predict("uniform-writes", parse_profile(text + "greedy")), greedy(alpha, 64))
    near(predict("uniform-writes", parse_profile(text + "d-choices\ngc_d = 3")),
         d_choices(alpha, 64, 3))
    assert predict("uniform-writes", parse_profile(text + "cost-benefit")) is None
    assert predict("uniform-writes", {"ftl.type": "segment"}) is None


def test_names_beside_bars_are_whole():
    """In one line if there is room, else in two of 28 letters; a longer one ends in an ellipsis."""
    name = "abcdefghijklm" * 7
    for length in (1, 28, 29, 30, 55, 56, 57, 80):
        drawn = share_chart("t", [("x", .5), (name[:length], .5)])
        first, *lines = re.findall(r'text-anchor="end">([^<]*)</text>', drawn)
        shown = "".join(lines)
        assert first == "x" and len(lines) == (1 if length <= 29 else 2), (length, lines)
        assert (shown == name[:length]) == (length <= 56), (length, lines)
        assert shown.endswith("\u2026") == (length > 56), (length, lines)


run(globals())
