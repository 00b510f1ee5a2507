/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the segment strategy costs in hand-made cases, to the last page.
 *
 * The chip: one die, pages of 512 bytes, allocation units of 8 pages (one block each).
 * Two linear units can be open and one random; a linear unit may skip two pages.  Cost:
 * { reads, programs, erases, copied, switch, partial, full }.
 */
#include "lib/layer.h"
#include "lib/unit.h"

#include "ftl/units/segment_core.h"

#include <errno.h>

enum { N = 8 }; /* pages of a unit */

static void setup(struct ft_layer *l, bool switch_merge, uint32_t open_random)
{
    struct fe_nand_params nand = ft_nand(1, 14, N, 512);
    struct fe_ftl_params p = ft_params("segment", &nand, 1);
    p.unit.gap_fill = 2;
    p.unit.switch_merge = switch_merge;
    p.segment.open_random = open_random;
    ft_layer_init(l, &nand, &p);
}

/* Writes units [0, n) once, so that they are full, and starts counting. */
static void fill(struct ft_layer *l, uint32_t n)
{
    ft_layer_write_each(l, 0, n * N);
    ft_layer_clear(l);
}

static void test_segment_fresh_unit_costs_no_copy(void **state)
{
    (void)state;
    struct ft_layer l;
    setup(&l, true, 1);
    assert_int_equal(l.ftl->n_lpns, (14 - 4) * N);
    ft_layer_write_each(&l, 0, 5 * N);
    ft_layer_expect(&l, (struct ft_cost){.programs = 5 * N}, "sequential on a fresh device");
    /* five streams on fresh units, though two may be open */
    for (uint32_t page = 0; page < N; page++)
        for (uint32_t unit = 5; unit < 10; unit++)
            ft_layer_write_each(&l, unit * N + page, 1);
    ft_layer_expect(&l, (struct ft_cost){.programs = 5 * N}, "five fresh streams");
    ft_layer_end(&l);
}

static void test_segment_whole_rewrite_is_a_switch_merge(void **state)
{
    (void)state;
    struct ft_layer l;
    setup(&l, true, 1);
    fill(&l, 1);
    ft_layer_write_each(&l, 0, N);
    ft_layer_expect(&l, (struct ft_cost){.programs = N}, "rewrite");
    ft_layer_write_each(&l, 0, 1);
    /* the old unit is erased when this one is written again */
    assert_string_equal(ft_layer_text(&l), "BEBP");
    ft_layer_expect(&l, (struct ft_cost){.programs = 1, .erases = 1, .switches = 1}, "next");
    ft_layer_end(&l);
}

static void test_segment_many_rewrites_cost_one_erase_each(void **state)
{
    (void)state;
    struct ft_layer l;
    setup(&l, true, 1);
    fill(&l, 10);
    for (int round = 0; round < 5; round++)
        ft_layer_write_each(&l, 0, 10 * N);
    /* at the end two units are still open: their switch is to come */
    ft_layer_expect(&l, (struct ft_cost){.programs = 50 * N, .erases = 48, .switches = 48},
                    "sequential rewrites");
    ft_layer_end(&l);
}

static void test_segment_linear_unit_closed_early_is_a_partial_merge(void **state)
{
    (void)state;
    struct ft_layer l;
    setup(&l, true, 1);
    fill(&l, 3);
    ft_layer_write_each(&l, 0, 3);
    ft_layer_expect(&l, (struct ft_cost){.programs = 3}, "beginning of a rewrite");
    ft_layer_write_each(&l, N, 1);
    ft_layer_expect(&l, (struct ft_cost){.programs = 1}, "a second linear unit");
    ft_layer_write_each(&l, 2 * N, 1);
    /* two pages at a time, then the erase */
    assert_string_equal(ft_layer_text(&l), "BRRBPPBRRBPPBRBPBEBP");
    ft_layer_expect(&l, (struct ft_cost){.reads = 5, .programs = 6, .erases = 1, .copied = 5,
                                         .partials = 1}, "a third closes the first");
    ft_layer_end(&l);
}

