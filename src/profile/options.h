/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The option table: it defines every key of a profile, once.
 *
 *     row -----> parser, range check          "nand.tR = 50us" -> profile.nand.tR_ns
 *         -----> flashemu show, get           profile.nand.tR_ns -> "50us"
 *         -----> flashemu help, manual page
 *         -----> refusal of keys that the strategy does not use
 *
 * All of these are loops over the table.  A new key needs a field in a parameter struct and one
 * row here; no other code has to know it.
 */
#pragma once

#include "flashemu/err.h"
#include "flashemu/profile.h"
#include "base/quantity.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* The sections, in the order in which `show` prints them.  The last two hold notes, not options. */
enum fe_section {
    FE_SEC_DEVICE, FE_SEC_NAND, FE_SEC_FTL, FE_SEC_CACHE, FE_SEC_LINK, FE_SEC_ECC, FE_SEC_FAULTS,
    FE_SEC_STEP, FE_SEC_PROVENANCE, FE_SEC_FIDELITY, FE_N_SECTIONS
};

/* What the text of an option looks like, and which C type its field has.  The comment gives the
 * unit of the field; a field is a uint64_t unless the name ends in 32 or the comment differs. */
enum fe_opt_type {
    FE_OPT_U32,    /* plain number, uint32_t */
    FE_OPT_U64,    /* plain number */
    FE_OPT_SIZE32, /* bytes */
    FE_OPT_SIZE,   /* bytes */
    FE_OPT_TIME,   /* ns */
    FE_OPT_TIMES,  /* ns[3]: one value, or one for each bit of the cell, with '/' between */
    FE_OPT_RATE,   /* bytes a second */
    FE_OPT_SHARE,  /* ppm */
    FE_OPT_BOOL,   /* bool */
    FE_OPT_ENUM,   /* uint32_t */
    FE_OPT_STRING, /* char[64] */
    FE_OPT_LIES,   /* struct fe_lies_params */
    FE_OPT_DETAILS, /* no field: the key has nothing but its details */
    FE_N_OPT_TYPES
};

/* Stands in an entry of tR_ns or tPROG_ns that was not given.  It occurs only between parsing and
 * fe_settle: in a finished profile every entry has a time. */
#define FE_TIME_NONE UINT64_MAX

/* How many bits a cell of this kind (enum fe_cell) holds, and so how many of the three entries
 * count. */
uint32_t fe_cell_bits(uint32_t cell);

/* What means nothing without another key is a detail of that key, and no key of its own:
 *
 *     faults.hang = 60s,request:17         VALUE[,NAME:VALUE]..., and VALUE may be left out as well
 *
 * A value sets what it names: in a file the rest has its default, and an override or `set` leaves
 * the rest as it is.  A value is printed with the details that are not at their defaults.  The rows
 * of the details follow that of their key, under names such as "hang:request"; by such a name, with
 * its section, a detail can be set and printed alone.  So a row is a detail if its key has a ':'.
 * Strategies use a detail if they use its key, and it is live if that is.
 *
 * A row of the table.  What does not apply to the type of the option is 0 or NULL.
 *
 * An option is known by its address, and by its index in fe_options where things are remembered
 * for each option (given[], unused[]).  The index is not stable between versions and must never be
 * stored.
 *
 * At most one of `def` and `derived` is set.  With neither, the key must be given. */
struct fe_option {
    enum fe_section section;
    const char *key;
    enum fe_opt_type type;
    size_t offset;         /* in struct fe_profile */
    uint64_t min, max;     /* inclusive range of a number, in the unit of the field */
    uint64_t multiple;     /* the value must be a multiple of this; 0: of nothing */
    bool pow2;             /* the value must be a power of two */
    bool live;             /* may change while the device runs */
    const char *zero;      /* a word for 0, which is then allowed in addition to the range */
    const char *def;       /* text of the default; NULL if there is none or it is derived */
    const char *derived;   /* says in words from which other key the default follows */
    const char *const *names; /* of the values of an enum, ended by NULL */
    const char *used_by;   /* names of the strategies that use it, with blanks between */
    bool on_chip;          /* without used_by: used by the strategies that work on a chip; else
                              all of them use it */
    uint32_t n_details;    /* so many of the next rows are details of this key */
    const char *help;      /* one sentence */
};

