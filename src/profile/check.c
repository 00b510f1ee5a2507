/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Checks that need more than one key of a profile.
 *
 * Each key alone has been checked when it was parsed (option_value.c).  Here are the rules
 * between keys that hold for every strategy, for example that the capacity is a whole number
 * of sectors.  Whether the chip has room for the capacity is not checked here: only the
 * strategy knows that, and the device asks it (device/build.c).
 *
 * The checks run on a profile whose times may still be open (FE_TIME_NONE), because the number
 * of times that were given is one of the things to check.
 *
 *     "25us/50us"  --parse-->  25us | 50us | NONE   --close-->  25us | 50us | 50us
 *                                open: checked here   <--open--   closed: a finished profile
 *
 * The rules do not know where a key came from.  They report to a callback, and the caller decides
 * what becomes of the complaint: fe_settle names the line and leaves out keys that have been
 * reported before, and fe_profile_set keeps the first complaint.
 *
 * A rule that only some strategies need does not belong here.  A key that the strategy does not
 * use has its default when the checks run, so every rule must accept the defaults.
 */
#include "profile/parse.h"

#include <stdio.h>

/* NOR counts as one bit, like SLC: a NOR chip has one time for each operation. */
uint32_t fe_cell_bits(uint32_t cell)
{
    return cell == FE_CELL_MLC ? 2 : cell == FE_CELL_TLC ? 3 : 1;
}

/* How many values the user gave: 1, 2 or 3. */
static uint32_t n_times(const uint64_t t[3])
{
    return t[1] == FE_TIME_NONE ? 1 : t[2] == FE_TIME_NONE ? 2 : 3;
}

/* Fills the values that were not given with the last one that was. */
static void close_times(uint64_t t[3])
{
    for (int i = 1; i < 3; i++)
        if (t[i] == FE_TIME_NONE)
            t[i] = t[i - 1];
}

/* The opposite of close_times: values that are equal count as one value again.  A cell of
 * `bits` bits never had more than `bits` values.
 *
 * This way back loses something: whoever wrote "50us/50us" is taken to have written "50us".  The
 * check accepts a single value for every cell, so the loss does no harm.  It even helps when
 * nand.cell changes afterwards. */
static void open_times(uint64_t t[3], uint32_t bits)
{
    if (bits < 3 || (t[0] == t[1] && t[1] == t[2]))
        t[2] = FE_TIME_NONE;
    if (bits < 2 || (t[0] == t[1] && t[2] == FE_TIME_NONE))
        t[1] = FE_TIME_NONE;
}

void fe_times_close(struct fe_nand_params *nand)
{
    close_times(nand->tR_ns);
    close_times(nand->tPROG_ns);
}

void fe_times_open(struct fe_nand_params *nand)
{
    open_times(nand->tR_ns, fe_cell_bits(nand->cell));
    open_times(nand->tPROG_ns, fe_cell_bits(nand->cell));
}

/* One value is always good; else there must be one for each bit of the cell. */
static void check_times(const struct fe_profile *p, const char *key, const uint64_t t[3],
                        fe_complain_fn *complain, void *ctx)
{
    const struct fe_option *cell = fe_option_in(FE_SEC_NAND, "cell");
    uint32_t n = n_times(t), bits = fe_cell_bits(p->nand.cell);
    char why[128];

    if (n == 1 || n == bits)
        return;
    snprintf(why, sizeof why, "has %u values, nand.cell = %s takes %s", n, cell->names[p->nand.cell],
             bits == 1 ? "one" : bits == 2 ? "one or two" : "one or three");
    complain(ctx, fe_option_in(FE_SEC_NAND, key), cell, why);
}

/* The size that this key gives must be a whole number of sectors. */
static void check_sectors(const struct fe_profile *p, enum fe_section s, const char *key,
                          uint64_t bytes, fe_complain_fn *complain, void *ctx)
{
    char why[128];

    if (p->device.sector_size == 0 || bytes % p->device.sector_size == 0)
        return;
    snprintf(why, sizeof why, "is not a multiple of device.sector_size, %u bytes",
             p->device.sector_size);
    complain(ctx, fe_option_in(s, key), fe_option_in(FE_SEC_DEVICE, "sector_size"), why);
}

