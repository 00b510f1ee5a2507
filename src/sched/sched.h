/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The scheduler: puts the medium's operations on timelines.
 *
 * A die does one thing at a time; its page register is occupied from the start of a
 * read until the data have left, and a program needs it from the first byte in.  A
 * channel carries one transfer at a time.  Both are taken in order of appending:
 *
 *   read   die  |== tR ==|~ out ~|        program  die  |~ in ~|=== tPROG ===|
 *          chan          |~ out ~|                 chan |~ in ~|
 *
 * A batch is a run of op-list drains that belong together (one page of a host
 * command): all of its ops start no earlier than its ready time.  A barrier or the
 * controller's own work waits for earlier batches and holds later ones back, too: there
 * is one controller.
 *
 * An erase starts when all programs before it have ended: whoever erases has moved what is
 * still wanted, and a controller that did not wait for the copies would lose it in a power
 * cut.
 *
 * Exact: a transfer's length is bytes * 10^9 / rate, in 128 bits where needed,
 * rounded up once.  No lock, no clock.  O(1) an op.
 *
 * With `nand.cached` a die has a second register: the next page's data come in while one
 * is being programmed, and the next page is read while one leaves.  Then the array and
 * the cache register are timelines of their own, and [start, end) of two ops of one die
 * may overlap.
 *
 * Not modelled: suspends, backfilling of gaps.
 */
#ifndef FE_SCHED_SCHED_H
#define FE_SCHED_SCHED_H

#include "nand/geometry.h"
#include "nand/ops.h"

struct fe_sched {
    uint64_t *die_free_ns, *chan_free_ns; /* of a die: its array */
    uint64_t *reg_free_ns;                /* the cache register; as the array if not cached */
    bool cached;
    uint32_t n_dies, n_channels;
    struct fe_fastdiv by_channels;
    uint64_t bus_rate, command_ns;
    /* the batch */
    uint64_t ready_ns, prev_end_ns, max_end_ns;
    uint64_t hold_ns;    /* the last barrier */
    uint64_t all_end_ns; /* the end of everything placed so far, which a barrier waits for */
    uint64_t prog_end_ns; /* of the programs placed so far, which an erase waits for */
    /* the last transfer's length, since nearly all have the same size */
    uint32_t memo_bytes;
    uint64_t memo_ns;
};

/* All timelines free at 0.  -ENOMEM. */
int fe_sched_init(struct fe_sched *s, const struct fe_nand_params *p,
                  const struct fe_geometry *geo, struct fe_err *err);
void fe_sched_fini(struct fe_sched *s);

/* Starts a batch: none of its ops starts before ready_ns. */
void fe_sched_begin(struct fe_sched *s, uint64_t ready_ns);

/* Places ops in order and sets their start_ns and end_ns. */
void fe_sched_place(struct fe_sched *s, struct fe_op *ops, uint32_t n);

/* When everything of the batch has ended; its ready time if it had no op. */
static inline uint64_t fe_sched_end(const struct fe_sched *s)
{
    return s->max_end_ns;
}

/* When everything placed so far has ended. */
static inline uint64_t fe_sched_all_end(const struct fe_sched *s)
{
    return s->all_end_ns;
}

/* Forgets all reservations: every timeline is free at 0 again. */
void fe_sched_reset(struct fe_sched *s);

#endif
