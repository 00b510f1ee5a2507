/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The latency of commits: what fsync, and so a database's transaction, waits for.
 *
 *      W  W  F        W  W  F  Wf        Wf        W  (pause)  W  F
 *     |------|       |----------|       |--|                  |----|
 *     data, flush    ext4's journal     O_DSYNC    written back
 *
 * A commit is the writes and what makes them durable.  It begins when the first of the writes
 * arrives, and ends when the flush behind them has ended (F).  If the next request that writes is
 * one with FUA (Wf), as the commit block of a journal is, the commit ends with that.  A write with
 * FUA that no flush precedes is a commit of its own, because it makes nothing else durable.
 *
 * Writes behind which the host has paused for more than FE_COMMIT_PAUSE_NS belong to no commit:
 * nobody waits for them.  A host that writes back and syncs without such a pause in between cannot
 * be told from one that syncs all of that.  Reads and trims belong to no commit either.
 *
 * There is no lock: the owner serialises all calls.
 */
#pragma once

#include "flashemu/hist.h"
#include "flashemu/request.h"

#include <stdbool.h>

#define FE_COMMIT_PAUSE_NS UINT64_C(1000000)

struct fe_commits {
    struct fe_hist ended;     /* latencies of the commits that no request can continue any more */
    uint64_t begin_ns, end_ns; /* of the open commit */
    bool has_write, is_synced; /* the open commit has a write; has been flushed */
    uint64_t seen_ns;          /* when the last request ended */
};

/* A request that was done, in the order of the arrivals.  O(1). */
void fe_commits_add(struct fe_commits *c, enum fe_req_type type, bool fua, uint64_t arrival_ns,
                    uint64_t complete_ns);

/* A write or a flush has failed: what it belongs to is no commit. */
void fe_commits_fail(struct fe_commits *c);

/* The latencies of all commits so far; the last one counts although a write with FUA might still
 * continue it. */
void fe_commits_latency(const struct fe_commits *c, struct fe_hist *ret);

/* Forgets all commits, also the open one. */
void fe_commits_reset(struct fe_commits *c);
