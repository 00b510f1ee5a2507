/* SPDX-License-Identifier: BSD-3-Clause
 *
 * dftl, operation by operation: what a mapping costs, what cleaning does to mappings, what
 * trim does, how much room there is, what check() finds.
 *
 * Pages of 64 bytes unless a test says otherwise: 16 entries a translation page.
 *
 * Operations are written as letters (ft_rig_text): P program, p a program that waits for
 * the operation before it, R read, E erase.  A mapping that is loaded for a write and an
 * entry that is written back both end in p: "Rp".
 */
#include "lib/layer.h"
#include "lib/rand.h"
#include "lib/unit.h"

#include "ftl/pages/dftl_core.h"

#include <errno.h>

enum { N = 4, PAGE = 64, PER_TP = PAGE / 4 };

static void setup_shape(struct ft_layer *l, uint32_t dies, uint32_t blocks_per_die, uint32_t ppb,
                        uint32_t page, uint32_t entries)
{
    struct fe_nand_params nand = ft_nand(dies, blocks_per_die, ppb, page);
    struct fe_ftl_params p = ft_params("dftl", &nand, 1);
    p.dftl.map_cache = entries * 8ull;
    ft_layer_init(l, &nand, &p);
}

/* 55 blocks besides the 7 that are kept; nothing is cleaned before 50 are full. */
static void setup(struct ft_layer *l, uint32_t entries)
{
    setup_shape(l, 1, 64, N, PAGE, entries);
}

static struct dftl *inside(struct ft_layer *l)
{
    return (struct dftl *)l->ftl;
}

static bool is_cached(struct ft_layer *l, fe_lpn lpn)
{
    return fe_map_has(&inside(l)->cache, lpn);
}

/* The operations since the last time. */
static const char *letters(struct ft_layer *l)
{
    static char text[256];
    ft_rig_text(&l->rig, text, sizeof text);
    ft_layer_clear(l);
    ft_layer_check(l);
    return text;
}

static const char *ops_of_write(struct ft_layer *l, fe_lpn lpn)
{
    ft_layer_clear(l);
    assert_int_equal(ft_layer_write(l, lpn), FE_OK);
    return letters(l);
}

static const char *ops_of_read(struct ft_layer *l, fe_lpn lpn)
{
    uint8_t buf[PAGE];
    ft_layer_clear(l);
    assert_int_equal(l->ftl->ops->read(l->ftl, lpn, 0, PAGE, buf), FE_OK);
    assert_memory_equal(buf, l->want + (size_t)lpn * PAGE, PAGE);
    return letters(l);
}

static const char *ops_of_trim(struct ft_layer *l, fe_lpn first, uint32_t n)
{
    ft_layer_clear(l);
    assert_int_equal(l->ftl->ops->trim(l->ftl, first, n), FE_OK);
    memset(l->want + (size_t)first * PAGE, 0, (size_t)n * PAGE);
    return letters(l);
}

static void assert_map(struct ft_layer *l, uint64_t hits, uint64_t misses, uint64_t reads,
                       uint64_t writes)
{
    const struct fe_ftl_counters *c = &l->ftl->counters;
    assert_int_equal(c->map_hits, hits);
    assert_int_equal(c->map_misses, misses);
    assert_int_equal(c->map_reads, reads);
    assert_int_equal(c->map_writes, writes);
}

static void test_dftl_room_in_the_cache_costs_nothing(void **state)
{
    (void)state;
    struct ft_layer l;
    setup(&l, 3);
    assert_string_equal(ops_of_write(&l, 0), "P");
    assert_string_equal(ops_of_write(&l, 1), "P");
    assert_string_equal(ops_of_write(&l, 20), "P");
    assert_string_equal(ops_of_write(&l, 0), "P");
    assert_string_equal(ops_of_read(&l, 20), "R");
    assert_map(&l, 2, 3, 0, 0);
    ft_layer_end(&l);
}

