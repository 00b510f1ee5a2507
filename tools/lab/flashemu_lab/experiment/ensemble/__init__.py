# SPDX-License-Identifier: BSD-3-Clause
"""Whether a conclusion holds although much about the device was guessed: `--ensemble`.

    agreement       in how many sets of parameters a claim holds
    decision        which measurement would decide about a claim
    trials          measurements that somebody could make on the real device
    parameter_sets  sets of parameters that fit the published figures
"""
