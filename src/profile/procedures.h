/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The procedures that a row of [fidelity] may name: how the published figure was measured.
 *
 * One table (procedures.c) defines each procedure with what it measures, so that a wrong
 * name, argument or unit is a mistake of the profile's line, found when the profile is
 * loaded.  Running them is the business of `flashemu verify`: in its own process with a
 * device in virtual time, or with a kernel by a step of tools/vm/story.sh.
 *
 *   NAME [KEY=VALUE...]      every argument of the procedure, in any order
 *
 * Several procedures may be figures of one experiment, which then runs once for all of
 * them (and once for each different set of arguments).
 */
#ifndef FE_PROFILE_PROCEDURES_H
#define FE_PROFILE_PROCEDURES_H

#include "base/quantity.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FE_MAX_PROCEDURE_ARGS 3

/* What runs a procedure. */
enum fe_place {
    FE_PLACE_MODEL,  /* requests in virtual time, in the tool's own process */
    FE_PLACE_KERNEL, /* a Linux kernel in front of a served device */
};

struct fe_procedure_arg {
    const char *key; /* NULL: no more of them */
    enum fe_quantity quantity;
    uint64_t min, max; /* of the value, inclusive */
};

struct fe_procedure {
    const char *name;
    const char *experiment;    /* what has to be run for it */
    enum fe_quantity quantity; /* of the figure */
    enum fe_place place;
    bool slow;            /* left out by --quick: takes more than a minute */
    const char *override; /* the stick's past, where the procedure demands one that is not the
                             profile's: SECTION.KEY=VALUE; NULL = the profile's */
    const char *help;     /* one sentence */
    struct fe_procedure_arg args[FE_MAX_PROCEDURE_ARGS];
};

extern const struct fe_procedure fe_procedures[];
extern const size_t fe_n_procedures;

/* NULL if there is no procedure of that name. */
const struct fe_procedure *fe_procedure_find(const char *name);

/* Takes "NAME [KEY=VALUE...]" apart; arg[i] is the value of the procedure's args[i], 0
 * behind the last.  -EINVAL with the reason. */
int fe_procedure_parse(const char *text, const struct fe_procedure **ret,
                       uint64_t arg[FE_MAX_PROCEDURE_ARGS], struct fe_err *err);

#endif