static void test_dftl_dirty_entries_of_a_translation_page_go_together(void **state)
{
    (void)state;
    struct ft_layer l;
    setup(&l, 3);
    ft_layer_write_each(&l, 0, 3);
    /* 0 leaves: page 0 of the table is programmed for the first time, with 1 and 2 */
    assert_string_equal(ops_of_write(&l, 20), "PP");
    assert_string_equal(ops_of_write(&l, 21), "P"); /* 1 and 2 leave clean */
    assert_string_equal(ops_of_write(&l, 40), "P");
    assert_map(&l, 0, 6, 0, 1);
    assert_int_equal(l.ftl->counters.map_evictions, 1);
    /* 20 leaves with 21: new; 0 is loaded */
    assert_string_equal(ops_of_write(&l, 0), "PRp");
    assert_string_equal(ops_of_write(&l, 1), "Rp"); /* 21 leaves clean */
    /* 40 leaves: new; then 0 with 1: read and programmed again */
    assert_string_equal(ops_of_write(&l, 22), "PRp");
    assert_string_equal(ops_of_write(&l, 41), "RpRp");
    assert_map(&l, 0, 10, 5, 4);
    ft_layer_end(&l);
}

static void test_dftl_read_waits_for_its_mapping(void **state)
{
    (void)state;
    struct ft_layer l;
    uint32_t n;
    setup(&l, 2);
    ft_layer_write_each(&l, 0, 4); /* 0 and 1 were written back with each other */
    ft_layer_clear(&l);
    assert_int_equal(l.ftl->ops->read(l.ftl, 0, 0, PAGE, NULL), FE_OK);
    const struct fe_op *ops = ft_rig_ops(&l.rig, &n);
    assert_int_equal(n, 4); /* 2 leaves, 0 is loaded, read */
    assert_int_equal(ops[0].kind, FE_OP_READ);
    assert_int_equal(ops[0].flags, 0);
    assert_int_equal(ops[1].kind, FE_OP_PROG);
    assert_int_equal(ops[1].flags, FE_OP_AFTER_PREV);
    assert_int_equal(ops[2].kind, FE_OP_READ);
    assert_int_equal(ops[2].flags, 0);
    assert_int_equal(ops[2].bus_bytes, PAGE);
    assert_int_equal(ops[2].ppn, ops[1].ppn);
    assert_int_equal(ops[3].kind, FE_OP_READ);
    assert_int_equal(ops[3].flags, FE_OP_AFTER_PREV);
    assert_int_equal(ops[3].ppn, 0);
    assert_string_equal(ops_of_read(&l, 1), "RR");
    assert_string_equal(ops_of_read(&l, 1), "R");
    ft_layer_end(&l);
}

/* The list drains in between at any length. */
static void test_dftl_waits_are_marked_wherever_the_list_ends(void **state)
{
    (void)state;
    for (uint32_t before = 0; before < FE_OPS_MAX; before++) {
        struct ft_layer l;
        char text[16];
        setup(&l, 1);
        ft_layer_write_each(&l, 0, 2);
        ft_layer_clear(&l);
        while (l.rig.ops.n < before)
            fe_ops_barrier(&l.rig.ops);
        ft_layer_write_part(&l, 0, 10, 10);
        uint32_t n;
        const struct fe_op *ops = ft_rig_ops(&l.rig, &n) + before;
        assert_int_equal(n, before + 5);
        for (uint32_t i = 0; i < 5; i++)
            text[i] = "RPEB"[ops[i].kind] + (ops[i].flags ? 'a' - 'A' : 0);
        text[5] = '\0';
        assert_string_equal(text, "RpRrp"); /* 1 leaves, 0 is loaded, read, programmed */
        ft_layer_end(&l);
    }
}

static void test_dftl_unmapped_pages_cost_the_look_up(void **state)
{
    (void)state;
    struct ft_layer l;
    setup(&l, 2);
    assert_string_equal(ops_of_read(&l, 5), "-"); /* no translation page: nothing to look at */
    ft_layer_write_each(&l, 0, 3);
    assert_string_equal(ops_of_read(&l, 5), "R"); /* 1 leaves clean */
    assert_true(is_cached(&l, 5));
    assert_string_equal(ops_of_read(&l, 5), "-");
    assert_string_equal(ops_of_read(&l, 30), "-");
    assert_false(is_cached(&l, 30));
    ft_layer_end(&l);
}

