/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The loop of `replay`: requests into a device in virtual time.
 *
 * Closed loop: `depth` requests are in flight; the next one arrives when one of them has
 * completed (and after its think time).  Timed: it arrives at its own time, counted from
 * the device's time at the start of the trace.
 */
#ifndef FLASHEMU_REPLAY_H
#define FLASHEMU_REPLAY_H

#include "payload.h"
#include "source.h"

#include <stdbool.h>
#include <stdint.h>

struct replay_options {
    uint32_t depth;
    bool timed, wrap, drop_trim, progress;
};

struct replay {
    struct fe_device *dev;
    struct replay_options opt;
    struct payload *payload;         /* NULL = no data */
    struct fe_trace_writer *record;  /* NULL = requests are not recorded */
    uint64_t capacity;
    bool discard;

    uint64_t *in_flight;             /* completions of the last `depth` requests, a heap */
    uint64_t start_ns;               /* the device's time when counting began */
    uint64_t base_ns;                /* timed: the trace's time 0 */

    /* since counting began */
    uint64_t records, dropped_trims;
    uint64_t failed[FE_N_REQ_TYPES]; /* requests that ended with an error */
    uint64_t corrected;
    double wall_seconds, cpu_seconds;
};

/* 0 or -ENOMEM.  The device stays the caller's. */
int replay_init(struct replay *r, struct fe_device *dev, const struct replay_options *opt,
                struct fe_err *err);
void replay_fini(struct replay *r);

/* Runs one source to its end.  Negative errno with message, which names the trace's line
 * if the request is the reason. */
int replay_run(struct replay *r, struct source *source, struct fe_err *err);

/* Counting starts here: what was run so far was the warm-up. */
void replay_reset(struct replay *r);

#endif
