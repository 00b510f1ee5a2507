/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Building a device from a profile.
 *
 *     profile --> geometry --> capacity --> link, scheduler --> store --> medium, wear
 *                                                                           |
 *                     new: strategy, cache, written as `device.used` says <-+
 *               from an image: chip, power-on, cache as the image has them <-
 *
 * Each part needs those to its left, so the order cannot change.  The capacity comes early because
 * an image is compared with it.  The medium needs its wear before the strategy comes, because
 * recovery may program and erase, and so may fail.
 *
 * Three things happen in the end, in this order: the clock goes back to what it was before, zero for
 * a new device, and the statistics to zero; the image is declared ready (or power-on complete); and
 * power becomes something that can be cut.
 * Building is thus outside the time of the device: it can neither be seen in statistics nor be
 * undone by a cut.  A new image whose making was interrupted is no image.
 *
 * What only the parts together can know is checked here; the message has the numbers that
 * would work.  What one key alone can get wrong is the business of src/profile.
 *
 * `device.used` stands for the life that a device has had before: so many bytes from
 * sector 0 count as written once, in order.  They go through the translation layer like any
 * write, or many at once with the same result, without data.  Then clock and statistics start at
 * zero.  More bytes than the device has means all of it, so that a smaller `size` does not need
 * another `used`.  An image has its own life before, so `used` counts only when the image is made.
 *
 * Not modelled: the time that a device needs from plugging in until it answers for the first time.
 */
#include "device/internal.h"

#include "ftl/pages/area.h"
#include "profile/options.h"
#include "store/image.h"

#include <errno.h>
#include <stdlib.h>

/* The op list is full, or somebody asks for times: everything in it gets a place in time.  The undo
 * must hear of every operation, in order, so there must be no other way from the list to the
 * scheduler. */
static void drain(void *ctx, struct fe_op *ops, uint32_t n)
{
    struct fe_device *dev = ctx;
    fe_sched_place(&dev->sched, ops, n);
    if (dev->medium->undo)
        fe_undo_placed(dev->medium, ops, n);
    if (dev->observe)
        dev->observe(dev->observe_ctx, ops, n);
}

/* Sizes that must divide each other.  The code that runs requests relies on them: a sector never
 * lies in two pages, and a command never ends inside a sector. */
static int check_units(const struct fe_profile *p, const struct fe_geometry *geo,
                       struct fe_err *err)
{
    uint32_t sector = p->device.sector_size;
    if (geo->page_bytes % sector)
        return fe_err_set(err, EINVAL,
                          "device.sector_size=%u: must divide the flash page, %u bytes", sector,
                          geo->page_bytes);
    if (p->device.capacity % sector)
        return fe_err_set(err, EINVAL,
                          "device.capacity=%llu: must be a multiple of the sector, %u bytes",
                          (unsigned long long)p->device.capacity, sector);
    if (p->link.max_transfer == 0 || p->link.max_transfer % sector)
        return fe_err_set(err, EINVAL,
                          "link.max_transfer=%llu: must be a multiple of the sector, %u bytes",
                          (unsigned long long)p->link.max_transfer, sector);
    if (p->cache.size && p->cache.size < geo->page_bytes)
        return fe_err_set(err, EINVAL,
                          "cache.size=%llu: none, or at least a flash page, %u bytes",
                          (unsigned long long)p->cache.size, geo->page_bytes);
    if (p->cache.write_behind && p->cache.write_behind < geo->page_bytes)
        return fe_err_set(err, EINVAL,
                          "cache.write_behind=%llu: none, or at least a flash page, %u bytes",
                          (unsigned long long)p->cache.write_behind, geo->page_bytes);
    if (p->device.discard && !fe_ftl_registry[p->ftl.type]->trim)
        return fe_err_set(err, EINVAL, "device.discard=yes: ftl.type=%s has no TRIM; use "
                          "device.discard=no",
                          fe_ftl_registry[p->ftl.type]->name);
    return 0;
}

/* A forged device claims more than it has, never less. */
static int check_claim(const struct fe_profile *p, uint64_t capacity, struct fe_err *err)
{
    uint64_t claimed = p->device.claimed_capacity;
    if (claimed == 0 || claimed >= capacity)
        return 0;
    return fe_err_set(err, EINVAL, "device.claimed_capacity=%llu: is less than the capacity of "
                      "%llu bytes; allowed: capacity, or at least that",
                      (unsigned long long)claimed, (unsigned long long)capacity);
}

