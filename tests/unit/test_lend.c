/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Memory that a store lends for the data of a page: the page that is written with it keeps it, and
 * nothing else changes.
 */
#include "lib/device.h"
#include "lib/rand.h"
#include "lib/unit.h"

#include "store/store.h"

enum { PAGE = 512, PER_BLOCK = 4, N_PAGES = 32, MOST = 256 };

static struct fe_store *make(bool payload)
{
    struct fe_err err;
    struct fe_store *s = NULL;
    fe_err_init(&err);
    if (fe_store_create(&s, N_PAGES, PAGE, PER_BLOCK, payload, &err) < 0)
        fail_msg("%s", err.text);
    return s;
}

static void assert_page(const struct fe_store *s, fe_ppn ppn, const uint8_t want[PAGE])
{
    uint8_t buf[PAGE];
    assert_int_equal(fe_store_read(s, ppn, 0, PAGE, buf), 0);
    assert_memory_equal(buf, want, PAGE);
}

/* The page's bytes are the lent ones themselves: a copy of the page has them, too, and they are in
 * nobody else's hands until both have gone. */
static void test_a_page_keeps_lent_memory(void **state)
{
    (void)state;
    struct fe_store *s = make(true);
    struct ft_rand r = {.seed = 1};
    uint8_t want[PAGE], *lent = fe_store_lend(s, NULL);
    ft_fill(&r, want, PAGE);
    memcpy(lent, want, PAGE);
    fe_store_write(s, 3, FE_PPN_NONE, 0, PAGE, lent);
    assert_false(fe_store_take_back(s, lent));
    assert_page(s, 3, want);
    lent[7] ^= 1; /* which its contract forbids; it shows where the bytes are */
    want[7] ^= 1;
    assert_page(s, 3, want);
    fe_store_write(s, 5, 3, 0, 0, NULL);
    fe_store_forget(s, 3, 1);
    for (unsigned i = 0; i < 20; i++)
        assert_ptr_not_equal(fe_store_lend(s, NULL), lent);
    assert_page(s, 5, want);
    fe_store_forget(s, 5, 1);
    assert_ptr_equal(fe_store_lend(s, NULL), lent); /* the only free frame that is not fresh */
    fe_store_destroy(s);
}

/* A part of a page, or bytes that begin behind the first one, are copied. */
static void test_a_part_is_copied(void **state)
{
    (void)state;
    struct fe_store *s = make(true);
    struct ft_rand r = {.seed = 2};
    uint8_t want[PAGE] = {0}, *lent = fe_store_lend(s, NULL);
    ft_fill(&r, lent, PAGE);
    memcpy(want + 100, lent, 300);
    fe_store_write(s, 0, FE_PPN_NONE, 100, 300, lent);
    fe_store_overwrite(s, 1, 100, 300, lent);
    assert_page(s, 0, want);
    assert_page(s, 1, want);
    assert_true(fe_store_take_back(s, lent));
    assert_false(fe_store_take_back(s, lent)); /* it is the store's already */
    assert_false(fe_store_take_back(s, want)); /* and this never was */
    assert_false(fe_store_take_back(s, lent + 1));
    fe_store_destroy(s);
}

/* The same bytes for a second page, as when a program fails and the data go elsewhere. */
static void test_a_second_page_gets_a_copy(void **state)
{
    (void)state;
    struct fe_store *s = make(true);
    struct ft_rand r = {.seed = 3};
    uint8_t want[PAGE], other[PAGE] = {0}, *lent = fe_store_lend(s, NULL);
    ft_fill(&r, want, PAGE);
    memcpy(lent, want, PAGE);
    fe_store_write(s, 0, FE_PPN_NONE, 0, PAGE, lent);
    fe_store_write(s, 1, FE_PPN_NONE, 0, PAGE, lent);
    fe_store_forget(s, 0, 1);
    fe_store_write(s, 2, FE_PPN_NONE, 0, PAGE, other);
    assert_page(s, 1, want);
    assert_page(s, 2, other);
    fe_store_destroy(s);
}

static void test_so_much_is_lent(void **state)
{
    (void)state;
    struct fe_store *s = make(true), *bare = make(false);
    void *lent[MOST];
    for (unsigned i = 0; i < MOST; i++) {
        lent[i] = fe_store_lend(s, NULL);
        assert_non_null(lent[i]);
    }
    assert_null(fe_store_lend(s, NULL));
    assert_true(fe_store_take_back(s, lent[17]));
    assert_non_null(fe_store_lend(s, NULL));
    assert_null(fe_store_lend(bare, NULL));
    assert_false(fe_store_take_back(bare, lent[0]));
    fe_store_destroy(s);
    fe_store_destroy(bare);
}

