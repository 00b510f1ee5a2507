/* SPDX-License-Identifier: BSD-3-Clause
 *
 * toy: the strategy `block`, with more time for each write of the host.
 *
 * The smallest strategy there is, for tests/tool/test_newcomer.py, which adds it to a copy of
 * the sources as HACKING.md says.  It is not part of any build of flashemu.
 *
 *     toy_ftl | base | block -------> block_ftl     every function hands on to block's
 *             | key_ns
 */
#include "ftl/registry.h"

struct toy_ftl {
    struct fe_ftl base;
    struct fe_ftl *block; /* does the work; owned */
    uint64_t key_ns;
};

static struct toy_ftl *toy_of(struct fe_ftl *ftl)
{
    return (struct toy_ftl *)ftl;
}

static uint64_t toy_max_lpns(const struct fe_ftl_params *p, const struct fe_geometry *geo,
                             struct fe_err *err)
{
    return fe_ftl_block.max_lpns(p, geo, err);
}

static int toy_start(struct fe_ftl *ftl, const struct fe_ftl_params *p, bool used,
                     struct fe_err *err)
{
    struct toy_ftl *t = toy_of(ftl);
    t->key_ns = p->toy.key_ns;
    int r = fe_ftl_create(&t->block, &fe_ftl_block, p, ftl->medium, ftl->n_lpns, used, err);
    if (r == 0)
        ftl->counters = t->block->counters;
    return r;
}

static void toy_fini(struct fe_ftl *ftl)
{
    if (toy_of(ftl)->block)
        fe_ftl_destroy(toy_of(ftl)->block);
}

static enum fe_status toy_read(struct fe_ftl *ftl, fe_lpn lpn, uint32_t off, uint32_t len,
                               void *buf)
{
    return fe_ftl_block.read(toy_of(ftl)->block, lpn, off, len, buf);
}

static fe_ppn toy_locate(const struct fe_ftl *ftl, fe_lpn lpn)
{
    const struct fe_ftl *block = ((const struct toy_ftl *)ftl)->block;
    return fe_ftl_block.locate(block, lpn);
}

static enum fe_status toy_write(struct fe_ftl *ftl, fe_lpn lpn, uint32_t off, uint32_t len,
                                const void *data)
{
    struct toy_ftl *t = toy_of(ftl);
    fe_ops_busy(ftl->medium->ops, t->key_ns);
    enum fe_status st = fe_ftl_block.write(t->block, lpn, off, len, data);
    ftl->counters = t->block->counters;
    return st;
}

static enum fe_status toy_end_command(struct fe_ftl *ftl)
{
    struct toy_ftl *t = toy_of(ftl);
    enum fe_status st = fe_ftl_block.end_command(t->block);
    ftl->counters = t->block->counters;
    return st;
}

static uint32_t toy_free_blocks(const struct fe_ftl *ftl)
{
    return fe_ftl_block.free_blocks(((const struct toy_ftl *)ftl)->block);
}

static int toy_check(const struct fe_ftl *ftl, struct fe_err *err)
{
    return fe_ftl_block.check(((const struct toy_ftl *)ftl)->block, err);
}

const struct fe_ftl_ops fe_ftl_toy = {
    .name = "toy",
    .summary = "as block, with more time for each write (an example)",
    .max_lpns = toy_max_lpns,
    .size = sizeof(struct toy_ftl),
    .start = toy_start,
    .fini = toy_fini,
    .read = toy_read,
    .locate = toy_locate,
    .write = toy_write,
    .end_command = toy_end_command,
    .free_blocks = toy_free_blocks,
    .check = toy_check,
};
