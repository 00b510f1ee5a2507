/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The lines of [provenance] and [fidelity], which are kept and not interpreted by the
 * device.
 *
 *   [provenance]  KEY = where the numbers come from; further lines, indented, go on
 *   [fidelity]    ID = PROCEDURE | VALUE UNIT | TOLERANCE%
 */
#ifndef FE_PROFILE_NOTES_H
#define FE_PROFILE_NOTES_H

#include "flashemu/profile.h"
#include "profile/value.h"

#define FE_MAX_NOTES      1000      /* of one section */
#define FE_MAX_NOTE_BYTES (1 << 14) /* of one value */

/* Appends a note.  -ENOMEM, or -EINVAL with the reason: too many, given already, a key
 * with other characters than letters, digits and "_.-". */
int fe_note_add(struct fe_profile_note **list, uint32_t *n, const char *key, const char *value,
                unsigned line, struct fe_err *err);

/* Adds a line to a note's value.  -ENOMEM, or -EINVAL if it becomes too long. */
int fe_note_extend(struct fe_profile_note *note, const char *text, struct fe_err *err);

int fe_notes_copy(struct fe_profile_note **ret, uint32_t *ret_n, const struct fe_profile_note *list,
                  uint32_t n, struct fe_err *err);
void fe_notes_free(struct fe_profile_note *list, uint32_t n);

/* A published measurement of the device. */
struct fe_fidelity {
    char procedure[128];
    enum fe_quantity quantity; /* FE_RATE, FE_TIME, FE_COUNT or FE_SHARE */
    char unit[8];              /* as written: MB/s ms us s count % */
    uint64_t value;            /* bytes a second, ns, number or ppm */
    uint64_t tolerance_ppm;    /* of the value, either way */
};

/* Takes a row's value apart.  -EINVAL with the reason. */
int fe_fidelity_parse(const char *text, struct fe_fidelity *ret, struct fe_err *err);

#endif
