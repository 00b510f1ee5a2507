#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""flashemu-lab fit: rules that need no device, by numbers made by hand."""

from flashemu_lab_bench import LAB  # noqa: F401  (finds the modules)
from flashemu_script import run

from flashemu_lab import clues, fitting
from flashemu_lab.modelled import Structure
from flashemu_lab.search import Fit

MIB = 1 << 20


def test_a_log_for_random_order_shows_in_merges():
    """Four merges of 400 ms while 4 MiB are written once, by three sizes."""
    chunks = [16384 << i for i in range(3)]
    in_order = {chunk: chunk * 100.0 for chunk in chunks}
    c = clues.Curves({n: in_order for n in (1, 2, 3)})
    c.random = {n: {chunk: in_order[chunk] + 4e8 * (4 * chunk / (4 * MIB) if n < 4 else 1)
                    for chunk in chunks} for n in range(1, 6)}
    assert clues._random_log(c, 3, 4 * MIB, 16384) == MIB
    assert clues._random_log(c, 3, 4 * MIB + 16384 * 2, 16384) == MIB  # whole pages
    del c.random[4], c.random[5]
    assert clues._random_log(c, 3, 4 * MIB, 16384) == 0  # nothing says what a merge takes
    c.random = {n: {chunk: in_order[chunk] + 4e8 * (n > 3) for chunk in chunks} for n in range(6)}
    assert clues._random_log(c, 3, 4 * MIB, 16384) == 0


def test_each_sort_of_structure_comes_first_once():
    def fit(error, **how):
        return Fit(Structure("segment", 512 * MIB, 16384, **how), (), error)
    plain, again = fit(0.1), fit(0.2, open_linear=5)
    both, parts = fit(0.3, open_units=3), fit(0.4, open_units=3, parts=2)
    other = Fit(Structure("page", 512 * MIB, 16384), (), 0.6)
    assert fitting._each_sort_first([plain, again, both, parts, other]) == [
        plain, both, parts, other, again]


run(globals())
