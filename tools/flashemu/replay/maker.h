/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The data of requests to come, made by a thread of its own.
 *
 * The caller puts requests into a ring in their order, and takes them out in the same order when
 * they have been made.
 *
 *     taken          made                 put
 *       |              |                    |
 *  -----+--------------+--------------------+----->  jobs
 *         ready for      the thread works
 *         the caller     on these
 *
 * A job belongs to the thread from maker_put to the time when it is made, and to the caller
 * otherwise.  So does the table of generations: the thread has it while a job is not made.
 */
#ifndef FLASHEMU_MAKER_H
#define FLASHEMU_MAKER_H

#include "flashemu/device.h"

#include <stdbool.h>
#include <stdint.h>

/* Each line of the cache that one thread writes and the other reads costs both of them time, so a
 * job is half a line. */
struct maker_job {
    uint64_t offset;
    uint8_t *buf;          /* of the caller's */
    uint32_t *generations; /* of a read: room for one for each sector; made: what it must find */
    uint32_t n_sectors;
    bool is_write;         /* or a read */
    bool past_cache;       /* buf is not in the processor's cache, and need not come there */
};

/* Makes a job. */
typedef void maker_fn(void *ctx, struct maker_job *job);
/* A hint that a job will be made soon. */
typedef void maker_ask_fn(void *ctx, const struct maker_job *job);

struct maker;

enum { MAKER_JOBS = 128 }; /* put and not taken */

/* NULL if there can be no thread or no memory. */
struct maker *maker_create(maker_fn *make, maker_ask_fn *ask, void *ctx);
/* Jobs that the thread knows of are made first, so their buffers must stay until then; others are
 * dropped.  NULL is allowed. */
void maker_destroy(struct maker *m);

/* How many jobs can be put. */
unsigned maker_room(const struct maker *m);
/* The next job's number in [0, MAKER_JOBS) is maker_next; it is the caller's to fill, and maker_put
 * gives it to the thread, which hears of it soon. */
unsigned maker_next(const struct maker *m);
void maker_put(struct maker *m, const struct maker_job *job);

/* The oldest job that was put, as soon as it is made; NULL if there is none.  maker_done gives its
 * place free. */
struct maker_job *maker_take(struct maker *m);
void maker_done(struct maker *m);

#endif
