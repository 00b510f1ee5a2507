# SPDX-License-Identifier: BSD-3-Clause
"""A profile that behaves as a measurement says.

What is fitted, and what a measurement says about it before anything is tried:

    budget            how many sets of parameters a fit compares
    model             a device as a fit thinks of it: a structure, times, the keys of a profile
    curves            the points of a measurement as tables
    rows_in_order     what rows of flashbench -O in order tell about open units
    from_probe        what the tests of `probe` tell about a structure
    rules             all of that: candidates, and the times to begin with

The search for a structure and its times, and what is written then:

    compare           many sets of parameters against one measurement
    descent           bounded least squares where each set of numbers takes a comparison
    moves             down slopes, to a neighbour, by chance: whatever the candidates are
    search            the structure and the times that come nearest
    judging           rivals judged by all that a probe asked
    kinds             how near it comes, by kind of request
    fitting           from a measurement to a fitted device
    fit_result        its profile and its page

`refine`, and a card of today:

    refining          numbers of a profile that come nearer
    refine_result     what is written then
    cards             the shipped devices as a fit sees them, and their next ones
    relatives         a card of today, which begins as a shipped one
    taken             whose numbers are taken where no point speaks about them
    relatives_result  what is written then
"""
