# SPDX-License-Identifier: BSD-3-Clause
"""Measures a device from outside.

    target    a block device of this machine, or an NBD server
    tests     a file for each question: its requests, and what follows from their times
    findings  the order of all tests, and what is known after each of them
    session   runs the tests within a budget
    datasheet the page that says what the device is like
"""
