# SPDX-License-Identifier: BSD-3-Clause
"""What needs a kernel.

    machine    the virtual machine, and servers for it
    choices    what can be chosen for it
    timed      a kernel that lives in the time of a device
    record     makes recordings
    job        figures of such a life, and comparisons
    full_runs  runs of an experiment through a kernel
    sample     draws replays to compare with a kernel
"""
