/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Units that are smaller than the AU which the host sees, and what else real cards do:
 * groups and their gathering, and small writes that join.  To the last page.
 *
 * The chip: one die, pages of 512 bytes, units of 8 pages (one block each).
 */
#include "ftl/units/scatter.h"
#include "lib/layer.h"
#include "lib/unit.h"

enum { N = 8 }; /* pages of a unit */

static struct fe_ftl_params params(void)
{
    struct fe_nand_params nand = ft_nand(1, 24, N, 512);
    struct fe_ftl_params p = ft_params("segment", &nand, 1);
    p.segment.open_linear = 4;
    p.segment.open_random = 0;
    return p;
}

/* Units [0, 8) written once. */
static void setup(struct ft_layer *l, const struct fe_ftl_params *p)
{
    struct fe_nand_params nand = ft_nand(1, 24, N, 512);
    ft_layer_init(l, &nand, p);
    ft_layer_write_each(l, 0, 8 * N);
    ft_layer_clear(l);
}

static void setup_groups(struct ft_layer *l, uint32_t units, uint32_t scattered, bool group_switch)
{
    struct fe_ftl_params p = params();
    p.segment.group_units = units;
    p.segment.scattered = scattered;
    p.segment.group_switch = group_switch;
    setup(l, &p);
}

/* Groups of two, of which two units may be scattered; they stay for eight units, and up to `hot`
 * commands count. */
static void setup_staying(struct ft_layer *l, uint32_t hot)
{
    struct fe_ftl_params p = params();
    p.segment.group_units = 2;
    p.segment.scattered = 2;
    p.segment.scattered_stay = 8;
    p.segment.scattered_hot = hot;
    setup(l, &p);
}

/* Commands of up to small_write bytes go to a small log, and join their unit. */
static void setup_joining(struct ft_layer *l, uint64_t small_write)
{
    struct fe_ftl_params p = params();
    p.segment.small_log = 1;
    p.segment.small_write = small_write;
    p.segment.small_join = true;
    setup(l, &p);
}

/* Whole rewrites of units 0 to n - 1, each closed by what follows it in its group. */
static void rewrite_units(struct ft_layer *l, uint32_t n)
{
    for (uint32_t unit = 0; unit < n; unit++)
        assert_int_equal(ft_layer_command(l, unit * N, N), FE_OK);
}

static void add_in_room(struct fe_scatter *s, fe_leb leb)
{
    fe_leb first;
    assert_true(fe_scatter_has_room(s, leb, &first));
    fe_scatter_add(s, leb);
}

/* There is no room for this unit before the group that begins with `first` is gathered. */
static void expect_no_room(const struct fe_scatter *s, fe_leb leb, fe_leb first)
{
    fe_leb got = FE_LEB_NONE;
    assert_false(fe_scatter_has_room(s, leb, &got));
    assert_int_equal(got, first);
}

static void scatter_init(struct fe_scatter *s, struct fe_scatter as)
{
    assert_int_equal(fe_scatter_init(s, &as, NULL), 0);
}

static void test_scatter_keeps_the_oldest_group_first(void **state)
{
    (void)state;
    struct fe_scatter s;
    scatter_init(&s, (struct fe_scatter){.group_units = 4, .max = 3});
    add_in_room(&s, 1);
    add_in_room(&s, 3);
    add_in_room(&s, 7);
    expect_no_room(&s, 5, 0);
    add_in_room(&s, 1); /* one that is in the list always has room, and is the newest now */
    add_in_room(&s, 3);
    assert_int_equal(s.n, 3);
    expect_no_room(&s, 5, 4);
    fe_scatter_gathered(&s, 0);
    assert_int_equal(s.n, 1);
    add_in_room(&s, 4);
    fe_scatter_gathered(&s, 0); /* its end is the next group's first unit */
    assert_int_equal(s.n, 2);
    fe_scatter_gathered(&s, 4);
    assert_int_equal(s.n, 0);
    fe_scatter_fini(&s);
}