static void test_segment_partial_merge_copies_only_what_the_old_unit_had(void **state)
{
    (void)state;
    struct ft_layer l;
    setup(&l, true, 1);
    ft_layer_write_each(&l, 0, 5); /* unit 0 has five pages */
    ft_layer_write_each(&l, N, 2 * N);
    ft_layer_clear(&l);
    ft_layer_write_each(&l, 0, 3);
    ft_layer_write_each(&l, N, 1);
    ft_layer_write_each(&l, 2 * N, 1);
    ft_layer_expect(&l, (struct ft_cost){.reads = 2, .programs = 7, .erases = 1, .copied = 2,
                                         .partials = 1}, "partial merge of a short unit");
    ft_layer_end(&l);
}

static void test_segment_random_unit_is_a_full_merge(void **state)
{
    (void)state;
    struct ft_layer l;
    setup(&l, true, 1);
    fill(&l, 2);
    ft_layer_write_each(&l, 5, 1);
    ft_layer_write_each(&l, 2, 1);
    ft_layer_write_each(&l, 5, 1);
    ft_layer_expect(&l, (struct ft_cost){.programs = 3}, "pages in any order");
    ft_layer_write_each(&l, N + 5, 1); /* the only random unit has to go */
    assert_string_equal(ft_layer_text(&l), "BRRBPPBRRBPPBRRBPPBRRBPPBEBEBP");
    ft_layer_expect(&l, (struct ft_cost){.reads = N, .programs = N + 1, .erases = 2, .copied = N,
                                         .fulls = 1}, "full merge");
    ft_layer_end(&l);
}

static void test_segment_linear_becomes_random(void **state)
{
    (void)state;
    struct ft_layer l;
    setup(&l, true, 1);
    fill(&l, 2);
    ft_layer_write_each(&l, 0, 3);
    ft_layer_write_each(&l, 1, 1); /* not its next page: it goes on as a random unit */
    ft_layer_write_each(&l, 3, 1);
    ft_layer_expect(&l, (struct ft_cost){.programs = 5}, "out of order");
    ft_layer_write_each(&l, N, 2); /* linear units are free again */
    ft_layer_expect(&l, (struct ft_cost){.programs = 2}, "another linear unit");
    ft_layer_write_each(&l, N, 1); /* this one becomes random and pushes the other out */
    ft_layer_expect(&l, (struct ft_cost){.reads = N, .programs = N + 1, .erases = 2, .copied = N,
                                         .fulls = 1}, "the first is merged");
    ft_layer_end(&l);
}

static void test_segment_without_random_units_linear_ones_are_closed(void **state)
{
    (void)state;
    struct ft_layer l;
    setup(&l, true, 0);
    fill(&l, 1);
    ft_layer_write_each(&l, 0, 3);
    ft_layer_clear(&l);
    ft_layer_write_each(&l, 1, 1); /* closed with 5 copies, then opened with one */
    ft_layer_expect(&l, (struct ft_cost){.reads = 6, .programs = 7, .erases = 1, .copied = 6,
                                         .partials = 1}, "backwards");
    ft_layer_write_each(&l, 7, 1); /* any step forwards is a gap that is filled */
    ft_layer_expect(&l, (struct ft_cost){.reads = 5, .programs = 6, .copied = 5}, "far forwards");
    ft_layer_end(&l);
}

static void test_segment_gap_is_filled_with_copies(void **state)
{
    (void)state;
    struct ft_layer l;
    setup(&l, true, 1);
    fill(&l, 1);
    ft_layer_write_each(&l, 0, 1);
    ft_layer_write_each(&l, 2, 1);
    ft_layer_expect(&l, (struct ft_cost){.reads = 1, .programs = 3, .copied = 1}, "gap of one");
    ft_layer_write_each(&l, 5, 1);
    ft_layer_expect(&l, (struct ft_cost){.reads = 2, .programs = 3, .copied = 2}, "gap of two");
    ft_layer_write_each(&l, 6, 2);
    ft_layer_write_each(&l, 0, 1); /* it was linear all the time */
    ft_layer_expect(&l, (struct ft_cost){.programs = 3, .erases = 1, .switches = 1}, "switch");
    ft_layer_write_each(&l, 4, 1); /* a gap of three is too much: random from here */
    ft_layer_expect(&l, (struct ft_cost){.programs = 1}, "gap of three");
    ft_layer_end(&l);
}

