/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the device does, as a sequence of events, for the clients that listen on the control
 * socket.
 *
 * The device itself reports nothing.  After each call that may have changed something, its
 * counters are compared with those before the call, and whatever has grown becomes an event.  So
 * an event says how many collections a call did, but not when each of them began.
 *
 * The last FE_EVENTS_KEPT events are kept, whether anybody has read them or not.  A listener that
 * falls behind loses the oldest events, is told how many it has lost, and delays nobody.
 *
 * Without a listener nothing is compared.
 *
 * Thread rule: all functions are called under the device's lock, except fe_events_wake,
 * fe_events_init and fe_events_fini.
 */
#pragma once

#include "flashemu/device.h"
#include "flashemu/err.h"
#include "flashemu/map.h"

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
    FE_EVENT_STATE, /* the device works differently from now on; cuts are told as such */
};

struct fe_event {
    enum fe_event_kind kind;
    uint64_t device_ns; /* of a power cut: when it was; otherwise the device's clock afterwards */
    uint64_t number;    /* collections and merges: how many in this call; bad blocks: which
                         * block of the chip; cuts and power-on: how many cuts so far;
                         * states: enum fe_condition */
};

struct fe_events {
    int wake_fd;        /* an eventfd, readable when there are new events */
    uint32_t n_listeners;
    struct fe_tally last;
    enum fe_condition told; /* the last condition besides "no power" */
    struct fe_block_wear *blocks, *blocks_now; /* of the whole chip; NULL without listeners */
    uint64_t end;       /* the number of the next event; the first one is 0 */
    struct fe_event kept[FE_EVENTS_KEPT]; /* event i is at i % FE_EVENTS_KEPT */
};

/* At the beginning nobody listens.  Errors of eventfd, with message. */
int fe_events_init(struct fe_events *ev, struct fe_err *err);
void fe_events_fini(struct fe_events *ev);

/* Adds a listener.  *ret_next is the number of the first event that is new to it.  O(blocks) for
 * the first listener.  -ENOMEM with message. */
int fe_events_listen(struct fe_events *ev, const struct fe_device *dev, uint64_t *ret_next,
                     struct fe_err *err);
void fe_events_unlisten(struct fe_events *ev);

/* Finds out what the device has done since the last look, and keeps it as events.  Returns whether
 * there are any.  `marked` says that a block was marked bad, which the device's counters do not
 * show.  O(1); O(blocks) if there are new bad blocks. */
bool fe_events_look(struct fe_events *ev, const struct fe_device *dev, bool marked);

/* Makes wake_fd readable. */
void fe_events_wake(const struct fe_events *ev);

/* Copies at most max events from number *next on, moves *next behind them, and returns how many
 * there are.  *ret_dropped is the number of events before them that are lost. */
uint32_t fe_events_take(const struct fe_events *ev, uint64_t *next, struct fe_event *ret,
                        uint32_t max, uint64_t *ret_dropped);

/* Event number seq as an object: a new reference, or NULL without memory. */
json_t *fe_event_json(const struct fe_event *e, uint64_t seq);
