/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the log-block strategies bast and fast share besides the map of units (unit_map.h).
 *
 *   data blocks   one for each logical block at most
 *   log blocks    ftl.log_blocks; bast gives each one to a logical block, fast shares them
 *   one block     is free, for a merge to fill
 *
 * A data block that has room takes its next page without a log, as on a fresh device.  It also
 * takes a page at most ftl.gap_fill pages further on; the pages between become padding, even
 * where a log holds a copy of them.
 */
#pragma once

#include "ftl/units/unit_map.h"

/* As fe_ftl_ops.max_lpns; the strategy needs at least `least` log blocks. */
uint64_t fe_logblock_max_lpns(const struct fe_ftl_params *p, const struct fe_geometry *geo,
                              uint32_t least, struct fe_err *err);

/* Whether the data block can take this page itself. */
static inline bool fe_logblock_takes(const struct fe_unit_map *map, fe_leb leb, uint32_t page)
{
    return fe_unit_map_reaches(map, fe_unit_map_fill(map, leb), page);
}

/* Writes a page to the data block, which must take the page.  As fe_ftl_ops.write. */
enum fe_status fe_logblock_append_data(struct fe_unit_map *map, fe_lpn lpn, uint32_t off,
                                       uint32_t len, const void *data);
