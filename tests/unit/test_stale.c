/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a store in memory keeps of pages that the host has overwritten or trimmed, while power can
 * be cut.
 */
#include "lib/device.h"
#include "lib/rand.h"
#include "lib/unit.h"

#include "device/internal.h"
#include "ftl/pages/dftl_core.h"
#include "store/frames.h"
#include "store/internal.h"

enum { PAGE = 512, PAGES = 512, BLOCKS = 200, PER_BLOCK = 8 }; /* dftl has a table of 4 pages */

static int by_address(const void *a, const void *b)
{
    const uint8_t *x = *(const uint8_t *const *)a, *y = *(const uint8_t *const *)b;
    return x < y ? -1 : x > y;
}

/* Pages of memory that pages of the chip name. */
static uint32_t frames_used(const struct fe_device *dev)
{
    static const uint8_t *at[BLOCKS * PER_BLOCK];
    uint32_t n = 0, n_different = 0;
    assert_int_equal(dev->medium->geo.n_ppns, BLOCKS * PER_BLOCK);
    for (fe_ppn ppn = 0; ppn < dev->medium->geo.n_ppns; ppn++) {
        const uint8_t *bytes = fe_frames_at(dev->store->frames, ppn);
        if (bytes)
            at[n++] = bytes;
    }
    qsort(at, n, sizeof *at, by_address);
    for (uint32_t i = 0; i < n; i++)
        n_different += i == 0 || at[i] != at[i - 1];
    return n_different;
}

/* Pages that the strategy keeps for itself: of dftl's table, and the beginning of each block of
 * norlog. */
static uint32_t pages_of_its_own(const struct fe_device *dev)
{
    uint32_t n = 0;
    if (dev->ftl->ops == &fe_ftl_dftl) {
        const struct dftl *f = (const struct dftl *)dev->ftl;
        for (uint32_t tp = 0; tp < f->n_tps; tp++)
            n += f->directory[tp] != FE_PPN_NONE;
    } else if (dev->ftl->ops == &fe_ftl_norlog) {
        for (fe_peb peb = 0; peb < dev->medium->geo.n_pebs; peb++)
            n += fe_medium_next_page(dev->medium, peb) > 0;
    }
    return n;
}

static struct fe_profile make_profile(const char *strategy)
{
    struct fe_profile p = ft_device_profile(strategy);
    p.device.discard = true;
    p.device.capacity = PAGES * PAGE;
    p.nand.page_size = PAGE;
    p.nand.blocks_per_plane = BLOCKS; /* most of which never hold anything that counts */
    if (strcmp(strategy, "norlog") == 0)
        p.nand.cell = FE_CELL_NOR;
    if (strcmp(strategy, "dftl") == 0)
        p.ftl.dftl.map_cache = PAGE;
    return p;
}

static const char *const strategies[] = {"page", "dftl", "norlog"};

struct load {
    struct ft_rand r;
    struct fe_device *dev;
    uint64_t now_ns;
    bool mapped[PAGES];
    uint8_t byte[PAGES];
};

static uint32_t n_mapped(const struct load *l)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < PAGES; i++)
        n += l->mapped[i];
    return n;
}

static void step(struct load *l)
{
    static uint8_t buf[PAGE];
    uint64_t page = ft_below(&l->r, PAGES);
    bool trim = ft_chance(&l->r, 10);
    l->byte[page] = (uint8_t)ft_between(&l->r, 1, 255);
    memset(buf, l->byte[page], sizeof buf);
    struct fe_reply reply = ft_device_submit(l->dev, trim ? FE_REQ_TRIM : FE_REQ_WRITE, l->now_ns,
                                             page * PAGE, PAGE, trim ? NULL : buf, false);
    l->mapped[page] = !trim;
    if (trim)
        l->byte[page] = 0;
    l->now_ns = ft_chance(&l->r, 50) ? reply.complete_ns : l->now_ns;
}

static void all_is_there(struct load *l)
{
    static uint8_t buf[PAGE];
    for (uint64_t page = 0; page < PAGES; page++) {
        ft_device_submit(l->dev, FE_REQ_READ, l->now_ns, page * PAGE, PAGE, buf, false);
        assert_int_equal(buf[0], l->byte[page]);
        assert_int_equal(buf[PAGE - 1], l->byte[page]);
    }
}

/* Everything that is under way ends, and the device hears of it. */
static void come_to_rest(struct load *l)
{
    static uint8_t buf[PAGE];
    l->now_ns += 1000000000;
    ft_device_submit(l->dev, FE_REQ_READ, l->now_ns, 0, PAGE, buf, false);
}

