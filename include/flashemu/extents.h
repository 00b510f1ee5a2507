/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a device knows of its contents without reading them: which pages it has, and which it has
 * never had or had to forget.
 *
 *     written        | # # # . . . . # # . . . |
 *     trimmed        |   x                 x x |
 *     extents        | d h d h . . . d d h . . |       d data, h hole
 *
 * A real stick does not tell this.  It costs no time of the device and changes nothing.
 *
 * Thread rule: as for flashemu/device.h, the caller has the lock.
 */
#pragma once

#include "flashemu/device.h"

enum fe_extent_kind {
    FE_EXTENT_DATA, /* anything: it must be read */
    FE_EXTENT_ZERO, /* the flash has a page of zeros, such as device.used writes */
    FE_EXTENT_HOLE, /* nothing on the flash; it reads as zeros */
};

struct fe_extent {
    enum fe_extent_kind kind;
    uint64_t len; /* bytes, at least 1 */
};

/* What a read of [offset, offset + len) would meet at now_ns: *ret is of one kind, begins at offset,
 * and ends where another kind begins, at the end of the range, or after 1024 pages: so the caller
 * need not keep the lock for long.  The range is within the capacity and not empty.  A device that
 * claims more capacity than it has, or lies, says that all is data.  The status is what a read would get:
 * FE_OK, or why the device does not answer at all; then *ret stays. */
enum fe_status fe_device_extent(const struct fe_device *dev, uint64_t now_ns, uint64_t offset,
                                uint64_t len, struct fe_extent *ret);
