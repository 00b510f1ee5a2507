/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The store against an array of bytes, and its one promise about memory: what was
 * discarded and not written again is given back when newer discards push it out.
 */
#include "lib/abort.h"
#include "lib/rand.h"
#include "lib/unit.h"

#include "store/store.h"
#include "store/warm.h"

#include <errno.h>
#include <stdio.h>

static struct fe_store *make(uint64_t n_pages, uint32_t page_bytes, uint32_t ppb, bool payload)
{
    struct fe_err err;
    struct fe_store *s = NULL;
    fe_err_init(&err);
    if (fe_store_create(&s, n_pages, page_bytes, ppb, payload, &err) < 0)
        fail_msg("%s", err.text);
    return s;
}

static void assert_all(const uint8_t *p, uint8_t want, size_t len)
{
    for (size_t i = 0; i < len; i++)
        assert_int_equal(p[i], want);
}

static void test_store_never_written_reads_zeros(void **state)
{
    (void)state;
    struct fe_store *s = make(8, 512, 4, true);
    uint8_t buf[512];
    assert_true(fe_store_has_payload(s));
    for (fe_ppn p = 0; p < 8; p++) {
        memset(buf, 0xaa, sizeof buf);
        fe_store_read(s, p, 0, 512, buf);
        assert_all(buf, 0, 512);
    }
    fe_store_read(s, 0, 0, 512, NULL); /* allowed: nothing happens */
    fe_store_destroy(s);
    fe_store_destroy(NULL);
}

static void test_store_write_lays_data_over_base(void **state)
{
    (void)state;
    struct fe_store *s = make(8, 512, 4, true);
    uint8_t old[512], new[512], buf[512];
    memset(old, 1, sizeof old);
    memset(new, 2, sizeof new);
    fe_store_write(s, 0, FE_PPN_NONE, 0, 512, old);
    fe_store_write(s, 1, 0, 100, 50, new);
    fe_store_read(s, 1, 0, 512, buf);
    assert_all(buf, 1, 100);
    assert_all(buf + 100, 2, 50);
    assert_all(buf + 150, 1, 362);
    fe_store_read(s, 0, 0, 512, buf); /* the base keeps its bytes */
    assert_all(buf, 1, 512);
    fe_store_read(s, 1, 99, 3, buf);
    assert_int_equal(buf[0], 1);
    assert_int_equal(buf[1], 2);
    fe_store_destroy(s);
}

static void test_store_without_base_the_rest_is_zeros(void **state)
{
    (void)state;
    struct fe_store *s = make(8, 512, 4, true);
    uint8_t new[512], buf[512];
    memset(new, 3, sizeof new);
    fe_store_write(s, 2, FE_PPN_NONE, 500, 12, new);
    fe_store_read(s, 2, 0, 512, buf);
    assert_all(buf, 0, 500);
    assert_all(buf + 500, 3, 12);
    fe_store_write(s, 3, 1, 0, 12, new); /* a base that was never written */
    fe_store_read(s, 3, 0, 512, buf);
    assert_all(buf, 3, 12);
    assert_all(buf + 12, 0, 500);
    fe_store_destroy(s);
}

static void test_store_null_data_stands_for_zeros(void **state)
{
    (void)state;
    struct fe_store *s = make(8, 512, 4, true);
    uint8_t old[512], buf[512];
    memset(old, 4, sizeof old);
    fe_store_write(s, 0, FE_PPN_NONE, 0, 512, old);
    fe_store_write(s, 1, 0, 10, 20, NULL);
    fe_store_read(s, 1, 0, 512, buf);
    assert_all(buf, 4, 10);
    assert_all(buf + 10, 0, 20);
    assert_all(buf + 30, 4, 482);
    fe_store_write(s, 2, 0, 0, 0, NULL); /* a copy */
    fe_store_read(s, 2, 0, 512, buf);
    assert_all(buf, 4, 512);
    fe_store_write(s, 3, FE_PPN_NONE, 0, 512, NULL);
    fe_store_read(s, 3, 0, 512, buf);
    assert_all(buf, 0, 512);
    fe_store_destroy(s);
}

