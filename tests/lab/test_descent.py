#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""A descent ends at an optimum that is known, with true slopes and whatever the linear algebra, and
what it says about its errors holds as often as it says."""

import math
import os
import random
import subprocess
import sys

from flashemu_lab_bench import FLASHEMU  # noqa: F401
from flashemu_script import run, skip

try:
    import numpy as np
    from scipy.optimize import least_squares
except ImportError:
    skip("no Python modules numpy and scipy")

from flashemu_lab.fit import descent, fitting, model  # noqa: E402

SCALE = 0.1


def cost(residuals, loss):
    """What scipy makes least."""
    z = (np.asarray(residuals) / SCALE)**2
    return SCALE**2 * float((np.sqrt(1 + z) - 1 if loss == "soft_l1" else np.log1p(z) / 2).sum())


def problem(seed, times, count=40, numbers=6, noise=0.03, far=0.15):
    """Residuals of a place, the true place, and slopes: of a line, or of logarithms of sums of
    times, as a device has them.  Some points are far off."""
    draw = np.random.default_rng(seed)
    truth = draw.normal(size=numbers)
    if times:
        parts = draw.random((count, numbers))**3
        parts[:, 0] += 0.05

        def model_of(x):
            return np.log((parts * np.exp(x)).sum(axis=1))
    else:
        parts = draw.normal(size=(count, numbers))

        def model_of(x):
            return (parts * x).sum(axis=1)
    measured = model_of(truth) + noise * draw.normal(size=count)
    off = draw.random(count) < far
    measured[off] += draw.normal(size=off.sum())

    def slopes(x, _here):
        return np.stack([(model_of(x + 1e-4 * one) - model_of(x)) / 1e-4
                         for one in np.eye(numbers)], axis=1)
    return lambda x: model_of(x) - measured, truth, slopes


class Places:
    """Keeps the residuals of each place, as those do who ask for them, and hands the same out."""

    def __init__(self, residuals):
        self.residuals, self.kept = residuals, {}

    def __call__(self, x):
        return self.kept.setdefault(tuple(x), self.residuals(x))

    def best(self, loss):
        return min((cost(self.residuals(np.array(x)), loss), x) for x in self.kept)


def test_it_ends_at_the_optimum():
    """Of lines in one descent with its slopes; of sums of times nearly, with slopes that Broyden
    has corrected."""
    for times, within, descents in ((False, 5e-3, 1), (True, 0.02, 2)):
        for loss in ("soft_l1", "cauchy"):
            for seed in range(8):
                residuals, truth, slopes = problem(seed, times)
                begin = truth + 0.6 * np.random.default_rng(seed + 100).normal(size=len(truth))
                places, one = Places(residuals), descent.Descent()
                for _ in range(descents):
                    one.run(places, slopes, begin, (-9.0, 9.0), loss, SCALE, 8)
                    least, begin = places.best(loss)
                assert len(places.kept) <= 8 * descents
                known = least_squares(residuals, begin, loss=loss, f_scale=SCALE, xtol=1e-12,
                                      ftol=1e-12, gtol=1e-12, max_nfev=500).cost
                assert least <= known * (1 + within), (times, loss, seed, least, known)


def test_slopes_stay_true():
    """Of a line, whatever the loss does to far residuals; and what is handed in stays as it is."""
    for loss in ("soft_l1", "cauchy"):
        residuals, truth, slopes = problem(3, False)
        there = slopes(truth, None)
        given, one = there.copy(), descent.Descent()
        places = Places(residuals)
        for _ in range(3):
            one.run(places, lambda x, here: given, truth + 1, (-9.0, 9.0), loss, SCALE, 8)
        assert np.abs(one.slopes - there).max() < 1e-6 and (given == there).all()
        for x, r in places.kept.items():
            assert (r == residuals(np.array(x))).all(), loss


def test_wrong_slopes_are_corrected():
    """Slopes of the place before, which are off by a third, and a step that leads nowhere."""
    residuals, truth, slopes = problem(5, False, far=0)
    one, places = descent.Descent(), Places(residuals)
    one.slopes = slopes(truth, None) * np.linspace(0.7, 1.3, len(truth))
    one.run(places, None, truth + 0.5, (-9.0, 9.0), "soft_l1", SCALE, 14)
    known = least_squares(residuals, truth, loss="soft_l1", f_scale=SCALE, xtol=1e-12).cost
    assert places.best("soft_l1")[0] <= 1.01 * known


def test_bounds_hold():
    """A number that would leave them stays there, and the others make up for it."""
    residuals, truth, slopes = problem(7, False, far=0)
    low, high = truth - 2, truth + 2
    high[0], low[1] = truth[0] - 0.2, truth[1] + 0.3
    for begin in (low, high, (low + high) / 2):
        places, one = Places(residuals), descent.Descent()
        one.run(places, slopes, begin, (low, high), "soft_l1", SCALE, 12)
        known = least_squares(residuals, (low + high) / 2, bounds=(low, high), loss="soft_l1",
                              f_scale=SCALE, xtol=1e-12, ftol=1e-12, gtol=1e-12)
        least, best = places.best("soft_l1")
        assert least <= known.cost * 1.001, (least, known.cost)
        assert (best[0], best[1]) == (high[0], low[1])
        assert all((np.array(x) >= low).all() and (np.array(x) <= high).all() for x in places.kept)


def test_steps_by_hand():
    """Least squares of 2x - 8 and x + y - 6, and then of what a bound leaves to the other number."""
    slopes, here, one = np.array([[2.0, 0.0], [1.0, 1.0]]), np.array([-8.0, -6.0]), np.ones(2)

    def step(low, high, damping=0.0):
        return descent._step(np.zeros(2), here, slopes, one, damping,
                             (np.array(low), np.array(high))).tolist()
    for found, wanted in ((step([-9, -9], [9, 9]), (4, 2)), (step([-9, -9], [1, 9]), (1, 5)),
                          (step([-9, -9], [9, 1]), (4.2, 1)), (step([-9, -9], [1, 3]), (1, 3)),
                          (step([0, 0], [0, 9]), (0, 6))):
        assert np.allclose(found, wanted, atol=1e-9), (found, wanted)
    # with half of each square more, and of 1/100 of the larger: 7.525 x + y = 22, x + 1.525 y = 6
    assert np.allclose(step([-9, -9], [9, 9], 0.5), (27.55 / 10.475625, 23.15 / 10.475625))


def test_an_error_keeps_the_slopes():
    residuals, truth, slopes = problem(1, False)
    one, asked = descent.Descent(), []

    def at(x):
        asked.append(x)
        if len(asked) == 3:
            raise KeyError("no more")
        return residuals(x)
    try:
        one.run(at, slopes, truth + 1, (-9.0, 9.0), "cauchy", SCALE, 8)
        raise AssertionError("no error")
    except KeyError:
        assert one.slopes.shape == slopes(truth, None).shape


def test_nothing_moves_what_nothing_depends_on():
    places, one = Places(lambda x: np.array([x[0] - 1, 2 * x[0] + 1, 0.5])), descent.Descent()
    one.run(places, lambda x, here: np.array([[1.0, 0], [2, 0], [0, 0]]), [3.0, 5.0],
            (-9.0, 9.0), "soft_l1", SCALE, 8)
    assert {x[1] for x in places.kept} == {5.0} and len(places.kept) > 1
    still = Places(lambda x: np.array([0.25, 0.5]))
    one.run(still, lambda x, here: np.zeros((2, 2)), [3.0, 5.0], (-9.0, 9.0), "soft_l1", SCALE, 8)
    assert list(still.kept) == [(3.0, 5.0)]


def test_order_of_sums_does_not_matter():
    """The points in another order: the same steps, to the last digit."""
    residuals, truth, slopes = problem(2, False)
    shuffled = random.Random(4).sample(range(40), 40)
    ends = []
    for order in (list(range(40)), shuffled):
        places, one = Places(lambda x: residuals(x)[order]), descent.Descent()
        one.run(places, lambda x, here: slopes(truth, None)[order], truth + 1, (-9.0, 9.0),
                "soft_l1", SCALE, 4)
        off = descent.spreads(slopes(truth, None)[order], residuals(truth)[order], "soft_l1", SCALE)
        ends.append((list(places.kept), off))
    assert ends[0] == ends[1]


WORDS = ("import sys; sys.path.insert(0, sys.argv[1]); import numpy as np\n"
         "for word in ('dot', 'matmul', 'einsum', 'inner', 'vdot', 'tensordot'):\n"
         "    delattr(np, word)\n"
         "np.linalg = None\n"
         "from flashemu_lab.fit import descent\n"
         "draw = np.random.default_rng(1)\n"
         "a, b, one = draw.normal(size=(9, 3)), draw.normal(size=9), descent.Descent()\n"
         "one.run(lambda x: (a * x).sum(axis=1) - b, lambda x, h: a, np.zeros(3), (-9, 9),\n"
         "        'cauchy', 0.1, 5)\n"
         "descent.spreads(a, b, 'cauchy', 0.5)\n")


def test_no_linear_algebra_of_others():
    lab = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(descent.__file__))))
    source = open(os.path.realpath(descent.__file__), encoding="utf-8").read()
    assert " @ " not in source
    subprocess.run([sys.executable, "-c", WORDS, lab], check=True)


def covered(first, times, count, numbers, noise, far, loss, rounds):
    """How many of the intervals of a descent hold, and how many there are, of so many problems from
    a seed on; a third of the points counts three times as much as the others."""
    inside, every = 0, 0
    weights = np.where(np.arange(count) < count // 3, 1.0, 1 / 3)
    scale = SCALE * math.sqrt(weights.sum() / count)
    known = [t for t in model.TIMES if not t.zero]
    for seed in range(first, first + rounds):
        residuals, truth, slopes = problem(seed, times, count, numbers, noise, far)
        places, one = Places(lambda x: np.sqrt(weights) * residuals(x)), descent.Descent()

        def steep(x, here):
            return np.sqrt(weights)[:, None] * slopes(x, here)
        one.run(places, steep, truth + 0.1, (-9.0, 9.0), loss, scale, 20)
        x = min(places.kept, key=lambda x: cost(places.kept[x] * SCALE / scale, loss))
        off = fitting.spreads(steep(np.array(x), None), places.kept[x], loss, scale, weights)
        inside += sum(abs(a - b) <= o for a, b, o in zip(x, truth, off))
        every += numbers
        told = fitting.intervals_of(known[:3], x[:3], steep(np.array(x), None)[:, :3],
                                    places.kept[x], loss, scale, weights)
        assert list(told) == [t.key for t in known[:3]]
    return inside, every


def test_intervals_hold_as_often_as_they_say():
    """90 to 97 % of the true numbers: few and many of them, small and large errors, with points
    that are far off and without."""
    inside = every = 0
    for times in (False, True):
        for count, numbers in ((16, 4), (40, 10), (90, 5)):
            for noise, far in ((0.01, 0), (0.03, 0.1), (0.06, 0.05)):
                for loss in ("soft_l1", "cauchy"):
                    some, of = covered(1000 + every, times, count, numbers, noise, far, loss,
                                       12)
                    assert some >= 0.82 * of, (times, count, numbers, noise, far, loss, some, of)
                    inside, every = inside + some, every + of
    assert 0.90 * every <= inside <= 0.97 * every, (inside, every)


def test_too_few_points_tell_nothing():
    draw = np.random.default_rng(1)
    assert descent.spreads(draw.normal(size=(4, 4)), draw.normal(size=4), "soft_l1", 1.0) is None
    assert descent.spreads(draw.normal(size=(6, 4)), 1e3 * draw.normal(size=6), "soft_l1",
                           0.1) is None
    known = [t for t in model.TIMES if not t.zero][:2]
    assert fitting.intervals_of(known, [t.bounds[0] + 1 for t in known], np.ones((2, 2)),
                                np.zeros(2)) == {t.key: None for t in known}


run(globals())
