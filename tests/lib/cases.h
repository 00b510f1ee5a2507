/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Cases of the property tests: a device for each (seed, geometry, strategy).  Nothing of it comes
 * from a file.
 *
 * The geometry number decides the shape of the chip and of units.  The seed decides the rest
 * (times, link, cache, parameters of the strategy, capacity, how much was used before) and the
 * workload.  Every message names the case as "seed:geometry:strategy".  Given such names as
 * arguments, a test program runs only these cases.
 */
#pragma once

#include "flashemu/device.h"
#include "lib/rand.h"

#include <stdbool.h>

struct ft_case {
    uint64_t seed;
    uint32_t geometry;
    uint32_t type;              /* index in fe_ftl_registry */
    char id[64];
    struct fe_profile profile;
};

/* Makes the profile of a case.  Returns false if the strategy refuses every set of parameters that
 * was tried for this shape. */
bool ft_case_make(struct ft_case *c, uint64_t seed, uint32_t geometry, uint32_t type);

/* Splits SEED:GEOMETRY:STRATEGY.  Returns what stands behind, "" or a text that begins with ':', or
 * NULL if the id is none. */
const char *ft_case_parse(const char *id, uint64_t *seed, uint32_t *geometry, uint32_t *type);

/* Reads "K/N", the K-th of N parts; false if it is none. */
bool ft_part_parse(const char *text, uint32_t *part, uint32_t *parts);

/* Draws all parameters of translation layers.  type, unit_size, sector_size and [nand] of *p must
 * be set before.  The strategy may refuse the result. */
void ft_case_draw_ftl(struct fe_profile *p, struct ft_rand *r);

/* The shape in words, for messages.  Returns buf. */
const char *ft_case_text(const struct ft_case *c, char *buf, size_t len);

/* How many seeds a test takes: `many` with FLASHEMU_LONG=1, one with FLASHEMU_SHORT=1, as builds with
 * sanitizers have it, and otherwise `usual`. */
uint32_t ft_seeds(uint32_t usual, uint32_t many);

/* The main function of a property test.  Runs fn for `seeds` seeds of every geometry
 * [0, n_geometries) and every strategy of the registry, or for the cases that the command line
 * names.  --part K/N runs every N-th case only, and --long (or FLASHEMU_LONG=1) runs six times as
 * many seeds.
 *
 * fn returns NULL, or what went wrong, which is printed with the id of the case.  The id is also
 * printed if the case aborts.  Returns the exit code: 0, 1 if a case failed, 2 for wrong use. */
int ft_cases_main(int argc, char **argv, uint32_t n_geometries, uint32_t seeds,
                  const char *(*fn)(const struct ft_case *c));
