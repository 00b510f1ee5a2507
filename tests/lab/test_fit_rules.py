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


def test_records_show_in_how_near_a_command_brings_the_next_merge():
    """Records of 32 KiB with a head: 4, 8 and 16 KiB take one, 32 KiB two, and 64 KiB three."""
    chunks = [4096 << i for i in range(6)]
    c = clues.Curves({n: {chunk: 1e6 + chunk * 100.0 for chunk in chunks} for n in (1, 2)})

    def seen(records, *without):
        c.random = {n: {chunk: c.linear[n][chunk] + 13e6 * records(chunk) for chunk in chunks
                        if chunk not in without} for n in (1, 2)}
        return clues._record(c, 2)
    assert seen(lambda chunk: chunk // 32768 + 1) == 32768
    assert seen(lambda chunk: chunk // 32768 + 1, 4096) == 32768
    assert seen(lambda chunk: chunk // 32768 + 1, 4096, 8192) == 0      # nothing is equal
    assert seen(lambda chunk: chunk // 32768 + 1, 65536) == 0
    assert seen(lambda chunk: max(chunk // 16384, 1)) == 0      # pages without heads
    assert seen(lambda chunk: 1) == 0                           # a merge for each command
    assert seen(lambda chunk: 0.01) == 0                        # no merges
    assert clues._record(clues.Curves(), 2) == 0


def test_each_sort_of_structure_comes_first_once():
    def fit(error, **how):
        return Fit(Structure("segment", 512 * MIB, 16384, **how), (), error)
    plain, again = fit(0.1), fit(0.2, open_linear=5)
    both, parts = fit(0.3, open_units=3), fit(0.4, open_units=3, parts=2)
    record = fit(0.5, open_units=3, parts=2, record=32768)
    other = Fit(Structure("page", 512 * MIB, 16384), (), 0.6)
    assert fitting._each_sort_first([plain, again, both, parts, record, other]) == [
        plain, both, parts, record, other, again]


run(globals())
