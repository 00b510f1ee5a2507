/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What `verify` is made of: rows (published figures), experiments that measure them, and
 * the kernel that some of them need.
 *
 * A new experiment in this process: a line for each of its figures in the table of
 * src/profile/procedures.c, a file verify_NAME.c with a `run` function, and an entry of
 * verify_experiments.  It makes devices with verify_device, talks to them with
 * verify_request, and hands in figures with verify_put.
 */
#ifndef FLASHEMU_VERIFY_H
#define FLASHEMU_VERIFY_H

#include "flashemu/device.h"
#include "flashemu/err.h"
#include "flashemu/profile.h"
#include "profile/notes.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum verify_state {
    VERIFY_OPEN,     /* not run yet */
    VERIFY_LEFT_OUT, /* not asked for */
    VERIFY_MEASURED,
    VERIFY_SKIPPED,  /* this machine cannot run it */
    VERIFY_FAILED,   /* it was run and gave no figure */
};

/* A published figure and what was measured for it. */
struct verify_row {
    const struct fe_profile_note *note; /* its id is note->key; the profile's */
    struct fe_fidelity published;
    enum verify_state state;
    uint64_t measured; /* in the unit of published.value */
    char why[200];     /* skipped or failed: the reason */
};

/* One experiment at work, on behalf of those rows of a profile that are its figures. */
struct verify_run {
    const struct fe_profile *profile; /* with the procedure's own override */
    const struct fe_procedure *procedure; /* of the first row */
    const uint64_t *arg;              /* of the rows, which agree in them */
    uint64_t seed;
    struct verify_row **rows;
    size_t n_rows;
    json_t *details;                  /* what else there is to tell: an object */
};

struct verify_experiment {
    const char *name;
    /* Measures, and hands in every figure that the table lists for the experiment.  0, or
     * a negative errno with message; -ECANCELED as soon as verify_stopped. */
    int (*run)(struct verify_run *run, struct fe_err *err);
};

/* Ended by one without a name. */
extern const struct verify_experiment verify_experiments[];

/* NULL if there is none of that name. */
const struct verify_experiment *verify_experiment_find(const char *name);

int verify_append(struct verify_run *run, struct fe_err *err);
int verify_flashbench(struct verify_run *run, struct fe_err *err);
int verify_runs(struct verify_run *run, struct fe_err *err);
int verify_seq(struct verify_run *run, struct fe_err *err);

/* A figure: bytes a second, ns, number or ppm.  It goes to every row that asks for it. */
void verify_put(struct verify_run *run, const char *procedure, uint64_t value);

/* Bytes a second, rounded down; UINT64_MAX for no time at all. */
uint64_t verify_rate(uint64_t bytes, uint64_t ns);

/* A number for --json that is not a figure (write amplification, a spread ...). */
void verify_detail(struct verify_run *run, const char *key, double value);

/* The user wants it to end. */
bool verify_stopped(void);

/* A device as the run's profile and seed have it, without payload. */
int verify_device(const struct verify_run *run, struct fe_device **ret, struct fe_err *err);

/* One request of a host that waits for each; NULL or *ret_ns = how long it took.  -EINVAL
 * outside the device, -EIO if the medium failed, -ECANCELED if verify_stopped. */
int verify_request(struct fe_device *dev, enum fe_req_type type, uint64_t offset, uint64_t len,
                   uint64_t *ret_ns, struct fe_err *err);

/* --- with a kernel --- */

enum verify_way { VERIFY_WAY_NONE, VERIFY_WAY_VM, VERIFY_WAY_NBD, VERIFY_WAY_LOOP };

struct verify_kernel {
    enum verify_way way;
    char why[200];       /* VERIFY_WAY_NONE: what lacks */
    char scripts[512];   /* the folder with serve, on-host and story.sh */
    uint64_t dilate;     /* 0: virtual clock, the device's statistics; else time-scale */
    const char *profile; /* as the user named it */
    const char *const *overrides;
    uint32_t n_overrides;
    bool progress, verbose;
};

/* Finds the scripts and what this machine can do; wish is "auto", "vm", "host" or "none".
 * False if the wish is unknown. */
bool verify_kernel_init(struct verify_kernel *k, const char *wish);

/* Runs the experiment as a step of story.sh; rows get their figures.  0, -ECANCELED, or a
 * negative errno with message.  Nothing that it started is left. */
int verify_kernel_run(const struct verify_kernel *k, struct verify_run *run, struct fe_err *err);

/* --- a profile's rows --- */

struct verify_plan {
    struct fe_profile profile;
    struct verify_row *rows;
    size_t n_rows;
    json_t *details; /* experiment (with arguments) -> object */
};

/* The rows of a profile.  Ended with verify_plan_fini whatever happens. */
int verify_plan_load(struct verify_plan *plan, const char *name, const char *const *overrides,
                     uint32_t n_overrides, struct fe_err *err);
void verify_plan_fini(struct verify_plan *plan);

/* Leaves out rows that are not among the wanted procedures and ids (all if n is 0) and,
 * if quick, the slow ones.  used[i] becomes true if some row is wanted[i]. */
void verify_plan_choose(struct verify_plan *plan, char **wanted, int n, bool *used, bool quick);

/* Runs what is open.  -ECANCELED, or -ENOMEM; a failed experiment is in its rows. */
int verify_plan_run(struct verify_plan *plan, const struct verify_kernel *k, uint64_t seed,
                    struct fe_err *err);

/* --- what came out --- */

/* (measured - published) / published in percent; only of a measured row. */
double verify_error(const struct verify_row *row);

/* "ok", "off", "known" (off, and the profile says why), "skipped", "failed", "left out",
 * "not run" (not yet, if it was interrupted). */
const char *verify_verdict(const struct verify_row *row);

void verify_print(const struct verify_plan *plan);
json_t *verify_json(const struct verify_plan *plan);

/* TOOL_OK, TOOL_NO if a row is off or failed, VERIFY_PART if only some could not be run. */
enum { VERIFY_PART = 3, VERIFY_INTERRUPTED = 130 };
int verify_code(const struct verify_plan *plan);

#endif
