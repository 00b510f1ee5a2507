/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The parameters of the server, as nbdkit's command line gives them.
 *
 * They may come in any order; the profile and its overrides are put together when all
 * are known.  Every parameter may be given once.
 */
#ifndef FLASHEMU_PLUGIN_PARAMS_H
#define FLASHEMU_PLUGIN_PARAMS_H

#include "flashemu/err.h"
#include "flashemu/profile.h"
#include "rt/delay.h"
#include "timemap.h"

#include <stdbool.h>
#include <stdint.h>

#define FE_OVERHEAD_MAX_NS UINT64_C(1000000000)
#define FE_OVERHEAD_ALLOWED "0 to 1s, as in 85us (ns us ms s)"

/* Keys and values point into nbdkit's copy of the command line, which outlives the
 * plugin; `overrides` is owned. */
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
    const char *file;    /* the same */
    const char *trace;   /* the same */
    bool no_sync;
    bool seed_given;
};

void fe_params_init(struct fe_params *p);
void fe_params_fini(struct fe_params *p);

/* One KEY=VALUE of the command line.  -EINVAL with "KEY=VALUE: ..." and what is
 * allowed, -ENOMEM. */
int fe_params_set(struct fe_params *p, const char *key, const char *value, struct fe_err *err);

/* When all are known: which of those given do nothing beside the others, in words; "" if
 * there is none. */
void fe_params_idle(const struct fe_params *p, char *buf, size_t len);

/* The profile with overrides and size applied; the caller ends it with
 * fe_profile_fini.  Errors as of fe_profile_load. */
int fe_params_load_profile(const struct fe_params *p, struct fe_profile *ret, struct fe_err *err);

/* Parses the value of transport-overhead, which may change while running too; the
 * message does not repeat the text. */
int fe_params_parse_overhead(const char *text, uint64_t *ret_ns, struct fe_err *err);

#endif
