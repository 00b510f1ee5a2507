/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a command costs besides its pages, with page and with segment: another part of the map, a
 * page that is written in part, the end of a long write, and what a read fetches besides.
 *
 * The chip: one die, pages of 512 bytes, units of 8 pages (one block each).
 */
#include "lib/layer.h"
#include "lib/unit.h"

enum { N = 8 }; /* pages of a unit */

/* Four pages of the map at a time; to change it takes a microsecond of some kind. */
static void setup_region(struct ft_layer *l, const char *strategy, uint64_t write_ns,
                         uint64_t read_ns)
{
    struct fe_nand_params nand = ft_nand(1, 24, N, 512);
    struct fe_ftl_params p = ft_params(strategy, &nand, 1);
    p.region.map_region = 4 * 512;
    p.region.map_switch_ns = write_ns;
    p.region.map_read_ns = read_ns;
    ft_layer_init(l, &nand, &p);
}

static void check_switches(const char *strategy)
{
    struct ft_layer l;
    setup_region(&l, strategy, 1000, 0);
    ft_layer_write_each(&l, 0, 1);
    assert_int_equal(ft_rig_count(&l.rig, FE_OP_BUSY), 1); /* the first part is fetched */
    ft_rig_clear(&l.rig);
    /* in order across regions, back by one inside a region, the same page again */
    ft_layer_write_each(&l, 1, 5);
    ft_layer_write_each(&l, 4, 1);
    ft_layer_write_each(&l, 4, 1);
    assert_int_equal(ft_rig_count(&l.rig, FE_OP_BUSY), 0);
    ft_layer_write_each(&l, 12, 1);
    ft_layer_write_each(&l, 13, 1);
    assert_int_equal(ft_rig_count(&l.rig, FE_OP_BUSY), 1);
    ft_layer_write_each(&l, 5, 1);
    assert_int_equal(ft_rig_count(&l.rig, FE_OP_BUSY), 2);
    ft_layer_end(&l);
}

static void check_read_switches(const char *strategy)
{
    static const fe_lpn pages[] = {0, 1, 3, 4, 4, 2, 12, 13, 5};
    static const uint32_t changes[] = {1, 1, 1, 1, 1, 2, 3, 3, 4};
    struct ft_layer l;
    setup_region(&l, strategy, 0, 1000);
    ft_layer_write_each(&l, 0, 2 * N);
    assert_int_equal(ft_rig_count(&l.rig, FE_OP_BUSY), 0); /* writes have their own */
    for (uint32_t i = 0; i < sizeof pages / sizeof *pages; i++) {
        if (l.ftl->ops->begin_command)
            l.ftl->ops->begin_command(l.ftl, false, pages[i] * 512, 512);
        l.ftl->ops->read(l.ftl, pages[i], 0, 512, NULL);
        assert_int_equal(ft_rig_count(&l.rig, FE_OP_BUSY), changes[i]);
    }
    ft_layer_end(&l);
}

static void test_changes_of_map_region_take_time(void **state)
{
    (void)state;
    check_switches("page");
    check_switches("segment");
    check_read_switches("page");
    check_read_switches("segment");
}

/* Whole pages, one or several, cost nothing; each part of a page costs once. */
static void check_parts(const char *strategy)
{
    struct fe_nand_params nand = ft_nand(1, 24, N, 512);
    struct fe_ftl_params p = ft_params(strategy, &nand, 1);
    struct ft_layer l;
    p.part.part_write_ns = 1000;
    ft_layer_init(&l, &nand, &p);
    ft_layer_write_each(&l, 0, 3);
    ft_layer_command(&l, 3, 2);
    assert_int_equal(ft_rig_count(&l.rig, FE_OP_BUSY), 0);
    ft_layer_write_part(&l, 5, 0, 256);
    assert_int_equal(ft_rig_count(&l.rig, FE_OP_BUSY), 1);
    ft_layer_write_part(&l, 5, 1, 511);
    assert_int_equal(ft_rig_count(&l.rig, FE_OP_BUSY), 2);
    l.ftl->ops->read(l.ftl, 5, 0, 256, NULL);
    assert_int_equal(ft_rig_count(&l.rig, FE_OP_BUSY), 2);
    ft_layer_end(&l);
}

