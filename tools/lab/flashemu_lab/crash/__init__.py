# SPDX-License-Identifier: BSD-3-Clause
"""Power cuts under filesystems.

    power_cuts  makes them, and looks at what is left
    results     sums, sentences, a table, a page and JSON
"""
