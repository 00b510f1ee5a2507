/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The properties that test_property checks for every case.  Each function returns NULL, or a text
 * that says what is wrong and stays valid until the next call.
 */
#pragma once

#include "lib/cases.h"

/* Compares the device with plain bytes, with the rules of its chip and with its own invariants. */
const char *ft_property_model(const struct ft_case *c);

/* Compares the device with itself: the same input gives the same answer. */
const char *ft_property_twins(const struct ft_case *c);