/* While programs are under way, the copies that they replace are kept as well. */
static void test_stale_memory_holds_what_is_mapped(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 24; i++) {
        struct fe_profile p = make_profile(strategies[i % 3]);
        struct load l = {.r = {.seed = i}, .dev = ft_device_make(&p, true)};
        for (uint32_t n = 0; n < 100; n++) {
            for (uint32_t k = ft_below(&l.r, 100); k > 0; k--)
                step(&l);
            uint32_t most = n_mapped(&l) + pages_of_its_own(l.dev) + l.dev->medium->undo->n;
            assert_true(frames_used(l.dev) <= most);
        }
        come_to_rest(&l);
        assert_int_equal(l.dev->medium->undo->n, 0);
        if (i % 3 == 0)
            assert_int_equal(frames_used(l.dev), n_mapped(&l));
        all_is_there(&l);
        ft_device_submit(l.dev, FE_REQ_TRIM, l.now_ns, 0, PAGES * PAGE, NULL, false);
        come_to_rest(&l);
        if (i % 3 < 2) /* not norlog, whose blocks have beginnings */
            assert_int_equal(frames_used(l.dev), 0);
        fe_device_destroy(l.dev);
    }
}

/* After a cut each page is its newest copy, whose bytes are there.  tests/property/test_stale_twins.c
 * cuts while programs are under way. */
static void test_stale_cuts_find_all_bytes(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 24; i++) {
        struct fe_profile p = make_profile(strategies[i % 3]);
        struct load l = {.r = {.seed = i}, .dev = ft_device_make(&p, true)};
        for (uint32_t cut = 0; cut < 20; cut++) {
            for (uint32_t n = ft_below(&l.r, 100); n > 0; n--)
                step(&l);
            come_to_rest(&l);
            assert_int_equal(fe_device_cut_power(l.dev, l.now_ns, NULL), 0);
            assert_int_equal(fe_device_power_on(l.dev, l.now_ns, &l.now_ns, NULL), 0);
            all_is_there(&l);
        }
        fe_device_destroy(l.dev);
    }
}

static void write_twice_and_rest(struct load *l)
{
    static uint8_t buf[PAGE];
    memset(buf, 7, sizeof buf);
    for (int i = 0; i < 2; i++)
        for (uint64_t page = 0; page < 10; page++)
            l->now_ns = ft_device_submit(l->dev, FE_REQ_WRITE, l->now_ns, page * PAGE, PAGE, buf,
                                         false).complete_ns;
    come_to_rest(l);
}

static void test_stale_pages_stay_where_a_cut_brings_them_back(void **state)
{
    static const struct fe_power_params none, partner = {.partner_ppm = 1}, stale = {.stale_ppm = 1},
                                        map_lost = {.map_lost_ppm = 1};
    static const struct {
        const struct fe_power_params *power;
        bool trim_lost;
        uint32_t frames;
    } cases[] = {
        {&none, false, 10}, {&partner, false, 20}, {&stale, false, 20}, {&map_lost, false, 20},
        {&none, true, 20}};
    (void)state;
    for (uint32_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct fe_profile p = make_profile("page");
        p.power = *cases[i].power;
        p.ftl.trim_lost = cases[i].trim_lost;
        struct load l = {.dev = ft_device_make(&p, true)};
        write_twice_and_rest(&l);
        assert_int_equal(frames_used(l.dev), cases[i].frames);
        ft_device_submit(l.dev, FE_REQ_TRIM, l.now_ns, 0, 10 * PAGE, NULL, false);
        assert_int_equal(frames_used(l.dev), cases[i].frames == 10 ? 0 : 20);
        fe_device_destroy(l.dev);
    }
}

/* Where power is never cut, nobody waits for anything, whatever the profile says of cuts. */
static void test_stale_pages_go_at_once_without_cuts(void **state)
{
    struct fe_profile p = make_profile("page");
    (void)state;
    p.power.stale_ppm = 1;
    p.ftl.trim_lost = true;
    struct load l = {.dev = ft_device_make(&p, false)};
    write_twice_and_rest(&l);
    assert_int_equal(frames_used(l.dev), 10);
    fe_device_destroy(l.dev);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stale_memory_holds_what_is_mapped),
        cmocka_unit_test(test_stale_cuts_find_all_bytes),
        cmocka_unit_test(test_stale_pages_stay_where_a_cut_brings_them_back),
        cmocka_unit_test(test_stale_pages_go_at_once_without_cuts),
    };
    return cmocka_run_group_tests_name("stale", tests, NULL, NULL);
}
