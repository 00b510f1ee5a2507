/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a device has behind it: its clock and its counters.
 *
 * They count from the first power-on of a new device, whatever has become of its server since.
 * Faults with a number (faults.fail:program_number, fail_erase) and draws for each write (power_cut) mean
 * this number, and the age of data is the difference of two times of this clock.
 *
 * What an image has of them:
 *
 *   end of a run       everything
 *   kill -9            What was true when the device returned from the last call.  What the call
 *                      that was killed has done may lie in the image and not be counted.  But a fault
 *                      with a number counts before it strikes: it never strikes twice.
 *   crash of the host  With sync=flush: what was true when the last sync began, or something later.
 *                      With sync=none nothing is promised, as for the data.
 *
 * In all of these cases the clock is not behind any time that a block of the image says: a chip that
 * is loaded takes the latest of them.  So it is with images of versions that had no such record.
 * The record is written with each call that changes it, in one write of the host.
 */
#pragma once

#include "nand/chip.h"

/* The first power-on: everything before does not count. */
void fe_chip_begin_lifetime(struct fe_chip *c);

/* How often the chip was told to program a page. */
static inline uint64_t fe_chip_programs(const struct fe_chip *c)
{
    return c->seq + c->unnumbered;
}

/* A write of the host was carried out. */
static inline void fe_chip_count_write(struct fe_chip *c)
{
    c->life.n_writes++;
}

/* A program after which no page has a number of its own: it failed, or it was a copy to a spare. */
static inline void fe_chip_count_unnumbered(struct fe_chip *c)
{
    c->unnumbered++;
}

/* A block is about to be erased. */
static inline void fe_chip_count_erase(struct fe_chip *c)
{
    c->life.n_erases++;
}

/* Power has been cut at this time. */
static inline void fe_chip_set_last_cut(struct fe_chip *c, uint64_t at_ns)
{
    c->life.last_cut_ns = at_ns;
}

/* It is at_ns, or later: the clock does not go back.  The image gets everything. */
void fe_chip_save_lifetime(struct fe_chip *c, uint64_t at_ns);

/* The end of a run: the image gets the reads of all blocks, too.  O(blocks). */
void fe_chip_end_run(struct fe_chip *c, uint64_t at_ns);
