# SPDX-License-Identifier: BSD-3-Clause
"""How long cards live under a work.

    asked        what a command line says before anything is looked at
    endurance    how many cycles blocks bear, with the source of each number
    reading      what counters say about one device, and clocks
    diskstats    sums of a kernel, at two times
    sysstat      rates that iostat and sar print
    extcsd       what an eMMC says about its life
    readings     which of these a text is
    card         a profile with what decides about its life
    works        what a user means by a work: requests, and how much of them a day
    lives        when cards end whose blocks differ: order statistics
    steady       the work repeated until the device is steady: what wears, and how fast
    prediction   years, and what they rest on
    what_if      the same with something changed
    told         the answer as sentences, JSON and a page
"""
