/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The connection of a guest: vhost-user, as QEMU's "Vhost-user Protocol" describes it, the side of the
 * back end.
 *
 * A guest that shares its time (vhost/calendar.h) sends its kicks on this connection, and
 * is called on the one that it hands over (in-band notifications); others use descriptors of events.
 */
#pragma once

#include "blk.h"
#include "calendar.h"

struct fe_user {
    struct fe_blk *blk;
    struct fe_calendar *calendar; /* its fd is -1 if the guest has a time of its own */
    int fd;                       /* -1: no guest */
    int call_fd;                  /* for calls in the band; -1: none */
    uint64_t features, protocol;  /* which the guest has accepted */
    struct fe_memory memory;
    struct fe_ring rings[FE_QUEUES_MAX];
};

void fe_user_init(struct fe_user *u, struct fe_blk *blk, struct fe_calendar *calendar);

/* A guest has connected; and it is gone: its requests are forgotten, and its memory is given up. */
void fe_user_open(struct fe_user *u, int fd);
void fe_user_close(struct fe_user *u);

/* Functions that return a negative errno, with message but for -ECONNRESET, -EPIPE and -EINTR, mean
 * that the guest has to go. */

/* Reads one message, and does what it says. */
int fe_user_serve(struct fe_user *u, struct fe_err *err);

/* The guest has kicked this ring by its descriptor. */
int fe_user_kicked(struct fe_user *u, uint32_t i, struct fe_err *err);

/* Answers what is due at until_ns, and calls the guest.  Returns when it has taken note of that, if it
 * shares its time. */
int fe_user_answer(struct fe_user *u, uint64_t until_ns, struct fe_err *err);
