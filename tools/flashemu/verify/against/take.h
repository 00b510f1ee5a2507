/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How the points of a measurement are read: parameters, and the test of each procedure.
 *
 * Those who read a parameter return -EINVAL with a message that names the member, such as
 * "points[3].parameters.bs: expected a whole number from 1 to 2^44".
 */
#pragma once

#include "verify/against/against.h"

#define AGAINST_MAX_BYTES (UINT64_C(1) << 44)

/* Always -EINVAL. */
int against_bad(struct fe_err *err, const char *path, const char *key, const char *allowed);

/* A whole number of at least `min`. */
int against_get_size(const struct against_point *p, const char *path, const char *key, uint64_t min,
                     uint64_t *ret, struct fe_err *err);

/* The same for a key that may be missing, which then leaves *ret as it is. */
int against_may_get_size(const struct against_point *p, const char *path, const char *key,
                         uint64_t min, uint64_t *ret, struct fe_err *err);

/* True or false; *ret stays as it is if the key is missing. */
int against_may_get_flag(const struct against_point *p, const char *path, const char *key,
                         bool *ret, struct fe_err *err);

/* The index of a word among words that blanks separate. */
int against_get_word(const struct against_point *p, const char *path, const char *key,
                     const char *words, uint32_t *ret, struct fe_err *err);

/* The median of a list of numbers, which are greater than 0 unless `is_signed`. */
int against_take_median(const json_t *values, const char *path, const char *key, bool is_signed,
                        double *ret, struct fe_err *err);

/* Nothing measures this point; `why` goes on behind "left out: ". */
void against_leave(struct against_point *p, const char *why);

/* The test of a sequential read or write, from its bs, size, start and flushes. */
void against_name_seq(struct against_point *p, bool writes);

/* What benchmarks have printed. */
int against_take_dd(struct against_point *p, const char *path, struct fe_err *err);
int against_take_hdparm(struct against_point *p, const char *path, struct fe_err *err);
int against_take_load(struct against_point *p, const char *path, struct fe_err *err);
int against_take_fio(struct against_point *p, const char *path, struct fe_err *err);
int against_take_iozone(struct against_point *p, const char *path, struct fe_err *err);
