/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a device in an image knows of itself when its server has been killed: power cuts, what
 * they have done to it, and the end of its life.
 */
#include "lib/unit.h"

#include "device/internal.h"
#include "flashemu/faults.h"
#include "flashemu/map.h"
#include "nand/undo.h"
#include "store/image_format.h"
#include "store/internal.h"
#include "store/io.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <unistd.h>

enum { PAGE = 2048 };

static char path[64];
static struct fe_profile profile;
static struct fe_store_file file = {.path = path};
static struct fe_device *dev;

/* The last server, if any, is killed, and the next one starts. */
static void plug_in(void)
{
    struct fe_device_options opt = {
        .seed = 1, .payload = true, .power_cuts = true, .file = &file};
    struct fe_err err = {""};
    fe_device_destroy(dev);
    dev = NULL;
    if (fe_device_create(&dev, &profile, &opt, &err) < 0)
        fail_msg("%s", err.text);
}

static int setup(void **state)
{
    (void)state;
    snprintf(path, sizeof path, "/tmp/fe-power-XXXXXX");
    int fd = mkstemp(path);
    if (fd < 0)
        return -1;
    close(fd);
    unlink(path);
    profile = (struct fe_profile){.name = "test"};
    profile.device = (struct fe_device_params){
        .capacity = 64 * PAGE, .sector_size = 512, .discard = true};
    profile.nand = (struct fe_nand_params){
        .cell = FE_CELL_SLC, .channels = 1, .dies_per_channel = 1, .planes_per_die = 1,
        .blocks_per_plane = 24, .pages_per_block = 8, .page_size = PAGE, .oob_size = 64,
        .tR_ns = {25000}, .tPROG_ns = {200000}, .tBERS_ns = 1500000, .bus_rate = 1000000000,
        .endurance = 1000};
    profile.ftl = (struct fe_ftl_params){
        .type = (uint32_t)fe_ftl_find("page"), .clean.gc_d = 10, .clean.gc_reserve = 2};
    profile.wear = (struct fe_wear_params){.codeword_size = 512, .slow_factor = 2};
    profile.link = (struct fe_link_params){.max_transfer = 8 * PAGE, .queue_depth = 2};
    dev = NULL;
    plug_in();
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    fe_device_destroy(dev);
    return unlink(path);
}

static enum fe_status submit(enum fe_req_type type, uint64_t page, int byte)
{
    uint8_t buf[PAGE];
    struct fe_request req = {.type = type, .offset = page * PAGE, .len = PAGE, .buf = buf};
    struct fe_reply reply;
    memset(buf, byte, sizeof buf);
    assert_int_equal(fe_device_submit(dev, fe_device_now(dev), &req, &reply), 0);
    return reply.status;
}

static void expect(uint64_t page, int byte)
{
    uint8_t buf[PAGE], want[PAGE];
    struct fe_request req = {.type = FE_REQ_READ, .offset = page * PAGE, .len = PAGE, .buf = buf};
    struct fe_reply reply;
    memset(want, byte, sizeof want);
    assert_int_equal(fe_device_submit(dev, fe_device_now(dev), &req, &reply), 0);
    assert_int_equal(reply.status, FE_OK);
    assert_memory_equal(buf, want, PAGE);
}

static void cut(void)
{
    assert_int_equal(fe_device_cut_power(dev, fe_device_now(dev), NULL), 0);
}

static int power_on(void)
{
    uint64_t ready;
    return fe_device_power_on(dev, fe_device_now(dev), &ready, NULL);
}

