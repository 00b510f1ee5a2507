/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The procedures that a row of [fidelity] can name.  A procedure says how the published figure was
 * measured.
 *
 *   NAME [KEY=VALUE...]      the arguments of the procedure, in any order
 *
 * The table in procedures.c defines each procedure and what it measures.  So a wrong name, argument
 * or unit is found when the profile is loaded, as a mistake in its line.
 *
 * `flashemu verify` runs the procedures: either in its own process, with a device in virtual time,
 * or with a Linux kernel, by a step of tools/vm/story.sh.
 *
 * Several procedures can be figures of one experiment.  The experiment then runs once for all of
 * them, and once more for each different set of arguments, unless these only choose a figure.
 */
#pragma once

#include "base/quantity.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FE_MAX_PROCEDURE_ARGS 3

/* Where a procedure runs. */
enum fe_place {
    FE_PLACE_MODEL,  /* requests in virtual time, in the tool's own process */
    FE_PLACE_KERNEL, /* a Linux kernel in front of a served device */
};

/* An argument that a row must give, unless it is a time that may be 0: one that the host takes, and
 * does not if the row is silent.  The quantity says how its text looks and in which unit the value
 * is stored; see base/quantity.h. */
struct fe_procedure_arg {
    const char *key; /* NULL: no more of them */
    enum fe_quantity quantity;
    uint64_t min, max; /* of the value, inclusive */
};

/* What a host that uses neither the command queue nor the write cache makes of a device. */
#define FE_WITHOUT_QUEUE "link.queue=off cache.mode=off"

/* A row of the table.  Procedures with the same experiment and the same arguments are figures of
 * one run. */
struct fe_procedure {
    const char *name;
    const char *experiment;    /* what has to be run for it */
    enum fe_quantity quantity; /* of the figure */
    enum fe_place place;
    bool slow;            /* left out by --quick: takes more than a minute */
    const char *override; /* SECTION.KEY=VALUE, if the procedure needs a device with another past
                             or another host than the profile says; several have blanks between
                             them, but only in the model; NULL: as the profile says */
    const char *help;     /* one sentence */
    struct fe_procedure_arg args[FE_MAX_PROCEDURE_ARGS];
};

/* The table, in the order in which `flashemu verify --list` prints it. */
extern const struct fe_procedure fe_procedures[];
extern const size_t fe_n_procedures;

static inline bool fe_procedure_arg_is_optional(const struct fe_procedure_arg *a)
{
    return a->quantity == FE_TIME && a->min == 0;
}

/* NULL if there is no procedure of that name. */
const struct fe_procedure *fe_procedure_find(const char *name);

/* Parses "NAME [KEY=VALUE...]".  arg[i] becomes the value of the procedure's args[i]; entries
 * behind the last argument are 0.  -EINVAL with the reason. */
int fe_procedure_parse(const char *text, const struct fe_procedure **ret,
                       uint64_t arg[FE_MAX_PROCEDURE_ARGS], struct fe_err *err);
