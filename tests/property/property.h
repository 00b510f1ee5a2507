/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The properties that test_property holds every case against.  NULL, or what is wrong.
 */
#ifndef FT_PROPERTY_H
#define FT_PROPERTY_H

#include "lib/cases.h"

/* The device against plain bytes, its chip's rules and its own invariants. */
const char *ft_property_model(const struct ft_case *c);

/* The device against itself: same input, same answer. */
const char *ft_property_twins(const struct ft_case *c);

#endif
