/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The common core of page, dftl and norlog alone: states and counts, emptying with a plain
 * callback, what becomes of blocks at power-on, and whether the check finds what is wrong.
 *
 * The owner here is as plain as possible: a map, and one frontier for each of the two sets.
 * Pages with lpn < SPECIAL go to set 0, the others to set 1.  Two dies of 6 blocks with 4
 * pages; block n is on die n % 2.
 */
#include "lib/rig.h"
#include "lib/unit.h"

#include "ftl/blocks_recover.h"
#include "ftl/recover.h"

#include <errno.h>

enum { DIES = 2, BLOCKS = 12, N = 4, LPNS = 40, SPECIAL = 20, RESERVE = 2 };

struct owner {
    struct fe_ftl base;
    struct fe_blocks b;
    struct ft_rig rig;
    fe_ppn map[LPNS];
    uint32_t n_moves;    /* calls of the callback */
    uint32_t fails_at;   /* which of them fails, from 1 on; 0: none */
    bool rest;           /* what the last one was told */
    fe_ppn moved[BLOCKS * N];
};

static struct owner *owner_of(const struct fe_ftl *ftl)
{
    return (struct owner *)(uintptr_t)ftl;
}

static uint32_t frontier_of(const struct fe_ftl *ftl, fe_peb peb)
{
    fe_ppn first = fe_recover_first(ftl->medium, peb);
    return first != FE_PPN_NONE && fe_medium_lpn(ftl->medium, first) >= SPECIAL;
}

/* The block whose turn it is, or a free one, or any open one. */
static enum fe_status place(struct owner *o, fe_lpn lpn, enum fe_tag tag, fe_ppn base)
{
    struct fe_frontier *front = &o->b.fronts[lpn >= SPECIAL];
    if (fe_frontier_turn(front) == FE_PEB_NONE) {
        fe_peb peb = fe_block_pool_take(&o->b.pool, front->at);
        if (peb != FE_PEB_NONE)
            fe_blocks_open(&o->b, front, peb);
        else if (!fe_frontier_seek(front, front->at))
            return FE_NO_SPACE;
    }
    return fe_blocks_append(&o->b, front, lpn, tag, base, 0, base == FE_PPN_NONE ? 512 : 0, NULL,
                            &o->map[lpn]);
}

static enum fe_status move(struct fe_ftl *ftl, bool rest, fe_lpn lpn, fe_ppn from)
{
    struct owner *o = owner_of(ftl);
    o->rest = rest;
    o->moved[o->n_moves++] = from;
    return o->n_moves == o->fails_at ? FE_NO_SPACE : place(o, lpn, FE_TAG_COPY, from);
}

static const struct fe_ftl_ops ftl_ops = {.name = "test"};
static const struct fe_block_ops block_ops = {.move = move, .frontier_of = frontier_of};
static const struct fe_block_ops alone_ops = {
    .move = move, .frontier_of = frontier_of, .erases_alone = true};

static const struct fe_blocks_config plain = {
    .reserve = RESERVE,
    .sets = {{FE_GC_GREEDY, 1, N}, {FE_GC_FIFO, 1, N}},
    .frontiers = {{DIES, N, 0}, {1, N, 1}},
};

/* The tables anew, on the chip as it is. */
static void again(struct owner *o, const struct fe_block_ops *ops,
                  const struct fe_blocks_config *config)
{
    struct fe_err err;
    fe_err_init(&err);
    memset(o->map, 0xff, sizeof o->map);
    if (fe_blocks_init(&o->b, &o->base, ops, config, &err) < 0)
        fail_msg("%s", err.text);
}

static void setup_on(struct owner *o, const struct fe_block_ops *ops,
                     const struct fe_blocks_config *config)
{
    struct fe_nand_params nand = ft_nand(DIES, BLOCKS / DIES, N, 512);
    memset(o, 0, sizeof *o);
    ft_rig_init(&o->rig, &nand);
    o->base = (struct fe_ftl){.ops = &ftl_ops, .medium = o->rig.medium, .n_lpns = LPNS};
    again(o, ops, config);
}

static void setup(struct owner *o)
{
    setup_on(o, &block_ops, &plain);
    assert_int_equal(fe_blocks_fill(&o->b, BLOCKS, NULL), 0);
}

static void teardown(struct owner *o)
{
    fe_blocks_fini(&o->b);
    ft_rig_fini(&o->rig);
}

