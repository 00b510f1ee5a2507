/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A ring of events, in which each listener has its own place:
 *
 *      0            end - FE_EVENTS_KEPT                 end
 *      |. . forgotten . .|======== kept =================|
 *                  ^next of a slow listener  ^next of a quick one
 *
 * The counters do not tell in which order things happened within one call.  The order of its
 * events is fixed: collections and merges, then bad blocks, then the power cut in which the call
 * ended, then power-on, then a new state.  The counters do not tell which blocks a merge joined,
 * either.
 */
#include "events.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

int fe_events_init(struct fe_events *ev, struct fe_err *err)
{
    memset(ev, 0, sizeof *ev);
    ev->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    return ev->wake_fd >= 0 ? 0 : fe_err_set(err, errno, "eventfd: %s", strerror(errno));
}

static void free_blocks(struct fe_events *ev)
{
    free(ev->blocks);
    free(ev->blocks_now);
    ev->blocks = ev->blocks_now = NULL;
}

void fe_events_fini(struct fe_events *ev)
{
    free_blocks(ev);
    if (ev->wake_fd >= 0)
        close(ev->wake_fd);
    ev->wake_fd = -1;
}

int fe_events_listen(struct fe_events *ev, const struct fe_device *dev, uint64_t *ret_next,
                     struct fe_err *err)
{
    if (ev->n_listeners == 0) {
        uint32_t n = fe_device_blocks(dev);
        ev->blocks = calloc(n, sizeof *ev->blocks);
        ev->blocks_now = calloc(n, sizeof *ev->blocks_now);
        if (n && (!ev->blocks || !ev->blocks_now)) {
            free_blocks(ev);
            return fe_err_nomem(err, "events", 2ull * n * sizeof *ev->blocks);
        }
        fe_device_get_blocks(dev, ev->blocks);
        fe_device_get_tally(dev, &ev->last);
        ev->told = ev->last.condition;
    }
    ev->n_listeners++;
    *ret_next = ev->end;
    return 0;
}

void fe_events_unlisten(struct fe_events *ev)
{
    assert(ev->n_listeners > 0);
    if (--ev->n_listeners == 0)
        free_blocks(ev);
}

static void add(struct fe_events *ev, enum fe_event_kind kind, uint64_t device_ns, uint64_t number)
{
    ev->kept[ev->end++ % FE_EVENTS_KEPT] =
        (struct fe_event){.kind = kind, .device_ns = device_ns, .number = number};
}

static void add_grown(struct fe_events *ev, enum fe_event_kind kind, uint64_t device_ns,
                      uint64_t before, uint64_t now)
{
    if (now > before)
        add(ev, kind, device_ns, now - before);
}

static void look_for_bad_blocks(struct fe_events *ev, const struct fe_device *dev,
                                uint64_t device_ns)
{
    fe_device_get_blocks(dev, ev->blocks_now);
    for (uint32_t peb = 0; peb < fe_device_blocks(dev); peb++)
        if (ev->blocks_now[peb].state == FE_BLOCK_GROWN_BAD &&
            ev->blocks[peb].state != FE_BLOCK_GROWN_BAD)
            add(ev, FE_EVENT_BAD_BLOCK, device_ns, peb);
    struct fe_block_wear *old = ev->blocks;
    ev->blocks = ev->blocks_now;
    ev->blocks_now = old;
}

bool fe_events_look(struct fe_events *ev, const struct fe_device *dev, bool marked)
{
    const struct fe_tally *was = &ev->last;
    struct fe_tally is;
    uint64_t end = ev->end, at_ns = fe_device_now(dev), done_ns;

    if (ev->n_listeners == 0)
        return false;
    fe_device_get_tally(dev, &is);
    done_ns = is.cuts > was->cuts && is.last_cut_ns < at_ns ? is.last_cut_ns : at_ns;
    add_grown(ev, FE_EVENT_COLLECTION, done_ns, was->gc_runs, is.gc_runs);
    add_grown(ev, FE_EVENT_MERGE_SWITCH, done_ns, was->merges_switch, is.merges_switch);
    add_grown(ev, FE_EVENT_MERGE_PARTIAL, done_ns, was->merges_partial, is.merges_partial);
    add_grown(ev, FE_EVENT_MERGE_FULL, done_ns, was->merges_full, is.merges_full);
    if (marked || is.failures != was->failures)
        look_for_bad_blocks(ev, dev, done_ns);
    if (is.cuts > was->cuts)
        add(ev, FE_EVENT_POWER_CUT, is.last_cut_ns, is.cuts);
    if (is.is_on && (!was->is_on || is.cuts > was->cuts))
        add(ev, FE_EVENT_POWER_ON, at_ns, is.cuts);
    if (is.condition != ev->told && is.condition != FE_COND_NO_POWER) {
        add(ev, FE_EVENT_STATE, at_ns, is.condition);
        ev->told = is.condition;
    }
    ev->last = is;
    return ev->end > end;
}

void fe_events_wake(const struct fe_events *ev)
{
    /* The counter can only be full, and then it is readable. */
    (void)!write(ev->wake_fd, &(uint64_t){1}, sizeof(uint64_t));
}

uint32_t fe_events_take(const struct fe_events *ev, uint64_t *next, struct fe_event *ret,
                        uint32_t max, uint64_t *ret_dropped)
{
    uint64_t oldest = ev->end > FE_EVENTS_KEPT ? ev->end - FE_EVENTS_KEPT : 0;
    uint32_t n = 0;
    *ret_dropped = *next < oldest ? oldest - *next : 0;
    *next += *ret_dropped;
    while (n < max && *next < ev->end)
        ret[n++] = ev->kept[(*next)++ % FE_EVENTS_KEPT];
    return n;
}

json_t *fe_event_json(const struct fe_event *e, uint64_t seq)
{
    static const struct {
        const char *event, *merge, *number;
    } names[] = {
        [FE_EVENT_COLLECTION] = {"collection", NULL, "count"},
        [FE_EVENT_MERGE_SWITCH] = {"merge", "switch", "count"},
        [FE_EVENT_MERGE_PARTIAL] = {"merge", "partial", "count"},
        [FE_EVENT_MERGE_FULL] = {"merge", "full", "count"},
        [FE_EVENT_BAD_BLOCK] = {"bad-block", NULL, "block"},
        [FE_EVENT_POWER_CUT] = {"power-cut", NULL, "cuts"},
        [FE_EVENT_POWER_ON] = {"power-on", NULL, "cuts"},
    };
    if (e->kind == FE_EVENT_STATE)
        return json_pack("{s:s, s:I, s:I, s:s, s:s?}", "event", "state", "seq", (json_int_t)seq,
                         "device_ns", (json_int_t)e->device_ns, "state",
                         fe_condition_state((enum fe_condition)e->number), "reason",
                         fe_condition_reason((enum fe_condition)e->number));
    return json_pack("{s:s, s:I, s:I, s:s*, s:I}", "event", names[e->kind].event, "seq",
                     (json_int_t)seq, "device_ns", (json_int_t)e->device_ns, "merge",
                     names[e->kind].merge, names[e->kind].number, (json_int_t)e->number);
}
