/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Worn chips in an image: what a replacement, a lost page or the end of life has left is
 * there when the image is opened again after a kill.
 */
#include "lib/rig.h"
#include "lib/unit.h"

#include "nand/bbm.h"
#include "store/image.h"
#include "store/image_extra.h"
#include "store/image_page.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#define PAGE 512u
#define B    4u

static char path[64];

struct chip {
    struct fe_nand_params nand;
    struct fe_wear_params wear;
    struct fe_geometry geo;
    struct fe_oplist ops;
    struct fe_store *store;
    struct fe_medium *m;
};

static void forget(void *ctx, struct fe_op *ops, uint32_t n)
{
    (void)ctx;
    (void)ops;
    (void)n;
}

static void check(int r, const struct fe_err *err)
{
    if (r < 0)
        fail_msg("%s", err->text);
}

/* 2 dies with 5 blocks each; without a reserve all ten are seen. */
static void start(struct chip *c, const struct fe_wear_params *w, bool is_new)
{
    struct fe_err err = {""};
    struct fe_store_file f = {.path = path};
    *c = (struct chip){.nand = ft_nand(2, 5, B, PAGE), .wear = *w};
    c->nand.endurance = 10;
    fe_ops_init(&c->ops, forget, NULL);
    check(fe_geometry_init(&c->geo, &c->nand, &err), &err);
    check(fe_geometry_reserve(&c->geo, fe_wear_reserve(w, &c->geo), &err), &err);
    struct fe_store_what what = {.n_pages = c->geo.n_chip_blocks * B, .page_bytes = PAGE,
                                 .pages_per_block = B, .capacity = PAGE, .profile = "x\n",
                                 .profile_bytes = 2};
    check(is_new ? fe_store_image_create(&c->store, &f, &what, &err)
                 : fe_store_image_open(&c->store, &f, &err), &err);
    check(fe_medium_create(&c->m, &c->nand, &c->geo, c->store, &c->ops, &err), &err);
    check(fe_wear_attach(c->m, w, &c->nand, 1, &err), &err);
    if (is_new) {
        fe_chip_begin_image(&c->m->chip);
        check(fe_store_image_ready(c->store, &err), &err);
    } else {
        check(fe_medium_load(c->m, false, &err), &err);
    }
}

/* As a kill: nothing is put in order. */
static void stop(struct chip *c)
{
    fe_medium_destroy(c->m);
    fe_store_destroy(c->store);
}

static enum fe_status prog(struct chip *c, fe_ppn ppn)
{
    uint8_t data[PAGE];
    memset(data, (int)(ppn + 1), sizeof data);
    return fe_medium_prog(c->m, ppn, ppn, 0, FE_PPN_NONE, 0, PAGE, data);
}

static void expect_page(struct chip *c, fe_ppn ppn)
{
    uint8_t buf[PAGE];
    assert_int_equal(fe_medium_read(c->m, ppn, 0, PAGE, buf), FE_OK);
    for (uint32_t i = 0; i < PAGE; i++)
        assert_int_equal(buf[i], (uint8_t)(ppn + 1));
}

static struct fe_peb_info pebs[10];
static fe_chip_block blocks[10];

static void note(const struct chip *c)
{
    for (fe_peb i = 0; i < 10; i++) {
        pebs[i] = *fe_medium_block(c->m, i);
        blocks[i] = fe_medium_chip_block(c->m, i);
    }
}

static void expect_noted(const struct chip *c)
{
    for (fe_peb i = 0; i < 10; i++) {
        const struct fe_peb_info *a = &pebs[i], *b = fe_medium_block(c->m, i);
        if (a->erase_count != b->erase_count || a->next_page != b->next_page ||
            a->marks != b->marks || blocks[i] != fe_medium_chip_block(c->m, i))
            fail_msg("peb %u: %u erases, %u pages, block %u; were %u, %u, %u", i, b->erase_count,
                     b->next_page, fe_medium_chip_block(c->m, i), a->erase_count, a->next_page,
                     blocks[i]);
    }
}

static const struct fe_wear_params plain = {.spare_blocks = 2, .correctable_bits = 4,
                                            .codeword_size = 256, .slow_factor = 2};