static void test_segment_gap_of_a_fresh_unit_is_padded(void **state)
{
    (void)state;
    struct ft_layer l;
    uint8_t buf[512];
    setup(&l, true, 1);
    ft_layer_write_each(&l, 2, 1);
    ft_layer_expect(&l, (struct ft_cost){.programs = 3}, "two pages of padding");
    memset(buf, 1, sizeof buf);
    l.ftl->ops->read(l.ftl, 1, 0, 512, buf);
    assert_string_equal(ft_layer_text(&l), "-"); /* padding is known to be nothing */
    for (int i = 0; i < 512; i++)
        assert_int_equal(buf[i], 0);
    ft_layer_end(&l);
}

static void test_segment_far_page_of_a_fresh_unit_is_logged(void **state)
{
    (void)state;
    struct ft_layer l;
    setup(&l, true, 1);
    ft_layer_write_each(&l, 5, 1);
    ft_layer_expect(&l, (struct ft_cost){.programs = 1}, "random unit without data");
    ft_layer_write_each(&l, N + 5, 1); /* 5 pages of padding, 1 copied, the log erased */
    ft_layer_expect(&l, (struct ft_cost){.reads = 1, .programs = 7, .erases = 1, .copied = 1,
                                         .fulls = 1}, "merge");
    ft_layer_end(&l);
}

static void test_segment_without_switch_merge_every_rewrite_is_copied(void **state)
{
    (void)state;
    struct ft_layer l;
    setup(&l, false, 1);
    ft_layer_write_each(&l, 0, 2 * N);
    ft_layer_expect(&l, (struct ft_cost){.programs = 2 * N}, "fresh");
    ft_layer_write_each(&l, 0, N);
    ft_layer_expect(&l, (struct ft_cost){.programs = N}, "rewrite in order");
    ft_layer_write_each(&l, N, 1);
    ft_layer_expect(&l, (struct ft_cost){.reads = N, .programs = N + 1, .erases = 2, .copied = N,
                                         .fulls = 1}, "its log may not become data");
    ft_layer_end(&l);
}

/* Commands of a page and a half: pages 1, 4 and 7 are programmed twice, the log of eight
 * pages overflows at the ninth, and the unit is merged a second time when it is closed. */
static void test_segment_misaligned_stream_is_merged_twice(void **state)
{
    (void)state;
    struct ft_layer l;
    setup(&l, false, 1);
    fill(&l, 2);
    for (uint32_t half = 0; half < 2 * N; half += 3) {
        uint32_t page = half / 2;
        if (half % 2) {
            ft_layer_write_part(&l, page, 256, 256);
            page++;
        } else {
            ft_layer_write(&l, page++);
        }
        if (page < N && half % 2)
            ft_layer_write(&l, page);
        else if (page < N)
            ft_layer_write_part(&l, page, 0, 256);
    }
    /* 5 commands and a last half page: 0 1a 1b 2 3 4a 4b 5 | 6 7a 7b */
    ft_layer_expect(&l, (struct ft_cost){.reads = 6 + N, .programs = 11 + N, .erases = 2,
                                         .copied = N, .fulls = 1}, "overflow");
    ft_layer_write_each(&l, N, 1);
    ft_layer_expect(&l, (struct ft_cost){.reads = N, .programs = N + 1, .erases = 2, .copied = N,
                                         .fulls = 1}, "the second merge");
    ft_layer_end(&l);
}

