# SPDX-License-Identifier: BSD-3-Clause
"""The parts of tools/mutate.

    changes     finds the places in a C file that can be changed, with libclang
    plan        draws changes by seed, and reads hand-made patches
    process     runs a program under limits and leaves none of its children behind
    bench       one worker's copy of the tree: builds a mutant and runs the tests
    campaign    hands the mutants to the workers and stores the results
    report      prints the results as a table or as JSON
"""
