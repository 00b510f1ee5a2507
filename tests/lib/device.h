/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A small device for tests that know every operation of it: one die of 24 blocks with 8
 * pages of 2048 bytes and 64 of OOB, tR 25 us, tPROG 200 us, tBERS 1.5 ms, a bus of 1 byte
 * a ns, 64 logical pages, any strategy.
 */
#ifndef FT_DEVICE_H
#define FT_DEVICE_H

#include "flashemu/device.h"

struct fe_profile ft_device_profile(const char *strategy);

/* With payload, of seed 1; ends the test if it cannot be made. */
struct fe_device *ft_device_make(const struct fe_profile *p, bool power_cuts);

#endif