static void test_segment_closes_the_unit_used_longest_ago(void **state)
{
    (void)state;
    struct ft_layer l;
    setup(&l, true, 1);
    fill(&l, 4);
    ft_layer_write_each(&l, 0, 2);
    ft_layer_write_each(&l, N, 2);
    ft_layer_write_each(&l, 2, 1);     /* unit 0 again */
    ft_layer_clear(&l);
    ft_layer_write_each(&l, 2 * N, 1); /* so unit 1 goes: 6 pages are missing there */
    ft_layer_expect(&l, (struct ft_cost){.reads = 6, .programs = 7, .erases = 1, .copied = 6,
                                         .partials = 1}, "unit 1");
    ft_layer_write_each(&l, 3, N - 3); /* unit 0 is still open */
    ft_layer_expect(&l, (struct ft_cost){.programs = N - 3}, "unit 0 goes on");
    ft_layer_write_each(&l, 3 * N, 1); /* now unit 2 is the oldest */
    ft_layer_expect(&l, (struct ft_cost){.reads = 7, .programs = 8, .erases = 1, .copied = 7,
                                         .partials = 1}, "unit 2");
    ft_layer_end(&l);
}

static void test_segment_sorts_have_their_own_limits(void **state)
{
    (void)state;
    struct ft_layer l;
    setup(&l, true, 2);
    fill(&l, 5);
    ft_layer_write_each(&l, 5, 1);
    ft_layer_write_each(&l, N + 5, 1); /* two random units */
    ft_layer_write_each(&l, 2 * N, 1);
    ft_layer_write_each(&l, 3 * N, 1); /* and two linear ones */
    ft_layer_expect(&l, (struct ft_cost){.programs = 4}, "all open");
    ft_layer_write_each(&l, 4 * N + 5, 1);
    ft_layer_expect(&l, (struct ft_cost){.reads = N, .programs = N + 1, .erases = 2, .copied = N,
                                         .fulls = 1}, "a third random one");
    ft_layer_write_each(&l, 0, 1);
    ft_layer_expect(&l, (struct ft_cost){.reads = 7, .programs = 8, .erases = 1, .copied = 7,
                                         .partials = 1}, "a third linear one");
    ft_layer_end(&l);
}

static void test_segment_part_of_a_page_costs_a_read(void **state)
{
    (void)state;
    struct ft_layer l;
    setup(&l, true, 1);
    ft_layer_write_part(&l, 0, 0, 256);
    ft_layer_expect(&l, (struct ft_cost){.programs = 1}, "nothing there yet");
    ft_layer_write_part(&l, 0, 256, 256);
    ft_layer_expect(&l, (struct ft_cost){.reads = 1, .programs = 1}, "the other half");
    ft_layer_end(&l);
}

/* Each programmed page in turn claims to be of another logical page: data units, and open units in
 * order and at random. */
static void test_segment_check_finds_damage(void **state)
{
    (void)state;
    struct ft_layer l;
    struct fe_err err;
    setup(&l, true, 1);
    fill(&l, 3);
    ft_layer_write_each(&l, 0, 3);
    ft_layer_write_each(&l, N + 5, 1);
    ft_layer_write_each(&l, N + 2, 1);
    ft_layer_check_finds_damage(&l);
    struct segment *s = (struct segment *)l.ftl;
    uint32_t n_random = 0;
    for (uint32_t i = 0; i < s->n_open_max; i++) {
        if (s->open[i].kind != OPEN_RANDOM)
            continue;
        n_random++;
        s->open[i].in_order = true; /* its pages came in another order */
        fe_err_init(&err);
        assert_int_equal(l.ftl->ops->check(l.ftl, &err), -EIO);
        s->open[i].in_order = false;
        uint32_t unit = s->open[i].unit;
        s->open[i].unit = 11;
        fe_err_init(&err);
        assert_int_equal(l.ftl->ops->check(l.ftl, &err), -EIO);
        assert_int_equal(i, 2); /* behind the linear ones */
        assert_string_equal(err.text, "open unit 2 is not unit 11");
        s->open[i].unit = unit;
        ft_layer_check(&l);
    }
    assert_int_equal(n_random, 1);
    ft_layer_end(&l);
}

