/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The device on the page, and the answer of the last call.
 *
 * JavaScript calls the functions that core.c and chip.c export.  Each returns 0 or a negative
 * errno, and leaves a text that web_answer returns: an object of JSON after success, the message
 * after a failure.  There is one device at a time.
 */
#pragma once

#include "flashemu/device.h"
#include "replay/source.h"

#include <jansson.h>

#define WEB_EXPORT(name) __attribute__((export_name(#name))) name

/* The device; NULL before the first web_create and after a failed one. */
extern struct fe_device *web_device;

/* What sources of requests need to know of the device. */
void web_source_options(struct fe_trace_options *trace, struct fe_pattern_env *env);

/* Makes the value, which is taken over, the answer.  NULL means that there was no memory.  Returns
 * 0 or -ENOMEM. */
int web_answer_json(json_t *value);

/* Makes the message the answer.  Returns code. */
int web_answer_error(int code, const struct fe_err *err);

/* Ends looking at the device's chip, because another device takes its place. */
void web_chip_end(void);