static int check(struct owner *o, struct fe_err *err)
{
    uint64_t n_mapped = 0;
    int r = 0;
    fe_err_init(err);
    for (fe_lpn lpn = 0; lpn < LPNS && r == 0; lpn++)
        r = fe_blocks_check_entry(&o->b, "logical", lpn, o->map[lpn], lpn, &n_mapped, err);
    return r == 0 ? fe_blocks_check(&o->b, n_mapped, err) : r;
}

static void assert_right(struct owner *o)
{
    struct fe_err err;
    if (check(o, &err) < 0)
        fail_msg("%s", err.text);
}

static void write_pages(struct owner *o, fe_lpn first, uint32_t n)
{
    for (fe_lpn lpn = first; lpn < first + n; lpn++) {
        fe_ppn old = o->map[lpn];
        assert_int_equal(place(o, lpn, FE_TAG_DATA, FE_PPN_NONE), FE_OK);
        if (old != FE_PPN_NONE)
            fe_blocks_invalidate(&o->b, old);
        assert_right(o);
    }
}

static void test_blocks_live_from_free_to_full(void **state)
{
    (void)state;
    struct owner o;
    setup(&o);
    assert_int_equal(o.b.n_good, BLOCKS);
    assert_int_equal(o.b.pool.n, BLOCKS);
    write_pages(&o, 0, 2 * N - 1); /* in turn: blocks 0 and 1 */
    assert_int_equal(o.b.state[0], FE_BLOCK_FULL);
    assert_int_equal(o.b.state[1], FE_BLOCK_OPEN);
    assert_int_equal(o.b.fronts[0].n_open, 1);
    assert_int_equal(o.b.fronts[0].open[1], 1);
    assert_int_equal(o.b.full[0].n, 1);
    assert_int_equal(o.b.pool.n, BLOCKS - 2);
    write_pages(&o, SPECIAL, N); /* its frontier has one place */
    assert_int_equal(o.b.state[2], FE_BLOCK_FULL + 1);
    assert_int_equal(o.b.full[1].n, 1);
    write_pages(&o, 0, 1);
    assert_int_equal(o.b.valid[0], N - 1);
    assert_int_equal(o.b.full[0].n_invalid, 1);
    assert_int_equal(fe_victims_choose(&o.b.full[0]), 0);
    fe_blocks_trim(&o.b, o.map, 0, 3);
    assert_int_equal(o.map[1], FE_PPN_NONE);
    assert_int_equal(o.b.valid[0], N - 2); /* pages 1 and the new 0 lay in blocks 1 and 3 */
    assert_right(&o);
    teardown(&o);
}

static void test_blocks_emptying_moves_in_order_and_frees(void **state)
{
    (void)state;
    struct owner o;
    char text[32];
    setup(&o);
    write_pages(&o, 0, 2 * N); /* block 0: 0 2 4 6 */
    write_pages(&o, 2, 1);
    o.rig.medium->emptying_since = 0;
    uint64_t seq = o.rig.medium->chip.seq;
    ft_rig_clear(&o.rig);
    assert_int_equal(fe_blocks_empty(&o.b, 0, true), FE_OK);
    assert_string_equal(ft_rig_text(&o.rig, text, sizeof text), "RpRpRpE");
    assert_int_equal(o.rig.medium->emptying_since, seq);
    assert_int_equal(o.n_moves, 3);
    assert_true(o.rest);
    assert_int_equal(o.moved[0], 0);
    assert_int_equal(o.moved[1], 2);
    assert_int_equal(o.moved[2], 3);
    assert_int_equal(o.base.counters.pages_copied, 3);
    assert_int_equal(o.b.state[0], FE_BLOCK_FREE);
    assert_int_equal(o.b.valid[0], 0);
    assert_int_equal(o.b.most_erases, 1);
    assert_right(&o);
    teardown(&o);
}

static void test_blocks_emptying_stops_where_a_move_fails(void **state)
{
    (void)state;
    struct owner o;
    setup(&o);
    write_pages(&o, 0, 2 * N);
    o.fails_at = 3;
    assert_int_equal(fe_blocks_empty(&o.b, 0, false), FE_NO_SPACE);
    assert_false(o.rest);
    assert_int_equal(o.b.valid[0], 2);
    assert_int_equal(o.b.state[0], FE_BLOCK_OPEN);
    assert_int_equal(fe_medium_next_page(o.rig.medium, 0), N); /* not erased */
    assert_int_equal(o.b.full[0].n, 1);
    teardown(&o);
}

