/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Queue slots and a wire.  With one queue slot a command waits until the command before it has
 * completed, as on USB mass storage.  With more slots commands overlap, but their data still cross
 * the wire one after another.  In which order depends on link.queue: data that wait for the flash
 * keep the wire waiting (in-order), or leave a gap that a later command fills (any-order):
 *
 *     command 1     |overhead|====== flash ======|~~data~~|
 *     command 2     |overhead|= flash =|~~data~~|              any-order
 *     command 2     |overhead|= flash =|                  |~~data~~|     in-order
 *
 * The time of data is computed from the start of a run of bytes and from the number of bytes in
 * that run.  It is rounded up once, so that rounding errors do not add up over the pieces of a
 * command.
 *
 * Not modelled: packets, microframes and polling.  The bandwidth and the overhead stand for them.
 */
#include "host/link.h"

#include "base/num.h"
#include "base/rng.h"

#include <string.h>

void fe_link_init(struct fe_link *l, const struct fe_link_params *p)
{
    assert(p->queue_depth >= 1 && p->queue_depth <= FE_LINK_MAX_DEPTH);
    memset(l, 0, sizeof *l);
    l->p = *p;
}

void fe_link_set_delays(struct fe_link *l, const struct fe_link_params *p)
{
    l->p.bandwidth = p->bandwidth;
    l->p.command_overhead_ns = p->command_overhead_ns;
    l->p.task_overhead_ns = p->task_overhead_ns;
    l->p.write_overhead_ns = p->write_overhead_ns;
    l->p.busy_poll_ns = p->busy_poll_ns;
    l->p.busy_ask_ns = p->busy_ask_ns;
    l->p.busy_late_ppm = p->busy_late_ppm;
    l->memo_bytes = l->memo_ns = 0;
}

static uint64_t wire_ns(struct fe_link *l, uint64_t bytes)
{
    if (bytes == 0 || l->p.bandwidth == 0)
        return 0;
    if (bytes != l->memo_bytes) {
        l->memo_bytes = bytes;
        l->memo_ns = fe_muldiv_up(bytes, FE_NS_PER_S, l->p.bandwidth);
    }
    return l->memo_ns;
}

/* Gaps that have passed are of no use: no command arrives before now_ns any more. */
static void forget_gaps(struct fe_link *l, uint64_t now_ns)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < l->n_gaps; i++)
        if (l->gaps[i].to_ns > now_ns)
            l->gaps[n++] = l->gaps[i];
    l->n_gaps = n;
}

void fe_link_hold(struct fe_link *l, uint64_t at_ns)
{
    for (uint32_t i = 0; i < fe_link_depth(&l->p); i++)
        l->slot_free_ns[i] = at_ns;
    l->slots_free_ns = at_ns;
}

uint64_t fe_link_begin(struct fe_link *l, uint64_t now_ns)
{
    uint32_t depth = fe_link_depth(&l->p);
    l->slot = 0; /* any one that is free by now, or else the one that becomes free first */
    for (uint32_t i = 1; i < depth && l->slot_free_ns[l->slot] > now_ns; i++)
        if (l->slot_free_ns[i] < l->slot_free_ns[l->slot])
            l->slot = i;
    uint64_t start = fe_time_add(fe_max_u64(now_ns, l->slot_free_ns[l->slot]),
                                 l->p.command_overhead_ns);
    bool any_order = l->p.queue == FE_QUEUE_ANY_ORDER;
    if (any_order)
        forget_gaps(l, now_ns);
    l->data_start_ns = any_order ? start : fe_max_u64(start, l->wire_free_ns);
    l->data_bytes = 0;
    l->task_ns = l->p.queue == FE_QUEUE_OFF ? 0 : l->p.task_overhead_ns;
    return start;
}

uint64_t fe_link_take_turn(struct fe_link *l, uint64_t start_ns, bool writes, uint64_t from,
                           uint64_t to)
{
    if (writes)
        l->task_ns += l->p.write_overhead_ns;
    bool is_long = !writes && l->p.turn_read && to - from > l->p.turn_read;
    bool continues = from == l->turn_at && writes == l->turn_writes;
    l->turn_at = to;
    l->turn_writes = writes;
    if (!is_long && (continues || l->p.queue != FE_QUEUE_IN_TURN))
        return start_ns;
    uint64_t turn_ns = l->turn_ns;
    if (writes && !continues) /* the card hears of nothing while it is busy with what came before */
        turn_ns = fe_time_add(turn_ns, l->p.command_overhead_ns);
    l->data_start_ns = fe_max_u64(l->data_start_ns, turn_ns);
    return fe_max_u64(start_ns, turn_ns);
}