/* Whatever is lent, all that can be put aside can have bytes of its own, and so can each page. */
static void test_loans_take_nothing_from_pages(void **state)
{
    (void)state;
    enum { ASIDE = 65536 };
    struct fe_store *s = make(true);
    struct fe_aside *aside = calloc(ASIDE, sizeof *aside);
    assert_non_null(aside);
    for (unsigned i = 0; i < MOST; i++)
        assert_non_null(fe_store_lend(s, NULL));
    for (uint32_t i = 0; i < ASIDE; i++) {
        fe_store_write(s, 0, FE_PPN_NONE, 0, sizeof i, &i);
        assert_int_equal(fe_store_put_aside(s, 0, &aside[i]), 0);
    }
    for (fe_ppn p = 0; p < N_PAGES; p++)
        fe_store_overwrite(s, p, 0, sizeof p, &p);
    for (fe_ppn p = 0, got; p < N_PAGES; p++) {
        fe_store_read(s, p, 0, sizeof got, &got);
        assert_int_equal(got, p);
    }
    for (uint32_t i = 0; i < ASIDE; i++)
        fe_store_drop_aside(s, &aside[i]);
    free(aside);
    fe_store_destroy(s);
}

/* Loans, writes and forgetting at random, against plain bytes. */
static void check_against_bytes(uint64_t seed)
{
    enum { LOANS = 8 };
    struct ft_rand r = {.seed = seed};
    struct fe_store *s = make(true);
    uint8_t want[N_PAGES][PAGE] = {{0}}, held[LOANS][PAGE], *lent[LOANS] = {NULL};
    for (int step = 0; step < 3000; step++) {
        unsigned k = (unsigned)ft_below(&r, LOANS);
        fe_ppn p = (fe_ppn)ft_below(&r, N_PAGES), base = (fe_ppn)ft_below(&r, N_PAGES);
        if (!lent[k]) {
            lent[k] = fe_store_lend(s, NULL);
            ft_fill(&r, held[k], PAGE);
            memcpy(lent[k], held[k], PAGE);
        } else if (fe_store_is_written(s, p)) {
            assert_page(s, p, want[p]);
            fe_store_forget(s, p, 1);
            memset(want[p], 0, PAGE);
        } else if (ft_chance(&r, 20)) {
            assert_memory_equal(lent[k], held[k], PAGE);
            assert_true(fe_store_take_back(s, lent[k]));
            lent[k] = NULL;
        } else if (ft_chance(&r, 30) && base != p) {
            fe_store_write(s, p, base, 0, 0, NULL);
            memcpy(want[p], want[base], PAGE);
        } else {
            fe_store_write(s, p, FE_PPN_NONE, 0, PAGE, lent[k]);
            assert_false(fe_store_take_back(s, lent[k]));
            memcpy(want[p], held[k], PAGE);
            lent[k] = NULL;
        }
    }
    for (fe_ppn p = 0; p < N_PAGES; p++)
        assert_page(s, p, want[p]);
    fe_store_destroy(s);
}

static void test_loans_at_random(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 50; seed++)
        check_against_bytes(seed);
}

/* Through the device: a write of a page keeps the memory, one of two sectors does not, and both
 * read back. */
static void test_device_keeps_a_page(void **state)
{
    (void)state;
    struct fe_profile profile = ft_device_profile("page");
    struct fe_device *dev = ft_device_make(&profile, false);
    struct ft_rand r = {.seed = 4};
    uint32_t page = fe_device_page_bytes(dev);
    uint8_t *want = malloc(page), *buf = malloc(page), *lent = fe_device_lend(dev, NULL);
    assert_true(want && buf && lent);
    ft_fill(&r, want, page);
    memcpy(lent, want, page);
    ft_device_submit(dev, FE_REQ_WRITE, 0, page, page, lent, false);
    assert_false(fe_device_take_back(dev, lent));
    lent = fe_device_lend(dev, NULL);
    memcpy(lent, want, page);
    ft_device_submit(dev, FE_REQ_WRITE, 0, 2 * page, 1024, lent, false);
    assert_true(fe_device_take_back(dev, lent));
    ft_device_submit(dev, FE_REQ_READ, 0, page, page, buf, false);
    assert_memory_equal(buf, want, page);
    ft_device_submit(dev, FE_REQ_READ, 0, 2 * page, 1024, buf, false);
    assert_memory_equal(buf, want, 1024);
    fe_device_destroy(dev);
    fe_profile_fini(&profile);
    free(want);
    free(buf);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_page_keeps_lent_memory),
        cmocka_unit_test(test_a_part_is_copied),
        cmocka_unit_test(test_a_second_page_gets_a_copy),
        cmocka_unit_test(test_so_much_is_lent),
        cmocka_unit_test(test_loans_take_nothing_from_pages),
        cmocka_unit_test(test_loans_at_random),
        cmocka_unit_test(test_device_keeps_a_page),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
