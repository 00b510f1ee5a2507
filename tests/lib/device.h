/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A small device for tests that know all of its operations.  It has one die of 24 blocks, and each
 * block has 8 pages of 2048 bytes and 64 bytes of OOB.  tR is 25 us, tPROG 200 us and tBERS 1.5 ms;
 * the bus transfers 1 byte a ns.  There are 64 logical pages.
 */
#pragma once

#include "flashemu/device.h"

/* The profile of that device with this strategy. */
struct fe_profile ft_device_profile(const char *strategy);

/* The same with time for what carries the data: 100 ns for a command on the chip, and 10 us for one
 * on the link, which transfers 1 byte a ns. */
struct fe_profile ft_device_linked(const char *strategy);

/* The same by pages with so many channels of one die each, used, and without time but that of the
 * cells.  Page i lies on die i % dies. */
struct fe_profile ft_device_dies(uint32_t dies, uint32_t queue_depth);

/* Makes a device with payload and seed 1.  Ends the test if that fails. */
struct fe_device *ft_device_make(const struct fe_profile *p, bool power_cuts);

/* Fails the test unless such a device is refused with -errnum and a message that has this text. */
void ft_device_refused(const struct fe_profile *p, int errnum, const char *text);

/* Submits a request that arrives at `now` ns, and fails the test unless it succeeds. */
struct fe_reply ft_device_submit(struct fe_device *dev, enum fe_req_type type, uint64_t now,
                                 uint64_t offset, uint64_t len, void *buf, bool fua);
