/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Parameters of a translation layer for tests that run every strategy of the registry.
 *
 * They come from the option table, so that a new strategy or a new option is tested with
 * legal values before any test has heard of it.
 */
#pragma once

#include "flashemu/ftl_params.h"
#include "lib/rand.h"

#include <stdint.h>

/* Parameters that every strategy accepts on a chip of a few dozen blocks: the defaults of the
 * option table, with small values for what takes up blocks or memory, and without wear
 * levelling.  type: index in fe_ftl_registry.  unit_size: bytes of an allocation unit.  A
 * test changes what it cares about. */
struct fe_ftl_params ft_ftl_params(uint32_t type, uint64_t unit_size);

/* Draws a value for each key of [ftl] that belongs to the strategy p->type alone: any word, or a
 * number not far above the smallest one.  The strategy may refuse the result. */
void ft_ftl_draw_own(struct fe_ftl_params *p, struct ft_rand *r);