static void test_blocks_erase_alone_is_between_barriers(void **state)
{
    (void)state;
    struct owner o;
    char text[32];
    setup_on(&o, &alone_ops, &plain);
    assert_int_equal(fe_blocks_fill(&o.b, BLOCKS, NULL), 0);
    write_pages(&o, 0, 2 * N);
    fe_blocks_trim(&o.b, o.map, 2, 1);
    ft_rig_clear(&o.rig);
    assert_int_equal(fe_blocks_empty(&o.b, 0, false), FE_OK);
    assert_string_equal(ft_rig_text(&o.rig, text, sizeof text), "RpRpRpBEB");
    teardown(&o);
}

static void test_blocks_fill_needs_good_blocks_and_sets_some_aside(void **state)
{
    (void)state;
    struct owner o;
    struct fe_err err;
    struct fe_blocks_config config = plain;
    config.n_aside = 3;
    fe_err_init(&err);
    setup(&o);
    fe_blocks_fini(&o.b);
    o.rig.medium->chip.pebs[1].marks = FE_MARK_FACTORY_BAD;
    again(&o, &block_ops, &config);
    assert_int_equal(o.b.aside_end, 4); /* 0, 2, 3 */
    assert_int_equal(fe_blocks_fill(&o.b, BLOCKS, &err), -EINVAL);
    assert_string_equal(err.text, "the chip has 11 good blocks, 40 logical pages need 12 with what "
                                  "the test strategy keeps beside them");
    assert_int_equal(o.b.aside.n, 3);
    assert_int_equal(o.b.pool.n, BLOCKS - 4);
    assert_int_equal(o.b.state[1], FE_BLOCK_BAD);
    assert_right(&o);
    teardown(&o);
}

static void test_blocks_levelling_finds_the_one_that_lags(void **state)
{
    (void)state;
    struct owner o;
    struct fe_blocks_config config = plain;
    config.levelling = FE_WEAR_STATIC;
    config.threshold = 2;
    setup_on(&o, &block_ops, &config);
    assert_int_equal(fe_blocks_fill(&o.b, BLOCKS, NULL), 0);
    assert_int_equal(fe_blocks_lagging(&o.b, UINT32_MAX), FE_PEB_NONE); /* nothing is full */
    o.rig.medium->chip.pebs[0].erase_count = 1;
    write_pages(&o, 0, 2 * N);
    assert_int_equal(fe_blocks_lagging(&o.b, 2), FE_PEB_NONE);
    assert_int_equal(fe_blocks_lagging(&o.b, 3), 1);
    assert_int_equal(fe_blocks_empty(&o.b, 1, true), FE_OK);
    assert_right(&o);
    teardown(&o);
}

/* ---- power-on: the chip is programmed by hand ---- */

static void prog(struct owner *o, fe_peb peb, fe_lpn lpn, enum fe_tag tag)
{
    fe_ppn ppn = peb * N + fe_medium_next_page(o->rig.medium, peb);
    assert_int_equal(fe_medium_prog(o->rig.medium, ppn, lpn, (uint8_t)tag, FE_PPN_NONE, 0, 512,
                                    NULL), FE_OK);
}

static void prog_pages(struct owner *o, fe_peb peb, fe_lpn first, uint32_t n)
{
    for (fe_lpn lpn = first; lpn < first + n; lpn++)
        prog(o, peb, lpn, FE_TAG_DATA);
}

static void tear(struct owner *o, fe_ppn ppn)
{
    o->rig.medium->chip.oob_tag[ppn] = FE_TAG_TORN;
    o->rig.medium->chip.oob_lpn[ppn] = FE_LPN_NONE;
    o->rig.medium->chip.oob_seq[ppn] = 0;
}

static void find_pages(struct owner *o)
{
    fe_recover_newest(o->rig.medium, o->map, LPNS, NULL);
}

static void sort(struct owner *o, bool by_age)
{
    fe_blocks_mark_valid(&o->b, o->map, LPNS);
    assert_int_equal(fe_blocks_sort(&o->b, by_age, NULL), 0);
    assert_right(o);
}

