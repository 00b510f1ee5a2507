/* SPDX-License-Identifier: BSD-3-Clause
 *
 * From a profile's rows to experiments and back, and what came out.
 */
#pragma once

#include "verify/verify.h"

/* The last entry has no name. */
extern const struct verify_experiment verify_experiments[];

/* NULL if there is no experiment of that name. */
const struct verify_experiment *verify_experiment_find(const char *name);

/* --- a profile's rows --- */

struct verify_plan {
    struct fe_profile profile;
    struct verify_row *rows;
    size_t n_rows;
    json_t *details; /* an object for each experiment with its arguments */
};

/* Loads a profile and its rows.  The caller must call verify_plan_fini, even after an error. */
int verify_plan_load(struct verify_plan *plan, const char *name, const char *const *overrides,
                     uint32_t n_overrides, struct fe_err *err);
void verify_plan_fini(struct verify_plan *plan);

/* Leaves out the rows that are not among the n wanted procedures and ids (if n is 0, all rows are
 * wanted), and the slow ones if `quick`.  used[i] becomes true if some row matches wanted[i]. */
void verify_plan_choose(struct verify_plan *plan, char **wanted, int n, bool *used, bool quick);

struct verify_kernel;

/* Runs the experiments of all open rows, some of them with a kernel.  -ECANCELED or -ENOMEM, with
 * message.  The failure of an experiment is noted in its rows and is not an error here. */
int verify_plan_run(struct verify_plan *plan, const struct verify_kernel *k, uint64_t seed,
                    struct fe_err *err);

/* --class: judges every class of the SD specification.  Prints the verdicts, or adds them to `ret`
 * as "classes" if that is not NULL.  Errors are those of verify_request; -EINVAL if the device is
 * too small. */
int verify_classes(const struct fe_profile *profile, uint64_t seed, json_t *ret,
                   struct fe_err *err);

/* --- what came out --- */

/* (measured - published) / published in percent; only for a measured row. */
double verify_error(const struct verify_row *row);

/* "ok", "off", "known" (off, and the profile says why), "skipped", "failed", "left out", "not run"
 * (if verify was interrupted before). */
const char *verify_verdict(const struct verify_row *row);

void verify_print(const struct verify_plan *plan);
json_t *verify_json(const struct verify_plan *plan);

/* TOOL_OK; TOOL_NO if a row is off or has failed; VERIFY_PART if the only problem is that some rows
 * could not be run. */
enum { VERIFY_PART = 3, VERIFY_INTERRUPTED = 130 };
int verify_code(const struct verify_plan *plan);