/* Two writes of the run before do not count, and one cut is all. */
static void test_power_image_counts_the_writes_of_a_run(void **state)
{
    (void)state;
    profile.power.cut_writes = 3;
    for (int run = 0; run < 2; run++) {
        plug_in();
        assert_int_equal(submit(FE_REQ_WRITE, 1, 5), FE_OK);
        assert_int_equal(submit(FE_REQ_WRITE, 2, 6), FE_OK);
    }
    assert_int_equal(submit(FE_REQ_WRITE, 3, 7), FE_OK);
    assert_int_equal(submit(FE_REQ_WRITE, 4, 8), FE_NO_POWER);
    assert_int_equal(power_on(), 0);
    for (uint64_t page = 4; page < 10; page++)
        assert_int_equal(submit(FE_REQ_WRITE, page, 9), FE_OK);
    assert_int_equal(fe_device_cuts(dev), 1);
}

static void test_power_image_plugging_in_is_power_on(void **state)
{
    (void)state;
    assert_int_equal(submit(FE_REQ_WRITE, 3, 8), FE_OK);
    cut();
    plug_in();
    assert_true(fe_device_has_power(dev));
    assert_int_equal(fe_device_cuts(dev), 1);
    expect(3, 8);
    cut();
    assert_int_equal(fe_device_cuts(dev), 2); /* other draws than the first */
    assert_int_equal(power_on(), 0);
    plug_in();
    assert_int_equal(fe_device_cuts(dev), 2);
    expect(3, 8);
}

static void test_power_image_what_a_cut_does_is_done_once(void **state)
{
    (void)state;
    profile.power.map_lost_ppm = 1000000;
    assert_int_equal(submit(FE_REQ_WRITE, 3, 8), FE_OK);
    plug_in(); /* no cut */
    expect(3, 8);
    cut();
    plug_in();
    expect(3, 0);
    assert_int_equal(submit(FE_REQ_WRITE, 3, 9), FE_OK);
    plug_in();
    expect(3, 9);

    profile.power = (struct fe_power_params){.stale_ppm = 1000000};
    assert_int_equal(submit(FE_REQ_WRITE, 3, 10), FE_OK);
    assert_int_equal(submit(FE_REQ_WRITE, 3, 11), FE_OK);
    cut();
    plug_in();
    expect(3, 10);
    plug_in();
    expect(3, 10);

    assert_int_equal(submit(FE_REQ_WRITE, 3, 12), FE_OK);
    cut();
    fe_chip_set_stale(&dev->medium->chip); /* killed in the middle of power-on */
    plug_in();
    expect(3, 12);
}

static void test_power_image_the_dead_stay_dead(void **state)
{
    (void)state;
    for (int at_start = 0; at_start < 2; at_start++) {
        profile.power.dead_ppm = 1000000;
        plug_in();
        assert_int_equal(submit(FE_REQ_WRITE, 3, 8), FE_OK);
        cut();
        if (at_start)
            plug_in();
        assert_int_equal(power_on(), -EIO);
        profile.power.dead_ppm = 0;
        plug_in();
        assert_false(fe_device_has_power(dev));
        assert_int_equal(power_on(), -EIO);
        assert_int_equal(submit(FE_REQ_READ, 3, 0), FE_NO_POWER);
        assert_int_equal(submit(FE_REQ_WRITE, 3, 0), FE_NO_POWER);
        fe_device_destroy(dev);
        dev = NULL;
        unlink(path);
        plug_in();
    }
}

static void test_power_image_the_end_of_life_stays(void **state)
{
    (void)state;
    static const enum fe_status answers[] = {FE_READ_ONLY, FE_NO_SPACE, FE_PROG_FAILED};
    for (uint32_t end = FE_EOL_READ_ONLY; end <= FE_EOL_DEAD; end++) {
        profile.wear.end_of_life = end;
        plug_in();
        for (uint64_t page = 0; page < 64; page++)
            assert_int_equal(submit(FE_REQ_WRITE, page, 8), FE_OK);
        assert_int_equal(fe_device_mark_bad(dev, 0, 5, NULL), 0);
        for (int i = 0; i < 3; i++) {
            assert_int_equal(submit(FE_REQ_WRITE, 3, 9), answers[end]);
            assert_int_equal(submit(FE_REQ_TRIM, 3, 9), answers[end]);
            if (end == FE_EOL_DEAD)
                assert_int_equal(submit(FE_REQ_READ, 3, 9), answers[end]);
            for (uint64_t page = 0; page < 64 && end != FE_EOL_DEAD; page++)
                expect(page, 8);
            if (i == 0)
                cut();
            if (i == 0)
                assert_int_equal(power_on(), 0);
            else
                plug_in();
        }
        fe_device_destroy(dev);
        dev = NULL;
        unlink(path);
        plug_in();
    }
}

