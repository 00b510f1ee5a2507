/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Power cuts that somebody chooses: every instant at which the outcome can differ.
 *
 * A chip that loses power differs only by the programs and erases that were under way: each of them
 * has not begun, is torn, or was done.  So it is enough to cut once inside each operation, with each
 * of these outcomes:
 *
 *     operations    [--- 0 ---)  [--- 1 ---)  [- 2 -)
 *     instants           ^            ^          ^
 *     outcomes         0 1 2        0 1 2      0 1 2       0 not begun, 1 torn, 2 done
 *
 * The instant before an operation is the same as inside it with outcome 0, and the one behind it the
 * same as with outcome 2.  Operations of other dies that are under way then have an outcome that is
 * drawn.  Power can be cut again while the device recovers, in the same way.
 *
 * For whoever looks at many cuts of one device: tests/crash, which knows what each sector may hold,
 * and `flashemu cuts`.  The device must have options.power_cuts.
 */
#pragma once

#include "flashemu/device.h"
#include "nand/undo.h"

/* How many operations a cut could take back now; they are numbered from 0, the oldest one. */
uint32_t fe_cuts_ops(const struct fe_device *dev);

/* Finds an instant inside operation i and inside [from, to).  False if there is none. */
bool fe_cuts_instant(const struct fe_device *dev, uint32_t i, uint64_t from, uint64_t to,
                     uint64_t *ret_at);

/* Cuts power at that instant.  Operation `op` has that outcome; FE_CUTS_NO_OP: there is none that is
 * chosen.  The outcome of all others is drawn by `seed`.  Nothing is drawn, and nothing is taken
 * back, if there is a capacitor. */
#define FE_CUTS_NO_OP UINT32_MAX
void fe_cuts_cut(struct fe_device *dev, uint64_t at_ns, uint32_t op, enum fe_cut_outcome outcome,
                 uint64_t seed);

/* What is drawn at power-on (dead, map lost, stale) and about pages that share cells is drawn by this
 * seed from now on.  The device is to be cut next. */
void fe_cuts_reseed(struct fe_device *dev, uint64_t seed);

/* Whether the outcome depends on operations at all: not with a capacitor, which lets all of them
 * finish. */
bool fe_cuts_can_tear(const struct fe_device *dev);

/* Where the newest copy of a logical page is.  Two devices of which one was copied from the other
 * have the same bytes in a page if its place is the same in both, and if it is not cached.  A device
 * that may have lied about where something is, or what it read, says nothing by its places. */
struct fe_cuts_place {
    uint64_t seq;  /* of its program; 0: none */
    fe_ppn ppn;
    bool is_cached; /* the write cache holds a part of it */
};

/* The number of logical pages, and the place of one.  Costs no time of the device.  0 pages: the
 * strategy does not use the chip, or the device claims more capacity than it has, and places say
 * nothing. */
uint32_t fe_cuts_pages(const struct fe_device *dev);
struct fe_cuts_place fe_cuts_place(const struct fe_device *dev, fe_lpn lpn);