static void test_scatter_forgets_a_group_replaced_in_one_go(void **state)
{
    (void)state;
    struct fe_scatter s;
    scatter_init(&s, (struct fe_scatter){.group_units = 3, .max = 9, .switching = true});
    add_in_room(&s, 1); /* an older copy of it moves to the end */
    for (fe_leb leb = 0; leb < 3; leb++)
        add_in_room(&s, leb);
    assert_int_equal(s.n, 0);
    add_in_room(&s, 3); /* another group in between */
    add_in_room(&s, 0);
    add_in_room(&s, 4);
    add_in_room(&s, 5);
    assert_int_equal(s.n, 4);
    add_in_room(&s, 2); /* not the first of its group */
    add_in_room(&s, 3);
    add_in_room(&s, 4);
    assert_int_equal(s.n, 5);
    add_in_room(&s, 5);
    assert_int_equal(s.n, 2);
    fe_scatter_fini(&s);
}

static void test_scatter_without_limit_keeps_no_list(void **state)
{
    (void)state;
    struct fe_scatter s;
    scatter_init(&s, (struct fe_scatter){.group_units = 4, .switching = true});
    for (fe_leb leb = 0; leb < 100; leb++)
        add_in_room(&s, leb);
    assert_int_equal(s.n, 0);
    fe_scatter_fini(&s);
}

/* Groups of four, with room for four units.  Group 4 finds none, so it goes on with one unit beyond
 * the limit and is gathered for its second; when the others have rested, one of them has to go. */
static void test_scatter_lets_groups_stay_that_were_written_lately(void **state)
{
    (void)state;
    struct fe_scatter s;
    scatter_init(&s, (struct fe_scatter){.group_units = 4, .max = 4, .stay = 3, .more = 2});
    add_in_room(&s, 0);
    add_in_room(&s, 4);
    add_in_room(&s, 1);
    add_in_room(&s, 5);
    add_in_room(&s, 8); /* units of group 0 were replaced two ticks ago: it stays */
    assert_int_equal(s.n, 5);
    add_in_room(&s, 0);
    add_in_room(&s, 4);
    expect_no_room(&s, 9, 8);
    fe_scatter_gathered(&s, 8);
    assert_int_equal(s.n, 4);
    add_in_room(&s, 9);
    add_in_room(&s, 12); /* the second one beyond the limit, and the last */
    assert_int_equal(s.n, 6);
    expect_no_room(&s, 10, 0); /* its last unit was three ticks ago */
    fe_scatter_gathered(&s, 0);
    expect_no_room(&s, 10, 8); /* group 4 was written later, and stays */
    fe_scatter_gathered(&s, 8);
    add_in_room(&s, 10);
    assert_int_equal(s.n, 4);
    fe_scatter_fini(&s);
}

static bool is_in_group_1(const void *ctx, fe_leb leb)
{
    (void)ctx;
    return leb >= 4 && leb < 8;
}

static bool is_never(const void *ctx, fe_leb leb)
{
    (void)ctx;
    (void)leb;
    return false;
}

static void written(struct fe_scatter *s, fe_leb leb, uint32_t times)
{
    while (times-- > 0)
        fe_scatter_written(s, leb);
}

/* Groups of four, with room for four units; up to three commands count.  Group 2 takes the place of
 * the group that had fewer of them, or of the older one when it has had three itself. */