static void test_dftl_part_of_a_page_reads_the_old_copy(void **state)
{
    (void)state;
    struct ft_layer l;
    setup(&l, 2);
    ft_layer_write_part(&l, 2, 10, 10);
    assert_string_equal(letters(&l), "P");
    ft_layer_write_part(&l, 2, 15, 10);
    assert_string_equal(letters(&l), "Rp");
    ft_layer_write_each(&l, 20, 2);
    ft_layer_clear(&l);
    ft_layer_write_part(&l, 2, 0, 10); /* 20 and 21 to a new translation page; 2 loaded */
    assert_string_equal(letters(&l), "PRRp");
    ft_layer_end(&l);
}

static void test_dftl_the_entry_unused_for_longest_leaves(void **state)
{
    (void)state;
    struct ft_layer l;
    setup(&l, 4);
    ft_layer_write_each(&l, 0, 4);
    ops_of_read(&l, 0);
    ops_of_write(&l, 2);
    ops_of_read(&l, 1); /* in order of use: 1 2 0 3 */
    static const fe_lpn next[] = {20, 21, 22, 23}, leaves[] = {3, 0, 2, 1};
    for (size_t i = 0; i < ft_array_len(next); i++) {
        assert_true(is_cached(&l, leaves[i]));
        ops_of_write(&l, next[i]);
        assert_true(is_cached(&l, next[i]));
        assert_false(is_cached(&l, leaves[i]));
    }
    ft_layer_end(&l);
}

static void test_dftl_cache_is_never_larger_than_the_table(void **state)
{
    (void)state;
    struct ft_layer l;
    setup(&l, 1 << 20);
    assert_int_equal(inside(&l)->cache.n_max, l.ftl->n_lpns);
    for (int round = 0; round < 3; round++)
        ft_layer_write_each(&l, 0, l.ftl->n_lpns);
    assert_map(&l, 2ull * l.ftl->n_lpns, l.ftl->n_lpns, 0, 0);
    ft_layer_end(&l);
}

static void test_dftl_kinds_have_blocks_and_dies_of_their_own(void **state)
{
    (void)state;
    struct ft_layer l;
    uint32_t n, n_data = 0, n_map = 0;
    setup_shape(&l, 3, 30, N, PAGE, 1);
    for (fe_lpn lpn = 0; lpn < 9; lpn++)
        ft_layer_write_each(&l, lpn * PER_TP % l.ftl->n_lpns, 1);
    const struct fe_op *ops = ft_rig_ops(&l.rig, &n);
    for (uint32_t i = 0; i < n; i++) {
        if (ops[i].kind != FE_OP_PROG)
            continue;
        bool is_data = fe_medium_lpn(l.rig.medium, ops[i].ppn) < l.ftl->n_lpns;
        assert_int_equal(ops[i].die, (is_data ? n_data++ : n_map++) % 3);
    }
    assert_int_equal(n_data, 9);
    assert_int_equal(n_map, 8);
    assert_int_equal(inside(&l)->blocks.fronts[DFTL_DATA].n_open, 3);
    assert_int_equal(inside(&l)->blocks.fronts[DFTL_MAP].n_open, 3);
    assert_int_equal(l.ftl->ops->free_blocks(l.ftl), 90 - 6);
    ft_layer_end(&l);
}

/* Counts from the operations of one write what cleaning must have written: a translation
 * page for each one that has a moved page of which the cache does not know. */
struct moved {
    uint32_t outdated, copies, cached, erases;
    uint32_t early; /* erases before the translation pages of what had moved were written */
};

static struct moved count_moved(struct ft_layer *l, const uint32_t *entry_of)
{
    struct dftl *f = inside(l);
    struct moved m = {0};
    uint32_t n, last = 0, outdated = 0;
    uint8_t *seen = calloc(f->n_tps, 1);
    assert_non_null(seen);
    const struct fe_op *ops = ft_rig_ops(&l->rig, &n);
    for (uint32_t i = 0; i < n; i++)
        if (ops[i].kind == FE_OP_ERASE)
            last = i;
    for (uint32_t i = 0; i < last + 1; i++) {
        fe_lpn tag = fe_medium_lpn(l->rig.medium, ops[i].ppn);
        if (ops[i].kind == FE_OP_ERASE) {
            m.erases++;
            m.early += outdated > 0;
            memset(seen, 0, f->n_tps);
        } else if (ops[i].kind == FE_OP_PROG && tag >= l->ftl->n_lpns) {
            outdated = 0;
        } else if (ops[i].kind == FE_OP_PROG && last && tag < l->ftl->n_lpns) {
            m.copies++;
            m.cached += entry_of[tag] != FE_MAP_NONE;
            outdated += entry_of[tag] == FE_MAP_NONE;
            if (entry_of[tag] == FE_MAP_NONE && !seen[tag / PER_TP]++)
                m.outdated++;
        }
    }
    free(seen);
    return m;
}