/* A kill is no power cut; what a cut has forgotten stays so. */
static void test_power_image_trims(void **state)
{
    (void)state;
    for (int lost = 0; lost < 2; lost++) {
        profile.ftl.trim_lost = lost;
        fe_device_destroy(dev);
        dev = NULL;
        unlink(path);
        plug_in();
        for (uint64_t page = 3; page < 5; page++) {
            assert_int_equal(submit(FE_REQ_WRITE, page, 8), FE_OK);
            assert_int_equal(submit(FE_REQ_TRIM, page, 0), FE_OK);
        }
        plug_in();
        expect(3, 0);
        cut();
        assert_int_equal(power_on(), 0);
        expect(3, lost ? 8 : 0);
        plug_in();
        expect(3, lost ? 8 : 0);
        assert_int_equal(submit(FE_REQ_TRIM, 4, 0), FE_OK);
        plug_in();
        expect(3, lost ? 8 : 0);
        expect(4, 0);
        cut();
        plug_in();
        expect(4, lost ? 8 : 0);
    }
}

/* The page was trimmed between its copies: the older one comes back, and stays. */
static void test_power_image_stale_pages_that_were_trimmed(void **state)
{
    (void)state;
    profile.power.stale_ppm = 1000000;
    plug_in();
    assert_int_equal(submit(FE_REQ_WRITE, 3, 8), FE_OK);
    assert_int_equal(submit(FE_REQ_TRIM, 3, 0), FE_OK);
    assert_int_equal(submit(FE_REQ_WRITE, 3, 9), FE_OK);
    cut();
    assert_int_equal(power_on(), 0);
    expect(3, 8);
    plug_in();
    expect(3, 8);
}

static enum fe_cut_outcome torn(void *ctx, const struct fe_undo_op *op)
{
    (void)ctx;
    (void)op;
    return FE_CUT_TORN;
}

/* The same, when the newer copy goes with the MSB page that shares its cells. */
static void test_power_image_trims_before_a_page_that_its_partner_takes(void **state)
{
    (void)state;
    fe_device_destroy(dev);
    dev = NULL;
    unlink(path);
    profile.nand.cell = FE_CELL_MLC;
    profile.nand.tPROG_ns[1] = profile.nand.tPROG_ns[0];
    profile.power.partner_ppm = 1000000;
    plug_in();
    assert_int_equal(submit(FE_REQ_WRITE, 3, 8), FE_OK);
    assert_int_equal(submit(FE_REQ_TRIM, 3, 0), FE_OK);
    assert_int_equal(submit(FE_REQ_WRITE, 3, 9), FE_OK);
    uint32_t page = 2; /* of the block, to which these have gone in order */
    for (; fe_page_partner(&dev->medium->geo, page) != 1; page++)
        assert_int_equal(submit(FE_REQ_WRITE, 10 + page, 1), FE_OK);
    assert_int_equal(submit(FE_REQ_WRITE, 20, 1), FE_OK);
    const struct fe_cut how = {.choose = torn};
    dev->power.cut_ns = dev->last_arrival_ns + 100000;
    fe_power_cut(dev, &how);
    assert_int_equal(fe_medium_state(dev->medium, 1), FE_PAGE_TORN);
    assert_int_equal(power_on(), 0);
    expect(3, 8);
    plug_in();
    expect(3, 8);
}

