/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A bench for the layers below the device: a store, a medium, and an op list that is kept.  So a
 * test can say exactly which operations something costs.
 */
#pragma once

#include "nand/medium.h"
#include "nand/wear.h"

#include <stddef.h>

struct ft_rig {
    struct fe_nand_params nand;
    struct fe_geometry geo;
    struct fe_store *store;
    struct fe_medium *medium;
    struct fe_oplist ops;
    struct fe_op *log; /* all operations since ft_rig_clear */
    uint32_t n_log, log_room;
    struct fe_nand_counters before; /* at ft_rig_clear */
};

/* A chip with one channel, one plane in each die, SLC, and usual times. */
struct fe_nand_params ft_nand(uint32_t dies, uint32_t blocks_per_die, uint32_t pages_per_block,
                              uint32_t page_size);

/* The same of MLC with blocks of 8 pages, 4 in SLC mode, or of TLC with blocks of 9, 3 in SLC mode.
 * A page has FT_SLC_PAGE bytes; the times of SLC mode are FT_SLC_R and FT_SLC_PROG ns. */
enum { FT_SLC_PAGE = 512, FT_SLC_R = 11000, FT_SLC_PROG = 70000 };
struct fe_nand_params ft_nand_slc(uint32_t cell, uint32_t dies, uint32_t blocks_per_die);

/* A chip of NOR with sectors of 512 bytes.  It has the times of usual flash of 32 MiB: a word is
 * read in 150 ns, a buffer of 32 bytes programmed in 218 us, and a block erased in a second. */
struct fe_nand_params ft_nor(uint32_t blocks, uint32_t sectors_per_block);

void ft_rig_init(struct ft_rig *rig, const struct fe_nand_params *p);

/* The same without the bytes of pages. */
void ft_rig_init_bare(struct ft_rig *rig, const struct fe_nand_params *p);

/* The same with a chip that fails as *w says; NULL: never.  Strategies do not see its reserve. */
void ft_rig_init_worn(struct ft_rig *rig, const struct fe_nand_params *p,
                      const struct fe_wear_params *w);
void ft_rig_fini(struct ft_rig *rig);

/* Programs a page whose bytes all are ppn + 1, as logical page ppn. */
enum fe_status ft_rig_prog(struct ft_rig *rig, fe_ppn ppn);

/* Reads the page, fails the test unless that ends with this status, and returns in how many bits
 * the page differs from what ft_rig_prog wrote. */
uint32_t ft_rig_wrong_bits(struct ft_rig *rig, fe_ppn ppn, enum fe_status want);

/* Forgets all operations so far. */
void ft_rig_clear(struct ft_rig *rig);

/* The operations since ft_rig_clear. */
const struct fe_op *ft_rig_ops(struct ft_rig *rig, uint32_t *ret_n);
uint32_t ft_rig_count(struct ft_rig *rig, enum fe_op_kind kind);

/* The same as letters: R read, P program, p program that follows the operation before, E erase,
 * B barrier, Y busy.  "-" if there were none. */
const char *ft_rig_text(struct ft_rig *rig, char *buf, size_t len);
