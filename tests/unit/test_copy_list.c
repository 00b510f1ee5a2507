/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Copies that are gathered against copies that are made at once, and reads of a store that come
 * later than what happens to their pages.
 */
#include "lib/rand.h"
#include "lib/unit.h"

#include "store/copy_list.h"
#include "store/store.h"

enum { MOST = 700, MAX_PAGE = 5000 };

/* Which page of the source comes next. */
enum order { IN_ORDER, ANYWHERE, RUNS, N_ORDERS };

struct pages {
    struct ft_rand r;
    enum order order;
    uint32_t page;
    bool gaps; /* the targets do not all lie together */
    uint8_t *from, *to, *want;
};

static size_t next_page(struct pages *p, size_t last)
{
    bool goes_on = p->order == IN_ORDER || (p->order == RUNS && ft_chance(&p->r, 80));
    return goes_on && last + 1 < MOST ? last + 1 : ft_below(&p->r, MOST);
}

/* MOST pieces of whole pages and of parts, more than the list holds; what lies between the targets
 * stays. */
static void gather_pages(struct pages *p, size_t room)
{
    struct fe_copy_list g = {.n = 0};
    size_t at = ft_below(&p->r, 64), last = MOST;
    for (int i = 0; i < MOST; i++) {
        uint32_t off = 0, len = p->page;
        last = next_page(p, last);
        if (ft_chance(&p->r, 10)) {
            off = (uint32_t)ft_below(&p->r, p->page);
            len = (uint32_t)ft_below(&p->r, p->page - off) + 1;
        }
        if (p->gaps && ft_chance(&p->r, 20))
            at += ft_below(&p->r, 64);
        assert_true(at + len <= room);
        const uint8_t *from = p->from + last * p->page + off;
        fe_copy_list_add(&g, p->to + at, from, len);
        memcpy(p->want + at, from, len);
        at += len;
    }
    fe_copy_list_settle(&g);
    assert_memory_equal(p->to, p->want, room);
    memset(p->to, 1, room);
    fe_copy_list_settle(&g); /* the list is empty */
    fe_copy_list_add(&g, p->to + 3, p->from, 0);
    fe_copy_list_settle(&g);
    for (size_t i = 0; i < room; i++)
        assert_int_equal(p->to[i], 1);
}

static void test_gather_equals_plain_copies(void **state)
{
    (void)state;
    static const uint32_t sizes[] = {1, 64, 512, 528, 2048, MAX_PAGE};
    size_t most = (size_t)MOST * (MAX_PAGE + 64);
    struct pages p = {.from = malloc(most), .to = malloc(most), .want = malloc(most)};
    assert_true(p.from && p.to && p.want);
    for (uint64_t seed = 0; seed < 120; seed++) {
        p.r = (struct ft_rand){.seed = seed};
        p.page = sizes[seed % ft_array_len(sizes)];
        p.order = (enum order)ft_below(&p.r, N_ORDERS);
        p.gaps = ft_chance(&p.r, 50);
        size_t room = (size_t)MOST * (p.page + 64) + 64;
        room = room < most ? room : most;
        ft_fill(&p.r, p.from, (size_t)MOST * p.page);
        memset(p.to, 0xaa, room);
        memset(p.want, 0xaa, room);
        gather_pages(&p, room);
    }
    free(p.from);
    free(p.to);
    free(p.want);
}