static void test_scatter_lets_the_group_with_the_fewest_commands_go(void **state)
{
    (void)state;
    struct fe_scatter s;
    scatter_init(&s, (struct fe_scatter){.group_units = 4, .max = 4, .stay = 9, .more = 2,
                                         .hot = 3, .n_lebs = 32, .is_busy = is_never});
    written(&s, 0, 2);
    written(&s, 6, 2); /* any unit of it */
    for (fe_leb leb = 0; leb < 2; leb++) {
        add_in_room(&s, leb);
        add_in_room(&s, 4 + leb);
    }
    written(&s, 8, 1);
    add_in_room(&s, 8); /* one beyond the limit */
    expect_no_room(&s, 9, 8); /* one command: fewer than the others have */
    written(&s, 8, 1);
    expect_no_room(&s, 9, 8); /* as many */
    written(&s, 8, 1);
    expect_no_room(&s, 9, 0); /* more: that of the oldest */
    written(&s, 0, 9);
    expect_no_room(&s, 9, 4); /* group 1 has the fewest now */
    s.is_busy = is_in_group_1;
    expect_no_room(&s, 9, 0); /* not while it is half written; as many, but that is enough */
    s.is_busy = is_never;
    fe_scatter_gathered(&s, 4);
    add_in_room(&s, 9);
    written(&s, 4, 1);
    add_in_room(&s, 5);
    expect_no_room(&s, 6, 4); /* gathered, so it begins with one command */
    fe_scatter_fini(&s);
}

/* Three groups of two in turn, with room for two units.  The third stays outside: each of its
 * units after the first costs a gathering of its own group, and nobody else's. */
static void test_segment_gathers_the_group_that_finds_no_room(void **state)
{
    (void)state;
    struct ft_layer l;
    setup_staying(&l, 0);
    for (uint32_t unit = 0; unit < 3; unit++)
        assert_int_equal(ft_layer_command(&l, 2 * unit * N, N), FE_OK);
    ft_layer_expect(&l, (struct ft_cost){.programs = 3 * N}, "one unit of each group");
    assert_int_equal(ft_layer_command(&l, 5 * N, N), FE_OK);
    /* unit 4 is closed by a switch; then both units of its group are copied */
    ft_layer_expect(&l, (struct ft_cost){.reads = 2 * N, .programs = 3 * N, .erases = 3,
                                         .copied = 2 * N, .switches = 1, .fulls = 2},
                    "the second of the third group");
    assert_int_equal(ft_layer_command(&l, 0, N), FE_OK); /* the first group is scattered still */
    ft_layer_expect(&l, (struct ft_cost){.programs = N, .erases = 1, .switches = 1}, "the first");
    ft_layer_end(&l);
}

/* The same where commands count, and each group had more than enough of them: the third takes the
 * place of the oldest, or of the next one as long as the oldest is half written. */
static void test_segment_gathers_a_group_that_is_not_half_written(void **state)
{
    (void)state;
    struct ft_layer l;
    for (uint32_t first = N; first > 0; first -= N / 2) { /* pages of unit 0 */
        setup_staying(&l, 2);
        assert_int_equal(ft_layer_command(&l, 0, first), FE_OK);
        assert_int_equal(ft_layer_command(&l, 2 * N, N), FE_OK);
        ft_layer_clear(&l);
        assert_int_equal(ft_layer_command(&l, 4 * N, N), FE_OK);
        ft_layer_expect(&l, (struct ft_cost){.reads = 2 * N, .programs = 3 * N, .erases = 3,
                                             .copied = 2 * N, .fulls = 2}, "two units copied");
        if (first < N) {
            assert_int_equal(ft_layer_command(&l, first, N - first), FE_OK);
            ft_layer_expect(&l, (struct ft_cost){.programs = N - first}, "unit 0 goes on");
        } else { /* its group was gathered, and one command is not enough, whatever its length */
            assert_int_equal(ft_layer_command(&l, N, N), FE_OK);
            ft_layer_expect(&l, (struct ft_cost){.programs = N}, "unit 1 goes beyond the limit");
        }
        ft_layer_end(&l);
    }
}

/* A command of many pages counts once.  Group 0 has two commands, group 1 a long one, and group 2
 * four of them before its second unit: group 1 is gathered, and group 0 stays, although it is
 * older. */
