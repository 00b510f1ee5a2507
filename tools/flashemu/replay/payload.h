/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Data for `replay --payload`: what is written can be recognised when it is read back.
 *
 * A read or write goes through two calls, payload_begin and payload_end.
 */
#pragma once

#include "flashemu/device.h"
#include "flashemu/err.h"

#include <stdint.h>

struct payload;

/* For a device of this capacity.  Takes 4 bytes and a bit for each sector, which the host's kernel
 * allocates when they are touched.  -ENOMEM with message. */
int payload_create(struct payload **ret, const struct fe_device *dev, uint64_t seed,
                   struct fe_err *err);
void payload_destroy(struct payload *p);

/* A hint, which changes nothing: a read or write at this offset, inside the capacity, comes soon. */
void payload_fetch(const struct payload *p, uint64_t offset);

/* Returns a buffer for a request of whole sectors inside the capacity, filled with data if it is a
 * write.  It is valid until payload_end.  NULL without memory, with message. */
void *payload_begin(struct payload *p, const struct fe_request *req, struct fe_err *err);

/* To be called after the device has answered; also for trims, which have no buffer.  Remembers what
 * was written, or compares what was read. */
void payload_end(struct payload *p, const struct fe_request *req, enum fe_status status);

/* How many sectors were compared; how many of them differed from what was last written there, and
 * the offset of the first of these. */
uint64_t payload_verified(const struct payload *p);
uint64_t payload_wrong(const struct payload *p, uint64_t *ret_first);