/* Pieces are joined if source and target go on, and only then. */
static void test_gather_joins_what_lies_together(void **state)
{
    (void)state;
    uint8_t from[64], to[64];
    struct fe_copy_list g = {.n = 0};
    for (int i = 0; i < 64; i++)
        from[i] = (uint8_t)(i + 1);
    memset(to, 0, sizeof to);
    for (int i = 0; i < 8; i++)
        fe_copy_list_add(&g, to + i, from + i, 1);
    assert_int_equal(g.n, 1);
    fe_copy_list_add(&g, to + 9, from + 8, 2); /* the target does not go on */
    assert_int_equal(g.n, 2);
    fe_copy_list_add(&g, to + 11, from + 20, 2); /* the source does not */
    assert_int_equal(g.n, 3);
    fe_copy_list_add(&g, to + 8, from + 30, 1); /* the target goes on behind another piece */
    assert_int_equal(g.n, 4);
    fe_copy_list_settle(&g);
    assert_int_equal(g.n, 0);
    static const uint8_t want[] = {1, 2, 3, 4, 5, 6, 7, 8, 31, 9, 10, 21, 22, 0, 0};
    assert_memory_equal(to, want, sizeof want);
}

static struct fe_store *make(uint64_t n_pages, uint32_t page_bytes, bool payload)
{
    struct fe_err err;
    struct fe_store *s = NULL;
    fe_err_init(&err);
    if (fe_store_create(&s, n_pages, page_bytes, 4, payload, &err) < 0)
        fail_msg("%s", err.text);
    return s;
}

/* What has no bytes in memory is there at once. */
static void test_read_later_without_bytes_is_a_read(void **state)
{
    (void)state;
    for (int payload = 0; payload < 2; payload++) {
        struct fe_store *s = make(8, 512, payload);
        uint8_t buf[512], zeros[512] = {0};
        memset(buf, 7, sizeof buf);
        assert_int_equal(fe_store_read_later(s, 3, 0, 512, buf), 0);
        assert_memory_equal(buf, zeros, 512);
        assert_int_equal(fe_store_read_later(s, 3, 0, 512, NULL), 0);
        fe_store_write(s, 3, FE_PPN_NONE, 0, 512, buf);
        assert_int_equal(fe_store_read_later(s, 3, 0, 512, NULL), 0);
        fe_store_settle(s);
        fe_store_settle(s);
        fe_store_destroy(s);
    }
}

enum { PAGE = 528, PAGES = 12, READS = 300, ASIDE = 3 };

struct model {
    struct ft_rand r;
    struct fe_store *s;
    uint8_t pages[PAGES][PAGE];
    bool used[PAGES];
    struct fe_aside aside[ASIDE];
    uint8_t aside_bytes[ASIDE][PAGE];
    bool aside_used[ASIDE], is_aside[ASIDE];
    int n_reads;
    uint8_t got[READS * PAGE], want[READS * PAGE]; /* of the reads since the last settle */
};

static void settle(struct model *m)
{
    fe_store_settle(m->s);
    assert_memory_equal(m->got, m->want, sizeof m->got);
    m->n_reads = 0;
}

static void read_later(struct model *m, fe_ppn p)
{
    uint32_t off = ft_chance(&m->r, 70) ? 0 : (uint32_t)ft_below(&m->r, PAGE);
    uint32_t len = off ? (uint32_t)ft_below(&m->r, PAGE - off) + 1 : PAGE;
    size_t at = (size_t)m->n_reads++ * PAGE;
    assert_int_equal(fe_store_read_later(m->s, p, off, len, m->got + at), 0);
    memcpy(m->want + at, m->pages[p] + off, len);
    if (m->n_reads == READS)
        settle(m);
}

static void forget(struct model *m, fe_ppn p, uint32_t n)
{
    memset(m->pages[p], 0, (size_t)n * PAGE);
    memset(m->used + p, 0, n);
}

static void step_aside(struct model *m, int i, fe_ppn p)
{
    if (!m->is_aside[i]) {
        memcpy(m->aside_bytes[i], m->pages[p], PAGE);
        m->aside_used[i] = m->used[p];
        assert_int_equal(fe_store_put_aside(m->s, p, &m->aside[i]), 0);
        forget(m, p, 1);
    } else if (!m->used[p] && ft_chance(&m->r, 50)) {
        fe_store_put_back(m->s, p, &m->aside[i]);
        memcpy(m->pages[p], m->aside_bytes[i], PAGE);
        m->used[p] = m->aside_used[i];
    } else {
        fe_store_drop_aside(m->s, &m->aside[i]);
    }
    m->is_aside[i] = !m->is_aside[i];
}

