# SPDX-License-Identifier: BSD-3-Clause
"""What needs a kernel.

    machine    the virtual machine, and servers for it
    record     makes recordings
    full_runs  runs of an experiment through a kernel
    sample     draws replays to compare with a kernel
"""
