# SPDX-License-Identifier: BSD-3-Clause
"""Runs of the C program.

    worker        what another machine executes
    run           one run as a value, and its key
    program       the C program: where it is, and its answers as values
    store         results by key
    local         executes runs on this machine
    dask_cluster  executes runs on many machines
    expression    numbers from a result
"""
