/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The parts of `verify`: rows (published figures) and experiments that measure them.  The kernel
 * that some experiments need is in verify/kernel.h.
 *
 * An experiment that runs in this process needs three things: a line for each of its figures in
 * the table of src/profile/procedures.c, a file NAME.c with a `run` function, and an entry in
 * verify_experiments of plan.c.  It makes devices with verify_device, sends them requests with
 * verify_request or verify_pattern, and reports figures with verify_put.
 */
#pragma once

#include "flashemu/device.h"
#include "flashemu/err.h"
#include "flashemu/profile.h"
#include "profile/notes.h"
#include "workload/pattern.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum verify_state {
    VERIFY_OPEN,     /* not run yet */
    VERIFY_LEFT_OUT, /* not asked for */
    VERIFY_MEASURED,
    VERIFY_SKIPPED,  /* this machine cannot run it */
    VERIFY_FAILED,   /* it has run, but has given no figure */
};

/* A published figure and what was measured for it. */
struct verify_row {
    const struct fe_profile_note *note; /* owned by the profile; the row's id is note->key */
    struct fe_fidelity published;
    enum verify_state state;
    uint64_t measured; /* in the unit of published.value */
    char why[200];     /* skipped or failed: the reason */
    char kernel[64];   /* which one has measured it; "": none */
};

/* One run of an experiment, for the rows of a profile that are its figures. */
struct verify_run {
    const struct fe_profile *profile; /* including the override of the procedure */
    const struct fe_procedure *procedure; /* of the first row */
    const uint64_t *arg;              /* of the first row */
    uint64_t seed;
    struct verify_row **rows;
    size_t n_rows;
    json_t *details;                  /* an object with further results */
};

struct verify_experiment {
    const char *name;
    /* Whether arguments only choose among the figures of one run.  Then rows with different
     * arguments share a run; otherwise all rows of a run have those of the first. */
    bool chooses;
    /* Measures, and reports every figure that the table lists for the experiment.  Returns 0, or
     * a negative errno with message; -ECANCELED as soon as verify_stopped() is true. */
    int (*run)(struct verify_run *run, struct fe_err *err);
};

/* The experiments of this process. */
int verify_append(struct verify_run *run, struct fe_err *err);
int verify_dd(struct verify_run *run, struct fe_err *err);
int verify_fio(struct verify_run *run, struct fe_err *err);
int verify_iozone(struct verify_run *run, struct fe_err *err);
int verify_sniff(struct verify_run *run, struct fe_err *err);
int verify_flashbench(struct verify_run *run, struct fe_err *err);
int verify_runs(struct verify_run *run, struct fe_err *err);
int verify_seq(struct verify_run *run, struct fe_err *err);

/* Reports a figure in bytes a second, ns, a number, or ppm.  Every row that asks for it gets it. */
void verify_put(struct verify_run *run, const char *procedure, uint64_t value);

/* Reports the figure of one row. */
void verify_put_row(struct verify_row *row, uint64_t value);

/* Bytes a second, rounded down; UINT64_MAX if ns is 0. */
uint64_t verify_rate(uint64_t bytes, uint64_t ns);

/* Reports a number for --json that is not a figure (write amplification, a spread ...). */
void verify_detail(struct verify_run *run, const char *key, double value);

/* A copy of a profile with each "SECTION.KEY=VALUE" of the list, which has blanks between them.
 * The caller frees *ret with fe_profile_fini; after a failure there is nothing to free.  Errors are
 * those of fe_profile_set, and -ENOMEM. */
int verify_overridden(struct fe_profile *ret, const struct fe_profile *p, const char *list,
                      struct fe_err *err);

/* From now on a signal that asks to stop is only noted.  Whether one has come. */
void verify_hear_signals(void);
bool verify_stopped(void);

/* Makes a device with the profile and the seed of the run, without payload. */
int verify_device(const struct verify_run *run, struct fe_device **ret, struct fe_err *err);

/* One request of a host that waits for the completion of each request.  *ret_ns is how long it
 * took; ret_ns may be NULL.  -EINVAL outside the device, -EIO if the medium failed, -ECANCELED if
 * verify_stopped(); with message. */
int verify_request(struct fe_device *dev, enum fe_req_type type, uint64_t offset, uint64_t len,
                   uint64_t *ret_ns, struct fe_err *err);

/* The same of a host that has other requests in flight.  The request arrives at arrival_ns, which
 * must not be before the arrival of an earlier one.  *ret_ns is when it completes. */
int verify_request_at(struct fe_device *dev, enum fe_req_type type, uint64_t arrival_ns,
                      uint64_t offset, uint64_t len, uint64_t *ret_ns, struct fe_err *err);

/* The host leaves the device alone for ns, and until a step of idle work that has begun by then has
 * ended.  A controller interrupts such a step for a request, which the model does not; without the
 * wait, the step would count as time of the first request. */
void verify_pause(struct fe_device *dev, uint64_t ns);

#define VERIFY_MAX_DEPTH 64
#define VERIFY_PAUSE_NS FE_NS_PER_S /* what a host needs to start the next program */

/* All whole blocks of [offset, offset + size) once. */
struct verify_load {
    enum fe_req_type type;
    uint64_t offset, bs, size; /* bytes; at most 2^32 blocks */
    uint64_t depth;            /* requests in flight: 1 to VERIFY_MAX_DEPTH */
    bool random;               /* in an order that `seed` draws */
    bool flush;                /* a flush at the end belongs to the time */
    uint64_t sync_every;       /* a flush behind each so many requests; 0: none */
    uint64_t gap;              /* in order: bytes that are left out behind each request */
    uint64_t page;             /* each request is widened to multiples of this; 0: it is not */
    uint64_t start_ns;         /* before the host sends the first request */
    uint64_t think_ns;         /* between an answer and the next request of its place */
    uint64_t limit_ns;         /* no request is sent after so long; 0: no limit */
    uint64_t *request_ns, *sync_ns; /* room for the time of each request and of each flush of
                                       sync_every, so many as there are blocks; NULL: not asked */
    uint64_t seed;
};

struct verify_done {
    uint64_t requests, ns;   /* how many, and from the first arrival to the last completion */
    uint64_t syncs, sync_ns; /* flushes of sync_every, and how long these took together */
};

/* Errors are those of verify_request. */
int verify_load(struct fe_device *dev, const struct verify_load *load, struct verify_done *ret,
                struct fe_err *err);

/* Bytes a second. */
uint64_t verify_load_rate(const struct verify_load *load, const struct verify_done *done);

/* Called with a request of a pattern and how long it took. */
typedef void verify_note(void *ctx, const struct fe_trace_rec *rec, uint64_t ns);

/* Sends the requests of a pattern, as verify_request does, and tells `note` of each.  Errors are
 * those of fe_pattern_create and verify_request. */
int verify_pattern(struct fe_device *dev, const char *spec, const struct fe_pattern_env *env,
                   verify_note *note, void *ctx, struct fe_err *err);

/* The median of n > 0 values, which get sorted. */
double verify_median(double *values, size_t n);
