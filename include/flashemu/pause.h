/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A pause in a long request.
 *
 * All requests take microseconds to carry out, but for a trim, which may have a million pages.  It
 * is done in parts, and between two of them the device calls back, so that the caller can give up
 * its lock for a moment to threads that only look:
 *
 *     trim     |#### part ####|    |#### part ####|    |#### part ####|
 *     others                  |look|              |look|
 *
 * During a pause nothing may be called that changes the device, only functions that take a const
 * one.  So pauses change no result.
 */
#pragma once

#include "flashemu/device.h"

/* About so many pages are in a part. */
#define FE_TRIM_PART_PAGES 4096

/* From now on calls fn between two parts; NULL: no pauses. */
void fe_device_set_pause(struct fe_device *dev, void (*fn)(void *ctx), void *ctx);