/* A page can be divided into its parts, and each of them is one program. */
static void check_parts(const struct fe_profile *p, fe_complain_fn *complain, void *ctx)
{
    const struct fe_option *parts = fe_option_in(FE_SEC_NAND, "page_parts");
    uint32_t n = p->nand.page_parts;

    if (n <= 1)
        return;
    if (p->nand.page_size % n)
        complain(ctx, parts, fe_option_in(FE_SEC_NAND, "page_size"), "does not divide the page");
    else if (p->nand.oob_size % n)
        complain(ctx, parts, fe_option_in(FE_SEC_NAND, "oob_size"),
                 "does not divide the bytes next to a page");
    if (p->nand.program_unit)
        complain(ctx, parts, fe_option_in(FE_SEC_NAND, "program_unit"),
                 "a chip that is programmed by units has no parts of pages");
}

/* What a lie needs to have anything to tell, and whole sectors. */
static void check_lies(const struct fe_profile *p, fe_complain_fn *complain, void *ctx)
{
    const struct fe_option *lies = fe_option_in(FE_SEC_FAULTS, "lie");
    uint32_t sector = p->device.sector_size ? p->device.sector_size : 1;
    char why[160];

    for (uint32_t i = 0; i < p->lies.n; i++) {
        const struct fe_lie *lie = &p->lies.lies[i];
        bool is_size = fe_lie_is_size(lie->kind), ends = lie->to != UINT64_MAX;
        if ((is_size && lie->arg % sector) || lie->from % sector || (ends && lie->to % sector)) {
            snprintf(why, sizeof why, "%s has bytes that are not a multiple of "
                     "device.sector_size, %u", fe_lie_name(lie->kind), sector);
            complain(ctx, lies, fe_option_in(FE_SEC_DEVICE, "sector_size"), why);
        } else if ((lie->kind == FE_LIE_FLUSH_IGNORED || lie->kind == FE_LIE_FLUSH_LATE) &&
                   !fe_cache_is_volatile(&p->cache)) {
            snprintf(why, sizeof why, "%s needs a volatile cache, or no flush has anything to do: "
                     "cache.size or cache.write_behind", fe_lie_name(lie->kind));
            complain(ctx, lies, fe_option_in(FE_SEC_CACHE, "size"), why);
        } else if (lie->kind == FE_LIE_MIXED_QUEUE && fe_link_depth(&p->link) < 2) {
            complain(ctx, lies, fe_option_in(FE_SEC_LINK, "queue_depth"),
                     "mixed-queue needs link.queue_depth of at least 2");
        } else if (lie->kind == FE_LIE_WIDE_TRIM && !p->device.discard) {
            complain(ctx, lies, fe_option_in(FE_SEC_DEVICE, "discard"),
                     "wide-trim needs device.discard=yes");
        }
    }
}

/* The unit in which the chip is written is a page of all planes if they work together, or a part of
 * it.  That unit must consist of whole sectors; the page of a single plane need not. */
void fe_check(const struct fe_profile *p, fe_complain_fn *complain, void *ctx)
{
    uint64_t page = (uint64_t)p->nand.page_size * (p->nand.multiplane ? p->nand.planes_per_die : 1);

    if (p->nand.page_parts)
        page /= p->nand.page_parts;
    check_parts(p, complain, ctx);
    check_lies(p, complain, ctx);
    check_sectors(p, FE_SEC_DEVICE, "capacity", p->device.capacity, complain, ctx);
    check_sectors(p, FE_SEC_DEVICE, "claimed_capacity", p->device.claimed_capacity, complain, ctx);
    check_sectors(p, FE_SEC_DEVICE, "beyond:cache", p->device.beyond_cache, complain, ctx);
    if (p->device.beyond_module && p->device.beyond != FE_BEYOND_MODULE)
        complain(ctx, fe_option_in(FE_SEC_DEVICE, "beyond:reach"),
                 fe_option_in(FE_SEC_DEVICE, "beyond"), "needs device.beyond=module");
    if (p->wear.rank_ppm != FE_MEDIAN_PPM && p->wear.kind_spread_ppm == 0)
        complain(ctx, fe_option_in(FE_SEC_FAULTS, "life_spread:rank"),
                 fe_option_in(FE_SEC_FAULTS, "life_spread:kind"),
                 "needs faults.life_spread=kind:SHARE, or all devices of the kind are alike");
    check_times(p, "tR", p->nand.tR_ns, complain, ctx);
    check_times(p, "tPROG", p->nand.tPROG_ns, complain, ctx);
    check_sectors(p, FE_SEC_NAND, "page_size", page, complain, ctx);
    check_sectors(p, FE_SEC_LINK, "max_transfer", p->link.max_transfer, complain, ctx);
    if (p->cache.write_behind && !p->cache.volatile_)
        complain(ctx, fe_option_in(FE_SEC_CACHE, "write_behind"),
                 fe_option_in(FE_SEC_CACHE, "volatile"),
                 "needs cache.volatile=yes: what is on its way to the flash is lost at a power "
                 "cut");
}
