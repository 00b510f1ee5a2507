/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Data for `replay --payload`: what is written can be recognised when it is read back.
 *
 * A read or write goes through three calls: payload_announce, payload_begin and payload_end.  The
 * first may be left out, and may come for several requests before the second comes for the first of
 * them.  What was announced is made by a thread of its own.
 */
#ifndef FLASHEMU_PAYLOAD_H
#define FLASHEMU_PAYLOAD_H

#include "flashemu/device.h"
#include "flashemu/err.h"

#include <stdbool.h>
#include <stdint.h>

struct payload;

/* For a device, which stays the caller's and must live longer.  Takes 4 bytes and a bit for each
 * sector, and some MiB, which the host's kernel allocates when they are touched.  -ENOMEM with
 * message.  Without `ahead`, or if there can be no thread, nothing is made ahead: the same, but
 * slower. */
int payload_create(struct payload **ret, struct fe_device *dev, uint64_t seed, bool ahead,
                   struct fe_err *err);
void payload_destroy(struct payload *p);

/* n reads or writes of whole sectors inside the capacity follow on those that were announced
 * before: their data are made ahead.  false: there is no room now, or one of them is too long for
 * that; they may be announced later, or not at all. */
bool payload_announce(struct payload *p, const struct fe_request *reqs, unsigned n);

/* Returns a buffer for the request, which is the oldest one announced, or any one if none is; it is
 * filled with data if the request is a write.  It is valid until payload_end.  NULL without memory,
 * with message. */
void *payload_begin(struct payload *p, const struct fe_request *req, struct fe_err *err);

/* To be called after the device has answered; also for trims, which have no buffer.  Remembers what
 * was written, or compares what was read. */
void payload_end(struct payload *p, const struct fe_request *req, enum fe_status status);

/* How many sectors were compared; how many of them differed from what was last written there, and
 * the offset of the first of these. */
uint64_t payload_verified(const struct payload *p);
uint64_t payload_wrong(const struct payload *p, uint64_t *ret_first);

#endif
