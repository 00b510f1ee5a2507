/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A second chip, kept only from the operations that a device reports: it knows what is
 * programmed, counts what is done, and holds every operation's time against the rules of
 * dies, channels and barriers.  Nothing in it is taken from the device but the geometry.
 */
#ifndef FT_CHIP_H
#define FT_CHIP_H

#include "flashemu/device.h"
#include "nand/geometry.h"
#include "nand/ops.h"

#include <stdbool.h>

struct ft_chip {
    struct fe_nand_params nand;
    struct fe_geometry geo;
    uint32_t *filled, *erases;    /* per block */
    uint64_t reads, programs, blocks_erased;
    uint64_t pages_erased;        /* programmed pages that erases took */
    uint64_t *die_free, *chan_free; /* of a die: its array */
    uint64_t *reg_free;             /* the die's cache register, with nand.cached */
    uint64_t held, all_end, prev_end, prog_end;
    uint32_t prev_die;
    uint64_t max_end;             /* of the operations since it was last set to 0 */
    uint64_t hash;                /* of every operation and its time */
    char wrong[256];              /* the first broken rule; empty if none */
};

/* A chip in the state of the device's; from now on it follows it. */
void ft_chip_init(struct ft_chip *c, struct fe_device *dev);
void ft_chip_fini(struct ft_chip *c);

/* Whether state, wear and counters of the device are those of this chip: the statistics
 * must have been reset when it was made.  If not, c->wrong says what. */
bool ft_chip_agrees(struct ft_chip *c, const struct fe_device *dev);

#endif