/* A block that was emptied may be programmed anew within the same write, so there must be
 * enough free ones before; the OOB of the copies would be gone. */
static void test_dftl_cleaning_writes_each_translation_page_once(void **state)
{
    (void)state;
    static const uint32_t entries[] = {1, 30, 150, 100000};
    for (size_t k = 0; k < ft_array_len(entries); k++) {
        struct ft_layer l;
        struct ft_rand r = {.seed = k};
        struct moved all = {0};
        setup_shape(&l, 1, 64, 16, PAGE, entries[k]);
        uint32_t n = l.ftl->n_lpns;
        uint32_t *entry_of = malloc(n * sizeof *entry_of);
        assert_non_null(entry_of);
        ft_layer_write_each(&l, 0, n);
        for (uint32_t i = 0; i < 4000; i++) {
            memcpy(entry_of, inside(&l)->cache.entry_of, n * sizeof *entry_of);
            ft_layer_clear(&l);
            assert_int_equal(ft_layer_write(&l, (fe_lpn)ft_below(&r, n)), FE_OK);
            struct moved m = count_moved(&l, entry_of);
            const struct fe_ftl_counters *c = &l.ftl->counters, *c0 = &l.before;
            assert_int_equal(m.outdated, (c->map_writes - c0->map_writes) -
                                             (c->map_evictions - c0->map_evictions));
            assert_int_equal(m.erases, c->gc_runs - c0->gc_runs);
            assert_int_equal(m.early, 0);
            all.outdated += m.outdated;
            all.copies += m.copies;
            all.cached += m.cached;
        }
        assert_true(all.copies > 2000);
        assert_true((all.outdated == 0) == (entries[k] > n));
        assert_true(k == 0 || all.cached > 0);
        assert_true(all.outdated <= all.copies - all.cached);
        free(entry_of);
        ft_layer_end(&l);
    }
}

static void test_dftl_trim_of_cached_pages_costs_nothing_now(void **state)
{
    (void)state;
    struct ft_layer l;
    setup(&l, 4);
    ft_layer_write_each(&l, 0, 4);
    assert_string_equal(ops_of_trim(&l, 1, 2), "-");
    assert_string_equal(ops_of_read(&l, 1), "-");
    assert_string_equal(ops_of_write(&l, 20), "PP"); /* now it is written */
    ft_layer_write_each(&l, 21, 3);
    assert_string_equal(ops_of_read(&l, 2), "PR"); /* 20 to 23 go; 2 is loaded: unmapped */
    assert_int_equal(inside(&l)->table[1], FE_PPN_NONE);
    ft_layer_end(&l);
}

static void test_dftl_trim_of_others_writes_their_translation_page(void **state)
{
    (void)state;
    struct ft_layer l;
    setup(&l, 4);
    ft_layer_write_each(&l, 0, 12);
    ft_layer_write_each(&l, 20, 4); /* pages 0 to 11 are on flash */
    assert_string_equal(ops_of_trim(&l, 2, 3), "RRp");
    assert_string_equal(ops_of_trim(&l, 2, 3), "R");  /* nothing to change */
    assert_string_equal(ops_of_trim(&l, 12, 4), "R"); /* never written */
    assert_string_equal(ops_of_trim(&l, 40, 5), "-"); /* no translation page */
    ops_of_read(&l, 5);
    assert_string_equal(ops_of_trim(&l, 5, 2), "RRp"); /* one cached, one not */
    assert_int_equal(inside(&l)->table[5], FE_PPN_NONE);
    ft_layer_end(&l);
}

