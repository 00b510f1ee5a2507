/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The parameters of the server, as nbdkit's command line gives them.
 *
 * They may come in any order.  The profile and its overrides are put together when all parameters
 * are known.  Each parameter may be given once.
 */
#pragma once

#include "flashemu/err.h"
#include "flashemu/profile.h"
#include "base/origin.h"
#include "rt/delay.h"
#include "timemap.h"

#include <stdbool.h>
#include <stdint.h>

#define FE_OVERHEAD_MAX_NS UINT64_C(1000000000)
#define FE_OVERHEAD_ALLOWED "0 to 1s, as in 85us (ns us ms s)"

/* Keys and values point into nbdkit's copy of the command line, which outlives the plugin.  Only
 * `overrides` is owned. */
struct fe_params {
    uint32_t seen; /* a bit for each parameter that was given */
    const char *profile;
    char **overrides; /* SECTION.KEY=VALUE */
    uint32_t n_overrides;
    const char *size; /* as given, or NULL */
    bool virtual_clock;
    struct fe_scale scale;
    uint64_t overhead_ns;
    struct fe_delay_params delay;
    uint64_t seed;
    const char *control; /* path as given, or NULL */
    const char *file;    /* likewise */
    const char *trace;   /* likewise */
    const char *trace_data; /* likewise */
    const struct fe_io *io; /* the host's calls for `file`; NULL: the system's.  For tests */
    bool no_sync;
    bool read_only; /* of nbdkit: `file` is only read */
    bool seed_given;
    bool no_extents;   /* a client hears nothing of what was never written or trimmed */
    bool own_exports;  /* each export name has a device of its own */
    bool always_flush; /* flush and FUA are offered where nothing needs them, too */
};

void fe_params_init(struct fe_params *p);
void fe_params_fini(struct fe_params *p);

/* Takes one KEY=VALUE of the command line.  -EINVAL with a message "KEY=VALUE: ..." that says what
 * is allowed; -ENOMEM. */
int fe_params_set(struct fe_params *p, const char *key, const char *value, struct fe_err *err);

/* When all parameters are known: says in words which of them have no effect, because of the other
 * ones; "" if all have an effect. */
void fe_params_idle(const struct fe_params *p, char *buf, size_t len);

/* Loads the profile and applies overrides and size.  The caller ends it with fe_profile_fini.
 * Errors: those of fe_profile_load. */
int fe_params_load_profile(const struct fe_params *p, struct fe_profile *ret, struct fe_err *err);

/* Where the results of this server come from, with the texts that `o` points to besides those of
 * the parameters. */
struct fe_params_origin {
    struct fe_origin o;
    const char **overrides;
    char command[1024], size[80];
};

/* Fills *ret, which must stay where it is while `o` is used.  The caller frees ret->overrides, also
 * after an error.  -ENOMEM with message. */
int fe_params_origin(const struct fe_params *p, const char *profile_name,
                     struct fe_params_origin *ret, struct fe_err *err);

/* Parses a value of transport-overhead, which may also be changed while the server runs.  The
 * message does not repeat the text. */
int fe_params_parse_overhead(const char *text, uint64_t *ret_ns, struct fe_err *err);
