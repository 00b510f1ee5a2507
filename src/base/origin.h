/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Where a result comes from: the program's version, the command, and the device that it ran on.
 *
 * Statistics, JSON, traces and reports carry this, so that a file that is found months later still
 * says what it is.  A member that is NULL, and a seed that is not given, are left out.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

extern const char fe_version[]; /* of this program: "0.1.0" */

struct fe_origin {
    const char *version; /* of the program that made the result */
    const char *command; /* as somebody typed it */
    const char *profile; /* its name */
    const char *const *overrides; /* each "SECTION.KEY=VALUE" */
    uint32_t n_overrides;
    const char *image;   /* path */
    const char *data;    /* of a trace: the file with what was written (workload/data.h) */
    uint64_t seed;
    bool has_seed;
    uint64_t capacity;   /* of the device, in bytes; 0 = not known.  Only traces tell it */
};

/* What an origin tells, in the order in which it is printed. */
enum fe_origin_key {
    FE_ORIGIN_VERSION, FE_ORIGIN_COMMAND, FE_ORIGIN_PROFILE, FE_ORIGIN_OVERRIDES,
    FE_ORIGIN_IMAGE, FE_ORIGIN_SEED, FE_ORIGIN_DATA, FE_ORIGIN_CAPACITY, FE_N_ORIGIN_KEYS
};

extern const char *const fe_origin_names[FE_N_ORIGIN_KEYS]; /* "version" ... */

/* Writes one value as a line of text without control characters; overrides are separated by blanks.
 * A text that is too long ends in "...".  Returns false, with an empty text, if there is none. */
bool fe_origin_text(const struct fe_origin *o, enum fe_origin_key key, char *buf, size_t len);
