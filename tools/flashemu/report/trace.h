/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A trace in memory, for its numbers and for its figures.
 */
#pragma once

#include "report/report.h"

#include "flashemu/commits.h"
#include "flashemu/request.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct report_req {
    uint64_t time_ns, done_ns; /* done_ns 0: not recorded */
    uint64_t offset, len;
    uint32_t programmed; /* units of 512 bytes, at most UINT32_MAX */
    uint8_t type;
    bool fua;
    bool collected, merged; /* the request brought about a collection, a merge */
};

struct report_trace {
    struct report_req *reqs;
    size_t n, room;
    uint64_t count[FE_N_REQ_TYPES], bytes[FE_N_REQ_TYPES], in_order[FE_N_REQ_TYPES];
    uint64_t *latency[FE_N_REQ_TYPES]; /* of the requests with a completion, sorted */
    size_t n_latency[FE_N_REQ_TYPES];
    struct fe_commits commits; /* of requests with a completion */
    uint64_t begin_ns, end_ns, max_end, failed;
    const char *missing; /* what is said of a trace that is cut; NULL = it is not */
    double programmed; /* bytes; 0 = not recorded */
    bool timed; /* false: the x axis is the number of the request */
};

extern const char *const report_types[FE_N_REQ_TYPES];

/* The latency that the given share of the requests does not exceed; NAN if there is none. */
static inline double report_quantile(const struct report_trace *t, int type, double share)
{
    size_t n = t->n_latency[type];
    size_t i = (size_t)ceil(share * (double)n);
    return n ? (double)t->latency[type][i ? i - 1 : 0] : NAN;
}

/* Draws all figures that the trace has something for.  -ENOMEM with message. */
int report_figures_draw(FILE *out, const struct report_trace *t, struct fe_err *err);
