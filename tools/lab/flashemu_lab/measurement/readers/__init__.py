# SPDX-License-Identifier: BSD-3-Clause
"""One file for each program whose logs are read; fio has more, because it prints in four forms.

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
    hdtune       the text of HD Tune
    refused      programs that are named and not read

A new reader is listed in importing.read_log.
"""
