/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Keys that went.
 *
 * A profile that somebody wrote for an older version, and the profile in an older image, may still
 * have them.  What such a key says now:
 *
 *     its default, or `also`     nothing: that is what the device does without the key
 *     another value, an heir     the value is the heir's; there is one note
 *     another value, no heir     a mistake, whose message says why the key went
 *
 * An image is never refused because of such a key: the value is passed over, and if both the key
 * and its heir were chosen, the heir counts.
 *
 * A key that goes moves here from options.c, and tests/data/options.tsv loses its row.  It keeps
 * its name, type, range and default, so that each way to write the default is still known; they are
 * those of its heir, whose default stays for that reason, unless the key has a row of its own.
 */
#pragma once

#include "profile/options.h"

struct fe_old_key {
    enum fe_section section;
    const char *key;
    const struct fe_option *was; /* type, range and default; its offset is any field of the same
                                  * type.  NULL: as its heir */
    const char *heir;            /* "SECTION.KEY" of the key, or "SECTION.KEY:NAME" of the detail, that
                                  * has taken its place, or NULL */
    const char *also;            /* a value that is accepted like the default, or NULL */
    const char *why;             /* why it went, as the rest of a sentence about the key */
};

extern const struct fe_old_key fe_old_keys[];
extern const uint32_t fe_n_old_keys;

/* Finds one by "SECTION.KEY", or by section and key; NULL if there is none. */
const struct fe_old_key *fe_old_key_find(const char *full_key);
const struct fe_old_key *fe_old_key_in(enum fe_section s, const char *key);

/* The option of that full name, or the heir of the key of that name; NULL if there is neither. */
const struct fe_option *fe_option_or_heir(const char *full_key);

/* What the key says with this value: *ret_heir is the option that is to be set to it, or NULL if the
 * key says nothing.  -EINVAL with "REASON; allowed: ..." for any other value. */
int fe_old_key_read(const struct fe_old_key *old, const char *text,
                    const struct fe_option **ret_heir, struct fe_err *err);