static void test_store_discard_forgets_one_block(void **state)
{
    (void)state;
    struct fe_store *s = make(12, 512, 4, true);
    uint8_t data[512], buf[512];
    for (fe_ppn p = 0; p < 12; p++) {
        memset(data, (int)p + 1, sizeof data);
        fe_store_write(s, p, FE_PPN_NONE, 0, 512, data);
    }
    fe_store_discard(s, 1);
    for (fe_ppn p = 0; p < 12; p++) {
        fe_store_read(s, p, 0, 512, buf);
        assert_all(buf, p / 4 == 1 ? 0 : (uint8_t)(p + 1), 512);
    }
    /* what was warm must not show through a part written over it */
    fe_store_write(s, 5, FE_PPN_NONE, 1, 1, data);
    fe_store_read(s, 5, 0, 512, buf);
    assert_int_equal(buf[1], 12);
    assert_int_equal(buf[0], 0);
    assert_all(buf + 2, 0, 510);
    fe_store_destroy(s);
}

static void test_store_without_payload_keeps_nothing(void **state)
{
    (void)state;
    struct fe_store *s = make(8, 512, 4, false);
    uint8_t data[512], buf[512];
    assert_false(fe_store_has_payload(s));
    memset(data, 5, sizeof data);
    memset(buf, 5, sizeof buf);
    fe_store_write(s, 0, FE_PPN_NONE, 0, 512, data);
    fe_store_write(s, 1, 0, 0, 100, data);
    fe_store_read(s, 0, 0, 512, buf);
    assert_all(buf, 0, 512);
    fe_store_discard(s, 0);
    fe_store_destroy(s);
    /* no payload: no memory for any size that a file could have */
    s = make(UINT64_C(1) << 32, UINT32_C(1) << 30, 4, false);
    fe_store_destroy(s);
}

/* Pages of 128 MiB, of which only the first bytes are used: the frames lie on both sides of 4 GiB.
 * (With pages of 1 GiB the address space of clang 19's ASan is too small.) */
static void test_store_frames_beyond_4_gib(void **state)
{
    enum { PAGES = 40, BYTES = 100 };
    (void)state;
    struct fe_store *s = make(PAGES, UINT32_C(1) << 27, 5, true);
    uint8_t data[BYTES], buf[BYTES];
    for (fe_ppn ppn = 0; ppn < PAGES; ppn++) {
        memset(data, 1 + (int)ppn, sizeof data);
        fe_store_write(s, ppn, FE_PPN_NONE, 0, BYTES, data);
    }
    for (fe_ppn ppn = 0; ppn < PAGES; ppn++) {
        fe_store_read(s, ppn, 0, BYTES, buf);
        assert_all(buf, 1 + (int)ppn, BYTES);
        assert_int_equal(fe_store_read(s, ppn, (UINT32_C(1) << 27) - BYTES, BYTES, buf), 0);
        assert_all(buf, 0, BYTES);
    }
    fe_store_destroy(s);
}

static void test_store_too_large_is_eoverflow_with_the_numbers(void **state)
{
    (void)state;
    struct fe_err err;
    struct fe_store *s = NULL;
    for (int payload = 0; payload < 2; payload++) {
        fe_err_init(&err);
        assert_int_equal(
            fe_store_create(&s, UINT64_C(1) << 34, UINT32_C(1) << 30, 4, payload, &err),
            -EOVERFLOW);
        assert_non_null(strstr(err.text, "17179869184 pages of 1073741824 bytes"));
        fe_err_init(&err);
        assert_int_equal(
            fe_store_create(&s, UINT64_C(1) << 33, UINT32_C(1) << 30, 4, payload, &err),
            -EOVERFLOW);
    }
    assert_null(s);
}

struct outside {
    struct fe_store *s;
    uint32_t off, len;
};

