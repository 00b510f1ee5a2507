# SPDX-License-Identifier: BSD-3-Clause
"""What people have measured on real devices.

    schema       the file: flashemu-measurement(5)
    figures      how many of its figures do not follow from each other
    reader       what all readers have in common
    numbers      numbers and sizes as programs print them
    text         the lines of a log without what stands around them
    flashbench   what flashbench prints
    dd           what dd prints
    hdparm       what hdparm -t prints
    iozone       what iozone prints
    fio_options  what the options of an fio job mean
    fio_jobs     from fio's jobs to points
    fio_json     fio's JSON
    fio_terse    fio's terse output
    fio_command  the options in fio's commands and job files
    fio_text     fio's normal output
    fio          fio, in all these forms
    agnostics    Raspberry Pi's card test
    crystaldiskmark  the text of CrystalDiskMark and KDiskMark
    filling      H2testw and f3
    tables       figures in tables, typed or collected
    hdtune       the text of HD Tune
    refused      programs that are named and not read
    importing    from files that people have to a measurement
"""
