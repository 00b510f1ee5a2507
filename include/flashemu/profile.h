/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A profile: all parameters of one device, as an INI file gives them.
 *
 *     NAME or FILE.ini --\
 *     KEY=VALUE ... ------+--> fe_profile_load --> struct fe_profile --> fe_device_create
 *
 * The option table (src/profile/options.c) defines every key: its type, unit, range, default and
 * meaning, and the strategies that use it.  The parser, the range check, `flashemu help`, the
 * manual page flashemu-profile(5) and `flashemu show` all come from this table.
 *
 * A key is an error, with file and line, if it is unknown, given twice, out of range, or not used
 * by the chosen strategy.  A key that is not given has the default of the table, and `show`
 * prints it.
 */
#pragma once

#include "flashemu/err.h"
#include "flashemu/ftl_params.h"
#include "flashemu/host_params.h"
#include "flashemu/lies.h"
#include "flashemu/nand_params.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* What a forged device, which claims more capacity than it has, does with the sectors beyond. */
enum fe_beyond {
    FE_BEYOND_WRAP,   /* the first sectors come again at once */
    FE_BEYOND_DROP,   /* writes are forgotten, reads return zeros */
    FE_BEYOND_MODULE, /* the first sectors come again at the next power of two */
    FE_N_BEYONDS
};

struct fe_device_params {
    char model[64];       /* what it is, in a few words */
    uint64_t capacity;    /* bytes that it can keep; 0 = follows from chip and ftl.op */
    uint64_t claimed_capacity; /* bytes that the host is told of, if more; 0 = the same */
    uint32_t beyond;      /* enum fe_beyond */
    uint64_t beyond_module; /* for FE_BEYOND_MODULE: bytes after which the first sectors come again,
                               a power of two; 0 = the smallest one that holds the capacity */
    uint64_t beyond_cache;  /* bytes written last to sectors that are not there, which read back
                               nevertheless */
    uint32_t sector_size; /* bytes */
    bool rotational;      /* whether the device says that it rotates */
    bool discard;         /* whether TRIM is offered */
    uint64_t used;        /* bytes from sector 0 on that have been written once before; more than
                             the capacity means all */
};

/* The keys of [faults] that concern how the device behaves on its link. */
struct fe_manners_params {
    uint64_t hang_ns, hang_request; /* request number hang_request takes longer; 0: none does */
    uint64_t gone_ns, gone_request; /* after that request it leaves the bus; 0: never */
};

/* What may come of a sector that was not flushed when power failed, where no device is asked: the old or
 * the new one, and besides them this. */
enum fe_cut_sector {
    FE_CUT_SECTOR_WHOLE, /* nothing else */
    FE_CUT_SECTOR_TORN,  /* the first half of the new one, and the second half of the old one */
    FE_CUT_SECTOR_GARBAGE,
    FE_CUT_SECTOR_UNREADABLE,
    FE_CUT_SECTOR_ANY,   /* each of these */
    FE_N_CUT_SECTORS,
};

/* The keys of [faults] that concern power. */
struct fe_power_params {
    uint64_t cut_ppm;      /* share of the host's writes during which power fails */
    uint64_t cut_writes;   /* power fails when this many writes have been answered; 0 = never */
    uint64_t cut_time_ns;  /* power fails at this time of the device; 0 = never */
    uint64_t partner_ppm;  /* share of torn MSB programs that also destroy their LSB page */
    uint64_t map_lost_ppm; /* share of cuts after which the device comes back empty */
    uint64_t stale_ppm;    /* share of pages that come back as an older copy, if there is one */
    uint64_t dead_ppm;     /* share of cuts after which the device does not come back */
    uint32_t sector;       /* enum fe_cut_sector */
};

/* A line of [provenance] or [fidelity].  The profile owns the texts; notes stand in the order of
 * the file. */
struct fe_profile_note {
    char *key, *value;
    unsigned line;
};

#define FE_MAX_OPTIONS 192 /* the option table has at most this many rows */
#define FE_MAX_OLD_KEYS 64 /* and the table of keys that went */

