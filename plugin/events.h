/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the device does, as a sequence of events, for those who listen on the control
 * socket.
 *
 * The device reports nothing.  After each call that may have changed something its tally
 * is compared with the one before; what has grown in between is an event.  The last
 * FE_EVENTS_KEPT of them are kept, whoever has read them: a listener who falls behind
 * loses the oldest, learns how many those were, and holds up nobody.
 *
 * Without a listener nothing is compared.
 *
 * Thread rule: every function under the device's lock, but for fe_events_wake, init and fini.
 */
#ifndef FLASHEMU_PLUGIN_EVENTS_H
#define FLASHEMU_PLUGIN_EVENTS_H

#include "flashemu/device.h"
#include "flashemu/err.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#define FE_EVENTS_KEPT 1024

enum fe_event_kind {
    FE_EVENT_COLLECTION,
    FE_EVENT_MERGE_SWITCH,
    FE_EVENT_MERGE_PARTIAL,
    FE_EVENT_MERGE_FULL,
    FE_EVENT_BAD_BLOCK,
    FE_EVENT_POWER_CUT,
    FE_EVENT_POWER_ON,
};

struct fe_event {
    enum fe_event_kind kind;
    uint64_t device_ns; /* of a cut its instant; else the device's clock after the call */
    uint64_t number;    /* collections and merges: how many in that call; the block that is
                         * bad; cuts so far */
};

struct fe_events {
    int wake_fd;        /* eventfd, readable when there is something new */
    uint32_t n_listeners;
    struct fe_tally last;
    struct fe_block_wear *blocks, *blocks_now; /* of the whole chip, while somebody listens */
    uint64_t end;       /* sequence number of the next event, the first is 0 */
    struct fe_event kept[FE_EVENTS_KEPT]; /* event i at i % FE_EVENTS_KEPT */
};

/* Nobody listens.  Errors of eventfd, with message. */
int fe_events_init(struct fe_events *ev, struct fe_err *err);
void fe_events_fini(struct fe_events *ev);

/* One more listener: *ret_next is the first event that will be new to it.  O(blocks) for
 * the first one.  -ENOMEM with message. */
int fe_events_listen(struct fe_events *ev, const struct fe_device *dev, uint64_t *ret_next,
                     struct fe_err *err);
void fe_events_unlisten(struct fe_events *ev);

/* Takes note of what the device has done since the last look; whether that is anything.
 * `marked`: a block was marked bad, which the tally does not tell.  O(1), but for new bad
 * blocks, which take a look at all. */
bool fe_events_look(struct fe_events *ev, const struct fe_device *dev, bool marked);

/* Makes wake_fd readable. */
void fe_events_wake(const struct fe_events *ev);

/* Copies events from *next on, at most max, and moves *next behind them; returns how many.
 * *ret_dropped of those before them have been lost. */
uint32_t fe_events_take(const struct fe_events *ev, uint64_t *next, struct fe_event *ret,
                        uint32_t max, uint64_t *ret_dropped);

/* The line of event number seq, as an object: a new reference, NULL without memory. */
json_t *fe_event_json(const struct fe_event *e, uint64_t seq);

#endif