/* The capacity in bytes; 0 with a message if the chip does not hold it.  A profile gives either a
 * capacity or the over-provisioning (ftl.op), and then the capacity is what remains of the chip:
 *
 *     |<------------- pages of the chip without the reserve ------------->|
 *     |<-------- logical pages -------->|<-- op_ppm of the logical ones ->|
 *
 * Pages of an enhanced area count two or three times as logical ones here, as often as the chip
 * needs for them.
 *
 * Either way the strategy has the last word, because it needs blocks for its own work. */
static uint64_t choose_capacity(const struct fe_profile *p, const struct fe_geometry *geo,
                                struct fe_err *err)
{
    uint64_t max_lpns = fe_ftl_registry[p->ftl.type]->max_lpns(&p->ftl, geo, err);
    if (max_lpns == 0)
        return 0;
    uint64_t max = max_lpns * geo->page_bytes;
    uint64_t raw = (uint64_t)geo->n_ppns * geo->page_bytes;
    uint64_t extra = fe_area_extra_bytes(&p->ftl, geo->cell, geo->pages_per_block);
    if (p->device.capacity) {
        if (p->device.capacity <= max)
            return p->device.capacity;
        fe_err_set(err, EINVAL,
                   "device.capacity=%llu: the chip has %llu bytes, of which ftl.type=%s can "
                   "offer at most %llu%s",
                   (unsigned long long)p->device.capacity, (unsigned long long)raw,
                   fe_ftl_registry[p->ftl.type]->name, (unsigned long long)max,
                   extra ? " with an enhanced area of this size" : "");
        return 0;
    }
    uint64_t lpns = fe_muldiv(geo->n_ppns, 1000000, 1000000 + p->ftl.op_ppm);
    lpns -= fe_min_u64(lpns, fe_div_up(extra, geo->page_bytes));
    if (lpns > 0 && lpns <= max_lpns)
        return lpns * geo->page_bytes;
    uint64_t op_ppm = fe_muldiv_up(raw - fe_min_u64(raw, max + extra), 1000000, max + extra);
    fe_err_set(err, EINVAL,
               "ftl.op=%llu.%04llu%%: of the chip's %llu bytes ftl.type=%s can offer at most "
               "%llu, which is ftl.op=%llu.%04llu%%",
               (unsigned long long)p->ftl.op_ppm / 10000,
               (unsigned long long)p->ftl.op_ppm % 10000, (unsigned long long)raw,
               fe_ftl_registry[p->ftl.type]->name, (unsigned long long)max,
               (unsigned long long)op_ppm / 10000, (unsigned long long)op_ppm % 10000);
    return 0;
}

/* The life before: see the top of this file.  The strategy is asked directly, so the cache stays
 * empty.  The end of the one long command leaves the strategy in a state between two commands. */
static int write_used_part(struct fe_device *dev, struct fe_err *err)
{
    uint64_t used = fe_min_u64(dev->profile.device.used, dev->capacity);
    fe_lpn n = (fe_lpn)fe_div_up(used, dev->page_bytes);
    enum fe_status st = FE_OK;
    fe_lpn lpn = 0;
    while (lpn < n && st == FE_OK) {
        fe_lpn filled = dev->ftl->ops->fill ? dev->ftl->ops->fill(dev->ftl, lpn, n) : 0;
        lpn += filled;
        if (filled == 0)
            st = fe_ftl_write(dev->ftl, lpn++, 0, dev->page_bytes, NULL);
    }
    if (st == FE_OK)
        st = fe_ftl_end_command(dev->ftl);
    if (st != FE_OK)
        return fe_err_set(err, ENOSPC, "device.used=%llu: no space left at page %u",
                          (unsigned long long)used, lpn);
    fe_device_place(dev);
    fe_sched_reset(&dev->sched);
    fe_device_reset_stats(dev);
    return 0;
}

/* The cache of the profile, if there is one; dev->cache stays NULL otherwise.  An image always
 * keeps the bytes of cached pages, even for a caller who does not want data. */
static int build_cache(struct fe_device *dev, const struct fe_device_options *opt,
                       struct fe_err *err)
{
    const struct fe_profile *p = &dev->profile;
    return fe_cache_create(&dev->cache, &p->cache, dev->ftl, p->device.sector_size,
                           opt->payload || opt->file, err);
}

