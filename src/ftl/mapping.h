/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One entry of a table from logical to physical pages, and reading where one points.
 *
 *     entry       0        1     2     3   ...
 *     page        none     0     1     2   ...
 *
 * A table of zeros maps nothing, so a new device has its map as the host's kernel supplies it, and
 * takes memory only for what is written.  (A map of 1 TiB in pages of 4 KiB has 1 GiB.)  The table
 * of `dftl` is no such table: its bytes are what the chip holds.
 */
#pragma once

#include "nand/medium.h"

#include <string.h>

struct fe_ftl;

struct fe_mapping {
    uint32_t ppn_plus_1;
};

/* The page that the entry names, or FE_PPN_NONE. */
static inline fe_ppn fe_mapped(struct fe_mapping m)
{
    return m.ppn_plus_1 - 1;
}

/* The entry that names a page, or none for FE_PPN_NONE. */
static inline struct fe_mapping fe_mapping(fe_ppn ppn)
{
    return (struct fe_mapping){ppn + 1};
}

/* Reads a page where a map says that it lies: zeros, and no operation, for FE_PPN_NONE. */
static inline enum fe_status fe_read_mapped(struct fe_medium *m, fe_ppn ppn, uint32_t off,
                                            uint32_t len, void *buf)
{
    if (ppn != FE_PPN_NONE)
        return fe_medium_read(m, ppn, off, len, buf);
    if (buf)
        memset(buf, 0, len);
    return FE_OK;
}

/* The `read` and the `locate` of a strategy that has ftl->map, and nothing more to do for a read. */
enum fe_status fe_mapped_read(struct fe_ftl *ftl, fe_lpn lpn, uint32_t off, uint32_t len, void *buf);
fe_ppn fe_mapped_locate(const struct fe_ftl *ftl, fe_lpn lpn);
