/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Power-on of the strategies that map units: block, segment, bast and fast.
 *
 * Afterwards every logical unit that holds anything is one data unit with its pages in
 * place, every other unit is erased and free, and there are no logs: what they held has
 * been merged, in modelled time.  Doing it again changes nothing, and it may be cut itself.
 */
#ifndef FE_FTL_UNIT_RECOVER_H
#define FE_FTL_UNIT_RECOVER_H

#include "ftl/ftl.h"
#include "ftl/unit.h"

/* u: fresh from fe_units_init, on a medium that has been used.  data[0, n_lebs) becomes the
 * unit of each logical unit, or FE_UNIT_NONE.  What is copied is counted in c.  -ENOMEM, or
 * -EIO if the chip holds more than such a strategy could have written. */
int fe_units_recover(struct fe_units *u, uint32_t *data, uint32_t n_lebs,
                     struct fe_ftl_counters *c, struct fe_err *err);

#endif
