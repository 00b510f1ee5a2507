/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The page strategy against an array of bytes, with every combination of its options on
 * odd chips: after each step every invariant holds, at the end every page reads as
 * written and the books balance to the page.
 *
 * A failing case prints its id, OPTIONS:SHAPE:SEED; given as argument it runs alone.
 */
#include "lib/layer.h"
#include "lib/rand.h"
#include "lib/unit.h"

#include <stdio.h>

struct shape {
    uint32_t cell, dies, blocks_per_die, pages_per_block;
};

static const struct shape shapes[] = {
    {FE_CELL_MLC, 1, 24, 4},
    {FE_CELL_TLC, 1, 19, 10},
    {FE_CELL_MLC, 3, 9, 7},
    {FE_CELL_TLC, 2, 14, 3},
    {FE_CELL_MLC, 5, 7, 33},
};

enum { SHAPES = ft_array_len(shapes), STEPS = 220, IDLE = 2 };
enum { OPTIONS = FE_N_GC_POLICIES * FE_N_HOT_COLDS * FE_N_WEAR_LEVELLINGS * FE_N_SLC_MODES * IDLE };

static struct fe_ftl_params options(const struct fe_nand_params *nand, uint32_t n, uint32_t seed)
{
    struct fe_ftl_params p = ft_params("page", nand, 1);
    p.seed = seed;
    p.clean.gc_d = 3;
    p.clean.wl_threshold = 2;
    p.clean.gc_policy = n % FE_N_GC_POLICIES;
    n /= FE_N_GC_POLICIES;
    p.page.hot_cold = n % FE_N_HOT_COLDS;
    n /= FE_N_HOT_COLDS;
    p.clean.wear_levelling = n % FE_N_WEAR_LEVELLINGS;
    n /= FE_N_WEAR_LEVELLINGS;
    p.page.slc_mode = n % FE_N_SLC_MODES;
    p.page.slc_blocks = p.page.slc_mode == FE_SLC_OFF      ? 0
                        : p.page.slc_mode == FE_SLC_STATIC ? 3
                                                           : seed % 2 * 4;
    p.clean.idle_free = n / FE_N_SLC_MODES * 3;
    return p;
}

struct run {
    struct ft_layer l;
    struct ft_rand rand;
    uint64_t host_pages;
    char id[32];
};

static void must(struct run *r, bool ok, const char *what, uint32_t step)
{
    if (!ok)
        fail_msg("%s: step %u: %s", r->id, step, what);
}

/* So many steps, or until nothing is left to do: that must come. */
static void idle(struct run *r, uint32_t most, uint32_t i)
{
    uint32_t n = 0;
    while (n < most && r->l.ftl->ops->idle(r->l.ftl))
        must(r, n++ < 3 * r->l.rig.geo.n_ppns, "idle work does not end", i);
}

static void step(struct run *r, uint32_t i)
{
    struct ft_layer *l = &r->l;
    uint32_t n = l->ftl->n_lpns, page = l->rig.geo.page_bytes;
    uint32_t span = ft_chance(&r->rand, 70) ? n / 5 + 1 : n; /* some pages are hot */
    fe_lpn lpn = (fe_lpn)ft_below(&r->rand, span);
    uint32_t len = (uint32_t)ft_between(&r->rand, 1, fe_min_u64(n - lpn, 12));

    switch (ft_below(&r->rand, 10)) {
    case 0:
        must(r, ft_layer_write_part(l, lpn, page / 4, page / 2) == FE_OK, "part", i);
        r->host_pages++;
        break;
    case 1:
        must(r, l->ftl->ops->trim(l->ftl, lpn, len) == FE_OK, "trim", i);
        memset(l->want + (size_t)lpn * page, 0, (size_t)len * page);
        break;
    case 2:
    case 3:
        idle(r, ft_chance(&r->rand, 50) ? 1 : UINT32_MAX, i);
        break;
    default:
        must(r, ft_layer_command(l, lpn, len) == FE_OK, "write", i);
        r->host_pages += len;
    }
}

/* Only full blocks are emptied, so each erase gives back as many pages as it holds. */
static void balance(struct run *r)
{
    struct ft_layer *l = &r->l;
    const struct fe_ftl_counters *c = &l->ftl->counters;
    struct ft_cost cost = ft_layer_cost(l);
    uint64_t programmed = 0, b = l->rig.geo.pages_per_block;
    for (fe_peb peb = 0; peb < l->rig.geo.n_pebs; peb++)
        programmed += fe_medium_next_page(l->rig.medium, peb);
    must(r, cost.programs == r->host_pages + c->pages_copied, "programs", STEPS);
    must(r, cost.erases == c->gc_runs + c->slc_folds + c->wear_moves, "erases", STEPS);
    must(r, (cost.erases - c->slc_folds) * b + c->slc_folds * fe_slc_pages(&l->rig.geo) ==
            cost.programs - programmed, "erased pages", STEPS);
}

static void run_case(uint32_t opt, uint32_t shape, uint32_t seed)
{
    const struct shape *s = &shapes[shape];
    struct fe_nand_params nand = ft_nand(s->dies, s->blocks_per_die, s->pages_per_block, 512);
    nand.page_size = 64;
    nand.cell = s->cell;
    struct fe_ftl_params p = options(&nand, opt, seed);
    struct run r = {.rand = {.seed = fe_mix64(opt * 1000003ull + shape * 101 + seed)}};
    snprintf(r.id, sizeof r.id, "%u:%u:%u", opt, shape, seed);
    ft_layer_init(&r.l, &nand, &p);
    struct fe_err err;
    fe_err_init(&err);
    if (ft_chance(&r.rand, 60)) {
        ft_layer_write_each(&r.l, 0, r.l.ftl->n_lpns);
        r.host_pages = r.l.ftl->n_lpns;
    }
    for (uint32_t i = 0; i < STEPS; i++) {
        step(&r, i);
        if (r.l.ftl->ops->check(r.l.ftl, &err) < 0)
            fail_msg("%s: step %u: %s", r.id, i, err.text);
    }
    balance(&r);
    ft_layer_verify(&r.l);
    ft_layer_fini(&r.l);
}

static void test_page_bytes_with_every_combination_of_options(void **state)
{
    (void)state;
    for (uint32_t opt = 0; opt < OPTIONS; opt++)
        for (uint32_t shape = 0; shape < SHAPES; shape++)
            run_case(opt, shape, opt % 2);
}

/* Each policy alone, on a device that is full all the time. */
static void test_page_bytes_over_seeds(void **state)
{
    (void)state;
    for (uint32_t seed = 0; seed < 40; seed++)
        for (uint32_t opt = 0; opt < OPTIONS; opt += 7)
            run_case((opt + seed) % OPTIONS, seed % SHAPES, seed);
}

int main(int argc, char **argv)
{
    unsigned opt, shape, seed;
    if (argc > 1) {
        if (sscanf(argv[1], "%u:%u:%u", &opt, &shape, &seed) != 3 || opt >= OPTIONS ||
            shape >= SHAPES)
            return 2;
        run_case(opt, shape, seed);
        return 0;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_page_bytes_with_every_combination_of_options),
        cmocka_unit_test(test_page_bytes_over_seeds),
    };
    return cmocka_run_group_tests_name("page bytes", tests, NULL, NULL);
}
