/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Power-on, also of a chip that takes no program and no erase any more.
 *
 * At the end of life no strategy can put its blocks in order again, but nothing is lost: of
 * the copies of a page that can be read the newest one is the page, whatever was interrupted
 * and whatever had the copy made (recover.h).  That needs nothing of the strategy, so one
 * reader serves for all of them.
 */
#ifndef FE_FTL_READ_ONLY_H
#define FE_FTL_READ_ONLY_H

#include "ftl/ftl.h"

/* The strategy of p->type on a chip that has been used: its `recover`, or at the end of life,
 * which may come in the middle of that, the reader.  Errors of `recover`. */
int fe_ftl_power_on(struct fe_ftl **ret, const struct fe_ftl_params *p, struct fe_medium *m,
                    uint32_t n_lpns, struct fe_err *err);

/* The reader: every page is found on the chip as it is, nothing is changed.  -ENOMEM. */
int fe_ftl_read_only(struct fe_ftl **ret, struct fe_medium *m, uint32_t n_lpns,
                     struct fe_err *err);

#endif
