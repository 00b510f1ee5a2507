/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What differs between the runs of one command: factors, of which every combination is a run.
 *
 *     --vary ftl.op=7%,28% --vary seed=1,2       run    0     1     2     3
 *                                                op     7%    7%    28%   28%
 *                                                seed   1     2     1     2
 *
 * The last factor changes from run to run.
 */
#pragma once

#include "flashemu/err.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct factor {
    const char *key;
    const char **levels; /* an array of this factor; the texts are not, unless they are in `text` */
    uint32_t n;
    char *text;          /* what the key and the levels were cut from; NULL = nothing was cut */
};

struct vary {
    struct factor *factors;
    uint32_t n;
    size_t room;
};

/* Adds a factor.  levels are copied, the texts are not.  -ENOMEM with message. */
int vary_add(struct vary *v, const char *key, const char *const *levels, uint32_t n,
             struct fe_err *err);

/* Adds the factor "KEY=V1,V2,...".  -ENOMEM, or -EINVAL if the text is not of this form or the key
 * is there already, with message. */
int vary_parse(struct vary *v, const char *text, struct fe_err *err);
void vary_fini(struct vary *v);

enum { VARY_MAX_RUNS = 100000 };

/* The number of combinations; 1 without any factor.  -EINVAL with message if there are more than
 * VARY_MAX_RUNS. */
int vary_count(const struct vary *v, uint32_t *ret, struct fe_err *err);

/* The level of a factor in a run. */
const char *vary_level(const struct vary *v, uint32_t factor, uint32_t run);

/* "KEY=LEVEL KEY=LEVEL", cut if it is too long for buf; "" without any factor. */
const char *vary_name(const struct vary *v, uint32_t run, char *buf, size_t len);

/* A table with a line for each run: its levels and the most important numbers of its result, which
 * is the object of `replay --json`, or NULL for a run that failed.  Percentiles of latencies have a
 * column if some run has had such requests.  Results of --against have a score and the worst kind. */
void vary_print_table(const struct vary *v, json_t *const *results, uint32_t n_runs, FILE *out);

/* Whether the factor `key` is there and makes no difference: runs that differ in it only did the same,
 * by their results.  False if a run has failed. */
bool vary_is_idle(const struct vary *v, const char *key, json_t *const *results, uint32_t n_runs);