/* Two units of each sort, but two in all: a third one closes the oldest, whatever it is, and to
 * come back to a unit that was closed takes a place as well. */
static void test_segment_counts_open_units_of_both_sorts(void **state)
{
    static const struct ft_cost closes = {.reads = N - 1, .programs = N, .erases = 1,
                                          .copied = N - 1, .partials = 1};
    (void)state;
    struct fe_nand_params nand = ft_nand(1, 16, N, 512);
    struct fe_ftl_params p = ft_params("segment", &nand, 1);
    struct ft_layer l;
    p.segment.open_random = 2;
    for (p.segment.open_units = 0; p.segment.open_units <= 2; p.segment.open_units += 2) {
        ft_layer_init(&l, &nand, &p);
        fill(&l, 4);
        ft_layer_write_each(&l, 0, 1);
        ft_layer_write_each(&l, N, 1);
        ft_layer_expect(&l, (struct ft_cost){.programs = 2}, "two in order");
        ft_layer_write_each(&l, 2 * N, 1);
        ft_layer_expect(&l, closes, "a third in order");
        ft_layer_write_each(&l, 3, 1);
        ft_layer_expect(&l, p.segment.open_units ? closes : (struct ft_cost){.programs = 1},
                        "the first again, at another place");
        ft_layer_write_each(&l, 3 * N, 1); /* closes unit 1 or, of two that are open, unit 2 */
        ft_layer_expect(&l, closes, "a fourth in order");
        ft_layer_end(&l);
    }
}

/* One unit open in any order, which takes so many bytes; units [0, n) hold data. */
static void setup_random_log(struct ft_layer *l, uint64_t bytes, uint32_t n)
{
    struct fe_nand_params nand = ft_nand(1, 14, N, 512);
    struct fe_ftl_params p = ft_params("segment", &nand, 1);
    p.segment.open_random = 1;
    p.segment.random_log = bytes;
    ft_layer_init(l, &nand, &p);
    fill(l, n);
}

/* A log for any order takes three pages, while one in order takes all eight. */
static void test_segment_random_log_is_smaller_than_its_unit(void **state)
{
    (void)state;
    struct ft_layer l;
    setup_random_log(&l, 3 * 512 + 511, 2);
    ft_layer_write_each(&l, 0, N);
    ft_layer_expect(&l, (struct ft_cost){.programs = N}, "in order");
    for (uint32_t page = 3; page < 6; page++)
        ft_layer_write_each(&l, N + page, 1);
    ft_layer_expect(&l, (struct ft_cost){.programs = 3}, "three pages");
    ft_layer_write_each(&l, N + 6, 1);
    ft_layer_expect(&l, (struct ft_cost){.reads = N, .programs = N + 1, .erases = 2, .copied = N,
                                         .fulls = 1}, "the fourth");
    ft_layer_end(&l);
}

/* What is in order and holds three pages has no room as a log for any order: it ends there. */
static void test_segment_linear_unit_may_be_too_full_for_a_random_one(void **state)
{
    (void)state;
    struct ft_layer l;
    setup_random_log(&l, 3 * 512, 1);
    ft_layer_write_each(&l, 0, 2);
    ft_layer_write_each(&l, 6, 1);
    ft_layer_expect(&l, (struct ft_cost){.programs = 3}, "two in order, and another");
    ft_layer_write_each(&l, 5, 1); /* merges the three */
    ft_layer_expect(&l, (struct ft_cost){.reads = N, .programs = N + 1, .erases = 2, .copied = N,
                                         .fulls = 1}, "the fourth");
    ft_layer_end(&l);
    setup_random_log(&l, 3 * 512, 1);
    ft_layer_write_each(&l, 0, 3);
    ft_layer_write_each(&l, 6, 1);
    ft_layer_expect(&l, (struct ft_cost){.reads = N - 3, .programs = N + 1, .erases = 1,
                                         .copied = N - 3, .partials = 1}, "three in order");
    ft_layer_end(&l);
}

