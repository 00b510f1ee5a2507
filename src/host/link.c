/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Queue slots and a wire.  With one queue slot a command waits until the command before it has
 * completed, as on USB mass storage.  With more slots commands overlap, but their data still cross
 * the wire one after another.
 *
 * The time of data is computed from the start of a run of bytes and from the number of bytes in
 * that run.  It is rounded up once, so that rounding errors do not add up over the pieces of a
 * command.
 *
 * Not modelled: packets, microframes and polling.  The bandwidth and the overhead stand for them.
 */
#include "host/link.h"

#include "base/num.h"

#include <string.h>

void fe_link_init(struct fe_link *l, const struct fe_link_params *p)
{
    assert(p->queue_depth >= 1 && p->queue_depth <= FE_LINK_MAX_DEPTH);
    memset(l, 0, sizeof *l);
    l->p = *p;
}

static uint64_t wire_ns(const struct fe_link *l, uint64_t bytes)
{
    return l->p.bandwidth ? fe_muldiv_up(bytes, FE_NS_PER_S, l->p.bandwidth) : 0;
}

uint64_t fe_link_begin(struct fe_link *l, uint64_t now_ns)
{
    l->slot = 0;
    for (uint32_t i = 1; i < l->p.queue_depth; i++)
        if (l->slot_free_ns[i] < l->slot_free_ns[l->slot])
            l->slot = i;
    uint64_t free_ns = fe_max_u64(now_ns, l->slot_free_ns[l->slot]);
    uint64_t start = fe_time_add(free_ns, l->p.command_overhead_ns);
    l->data_start_ns = fe_max_u64(start, l->wire_free_ns);
    l->data_bytes = 0;
    return start;
}

uint64_t fe_link_data_in(struct fe_link *l, uint64_t bytes)
{
    l->data_bytes += bytes;
    l->wire_free_ns = fe_time_add(l->data_start_ns, wire_ns(l, l->data_bytes));
    return l->wire_free_ns;
}

uint64_t fe_link_data_out(struct fe_link *l, uint64_t ready_ns, uint64_t bytes)
{
    if (ready_ns > fe_time_add(l->data_start_ns, wire_ns(l, l->data_bytes))) {
        l->data_start_ns = ready_ns; /* the wire waits for the flash: a new run begins */
        l->data_bytes = 0;
    }
    return fe_link_data_in(l, bytes);
}

void fe_link_end(struct fe_link *l, uint64_t complete_ns)
{
    l->slot_free_ns[l->slot] = complete_ns;
}
