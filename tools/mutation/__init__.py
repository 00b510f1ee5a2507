# SPDX-License-Identifier: BSD-3-Clause
"""The parts of tools/mutate.

    change          one change of one file
    changes         finds the places in a C file that can be changed, with libclang
    python_changes  the same for the laboratory, with the operators of cosmic-ray
    plan            draws changes by seed, and reads hand-made patches
    process         runs a program under limits and leaves none of its children behind
    equivalent      changes that alter nothing, listed by hand
    bench           one worker's copy of the tree: builds a mutant and runs the tests
    campaign        hands the mutants to the workers and stores the results
    report          prints the results as a table or as JSON
"""
