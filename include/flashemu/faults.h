/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Faults on purpose: what an adapter may do to a device of device.h that works.  flashemu/map.h
 * shows the blocks.  Faults that come by chance, or by a plan, are keys of the profile.
 *
 * Thread rule: as for the device.
 */
#pragma once

#include "flashemu/err.h"
#include "flashemu/types.h"

#include <stdint.h>

struct fe_device;

/* Makes a chip block bad: its data go to a spare block, which takes device time.  Without a spare
 * block it is the end of the device's life.  -EINVAL with a message if there is no such block, if it
 * is bad already, or without power; the host's errno if the image cannot be written.  The same holds
 * for the next two functions. */
int fe_device_mark_bad(struct fe_device *dev, uint64_t now_ns, fe_chip_block block,
                       struct fe_err *err);

/* Flips that many more bits of a page, in its first codeword; ppn counts pages of chip blocks.
 * They stay wrong until the page is programmed again.  -EINVAL also if the page is erased. */
int fe_device_flip(struct fe_device *dev, fe_ppn ppn, uint32_t bits, struct fe_err *err);

/* Says that a chip block has been erased so many times. */
int fe_device_set_cycles(struct fe_device *dev, fe_chip_block block, uint32_t cycles,
                         struct fe_err *err);

/* The next request takes that much longer. */
void fe_device_hang(struct fe_device *dev, uint64_t ns);

/* The device leaves the bus until that time: requests get FE_GONE immediately and do nothing. */
void fe_device_disconnect(struct fe_device *dev, uint64_t until_ns);
