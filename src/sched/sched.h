/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The scheduler: it puts the medium's operations on timelines, and thereby gives them their times.
 *
 * A die does one thing at a time.  The die's page register is occupied from the start of a read
 * until the data have left, and from the first byte of a program until its end.  A channel carries
 * one transfer at a time.  Die and channel are given to operations in the order of appending:
 *
 *   read   die  |== tR ==|~ out ~|        program  die  |~ in ~|=== tPROG ===|
 *          chan          |~ out ~|                 chan |~ in ~|
 *
 * A batch is the part of the op list that belongs together: one page of a host command.  None of
 * its operations starts before the batch's ready time.
 *
 * A barrier, and the controller's own work (FE_OP_BUSY), wait for all earlier batches and delay all
 * later ones, because there is only one controller.
 *
 * An erase starts when all programs before it have ended.  The strategy has copied what is still
 * needed to another block before it erases.  A controller that did not wait for these copies would
 * lose the data in a power cut.
 *
 * With `nand.cached` a die has a second register: the data of the next page come in while a page is
 * being programmed, and the next page is read while a page leaves.  Then the array and the cache
 * register are separate timelines, and [start, end) of two operations of one die may overlap.
 *
 * No time is behind FE_TIME_MAX: what would be later happens then.
 *
 * A program that joins the one before (FE_OP_JOINS) brings more data of the same page: the page is
 * programmed when they are there, too, so the program before only ends later.
 *
 *     parts of a page   |~0~|=== tPROG ===|
 *     and the next          |~1~|=== tPROG ===|    placed as [the end of 0, its own end)
 *
 * All times are exact: the length of a transfer is bytes * 10^9 / rate, in 128 bits where needed,
 * rounded up once.  No lock, no clock.  O(1) for each operation.
 *
 * Not modelled: suspended operations, and filling gaps in a timeline with later operations.
 */
#pragma once

#include "nand/geometry.h"
#include "nand/ops.h"

struct fe_sched {
    /* The instant from which each timeline is free. */
    uint64_t *die_free_ns;  /* the array of a die */
    uint64_t *reg_free_ns;  /* the cache register of a die; as its array if not cached */
    uint64_t *chan_free_ns; /* a channel */
    bool cached;
    uint32_t n_dies, n_channels;
    uint16_t *chan_of;    /* per die: its channel */
    uint64_t bus_rate, command_ns;
    /* The current batch: its ready time, the end of its last operation, its latest end. */
    uint64_t ready_ns, prev_end_ns, max_end_ns;
    uint64_t hold_ns;     /* the end of the last barrier: no batch is ready before it */
    uint64_t all_end_ns;  /* the end of everything placed so far, for which a barrier waits */
    uint64_t prog_end_ns; /* the end of all programs placed so far, for which an erase waits */
    /* The last program, for one that joins it: when its data were in the register, and when the
     * array was free. */
    uint64_t loaded_ns, array_ns;
    /* The last transfer and its time, because nearly all transfers have the same size. */
    uint32_t memo_bytes;
    uint64_t memo_ns;
};

/* Makes all timelines, free from 0 on.  Returns 0, or -ENOMEM with a message. */
int fe_sched_init(struct fe_sched *s, const struct fe_nand_params *p,
                  const struct fe_geometry *geo, struct fe_err *err);
void fe_sched_fini(struct fe_sched *s);

/* Starts a batch: none of its operations starts before ready_ns. */
void fe_sched_begin(struct fe_sched *s, uint64_t ready_ns);

/* Places n operations of the current batch in order, and sets their start_ns and end_ns. */
void fe_sched_place(struct fe_sched *s, struct fe_op *ops, uint32_t n);

/* When the whole batch has ended; its ready time if it has no operation. */
static inline uint64_t fe_sched_end(const struct fe_sched *s)
{
    return s->max_end_ns;
}

/* When everything placed so far has ended. */
static inline uint64_t fe_sched_all_end(const struct fe_sched *s)
{
    return s->all_end_ns;
}

/* Forgets everything placed so far: every timeline is free from 0 on again. */
void fe_sched_reset(struct fe_sched *s);
