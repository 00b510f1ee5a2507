# SPDX-License-Identifier: BSD-3-Clause
"""flashemu-lab: experiments with emulated flash devices.

The packages, each of which uses only those above it:

    core         what has nothing to do with flash: mistakes, units, files, terminals
    recording    what a kernel's filesystem asked of a device for some work
    runs         one replay by the C program: executed, stored, on this machine or on many
    experiment   an experiment file, its runs, and the sentences that follow from them
    report       pictures and pages
    kernel       what needs a kernel in a virtual machine
    advise       where to start a partition, and how to format it
    life         how long cards live under a work
    crash        power cuts, and what they have left
    measurement  what people have measured on real devices: the file, and readers of other programs
    probe        measures a device from outside
    fit          a profile that behaves as a measurement says
    cli          what a shell calls

The docstring of each package lists its modules in the same way.  `experiments` has the experiment
files that come with the lab.
"""
