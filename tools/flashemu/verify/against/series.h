/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Series of requests: a number of them, each `stride` bytes behind the one before.
 *
 * Errors are those of verify_request, and -EINVAL with message for what does not fit the device.
 */
#pragma once

#include "verify/against/against.h"

/* Where request number k of a series begins: start + k * stride, modulo the requests that fit the
 * device. */
uint64_t against_place(const struct against_point *p, uint64_t k, uint64_t len, uint64_t capacity);

int against_check_bs(const struct fe_device *dev, const struct against_point *p, struct fe_err *err);

/* Whether a host sends flushes to the device: it sends none where there is no volatile cache. */
bool against_takes_flushes(const struct fe_device *dev);

/* A flush; *ret_ns grows by its time. */
int against_flush(struct fe_device *dev, uint64_t *ret_ns, struct fe_err *err);

/* One request after the other, each with a flush if the point says so.  `each` gets the time of each
 * request; it may be NULL.  *ret_ns is the time of all. */
int against_one_by_one(struct fe_device *dev, const struct against_point *p,
                       enum fe_req_type type, uint64_t *each, uint64_t *ret_ns, struct fe_err *err);

/* The series of a point of `request`, with its pause, depth and push.  *ret_ns is as for
 * against_one_by_one. */
int against_series(struct fe_device *dev, const struct against_point *p, uint64_t *ret_ns,
                   struct fe_err *err);
