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

#include <stdlib.h>

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

static void toy_destroy(struct fe_ftl *ftl)
{
    struct toy_ftl *t = toy_of(ftl);
    if (t->block)
        fe_ftl_block.destroy(t->block);
    free(t);
}

/* make: the create or the recover of block. */
static int make_toy(struct fe_ftl **ret, const struct fe_ftl_params *p, struct fe_medium *m,
                    uint32_t n_lpns, struct fe_err *err,
                    int (*make)(struct fe_ftl **ret, const struct fe_ftl_params *p,
                                struct fe_medium *m, uint32_t n_lpns, struct fe_err *err))
{
    struct toy_ftl *t = calloc(1, sizeof *t);
    if (!t)
        return fe_err_nomem(err, "toy translation layer", sizeof *t);
    t->base = (struct fe_ftl){.ops = &fe_ftl_toy, .medium = m, .n_lpns = n_lpns};
    t->key_ns = p->toy.key_ns;
    struct fe_ftl_params of_block = *p;
    of_block.type = (uint32_t)fe_ftl_find("block"); /* recover asks the registry for it */
    int r = make(&t->block, &of_block, m, n_lpns, err);
    if (r < 0) {
        t->block = NULL;
        toy_destroy(&t->base);
        return r;
    }
    t->base.counters = t->block->counters;
    *ret = &t->base;
    return 0;
}

static int toy_create(struct fe_ftl **ret, const struct fe_ftl_params *p, struct fe_medium *m,
                      uint32_t n_lpns, struct fe_err *err)
{
    return make_toy(ret, p, m, n_lpns, err, fe_ftl_block.create);
}

static int toy_recover(struct fe_ftl **ret, const struct fe_ftl_params *p, struct fe_medium *m,
                       uint32_t n_lpns, struct fe_err *err)
{
    return make_toy(ret, p, m, n_lpns, err, fe_ftl_block.recover);
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
    .create = toy_create,
    .recover = toy_recover,
    .destroy = toy_destroy,
    .read = toy_read,
    .locate = toy_locate,
    .write = toy_write,
    .end_command = toy_end_command,
    .free_blocks = toy_free_blocks,
    .check = toy_check,
};