static void test_dftl_trim_gives_whole_translation_pages_up(void **state)
{
    (void)state;
    struct ft_layer l;
    setup(&l, 4);
    uint32_t n = l.ftl->n_lpns;
    assert_true(n % PER_TP != 0); /* the last one is not full */
    ft_layer_write_each(&l, 0, 3 * PER_TP);
    ft_layer_write_each(&l, n - 2, 2);
    /* the end of page 0, page 1, the start of page 2: whose last entries are cached */
    assert_string_equal(ops_of_trim(&l, PER_TP - 1, PER_TP + 3), "RRpRRRp");
    assert_int_equal(inside(&l)->directory[1], FE_PPN_NONE);
    assert_string_equal(ops_of_read(&l, PER_TP), "-");
    assert_string_equal(ops_of_trim(&l, n - n % PER_TP, n % PER_TP), "-");
    for (fe_lpn lpn = 0; lpn < 4; lpn++)
        ops_of_read(&l, lpn);
    assert_int_equal(inside(&l)->directory[n / PER_TP], FE_PPN_NONE);
    ops_of_trim(&l, 0, n);
    for (uint32_t tp = 0; tp < inside(&l)->n_tps; tp++)
        assert_int_equal(inside(&l)->directory[tp], FE_PPN_NONE);
    for (fe_peb peb = 0; peb < l.rig.geo.n_pebs; peb++)
        assert_int_equal(inside(&l)->blocks.valid[peb], 0);
    ft_layer_end(&l);
}

static uint64_t limit(uint32_t dies, uint32_t blocks, uint32_t ppb, uint32_t page,
                      uint32_t reserve, uint64_t cache, struct fe_err *err)
{
    struct fe_nand_params nand = ft_nand(dies, blocks, ppb, page);
    struct fe_ftl_params p = ft_params("dftl", &nand, 1);
    struct fe_geometry geo;
    fe_err_init(err);
    assert_int_equal(fe_geometry_init(&geo, &nand, err), 0);
    p.clean.gc_reserve = reserve;
    p.dftl.map_cache = cache;
    return fe_ftl_dftl.max_lpns(&p, &geo, err);
}

static void test_dftl_keeps_reserve_open_blocks_and_table(void **state)
{
    (void)state;
    struct fe_err err;
    /* 4 free, 2 open, 1; of the other 13 one for a table of 48 / 16 pages */
    assert_int_equal(limit(1, 20, N, PAGE, 1, 8, &err), 12 * N);
    assert_int_equal(limit(1, 20, N, PAGE, 4, 8, &err), 12 * N);
    assert_int_equal(limit(1, 20, N, PAGE, 5, 8, &err), 11 * N);
    /* 6 free, 6 open, 1; of the other 47 three for a table of 176 / 16 pages */
    assert_int_equal(limit(3, 20, N, PAGE, 1, 8, &err), 44 * N);
    /* an entry a page: half of 1024 - 7 blocks */
    assert_int_equal(limit(1, 1024, 64, 4, 1, 8, &err), 508 * 64);
    assert_int_equal(limit(1, 9, N, PAGE, 1, 8, &err), N);
}

static void assert_refused(uint64_t max, const struct fe_err *err, const char *says)
{
    assert_int_equal(max, 0);
    if (!strstr(err->text, says))
        fail_msg("'%s' does not say '%s'", err->text, says);
}

static void test_dftl_refuses_with_the_numbers_that_would_work(void **state)
{
    (void)state;
    struct fe_err err;
    assert_refused(limit(1, 20, N, PAGE, 1, 0, &err), &err,
                   "ftl.map_cache=0: an entry takes 8 bytes, so dftl needs at least 8; 640 hold "
                   "an entry for each page of the chip");
    assert_refused(limit(1, 20, N, PAGE, 1, 7, &err), &err, "ftl.map_cache=7: an entry takes 8");
    assert_refused(limit(1, 8, N, PAGE, 1, 8, &err), &err,
                   "ftl.gc_reserve=1: with 1 dies dftl keeps 7 blocks besides data and table, 4 of "
                   "them free; the chip has 8 and needs 9");
    assert_refused(limit(1, 20, N, PAGE, 16, 8, &err), &err, "ftl.gc_reserve=16");
    assert_refused(limit(1, 20, N, 2, 1, 8, &err), &err, "nand.page_size=2: ");
}

