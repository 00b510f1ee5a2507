/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The making of a profile: where each key came from, until all is settled.
 *
 *   defaults -> lines of the file -> overrides -> settle: derived defaults -> check
 */
#ifndef FE_PROFILE_PARSE_H
#define FE_PROFILE_PARSE_H

#include "profile/mistakes.h"
#include "profile/options.h"

/* Bytes of a line that are read, its end not counted.  The packaged inih has a buffer of
 * 200 for line, CR, LF and NUL. */
#define FE_MAX_LINE 197

/* Bytes of a profile. */
#define FE_MAX_PROFILE (1u << 20)

/* Where a key was given: nowhere, in a line, or by an override. */
struct fe_given {
    bool given, good;     /* good: and its value is in the profile */
    unsigned line;        /* 0 if by an override */
    const char *override; /* its text; not owned */
};

struct fe_parse {
    struct fe_profile *p;
    struct fe_mistakes *mistakes;
    char label[128]; /* the file in messages */
    struct fe_given given[FE_MAX_OPTIONS]; /* by index in fe_options */
    unsigned section_line[FE_N_SECTIONS];  /* of the first header; 0 if there is none */
    /* reading */
    const char *text, *end;
    unsigned line;
    int section;       /* enum fe_section; SECTION_NONE, SECTION_REFUSED */
    bool in_note;      /* the last key of [provenance] was good and may go on */
    bool continued;    /* the line in inih's hands goes on a value */
    bool nomem;
    /* The text is the profile in the header of an image.  Images made by version 0.1.0 hold
     * every key of the table there, also those that the strategy does not use: they are
     * passed over in silence instead of being refused. */
    bool stored;
};

/* All defaults in place, notes empty; file_name is for messages.  The profile and the
 * mistakes are the caller's. */
void fe_parse_init(struct fe_parse *ps, struct fe_profile *p, struct fe_mistakes *m,
                   const char *file_name);

/* A mistake of a line: "FILE:LINE: ...". */
void fe_parse_complain(struct fe_parse *ps, unsigned line, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* A mistake of a key: "FILE:LINE: KEY = VALUE: why" where it came from a line (the line
 * of its section, or the last one, if it was not given), "KEY=VALUE: why" if it came
 * from an override. */
void fe_parse_blame(struct fe_parse *ps, const struct fe_option *o, const char *why);

/* The lines of a file; mistakes are collected. */
void fe_parse_text(struct fe_parse *ps, const char *text, size_t len);

/* One "SECTION.KEY=VALUE". */
void fe_parse_override(struct fe_parse *ps, const char *override);

/* Keys that the strategy does not use get their defaults; which of them had been given is
 * noted in p->unused. */
void fe_drop_unused(struct fe_profile *p);

/* Fills every derived default from the keys that it follows from.  chip_is_known: the
 * geometry, the strategy and the capacity are good, so that the number of blocks can be
 * derived too.  -EINVAL with what is wrong with device.capacity. */
int fe_derive(struct fe_profile *p, bool chip_is_known, struct fe_err *why);

/* After the last key: what is missing, what follows from what was given, and what does
 * not go together. */
void fe_settle(struct fe_parse *ps);

/* What does not fit together in a profile whose times may still be open.  complain is
 * called with the option to blame and the one that it does not go with. */
typedef void fe_complain_fn(void *ctx, const struct fe_option *o, const struct fe_option *other,
                            const char *why);
void fe_check(const struct fe_profile *p, fe_complain_fn *complain, void *ctx);

/* Times that were given once hold for every bit of the cell; and back, so that one of
 * them can be set again. */
void fe_times_close(struct fe_nand_params *nand);
void fe_times_open(struct fe_nand_params *nand);

/* The whole file in memory, with a NUL behind it; free(*ret).  -ENOENT, -EACCES, -EISDIR,
 * -EFBIG, -EINVAL if it is no regular file, ... with "FILE: why". */
int fe_read_file(const char *path, char **ret, size_t *ret_len, struct fe_err *err);

/* A path as messages show it: if it is long, its end. */
void fe_label(const char *path, char *buf, size_t len);

#endif
