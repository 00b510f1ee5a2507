/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The making of a profile.
 *
 *   defaults -> lines of the file -> overrides -> fe_settle: keys without effect, missing keys,
 *                                                 derived defaults, checks between keys
 *
 * While a profile is made, struct fe_parse remembers where each key came from, so that a mistake
 * that is found later can still name the line or the override.
 *
 * Two arrays say that a key was given, and they serve different ends:
 *
 *     fe_parse.given[]     lives while the profile is made.  It holds the place of each key, for
 *                          messages, and never forgets a key.
 *     fe_profile.given[]   stays in the profile.  It says that the present value was chosen and is
 *                          not to be derived from other keys.  fe_drop_unused clears it for keys
 *                          that have no effect.
 *
 * Every stage adds its mistakes to one list and goes on.  So one run can find all mistakes, and the
 * caller decides after which stage to stop (load.c).  Memory is the exception: `nomem` makes the
 * result useless, and the caller must look at it before anything else.
 *
 * An image stores the text that fe_profile_print made of its profile.  That text is read by the
 * same code, and leniently in a single respect: see `stored`.
 */
#pragma once

#include "profile/mistakes.h"
#include "profile/options.h"

/* The longest line in bytes, without its end.  The packaged inih has a buffer of 200 bytes for the
 * line, CR, LF and NUL. */
#define FE_MAX_LINE 197

/* The largest profile in bytes. */
#define FE_MAX_PROFILE (1u << 20)

/* Where a key was given: nowhere, in a line, or by an override.  A later override takes the place
 * of a line.  A value that was refused is given but not good: the field keeps the value that it
 * had, and other mistakes that involve the key are not reported, because they would be
 * consequences. */
struct fe_given {
    bool given;
    bool good;            /* the value was accepted and is in the profile */
    unsigned line;        /* 0 if by an override */
    const char *override; /* its text; not owned */
    const char *written;  /* of a line: the value as it stands there, not NUL-terminated */
    size_t written_len;
};

/* A mistake that each line of a file in another format makes: a few are shown, the rest counted. */
enum { FE_CROWD_SHOWN = 3 };
struct fe_crowd {
    unsigned n, last; /* number of lines, and the last of them */
};

/* The state of the making of one profile.  The caller owns it; it holds no memory of its own.  The
 * text, the overrides, the profile and the list of mistakes must outlive it. */
struct fe_parse {
    struct fe_profile *p;
    struct fe_mistakes *mistakes;
    char label[128]; /* the file in messages */
    struct fe_given given[FE_MAX_OPTIONS]; /* by index in fe_options */
    unsigned old_line[FE_MAX_OLD_KEYS];    /* where a key that went is given; 0 if it is not */
    unsigned section_line[FE_N_SECTIONS];  /* of the first header; 0 if there is none */
    /* reading */
    const char *text, *end;
    const char *line_text; /* the line that inih has got, as it stands in the text */
    unsigned line;
    struct fe_crowd others; /* lines that are neither [SECTION] nor KEY = VALUE */
    struct fe_crowd strays; /* keys before the first section */
    struct fe_crowd bytes;  /* lines with bytes that are no text */
    int section;       /* enum fe_section; SECTION_NONE, SECTION_REFUSED */
    bool in_note;      /* the last key of [provenance] was good; a line may continue it */
    bool continued;    /* the line that inih has got continues a value */
    bool nomem;
    /* The text is the profile in the header of an image.  Images made by version 0.1.0 hold
     * every key of the table there, also those that the strategy does not use: they are
     * passed over in silence instead of being refused.  So are keys that went (old_keys.h). */
    bool stored;
};

/* Begins: all defaults are in place, and there are no notes.  file_name is used in messages.  The
 * caller owns the profile and the mistakes. */
void fe_parse_init(struct fe_parse *ps, struct fe_profile *p, struct fe_mistakes *m,
                   const char *file_name);

/* A mistake of a line: "FILE:LINE: ...". */
void fe_parse_complain(struct fe_parse *ps, unsigned line, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Adds a mistake about a key: "FILE:LINE: KEY = VALUE: why" if the key came from a line, and
 * "KEY=VALUE: why" if it came from an override.  For a key that was not given the line is that of
 * its section, or the last one. */
void fe_parse_blame(struct fe_parse *ps, const struct fe_option *o, const char *why);

/* Parses the lines of a file; mistakes are collected.  To be called once.  The text need not end in
 * NUL. */
void fe_parse_text(struct fe_parse *ps, const char *text, size_t len);

/* Parses one "SECTION.KEY=VALUE"; mistakes are collected.  Call it after fe_parse_text.  The text
 * of the override is not copied: messages of fe_settle still use it. */
void fe_parse_override(struct fe_parse *ps, const char *override);

/* Keys that the strategy does not use get their defaults; which of them had another value is
 * noted in p->unused.  p->ftl.type must be good. */
void fe_drop_unused(struct fe_profile *p);

/* Fills every derived default from the keys that it follows from.  chip_is_known says that the
 * geometry, the strategy and the capacity are good, so that the number of blocks can be derived as
 * well.  -EINVAL with what is wrong with device.capacity. */
int fe_derive(struct fe_profile *p, bool chip_is_known, struct fe_err *why);

/* Finishes the profile after the last key: complains about keys without effect and about missing
 * keys, fills derived defaults, and checks what depends on several keys.  Afterwards the profile is
 * good if there are no mistakes, and only fit to be freed if there are some. */
void fe_settle(struct fe_parse *ps);

/* Checks the rules between keys, in a profile whose times may still be open.  complain is called
 * for each rule that is broken, with the option to blame and the option that it does not fit. */
typedef void fe_complain_fn(void *ctx, const struct fe_option *o, const struct fe_option *other,
                            const char *why);
void fe_check(const struct fe_profile *p, fe_complain_fn *complain, void *ctx);

/* Closing fills times that were not given, so that there is one for every bit of the cell.  Opening
 * is the way back, for a profile in which a time or the cell is to be set again. */
void fe_times_close(struct fe_nand_params *nand);
void fe_times_open(struct fe_nand_params *nand);

/* Reads a whole file into memory and adds a NUL; the caller frees *ret.  -ENOENT, -EACCES, -EISDIR,
 * -EFBIG, -EINVAL if it is not a regular file, ... with "FILE: why". */
int fe_read_file(const char *path, char **ret, size_t *ret_len, struct fe_err *err);

/* A path as messages show it: a long path is cut to its end. */
void fe_label(const char *path, char *buf, size_t len);
