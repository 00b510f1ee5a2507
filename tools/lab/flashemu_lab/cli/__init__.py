# SPDX-License-Identifier: BSD-3-Clause
"""What a shell calls.

    arguments   types of options
    outputs     what commands may replace
    engines     what the options about running say
    show        what commands print for people
    devices     the commands about real devices
    life        the command life
    crashing    the command crash for programs of one's own
    completion  what the completion of a shell asks for
    main        the command line
"""
