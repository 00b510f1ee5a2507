# SPDX-License-Identifier: BSD-3-Clause
"""What people have measured on real devices.

    schema       the file: flashemu-measurement(5)
    json_schema  the same as JSON Schema, for other programs
    figures      how many of its figures do not follow from each other
    reader       what all readers have in common
    numbers      numbers and sizes as programs print them
    text         the lines of a log without what stands around them
    tables       figures in tables, typed or collected
    readers      what programs print, one file for each program
    importing    from files that people have to a measurement
"""
