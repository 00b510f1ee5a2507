/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Which requests make up a commit: the header says what one is.
 *
 *                  write              flush            write with FUA
 *     nothing      writes             nothing          a commit of its own
 *     writes       writes             synced           a commit of its own, writes stay
 *     synced       ends, writes       ends, nothing    ends with this
 */
#include "flashemu/commits.h"

#include "base/num.h"

void fe_commits_fail(struct fe_commits *c)
{
    c->has_write = c->is_synced = false;
}

/* Ends the open commit, if it is one. */
static void end(struct fe_commits *c)
{
    if (c->has_write && c->is_synced)
        fe_hist_add(&c->ended, c->end_ns - c->begin_ns);
    fe_commits_fail(c);
}

static void add_write(struct fe_commits *c, uint64_t arrival_ns)
{
    if (c->is_synced)
        end(c);
    if (!c->has_write)
        c->begin_ns = arrival_ns;
    c->has_write = true;
}

static void add_flush(struct fe_commits *c, uint64_t complete_ns)
{
    if (c->is_synced)
        end(c);
    if (!c->has_write)
        return;
    c->is_synced = true;
    c->end_ns = complete_ns;
}

static void add_fua(struct fe_commits *c, uint64_t arrival_ns, uint64_t complete_ns)
{
    if (c->is_synced) {
        c->end_ns = fe_max_u64(c->end_ns, complete_ns);
        end(c);
    } else {
        fe_hist_add(&c->ended, complete_ns - arrival_ns);
    }
}

void fe_commits_add(struct fe_commits *c, enum fe_req_type type, bool fua, uint64_t arrival_ns,
                    uint64_t complete_ns)
{
    bool writes = type == FE_REQ_WRITE || type == FE_REQ_FLUSH;

    if (writes && arrival_ns > c->seen_ns && arrival_ns - c->seen_ns > FE_COMMIT_PAUSE_NS)
        end(c);
    if (type == FE_REQ_FLUSH)
        add_flush(c, complete_ns);
    else if (type == FE_REQ_WRITE && fua)
        add_fua(c, arrival_ns, complete_ns);
    else if (type == FE_REQ_WRITE)
        add_write(c, arrival_ns);
    c->seen_ns = fe_max_u64(c->seen_ns, complete_ns);
}

void fe_commits_latency(const struct fe_commits *c, struct fe_hist *ret)
{
    *ret = c->ended;
    if (c->has_write && c->is_synced)
        fe_hist_add(ret, c->end_ns - c->begin_ns);
}

void fe_commits_reset(struct fe_commits *c)
{
    fe_commits_fail(c);
    fe_hist_reset(&c->ended);
}
