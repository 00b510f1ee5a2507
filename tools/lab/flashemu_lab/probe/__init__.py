# SPDX-License-Identifier: BSD-3-Clause
"""Measures a device from outside.

    budget    how much a probe may do
    target    a block device of this machine, or an NBD server
    tests     a file for each question: its requests, and what follows from their times
    findings  the order of all tests, and what is known after each of them
    speaking  what the points of any measurement can tell about a structure
    conversation  what was asked, with times
    session   runs the tests within a budget
    next_step what to measure if that is too little
    datasheet the page that says what the device is like
"""
