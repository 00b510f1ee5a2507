/* SPDX-License-Identifier: BSD-3-Clause
 *
 * block: one map entry for each block and nothing else, as in the oldest sticks.
 *
 * A data block that has room behind its last page is appended to.  Every other write needs a
 * replacement block.  The pages before the written ones are copied into the replacement, the
 * host's pages follow, and when the host's command ends, the rest is copied behind them and the
 * old block is erased.  So an overwrite copies a whole block however small it is, and a command
 * that covers a whole block copies nothing.
 *
 *     old          | 0 1 2 3 4 5 6 7 |
 *     replacement  | 0 1 2 3'4'. . . |
 *                    copied  ^   ^ copied when the command ends
 *                            written by the host
 *
 * There is one replacement at a time, so a command that goes on in the next block completes the
 * replacement of the first.  In terms of unit_map.h the replacement is log 0, always in order.
 */
#include "ftl/registry.h"
#include "ftl/units/unit_map.h"
#include "ftl/units/unit_recover.h"

#include <errno.h>

struct block_ftl {
    struct fe_unit_map map;
    fe_leb leb;             /* the logical block that is being replaced, or FE_LEB_NONE */
    uint64_t copied_before; /* pages_copied when the replacement began */
};

static struct block_ftl *block_of(struct fe_ftl *ftl)
{
    return (struct block_ftl *)ftl;
}

static enum fe_status begin_replacement(struct block_ftl *b, fe_leb leb)
{
    if (fe_unit_map_open_log(&b->map, 0) == FE_UNIT_NONE)
        return FE_NO_SPACE;
    b->leb = leb;
    b->copied_before = b->map.base.counters.pages_copied;
    return FE_OK;
}

/* Completes the replacement from the old block, which is erased. */
static enum fe_status finish(struct fe_ftl *ftl)
{
    struct block_ftl *b = block_of(ftl);
    if (b->leb == FE_LEB_NONE)
        return FE_OK;
    uint32_t unit = b->map.logs[0];
    enum fe_status st = fe_unit_map_adopt(&b->map, b->leb, unit, FE_TAG_MERGE);
    if (b->map.data[b->leb] != unit)
        return st;
    if (ftl->counters.pages_copied == b->copied_before)
        ftl->counters.merges_switch++;
    else
        ftl->counters.merges_partial++;
    b->map.logs[0] = FE_UNIT_NONE;
    b->leb = FE_LEB_NONE;
    return st;
}

static enum fe_status block_write(struct fe_ftl *ftl, fe_lpn lpn, uint32_t off, uint32_t len,
                                  const void *data)
{
    struct block_ftl *b = block_of(ftl);
    struct fe_unit_map *map = &b->map;
    fe_leb leb = fe_unit_map_leb(map, lpn);
    uint32_t page = lpn - fe_unit_map_lpn(map, leb, 0);
    enum fe_status st = FE_OK;

    if (b->leb != FE_LEB_NONE && (b->leb != leb || page < fe_unit_map_log_fill(map, 0)))
        st = finish(ftl);
    if (st == FE_OK && b->leb != leb && page < fe_unit_map_fill(map, leb))
        st = begin_replacement(b, leb);
    if (st != FE_OK)
        return st;

    /* A replacement is a merge that takes pages of the host on its way. */
    bool is_replaced = b->leb == leb;
    enum fe_tag tag = is_replaced ? FE_TAG_MERGE : FE_TAG_DATA;
    uint32_t unit = is_replaced ? map->logs[0] : fe_unit_map_data_unit(map, leb);
    if (unit == FE_UNIT_NONE)
        return FE_NO_SPACE;
    st = fe_unit_map_fill_gap(map, leb, unit, page, tag);
    return st != FE_OK ? st : fe_unit_map_append(map, unit, tag, lpn, off, len, data);
}

static uint64_t block_max_lpns(const struct fe_ftl_params *p, const struct fe_geometry *geo,
                               struct fe_err *err)
{
    uint32_t pages = fe_units_pages(geo, p->unit.unit_size, err);
    if (pages == 0)
        return 0;
    uint32_t units = fe_units_count(geo, pages);
    if (units < 2)
        return fe_no_pages(err, "ftl.unit_size=%llu: block needs at least 2 blocks, one of them "
                                "spare; the chip has %u of that size",
                                (unsigned long long)p->unit.unit_size, units);
    return (uint64_t)(units - 1) * pages;
}

static int block_start(struct fe_ftl *ftl, const struct fe_ftl_params *p, bool used,
                       struct fe_err *err)
{
    struct block_ftl *b = block_of(ftl);
    b->leb = FE_LEB_NONE;
    int r = fe_unit_map_init(&b->map, p, 1, err);
    return r == 0 && used ? fe_units_recover(&b->map, err) : r;
}

static int block_check(const struct fe_ftl *ftl, struct fe_err *err)
{
    const struct block_ftl *b = (const struct block_ftl *)ftl;
    if (b->leb == FE_LEB_NONE && b->map.logs[0] != FE_UNIT_NONE)
        return fe_err_set(err, EIO, "block %u replaces nothing", b->map.logs[0]);
    int r = b->leb == FE_LEB_NONE ? 0 : fe_unit_map_check_log(&b->map, 0, b->leb, true, NULL, err);
    return r == 0 ? fe_unit_map_check(&b->map, err) : r;
}

const struct fe_ftl_ops fe_ftl_block = {
    .name = "block",
    .summary = "one map entry a block, every overwrite copies it (the oldest sticks)",
    .max_lpns = block_max_lpns,
    .size = sizeof(struct block_ftl),
    .start = block_start,
    .fini = fe_unit_map_fini,
    .may_hold = fe_units_may_hold,
    .read = fe_unit_map_read,
    .locate = fe_unit_map_where,
    .write = block_write,
    .end_command = finish,
    .free_blocks = fe_unit_map_free_blocks,
    .check = block_check,
};
