/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The strategies.  A new one is declared here, listed in registry.c and named in
 * meson.build; nothing else has to know it.
 */
#ifndef FE_FTL_REGISTRY_H
#define FE_FTL_REGISTRY_H

#include "ftl/ftl.h"

extern const struct fe_ftl_ops fe_ftl_bast;
extern const struct fe_ftl_ops fe_ftl_block;
extern const struct fe_ftl_ops fe_ftl_dftl;
extern const struct fe_ftl_ops fe_ftl_fast;
extern const struct fe_ftl_ops fe_ftl_norlog;
extern const struct fe_ftl_ops fe_ftl_page;
extern const struct fe_ftl_ops fe_ftl_segment;
extern const struct fe_ftl_ops fe_ftl_step;

#endif
