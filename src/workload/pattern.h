/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Access patterns: requests from a rule instead of a file.
 *
 * A pattern is a name and options, "random,op=write,bs=4K,count=10M".  It is a pull
 * iterator over the same records as a trace, needs no memory that grows with their
 * number, and is a function of its options: record i is the same whatever was asked
 * before.  Randomness is addressed by (seed, i).
 *
 * Thread rule: one caller at a time for each pattern.
 */
#ifndef FE_WORKLOAD_PATTERN_H
#define FE_WORKLOAD_PATTERN_H

#include "flashemu/err.h"
#include "workload/trace.h"

#include <stdint.h>
#include <stdio.h>

struct fe_pattern;

/* What the pattern will meet. */
struct fe_pattern_env {
    uint64_t capacity;    /* bytes; 0 = not known: size is 1G unless given */
    uint32_t sector_size; /* 0 = 512 */
};

/* `spec` is "NAME[,KEY=VALUE...]"; `options` are more "KEY=VALUE", applied after it.
 * Unknown, repeated or out-of-range options are errors: -EINVAL with one message that
 * names pattern, key and value; -ENOMEM. */
int fe_pattern_create(struct fe_pattern **ret, const char *spec, const char *const *options,
                      uint32_t n_options, const struct fe_pattern_env *env, struct fe_err *err);
void fe_pattern_destroy(struct fe_pattern *p);

/* The next up to max records; 0 at the end. */
uint32_t fe_pattern_next(struct fe_pattern *p, struct fe_trace_rec *recs, uint32_t max);

/* How many records there will be at most; UINT64_MAX if only the end will tell. */
uint64_t fe_pattern_count(const struct fe_pattern *p);

/* All patterns, or the options of one: -EINVAL if there is none of that name. */
int fe_pattern_help(FILE *out, const char *name, struct fe_err *err);

#endif
