/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A profile: all parameters of one device, as an INI file gives them.
 *
 * One option table (options.h of the profile layer) names every key with its type,
 * unit, range, default and one sentence; parser, range check, `flashemu help`, the
 * manual and `flashemu show` all come from it.  An unknown, duplicate or out-of-range
 * key is an error with file and line; nothing is defaulted silently except by the
 * table's own default, which `show` spells out.
 */
#ifndef FLASHEMU_PROFILE_H
#define FLASHEMU_PROFILE_H

#include "flashemu/err.h"
#include "flashemu/ftl_params.h"
#include "flashemu/host_params.h"
#include "flashemu/nand_params.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* Of a device that claims more capacity than it has. */
enum fe_beyond {
    FE_BEYOND_WRAP, /* the address loses its high part: the first sectors again */
    FE_BEYOND_DROP, /* writes are forgotten, reads give zeros */
    FE_N_BEYONDS
};

struct fe_device_params {
    char model[64];       /* what it is, in a few words */
    uint64_t capacity;    /* bytes that it can keep; 0 = follows from chip and ftl.op */
    uint64_t claimed_capacity; /* bytes that the host is told of, if more; 0 = the same */
    uint32_t beyond;      /* enum fe_beyond: what happens to sectors from capacity on */
    uint32_t sector_size; /* bytes */
    bool rotational;      /* what to advertise */
    bool discard;         /* TRIM and WRITE ZEROES are offered */
    uint64_t used;        /* bytes from sector 0 that count as written once before; above
                             the capacity: all */
};

/* [faults], as far as the device's manners are concerned. */
struct fe_manners_params {
    uint64_t hang_ns, hang_request;         /* the N-th request takes so much longer; 0: none */
    uint64_t gone_ns, gone_request;         /* after the N-th, off the bus for so long; 0: never */
};

/* [faults], as far as power is concerned. */
struct fe_power_params {
    uint64_t cut_ppm;      /* share of the host's writes that power fails under */
    uint64_t cut_writes;   /* power fails when so many writes have been answered; 0 = never */
    uint64_t cut_time_ns;  /* power fails at this time of the device; 0 = never */
    uint64_t partner_ppm;  /* share of torn MSB programs that take their LSB page along */
    uint64_t map_lost_ppm; /* share of cuts after which the device comes back empty */
    uint64_t stale_ppm;    /* share of pages that come back as an older copy, if there is one */
    uint64_t dead_ppm;     /* share of cuts after which the device does not come back */
};

/* A line of [provenance] or [fidelity], in file order; owned by the profile. */
struct fe_profile_note {
    char *key, *value;
    unsigned line;
};

#define FE_MAX_OPTIONS 192 /* rows of the option table, at most */

struct fe_profile {
    char name[64];
    struct fe_device_params device;
    struct fe_nand_params nand;
    struct fe_manners_params manners;
    struct fe_power_params power; /* of [faults] what happens to its power */
    struct fe_wear_params wear; /* [ecc], and of [faults] what happens to the chip */
    struct fe_ftl_params ftl;
    struct fe_cache_params cache;
    struct fe_link_params link;
    struct fe_profile_note *provenance, *fidelity;
    uint32_t n_provenance, n_fidelity;
    bool given[FE_MAX_OPTIONS];  /* option i of the table was given; others have defaults */
    bool unused[FE_MAX_OPTIONS]; /* option i was given in the file, and then an override chose
                                    a strategy that does not use it: it has its default */
};

/* Reads a profile by name (shipped, or NAME.ini in a folder of $FLASHEMU_PATH, which
 * is looked at first) or by path (contains '/' or ends in ".ini"), then applies
 * `overrides`, each "SECTION.KEY=VALUE", in order.  -ENOENT, -EINVAL, -EISDIR, -EFBIG,
 * -ENOMEM ... with a message "FILE:LINE: ..." or "KEY=VALUE: ...".  On success the
 * caller ends *ret with fe_profile_fini; on failure there is nothing to end. */
int fe_profile_load(struct fe_profile *ret, const char *name_or_path,
                    const char *const *overrides, uint32_t n_overrides, struct fe_err *err);

/* The same from text in memory; file_name is for messages and gives the profile's name.
 * The text need not end in NUL and is not needed afterwards. */
int fe_profile_parse(struct fe_profile *ret, const char *file_name, const char *text, size_t len,
                     const char *const *overrides, uint32_t n_overrides, struct fe_err *err);

/* The same for the canonical text that an image keeps of its profile.  Keys that the strategy
 * does not use are passed over: images made by version 0.1.0 have them. */
int fe_profile_parse_stored(struct fe_profile *ret, const char *file_name, const char *text,
                            size_t len, struct fe_err *err);

/* Every mistake of a file, one "FILE:LINE: message" line each in the order of lines, to
 * `out`; the number of mistakes, or a negative errno (with message) if it could not be
 * read.  path is always a path, never a name. */
int fe_profile_check(const char *path, FILE *out, struct fe_err *err);

void fe_profile_fini(struct fe_profile *p);

/* A deep copy; -ENOMEM. */
int fe_profile_copy(struct fe_profile *ret, const struct fe_profile *p, struct fe_err *err);

/* Sets one key in place, as an override does: defaults that follow from it follow.
 * -EINVAL with "KEY=VALUE: ..." and nothing changed. */
int fe_profile_set(struct fe_profile *p, const char *key, const char *value, struct fe_err *err);

/* A line for people, if an override of ftl.type has left keys of the file without effect:
 * writes the strategy and the keys to buf and returns true.  The line ends early if buf is
 * too short. */
bool fe_profile_unused(const struct fe_profile *p, char *buf, size_t len);

/* The canonical text of one key's value; false if there is no such key. */
bool fe_profile_get(const struct fe_profile *p, const char *key, char *buf, size_t len);

/* The canonical form: every key that the strategy uses, with its default spelled out if it
 * was not given.  Parsing it gives the same profile. */
int fe_profile_print(const struct fe_profile *p, FILE *out, struct fe_err *err);

/* Names of the shipped profiles, sorted, ended by NULL. */
extern const char *const fe_profile_names[];

#endif