/* What was only in a volatile cache is gone after a cut, in this run and in the next one.  After a
 * kill alone it is there. */
static void test_power_image_empties_a_volatile_cache(void **state)
{
    (void)state;
    for (int kind = 0; kind < 3; kind++) {
        fe_device_destroy(dev);
        dev = NULL;
        unlink(path);
        profile.cache = (struct fe_cache_params){.size = 4 * PAGE, .volatile_ = true};
        plug_in();
        assert_int_equal(submit(FE_REQ_WRITE, 3, 8), FE_OK);
        assert_int_equal(submit(FE_REQ_FLUSH, 0, 0), FE_OK);
        assert_int_equal(submit(FE_REQ_WRITE, 3, 9), FE_OK);
        if (kind > 0)
            cut();
        if (kind == 1)
            assert_int_equal(power_on(), 0);
        else
            plug_in();
        expect(3, kind > 0 ? 8 : 9);
        if (kind > 0) {
            plug_in();
            expect(3, 8);
        }
    }
}

/* Pages that enter the cache after a start are younger than those that an image had: whenever the
 * image is opened again, the oldest page leaves the cache first. */
static void test_power_image_cache_keeps_its_order(void **state)
{
    (void)state;
    fe_device_destroy(dev);
    dev = NULL;
    unlink(path);
    profile.cache = (struct fe_cache_params){.size = 3 * PAGE, .volatile_ = true};
    plug_in();
    for (int page = 0; page < 9; page++) {
        struct fe_stats before, after;
        fe_device_get_stats(dev, &before);
        assert_int_equal(submit(FE_REQ_WRITE, (uint64_t)page, 1 + page), FE_OK);
        fe_device_get_stats(dev, &after);
        assert_int_equal(after.nand.page_programs - before.nand.page_programs, page >= 3);
        plug_in();
    }
    for (int page = 0; page < 9; page++)
        expect((uint64_t)page, 1 + page);
    cut();
    assert_int_equal(power_on(), 0);
    for (int page = 0; page < 9; page++) /* the three youngest were only in the cache */
        expect((uint64_t)page, page < 6 ? 1 + page : 0);
}

enum { BLOCKS = 24 };

/* How often each block was erased, and what the statistics say about that. */
static uint64_t wear(struct fe_block_wear *ret, struct fe_stats *st)
{
    uint64_t sum = 0, min = UINT64_MAX, max = 0;
    assert_int_equal(fe_device_blocks(dev), BLOCKS);
    fe_device_get_blocks(dev, ret);
    fe_device_get_stats(dev, st);
    for (int i = 0; i < BLOCKS; i++) {
        sum += ret[i].cycles;
        min = ret[i].cycles < min ? ret[i].cycles : min;
        max = ret[i].cycles > max ? ret[i].cycles : max;
    }
    assert_int_equal(st->wear.min, min);
    assert_int_equal(st->wear.max, max);
    assert_true(fabs(st->wear.mean - (double)sum / BLOCKS) < 1e-9);
    return sum;
}

static void write_much(int byte)
{
    for (uint64_t i = 0; i < 400; i++)
        assert_int_equal(submit(FE_REQ_WRITE, i * i % 64, byte), FE_OK);
}

/* Each erase counts once, over kills, ends in order and power cuts; what a run has done for its
 * host counts from its own start. */
