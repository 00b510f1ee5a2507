/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The statistics of a device in two steps.
 *
 * Everything but the wear is a counter since the reset, and is copied in no time.  The wear is a
 * property of all blocks, 16 384 of them on a stick of 8 GB.  While it is worked out, no request may
 * run.  So a snapshot under an adapter's lock copies the blocks' records, 8 bytes each, and the sums
 * are made afterwards from the copy:
 *
 *     without the lock    fe_snapshot_create    memory
 *     with the lock       fe_snapshot_take      copies
 *     without the lock    fe_snapshot_stats     sums
 */
#include "device/internal.h"
#include "device/snapshot.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void fe_sums_add(struct fe_sums *s, uint64_t erases)
{
    s->min = s->n ? fe_min_u64(s->min, erases) : erases;
    s->max = fe_max_u64(s->max, erases);
    s->sum += (double)erases;
    s->sum_sq += (double)erases * (double)erases;
    s->n++;
}

struct fe_wear_stats fe_sums_stats(const struct fe_sums *s)
{
    if (s->n == 0)
        return (struct fe_wear_stats){0};
    double mean = s->sum / (double)s->n;
    return (struct fe_wear_stats){
        s->min, s->max, mean, sqrt(fmax(0, s->sum_sq / (double)s->n - mean * mean))};
}

/* Wear counts blocks in use, which are among the first n_pebs.  Bad blocks and spares would hide
 * how evenly the strategy works.  Bad blocks are counted on the whole chip, the reserve included.
 */
void fe_device_wear_stats(const struct fe_peb_info *blocks, uint32_t n_blocks, uint32_t n_pebs,
                          struct fe_stats *ret)
{
    struct fe_sums all = {0}, enhanced = {0};
    for (fe_peb peb = 0; peb < n_blocks; peb++) {
        const struct fe_peb_info *b = &blocks[peb];
        ret->bad_factory += !!(b->marks & FE_MARK_FACTORY_BAD);
        ret->bad_grown += !!(b->marks & (FE_MARK_GROWN_BAD | FE_MARK_FAILED));
        if (b->marks & FE_MARKS_BAD || peb >= n_pebs)
            continue;
        fe_sums_add(&all, b->erase_count);
        if (enhanced.n < ret->enhanced_blocks)
            fe_sums_add(&enhanced, b->erase_count);
    }
    ret->wear = fe_sums_stats(&all);
    ret->enhanced = fe_sums_stats(&enhanced);
}

/* Counters of the strategy since the reset, which are all uint64_t; free_blocks is the present number. */
static void ftl_stats(const struct fe_device *dev, struct fe_stats *ret)
{
    const uint64_t *now = (const uint64_t *)&dev->ftl->counters;
    const uint64_t *before = (const uint64_t *)&dev->ftl_before;
    for (size_t i = 0; i < sizeof ret->ftl / sizeof *now; i++)
        ((uint64_t *)&ret->ftl)[i] = now[i] - before[i];
    if (dev->ftl->ops->free_blocks)
        ret->free_blocks = dev->ftl->ops->free_blocks(dev->ftl);
}

/* The statistics without the wear and the bad blocks, which are 0.  O(1). */
static void get_counters(const struct fe_device *dev, struct fe_stats *ret)
{
    memset(ret, 0, sizeof *ret);
    const struct fe_nand_counters *n = &dev->medium->counters, *n0 = &dev->nand_before;

    ret->device_ns = fe_device_now(dev);
    ret->busy_ns = dev->busy_ns;
    if (dev->busy_until_ns > ret->device_ns) /* behind, idle work, or a cut prevents it */
        ret->busy_ns -= fe_min_u64(dev->busy_ns, dev->busy_until_ns - ret->device_ns);
    memcpy(ret->host, dev->host, sizeof ret->host);
    ret->nand.page_reads = n->page_reads - n0->page_reads;
    ret->nand.page_programs = n->page_programs - n0->page_programs;
    ret->nand.block_erases = n->block_erases - n0->block_erases;
    ret->nand.bytes_programmed = n->bytes_programmed - n0->bytes_programmed;
    ret->ecc_corrected = n->ecc_corrected - n0->ecc_corrected;
    ret->ecc_uncorrectable = n->ecc_uncorrectable - n0->ecc_uncorrectable;
    ret->power.cuts = fe_device_cuts(dev);
    ret->power.is_on = fe_device_has_power(dev);
    ret->condition = fe_device_condition(dev);
    ret->lies = dev->profile.lies.n > 0;
    for (int i = 0; i < FE_N_LIES; i++) {
        ret->told[i] = dev->lies.told[i];
        ret->lies |= ret->told[i] > 0;
    }
    const struct fe_ftl_params *p = &dev->profile.ftl;
    if (fe_ftl_registry[p->type]->enhanced_blocks)
        ret->enhanced_blocks = fe_ftl_registry[p->type]->enhanced_blocks(p, &dev->medium->geo);
    if (dev->ftl) /* there is none of an image that is only looked at */
        ftl_stats(dev, ret);
}