void fe_link_end_turn(struct fe_link *l, uint64_t end_ns)
{
    l->turn_ns = fe_max_u64(l->turn_ns, end_ns);
}

/* Puts [from, to) at place i of the gaps.  If there is no room the earliest gap is forgotten, which
 * is the one that can be used for the shortest time. */
static void insert_gap(struct fe_link *l, uint32_t i, uint64_t from, uint64_t to)
{
    if (from >= to)
        return;
    if (l->n_gaps == FE_LINK_MAX_DEPTH) {
        memmove(l->gaps, l->gaps + 1, --l->n_gaps * sizeof *l->gaps);
        if (i == 0)
            return;
        i--;
    }
    memmove(l->gaps + i + 1, l->gaps + i, (l->n_gaps - i) * sizeof *l->gaps);
    l->gaps[i] = (struct fe_link_gap){from, to};
    l->n_gaps++;
}

static void remove_gap(struct fe_link *l, uint32_t i)
{
    l->n_gaps--;
    memmove(l->gaps + i, l->gaps + i + 1, (l->n_gaps - i) * sizeof *l->gaps);
}

/* The first time from ready_ns on at which the wire is free for so long.  Takes it. */
static uint64_t take_wire(struct fe_link *l, uint64_t ready_ns, uint64_t ns)
{
    for (uint32_t i = 0; i < l->n_gaps; i++) {
        struct fe_link_gap g = l->gaps[i];
        uint64_t start = fe_max_u64(ready_ns, g.from_ns);
        if (fe_time_add(start, ns) > g.to_ns)
            continue;
        remove_gap(l, i);
        insert_gap(l, i, fe_time_add(start, ns), g.to_ns);
        insert_gap(l, i, g.from_ns, start);
        return start;
    }
    uint64_t start = fe_max_u64(ready_ns, l->wire_free_ns);
    insert_gap(l, l->n_gaps, l->wire_free_ns, start);
    l->wire_free_ns = fe_time_add(start, ns);
    return start;
}

/* With any-order each piece looks for a place of its own, and is rounded up by itself; otherwise a
 * command's data follow those of the command before. */
uint64_t fe_link_data(struct fe_link *l, uint64_t ready_ns, uint64_t bytes)
{
    uint64_t task_ns = l->task_ns;
    l->task_ns = 0;
    if (l->p.queue == FE_QUEUE_ANY_ORDER) {
        uint64_t ns = fe_time_add(task_ns, wire_ns(l, bytes));
        uint64_t start = take_wire(l, fe_max_u64(ready_ns, l->data_start_ns), ns);
        l->data_start_ns = fe_time_add(start, ns);
        return l->data_start_ns;
    }
    if (ready_ns > fe_time_add(l->data_start_ns, wire_ns(l, l->data_bytes))) {
        l->data_start_ns = ready_ns; /* the wire waits for the flash: a new run begins */
        l->data_bytes = 0;
    }
    l->data_start_ns = fe_time_add(l->data_start_ns, task_ns);
    l->data_bytes += bytes;
    l->wire_free_ns = fe_time_add(l->data_start_ns, wire_ns(l, l->data_bytes));
    return l->wire_free_ns;
}

uint64_t fe_link_send(struct fe_link *l, uint64_t ready_ns, uint64_t bytes, bool more)
{
    l->held += bytes;
    l->held_ns = fe_max_u64(l->held_ns, ready_ns);
    if (more && l->held < l->p.read_buffer)
        return 0;
    uint64_t sent_ns = fe_link_data(l, l->held_ns, l->held);
    l->held = l->held_ns = 0;
    return sent_ns;
}

/* If each question takes q, the host asks at in, in + q + p, in + 2 q + 3 p, in + 3 q + 7 p ..., or
 * a little later.  An answer comes q after its question and says what was true when that was
 * asked. */
uint64_t fe_link_asked(const struct fe_link *l, uint64_t in_ns, uint64_t end_ns)
{
    uint64_t wait = l->p.busy_poll_ns, at = in_ns;
    if (l->p.queue != FE_QUEUE_OFF || wait == 0)
        return end_ns;
    for (uint64_t n = 0; at < end_ns; wait *= 2, n++) {
        uint64_t late = fe_muldiv(wait, l->p.busy_late_ppm, 1000000);
        if (late)
            late = fe_rng_below(fe_rng(0, FE_RNG_HOST_ASKS, in_ns, n), late + 1);
        at = fe_time_add(at, fe_time_add(l->p.busy_ask_ns, wait + late));
    }
    return fe_time_add(at, l->p.busy_ask_ns);
}

void fe_link_end(struct fe_link *l, uint64_t complete_ns)
{
    l->slot_free_ns[l->slot] = complete_ns;
    l->slots_free_ns = fe_max_u64(l->slots_free_ns, complete_ns);
}