/* The parts above an erased medium.  An image is ready, which means that it exists for the next
 * run, only when all of this is done.  The lifetime begins behind that, and with it the numbers of
 * programs and erases that shall fail. */
static int build_new(struct fe_device *dev, const struct fe_device_options *opt,
                     struct fe_err *err)
{
    const struct fe_ftl_params p = fe_device_ftl_params(dev);
    struct fe_wear_params before = dev->profile.wear;
    before.fail_program = before.fail_erase = 0;
    fe_wear_set(dev->medium, &before);
    fe_chip_begin_image(&dev->medium->chip);
    int r = fe_ftl_create(&dev->ftl, fe_ftl_registry[p.type], &p, dev->medium, fe_device_lpns(dev),
                          false, err);
    if (r == 0)
        r = build_cache(dev, opt, err);
    if (r == 0)
        r = write_used_part(dev, err);
    fe_wear_set(dev->medium, &dev->profile.wear);
    fe_chip_begin_lifetime(&dev->medium->chip);
    if (r == 0 && opt->file)
        r = fe_store_image_ready(dev->store, err);
    return r;
}

/* The parts above the medium of an image.  The last run may have ended between any two operations
 * of the chip.  What was in the controller's memory then is gone, except what the image keeps.
 *
 * The steps are chip, strategy, cache.  The cache comes last because its pages are newer than those
 * on the chip, and because loading it needs to know which pages the strategy has.  Recovery may
 * write to the image.  The last question is therefore whether the image could be written; if not,
 * the device does not start. */
static int build_again(struct fe_device *dev, const struct fe_device_options *opt,
                       struct fe_err *err)
{
    int r = fe_medium_load(dev->medium, fe_ftl_registry[dev->profile.ftl.type]->no_medium, err);
    if (r < 0)
        return r;
    dev->now_ns = fe_medium_lifetime(dev->medium).clock_ns;
    dev->last_arrival_ns = dev->busy_until_ns = dev->medium->now_ns = dev->now_ns;
    if (opt->chip_only)
        return 0;
    struct fe_ftl *ftl; /* not dev->ftl: if this fails, there is no strategy to destroy */
    r = fe_power_plug_in(dev, &ftl, err);
    if (r == 0) {
        dev->ftl = ftl;
        r = build_cache(dev, opt, err);
    }
    if (r == 0 && dev->cache)
        r = fe_cache_load(dev->cache, err);
    if (r < 0)
        return r;
    fe_device_place(dev);
    fe_sched_reset(&dev->sched);
    fe_device_reset_stats(dev);
    fe_power_end_start(dev);
    r = fe_device_failure(dev, err);
    /* who writes has judged before */
    return r == 0 && opt->file->read_only ? fe_device_check(dev, err) : r;
}

/* The blocks that the strategy can use of the chip; 0 if the numbers contradict each other. */
static uint32_t usable_blocks(const struct fe_nand_params *nand, const struct fe_wear_params *wear)
{
    struct fe_geometry geo;
    if (fe_geometry_init(&geo, nand, NULL) < 0 ||
        fe_geometry_reserve(&geo, fe_wear_reserve(wear, &geo), NULL) < 0)
        return 0;
    return geo.n_pebs;
}

/* An image that was made without spare blocks has none, whatever the profile says now: profiles got
 * spares after there were images.  Some of them got a larger chip for that, with as many blocks in
 * use as before; the image keeps its chip.  All other differences are found when the image is
 * opened, with a message.  -ENOMEM. */
static int keep_reserve_of_image(struct fe_device *dev, const struct fe_device_options *opt,
                                 struct fe_err *err)
{
    struct fe_profile *p = &dev->profile, image;
    if (!opt->file || p->wear.spare_blocks == 0)
        return 0;
    struct fe_store_file look = *opt->file;
    look.read_only = true;
    int r = fe_device_image_profile(&image, &look, NULL);
    if (r < 0)
        return r == -ENOMEM ? fe_err_nomem(err, "profile of the image", 1) : 0;
    if (image.wear.spare_blocks == 0) {
        struct fe_nand_params nand = p->nand;
        nand.blocks_per_plane = image.nand.blocks_per_plane;
        if (usable_blocks(&nand, &image.wear) == usable_blocks(&p->nand, &p->wear))
            p->nand.blocks_per_plane = image.nand.blocks_per_plane;
        p->wear.spare_blocks = 0;
    }
    fe_profile_fini(&image);
    return 0;
}

