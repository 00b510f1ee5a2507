/* SPDX-License-Identifier: BSD-3-Clause */
#include "lib/layer.h"

#include "lib/unit.h"

#include <errno.h>

struct fe_ftl_params ft_params(const char *strategy, const struct fe_nand_params *nand,
                               uint32_t unit_blocks)
{
    int type = fe_ftl_find(strategy);
    if (type < 0)
        fail_msg("no strategy %s", strategy);
    uint32_t gang = nand->multiplane ? nand->planes_per_die : 1;
    return (struct fe_ftl_params){
        .type = (uint32_t)type,
        .op_ppm = 70000,
        .clean.gc_policy = FE_GC_GREEDY,
        .clean.gc_d = 10,
        .clean.gc_reserve = 1,
        .unit.unit_size = (uint64_t)unit_blocks * nand->pages_per_block * nand->page_size * gang,
        .segment.open_linear = 2,
        .segment.open_random = 1,
        .log.log_blocks = 2,
        .log.fast_sequential = true,
        .unit.switch_merge = true,
        .unit.copy_buffer = 2,
        .segment.group_units = 1,
        .region.map_region = 1 << 20,
        .region.map_held = 1,
        .dftl.map_cache = 64,
        .seed = 1,
    };
}

fe_lpn ft_use(struct fe_ftl *ftl, fe_lpn n, uint32_t page_bytes)
{
    fe_lpn at_once = 0;
    for (fe_lpn lpn = 0; lpn < n;) {
        fe_lpn filled = ftl->ops->fill(ftl, lpn, n);
        assert_true(filled <= n - lpn);
        at_once += filled;
        lpn += filled;
        if (filled == 0)
            assert_int_equal(ftl->ops->write(ftl, lpn++, 0, page_bytes, NULL), FE_OK);
    }
    return at_once;
}

void ft_layer_init(struct ft_layer *l, const struct fe_nand_params *nand,
                   const struct fe_ftl_params *params)
{
    struct fe_err err;
    const struct fe_ftl_ops *ops = fe_ftl_registry[params->type];
    fe_err_init(&err);
    memset(l, 0, sizeof *l);
    l->params = *params;
    ft_rig_init(&l->rig, nand);
    uint64_t n = ops->max_lpns(params, &l->rig.geo, &err);
    if (n == 0 || fe_ftl_create(&l->ftl, ops, params, l->rig.medium, (uint32_t)n, false, &err) < 0)
        fail_msg("%s: %s", ops->name, err.text);
    l->want = calloc(n, l->rig.geo.page_bytes);
    assert_non_null(l->want);
}

void ft_layer_fini(struct ft_layer *l)
{
    fe_ftl_destroy(l->ftl);
    ft_rig_fini(&l->rig);
    free(l->want);
}

static enum fe_status write_page(struct ft_layer *l, fe_lpn lpn, uint32_t off, uint32_t len)
{
    uint8_t *page = l->want + (size_t)lpn * l->rig.geo.page_bytes;
    memset(page + off, (int)(++l->n_writes % 255 + 1), len);
    return l->ftl->ops->write(l->ftl, lpn, off, len, page + off);
}

static void begin(struct ft_layer *l, uint64_t offset, uint64_t len)
{
    if (l->ftl->ops->begin_command)
        l->ftl->ops->begin_command(l->ftl, true, offset, len);
}

static enum fe_status end(struct ft_layer *l)
{
    return l->ftl->ops->end_command ? l->ftl->ops->end_command(l->ftl) : FE_OK;
}

enum fe_status ft_layer_write_part(struct ft_layer *l, fe_lpn lpn, uint32_t off, uint32_t len)
{
    begin(l, (uint64_t)lpn * l->rig.geo.page_bytes + off, len);
    enum fe_status st = write_page(l, lpn, off, len);
    return st != FE_OK ? st : end(l);
}

enum fe_status ft_layer_command(struct ft_layer *l, fe_lpn first, uint32_t n)
{
    uint32_t bytes = l->rig.geo.page_bytes;
    enum fe_status st = FE_OK;
    begin(l, (uint64_t)first * bytes, (uint64_t)n * bytes);
    for (fe_lpn lpn = first; lpn < first + n && st == FE_OK; lpn++)
        st = write_page(l, lpn, 0, bytes);
    return st != FE_OK ? st : end(l);
}

enum fe_status ft_layer_write(struct ft_layer *l, fe_lpn lpn)
{
    return ft_layer_command(l, lpn, 1);
}

void ft_layer_write_each(struct ft_layer *l, fe_lpn first, uint32_t n)
{
    for (fe_lpn lpn = first; lpn < first + n; lpn++)
        assert_int_equal(ft_layer_write(l, lpn), FE_OK);
}

void ft_layer_fill(struct ft_layer *l, fe_lpn first, uint32_t n)
{
    for (fe_lpn lpn = first; lpn < first + n; lpn++) {
        ft_layer_write_each(l, lpn, 1);
        ft_layer_check(l);
    }
}

const char *ft_layer_text(struct ft_layer *l)
{
    static char text[256];
    return ft_rig_text(&l->rig, text, sizeof text);
}