static void test_dftl_bad_blocks_may_be_too_many(void **state)
{
    (void)state;
    struct ft_rig rig;
    struct fe_ftl *ftl = NULL;
    struct fe_err err;
    struct fe_nand_params nand = ft_nand(1, 20, N, PAGE);
    struct fe_ftl_params p = ft_params("dftl", &nand, 1);
    p.dftl.map_cache = 64;
    ft_rig_init(&rig, &nand);
    fe_err_init(&err);
    fe_chip_mark(&rig.medium->chip, 3, FE_MARK_FACTORY_BAD, true);
    assert_int_equal(fe_ftl_create(&ftl, &fe_ftl_dftl, &p, rig.medium, 12 * N, false, &err), -EINVAL);
    assert_non_null(strstr(err.text, "19 good blocks, 48 logical pages need 20"));
    fe_err_init(&err);
    assert_int_equal(fe_ftl_create(&ftl, &fe_ftl_dftl, &p, rig.medium, 11 * N, false, &err), 0);
    for (uint32_t i = 0; i < 500; i++)
        assert_int_equal(ftl->ops->write(ftl, i * 7 % (11 * N), 0, PAGE, NULL), FE_OK);
    assert_int_equal(ftl->ops->check(ftl, &err), 0);
    fe_ftl_destroy(ftl);
    ft_rig_fini(&rig);
}

static void assert_wrong(struct ft_layer *l, const char *says)
{
    struct fe_err err;
    fe_err_init(&err);
    assert_int_equal(l->ftl->ops->check(l->ftl, &err), -EIO);
    if (!strstr(err.text, says))
        fail_msg("'%s' does not say '%s'", err.text, says);
}

/* Changes a value, looks what check() says, and changes it back. */
#define WRONG(l, place, value, says)                                                         \
    do {                                                                                     \
        __typeof__(place) was_ = (place);                                                    \
        (place) = (value);                                                                   \
        assert_wrong(l, says);                                                               \
        (place) = was_;                                                                      \
        ft_layer_check(l);                                                                   \
    } while (0)

static void test_dftl_check_finds_what_is_wrong(void **state)
{
    (void)state;
    struct ft_layer l;
    setup(&l, 4);
    ft_layer_write_each(&l, 0, 24);
    struct dftl *f = inside(&l);
    struct fe_map_entry *e = &f->cache.entries[f->cache.entry_of[22]];
    uint64_t *dirty = f->cache.dirty;
    assert_int_not_equal(f->directory[0], FE_PPN_NONE);
    WRONG(&l, l.rig.medium->chip.oob_lpn[f->table[6]], 7, "logical page 6 is mapped to");
    WRONG(&l, l.rig.medium->chip.oob_lpn[f->directory[0]], 3, "translation page 0");
    WRONG(&l, f->directory[0], FE_PPN_NONE, "translation page 0 does not hold");
    WRONG(&l, f->directory[0], f->directory[1], "translation page 0 is mapped to");
    WRONG(&l, f->table[3], 4, "logical page 3 is mapped to 4");
    WRONG(&l, f->table[22], 4, "logical page 22 is mapped to 4");
    WRONG(&l, f->table[3], FE_PPN_NONE, "translation page 0 does not hold");
    WRONG(&l, dirty[0], dirty[0] | 8, "logical page 3 is dirty and not cached");
    WRONG(&l, dirty[f->cache.page_words], 0, "translation page 1 does not hold");
    WRONG(&l, e->newer, 0, "mapping cache: entry");
    WRONG(&l, e->older, 1000, "mapping cache: entry");
    WRONG(&l, f->cache.entry_of[3], f->cache.entry_of[22], "mapping cache: ");
    WRONG(&l, f->is_outdated[1], 1, "outdated");
    WRONG(&l, f->blocks.valid[0], 3, "its count says 3");
    WRONG(&l, f->blocks.valid_bits[0], f->blocks.valid_bits[0] & ~1ull, "logical page 0 is mapped");
    WRONG(&l, f->blocks.state[0], FE_BLOCK_OPEN, "block 0 in state 1");
    WRONG(&l, f->blocks.fronts[DFTL_MAP].n_open, 2, "1 open blocks in frontier 1, 2 counted");
    WRONG(&l, f->blocks.pool.n, 5, "counted are 5");
    WRONG(&l, l.rig.medium->chip.pebs[63].next_page, 1, "block 63");
    ft_layer_end(&l);
}

/* Data whose cleaning costs more than it wins, as often as that is possible: blocks of data
 * have two invalid pages each, and their other pages lie in translation pages of as many
 * blocks of the table, which have one invalid page or none.  The host's writes find their
 * entries cached and write nothing themselves. */
