/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Records that do not come in order of time, or whose end comes later.
 */
#pragma once

#include "workload/formats/format.h"

/* Hands in a record; rec->line is set.  Records are delivered in order of time among those that are
 * held.  `waits`: it is held until fe_trace_complete tells when it was done, thousands of others
 * have come, or the trace ends.  0 or -ENOMEM with message. */
int fe_trace_hold(struct fe_trace_reader *r, const struct fe_trace_rec *rec, bool waits,
                  struct fe_err *err);

/* The oldest held record of this request that waits was done at done_ns.  If there is none, nothing
 * happens. */
void fe_trace_complete(struct fe_trace_reader *r, const struct fe_trace_rec *request,
                       uint64_t done_ns);

/* Takes the next held record that is to be delivered now.  False if there is none.  fe_trace_unhold
 * frees them all. */
bool fe_trace_release(struct fe_trace_reader *r, struct fe_trace_rec *ret);
void fe_trace_unhold(struct fe_trace_reader *r);
