/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The parameters of the step strategy: [step] of a profile.
 *
 * A rule each for reads and writes.  Lengths of runs are counted in blocks of block_size;
 * step.c draws what the numbers mean.
 */
#ifndef FE_FTL_STEP_H
#define FE_FTL_STEP_H

#include <stdbool.h>
#include <stdint.h>

struct fe_step_rule {
    uint64_t random_ns; /* the first block of a run */
    uint64_t step_ns;   /* each later block */
    uint64_t spike_ns;  /* more, each time that the run reaches a threshold */
    uint32_t first;     /* the first threshold in blocks, at least 2; 0: there is none */
    uint32_t again;     /* from one to the next: reads double `first` up to this, writes
                           have this always; 0: there is no next one */
    bool payback;       /* later blocks give back what the first one has cost */
};

struct fe_step_params {
    uint64_t block_size; /* bytes; 0: the page */
    uint32_t streams;    /* runs of each kind that are recognised at once; 0: none is */
    struct fe_step_rule read, write;
};

#endif