static void test_power_image_wear_and_statistics(void **state)
{
    (void)state;
    struct fe_block_wear before[BLOCKS], after[BLOCKS];
    struct fe_stats a, b;
    struct fe_err err = {""};
    uint64_t sum = 0;
    for (int round = 0; round < 6; round++) {
        write_much(round);
        uint64_t has = wear(before, &a);
        assert_int_equal(has, sum + a.nand.block_erases);
        assert_int_equal(a.host[FE_REQ_WRITE].ops, 400);
        assert_int_equal(a.power.cuts, (uint32_t)round / 3);
        if (round % 3 == 1)
            assert_int_equal(fe_device_close(dev, &err), 0);
        if (round % 3 == 2) {
            cut(); /* nothing is under way */
            assert_int_equal(fe_device_cuts(dev), (uint32_t)round / 3 + 1);
        }
        plug_in();
        sum = wear(after, &b);
        assert_int_equal(sum, has + b.nand.block_erases);
        assert_int_equal(b.host[FE_REQ_WRITE].ops, 0);
        assert_int_equal(b.host[FE_REQ_WRITE].bytes, 0);
        for (int i = 0; i < BLOCKS && b.nand.block_erases == 0; i++)
            assert_int_equal(after[i].cycles, before[i].cycles);
        for (uint64_t page = 0; page < 64; page++)
            if (page == 0 || page == 1 || page == 4)
                expect(page, round);
        fe_device_reset_stats(dev);
    }
}

/* A strategy without TRIM has none at the end of its life either, when another reader answers. */
static void test_power_image_end_of_life_of_a_strategy_without_trim(void **state)
{
    (void)state;
    static const char *const names[] = {"page", "block"};
    for (int without = 0; without < 2; without++) {
        struct fe_request trim = {.type = FE_REQ_TRIM, .len = PAGE};
        struct fe_reply reply;
        fe_device_destroy(dev);
        dev = NULL;
        unlink(path);
        profile.device.discard = !without;
        profile.ftl.type = (uint32_t)fe_ftl_find(names[without]);
        profile.ftl.unit = (struct fe_unit_params){.unit_size = 8 * PAGE, .copy_buffer = 1};
        plug_in();
        assert_int_equal(submit(FE_REQ_WRITE, 3, 8), FE_OK);
        for (int again = 0; again < 2; again++) {
            int r = fe_device_submit(dev, fe_device_now(dev), &trim, &reply);
            assert_int_equal(r, without ? -EINVAL : 0);
            if (!without)
                assert_int_equal(reply.status, again ? FE_READ_ONLY : FE_OK);
            if (!again)
                assert_int_equal(fe_device_mark_bad(dev, fe_device_now(dev), 7, NULL), 0);
            plug_in();
        }
        assert_int_equal(submit(FE_REQ_WRITE, 3, 9), FE_READ_ONLY);
        expect(3, 8);
    }
}

/* ---- what the disk knows of a cut ---- */

/* The image calls a program final only when no cut can take it back: each of these three may be,
 * until the next one arrives. */
static void test_power_image_knows_which_programs_are_final(void **state)
{
    (void)state;
    const struct fe_image *g = dev->medium->store->img;
    assert_int_equal(g->final_seq, UINT64_MAX);
    for (uint64_t page = 1; page <= 3; page++) {
        uint64_t before = fe_medium_last_seq(dev->medium);
        assert_int_equal(submit(FE_REQ_WRITE, page, 8), FE_OK);
        assert_int_equal(fe_medium_last_seq(dev->medium), before + 1);
        assert_int_equal(g->final_seq, before);
    }
}

/* The status that the last fdatasync has brought to the disk, and where the records of pages are. */
static struct fe_image_status on_disk;
static struct fe_image_layout at;
static uint32_t n_gone, n_gone_early; /* records of programs that were overwritten; early: while the
                                         disk did not have their numbers */

static int watch_fdatasync(void *ctx, int fd)
{
    (void)ctx;
    for (int i = 0; i < 2; i++) {
        struct fe_image_status st;
        assert_int_equal(pread(fd, &st, sizeof st, (off_t)FE_IMAGE_STATUS(i)), sizeof st);
        if (st.generation > on_disk.generation)
            on_disk = st;
    }
    return 0;
}