static void test_blocks_power_on_sorts(void **state)
{
    (void)state;
    struct owner o;
    setup_on(&o, &block_ops, &plain);
    prog_pages(&o, 4, 0, N);             /* whole */
    prog_pages(&o, 3, 4, N);             /* whole, written later */
    prog_pages(&o, 0, 0, 2);             /* goes on at place 0 */
    prog_pages(&o, 2, 8, 1);             /* die 0 as well: place 1 */
    prog_pages(&o, 6, 9, 1);             /* no place left: closed */
    prog_pages(&o, 7, SPECIAL, 1);       /* its own frontier */
    prog_pages(&o, 8, 10, 1);            /* nothing readable: erased */
    tear(&o, 8 * N);
    prog_pages(&o, 9, 11, N);            /* the same, but whole */
    for (uint32_t i = 0; i < N; i++)
        tear(&o, 9 * N + i);
    o.rig.medium->chip.pebs[11].marks = FE_MARK_GROWN_BAD;
    fe_blocks_fini(&o.b);
    again(&o, &block_ops, &plain);
    find_pages(&o);
    ft_rig_clear(&o.rig);
    sort(&o, false);
    static const uint8_t want[BLOCKS] = {
        [0] = FE_BLOCK_OPEN, [2] = FE_BLOCK_OPEN, [3] = FE_BLOCK_FULL, [4] = FE_BLOCK_FULL,
        [6] = FE_BLOCK_FULL, [7] = FE_BLOCK_OPEN, [9] = FE_BLOCK_FULL, [11] = FE_BLOCK_BAD};
    assert_memory_equal(o.b.state, want, sizeof want);
    assert_int_equal(o.b.fronts[0].open[0], 0);
    assert_int_equal(o.b.fronts[0].open[1], 2);
    assert_int_equal(o.b.fronts[1].open[0], 7);
    assert_int_equal(o.b.pool.n, 4);
    assert_int_equal(o.b.valid[4], N - 2);
    assert_int_equal(ft_rig_count(&o.rig, FE_OP_ERASE), 1);
    write_pages(&o, 12, 3); /* goes on */
    teardown(&o);
}

static void test_blocks_power_on_keeps_the_order_of_age(void **state)
{
    (void)state;
    for (int by_age = 0; by_age < 2; by_age++) {
        struct owner o;
        struct fe_blocks_config fifo = plain;
        fifo.sets[0].policy = FE_GC_FIFO;
        setup_on(&o, &block_ops, &fifo);
        prog_pages(&o, 5, 0, N);
        prog_pages(&o, 1, 4, N);
        prog_pages(&o, 3, 8, 1); /* unfinished; has been chosen for place 0 of die 0 */
        prog_pages(&o, 0, 9, 1);
        find_pages(&o);
        o.b.fronts[0].open[0] = 3;
        sort(&o, by_age);
        assert_int_equal(fe_victims_oldest(&o.b.full[0]), by_age ? 5 : 1);
        assert_int_equal(o.b.fronts[0].open[0], 3);
        assert_int_equal(o.b.fronts[0].open[1], 0);
        teardown(&o);
    }
}

/* One block is free, the reserve is 2.  Two full blocks have an invalid page each, a third one
 * has two. */
static void test_blocks_power_on_restores_the_reserve(void **state)
{
    (void)state;
    struct owner o;
    struct fe_blocks_config config = plain;
    config.frontiers[0].n = 1;
    setup_on(&o, &block_ops, &config);
    for (fe_peb peb = 0; peb < 8; peb++)
        prog_pages(&o, peb, peb * N, N); /* 0 to 4 are plain, 5 to 7 special */
    prog_pages(&o, 8, SPECIAL + 12, N);
    prog_pages(&o, 9, SPECIAL + 16, N);
    static const fe_lpn twice[] = {0, 4, 8, 9}; /* of blocks 0, 1, 2 and 2 */
    for (uint32_t i = 0; i < 4; i++)
        prog(&o, 10, twice[i], FE_TAG_DATA);
    find_pages(&o);
    sort(&o, true);
    assert_int_equal(o.b.pool.n, 1);
    assert_int_equal(fe_blocks_restore(&o.b, NULL), 0);
    assert_right(&o);
    assert_int_equal(o.b.pool.n, RESERVE);
    assert_int_equal(o.n_moves, 2 + 3 + 3);
    assert_int_equal(o.moved[0], 2 * N + 2); /* the block with the fewest comes first */
    assert_int_equal(o.moved[2], 1);
    assert_int_equal(o.moved[5], N + 1);
    teardown(&o);
}

