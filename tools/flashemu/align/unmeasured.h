/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What of a profile's structure nobody has measured.  `flashemu-lab fit` says so in [provenance]:
 *
 *     ftl.unit_size = taken from NAME, not measured
 *     ftl.random_log = assumed, not measured: most cards merge a unit before it is full
 *     figures = 3 figures that do not follow from each other are too few ...
 *     worst = This profile is far from its measurement at writes in order by 16 MiB: +82 %
 *
 * A start of partitions that depends on such a number alone would be advice about another device.
 * Whoever gives the number on the command line knows it, so then it counts as measured.
 */
#pragma once

#include "flashemu/profile.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define UNMEASURED_MAX 8 /* numbers of the structure that count */

struct unmeasured {
    const char *few;                      /* what [provenance] says of the figures, or NULL */
    const char *worst;                    /* what it says a fit is far off at, or NULL */
    const char *key[UNMEASURED_MAX];      /* such as "ftl.unit_size" */
    const char *value[UNMEASURED_MAX];    /* its line of [provenance]; the profile owns the text */
    uint32_t n;
    bool decides; /* a start would depend on this alone */
};

/* Looks at the provenance.  overrides are "SECTION.KEY=VALUE" each.  The result points into the
 * profile. */
struct unmeasured unmeasured_of(const struct fe_profile *profile, const char *const *overrides,
                                uint32_t n_overrides);

/* Writes the sentences that stand in front of everything, each with two blanks behind it; nothing
 * if all was measured and the profile is near. */
void unmeasured_say(FILE *out, const struct unmeasured *u);
