# SPDX-License-Identifier: BSD-3-Clause
"""Experiments: what is varied, on which device, with which requests, and what follows.

    replay_accuracy  how far replays of recordings are from a kernel
    host_time        how much it matters that the host of a replay takes no time
    bounds           how large an experiment may be
    spec             an experiment file as a value
    nouns            what sentences call levels and measures
    ratio_words      what a step does to a measure, in words
    shipped          the experiments that come with the lab
    plan             the runs of an experiment
    effects          which factor matters how much
    theory           what theory says about a run
    evidence         what is known about the sets of an ensemble
    table            an experiment with its results; CSV and JSON
    json_schema      results.json as JSON Schema, for other programs
    sweep            the experiment of a command line
    ensemble         whether a conclusion holds although much about the device was guessed
    choice           which level comes out best, and what the others cost
    step_path        what each factor adds on the way from one combination to another
    conclusion       sentences that are computed from a table
"""