static void read_outside(void *ctx)
{
    struct outside *o = ctx;
    uint8_t buf[1024];
    fe_store_read(o->s, 0, o->off, o->len, buf);
}

static void write_outside(void *ctx)
{
    struct outside *o = ctx;
    uint8_t buf[1024] = {0};
    fe_store_write(o->s, 0, FE_PPN_NONE, o->off, o->len, buf);
}

static void test_store_range_outside_the_page_aborts(void **state)
{
    (void)state;
    struct fe_store *s = make(4, 512, 4, true);
    struct outside cases[] = {{s, 0, 513}, {s, 512, 1}, {s, 1, 512}, {s, UINT32_MAX, 2}};
    for (size_t i = 0; i < ft_array_len(cases); i++) {
        assert_true(ft_aborts(read_outside, &cases[i]));
        assert_true(ft_aborts(write_outside, &cases[i]));
    }
    fe_store_destroy(s);
}

/* What was put aside, and what it has to be. */
struct put_aside {
    struct fe_aside aside;
    uint8_t *want;
    bool used;
};

/* Puts the page aside, or gives it back what is aside, or forgets that. */
static void step_aside(struct ft_rand *r, struct fe_store *s, struct put_aside *a, fe_ppn p,
                       uint8_t *want, uint8_t *used, uint32_t page)
{
    if (!a->want) {
        a->want = malloc(page);
        assert_non_null(a->want);
        memcpy(a->want, want, page);
        a->used = *used;
        assert_int_equal(fe_store_put_aside(s, p, &a->aside), 0);
        assert_false(fe_store_is_written(s, p));
        memset(want, 0, page);
        *used = 0;
        return;
    }
    if (!*used && ft_chance(r, 70)) {
        fe_store_put_back(s, p, &a->aside);
        memcpy(want, a->want, page);
        *used = a->used;
    } else {
        fe_store_drop_aside(s, &a->aside);
    }
    free(a->want);
    a->want = NULL;
}

/* Bytes of `from`, or zeros for NULL. */
static void copy_bytes(uint8_t *to, const uint8_t *from, size_t n)
{
    if (from)
        memcpy(to, from, n);
    else
        memset(to, 0, n);
}

/* Every operation at random, in the order in which a medium may use them: a page is
 * written once between two discards of its block.  Copies, and copies of copies, share their bytes
 * in memory; whatever happens to one page, the others and what was put aside keep theirs. */
static void check_against_bytes(uint64_t seed, uint32_t page, uint32_t ppb, uint32_t blocks,
                                int steps)
{
    struct ft_rand r = {.seed = seed};
    struct fe_store *s = make(ppb * blocks, page, ppb, true);
    uint8_t *want = calloc((size_t)ppb * blocks, page), *buf = malloc(page);
    uint8_t *used = calloc(ppb, blocks);
    struct put_aside aside[5] = {{.want = NULL}};
    assert_true(want && buf && used);
    for (int i = 0; i < steps; i++) {
        fe_ppn p = (fe_ppn)ft_below(&r, ppb * blocks);
        uint32_t off = (uint32_t)ft_below(&r, page + 1),
                 len = (uint32_t)ft_below(&r, page - off + 1);
        fe_ppn base = ft_chance(&r, 50) ? (fe_ppn)ft_below(&r, ppb * blocks) : FE_PPN_NONE;
        if (ft_chance(&r, 30))
            off = len = 0; /* a plain copy, if there is a base */
        if (ft_chance(&r, 5)) {
            uint8_t *dst = want + (size_t)p * page;
            ft_fill(&r, buf, page);
            fe_store_overwrite(s, p, off, len, buf);
            memcpy(dst + off, buf, len);
            used[p] = 1;
        } else if (ft_chance(&r, 3)) {
            uint32_t n = (uint32_t)ft_below(&r, ppb * blocks - p) + 1;
            fe_store_forget(s, p, n);
            memset(want + (size_t)p * page, 0, (size_t)n * page);
            memset(used + p, 0, n);
        } else if (ft_chance(&r, 5)) {
            fe_store_discard(s, p / ppb);
            memset(want + (size_t)(p / ppb) * ppb * page, 0, (size_t)ppb * page);
            memset(used + (size_t)(p / ppb) * ppb, 0, ppb);
        } else if (ft_chance(&r, 10)) {
            step_aside(&r, s, &aside[ft_below(&r, 5)], p, want + (size_t)p * page, &used[p], page);
        } else if (!used[p] && base != p) {
            uint8_t *dst = want + (size_t)p * page;
            const uint8_t *data = ft_chance(&r, 80) ? buf : NULL;
            ft_fill(&r, buf, page);
            copy_bytes(dst, base == FE_PPN_NONE ? NULL : want + (size_t)base * page, page);
            copy_bytes(dst + off, data, len);
            fe_store_write(s, p, base, off, len, data);
            used[p] = 1;
        } else {
            fe_store_read(s, p, off, len, buf);
            assert_memory_equal(buf, want + (size_t)p * page + off, len);
        }
    }
    for (fe_ppn p = 0; p < ppb * blocks; p++) {
        fe_store_read(s, p, 0, page, buf);
        assert_memory_equal(buf, want + (size_t)p * page, page);
    }
    for (int i = 0; i < 5; i++) {
        fe_store_drop_aside(s, &aside[i].aside);
        free(aside[i].want);
    }
    fe_store_destroy(s);
    free(want);
    free(buf);
    free(used);
}