/* No block is free, and the open one has two erased pages: three do not fit. */
static void test_blocks_power_on_leaves_what_does_not_fit(void **state)
{
    (void)state;
    struct owner o;
    setup_on(&o, &block_ops, &plain);
    for (fe_peb peb = 0; peb < 10; peb++)
        prog_pages(&o, peb, peb * N, N);
    static const fe_lpn again_written[] = {0, 4, 8, 12, 16, 16};
    for (uint32_t i = 0; i < 6; i++)
        prog(&o, 10 + i / N, again_written[i], FE_TAG_DATA);
    find_pages(&o);
    sort(&o, true);
    assert_int_equal(o.b.pool.n, 0);
    assert_int_equal(o.b.valid[0], 3);
    assert_int_equal(fe_blocks_restore(&o.b, NULL), 0);
    assert_int_equal(o.n_moves, 0);
    teardown(&o);
}

/* What was moved, and the block that was being emptied. */
static void interrupted_emptying(struct owner *o)
{
    setup_on(o, &block_ops, &plain);
    for (fe_peb peb = 0; peb < BLOCKS - 2; peb++)
        prog_pages(o, peb, peb * N % LPNS, N);
    o->rig.medium->chip.interrupted.since = o->rig.medium->chip.seq;
    prog(o, 10, 4, FE_TAG_COPY);
    prog(o, 10, 5, FE_TAG_COPY);
    o->rig.medium->chip.interrupted.until = o->rig.medium->chip.seq;
    o->rig.medium->chip.interrupted.peb = 1;
}

static void test_blocks_power_on_drops_what_was_moved(void **state)
{
    (void)state;
    struct owner o;
    interrupted_emptying(&o);
    find_pages(&o);
    assert_int_equal(o.map[4], 10 * N);
    assert_int_equal(fe_blocks_drop_moved(&o.b, o.map, false), FE_OK);
    assert_int_equal(fe_medium_next_page(o.rig.medium, 10), 0);
    assert_int_equal(o.map[4], 4);
    teardown(&o);

    interrupted_emptying(&o);
    o.b.reserve = 1; /* which is whole */
    find_pages(&o);
    assert_int_equal(fe_blocks_drop_moved(&o.b, o.map, false), FE_OK);
    assert_int_equal(fe_medium_next_page(o.rig.medium, 10), 2);
    teardown(&o);

    interrupted_emptying(&o);
    prog(&o, 10, 30, FE_TAG_DATA); /* has come since */
    find_pages(&o);
    assert_int_equal(fe_blocks_drop_moved(&o.b, o.map, true), FE_OK);
    assert_int_equal(fe_medium_next_page(o.rig.medium, 10), 3);
    teardown(&o);

    interrupted_emptying(&o);
    tear(&o, 5); /* the interrupted block has lost one of them */
    find_pages(&o);
    assert_int_equal(fe_blocks_drop_moved(&o.b, o.map, true), FE_OK);
    assert_int_equal(fe_medium_next_page(o.rig.medium, 10), 2);
    teardown(&o);
}

/* Without a journal only what nothing is mapped to may go, and only if that is asked for. */
static void test_blocks_power_on_drops_without_a_journal(void **state)
{
    (void)state;
    for (int thorough = 0; thorough < 2; thorough++) {
        struct owner o;
        interrupted_emptying(&o);
        o.rig.medium->chip.interrupted.peb = FE_PEB_NONE;
        prog(&o, 10, 6, FE_TAG_COPY);
        prog(&o, 10, 7, FE_TAG_COPY); /* all of block 1 */
        find_pages(&o);
        assert_int_equal(fe_blocks_drop_moved(&o.b, o.map, thorough), FE_OK);
        assert_int_equal(fe_medium_next_page(o.rig.medium, 10), N);
        assert_int_equal(fe_medium_next_page(o.rig.medium, 1), thorough ? 0 : N);
        teardown(&o);
    }
}

/* ---- the check ---- */

static void assert_wrong(struct owner *o, const char *says)
{
    struct fe_err err;
    assert_int_equal(check(o, &err), -EIO);
    if (!strstr(err.text, says))
        fail_msg("'%s' does not say '%s'", err.text, says);
}

/* Changes a value, looks what the check says, and changes it back. */
#define WRONG(o, where, value, says)        \
    do {                                    \
        __typeof__(where) was_ = (where);   \
        (where) = (value);                  \
        assert_wrong(o, says);              \
        (where) = was_;                     \
        assert_right(o);                    \
    } while (0)