static void test_parts_of_pages_take_time(void **state)
{
    (void)state;
    check_parts("page");
    check_parts("segment");
}

/* What the controller itself takes, of all operations since the list was cleared. */
static uint64_t busy_ns(struct ft_layer *l)
{
    uint32_t n;
    uint64_t sum = 0;
    const struct fe_op *ops = ft_rig_ops(&l->rig, &n);
    for (uint32_t i = 0; i < n; i++)
        sum += ops[i].kind == FE_OP_BUSY ? ops[i].cell_ns : 0;
    return sum;
}

/* 5120 ns for a page of 512 bytes are 10 for each byte that is left of it. */
static void check_rest_of_writes(const char *strategy)
{
    static const struct {
        uint32_t off, len;
        uint64_t part_ns, busy_ns;
    } writes[] = {
        {0, 512, 0, 0}, {0, 511, 0, 10}, {1, 511, 0, 10}, {0, 1, 0, 5110}, {128, 256, 0, 2560},
        {0, 512, 7000, 0}, {0, 384, 7000, 8280},
    };
    struct fe_nand_params nand = ft_nand(1, 24, N, 512);
    struct fe_ftl_params p = ft_params(strategy, &nand, 1);
    p.part.rest_write_ns = 5120;
    for (size_t i = 0; i < sizeof writes / sizeof *writes; i++) {
        struct ft_layer l;
        p.part.part_write_ns = writes[i].part_ns;
        ft_layer_init(&l, &nand, &p);
        ft_layer_write_part(&l, 0, writes[i].off, writes[i].len);
        assert_int_equal(busy_ns(&l), writes[i].busy_ns);
        ft_layer_end(&l);
    }
}

static void test_writes_take_the_rest_along(void **state)
{
    (void)state;
    check_rest_of_writes("page");
    check_rest_of_writes("segment");
}

/* A long write that does not end where it may costs once, as it begins; nothing else does. */
static void check_tails(const char *strategy)
{
    static const struct {
        bool write;
        uint64_t offset, len;
        uint32_t by_page, by_4_pages; /* how many tails */
    } commands[] = {
        {true, 0, 2560, 0, 1},        /* whole pages, more than four */
        {true, 256, 512 + 256, 0, 0}, /* begins inside a page, ends with one */
        {true, 256, 512, 0, 0},       /* as long as a page, but not longer */
        {true, 256, 513, 1, 0},
        {true, 512, 2048, 0, 0},      /* as long as four pages, but not longer */
        {true, 512, 2049, 1, 1},
        {true, 512, 3584, 0, 0},      /* ends with the eighth page */
        {false, 0, 513, 0, 0},        /* a read */
    };
    struct fe_nand_params nand = ft_nand(1, 24, N, 512);
    struct fe_ftl_params p = ft_params(strategy, &nand, 1);
    struct ft_layer l;
    p.part.tail_write_ns = 1000;
    for (p.part.tail_align = 0; p.part.tail_align <= 2048; p.part.tail_align += 2048) {
        uint32_t sum = 0;
        ft_layer_init(&l, &nand, &p);
        for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
            l.ftl->ops->begin_command(l.ftl, commands[i].write, commands[i].offset,
                                      commands[i].len);
            sum += p.part.tail_align ? commands[i].by_4_pages : commands[i].by_page;
            assert_int_equal(ft_rig_count(&l.rig, FE_OP_BUSY), sum);
        }
        ft_layer_end(&l);
    }
}

static void test_tails_of_long_writes_take_time(void **state)
{
    (void)state;
    check_tails("page");
    check_tails("segment");
}

/* ---- reads ---- */

struct read_case {
    uint64_t offset, len;
    uint64_t busy_ns; /* what it takes besides */
};