static void clean_at_a_loss(uint32_t dies, uint32_t blocks_per_die)
{
    enum { PPB = 32, ENTRIES = 400, ROW = 100 };
    struct ft_layer l;
    struct ft_rand r = {.seed = dies};
    setup_shape(&l, dies, blocks_per_die, PPB, 8, ENTRIES);
    uint32_t tps = inside(&l)->n_tps - 1;
    for (uint32_t tp = 0; tp < tps; tp++) /* entries 0 in the order of the table */
        assert_int_equal(ft_layer_write(&l, 2 * tp), FE_OK);
    for (uint32_t i = 0; i < tps; i++)    /* entries 1 in another: so lies the table now */
        assert_int_equal(ft_layer_write(&l, 2 * (fe_lpn)(i * 7919ull % tps) + 1), FE_OK);
    for (uint32_t round = 0; round < 40; round++) {
        fe_lpn lpns[2 * ROW];
        uint32_t first = (uint32_t)ft_below(&r, tps / PPB - ROW) * PPB + round % PPB;
        for (uint32_t i = 0; i < 2 * ROW; i++)
            lpns[i] = 2 * (first + i / 2 * PPB + i % 2);
        for (uint32_t i = 0; i < 2 * ROW; i++)
            assert_int_equal(l.ftl->ops->read(l.ftl, lpns[i], 0, 8, NULL), FE_OK);
        for (uint32_t i = 0; i < 2 * ROW; i++)
            assert_int_equal(ft_layer_write(&l, lpns[i]), FE_OK);
    }
    ft_layer_end(&l);
}

static void test_dftl_cleaning_at_a_loss_ends(void **state)
{
    (void)state;
    clean_at_a_loss(1, 900);
    clean_at_a_loss(2, 450);
    clean_at_a_loss(3, 300);
    clean_at_a_loss(4, 230);
    clean_at_a_loss(9, 105);
}

/* Where nobody will read the table again, its pages need no bytes; data have theirs. */
static void test_dftl_table_without_bytes(void **state)
{
    (void)state;
    for (int never_cut = 0; never_cut < 2; never_cut++) {
        struct ft_layer l;
        setup(&l, 4);
        l.rig.medium->never_cut = never_cut;
        ft_layer_write_each(&l, 0, 24);
        fe_ppn page = inside(&l)->directory[0];
        assert_int_not_equal(page, FE_PPN_NONE);
        assert_int_equal(fe_store_is_written(l.rig.medium->store, page), !never_cut);
        assert_true(fe_store_is_written(l.rig.medium->store, inside(&l)->table[6]));
        ft_layer_check(&l);
        ft_layer_fini(&l);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_dftl_room_in_the_cache_costs_nothing),
        cmocka_unit_test(test_dftl_dirty_entries_of_a_translation_page_go_together),
        cmocka_unit_test(test_dftl_read_waits_for_its_mapping),
        cmocka_unit_test(test_dftl_waits_are_marked_wherever_the_list_ends),
        cmocka_unit_test(test_dftl_unmapped_pages_cost_the_look_up),
        cmocka_unit_test(test_dftl_part_of_a_page_reads_the_old_copy),
        cmocka_unit_test(test_dftl_the_entry_unused_for_longest_leaves),
        cmocka_unit_test(test_dftl_cache_is_never_larger_than_the_table),
        cmocka_unit_test(test_dftl_kinds_have_blocks_and_dies_of_their_own),
        cmocka_unit_test(test_dftl_cleaning_writes_each_translation_page_once),
        cmocka_unit_test(test_dftl_trim_of_cached_pages_costs_nothing_now),
        cmocka_unit_test(test_dftl_trim_of_others_writes_their_translation_page),
        cmocka_unit_test(test_dftl_trim_gives_whole_translation_pages_up),
        cmocka_unit_test(test_dftl_keeps_reserve_open_blocks_and_table),
        cmocka_unit_test(test_dftl_refuses_with_the_numbers_that_would_work),
        cmocka_unit_test(test_dftl_bad_blocks_may_be_too_many),
        cmocka_unit_test(test_dftl_check_finds_what_is_wrong),
        cmocka_unit_test(test_dftl_cleaning_at_a_loss_ends),
        cmocka_unit_test(test_dftl_table_without_bytes),
    };
    return cmocka_run_group_tests_name("dftl", tests, NULL, NULL);
}
