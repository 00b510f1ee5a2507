/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The block device of virtio (5.2 of the standard) in front of the server: what the guest is told of
 * it, and what becomes of a request.
 *
 *     the guest               the device
 *     read, write             the same
 *     flush                   the same, if the device has a cache, or an image
 *     discard                 trim, if the device has it
 *     write zeroes            trim, if the guest allows that and the device keeps it; else a write; not
 *                             offered by a device without trim, whose host has to write zeros itself
 *     get the id              nothing: "flashemu-PROFILE"
 *
 * A request begins when it is taken from its ring, and its answer is given when it is due.  Requests
 * that are due at the same instant are answered in the order in which they were taken.
 */
#pragma once

#include "ring.h"
#include "server.h"

#include <stddef.h>

#define FE_QUEUES_MAX 16

struct fe_blk_job;

struct fe_blk {
    struct fe_server *server;
    const struct fe_params *params;
    const struct fe_profile *profile;
    uint32_t n_queues;
    struct fe_blk_job *first; /* those that are not answered, by the time at which they are due */
    unsigned reported;        /* a bit for each kind of failure that was said already */
};

/* The features of the block device, without those of the transport. */
uint64_t fe_blk_features(const struct fe_blk *b);

/* The configuration that the guest reads: len bytes, those that it does not have as zeros. */
void fe_blk_config(const struct fe_blk *b, void *ret, size_t len);

/* Takes and begins what the guest has offered in a ring, at_ns as for fe_server_begin.  0, or a
 * negative errno with message if the guest has broken the ring. */
int fe_blk_take(struct fe_blk *b, struct fe_ring *ring, const struct fe_memory *m, uint64_t at_ns,
                struct fe_err *err);

/* When the next request is due, or UINT64_MAX. */
uint64_t fe_blk_due(const struct fe_blk *b);

/* Answers what is due at until_ns, and what was before.  UINT64_MAX: all. */
void fe_blk_answer(struct fe_blk *b, uint64_t until_ns);

/* The guest is gone: nobody gets an answer. */
void fe_blk_forget(struct fe_blk *b);
