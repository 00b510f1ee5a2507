/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A small device for tests that know all of its operations.  It has one die of 24 blocks, and each
 * block has 8 pages of 2048 bytes and 64 bytes of OOB.  tR is 25 us, tPROG 200 us and tBERS 1.5 ms;
 * the bus transfers 1 byte a ns.  There are 64 logical pages.
 */
#ifndef FT_DEVICE_H
#define FT_DEVICE_H

#include "flashemu/device.h"

/* The profile of that device with this strategy. */
struct fe_profile ft_device_profile(const char *strategy);

/* Makes a device with payload and seed 1.  Ends the test if that fails. */
struct fe_device *ft_device_make(const struct fe_profile *p, bool power_cuts);

#endif
