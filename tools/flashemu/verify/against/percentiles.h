/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Percentiles of latencies: how long 99 % of the writes took, or of the syncs behind them.
 *
 * A benchmark prints many for one run, and so they count in no error of the search, and not among the
 * points.  The percentile P of n times is the one of rank ceil(P n), as fio counts.  Where n is so
 * small that it would be the least or the greatest time, it says nothing and is not compared.
 */
#pragma once

#include "verify/against/against.h"
#include "verify/verify.h"

/* The times of a load; zeroed: nobody takes any. */
struct against_times {
    uint64_t *request_ns, *sync_ns, *sorted;
    uint64_t room;
};

/* Room for so many requests; -ENOMEM with message.  Needs against_times_fini in any case. */
int against_times_init(struct against_times *t, uint64_t room, struct fe_err *err);
void against_times_fini(struct against_times *t);

/* Reads the percentiles of a point; NULL has none.  -EINVAL with a message that names the member, and
 * -ENOMEM.  p->shares must be freed in any case. */
int against_take_percentiles(struct against_point *p, const json_t *percentiles, const char *path,
                             struct fe_err *err);

/* Fills in what the load has measured. */
void against_percentiles(struct against_point *p, struct against_times *t,
                         const struct verify_done *done);

/* Why a percentile is not compared; "" if it is. */
const char *against_share_reason(const struct against_point *p, const struct against_share *s);

double against_share_error(const struct against_share *s); /* in percent; only of one compared */
