/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the user has asked of `replay`, and how it becomes one run or several.
 */
#pragma once

#include "replay/conversation.h"
#include "replay/replay.h"
#include "replay/vary.h"
#include "tool.h"

#include <stdio.h>

struct command {
    const char *warmup, *depth_text, *seed_text, *record, *wear_svg, *format, *event, *jobs_text;
    const char *until, *most_text; /* --until and --most */
    uint64_t most;
    const char *against;
    struct conversation conversation; /* of --against */
    bool json, payload, each;
    struct replay_options opt;
    struct fe_device_options device;
    struct fe_trace_options trace;
    struct fe_pattern_env env;

    const char *vary_words[TOOL_MAX_WORDS];
    struct vary vary;
    uint64_t n_abreast;
    FILE *data;               /* of one of several runs: where its result goes as JSON */
    bool silent;              /* prints nothing else */

    const char *profile_name;
    char *profile_list;       /* cut into names; NULL = there is one profile */
    const char **traces, **overrides;
    uint32_t n_traces, n_overrides;
    char *capacity; /* "device.capacity=..." for size= */
    const char **inputs; /* every file that is read */
    uint32_t n_inputs;
    char *profile_path;
};

/* --- once.c --- */

/* Makes the device that the command names.  Negative errno with message. */
int replay_make_device(struct command *c, struct fe_device **ret, struct fe_err *err);

/* Runs the traces and prints the result.  Returns an exit code, after a message if it is not
 * TOOL_OK.  The caller keeps the device. */
int replay_on_device(struct command *c, struct fe_device *dev, struct fe_err *err);

/* --- several.c --- */

/* A run for each combination of what is varied.  Returns an exit code, as above. */
int replay_several(struct command *c);