static int setup(void **state)
{
    (void)state;
    snprintf(path, sizeof path, "/tmp/fe-wear-XXXXXX");
    int fd = mkstemp(path);
    if (fd < 0)
        return -1;
    close(fd);
    return unlink(path);
}

static int teardown(void **state)
{
    (void)state;
    return unlink(path);
}

static void test_wear_image_keeps_factory_bad_blocks(void **state)
{
    (void)state;
    struct chip c;
    struct fe_wear_params w = plain;
    w.factory_bad_ppm = 100000;
    w.spare_blocks = 1;
    start(&c, &w, true);
    note(&c);
    stop(&c);
    start(&c, &w, false);
    expect_noted(&c);
    stop(&c);
}

/* A slot whose block was replaced keeps its pages, and the blocks their cycles. */
static void test_wear_image_keeps_replacements(void **state)
{
    (void)state;
    struct chip c;
    struct fe_wear_params w = plain;
    w.fail_program = 6;
    start(&c, &w, true);
    for (fe_ppn ppn = 4; ppn < 7; ppn++)
        assert_int_equal(prog(&c, ppn), FE_OK);
    for (int i = 0; i < 3; i++)
        assert_int_equal(fe_medium_erase(c.m, 1), FE_OK);
    for (fe_ppn ppn = 4; ppn < 7; ppn++) /* the last one fails at first */
        assert_int_equal(prog(&c, ppn), FE_OK);
    assert_int_equal(fe_medium_chip_block(c.m, 1), 9);
    assert_int_equal(fe_medium_erase_count(c.m, 1), 0);
    assert_int_equal(fe_medium_erase_count(c.m, 9), 3);
    note(&c);
    stop(&c);
    w.fail_program = 0;
    start(&c, &w, false);
    expect_noted(&c);
    for (fe_ppn ppn = 4; ppn < 7; ppn++)
        expect_page(&c, ppn);
    assert_int_equal(prog(&c, 7), FE_OK);
    assert_int_equal(fe_medium_erase(c.m, 1), FE_OK);
    note(&c);
    stop(&c);
    start(&c, &w, false);
    expect_noted(&c);
    assert_int_equal(fe_medium_erase_count(c.m, 1), 1);
    assert_int_equal(fe_medium_next_page(c.m, 1), 0);
    stop(&c);
}

static void test_wear_image_keeps_cycles_that_were_set(void **state)
{
    (void)state;
    for (uint32_t spares = 0; spares < 2; spares++) {
        struct chip c;
        struct fe_wear_params w = plain;
        w.spare_blocks = spares;
        start(&c, &w, true);
        assert_int_equal(prog(&c, 4), FE_OK);
        assert_int_equal(fe_wear_set_cycles(c.m, 1, 7, NULL), 0);
        note(&c);
        stop(&c);
        start(&c, &w, false);
        expect_noted(&c);
        assert_int_equal(fe_medium_erase_count(c.m, 1), 7);
        expect_page(&c, 4);
        stop(&c);
        unlink(path);
    }
    struct chip c;
    start(&c, &plain, true); /* for teardown */
    stop(&c);
}

static void test_wear_image_keeps_the_end_of_life(void **state)
{
    (void)state;
    struct chip c;
    struct fe_wear_params w = plain;
    w.spare_blocks = 0;
    start(&c, &w, true);
    assert_int_equal(prog(&c, 8), FE_OK);
    assert_int_equal(fe_wear_mark_bad(c.m, 2, NULL), 0);
    assert_true(c.m->eol);
    note(&c);
    stop(&c);
    start(&c, &w, false);
    expect_noted(&c);
    assert_true(c.m->eol);
    expect_page(&c, 8);
    stop(&c);
}

/* By a block's cycle an image knows which of its pages count. */
static void test_wear_image_keeps_a_block_whose_erase_was_the_end(void **state)
{
    (void)state;
    struct chip c;
    struct fe_wear_params w = plain;
    w.spare_blocks = 0;
    w.fail_erase = 1;
    start(&c, &w, true);
    assert_int_equal(prog(&c, 4), FE_OK);
    assert_int_equal(prog(&c, 5), FE_OK);
    assert_int_equal(fe_medium_erase(c.m, 1), FE_ERASE_FAILED);
    assert_true(c.m->eol);
    note(&c);
    stop(&c);
    start(&c, &w, false);
    expect_noted(&c);
    assert_int_equal(fe_medium_next_page(c.m, 1), 2);
    expect_page(&c, 4);
    expect_page(&c, 5);
    stop(&c);
}

