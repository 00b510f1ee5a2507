/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Data for `replay --payload`: what is written can be recognised when it is read back.
 */
#ifndef FLASHEMU_PAYLOAD_H
#define FLASHEMU_PAYLOAD_H

#include "flashemu/device.h"
#include "flashemu/err.h"

#include <stdint.h>

struct payload;

/* For a device of `capacity` bytes.  Takes 4 bytes for each sector, which the host's kernel
 * allocates when they are touched.  -ENOMEM with message. */
int payload_create(struct payload **ret, uint64_t capacity, uint32_t sector_size, uint64_t seed,
                   struct fe_err *err);
void payload_destroy(struct payload *p);

/* A request at this offset, inside the capacity, comes soon. */
void payload_ask(const struct payload *p, uint64_t offset);

/* Returns a buffer for the request, filled with data if the request is a write.  It is valid until
 * the next call.  NULL without memory, with message. */
void *payload_begin(struct payload *p, const struct fe_request *req, struct fe_err *err);

/* To be called after the device has answered.  Remembers what was written, or compares what was
 * read. */
void payload_end(struct payload *p, const struct fe_request *req, enum fe_status status);

/* How many sectors were compared; how many of them differed from what was last written there, and
 * the offset of the first of these. */
uint64_t payload_verified(const struct payload *p);
uint64_t payload_wrong(const struct payload *p, uint64_t *ret_first);

#endif