const char *ft_layer_ops_of(struct ft_layer *l, fe_lpn first, uint32_t n)
{
    ft_layer_clear(l);
    ft_layer_fill(l, first, n);
    return ft_layer_text(l);
}

void ft_layer_clear(struct ft_layer *l)
{
    ft_rig_clear(&l->rig);
    l->before = l->ftl->counters;
}

struct ft_cost ft_layer_cost(struct ft_layer *l)
{
    const struct fe_ftl_counters *c = &l->ftl->counters, *c0 = &l->before;
    return (struct ft_cost){
        .reads = ft_rig_count(&l->rig, FE_OP_READ),
        .programs = ft_rig_count(&l->rig, FE_OP_PROG),
        .erases = ft_rig_count(&l->rig, FE_OP_ERASE),
        .copied = (uint32_t)(c->pages_copied - c0->pages_copied),
        .switches = (uint32_t)(c->merges_switch - c0->merges_switch),
        .partials = (uint32_t)(c->merges_partial - c0->merges_partial),
        .fulls = (uint32_t)(c->merges_full - c0->merges_full),
    };
}

void ft_layer_check(struct ft_layer *l)
{
    struct fe_err err;
    fe_err_init(&err);
    if (l->ftl->ops->check(l->ftl, &err) < 0)
        fail_msg("%s", err.text);
}

void ft_layer_check_finds_damage(struct ft_layer *l)
{
    struct fe_err err;
    uint32_t n = l->rig.geo.pages_per_block;
    for (fe_ppn ppn = 0; ppn < l->rig.geo.n_ppns; ppn++) {
        if (ppn % n >= fe_medium_next_page(l->rig.medium, ppn / n))
            continue;
        fe_lpn was = fe_medium_lpn(l->rig.medium, ppn);
        l->rig.medium->chip.oob_lpn[ppn] = was ? was - 1 : 1;
        fe_err_init(&err);
        assert_int_equal(l->ftl->ops->check(l->ftl, &err), -EIO);
        assert_true(err.text[0]);
        l->rig.medium->chip.oob_lpn[ppn] = was;
        ft_layer_check(l);
    }
}

void ft_layer_verify(struct ft_layer *l)
{
    uint32_t bytes = l->rig.geo.page_bytes;
    uint8_t *buf = malloc(bytes);
    assert_non_null(buf);
    ft_layer_check(l);
    for (fe_lpn lpn = 0; lpn < l->ftl->n_lpns; lpn++) {
        assert_int_equal(l->ftl->ops->read(l->ftl, lpn, 0, bytes, buf), FE_OK);
        if (memcmp(buf, l->want + (size_t)lpn * bytes, bytes) != 0)
            fail_msg("logical page %u does not read as written", lpn);
    }
    free(buf);
    ft_layer_clear(l);
}

void ft_layer_end(struct ft_layer *l)
{
    ft_layer_verify(l);
    ft_layer_fini(l);
}

void ft_layer_expect_merges(struct ft_layer *l, uint64_t switches, uint64_t partials,
                            uint64_t fulls, uint64_t copied)
{
    const struct fe_ftl_counters *c = &l->ftl->counters;
    assert_int_equal(c->merges_switch, switches);
    assert_int_equal(c->merges_partial, partials);
    assert_int_equal(c->merges_full, fulls);
    assert_int_equal(c->pages_copied, copied);
}

void ft_layer_expect(struct ft_layer *l, struct ft_cost w, const char *what)
{
    struct ft_cost c = ft_layer_cost(l);
    if (memcmp(&c, &w, sizeof c) != 0)
        fail_msg("%s: %u reads %u programs %u erases %u copied %u switch %u partial %u full; "
                 "wanted %u %u %u %u %u %u %u",
                 what, c.reads, c.programs, c.erases, c.copied, c.switches, c.partials, c.fulls,
                 w.reads, w.programs, w.erases, w.copied, w.switches, w.partials, w.fulls);
    ft_layer_clear(l);
}

void ft_layer_power_cycle(struct ft_layer *l)
{
    const struct fe_ftl_ops *ops = l->ftl->ops;
    uint32_t n = l->ftl->n_lpns;
    struct fe_err err;
    fe_err_init(&err);
    fe_ftl_destroy(l->ftl);
    l->ftl = NULL;
    if (fe_ftl_create(&l->ftl, ops, &l->params, l->rig.medium, n, true, &err) < 0)
        fail_msg("%s: %s", ops->name, err.text);
    ft_layer_check(l);
    ft_layer_clear(l);
}

void ft_layer_expect_op(struct ft_layer *l, uint32_t i, enum fe_op_kind kind, fe_peb peb,
                        uint32_t page, uint64_t cell_ns)
{
    uint32_t n;
    const struct fe_op *ops = ft_rig_ops(&l->rig, &n);
    assert_true(i < n);
    assert_int_equal(ops[i].kind, kind);
    assert_int_equal(ops[i].ppn, peb * l->rig.geo.pages_per_block + page);
    assert_int_equal(ops[i].cell_ns, cell_ns);
}
