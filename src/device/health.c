/* SPDX-License-Identifier: BSD-3-Clause
 *
 * JESD84-B51 leaves it to the maker what an estimate counts.  Makers count the mean of the erases
 * against the endurance of the data sheet, and the reserve that is used up, and so do the industrial
 * cards whose registers people have published: of one, 13 590 mean erases were 453 % of 3000.
 */
#include "device/snapshot.h"

#include "flashemu/health.h"

const char *fe_pre_eol_name(uint32_t step)
{
    static const char *const names[FE_N_PRE_EOLS] = {
        [FE_PRE_EOL_UNDEFINED] = "undefined", [FE_PRE_EOL_NORMAL] = "normal",
        [FE_PRE_EOL_WARNING] = "warning", [FE_PRE_EOL_URGENT] = "urgent",
    };
    return step < FE_N_PRE_EOLS ? names[step] : NULL;
}

uint32_t fe_life_step(double cycles, uint64_t endurance)
{
    if (endurance == 0)
        return 0;
    double tenths = 10 * cycles / (double)endurance;
    return tenths > 10 ? 11 : tenths > 9 ? 10 : (uint32_t)tenths + 1;
}

/* Blocks that were set aside can only be used up by those that went bad. */
static uint32_t pre_eol(const struct fe_health *h)
{
    if (h->condition == FE_COND_READ_ONLY || h->condition == FE_COND_FULL ||
        h->condition == FE_COND_DEAD || h->condition == FE_COND_WORN)
        return FE_PRE_EOL_URGENT;
    uint64_t used = h->reserve - h->spare;
    if (h->reserve == 0)
        return FE_PRE_EOL_UNDEFINED;
    if (used * 10 >= h->reserve * 9)
        return FE_PRE_EOL_URGENT;
    return used * 10 >= h->reserve * 8 ? FE_PRE_EOL_WARNING : FE_PRE_EOL_NORMAL;
}

void fe_snapshot_health(const struct fe_snapshot *s, struct fe_health *ret)
{
    struct fe_sums slc = {0}, others = {0};
    *ret = s->health;
    ret->blocks = s->n_blocks;
    for (fe_peb peb = 0; peb < s->n_blocks; peb++) {
        const struct fe_peb_info *b = &s->blocks[peb];
        bool bad = b->marks & FE_MARKS_BAD;
        ret->total_erases += b->erase_count;
        ret->bad_factory += !!(b->marks & FE_MARK_FACTORY_BAD);
        ret->bad_grown += !!(b->marks & (FE_MARK_GROWN_BAD | FE_MARK_FAILED));
        if (peb >= s->n_pebs)
            ret->spare += !bad;
        else if (!bad)
            fe_sums_add(b->marks & FE_MARK_SLC ? &slc : &others, b->erase_count);
    }
    ret->reserve = s->n_blocks - s->n_pebs - fe_min_u64(s->n_blocks - s->n_pebs, ret->bad_factory);
    ret->slc.blocks = slc.n;
    ret->slc.cycles = fe_sums_stats(&slc);
    ret->others.blocks = others.n;
    ret->others.cycles = fe_sums_stats(&others);
    ret->life_a = slc.n ? fe_life_step(ret->slc.cycles.mean, ret->slc.endurance) : 0;
    ret->life_b = others.n ? fe_life_step(ret->others.cycles.mean, ret->others.endurance) : 0;
    ret->pre_eol = pre_eol(ret);
}
