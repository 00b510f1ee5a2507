/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Access patterns: requests from a rule instead of a file.
 *
 * A pattern is a name with options: "random,op=write,bs=4K,count=10M".  It produces the same
 * kind of records as a trace, one batch at each call.  Its memory does not grow with their
 * number.  The records are a function of the options alone: the randomness of record i is
 * addressed by (seed, i) and does not depend on earlier calls.
 *
 * Thread rule: one caller at a time for each pattern.
 */
#pragma once

#include "flashemu/err.h"
#include "workload/trace.h"

#include <stdint.h>
#include <stdio.h>

struct fe_pattern;

/* The device that the requests are meant for. */
struct fe_pattern_env {
    uint64_t capacity;    /* bytes; 0 = not known, then size is 1G unless it is given */
    uint32_t sector_size; /* 0 = 512 */
};

/* `spec` is "NAME[,KEY=VALUE...]".  `options` are further "KEY=VALUE"; they are applied after
 * those of spec.  -EINVAL for an option that is unknown, repeated or out of range, with one
 * message that names pattern, key and value.  -ENOMEM. */
int fe_pattern_create(struct fe_pattern **ret, const char *spec, const char *const *options,
                      uint32_t n_options, const struct fe_pattern_env *env, struct fe_err *err);
void fe_pattern_destroy(struct fe_pattern *p);

/* Writes the next records, at most max, to recs.  Returns how many; 0 at the end. */
uint32_t fe_pattern_next(struct fe_pattern *p, struct fe_trace_rec *recs, uint32_t max);

/* How many records there will be at most; UINT64_MAX if that is not known before the end. */
uint64_t fe_pattern_count(const struct fe_pattern *p);

/* Prints all patterns, or the options of the pattern `name` if it is not NULL.  -EINVAL if there
 * is no such pattern. */
int fe_pattern_help(FILE *out, const char *name, struct fe_err *err);
