# SPDX-License-Identifier: BSD-3-Clause
"""What a shell calls.

    arguments   types of options
    outputs     what commands may replace
    completion  what the completion of a shell asks for
    parser      the command line: commands and options
    engines     what the options about running say
    show        what commands print for people
    looking     list and show
    run         run, sweep and report
    record      record and sample
    devices     import, probe and datasheet
    fit         fit and refine
    advise      advise
    life        life
    crash       crash
    job         job
    main        what happens with a command line
"""