/* There are names for 65536 pages put aside, whatever the size of the chip, and dropped ones are
 * used again. */
static void test_store_puts_aside_as_much_as_it_has_names_for(void **state)
{
    (void)state;
    enum { MOST = 65536 };
    struct fe_store *s = make(4, 8, 4, true);
    struct fe_aside *aside = calloc(MOST, sizeof *aside), more;
    assert_non_null(aside);
    for (uint64_t i = 0; i < MOST; i++) {
        fe_store_write(s, 1, FE_PPN_NONE, 0, 8, &i);
        assert_int_equal(fe_store_put_aside(s, 1, &aside[i]), 0);
    }
    uint64_t last = 77, got;
    fe_store_write(s, 1, FE_PPN_NONE, 0, 8, &last);
    assert_int_equal(fe_store_put_aside(s, 1, &more), -ENOMEM);
    fe_store_read(s, 1, 0, 8, &got);
    assert_int_equal(got, last);
    fe_store_drop_aside(s, &aside[1000]);
    assert_int_equal(fe_store_put_aside(s, 1, &aside[1000]), 0);
    for (uint64_t i = 0; i < MOST; i++) {
        fe_store_put_back(s, 2, &aside[i]);
        fe_store_read(s, 2, 0, 8, &got);
        assert_int_equal(got, i == 1000 ? last : i);
        fe_store_forget(s, 2, 1);
    }
    free(aside);
    fe_store_destroy(s);
}

static void test_store_random_operations_equal_plain_bytes(void **state)
{
    (void)state;
    check_against_bytes(1, 512, 4, 8, 20000);
    check_against_bytes(2, 2048, 65, 5, 20000);
    check_against_bytes(3, 528, 7, 40, 20000); /* pages that straddle the host's */
    check_against_bytes(4, 16384, 130, 3, 5000);
    check_against_bytes(5, 1, 3, 9, 5000);
    check_against_bytes(6, 40001, 65, 8, 5000); /* more than a cache holds */
}

/* Pages of 1 MiB: the warm ring has room for 32 of them, and four blocks.  Which piece leaves the
 * ring while it is in use again depends on the order, so there are many. */
