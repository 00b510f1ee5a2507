/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Data for `replay --payload`: what is written can be recognised when it is read.
 */
#ifndef FLASHEMU_PAYLOAD_H
#define FLASHEMU_PAYLOAD_H

#include "flashemu/device.h"
#include "flashemu/err.h"

#include <stdint.h>

struct payload;

/* For a device of that many bytes; 4 bytes a sector, allocated as they are touched.
 * -ENOMEM. */
int payload_create(struct payload **ret, uint64_t capacity, uint32_t sector_size, uint64_t seed,
                   struct fe_err *err);
void payload_destroy(struct payload *p);

/* A buffer for the request, filled if it writes; NULL with a message without memory.
 * Valid until the next call. */
void *payload_begin(struct payload *p, const struct fe_request *req, struct fe_err *err);

/* After the device has answered: notes what was written, or compares what was read. */
void payload_end(struct payload *p, const struct fe_request *req, enum fe_status status);

/* Sectors compared and sectors that held something else than was last written; the
 * offset of the first of these. */
uint64_t payload_verified(const struct payload *p);
uint64_t payload_wrong(const struct payload *p, uint64_t *ret_first);

#endif
