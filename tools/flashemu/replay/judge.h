/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How near a device comes to a recorded conversation.
 *
 * The device is asked all that the recorded one was asked, and the host keeps its rule.  The error of a
 * block is |ln(replayed / recorded)| of how long its requests took together, beyond a knee less and less:
 * K ln(1 + error / K).  So neither a test that is off by a factor of a thousand nor the number of its
 * requests decides alone.  The error of a kind is the mean of its blocks, and the score is the mean of
 * the kinds.  The device of the trace scores exactly 0.
 */
#pragma once

#include "replay/conversation.h"

#include "flashemu/device.h"

#include <jansson.h>

struct judged_kind {
    uint64_t replayed_ns;
    double error;
};

struct judgement {
    const struct conversation *of; /* the caller's */
    struct judged_kind *kinds;     /* one for each of the conversation */
    double score;
    uint32_t worst;                /* the kind with the largest error */
    uint32_t otherwise;            /* requests that failed on one of the two devices only */
};

/* The error of a block of n requests.  A request counts as JUDGE_LEAST_NS at least: a host needs as long to
 * find out that a device does nothing, as for a flush where there is no cache. */
enum { JUDGE_LEAST_NS = 10000 };
double judge_error(uint64_t recorded_ns, uint64_t replayed_ns, uint32_t n);

/* Runs the conversation on a new device.  -EINVAL with a message if the device has another capacity or
 * refuses a request, or -ENOMEM.  The caller must call judge_fini, even after an error. */
int judge(struct judgement *j, const struct conversation *c, struct fe_device *dev, struct fe_err *err);
void judge_fini(struct judgement *j);

/* A table of the kinds, the worst one and the score.  Returns an exit code. */
int judge_print(const struct judgement *j, const char *profile);

/* The same as an object; NULL without memory. */
json_t *judge_json(const struct judgement *j, const char *profile);