static inline bool fe_option_is_detail(const struct fe_option *o)
{
    return strchr(o->key, ':') != NULL;
}

/* Whether a value of the detail's key names the detail. */
bool fe_detail_is_named(const struct fe_option *detail, const char *value);

/* The rows.  Those of one section stand together. */
extern const struct fe_option fe_options[];
extern const uint32_t fe_n_options;

/* The name of a section, such as "nand" for FE_SEC_NAND; and the section of a name, FE_N_SECTIONS
 * if there is none.  fe_section_of is that of a full key, "SECTION.KEY"; *ret_key is what stands
 * behind the point, or all of it without one. */
const char *fe_section_name(enum fe_section s);
enum fe_section fe_section_find(const char *name, size_t len);
enum fe_section fe_section_of(const char *full_key, const char **ret_key);

/* Finds an option by "SECTION.KEY", or by section and key; NULL if there is none.  O(table). */
const struct fe_option *fe_option_find(const char *full_key);
const struct fe_option *fe_option_in(enum fe_section s, const char *key);

/* Whether the strategy of that index in fe_ftl_registry uses the key.  A key that it does not
 * use has no effect: it keeps its default, is not printed, and is refused when somebody gives
 * it. */
bool fe_option_is_used(const struct fe_option *o, uint32_t ftl_type);

/* Whether that depends on the strategy at all; and the strategies that use it, in the order of
 * the registry with a blank between two. */
static inline bool fe_option_depends(const struct fe_option *o)
{
    return o->used_by || o->on_chip;
}
void fe_option_users(const struct fe_option *o, char *buf, size_t len);

/* Why such a key is refused: "has no effect with ftl.type=segment; used by: page norlog". */
void fe_option_why_unused(const struct fe_option *o, uint32_t ftl_type, char *buf, size_t len);

/* Whether the key is one of the strategy's own: in [ftl] or [step], and used by it. */
static inline bool fe_option_is_own(const struct fe_option *o, uint32_t ftl_type)
{
    return (o->section == FE_SEC_FTL || o->section == FE_SEC_STEP) &&
           fe_option_is_used(o, ftl_type);
}

/* For the message about an unknown key: writes "; did you mean ...?" or another hint, never an
 * empty text.  section is FE_N_SECTIONS if the key is a full one with a section. */
void fe_option_hint(enum fe_section section, const char *key, char *buf, size_t len);
void fe_section_hint(const char *name, size_t name_len, char *buf, size_t len);

/* Parses a value into its field, and into those of the details that it names; the others stay.
 * -EINVAL with "REASON; allowed: ...", and then nothing is changed.  fe_check has the rules that depend
 * on other keys. */
int fe_option_parse(const struct fe_option *o, const char *text, struct fe_profile *p,
                    struct fe_err *err);

/* Puts the default into the field, and into those of the details: 0, or no time, if the option has
 * none or it is derived. */
void fe_option_reset(const struct fe_option *o, struct fe_profile *p);

/* Whether the value is the option's default, in whatever way it is written.  An option whose default
 * is derived, or that must be given, has none. */
bool fe_option_is_default(const struct fe_option *o, const char *text);

/* The canonical text of the field; parsing it gives the same.  FE_VALUE_MAX is enough. */
void fe_option_print(const struct fe_option *o, const struct fe_profile *p, char *buf, size_t len);

/* What a value may be, in words: "512 to 64K, a multiple of 512". */
void fe_option_allowed(const struct fe_option *o, char *buf, size_t len);
const char *fe_option_type_name(const struct fe_option *o);

/* Whether the key must be given, because it has no default. */
static inline bool fe_option_required(const struct fe_option *o)
{
    return !o->def && !o->derived;
}

/* A default in one word or in words; "" if the key must be given. */
const char *fe_option_default_text(const struct fe_option *o);

/* The option table for people.  key: one option by its full name, or the name of a strategy for a
 * list of its keys in [ftl] and [step], or a section for its options, or NULL for all options.
 * -EINVAL with a hint for an unknown key, -EIO if out cannot be written.  Of a profile: the
 * list of its strategy's keys with the profile's values. */
int fe_options_help(const char *key, FILE *out, struct fe_err *err);
int fe_options_help_profile(const struct fe_profile *p, FILE *out, struct fe_err *err);