static void change(struct model *m, fe_ppn p)
{
    uint8_t data[PAGE];
    uint32_t off = (uint32_t)ft_below(&m->r, PAGE), len = (uint32_t)ft_below(&m->r, PAGE - off) + 1;
    fe_ppn base = ft_chance(&m->r, 50) ? (fe_ppn)ft_below(&m->r, PAGES) : FE_PPN_NONE;
    ft_fill(&m->r, data, PAGE);
    if (ft_chance(&m->r, 20)) {
        step_aside(m, (int)ft_below(&m->r, ASIDE), p);
    } else if (!m->used[p] && base != p) {
        len = ft_chance(&m->r, 30) ? 0 : len; /* a copy */
        fe_store_write(m->s, p, base, off, len, data);
        if (base != FE_PPN_NONE)
            memcpy(m->pages[p], m->pages[base], PAGE);
        memcpy(m->pages[p] + off, data, len);
        m->used[p] = true;
    } else if (ft_chance(&m->r, 40)) {
        fe_store_overwrite(m->s, p, off, len, data);
        memcpy(m->pages[p] + off, data, len);
        m->used[p] = true;
    } else if (ft_chance(&m->r, 30)) {
        fe_store_discard(m->s, p / 4);
        forget(m, p / 4 * 4, 4);
    } else {
        fe_store_forget(m->s, p, 1);
        forget(m, p, 1);
    }
}

/* Whatever happens to a page between the read and the settling, the read brings what the page held
 * when it was read. */
static void test_read_later_gives_what_the_page_held(void **state)
{
    (void)state;
    struct model *m = calloc(1, sizeof *m);
    assert_non_null(m);
    for (uint64_t seed = 0; seed < 30; seed++) {
        memset(m, 0, sizeof *m);
        m->r.seed = seed;
        m->s = make(PAGES, PAGE, true);
        unsigned changes = (unsigned)ft_between(&m->r, 1, 60);
        for (int i = 0; i < 3000; i++) {
            fe_ppn p = (fe_ppn)ft_below(&m->r, PAGES);
            if (ft_chance(&m->r, changes))
                change(m, p);
            else if (ft_chance(&m->r, 2))
                settle(m);
            else
                read_later(m, p);
        }
        settle(m);
        for (int i = 0; i < ASIDE; i++)
            fe_store_drop_aside(m->s, &m->aside[i]);
        fe_store_destroy(m->s);
    }
    free(m);
}

/* Memory that goes back to the host reads as zeros from then on. */
static void test_read_later_comes_before_memory_is_given_back(void **state)
{
    (void)state;
    enum { LARGE = 1 << 20, N = 48, PART = 512 };
    struct fe_store *s = make(N, LARGE, true);
    uint8_t data[PART], buf[N][PART];
    for (fe_ppn p = 0; p < N; p++) {
        memset(data, (int)p + 1, PART);
        fe_store_write(s, p, FE_PPN_NONE, LARGE / 2, PART, data);
        assert_int_equal(fe_store_read_later(s, p, LARGE / 2, PART, buf[p]), 0);
    }
    fe_store_forget(s, 0, N);
    fe_store_settle(s);
    for (fe_ppn p = 0; p < N; p++)
        for (int i = 0; i < PART; i++)
            assert_int_equal(buf[p][i], p + 1);
    fe_store_destroy(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gather_equals_plain_copies),
        cmocka_unit_test(test_gather_joins_what_lies_together),
        cmocka_unit_test(test_read_later_without_bytes_is_a_read),
        cmocka_unit_test(test_read_later_gives_what_the_page_held),
        cmocka_unit_test(test_read_later_comes_before_memory_is_given_back),
    };
    return cmocka_run_group_tests_name("gather", tests, NULL, NULL);
}