static ssize_t watch_pwrite(void *ctx, int fd, const void *buf, size_t len, off_t off)
{
    struct fe_image_oob old;
    (void)ctx;
    if (at.end && (uint64_t)off >= at.oob && (uint64_t)off < at.pages) {
        assert_int_equal(len, sizeof old);
        assert_int_equal(pread(fd, &old, sizeof old, off), sizeof old);
        n_gone += old.state == FE_STORE_PROGRAMMED;
        n_gone_early += old.state == FE_STORE_PROGRAMMED && old.seq > on_disk.synced_seq;
    }
    return pwrite(fd, buf, len, off);
}

/* Nothing is done to programs that a cut takes back before the status on the disk has their numbers.
 * When the cut is done, it says that no program can be taken back any more. */
static void test_power_image_status_tells_of_a_cut(void **state)
{
    static struct fe_io watch;
    uint8_t buf[8 * PAGE] = {1};
    struct fe_request req = {.type = FE_REQ_WRITE, .len = sizeof buf, .buf = buf};
    struct fe_reply reply;
    struct fe_image_header h;
    (void)state;
    watch = fe_io_host;
    watch.fdatasync = watch_fdatasync;
    watch.pwrite = watch_pwrite;
    file = (struct fe_store_file){.path = path, .sync = true, .io = &watch};
    plug_in();
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_int_equal(pread(fd, &h, sizeof h, 0), sizeof h);
    close(fd);
    assert_int_equal(fe_image_layout(&at, &h, NULL), 0);
    uint64_t now_ns = fe_device_now(dev);
    assert_int_equal(fe_device_submit(dev, now_ns, &req, &reply), 0);
    assert_in_range(on_disk.synced_seq, 0, 7);
    assert_int_equal(fe_device_cut_power(dev, now_ns + 500000, NULL), 0);
    assert_in_range(n_gone, 1, 8); /* of 200 us each: most of the 8 pages had not begun */
    assert_int_equal(n_gone_early, 0);
    assert_int_equal(on_disk.synced_seq, 8);
    assert_int_equal(on_disk.n_open_1, 1);
    at.end = 0;
    file = (struct fe_store_file){.path = path};
}

/* The number of a trim is given to no program after a start.  The disk hears that none is missing. */
static void test_power_image_status_tells_of_left_out_numbers(void **state)
{
    struct fe_image_status st[2];
    (void)state;
    file = (struct fe_store_file){.path = path, .sync = true};
    plug_in();
    assert_int_equal(submit(FE_REQ_WRITE, 3, 8), FE_OK); /* number 1 */
    assert_int_equal(submit(FE_REQ_TRIM, 3, 0), FE_OK);  /* number 2 */
    plug_in();
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    for (int i = 0; i < 2; i++)
        assert_int_equal(pread(fd, &st[i], sizeof st[i], (off_t)FE_IMAGE_STATUS(i)), sizeof st[i]);
    close(fd);
    assert_int_equal(st[st[1].generation > st[0].generation].synced_seq, 2);
    file = (struct fe_store_file){.path = path};
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(test_power_image_empties_a_volatile_cache),
        T(test_power_image_cache_keeps_its_order),
        T(test_power_image_counts_the_writes_of_a_run),
        T(test_power_image_plugging_in_is_power_on),
        T(test_power_image_what_a_cut_does_is_done_once),
        T(test_power_image_the_dead_stay_dead),
        T(test_power_image_the_end_of_life_stays),
        T(test_power_image_end_of_life_of_a_strategy_without_trim),
        T(test_power_image_trims),
        T(test_power_image_stale_pages_that_were_trimmed),
        T(test_power_image_trims_before_a_page_that_its_partner_takes),
        T(test_power_image_wear_and_statistics),
        T(test_power_image_knows_which_programs_are_final),
        T(test_power_image_status_tells_of_a_cut),
        T(test_power_image_status_tells_of_left_out_numbers),
    };
    return cmocka_run_group_tests_name("power_image", tests, NULL, NULL);
}
