/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The state of the step model, for step.c and for a test that damages it.  step.c has the idea.
 */
#pragma once

#include "ftl/registry.h"

#define FE_STEP_BLOCK 512 /* bytes of a block */

struct step_run {
    uint64_t start, end;     /* bytes [start, end) of the device */
    uint64_t blocks;         /* blocks that have been charged; 0: this is no run yet */
    uint64_t next_spike;     /* the next threshold: the run's length in blocks */
    uint64_t interval;       /* blocks from the previous threshold to the next one */
    uint64_t owed_ns;        /* time that later blocks still give back */
};

struct step_ftl {
    struct fe_ftl base;
    struct fe_step_params p;
    struct step_run runs[2]; /* [write] */
};

static inline struct step_ftl *step_of(struct fe_ftl *ftl)
{
    return (struct step_ftl *)ftl;
}
