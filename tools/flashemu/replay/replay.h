/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The loop of `replay`, which sends requests to a device in virtual time.
 *
 * In the closed loop, `depth` requests are in flight.  The next request arrives when one of them
 * has completed, after the think time of the next request.  In a timed replay a request arrives at
 * its own time, which counts from the device's time at the start of the trace.
 */
#pragma once

#include "replay/payload.h"
#include "replay/repeat.h"
#include "replay/source.h"

#include <stdbool.h>
#include <stdint.h>

struct replay;

struct replay_options {
    uint32_t depth;
    bool timed, wrap, drop_trim;

    /* Called from time to time, `seconds` of the wall clock after counting began.  NULL: nobody
     * wants to know. */
    void (*progress)(struct replay *r, const struct source *s, double seconds);
};

struct replay {
    struct fe_device *dev;
    struct replay_options opt;
    struct payload *payload;         /* NULL = no data */
    struct fe_trace_writer *record;  /* NULL = requests are not recorded */
    struct repeat *repeat;           /* NULL = each source runs once */
    uint64_t capacity;
    bool discard;
    bool flush;                      /* the device offers flush and FUA */

    uint64_t *in_flight;             /* completions of the last `depth` requests, a heap */
    uint64_t asked_ns;               /* arrival of the last request */
    uint64_t start_ns;               /* the device's time when counting began */
    uint64_t base_ns;                /* timed: the trace's time 0 */
    bool warming;                    /* in phases of a recording that do not count */
    uint64_t think_ns;               /* of records that were left out in front of the next one */

    /* These count from start_ns on. */
    uint64_t records, dropped_trims;
    uint64_t user_bytes;             /* of the files of the recordings' users */
    uint64_t failed[FE_N_REQ_TYPES]; /* requests that ended with an error */
    uint64_t corrected;
    double wall_seconds, cpu_seconds;
    double shown_seconds;            /* of replay_show_progress, when it last did */
};

/* Returns 0, or -ENOMEM with message.  The caller keeps the device. */
int replay_init(struct replay *r, struct fe_device *dev, const struct replay_options *opt,
                struct fe_err *err);
void replay_fini(struct replay *r);

/* Runs one source to its end.  Of a recording with phases of warm-up, only what follows these
 * phases is counted.  A kernel sends neither flushes nor FUA to a device that does not offer them,
 * so there they are left out of a recording.  With `repeat`, it ends as soon as that has ended, and
 * from the second round on the phases of warm-up are left out.  Negative errno with message.  If a
 * request is the reason, the message names the line of the trace. */
int replay_run(struct replay *r, struct source *source, struct fe_err *err);

/* The progress of a terminal: a line on standard error, five times a second. */
void replay_show_progress(struct replay *r, const struct source *s, double seconds);

/* Starts counting: everything that was run so far was the warm-up. */
void replay_reset(struct replay *r);