static void test_segment_counts_a_long_command_once(void **state)
{
    (void)state;
    struct ft_layer l;
    setup_staying(&l, 4);
    for (uint32_t page = 0; page < N; page += N / 2)
        assert_int_equal(ft_layer_command(&l, page, N / 2), FE_OK);
    assert_int_equal(ft_layer_command(&l, 2 * N, N), FE_OK);
    for (uint32_t page = 0; page < N; page += N / 4)
        assert_int_equal(ft_layer_command(&l, 4 * N + page, N / 4), FE_OK);
    assert_int_equal(ft_layer_command(&l, 5 * N, N), FE_OK);
    ft_layer_clear(&l);
    rewrite_units(&l, 2);
    /* one erase fewer than if group 0 had been gathered before */
    ft_layer_expect(&l, (struct ft_cost){.reads = 2 * N, .programs = 4 * N, .erases = 3,
                                         .copied = 2 * N, .switches = 1, .fulls = 2},
                    "group 0 again");
    ft_layer_end(&l);
}

/* Groups of two; three units may be scattered.  The fourth gathers the first group: two
 * units copied, each with its erase. */
static void test_segment_gathers_the_oldest_group(void **state)
{
    (void)state;
    struct ft_layer l;
    setup_groups(&l, 2, 3, false);
    rewrite_units(&l, 3);
    /* units 0 and 2 are closed or full and in order: switch merges when they are left */
    ft_layer_expect(&l, (struct ft_cost){.programs = 3 * N, .erases = 1, .switches = 1},
                    "room for three");
    assert_int_equal(ft_layer_command(&l, 3 * N, N), FE_OK);
    ft_layer_expect(&l, (struct ft_cost){.reads = 2 * N, .programs = 3 * N, .erases = 4,
                                         .copied = 2 * N, .switches = 1, .fulls = 2},
                    "the fourth");
    assert_int_equal(l.ftl->counters.gc_runs, 1);
    ft_layer_end(&l);
}

static void test_segment_gathers_units_that_were_never_replaced(void **state)
{
    (void)state;
    struct ft_layer l;
    setup_groups(&l, 4, 1, false);
    ft_layer_write_each(&l, 0, N);
    ft_layer_clear(&l);
    assert_int_equal(ft_layer_write(&l, 4 * N), FE_OK);
    ft_layer_expect(&l, (struct ft_cost){.reads = 4 * N, .programs = 4 * N + 1, .erases = 5,
                                         .copied = 4 * N, .fulls = 4}, "four units for one");
    ft_layer_end(&l);
}

static void test_segment_group_replaced_in_one_go_costs_nothing(void **state)
{
    (void)state;
    struct ft_layer l;
    setup_groups(&l, 2, 2, true);
    for (int round = 0; round < 3; round++)
        rewrite_units(&l, 8);
    struct ft_cost cost = ft_layer_cost(&l);
    assert_int_equal(cost.programs, 3 * 8 * N);
    assert_int_equal(cost.copied, 0);
    ft_layer_end(&l);
}

/* A second unit of a group closes the first, though four may be open. */
static void test_segment_one_unit_of_a_group_is_open(void **state)
{
    (void)state;
    struct ft_layer l;
    setup_groups(&l, 2, 0, false);
    assert_int_equal(ft_layer_write(&l, 0), FE_OK);
    assert_int_equal(ft_layer_write(&l, 2 * N), FE_OK);
    ft_layer_expect(&l, (struct ft_cost){.programs = 2}, "two groups");
    assert_int_equal(ft_layer_write(&l, N), FE_OK);
    ft_layer_expect(&l, (struct ft_cost){.reads = N - 1, .programs = N, .erases = 1,
                                         .copied = N - 1, .partials = 1}, "its neighbour");
    ft_layer_end(&l);
}

/* Halves of pages in order: the first of each goes to the small log, the second takes
 * the whole page to the linear unit.  The log is never merged. */
static void test_segment_small_writes_in_order_join_their_unit(void **state)
{
    (void)state;
    struct ft_layer l;
    setup_joining(&l, 256);
    for (uint32_t half = 0; half < 2 * 2 * N; half++)
        assert_int_equal(ft_layer_write_part(&l, half / 2, half % 2 * 256, 256), FE_OK);
    /* a read for each half: of the old page, and of the half in the log; an erase for the
     * log unit that filled up twice but for the last page, one for unit 0 */
    ft_layer_expect(&l, (struct ft_cost){.reads = 4 * N, .programs = 4 * N, .erases = 1},
                    "two units in halves");
    ft_layer_end(&l);
}

