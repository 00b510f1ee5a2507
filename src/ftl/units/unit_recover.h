/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Power-on of the strategies that map units: block, segment, bast and fast.
 *
 * Afterwards every leb that holds anything is one data unit with all its pages in place, all
 * other units are erased and free, and no log has a unit: what the logs held has been merged, in
 * modelled time.  A second power-on changes nothing, and power may fail during a power-on.
 */
#pragma once

#include "ftl/units/unit_map.h"

/* For `start` of these strategies on a used medium, behind all that it does on an erased one: finds the
 * units again.  -EIO also if the chip holds more than such a strategy could have written. */
int fe_units_recover(struct fe_unit_map *map, struct fe_err *err);

/* As in struct fe_ftl_ops, for these strategies. */
bool fe_units_may_hold(const struct fe_ftl *ftl, fe_ppn ppn);
