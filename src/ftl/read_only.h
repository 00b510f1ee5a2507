/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Power-on, which must also work on a chip that takes no program and no erase any more.
 *
 * At the end of life no strategy can put its blocks in order again, but nothing is lost: the
 * newest readable copy of a page is the page, whatever was interrupted and whatever made the
 * copy (recover.h).  This needs no knowledge of the strategy, so one reader serves all of
 * them.
 */
#pragma once

#include "ftl/ftl.h"

/* Starts the strategy of p->type on a chip that has been used, by its `start`.  At the end of life,
 * which may come in the middle of that, starts the reader instead.  Errors are those of `start`. */
int fe_ftl_power_on(struct fe_ftl **ret, const struct fe_ftl_params *p, struct fe_medium *m,
                    uint32_t n_lpns, struct fe_err *err);

/* The reader: finds every page on the chip as it is, and changes nothing.  -ENOMEM. */
int fe_ftl_read_only(struct fe_ftl **ret, struct fe_medium *m, uint32_t n_lpns,
                     struct fe_err *err);