static void test_blocks_check_finds_what_is_wrong(void **state)
{
    (void)state;
    struct owner o;
    struct fe_blocks_config config = plain;
    config.levelling = FE_WEAR_STATIC;
    config.n_aside = 2;
    setup_on(&o, &block_ops, &config);
    assert_int_equal(fe_blocks_fill(&o.b, BLOCKS, NULL), 0);
    write_pages(&o, 0, 2 * N + 1); /* blocks 2 and 3 full, 4 open */
    write_pages(&o, SPECIAL, N);   /* block 6 full */
    struct fe_blocks *b = &o.b;
    struct fe_medium *m = o.rig.medium;
    WRONG(&o, o.map[0], 2 * N + 1, "logical page 0 is mapped to 9");
    WRONG(&o, o.map[0], BLOCKS * N, "logical page 0 is mapped to 48");
    WRONG(&o, o.map[0], FE_PPN_NONE, "12 pages mapped, 13 valid");
    WRONG(&o, m->chip.oob_lpn[2 * N], 3, "logical page 0 is mapped to 8");
    WRONG(&o, b->valid_bits[0], b->valid_bits[0] & ~(1ull << 8), "logical page 0");
    WRONG(&o, b->valid_bits[0], b->valid_bits[0] | 1ull << 17,
          "block 4: page 1 is valid and erased");
    WRONG(&o, b->valid_bits[0], b->valid_bits[0] | 1, "block 0: page 0 is valid and erased");
    WRONG(&o, b->valid[2], 3, "block 2: 4 valid pages, its count says 3");
    WRONG(&o, b->state[2], FE_BLOCK_FREE, "block 2 in state 0");
    WRONG(&o, b->state[2], FE_BLOCK_OPEN, "block 2 in state 1");
    WRONG(&o, b->state[2], FE_BLOCK_BAD, "block 2 in state 2");
    WRONG(&o, b->state[2], FE_BLOCK_FULL + 1, "block 2 in state 4");
    WRONG(&o, b->state[4], FE_BLOCK_FULL, "block 4 in state 3");
    WRONG(&o, b->state[7], FE_BLOCK_OPEN, "7 blocks free");
    WRONG(&o, m->chip.pebs[7].next_page, 1, "block 7 in state 0");
    WRONG(&o, m->chip.pebs[2].next_page, 3, "block 2: page 3 is valid and erased");
    WRONG(&o, b->fronts[0].open[0], FE_PEB_NONE, "0 open blocks in frontier 0, 1 counted");
    WRONG(&o, b->fronts[0].open[0], 7, "block 7 in frontier 0");
    WRONG(&o, b->fronts[0].set, 1, "block 2 in state 3");
    WRONG(&o, b->fronts[0].n_open, 2, "1 open blocks in frontier 0, 2 counted");
    WRONG(&o, b->full[0].n, 3, "counted are 8, 3 and 1");
    WRONG(&o, b->full[0].n_invalid, 1, "invalid pages");
    WRONG(&o, b->full[1].n_invalid, 1, "invalid pages");
    WRONG(&o, b->pool.n, 5, "counted are 7, 2 and 1");
    WRONG(&o, b->pool.worn.n, 5, "free blocks");
    WRONG(&o, b->aside.n, 1, "counted are 7, 2 and 1");
    WRONG(&o, b->aside.fresh[0].item[0].peb, 1, "free block 1 is not");
    WRONG(&o, b->rested.n, 1, "2 full blocks, 1 in order");
    WRONG(&o, b->rested.item[0].key, UINT64_MAX, "out of order");
    b->closes_early = true;
    WRONG(&o, b->state[4], FE_BLOCK_FULL, "counted are 8, 2 and 1");
    teardown(&o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_blocks_live_from_free_to_full),
        cmocka_unit_test(test_blocks_emptying_moves_in_order_and_frees),
        cmocka_unit_test(test_blocks_emptying_stops_where_a_move_fails),
        cmocka_unit_test(test_blocks_erase_alone_is_between_barriers),
        cmocka_unit_test(test_blocks_fill_needs_good_blocks_and_sets_some_aside),
        cmocka_unit_test(test_blocks_levelling_finds_the_one_that_lags),
        cmocka_unit_test(test_blocks_power_on_sorts),
        cmocka_unit_test(test_blocks_power_on_keeps_the_order_of_age),
        cmocka_unit_test(test_blocks_power_on_restores_the_reserve),
        cmocka_unit_test(test_blocks_power_on_leaves_what_does_not_fit),
        cmocka_unit_test(test_blocks_power_on_drops_what_was_moved),
        cmocka_unit_test(test_blocks_power_on_drops_without_a_journal),
        cmocka_unit_test(test_blocks_check_finds_what_is_wrong),
    };
    return cmocka_run_group_tests_name("blocks", tests, NULL, NULL);
}