/* Everything except the profile.  If something fails, the caller ends what has been built so far
 * with fe_device_destroy, so a part must be in its field or be NULL there, never half made.  Power
 * can be cut only after the build, so nothing of the build can be undone.  The log of trims is
 * only worth its memory if there can be a power-on in which old copies would come back. */
static int build_parts(struct fe_device *dev, const struct fe_device_options *opt,
                       struct fe_err *err)
{
    struct fe_profile *p = &dev->profile;
    struct fe_geometry geo;
    int r = keep_reserve_of_image(dev, opt, err);
    if (r == 0)
        r = fe_geometry_init(&geo, &p->nand, err);
    if (r < 0)
        return r;
    r = fe_geometry_reserve(&geo, fe_wear_reserve(&p->wear, &geo), err);
    if (r == 0)
        r = check_units(p, &geo, err);
    if (r < 0)
        return r;
    dev->capacity = choose_capacity(p, &geo, err);
    if (dev->capacity == 0)
        return -EINVAL;
    r = check_claim(p, dev->capacity, err);
    if (r == 0)
        r = fe_forged_init(&dev->forged, &p->device, dev->capacity, opt->payload, err);
    if (r == 0)
        r = fe_lies_init(dev, opt->payload, err);
    if (r < 0)
        return r;
    dev->page_bytes = geo.page_bytes;
    dev->power = (struct fe_power){.cut_ns = FE_NEVER};
    p->ftl.seed = opt->seed;

    fe_ops_init(&dev->ops, drain, dev);
    fe_link_init(&dev->link, &p->link);
    r = fe_behind_init(&dev->behind, &p->cache, geo.page_bytes, err);
    if (r == 0)
        r = fe_sched_init(&dev->sched, &p->nand, &geo, err);
    if (r < 0)
        return r;
    bool is_new = true;
    r = opt->file ? fe_device_open_image(dev, opt, &geo, &is_new, err)
                  : fe_store_create(&dev->store, (uint64_t)geo.n_chip_blocks * geo.pages_per_block,
                                    geo.page_bytes, geo.pages_per_block, opt->payload, err);
    if (r < 0)
        return r;
    r = fe_medium_create(&dev->medium, &p->nand, &geo, dev->store, &dev->ops, err);
    if (r < 0)
        return r;
    dev->medium->never_cut = !opt->power_cuts && !opt->file;
    dev->medium->brings_back = p->power.partner_ppm || p->power.stale_ppm ||
                               p->power.map_lost_ppm || p->ftl.trim_lost;
    r = fe_wear_attach(dev->medium, &p->wear, &p->nand, p->ftl.seed, err);
    if (r < 0)
        return r;
    bool trims = fe_ftl_registry[p->ftl.type]->trim && (opt->power_cuts || opt->file);
    if (trims)
        r = fe_chip_log_trims(&dev->medium->chip, geo.n_chip_blocks * geo.pages_per_block, err);
    if (r == 0)
        r = is_new ? build_new(dev, opt, err) : build_again(dev, opt, err);
    dev->medium->copies_late = !dev->cache; /* a cache lays its own bytes over those that were read */
    return r == 0 && opt->power_cuts ? fe_power_init(dev, err) : r;
}

int fe_device_create(struct fe_device **ret, const struct fe_profile *profile,
                     const struct fe_device_options *opt, struct fe_err *err)
{
    struct fe_device *dev = calloc(1, sizeof *dev);
    if (!dev)
        return fe_err_nomem(err, "device", sizeof *dev);
    int r = fe_profile_copy(&dev->profile, profile, err);
    if (r < 0) {
        free(dev);
        return r;
    }
    r = build_parts(dev, opt, err);
    if (r < 0) {
        fe_device_destroy(dev);
        return r;
    }
    *ret = dev;
    return 0;
}

/* Also ends a device that is built in part.  Parts go in the opposite order of their making. */
void fe_device_destroy(struct fe_device *dev)
{
    if (!dev)
        return;
    fe_cache_destroy(dev->cache);
    if (dev->ftl)
        fe_ftl_destroy(dev->ftl);
    fe_medium_destroy(dev->medium);
    fe_store_destroy(dev->store);
    fe_sched_fini(&dev->sched);
    fe_behind_fini(&dev->behind);
    fe_forged_fini(&dev->forged);
    fe_lies_fini(dev);
    fe_profile_fini(&dev->profile);
    free(dev);
}
