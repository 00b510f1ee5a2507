# SPDX-License-Identifier: BSD-3-Clause
"""Power cuts.  Under filesystems, in a virtual machine:

    choices     which filesystems and workloads
    power_cuts  makes them, and looks at what is left
    results     sums, sentences, a table, a page and JSON

Under programs that work with a device by themselves, at every operation of the chip:

    work        records what a command does with a device
    plain       works that need no filesystem; a program of its own
    states      the states in which the device may be found, and their images
    owed        what the device owes to its host in a state
    checks      lets a command judge them
    mounted     does both on a filesystem, and lets a kernel judge
    broken      what has come out, as sentences, JSON, JUnit's XML and a page
"""