/* A mode is of what has been programmed: the next block for the host may be another. */
static void test_wear_image_keeps_no_slc_mode_of_an_erased_block(void **state)
{
    (void)state;
    struct chip c;
    for (int fails = 0; fails < 2; fails++) {
        struct fe_wear_params w = plain;
        w.spare_blocks = 0;
        w.fail_program = fails;
        unlink(path);
        start(&c, &w, true);
        c.m->geo.cell = FE_CELL_MLC;
        fe_medium_use_slc(c.m, 1);
        if (fails) {
            assert_int_equal(prog(&c, 4), FE_PROG_FAILED);
            assert_false(fe_medium_is_slc(c.m, 1));
        }
        stop(&c);
        start(&c, &w, false);
        assert_false(fe_medium_is_slc(c.m, 1));
        for (uint32_t i = 0; i < B && !fails; i++)
            assert_int_equal(prog(&c, B + i), FE_OK); /* more than the mode allows */
        stop(&c);
        start(&c, &w, false);
        assert_false(fe_medium_is_slc(c.m, 1));
        assert_int_equal(fe_medium_next_page(c.m, 1), fails ? 0 : B);
        stop(&c);
    }
}

static void test_wear_image_keeps_lost_pages(void **state)
{
    (void)state;
    struct chip c;
    start(&c, &plain, true);
    assert_int_equal(prog(&c, 8), FE_OK);
    assert_int_equal(fe_wear_flip(c.m, 8, 5, NULL), 0);
    assert_int_equal(fe_medium_prog(c.m, 4, 8, 3, 8, 0, 0, NULL), FE_OK); /* a copy of it */
    assert_int_equal(fe_medium_prog(c.m, 5, 9, 3, FE_PPN_NONE, 0, 0, NULL), FE_OK);
    stop(&c);
    start(&c, &plain, false);
    assert_int_equal(fe_medium_tag(c.m, 4), 3);
    assert_int_equal(fe_medium_read(c.m, 4, 0, PAGE, NULL), FE_UNCORRECTABLE);
    assert_int_equal(fe_medium_read(c.m, 5, 0, PAGE, NULL), FE_OK);
    assert_int_equal(fe_medium_erase(c.m, 1), FE_OK);
    assert_int_equal(prog(&c, 4), FE_OK);
    expect_page(&c, 4);
    stop(&c);
}

static void test_wear_image_keeps_the_age_of_data(void **state)
{
    (void)state;
    struct chip c;
    struct fe_wear_params w = plain;
    w.ber.retention = 1;
    start(&c, &w, true);
    c.m->now_ns = UINT64_C(0x123456789a);
    assert_int_equal(prog(&c, 4), FE_OK);
    stop(&c);
    start(&c, &w, false);
    assert_int_equal(c.m->chip.since_ns[1], UINT64_C(0x123456789a));
    stop(&c);
}

/* Killed between the records of a replacement: the spare's slot had been written, and says
 * that the old block is there now. */
static void test_wear_image_mends_half_a_replacement(void **state)
{
    (void)state;
    struct chip c;
    uint32_t seen[10] = {0};
    start(&c, &plain, true);
    assert_int_equal(prog(&c, 4), FE_OK);
    c.m->chip.blocks[9] = 1;
    fe_chip_mark(&c.m->chip, 9, FE_MARK_UNSTABLE, false); /* saves the record */
    stop(&c);
    start(&c, &plain, false);
    for (fe_peb i = 0; i < 10; i++)
        seen[fe_medium_chip_block(c.m, i)]++;
    for (fe_peb i = 0; i < 10; i++)
        assert_int_equal(seen[i], 1);
    assert_int_equal(fe_medium_chip_block(c.m, 1), 1);
    expect_page(&c, 4);
    stop(&c);
}

