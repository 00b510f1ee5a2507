# SPDX-License-Identifier: BSD-3-Clause
"""The questions of `probe`.

    partial_pages          what does a command take for what it leaves of a page?
    merge_cost             what does a merge cost at least?
    structure              page, planes, links: the first tests, and how tests are written down
    unit_reads             where is a boundary that reads across it show?
    unit_crossings         where is the boundary of a unit? writes that lie in two of them
    unit_pairs             do two places lie in one unit? two small writes that tell it
    unit_pushed_pairs      the same behind a write cache that no flush empties
    unit_gaps              how large is a unit that is never open in random order?
    unit_first_writes      how large is a unit, if one log takes all writes behind such a cache?
    unit_size              the unit, by whatever shows it
    open_units             how many units are open? few writes that tell it
    flashbench_open_units  the same, as flashbench -O asks it
    behaviour              how does the device work: caches, TRIM, rest, depth, fill
    forged                 how much does it really hold?

A new question is asked where `findings` says, and has its sentence in `datasheet`.
"""