static void test_segment_small_write_to_another_page_does_not_join(void **state)
{
    (void)state;
    struct ft_layer l;
    setup_joining(&l, 256);
    ft_layer_write_part(&l, 0, 0, 256);
    ft_layer_write_part(&l, 1, 256, 256); /* the end of a page that has no beginning */
    ft_layer_write_part(&l, 2, 0, 128);
    ft_layer_write_part(&l, 2, 128, 128); /* not the end */
    ft_layer_expect(&l, (struct ft_cost){.reads = 4, .programs = 4}, "all in the log");
    for (uint32_t i = 4; i < N; i++)
        ft_layer_write_part(&l, 3, 0, 128);
    ft_layer_clear(&l);
    ft_layer_write_part(&l, 3, 0, 128);
    ft_layer_expect(&l, (struct ft_cost){.reads = N + 1, .programs = N + 1, .erases = 2,
                                         .copied = N, .fulls = 1}, "so it is full");
    ft_layer_end(&l);
}

/* Whole pages of small commands go to the unit that waits for them, too, and on a unit that
 * is full of the last round the next one begins. */
static void test_segment_whole_small_pages_in_order_join(void **state)
{
    (void)state;
    struct ft_layer l;
    setup_joining(&l, 512);
    ft_layer_write_each(&l, 0, N);
    ft_layer_write_each(&l, 0, N);
    ft_layer_expect(&l, (struct ft_cost){.programs = 2 * N, .erases = 1, .switches = 1},
                    "two rounds of a unit");
    ft_layer_write_each(&l, N + 3, 1);
    ft_layer_write_each(&l, 2 * N + 3, 1);
    ft_layer_expect(&l, (struct ft_cost){.programs = 2}, "elsewhere: in the log");
    ft_layer_end(&l);
}

static void test_segment_reads_on_into_another_group(void **state)
{
    (void)state;
    struct fe_ftl_params p = params();
    struct ft_layer l;
    p.segment.group_units = 2;
    p.segment.unit_read_ns = 5000;
    setup(&l, &p);
    l.ftl->ops->begin_command(l.ftl, false, 0, 3 * N * 512);
    for (fe_lpn lpn = N - 1; lpn < 2 * N + 1; lpn++)
        l.ftl->ops->read(l.ftl, lpn, 0, 512, NULL);
    assert_string_equal(ft_layer_text(&l), "RRRRRRRRRYR");
    ft_layer_end(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scatter_keeps_the_oldest_group_first),
        cmocka_unit_test(test_scatter_forgets_a_group_replaced_in_one_go),
        cmocka_unit_test(test_scatter_without_limit_keeps_no_list),
        cmocka_unit_test(test_scatter_lets_groups_stay_that_were_written_lately),
        cmocka_unit_test(test_scatter_lets_the_group_with_the_fewest_commands_go),
        cmocka_unit_test(test_segment_gathers_the_group_that_finds_no_room),
        cmocka_unit_test(test_segment_gathers_a_group_that_is_not_half_written),
        cmocka_unit_test(test_segment_counts_a_long_command_once),
        cmocka_unit_test(test_segment_gathers_the_oldest_group),
        cmocka_unit_test(test_segment_gathers_units_that_were_never_replaced),
        cmocka_unit_test(test_segment_group_replaced_in_one_go_costs_nothing),
        cmocka_unit_test(test_segment_one_unit_of_a_group_is_open),
        cmocka_unit_test(test_segment_small_writes_in_order_join_their_unit),
        cmocka_unit_test(test_segment_small_write_to_another_page_does_not_join),
        cmocka_unit_test(test_segment_whole_small_pages_in_order_join),
        cmocka_unit_test(test_segment_reads_on_into_another_group),
    };
    return cmocka_run_group_tests_name("segment_groups", tests, NULL, NULL);
}
