/* SPDX-License-Identifier: BSD-3-Clause */
#include "nand/geometry.h"

#include <errno.h>
#include <string.h>

int fe_geometry_init(struct fe_geometry *geo, const struct fe_nand_params *p, struct fe_err *err)
{
    memset(geo, 0, sizeof *geo);
    uint32_t gang = p->multiplane && p->planes_per_die ? p->planes_per_die : 1;
    uint32_t parts = p->page_parts ? p->page_parts : 1;
    uint64_t dies, per_die, pebs, ppb, ppns, page;

    if (!fe_mul_ok(p->channels, p->dies_per_channel, &dies) ||
        !fe_mul_ok(p->planes_per_die / gang, p->blocks_per_plane, &per_die) ||
        !fe_mul_ok(p->pages_per_block, parts, &ppb) || !fe_mul_ok(dies, per_die, &pebs) ||
        !fe_mul_ok(pebs, ppb, &ppns) || !fe_mul_ok(p->page_size, gang, &page) ||
        ppns >= FE_PPN_NONE || page > (1u << 30) || pebs > (1u << 31) || dies > UINT16_MAX ||
        ppb > UINT16_MAX)
        return fe_err_set(err, EOVERFLOW,
                          "[nand] channels=%u dies_per_channel=%u planes_per_die=%u "
                          "blocks_per_plane=%u pages_per_block=%u page_size=%u page_parts=%u: "
                          "more than 2^32 - 2 pages, 2^31 blocks, 65535 dies or 65535 pages in a "
                          "block, or pages above 1 GiB",
                          p->channels, p->dies_per_channel, p->planes_per_die,
                          p->blocks_per_plane, p->pages_per_block, p->page_size, parts);
    if (ppns == 0 || page == 0)
        return fe_err_set(err, EINVAL, "[nand] a chip without pages");
    if ((parts & (parts - 1)) || p->page_size % parts || p->oob_size % parts)
        return fe_err_set(err, EINVAL,
                          "nand.page_parts=%u: must be a power of two, and divide page_size=%u and "
                          "oob_size=%u",
                          parts, p->page_size, p->oob_size);

    geo->n_dies = (uint32_t)dies;
    geo->n_channels = p->channels;
    geo->blocks_per_die = (uint32_t)per_die;
    geo->n_pebs = geo->n_chip_blocks = (uint32_t)pebs;
    geo->n_ppns = (uint32_t)ppns;
    geo->pages_per_block = (uint32_t)ppb;
    geo->parts_log2 = fe_log2(parts);
    geo->page_bytes = (uint32_t)page / parts;
    geo->oob_bytes = p->oob_size * gang / parts;
    geo->planes_ganged = gang;
    geo->cell = p->cell;
    geo->by_ppb = fe_fastdiv_init(geo->pages_per_block);
    geo->by_dies = fe_fastdiv_init(geo->n_dies);
    return 0;
}

int fe_geometry_reserve(struct fe_geometry *geo, uint64_t n, struct fe_err *err)
{
    assert(n % geo->n_dies == 0);
    if (n >= geo->n_pebs)
        return fe_err_set(err, EINVAL,
                          "faults.factory_bad and faults.spare_blocks set %llu blocks aside; the "
                          "chip has %u",
                          (unsigned long long)n, geo->n_pebs);
    geo->n_pebs -= (uint32_t)n;
    geo->n_ppns = geo->n_pebs * geo->pages_per_block;
    geo->blocks_per_die = geo->n_pebs / geo->n_dies;
    return 0;
}

enum fe_page_type fe_page_type(const struct fe_geometry *g, uint32_t page)
{
    assert(page < g->pages_per_block);
    uint32_t whole = page >> g->parts_log2, n = g->pages_per_block >> g->parts_log2;
    switch (g->cell) {
    case FE_CELL_MLC:
        if (whole == 0)
            return FE_PAGE_LSB;
        if (whole == n - 1)
            return FE_PAGE_MSB;
        return whole % 2 ? FE_PAGE_LSB : FE_PAGE_MSB;
    case FE_CELL_TLC:
        return (enum fe_page_type)(whole % 3);
    default:
        return FE_PAGE_LSB;
    }
}

uint32_t fe_page_bit(const struct fe_geometry *g, uint32_t page)
{
    enum fe_page_type type = fe_page_type(g, page);
    if (g->cell == FE_CELL_MLC)
        return type == FE_PAGE_MSB;
    return (uint32_t)type;
}

uint32_t fe_page_partner(const struct fe_geometry *g, uint32_t page)
{
    if (g->cell != FE_CELL_MLC || fe_page_type(g, page) != FE_PAGE_MSB)
        return page;
    uint32_t whole = page >> g->parts_log2, n = g->pages_per_block >> g->parts_log2;
    if (whole <= 2)
        return 0;
    return (whole - (whole == n - 1 && whole % 2 ? 2 : 3)) << g->parts_log2;
}
