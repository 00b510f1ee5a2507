/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The table of all strategies.
 *
 * A strategy NAME is a file that defines `const struct fe_ftl_ops fe_ftl_NAME`, and one line
 * STRATEGY(NAME) here.  Users, tests and help see the strategies in this order, through
 * fe_ftl_registry (ftl.h).
 */
#pragma once

#include "ftl/ftl.h"

#define FE_FTL_STRATEGIES(STRATEGY) \
    STRATEGY(page)                  \
    STRATEGY(segment)               \
    STRATEGY(block)                 \
    STRATEGY(bast)                  \
    STRATEGY(fast)                  \
    STRATEGY(norlog)                \
    STRATEGY(step)                  \
    STRATEGY(dftl)

#define FE_FTL_DECLARE(name) extern const struct fe_ftl_ops fe_ftl_##name;
FE_FTL_STRATEGIES(FE_FTL_DECLARE)
#undef FE_FTL_DECLARE
