/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Cases of the property tests: a device for each (seed, geometry, strategy), nothing of
 * it from a file.
 *
 * The geometry number decides the shape of the chip and of units; the seed decides the
 * rest (times, link, cache, parameters of the strategy, capacity, how much was used
 * before) and the workload.  A case is named "seed:geometry:strategy" in every message,
 * and each test binary runs just those cases that it is given as arguments.
 */
#ifndef FT_CASES_H
#define FT_CASES_H

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

/* The device of a case.  False if the strategy refuses every set of parameters that was
 * tried for this shape. */
bool ft_case_make(struct ft_case *c, uint64_t seed, uint32_t geometry, uint32_t type);

/* Draws what every strategy can be told; type, unit_size, sector_size and [nand] of *p say
 * for what device.  The strategy may refuse it. */
void ft_case_draw_ftl(struct fe_profile *p, struct ft_rand *r);

/* The shape in words, for messages. */
const char *ft_case_text(const struct ft_case *c, char *buf, size_t len);

/* Runs fn over `seeds` seeds of every geometry [0, n_geometries) and strategy, or over
 * the cases that the command line names; --part K/N takes every N-th one, --long (or
 * FLASHEMU_LONG=1) six times as many seeds.  fn returns NULL or what went wrong, which is
 * printed with the case's id; so is the id if the case aborts.  Returns main's result: 0,
 * or 1 if a case failed, 2 for wrong use. */
int ft_cases_main(int argc, char **argv, uint32_t n_geometries, uint32_t seeds,
                  const char *(*fn)(const struct ft_case *c));

#endif