static void test_store_warm_ring_keeps_data_of_blocks_in_use(void **state)
{
    (void)state;
    enum { PAGE = 1 << 20, PPB = 8, BLOCKS = 12 };
    struct ft_rand r = {.seed = 9};
    struct fe_store *s = make(PPB * BLOCKS, PAGE, PPB, true);
    uint8_t tag[BLOCKS] = {0}, data[64], buf[64];
    for (int step = 0; step < 400; step++) {
        fe_peb peb = (fe_peb)ft_below(&r, BLOCKS);
        for (fe_ppn p = 0; p < PPB * BLOCKS; p++) {
            fe_store_read(s, p, 77, 64, buf);
            assert_all(buf, tag[p / PPB], 64);
        }
        if (tag[peb]) {
            fe_store_discard(s, peb);
            tag[peb] = 0;
            continue;
        }
        tag[peb] = (uint8_t)(1 + step % 255);
        memset(data, tag[peb], sizeof data);
        for (fe_ppn p = peb * PPB; p < (peb + 1) * PPB; p++)
            fe_store_write(s, p, FE_PPN_NONE, 77, 64, data);
    }
    fe_store_destroy(s);
}

/* KiB of private memory in this process; -1 where the host does not say. */
static long memory_kib(void)
{
    FILE *f = fopen("/proc/self/status", "r");
    char line[256];
    long kib = -1;
    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, "RssAnon: %ld", &kib) == 1)
            break;
    if (f)
        fclose(f);
    return kib;
}

static void test_store_discarded_memory_is_given_back_when_the_ring_is_full(void **state)
{
    (void)state;
    enum { PAGE = 1 << 20, PPB = 8, BLOCKS = 16 };
    long before = memory_kib();
    if (before < 0)
        skip();
    struct fe_store *s = make(PPB * BLOCKS, PAGE, PPB, true);
    uint8_t *page = malloc(PAGE);
    assert_non_null(page);
    memset(page, 1, PAGE);
    for (fe_peb peb = 0; peb < BLOCKS; peb++)
        for (fe_ppn p = 0; p < PPB; p++)
            fe_store_write(s, peb * PPB + p, FE_PPN_NONE, 0, PAGE, page);
    long full = memory_kib() - before;
    for (fe_peb peb = 0; peb < BLOCKS; peb++)
        fe_store_discard(s, peb);
    long left = memory_kib() - before;
    free(page);
    fe_store_destroy(s);
    if (full < 64 * 1024)
        skip(); /* the host counts it otherwise */
    assert_in_range(full, 128 * 1024, 140 * 1024);
    assert_in_range(left, 0, 36 * 1024); /* FE_STORE_WARM_BYTES and a little */
    assert_in_range(memory_kib() - before + 4096, 0, 8192);
}

static void test_store_copies_take_no_memory(void **state)
{
    (void)state;
    enum { PAGE = 64 << 10, PPB = 64, BLOCKS = 64, PAGES = PPB * BLOCKS };
    struct ft_rand r = {.seed = 5};
    struct fe_store *s = make(PAGES, PAGE, PPB, true);
    uint8_t *page = malloc(PAGE);
    assert_non_null(page);
    long before = memory_kib();
    for (fe_ppn p = 0; p < PPB; p++) { /* one block of 4 MiB */
        memset(page, (int)p + 1, PAGE);
        fe_store_write(s, p, FE_PPN_NONE, 0, PAGE, page);
    }
    long after_one = memory_kib() - before;
    fe_peb at = 0;
    for (int merge = 0; merge < 20000; merge++) { /* more than a million copies */
        fe_peb to = (at + 1 + (fe_peb)ft_below(&r, BLOCKS - 1)) % BLOCKS;
        for (fe_ppn p = 0; p < PPB; p++)
            fe_store_write(s, to * PPB + p, at * PPB + p, 0, 0, NULL);
        fe_store_discard(s, at);
        at = to;
    }
    long after_all = memory_kib() - before;
    for (fe_ppn p = 0; p < PPB; p++) {
        fe_store_read(s, at * PPB + p, 0, PAGE, page);
        assert_all(page, (uint8_t)(p + 1), PAGE);
    }
    free(page);
    fe_store_destroy(s);
    if (before < 0 || after_one < 4096)
        skip(); /* the host counts it otherwise */
    assert_in_range(after_all, after_one, after_one + 64); /* tables grow where they are touched */
}