/* What a record of an image may say, and cannot be true of this chip. */
static const struct wrong {
    uint32_t spares, peb;
    struct fe_store_block block;
    uint32_t n_pages; /* programmed pages of that block */
    uint8_t tag;      /* of its pages */
    uint32_t control[12], control_bytes;
    const char *message; /* NULL: nothing is wrong */
} wrongs[] = {
    {.peb = 3, .block = {.extra = {0, 5}}, .message = "block 3 is another block of the chip"},
    {.spares = 2, .block = {.extra = {0, 11}}, .message = "a block that the chip does not have"},
    {.peb = 1, .block = {.flags = 128}, .message = "block 1 has flags that this version does not"},
    {.peb = 1, .block = {.flags = FE_MARK_GROWN_BAD}, .message = "block 1 is bad, but none"},
    {.peb = 2, .n_pages = 1, .tag = FE_TAG_TORN, .message = "programmed page that counts as torn"},
    {.spares = 2, .peb = 9, .n_pages = 1, .message = "block 9 is a spare or bad"},
    {.peb = 4, .block = {.flags = FE_MARK_SLC}, .n_pages = 2, .message = "holds more than that"},
    {.control = {1, 1}, .control_bytes = 40}, /* this one is right: power is off */
    {.control_bytes = 8, .message = "has 8 bytes"},
    {.control = {10}, .control_bytes = 40, .message = "names block 10; 40 bytes and one of 10"},
    {.control = {1, 2}, .control_bytes = 40, .message = "journal"},      /* neither off nor on */
    {.control = {1, 256}, .control_bytes = 40, .message = "journal"},    /* dead, but not off */
};

static void test_wear_image_refuses_records_that_cannot_be(void **state)
{
    (void)state;
    for (size_t i = 0; i < ft_array_len(wrongs); i++) {
        const struct wrong *w = &wrongs[i];
        const struct fe_wear_params wear = {.spare_blocks = w->spares, .codeword_size = 512};
        const struct fe_store_file f = {.path = path};
        struct fe_err err = {""};
        struct chip c;
        unlink(path);
        start(&c, &wear, true);
        fe_store_set_block(c.store, w->peb, &w->block);
        for (uint32_t page = 0; page < w->n_pages; page++)
            fe_store_set_oob(c.store, w->peb * B + page, &(struct fe_store_oob){
                .seq = page + 1, .lpn = page, .tag = w->tag, .state = FE_STORE_PROGRAMMED});
        if (w->control_bytes)
            fe_store_set_control(c.store, w->control, w->control_bytes);
        stop(&c);
        check(fe_store_image_open(&c.store, &f, &err), &err);
        check(fe_medium_create(&c.m, &c.nand, &c.geo, c.store, &c.ops, &err), &err);
        check(fe_wear_attach(c.m, &wear, &c.nand, 1, &err), &err);
        assert_int_equal(fe_medium_load(c.m, false, &err), w->message ? -EIO : 0);
        if (w->message && !strstr(err.text, w->message))
            fail_msg("%s, not %s", err.text, w->message);
        stop(&c);
    }
}

/* The file is the chip after any kill, so a page that nobody asks for has its bytes until its block
 * is erased. */
static void test_wear_image_keeps_the_bytes_of_stale_pages(void **state)
{
    struct chip c;
    (void)state;
    start(&c, &plain, true);
    assert_int_equal(prog(&c, 0), FE_OK);
    fe_medium_let_go(c.m, 0);
    fe_medium_replaced(c.m, 0);
    expect_page(&c, 0);
    stop(&c);
    start(&c, &plain, false);
    expect_page(&c, 0);
    stop(&c);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(test_wear_image_keeps_factory_bad_blocks),
        T(test_wear_image_keeps_replacements),
        T(test_wear_image_keeps_cycles_that_were_set),
        T(test_wear_image_keeps_the_end_of_life),
        T(test_wear_image_keeps_a_block_whose_erase_was_the_end),
        T(test_wear_image_keeps_no_slc_mode_of_an_erased_block),
        T(test_wear_image_keeps_lost_pages),
        T(test_wear_image_keeps_the_bytes_of_stale_pages),
        T(test_wear_image_keeps_the_age_of_data),
        T(test_wear_image_refuses_records_that_cannot_be),
        T(test_wear_image_mends_half_a_replacement),
    };
    return cmocka_run_group_tests_name("wear_image", tests, NULL, NULL);
}
