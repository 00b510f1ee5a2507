/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The host's request queue: who is next when the link has a slot again.
 *
 * nbdkit hands the requests of a connection to several threads, which may overtake each
 * other on the way here.  A host in front of a real stick keeps its requests in a queue
 * of its own and sends one when the device can take it; so a small disorder of
 * sequential requests never reaches the device, where it would turn a linear stream into
 * random writes.  This is that queue: a request that finds every slot of the link taken
 * waits here, and when a slot is free the one goes first that continues where the last
 * one ended.  Without such a one it is the oldest, or, as a host's queue is sorted, the
 * start of the run of requests that leads up to it.  A request that FE_HOSTQ_BATCH younger
 * ones have overtaken goes first in any case.  (Not: so many in a row.  That would let one
 * in early whose predecessor was overtaken by a moment, in the midst of a stream.)
 *
 * Times do not change by it: the device would have let the request wait for the slot, and
 * computes its completion from the slot's, however late the hand-over.
 *
 * The caller owns the lock that protects the queue; all functions are called with it.
 */
#ifndef FLASHEMU_PLUGIN_HOSTQ_H
#define FLASHEMU_PLUGIN_HOSTQ_H

#include "flashemu/device.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#define FE_HOSTQ_BATCH 16 /* the batch of Linux' deadline schedulers */

struct fe_hostq_entry; /* on the waiting thread's stack */

struct fe_hostq {
    uint32_t slots, in_device;
    struct fe_hostq_entry *first, **last; /* in order of coming */
    uint64_t next_offset; /* where the last request let in has ended */
    enum fe_req_type next_type;
};

void fe_hostq_init(struct fe_hostq *q, uint32_t slots);

/* Returns, perhaps after having waited (with the lock released), when the request may
 * enter the device; true if it had to wait.  Every call is followed by one of
 * fe_hostq_leave, whatever becomes of the request. */
bool fe_hostq_enter(struct fe_hostq *q, pthread_mutex_t *lock, const struct fe_request *req);

/* The request has left the device: lets the next one in. */
void fe_hostq_leave(struct fe_hostq *q);

#endif