/* A piece stands in the ring once.  The oldest one leaves a full ring and may come back later. */
static void test_warm_ring_goes_round(void **state)
{
    struct fe_warm w = {0};
    (void)state;
    assert_int_equal(fe_warm_init(&w, FE_STORE_WARM_BYTES / 3, 5, NULL), 0);
    for (uint32_t i = 0; i < 40; i++) {
        assert_int_equal(fe_warm_add(&w, i % 5), i < 3 ? FE_WARM_NONE : (i - 3) % 5);
        assert_int_equal(fe_warm_add(&w, i % 5), FE_WARM_NONE);
    }
    fe_warm_fini(&w);
    /* at least one piece, however large it is, and not more than there are */
    w = (struct fe_warm){0};
    assert_int_equal(fe_warm_init(&w, FE_STORE_WARM_BYTES * 2ull, 2, NULL), 0);
    assert_int_equal(fe_warm_add(&w, 1), FE_WARM_NONE);
    assert_int_equal(fe_warm_add(&w, 0), 1);
    fe_warm_fini(&w);
}

/* A page that was copied again and again is in many places at a time; in whatever order they are
 * forgotten, the others keep it, and the last one gives the memory back for the next page. */
static void test_store_copies_leave_in_any_order(void **state)
{
    (void)state;
    enum { PAGE = 512, PPB = 8, BLOCKS = 4, PAGES = PPB * BLOCKS };
    struct ft_rand r = {.seed = 3};
    struct fe_store *s = make(PAGES, PAGE, PPB, true);
    uint8_t data[PAGE], buf[PAGE];
    for (int round = 0; round < 300; round++) {
        fe_ppn order[PAGES];
        for (fe_ppn p = 0; p < PAGES; p++) {
            fe_ppn at = (fe_ppn)ft_below(&r, p + 1);
            order[p] = order[at];
            order[at] = p;
        }
        memset(data, round % 255 + 1, PAGE);
        fe_store_write(s, order[0], FE_PPN_NONE, 0, PAGE, data);
        for (fe_ppn p = 1; p < PAGES; p++)
            fe_store_write(s, order[p], order[ft_below(&r, p)], 0, 0, NULL);
        for (fe_ppn p = PAGES; p > 0; p--) {
            fe_ppn at = (fe_ppn)ft_below(&r, p), gone = order[at];
            fe_store_read(s, gone, 0, PAGE, buf);
            assert_all(buf, data[0], PAGE);
            fe_store_forget(s, gone, 1);
            order[at] = order[p - 1];
            assert_false(fe_store_is_written(s, gone));
        }
    }
    fe_store_destroy(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_store_never_written_reads_zeros),
        cmocka_unit_test(test_store_write_lays_data_over_base),
        cmocka_unit_test(test_store_without_base_the_rest_is_zeros),
        cmocka_unit_test(test_store_null_data_stands_for_zeros),
        cmocka_unit_test(test_store_discard_forgets_one_block),
        cmocka_unit_test(test_store_without_payload_keeps_nothing),
        cmocka_unit_test(test_store_frames_beyond_4_gib),
        cmocka_unit_test(test_store_too_large_is_eoverflow_with_the_numbers),
        cmocka_unit_test(test_store_range_outside_the_page_aborts),
        cmocka_unit_test(test_store_random_operations_equal_plain_bytes),
        cmocka_unit_test(test_store_puts_aside_as_much_as_it_has_names_for),
        cmocka_unit_test(test_store_warm_ring_keeps_data_of_blocks_in_use),
        cmocka_unit_test(test_store_discarded_memory_is_given_back_when_the_ring_is_full),
        cmocka_unit_test(test_store_copies_take_no_memory),
        cmocka_unit_test(test_warm_ring_goes_round),
        cmocka_unit_test(test_store_copies_leave_in_any_order),
    };
    return cmocka_run_group_tests_name("store", tests, NULL, NULL);
}