struct fe_profile {
    char name[64];
    struct fe_device_params device;
    struct fe_nand_params nand;
    struct fe_manners_params manners;
    struct fe_power_params power;
    struct fe_lies_params lies;
    struct fe_wear_params wear;
    struct fe_ftl_params ftl;
    struct fe_cache_params cache;
    struct fe_link_params link;
    struct fe_profile_note *provenance, *fidelity;
    uint32_t n_provenance, n_fidelity;
    bool given[FE_MAX_OPTIONS];  /* option i of the table was given; the others have defaults */
    bool unused[FE_MAX_OPTIONS]; /* the file gives option i a value other than its default, but an
                                    override has chosen a strategy that does not use it */
    bool renamed[FE_MAX_OLD_KEYS]; /* row i of the table of keys that went has set its heir */
};

/* Loads a profile and applies the overrides, each "SECTION.KEY=VALUE", in order.
 *
 * name_or_path is a path if it contains '/' or ends in ".ini".  Else it is a name: NAME.ini is
 * looked for in the folders of $FLASHEMU_PATH, and then among the shipped profiles.
 *
 * -ENOENT, -EINVAL, -EISDIR, -EFBIG, -ENOMEM ... with a message "FILE:LINE: ..." or
 * "KEY=VALUE: ...".  After success the caller frees *ret with fe_profile_fini; after a failure
 * there is nothing to free. */
int fe_profile_load(struct fe_profile *ret, const char *name_or_path,
                    const char *const *overrides, uint32_t n_overrides, struct fe_err *err);

/* Why no device could be built from the profile that fe_profile_load made of the same arguments:
 * puts the place (FILE:LINE or the override) and the value as written in front of the message of
 * fe_device_create.  A message that names no key stays as it is.  Returns -EINVAL, or -ENOMEM, with
 * message. */
int fe_profile_explain(const char *name_or_path, const char *const *overrides,
                       uint32_t n_overrides, const char *message, struct fe_err *err);

/* The path of the file that fe_profile_load reads, which the caller frees; NULL for a profile that
 * is built in.  Returns 0, or -ENOMEM with message. */
int fe_profile_path(char **ret, const char *name_or_path, struct fe_err *err);

/* The same from text in memory.  file_name is used in messages, and the name of the profile is made
 * from it.  The text need not end in NUL and is not needed afterwards. */
int fe_profile_parse(struct fe_profile *ret, const char *file_name, const char *text, size_t len,
                     const char *const *overrides, uint32_t n_overrides, struct fe_err *err);

/* The same for the canonical text that an image keeps of its profile.  Keys that the strategy
 * does not use are passed over: images made by version 0.1.0 have them. */
int fe_profile_parse_stored(struct fe_profile *ret, const char *file_name, const char *text,
                            size_t len, struct fe_err *err);

/* Prints every mistake of a file to `out`, one line "FILE:LINE: message" each, in the order of the
 * file's lines.  Returns the number of mistakes, or a negative errno with a message if the file
 * could not be read.  path is always a path, never a name. */
int fe_profile_check(const char *path, FILE *out, struct fe_err *err);

void fe_profile_fini(struct fe_profile *p);

/* A deep copy; -ENOMEM. */
int fe_profile_copy(struct fe_profile *ret, const struct fe_profile *p, struct fe_err *err);

/* Sets one key in place, as an override does: defaults that follow from the key change with it.
 * -EINVAL with "KEY=VALUE: ...", and then nothing has changed. */
int fe_profile_set(struct fe_profile *p, const char *key, const char *value, struct fe_err *err);

/* A line for people, if an override of ftl.type has left keys of the file without effect:
 * writes the strategy and the keys to buf and returns true.  The line ends early if buf is
 * too short. */
bool fe_profile_unused(const struct fe_profile *p, char *buf, size_t len);

/* The same if keys were given that have another name now. */
bool fe_profile_renamed(const struct fe_profile *p, char *buf, size_t len);

/* Writes the canonical text of a key's value to buf; false if there is no such key. */
bool fe_profile_get(const struct fe_profile *p, const char *key, char *buf, size_t len);

/* Prints the canonical form: every key that the strategy uses, also those that have their default.
 * Parsing it gives the same profile.  -EIO if out cannot be written. */
int fe_profile_print(const struct fe_profile *p, FILE *out, struct fe_err *err);

/* The names of the shipped profiles, sorted, with NULL at the end. */
extern const char *const fe_profile_names[];

/* For messages: writes these names into buf, each behind a blank.  If there is no room for all of
 * them, whole names and then " ...".  len >= 5. */
void fe_profile_list_names(char *buf, size_t len);
