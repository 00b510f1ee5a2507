# SPDX-License-Identifier: BSD-3-Clause
"""What people have measured on real devices.

    schema     the file: flashemu-measurement(5)
    readers    what benchmarks print, line by line
    fio        fio's JSON and its normal output
    tables     figures in tables, typed or collected
    importing  from files that people have to a measurement
"""