/* Two units with data, and so many open in any order, whose records end at multiples of four
 * pages. */
static void setup_record(struct ft_layer *l, uint32_t open_random, uint64_t log_pages)
{
    struct fe_nand_params nand = ft_nand(1, 14, N, 512);
    struct fe_ftl_params p = ft_params("segment", &nand, 1);
    p.segment.open_random = open_random;
    p.segment.random_log = log_pages * 512;
    p.segment.random_record = 4 * 512;
    ft_layer_init(l, &nand, &p);
    fill(l, 2);
}

/* A merge of a full unit, and the first record behind it. */
static const struct ft_cost MERGE_AND_RECORD = {
    .reads = N, .programs = N + 4, .erases = 2, .copied = N, .fulls = 1};

/* A command of one page takes as much of the log as one of three: | h 5 - - | h 2 3 4 |. */
static void test_segment_record_of_a_short_command_is_padded(void **state)
{
    (void)state;
    struct ft_layer l;
    setup_record(&l, 1, 0);
    ft_layer_write_each(&l, 5, 1);
    ft_layer_expect(&l, (struct ft_cost){.programs = 4}, "one page");
    assert_int_equal(ft_layer_command(&l, 2, 3), FE_OK);
    ft_layer_expect(&l, (struct ft_cost){.programs = 4}, "three pages");
    ft_layer_check(&l);
    ft_layer_write_each(&l, 6, 1);
    ft_layer_expect(&l, MERGE_AND_RECORD, "the third record");
    ft_layer_power_cycle(&l);
    ft_layer_end(&l);
}

/* The head is a page of its own, so four pages take two records: | h 1 2 3 | 4 - - - |. */
static void test_segment_record_has_a_head(void **state)
{
    (void)state;
    struct ft_layer l;
    setup_record(&l, 1, 0);
    assert_int_equal(ft_layer_command(&l, 1, 4), FE_OK);
    ft_layer_expect(&l, (struct ft_cost){.programs = 8}, "four pages");
    ft_layer_write_each(&l, 6, 1);
    ft_layer_expect(&l, MERGE_AND_RECORD, "the log was full");
    ft_layer_end(&l);
}

/* A record that the log has no more room for goes on in the next log, with a head there. */
static void test_segment_record_goes_on_behind_a_merge(void **state)
{
    (void)state;
    struct ft_layer l;
    setup_record(&l, 1, 6);
    ft_layer_write_each(&l, 5, 1);
    ft_layer_expect(&l, (struct ft_cost){.programs = 4}, "one page");
    assert_int_equal(ft_layer_command(&l, 2, 3), FE_OK); /* h 2 | merge | h 3 4 - */
    ft_layer_expect(&l, (struct ft_cost){.reads = N, .programs = 2 + N + 4, .erases = 2,
                                         .copied = N, .fulls = 1}, "a record in two logs");
    ft_layer_end(&l);
}

/* A command that ends in another unit leaves its first record open; the next one is aligned. */
static void test_segment_record_in_each_unit(void **state)
{
    (void)state;
    struct ft_layer l;
    setup_record(&l, 2, 0);
    ft_layer_write_each(&l, N + 5, 1); /* opens a unit in any order for the second one */
    ft_layer_clear(&l);
    assert_int_equal(ft_layer_command(&l, N - 1, 2), FE_OK); /* h 7 | h 8 - - */
    ft_layer_expect(&l, (struct ft_cost){.programs = 6}, "across the border");
    ft_layer_write_each(&l, 2, 1); /* - - h 2 - - */
    ft_layer_expect(&l, (struct ft_cost){.programs = 6}, "behind the record that is open");
    ft_layer_end(&l);
}

