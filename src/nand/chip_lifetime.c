/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Clock and counters of a device, in memory and in the image.
 *
 * Nearly all programs have a number already, so only the others are counted one by one:
 *
 *     number of the last program    seq          1 000
 *     + others                      unnumbered      17     copies to spares, failed programs
 *     = programs                                 1 017
 *
 * `unnumbered` is also negative: what was programmed before the first power-on is taken off.
 */
#include "nand/chip_lifetime.h"

#include "nand/chip_record.h"
#include "store/image_extra.h"

void fe_chip_begin_lifetime(struct fe_chip *c)
{
    c->life = (struct fe_lifetime){0};
    c->unnumbered = 0 - c->seq;
}

void fe_chip_save_lifetime(struct fe_chip *c, uint64_t at_ns)
{
    struct fe_lifetime *l = &c->life;
    l->clock_ns = fe_max_u64(l->clock_ns, at_ns);
    if (!c->has_image)
        return;
    const uint64_t numbers[FE_IMAGE_LIFETIME_NUMBERS] = {
        [FE_CHIP_LIFETIME_CLOCK] = l->clock_ns,
        [FE_CHIP_LIFETIME_LAST_CUT] = l->last_cut_ns,
        [FE_CHIP_LIFETIME_WRITES] = l->n_writes,
        [FE_CHIP_LIFETIME_PROGRAMS] = fe_chip_programs(c),
        [FE_CHIP_LIFETIME_ERASES] = l->n_erases,
    };
    fe_store_set_lifetime(c->store, numbers);
}
