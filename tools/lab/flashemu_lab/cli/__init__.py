# SPDX-License-Identifier: BSD-3-Clause
"""What a shell calls.

    arguments   types of options
    show        what commands print for people
    devices     the commands about real devices
    completion  what the completion of a shell asks for
    main        the command line
"""
