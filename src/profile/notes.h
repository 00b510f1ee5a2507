/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The lines of [provenance] and [fidelity].  The profile keeps them as text; the device does not
 * use them.
 *
 *   [provenance]  KEY = where the numbers come from; further lines, indented, go on
 *   [fidelity]    ID = PROCEDURE [KEY=VALUE...] | VALUE UNIT | TOLERANCE% [| REASON]
 *
 * A reason explains why the model does not meet this figure although it meets the others.  A
 * reason that begins with "note:" is no excuse.  It tells what a reader should know about the
 * figure, for example how its procedure differs from the published one.
 */
#pragma once

#include "base/quantity.h"
#include "flashemu/profile.h"
#include "profile/procedures.h"

#define FE_MAX_NOTES      1000      /* of one section */
#define FE_MAX_NOTE_BYTES (1 << 14) /* of one value */

/* Appends a note.  -ENOMEM, or -EINVAL with the reason: there are too many notes, the key was given
 * before, or the key has a character other than letters, digits and "_.-".  Both texts are copied.
 * line is where the note stands; later messages name it.  Begin with *list = NULL and *n = 0. */
int fe_note_add(struct fe_profile_note **list, uint32_t *n, const char *key, const char *value,
                unsigned line, struct fe_err *err);

/* Adds a line to a note's value.  -ENOMEM, or -EINVAL if it becomes too long. */
int fe_note_extend(struct fe_profile_note *note, const char *text, struct fe_err *err);

/* Copies a list with its texts; the caller frees it with fe_notes_free.  -ENOMEM, and then there is
 * nothing to free. */
int fe_notes_copy(struct fe_profile_note **ret, uint32_t *ret_n, const struct fe_profile_note *list,
                  uint32_t n, struct fe_err *err);

/* Frees the notes, their texts and the array.  list may be NULL if n is 0. */
void fe_notes_free(struct fe_profile_note *list, uint32_t n);

/* A published measurement of the device: a row of [fidelity], parsed.  It owns no memory.  `value`
 * is in the unit of its quantity; unit and unit_size tell in which unit the source gave it. */
struct fe_fidelity {
    const struct fe_procedure *procedure;
    uint64_t arg[FE_MAX_PROCEDURE_ARGS];
    char text[128];            /* procedure and arguments as written */
    enum fe_quantity quantity; /* the procedure's: FE_RATE, FE_TIME, FE_COUNT or FE_SHARE */
    char unit[8];              /* as written: MB/s ms us s count % */
    double unit_size;          /* that unit in bytes a second, ns, 1 or ppm */
    uint64_t value;            /* bytes a second, ns, number or ppm */
    uint64_t tolerance_ppm;    /* of the value, either way */
    char reason[160];          /* why the model does not meet it; "" = it does */
    char note[160];            /* what else a reader should know; "" = nothing */
};

/* Parses the value of a row of [fidelity].  -EINVAL with the reason: the form, the procedure or an
 * argument is wrong, or the unit does not suit the procedure. */
int fe_fidelity_parse(const char *text, struct fe_fidelity *ret, struct fe_err *err);

/* The units in which a figure of this quantity can be written, for messages. */
const char *fe_fidelity_units(enum fe_quantity quantity);
