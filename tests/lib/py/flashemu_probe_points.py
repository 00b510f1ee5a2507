# SPDX-License-Identifier: BSD-3-Clause
"""Points of `probe` as made-up devices of 1 GiB would give them, with times by hand."""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "../../../tools/lab"))

from flashemu_lab.probe.tests import open_units, structure, unit_crossings  # noqa: E402
from flashemu_lab.measurement.schema import make_point  # noqa: E402

KIB, MIB = 1 << 10, 1 << 20
CAPACITY = 1 << 30


def answered(test, ns):
    """The points of a test whose requests take ns(request)."""
    return structure.result(test, [round(ns(r)) for r in test.requests])


def reads(limit, page=4 * KIB, again=3e5):
    """The points of reads, far apart and near, on a device that costs `again` for each command of
    `limit` bytes; 100 us for each page that is touched, 50 ns a byte, and 200 us far apart."""
    def far(r):
        return 2e5 + near(r) + again * ((r.length - 1) // limit)

    def near(r):
        pages = (r.offset + r.length - 1) // page - r.offset // page + 1
        return again + 1e5 * (pages if r.length <= page else 1) + 50 * r.length
    return [*answered(structure.link(CAPACITY), far),
            *answered(structure.page_reads(CAPACITY), near)]


def looked(first, middle):
    """Points of small writes in the first unit and in the middle."""
    small = {"op": "write", "bs": 4096, "stride": 102400, "count": 32}
    return [make_point("request", [first], start=0, **small),
            make_point("request", [middle], start=CAPACITY // 2, **small)]


def rows(most, merge=10**7):
    """Points of rows over units of 1 MiB, in both orders.  More than `most` of them are merged,
    which takes `merge` ns."""
    found = []
    for in_random_order in (True, False):
        for n in (1, 2, most, most + 1):
            row = open_units.passes(MIB, n, in_random_order, 16 * KIB, 8, 70 * n % 500,
                                structure.OUTRIGHT, CAPACITY)
            found += structure.result(row, [merge if r.key < 2 or n > most else 10**5
                                          for r in row.requests])
    return found


def shown(unit):
    """Points across boundaries of a device with such units."""
    found = []
    for size in unit_crossings.candidates(CAPACITY):
        found += answered(unit_crossings.crossing(size, CAPACITY), lambda r: 10**8 * (
            1 + (r.offset + r.length - 1) // unit - r.offset // unit))
    return found