/* Reads in this order on one device.  After them writes take nothing besides. */
static void check_reads(const struct fe_ftl_params *p, const struct read_case *reads, size_t n)
{
    struct fe_nand_params nand = ft_nand(1, 24, N, 512);
    struct ft_layer l;
    ft_layer_init(&l, &nand, p);
    for (size_t i = 0; i < n; i++) {
        ft_rig_clear(&l.rig);
        l.ftl->ops->begin_command(l.ftl, false, reads[i].offset, reads[i].len);
        assert_int_equal(busy_ns(&l), reads[i].busy_ns);
        assert_string_equal(ft_layer_text(&l), reads[i].busy_ns ? "Y" : "-");
    }
    ft_rig_clear(&l.rig);
    l.ftl->ops->begin_command(l.ftl, true, 0, 100);
    assert_int_equal(ft_rig_count(&l.rig, FE_OP_BUSY), 0);
    ft_layer_end(&l);
}

/* 5120 ns for a page of 512 bytes are 10 for each byte that is left. */
static void check_rest(const char *strategy)
{
    static const struct read_case by_page[] = {
        {0, 1, 5110},        /* nearly all of the page is left */
        {1024, 512, 0},      /* nothing is */
        {1535, 1, 0},        /* the last byte of the same page */
        {512, 256, 2560},    {768, 256, 0}, /* goes on, ends with the page */
        {2048, 100, 4120},   {2148, 100, 0}, /* goes on in what has been fetched */
        {2248, 400, 4240},   /* goes on into the next page */
        {2648, 424, 0},      {3072, 1, 5110}, /* goes on, in a page that nobody has fetched */
        {3072, 1, 5110},     /* the same once more */
        {100, 2000, 4600},   /* several pages: of the last one 460 bytes are left */
    }, by_4_pages[] = {
        {0, 512, 3840},      {1536, 512, 0}, {512, 100, 3590}, {612, 1000, 0}, {2047, 2, 5117},
    };
    struct fe_nand_params nand = ft_nand(1, 24, N, 512);
    struct fe_ftl_params p = ft_params(strategy, &nand, 1);
    p.part.rest_read_ns = 5120;
    check_reads(&p, by_page, sizeof by_page / sizeof *by_page);
    p.part.rest_align = 2048;
    check_reads(&p, by_4_pages, sizeof by_4_pages / sizeof *by_4_pages);
}

static void test_reads_fetch_the_rest(void **state)
{
    (void)state;
    check_rest("page");
    check_rest("segment");
}

/* A unit, or a group of two, ends at 8 or 16 pages. */
static void test_segment_reads_up_to_the_end_of_a_unit(void **state)
{
    (void)state;
    static const struct read_case units[] = {
        {N * 512 - 1, 1, 700},     {0, N * 512, 700}, {0, N * 512 - 1, 0}, {N * 512 - 1, 2, 0},
        {7 * N * 512 + 5, N * 512 - 5, 700},
    }, groups[] = {
        {N * 512 - 1, 1, 0}, {2 * N * 512 - 1, 1, 700},
    };
    struct fe_nand_params nand = ft_nand(1, 24, N, 512);
    struct fe_ftl_params p = ft_params("segment", &nand, 1);
    p.segment.end_read_ns = 700;
    check_reads(&p, units, sizeof units / sizeof *units);
    p.segment.group_units = 2;
    check_reads(&p, groups, sizeof groups / sizeof *groups);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_changes_of_map_region_take_time),
        cmocka_unit_test(test_parts_of_pages_take_time),
        cmocka_unit_test(test_writes_take_the_rest_along),
        cmocka_unit_test(test_tails_of_long_writes_take_time),
        cmocka_unit_test(test_reads_fetch_the_rest),
        cmocka_unit_test(test_segment_reads_up_to_the_end_of_a_unit),
    };
    return cmocka_run_group_tests_name("command_times", tests, NULL, NULL);
}
