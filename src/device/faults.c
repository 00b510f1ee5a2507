/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Faults of the chip on purpose, and what can be seen of its blocks.
 *
 * Users name chip blocks, as a data sheet would, and pages of chip blocks.  Which pebs have them
 * is the business of bad block management (nand/bbm.h):
 *
 *     peb          0   1   2   3  |  4   5         the last two are the reserve
 *     chip block   0   4   2   3  |  1   5         block 1 went bad, block 4 took its peb
 *
 * Faults of the chip (a bad block, flipped bits, cycles) are done by the layers below, and this file
 * only converts time and passes them on.  Faults of manners, such as a hang, are in condition.c.
 */
#include "device/internal.h"

#include "flashemu/faults.h"
#include "flashemu/map.h"

#include <errno.h>

uint32_t fe_device_blocks(const struct fe_device *dev)
{
    return dev->medium->geo.n_chip_blocks;
}

/* Walks the pebs, and sorts what it finds by chip block.  Marks are tested before the reserve,
 * because most bad blocks lie in the reserve and must not look like spares. */
void fe_device_get_blocks(const struct fe_device *dev, struct fe_block_wear *ret)
{
    const struct fe_medium *m = dev->medium;
    for (fe_peb peb = 0; peb < m->geo.n_chip_blocks; peb++) {
        const struct fe_peb_info *p = fe_medium_block(m, peb);
        ret[fe_medium_chip_block(m, peb)] = (struct fe_block_wear){
            .cycles = p->erase_count,
            .programmed = p->next_page,
            .slc = fe_medium_is_slc(m, peb),
            .state = p->marks & FE_MARK_FACTORY_BAD                  ? FE_BLOCK_FACTORY_BAD
                     : p->marks & (FE_MARK_GROWN_BAD | FE_MARK_FAILED) ? FE_BLOCK_GROWN_BAD
                     : peb >= m->geo.n_pebs                            ? FE_BLOCK_SPARE
                                                                       : FE_BLOCK_USED,
        };
    }
}

uint32_t fe_device_block_pages(const struct fe_device *dev)
{
    return dev->medium->geo.pages_per_block;
}

bool fe_device_knows_valid(const struct fe_device *dev)
{
    return fe_device_has_power(dev) && !dev->ftl->ops->no_medium;
}

static uint16_t valid_pages(const struct fe_device *dev, fe_peb peb)
{
    const struct fe_ftl *ftl = dev->ftl;
    const struct fe_medium *m = dev->medium;
    fe_ppn first = peb * m->geo.pages_per_block;
    uint32_t n = 0;
    if (ftl->ops->valid_pages)
        return (uint16_t)ftl->ops->valid_pages(ftl, peb);
    for (fe_ppn ppn = first; ppn < first + fe_medium_next_page(m, peb); ppn++) {
        fe_lpn lpn = fe_medium_lpn(m, ppn);
        n += lpn < ftl->n_lpns && ftl->ops->locate(ftl, lpn) == ppn;
    }
    return (uint16_t)n;
}

void fe_device_get_valid(const struct fe_device *dev, uint32_t first, uint32_t n, uint16_t *ret)
{
    const struct fe_medium *m = dev->medium;
    assert(fe_device_knows_valid(dev) && first <= m->geo.n_chip_blocks &&
           n <= m->geo.n_chip_blocks - first);
    for (fe_peb peb = first; peb < first + n; peb++)
        ret[fe_medium_chip_block(m, peb)] = peb < m->geo.n_pebs ? valid_pages(dev, peb) : 0;
}

/* Faults of the chip come about through the device, so it must have power; and what cannot be
 * written to the image must not get ahead of it. */
static int check_works(const struct fe_device *dev, struct fe_err *err)
{
    if (!fe_device_has_power(dev))
        return fe_err_set(err, EINVAL, "power is off; switch it on first (power-on)");
    return fe_device_failure(dev, err);
}

/* Moving the data of the block is work of the device.  It begins when everything accepted so far
 * has ended, and the next request may have to wait for it. */
int fe_device_mark_bad(struct fe_device *dev, uint64_t now_ns, fe_chip_block block,
                       struct fe_err *err)
{
    fe_device_idle(dev, now_ns);
    int r = check_works(dev, err);
    if (r < 0)
        return r;
    uint64_t from = fe_max_u64(dev->busy_until_ns, dev->last_arrival_ns);
    fe_sched_begin(&dev->sched, from);
    r = fe_wear_mark_bad(dev->medium, block, err);
    fe_device_place(dev);
    fe_device_busy(dev, from, fe_sched_end(&dev->sched));
    fe_device_save_lifetime(dev);
    return r;
}

int fe_device_flip(struct fe_device *dev, fe_ppn ppn, uint32_t bits, struct fe_err *err)
{
    int r = check_works(dev, err);
    return r < 0 ? r : fe_wear_flip(dev->medium, ppn, bits, err);
}

int fe_device_set_cycles(struct fe_device *dev, fe_chip_block block, uint32_t cycles,
                         struct fe_err *err)
{
    int r = check_works(dev, err);
    return r < 0 ? r : fe_wear_set_cycles(dev->medium, block, cycles, err);
}
