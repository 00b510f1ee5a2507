/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Holes in a data block are padded, not copied: what a log holds of these pages stays the newest
 * copy.  So the data block takes them without a barrier, at the speed of the host.
 */
#include "ftl/units/logblock.h"

uint64_t fe_logblock_max_lpns(const struct fe_ftl_params *p, const struct fe_geometry *geo,
                              uint32_t least, struct fe_err *err)
{
    uint32_t pages = fe_units_pages(geo, p->unit.unit_size, err);
    if (pages == 0)
        return 0;
    uint32_t units = fe_units_count(geo, pages);
    if (units < least + 2)
        return fe_no_pages(err, "ftl.unit_size=%llu: the chip has %u blocks of that size; at least "
                                "%u are needed, for data, ftl.log_blocks=%u and a spare one",
                                (unsigned long long)p->unit.unit_size, units, least + 2, least);
    if (p->log.log_blocks < least || p->log.log_blocks > units - 2)
        return fe_no_pages(err, "ftl.log_blocks=%u: must be %u to %u; the chip has %u blocks of "
                                "ftl.unit_size=%llu, of which one is spare and one at least holds "
                                "data", p->log.log_blocks, least, units - 2, units,
                                (unsigned long long)p->unit.unit_size);
    return (uint64_t)(units - 1 - p->log.log_blocks) * pages;
}

enum fe_status fe_logblock_append_data(struct fe_unit_map *map, fe_lpn lpn, uint32_t off,
                                       uint32_t len, const void *data)
{
    fe_leb leb = fe_unit_map_leb(map, lpn);
    uint32_t page = lpn - fe_unit_map_lpn(map, leb, 0);
    uint32_t unit = fe_unit_map_data_unit(map, leb);
    if (unit == FE_UNIT_NONE)
        return FE_NO_SPACE;
    enum fe_status st = FE_OK;
    while (map->units.fill[unit] < page && st == FE_OK)
        st = fe_unit_append(&map->units, unit, FE_LPN_NONE, FE_TAG_DATA, FE_PPN_NONE, 0, 0, NULL);
    return st != FE_OK ? st : fe_unit_map_append(map, unit, FE_TAG_DATA, lpn, off, len, data);
}
