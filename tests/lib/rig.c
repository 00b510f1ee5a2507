/* SPDX-License-Identifier: BSD-3-Clause */
#include "lib/rig.h"

#include "lib/unit.h"

#include <stdio.h>

static void keep(void *ctx, struct fe_op *ops, uint32_t n)
{
    struct ft_rig *rig = ctx;
    if (rig->n_log + n > rig->log_room) {
        rig->log_room = 2 * (rig->n_log + n);
        rig->log = realloc(rig->log, rig->log_room * sizeof *rig->log);
        if (!rig->log)
            abort();
    }
    memcpy(rig->log + rig->n_log, ops, n * sizeof *ops);
    rig->n_log += n;
}

struct fe_nand_params ft_nand(uint32_t dies, uint32_t blocks_per_die, uint32_t pages_per_block,
                              uint32_t page_size)
{
    return (struct fe_nand_params){
        .cell = FE_CELL_SLC,
        .channels = 1,
        .dies_per_channel = dies,
        .planes_per_die = 1,
        .blocks_per_plane = blocks_per_die,
        .pages_per_block = pages_per_block,
        .page_size = page_size,
        .oob_size = page_size / 32,
        .tR_ns = {25000, 40000, 60000},
        .tPROG_ns = {200000, 600000, 900000},
        .tBERS_ns = 1500000,
        .bus_rate = 1000000000,
        .command_ns = 100,
        .endurance = 100000,
    };
}

static void die(const char *what, const struct fe_err *err)
{
    fprintf(stderr, "rig: %s: %s\n", what, err->text);
    abort();
}

struct fe_nand_params ft_nand_slc(uint32_t cell, uint32_t dies, uint32_t blocks_per_die)
{
    struct fe_nand_params nand = ft_nand(dies, blocks_per_die, cell == FE_CELL_TLC ? 9 : 8,
                                         FT_SLC_PAGE);
    nand.cell = cell;
    nand.slc_tR_ns = FT_SLC_R;
    nand.slc_tPROG_ns = FT_SLC_PROG;
    return nand;
}

struct fe_nand_params ft_nor(uint32_t blocks, uint32_t sectors_per_block)
{
    struct fe_nand_params np = ft_nand(1, blocks, sectors_per_block, 512);
    np.cell = FE_CELL_NOR;
    np.oob_size = 0;
    np.program_unit = 32;
    np.tR_ns[0] = 150;
    np.tPROG_ns[0] = 218000;
    np.tBERS_ns = 1000000000;
    np.bus_rate = 0;
    np.command_ns = 0;
    return np;
}

static void init(struct ft_rig *rig, const struct fe_nand_params *p,
                 const struct fe_wear_params *w, bool payload)
{
    struct fe_err err;
    fe_err_init(&err);
    memset(rig, 0, sizeof *rig);
    rig->nand = *p;
    fe_ops_init(&rig->ops, keep, rig);
    rig->ops.watched = true;
    if (fe_geometry_init(&rig->geo, p, &err) < 0)
        die("geometry", &err);
    if (w && fe_geometry_reserve(&rig->geo, fe_wear_reserve(w, &rig->geo), &err) < 0)
        die("reserve", &err);
    if (fe_store_create(&rig->store, (uint64_t)rig->geo.n_chip_blocks * rig->geo.pages_per_block,
                        rig->geo.page_bytes,
                        rig->geo.pages_per_block, payload, &err) < 0)
        die("store", &err);
    if (fe_medium_create(&rig->medium, p, &rig->geo, rig->store, &rig->ops, &err) < 0)
        die("medium", &err);
    if (w && fe_wear_attach(rig->medium, w, p, 1, &err) < 0)
        die("wear", &err);
}

void ft_rig_init(struct ft_rig *rig, const struct fe_nand_params *p)
{
    init(rig, p, NULL, true);
}

void ft_rig_init_bare(struct ft_rig *rig, const struct fe_nand_params *p)
{
    init(rig, p, NULL, false);
}

void ft_rig_init_worn(struct ft_rig *rig, const struct fe_nand_params *p,
                      const struct fe_wear_params *w)
{
    init(rig, p, w, true);
}

void ft_rig_fini(struct ft_rig *rig)
{
    fe_medium_destroy(rig->medium);
    fe_store_destroy(rig->store);
    free(rig->log);
}

enum fe_status ft_rig_prog(struct ft_rig *rig, fe_ppn ppn)
{
    uint8_t data[4096];
    assert_true(rig->geo.page_bytes <= sizeof data);
    memset(data, (int)(ppn + 1), sizeof data);
    return fe_medium_prog(rig->medium, ppn, ppn, 0, FE_PPN_NONE, 0, rig->geo.page_bytes, data);
}

uint32_t ft_rig_wrong_bits(struct ft_rig *rig, fe_ppn ppn, enum fe_status want)
{
    uint8_t buf[4096];
    uint32_t n = 0;
    assert_true(rig->geo.page_bytes <= sizeof buf);
    assert_int_equal(fe_medium_read(rig->medium, ppn, 0, rig->geo.page_bytes, buf), want);
    for (uint32_t i = 0; i < rig->geo.page_bytes; i++)
        n += (uint32_t)__builtin_popcount(buf[i] ^ (uint8_t)(ppn + 1));
    return n;
}

void ft_rig_clear(struct ft_rig *rig)
{
    fe_ops_drain(&rig->ops);
    rig->n_log = 0;
    rig->before = rig->medium->counters;
}

const struct fe_op *ft_rig_ops(struct ft_rig *rig, uint32_t *ret_n)
{
    fe_ops_drain(&rig->ops);
    *ret_n = rig->n_log;
    return rig->log;
}

uint32_t ft_rig_count(struct ft_rig *rig, enum fe_op_kind kind)
{
    uint32_t n, count = 0;
    const struct fe_op *ops = ft_rig_ops(rig, &n);
    for (uint32_t i = 0; i < n; i++)
        count += ops[i].kind == kind;
    return count;
}

const char *ft_rig_text(struct ft_rig *rig, char *buf, size_t len)
{
    uint32_t n;
    const struct fe_op *ops = ft_rig_ops(rig, &n);
    size_t at = 0;
    for (uint32_t i = 0; i < n && at + 1 < len; i++) {
        char c = "RPEBY"[ops[i].kind];
        buf[at++] = c == 'P' && ops[i].flags & FE_OP_AFTER_PREV ? 'p' : c;
    }
    if (at == 0)
        buf[at++] = '-';
    buf[at] = '\0';
    return buf;
}