void fe_device_get_stats(const struct fe_device *dev, struct fe_stats *ret)
{
    const struct fe_medium *m = dev->medium;
    get_counters(dev, ret);
    fe_device_wear_stats(fe_medium_block(m, 0), m->geo.n_chip_blocks, m->geo.n_pebs, ret);
}

/* What does not follow from the blocks.  A device has power from the beginning. */
static void health_of(const struct fe_device *dev, struct fe_health *ret)
{
    const struct fe_nand_params *p = &dev->profile.nand;
    const struct fe_medium *m = dev->medium;
    *ret = (struct fe_health){
        .slc.endurance = p->slc_endurance ? p->slc_endurance : p->endurance,
        .slc.own = m->wear->slc_endurance,
        .others.endurance = p->endurance,
        .others.own = m->wear->endurance,
        .cuts = fe_device_cuts(dev),
        .refreshed = m->counters.refreshed,
        .retired = m->counters.retired,
        .condition = fe_device_condition(dev),
    };
    ret->power_ups = ret->cuts + fe_device_has_power(dev);
}

struct fe_snapshot *fe_snapshot_create(const struct fe_device *dev)
{
    const struct fe_geometry *geo = &dev->medium->geo;
    size_t size = sizeof(struct fe_snapshot) + geo->n_chip_blocks * sizeof(struct fe_peb_info);
    struct fe_snapshot *s = malloc(size);
    if (!s)
        return NULL;
    memset(s, 0, size); /* page faults happen here, and not under the lock */
    s->n_blocks = geo->n_chip_blocks;
    s->n_pebs = geo->n_pebs;
    return s;
}

void fe_snapshot_take(struct fe_snapshot *s, const struct fe_device *dev)
{
    get_counters(dev, &s->stats);
    health_of(dev, &s->health);
    memcpy(s->latency, dev->latency, sizeof s->latency);
    fe_device_commit_latency(dev, &s->commits);
    memcpy(s->blocks, fe_medium_block(dev->medium, 0), s->n_blocks * sizeof *s->blocks);
}

void fe_snapshot_stats(const struct fe_snapshot *s, struct fe_stats *ret)
{
    *ret = s->stats;
    fe_device_wear_stats(s->blocks, s->n_blocks, s->n_pebs, ret);
}

const struct fe_hist *fe_snapshot_latency(const struct fe_snapshot *s, enum fe_req_type type)
{
    return &s->latency[type];
}

const struct fe_hist *fe_snapshot_commit_latency(const struct fe_snapshot *s)
{
    return &s->commits;
}

void fe_snapshot_destroy(struct fe_snapshot *s)
{
    free(s);
}

const struct fe_hist *fe_device_latency(const struct fe_device *dev, enum fe_req_type type)
{
    return &dev->latency[type];
}

void fe_device_commit_latency(const struct fe_device *dev, struct fe_hist *ret)
{
    fe_commits_latency(&dev->commits, ret);
}

/* The tally counts in this run, and resets do not touch it: whoever compares two
 * tallies to find events must not miss any because somebody reset the statistics. */
void fe_device_get_tally(const struct fe_device *dev, struct fe_tally *ret)
{
    const struct fe_nand_counters *n = &dev->medium->counters;
    const struct fe_ftl_counters *f = &dev->ftl->counters;

    *ret = (struct fe_tally){
        .gc_runs = f->gc_runs,
        .merges_switch = f->merges_switch,
        .merges_partial = f->merges_partial,
        .merges_full = f->merges_full,
        .bytes_programmed = n->bytes_programmed,
        .failures = n->program_failures + n->erase_failures + n->retired,
        .refresh_erases = n->refreshed * dev->medium->geo.planes_ganged,
        .cuts = fe_device_cuts(dev),
        .last_cut_ns = fe_medium_lifetime(dev->medium).last_cut_ns,
        .is_on = fe_device_has_power(dev),
        .condition = fe_device_condition(dev),
    };
}

void fe_device_reset_stats(struct fe_device *dev)
{
    dev->busy_ns = dev->busy_until_ns > dev->now_ns ? dev->busy_until_ns - dev->now_ns : 0;
    memset(dev->host, 0, sizeof dev->host);
    for (int i = 0; i < FE_N_REQ_TYPES; i++)
        fe_hist_reset(&dev->latency[i]);
    fe_commits_reset(&dev->commits);
    memset(dev->lies.told, 0, sizeof dev->lies.told);
    dev->nand_before = dev->medium->counters;
    dev->ftl_before = dev->ftl->counters;
}