/* What is in order stays without records until it is not any more: | 0 1 - - | h 5 - - |. */
static void test_segment_records_are_of_units_in_any_order(void **state)
{
    (void)state;
    struct ft_layer l;
    setup_record(&l, 1, 0);
    ft_layer_write_each(&l, 0, 2);
    ft_layer_expect(&l, (struct ft_cost){.programs = 2}, "in order");
    ft_layer_write_each(&l, 5, 1);
    ft_layer_expect(&l, (struct ft_cost){.programs = 6}, "not in order");
    ft_layer_write_each(&l, 6, 1);
    ft_layer_expect(&l, MERGE_AND_RECORD, "full");
    ft_layer_end(&l);
    setup_record(&l, 1, 5); /* what is in order has no room for another record */
    ft_layer_write_each(&l, 0, 1);
    ft_layer_write_each(&l, 5, 1);
    ft_layer_expect(&l, (struct ft_cost){.reads = N - 1, .programs = 1 + N - 1 + 4, .erases = 1,
                                         .copied = N - 1, .partials = 1}, "a record too long");
    ft_layer_end(&l);
}

static void test_segment_record_has_to_fit(void **state)
{
    (void)state;
    struct fe_nand_params nand = ft_nand(1, 14, N, 512);
    struct fe_ftl_params p = ft_params("segment", &nand, 1);
    struct fe_geometry geo;
    struct fe_err err;
    fe_err_init(&err);
    assert_int_equal(fe_geometry_init(&geo, &nand, &err), 0);
    p.segment.open_random = 1;
    const struct { uint32_t record, log, fits; } cases[] = {
        {4, 4, 1}, {5, 4, 0}, {N, 0, 1}, {N + 1, 0, 0}, {1, 1, 0}, {1, 2, 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        p.segment.random_record = cases[i].record * 512;
        p.segment.random_log = cases[i].log * 512;
        assert_int_equal(fe_ftl_registry[p.type]->max_lpns(&p, &geo, &err) > 0, cases[i].fits);
        if (!cases[i].fits)
            assert_non_null(strstr(err.text, "ftl.random_record="));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_segment_fresh_unit_costs_no_copy),
        cmocka_unit_test(test_segment_whole_rewrite_is_a_switch_merge),
        cmocka_unit_test(test_segment_many_rewrites_cost_one_erase_each),
        cmocka_unit_test(test_segment_linear_unit_closed_early_is_a_partial_merge),
        cmocka_unit_test(test_segment_partial_merge_copies_only_what_the_old_unit_had),
        cmocka_unit_test(test_segment_random_unit_is_a_full_merge),
        cmocka_unit_test(test_segment_linear_becomes_random),
        cmocka_unit_test(test_segment_without_random_units_linear_ones_are_closed),
        cmocka_unit_test(test_segment_gap_is_filled_with_copies),
        cmocka_unit_test(test_segment_gap_of_a_fresh_unit_is_padded),
        cmocka_unit_test(test_segment_far_page_of_a_fresh_unit_is_logged),
        cmocka_unit_test(test_segment_without_switch_merge_every_rewrite_is_copied),
        cmocka_unit_test(test_segment_misaligned_stream_is_merged_twice),
        cmocka_unit_test(test_segment_closes_the_unit_used_longest_ago),
        cmocka_unit_test(test_segment_sorts_have_their_own_limits),
        cmocka_unit_test(test_segment_part_of_a_page_costs_a_read),
        cmocka_unit_test(test_segment_check_finds_damage),
        cmocka_unit_test(test_segment_counts_open_units_of_both_sorts),
        cmocka_unit_test(test_segment_random_log_is_smaller_than_its_unit),
        cmocka_unit_test(test_segment_linear_unit_may_be_too_full_for_a_random_one),
        cmocka_unit_test(test_segment_record_of_a_short_command_is_padded),
        cmocka_unit_test(test_segment_record_has_a_head),
        cmocka_unit_test(test_segment_record_goes_on_behind_a_merge),
        cmocka_unit_test(test_segment_record_in_each_unit),
        cmocka_unit_test(test_segment_records_are_of_units_in_any_order),
        cmocka_unit_test(test_segment_record_has_to_fit),
    };
    return cmocka_run_group_tests_name("segment", tests, NULL, NULL);
}
