/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A chip that fails, and what is done about it: bad blocks, failed programs and erases,
 * flipped bits, refresh, and the end of life of each kind.
 */
#include "lib/rig.h"
#include "lib/unit.h"

#include "nand/bbm.h"

#include <errno.h>

#define PAGE 512u
#define B    4u /* pages of a block */

static const struct fe_wear_params plain = {
    .spare_blocks = 2, .slow_factor = 3, .correctable_bits = 4, .codeword_size = 256,
    .refresh_bits = 3};

/* 2 dies with 5 blocks each, of which the last row is spare: pebs 0 to 7. */
static void setup(struct ft_rig *rig, const struct fe_wear_params *w)
{
    struct fe_nand_params p = ft_nand(2, 5, B, PAGE);
    p.endurance = 10;
    ft_rig_init_worn(rig, &p, w);
    assert_int_equal(rig->geo.n_pebs, 8);
    assert_int_equal(rig->geo.n_chip_blocks, 10);
}

static void fill(struct ft_rig *rig, fe_peb peb)
{
    for (uint32_t i = 0; i < B; i++)
        assert_int_equal(ft_rig_prog(rig, peb * B + i), FE_OK);
}

static void expect_ops(struct ft_rig *rig, const char *want)
{
    char text[64];
    assert_string_equal(ft_rig_text(rig, text, sizeof text), want);
    ft_rig_clear(rig);
}

/* Blocks of the reserve that are good. */
static uint32_t spares(const struct fe_medium *m)
{
    uint32_t n = 0;
    for (fe_peb peb = m->geo.n_pebs; peb < m->geo.n_chip_blocks; peb++)
        n += !fe_medium_is_bad(m, peb);
    return n;
}

static void test_wear_factory_bad_blocks_are_out_of_sight(void **state)
{
    (void)state;
    struct fe_wear_params w = plain;
    bool differs = false;
    w.factory_bad_ppm = 100000;
    for (uint64_t seed = 1; seed < 40; seed++) {
        struct ft_rig rig;
        struct fe_nand_params p = ft_nand(3, 40, B, PAGE);
        uint32_t n_bad = 0, seen[120] = {0};
        ft_rig_init_worn(&rig, &p, NULL);
        /* 12 bad ones and 2 spares: 15 blocks, five rows */
        assert_int_equal(fe_wear_reserve(&w, &rig.geo), 15);
        assert_int_equal(fe_geometry_reserve(&rig.geo, 15, NULL), 0);
        fe_medium_destroy(rig.medium);
        assert_int_equal(
            fe_medium_create(&rig.medium, &p, &rig.geo, rig.store, &rig.ops, NULL), 0);
        assert_int_equal(fe_wear_attach(rig.medium, &w, &p, seed, NULL), 0);
        for (fe_peb peb = 0; peb < 120; peb++) {
            n_bad += !!(fe_medium_block(rig.medium, peb)->marks & FE_MARK_FACTORY_BAD);
            seen[fe_medium_chip_block(rig.medium, peb)]++;
            if (peb < 105)
                assert_false(fe_medium_is_bad(rig.medium, peb));
            if (peb < 105 && fe_medium_chip_block(rig.medium, peb) != peb)
                differs = true;
            /* the die stays, as long as it has spares */
            if (seed == 1 && peb < 105)
                assert_int_equal(fe_medium_die(rig.medium, peb), peb % 3);
        }
        for (fe_chip_block block = 0; block < 120; block++)
            assert_int_equal(seen[block], 1);
        assert_int_equal(n_bad, 12);
        assert_int_equal(fe_medium_chip_block(rig.medium, 0), 0);
        assert_int_equal(spares(rig.medium), 3);
        ft_rig_fini(&rig);
    }
    assert_true(differs);
}

static void test_wear_reserve_that_leaves_nothing_is_refused(void **state)
{
    (void)state;
    struct fe_geometry geo;
    struct fe_nand_params p = ft_nand(2, 5, B, PAGE);
    struct fe_err err = {""};
    assert_int_equal(fe_geometry_init(&geo, &p, NULL), 0);
    assert_int_equal(fe_geometry_reserve(&geo, 10, &err), -EINVAL);
    assert_non_null(strstr(err.text, "10 blocks aside; the chip has 10"));
    assert_int_equal(fe_geometry_reserve(&geo, 8, NULL), 0);
    assert_int_equal(geo.n_ppns, 2 * B);
    assert_int_equal(geo.blocks_per_die, 1);
}

static void test_wear_failed_program_moves_the_block(void **state)
{
    (void)state;
    struct ft_rig rig;
    struct fe_wear_params w = plain;
    uint32_t n;
    w.fail_program = 3;
    setup(&rig, &w);
    assert_int_equal(ft_rig_prog(&rig, 4), FE_OK);
    assert_int_equal(ft_rig_prog(&rig, 5), FE_OK);
    ft_rig_clear(&rig);
    assert_int_equal(ft_rig_prog(&rig, 6), FE_OK);
    const struct fe_op *ops = ft_rig_ops(&rig, &n);
    assert_int_equal(n, 8); /* the failed one, two copies between barriers, the page again */
    assert_int_equal(ops[3].ppn, FE_PPN_NONE);
    assert_int_equal(ops[7].ppn, 6);
    assert_int_equal(ops[7].die, 1);
    assert_int_equal(ops[7].flags, FE_OP_AGAIN);
    expect_ops(&rig, "PBRpRpBP");
    assert_int_equal(rig.medium->counters.page_programs, 2 + 4);
    assert_int_equal(rig.medium->counters.program_failures, 1);
    assert_int_equal(fe_medium_chip_block(rig.medium, 1), 9); /* of the same die */
    assert_int_equal(fe_medium_chip_block(rig.medium, 9), 1);
    assert_true(fe_medium_is_bad(rig.medium, 9));
    assert_false(fe_medium_is_bad(rig.medium, 1));
    assert_int_equal(ft_rig_prog(&rig, 7), FE_OK);
    for (fe_ppn ppn = 4; ppn < 8; ppn++)
        assert_int_equal(ft_rig_wrong_bits(&rig, ppn, FE_OK), 0);
    ft_rig_fini(&rig);
}

/* A copy that fails costs that spare, too, and is begun again on the next one. */
static void test_wear_failed_copy_takes_the_next_spare(void **state)
{
    (void)state;
    struct ft_rig rig;
    struct fe_wear_params w = plain;
    setup(&rig, &w);
    assert_int_equal(ft_rig_prog(&rig, 4), FE_OK);
    assert_int_equal(ft_rig_prog(&rig, 5), FE_OK);
    w.program_fail_ppm = 1000000;
    fe_wear_set(rig.medium, &w);
    ft_rig_clear(&rig);
    assert_int_equal(ft_rig_prog(&rig, 6), FE_PROG_FAILED); /* all of them fail */
    expect_ops(&rig, "PBRpBRpB");
    assert_true(rig.medium->eol);
    assert_int_equal(spares(rig.medium), 0);
    assert_int_equal(fe_medium_next_page(rig.medium, 1), 2);
    assert_int_equal(ft_rig_wrong_bits(&rig, 5, FE_OK), 0);
    ft_rig_fini(&rig);
}

static void test_wear_blocks_die_after_their_endurance(void **state)
{
    (void)state;
    struct ft_rig rig;
    setup(&rig, &plain);
    fill(&rig, 2);
    for (int i = 0; i < 10; i++)
        assert_int_equal(fe_medium_erase(rig.medium, 2), FE_OK);
    assert_int_equal(rig.medium->counters.erase_failures, 0);
    assert_int_equal(fe_medium_erase(rig.medium, 2), FE_OK); /* the 11th: a spare */
    assert_int_equal(rig.medium->counters.erase_failures, 1);
    assert_int_equal(fe_medium_chip_block(rig.medium, 2), 8);
    assert_int_equal(fe_medium_erase_count(rig.medium, 2), 0);
    assert_int_equal(fe_medium_erase_count(rig.medium, 8), 11);
    fill(&rig, 2);
    for (int i = 0; i < 21; i++) /* 8 dies, then 9 of the other die */
        assert_int_equal(fe_medium_erase(rig.medium, 2), FE_OK);
    assert_int_equal(fe_medium_chip_block(rig.medium, 2), 9);
    fill(&rig, 2);
    assert_int_equal(fe_medium_erase(rig.medium, 2), FE_ERASE_FAILED);
    assert_true(rig.medium->eol);
    assert_int_equal(fe_medium_next_page(rig.medium, 2), B);
    assert_int_equal(ft_rig_wrong_bits(&rig, 2 * B, FE_OK), 0);
    ft_rig_fini(&rig);
}

static void test_wear_lives_spread_and_weak_blocks(void **state)
{
    (void)state;
    struct ft_rig rig;
    struct fe_wear_params w = plain;
    uint32_t lives[8], sum = 0, different = 0;
    struct fe_nand_params p = ft_nand(2, 5, B, PAGE);
    p.endurance = 1000;
    w.life_spread_ppm = 200000;
    w.weak_block = 3;
    w.weak_cycles = 17;
    for (fe_peb peb = 0; peb < 8; peb++) { /* each on a chip of its own: spares differ */
        ft_rig_init_worn(&rig, &p, &w);
        for (lives[peb] = 0; rig.medium->counters.erase_failures == 0; lives[peb]++)
            fe_medium_erase(rig.medium, peb);
        lives[peb]--;
        ft_rig_fini(&rig);
    }
    assert_int_equal(lives[3], 17);
    lives[3] = 1000;
    for (fe_peb peb = 0; peb < 8; peb++) {
        assert_in_range(lives[peb], 800, 1200);
        sum += lives[peb];
        different += peb > 0 && lives[peb] != lives[peb - 1];
    }
    assert_in_range(sum / 8, 880, 1120);
    assert_true(different >= 6);
}

static void test_wear_slow_repeats_and_keeps_everything(void **state)
{
    (void)state;
    struct ft_rig rig;
    struct fe_wear_params w = plain;
    w.end_of_life = FE_EOL_SLOW;
    setup(&rig, &w);
    fe_chip_mark(&rig.medium->chip, 8, FE_MARK_GROWN_BAD, true);
    fe_chip_mark(&rig.medium->chip, 9, FE_MARK_GROWN_BAD, true);
    assert_int_equal(fe_wear_set_cycles(rig.medium, 2, 10, NULL), 0);
    fill(&rig, 2);
    ft_rig_clear(&rig);
    assert_int_equal(fe_medium_erase(rig.medium, 2), FE_OK);
    expect_ops(&rig, "EBEE");
    assert_int_equal(ft_rig_prog(&rig, 2 * B), FE_OK);
    expect_ops(&rig, "PPP");
    assert_int_equal(fe_medium_erase(rig.medium, 2), FE_OK);
    expect_ops(&rig, "EEE");
    assert_int_equal(ft_rig_prog(&rig, 3 * B), FE_OK); /* others are as before */
    expect_ops(&rig, "P");
    fill(&rig, 2);
    assert_int_equal(ft_rig_wrong_bits(&rig, 2 * B, FE_OK), 0);
    assert_false(rig.medium->eol);
    assert_true(fe_medium_block(rig.medium, 2)->marks & FE_MARK_FAILED);
    ft_rig_fini(&rig);
}

static void test_wear_silent_loses_without_a_word(void **state)
{
    (void)state;
    struct ft_rig rig;
    struct fe_wear_params w = plain;
    w.end_of_life = FE_EOL_SILENT;
    setup(&rig, &w);
    fe_chip_mark(&rig.medium->chip, 8, FE_MARK_GROWN_BAD, true);
    fe_chip_mark(&rig.medium->chip, 9, FE_MARK_GROWN_BAD, true);
    assert_int_equal(fe_wear_set_cycles(rig.medium, 2, 10, NULL), 0);
    assert_int_equal(fe_medium_erase(rig.medium, 2), FE_OK);
    fill(&rig, 2);
    assert_true(ft_rig_wrong_bits(&rig, 2 * B, FE_OK) > 0);
    assert_int_equal(fe_medium_prog(rig.medium, 0, 5, 0, 2 * B, 0, 0, NULL), FE_OK);
    assert_true(ft_rig_wrong_bits(&rig, 0, FE_OK) > 0); /* nor does a copy heal it */
    assert_int_equal(ft_rig_prog(&rig, 1), FE_OK);
    assert_int_equal(ft_rig_wrong_bits(&rig, 1, FE_OK), 0);
    assert_int_equal(rig.medium->counters.ecc_uncorrectable, 0);
    ft_rig_fini(&rig);
}

static void test_wear_flips_are_corrected_up_to_the_code(void **state)
{
    (void)state;
    struct ft_rig rig;
    setup(&rig, &plain);
    fill(&rig, 1);
    assert_int_equal(fe_wear_flip(rig.medium, 5, 4, NULL), 0);
    assert_int_equal(ft_rig_wrong_bits(&rig, 5, FE_CORRECTED), 0);
    assert_int_equal(ft_rig_wrong_bits(&rig, 4, FE_OK), 0);
    assert_int_equal(rig.medium->counters.ecc_corrected, 1);
    assert_int_equal(fe_wear_flip(rig.medium, 5, 1, NULL), 0);
    assert_int_equal(ft_rig_wrong_bits(&rig, 5, FE_UNCORRECTABLE), 5);
    assert_int_equal(rig.medium->counters.ecc_uncorrectable, 1);
    /* the second codeword is good */
    assert_int_equal(fe_medium_read(rig.medium, 5, 256, 256, NULL), FE_OK);
    assert_int_equal(fe_medium_read(rig.medium, 5, 255, 1, NULL), FE_UNCORRECTABLE);
    /* a copy of what was lost is lost; of what was corrected good; new bytes are good */
    assert_int_equal(fe_medium_prog(rig.medium, 0, 5, 0, 5, 0, 0, NULL), FE_OK);
    assert_int_equal(fe_medium_read(rig.medium, 0, 256, 256, NULL), FE_UNCORRECTABLE);
    assert_int_equal(fe_wear_flip(rig.medium, 6, 4, NULL), 0);
    assert_int_equal(fe_medium_prog(rig.medium, 1, 6, 0, 6, 0, 0, NULL), FE_OK);
    assert_int_equal(fe_medium_read(rig.medium, 1, 0, PAGE, NULL), FE_OK);
    assert_int_equal(fe_medium_erase(rig.medium, 1), FE_OK);
    fill(&rig, 1);
    assert_int_equal(ft_rig_wrong_bits(&rig, 5, FE_OK), 0);
    ft_rig_fini(&rig);
}

/* Bytes [off, off + len) of a page that was programmed with zeros: returns the wrong bits. */
static uint32_t wrong_zeros(struct ft_rig *rig, fe_ppn ppn, uint32_t off, uint32_t len,
                            enum fe_status want)
{
    static uint8_t buf[4096];
    uint32_t n = 0;
    memset(buf, 0, sizeof buf);
    assert_int_equal(fe_medium_read(rig->medium, ppn, off, len, buf), want);
    for (uint32_t i = 0; i < sizeof buf; i++)
        n += (uint32_t)__builtin_popcount(buf[i]);
    return n;
}

/* Of a page that is lost, each codeword has one bit more wrong than the code corrects. */
static void check_codewords(uint32_t page, uint32_t codeword, uint32_t correctable)
{
    static const uint8_t zeros[4096];
    struct ft_rig rig;
    struct fe_nand_params p = ft_nand(1, 10, B, page);
    struct fe_wear_params w = plain;
    uint32_t n_codewords = (page + codeword - 1) / codeword;
    w.codeword_size = codeword;
    w.correctable_bits = correctable;
    w.refresh_bits = 0;
    ft_rig_init_worn(&rig, &p, &w);
    const struct fe_nand_counters *c = &rig.medium->counters;
    assert_int_equal(fe_medium_prog(rig.medium, 0, 0, 0, FE_PPN_NONE, 0, page, zeros), FE_OK);
    assert_int_equal(fe_wear_flip(rig.medium, 0, correctable, NULL), 0);
    assert_int_equal(wrong_zeros(&rig, 0, 0, page, FE_CORRECTED), 0);
    assert_int_equal(fe_wear_flip(rig.medium, 0, 1, NULL), 0);
    uint32_t first = codeword < page ? codeword : page;
    assert_int_equal(wrong_zeros(&rig, 0, 0, first, FE_UNCORRECTABLE), correctable + 1);
    if (first < page)
        assert_int_equal(wrong_zeros(&rig, 0, first, page - first, FE_OK), 0);
    assert_int_equal(c->ecc_uncorrectable, 1);
    assert_int_equal(fe_medium_prog(rig.medium, 1, 0, 0, 0, 0, 0, NULL), FE_OK);
    assert_int_equal(c->ecc_uncorrectable, 2);
    for (uint32_t i = 0; i < n_codewords; i++) {
        uint32_t from = i * codeword, to = from + codeword < page ? from + codeword : page;
        assert_int_equal(wrong_zeros(&rig, 1, from, to - from, FE_UNCORRECTABLE), correctable + 1);
        assert_int_equal(wrong_zeros(&rig, 1, to - 1, 1, FE_UNCORRECTABLE) +
                         wrong_zeros(&rig, 1, from, to - from - 1, FE_UNCORRECTABLE),
                         correctable + 1);
    }
    assert_int_equal(c->ecc_uncorrectable, 2 + 3 * n_codewords);
    wrong_zeros(&rig, 1, 0, page, FE_UNCORRECTABLE);
    assert_int_equal(c->ecc_uncorrectable, 2 + 4 * n_codewords);
    ft_rig_fini(&rig);
}

static void test_wear_codewords_shorter_and_longer_than_a_page(void **state)
{
    (void)state;
    static const uint32_t pages[] = {512, 1024, 1536, 2560, 4096};
    static const uint32_t codewords[] = {128, 512, 1024, 2048, 8192};
    for (size_t i = 0; i < ft_array_len(pages); i++)
        for (size_t k = 0; k < ft_array_len(codewords); k++)
            for (uint32_t correctable = 1; correctable < 20; correctable += 6)
                check_codewords(pages[i], codewords[k], correctable);
}

static void test_wear_without_a_code_bits_are_wrong(void **state)
{
    (void)state;
    struct ft_rig rig;
    struct fe_wear_params w = plain;
    w.correctable_bits = w.refresh_bits = 0;
    setup(&rig, &w);
    fill(&rig, 1);
    assert_int_equal(fe_wear_flip(rig.medium, 5, 7, NULL), 0);
    assert_int_equal(ft_rig_wrong_bits(&rig, 5, FE_OK), 7);
    assert_int_equal(fe_medium_prog(rig.medium, 0, 5, 0, 5, 0, 0, NULL), FE_OK);
    uint8_t buf[PAGE];
    assert_int_equal(fe_medium_read(rig.medium, 0, 0, PAGE, buf), FE_OK);
    uint32_t n = 0;
    for (uint32_t i = 0; i < PAGE; i++)
        n += (uint32_t)__builtin_popcount(buf[i] ^ 6);
    assert_int_equal(n, 7);
    assert_int_equal(rig.medium->counters.ecc_corrected, 0);
    ft_rig_fini(&rig);
}

static void test_wear_refresh_moves_the_block_and_heals_it(void **state)
{
    (void)state;
    struct ft_rig rig;
    setup(&rig, &plain);
    fill(&rig, 3);
    assert_false(fe_wear_refresh(rig.medium));
    fe_wear_flip(rig.medium, 3 * B, 2, NULL);
    ft_rig_wrong_bits(&rig, 3 * B, FE_CORRECTED);
    assert_false(fe_wear_refresh(rig.medium)); /* below refresh_bits */
    fe_wear_flip(rig.medium, 3 * B, 1, NULL);
    ft_rig_wrong_bits(&rig, 3 * B, FE_CORRECTED);
    ft_rig_clear(&rig);
    assert_true(fe_wear_refresh(rig.medium));
    expect_ops(&rig, "BRpRpRpRpBE");
    assert_int_equal(fe_medium_chip_block(rig.medium, 3), 9);
    assert_int_equal(fe_medium_erase_count(rig.medium, 9), 1);
    assert_int_equal(spares(rig.medium), 2);
    assert_int_equal(rig.medium->counters.refreshed, 1);
    assert_int_equal(ft_rig_wrong_bits(&rig, 3 * B, FE_OK), 0);
    assert_false(fe_wear_refresh(rig.medium));
    /* what has been erased in the meantime needs none */
    fe_wear_flip(rig.medium, 9 * B + 1, 3, NULL); /* chip block 9 stands behind peb 3 */
    ft_rig_wrong_bits(&rig, 3 * B + 1, FE_CORRECTED);
    assert_int_equal(fe_medium_erase(rig.medium, 3), FE_OK);
    fill(&rig, 3);
    assert_false(fe_wear_refresh(rig.medium));
    ft_rig_fini(&rig);
}

/* The block has been emptied, but its erase fails: it is no spare, and never used again. */
static void test_wear_a_block_that_fails_its_refresh_is_bad(void **state)
{
    (void)state;
    struct ft_rig rig;
    struct fe_wear_params w = plain;
    w.fail_erase = 1;
    setup(&rig, &w);
    fill(&rig, 3);
    uint32_t n_spares = spares(rig.medium);
    fe_chip_block old = fe_medium_chip_block(rig.medium, 3);
    fe_wear_flip(rig.medium, 3 * B, 3, NULL);
    ft_rig_wrong_bits(&rig, 3 * B, FE_CORRECTED);
    assert_true(fe_wear_refresh(rig.medium));
    assert_int_equal(ft_rig_wrong_bits(&rig, 3 * B, FE_OK), 0);
    assert_int_equal(spares(rig.medium), n_spares - 1);
    assert_true(fe_medium_is_bad(rig.medium, fe_chip_find_block(&rig.medium->chip, old)));
    assert_int_equal(rig.medium->counters.erase_failures, 1);
    ft_rig_fini(&rig);
}

/* Errors of reads against the formula, by counting: mean 0.41 of 2048 bits. */
static void test_wear_reads_go_wrong_at_the_rate_of_the_model(void **state)
{
    (void)state;
    struct ft_rig rig;
    struct fe_wear_params w = plain;
    struct fe_nand_params p = ft_nand(2, 2001, 16, PAGE);
    uint64_t n = 0, corrected = 0;
    w.ber.fresh = 200000000;
    ft_rig_init_worn(&rig, &p, &w);
    for (fe_ppn ppn = 0; ppn < rig.geo.n_ppns; ppn++) {
        assert_int_equal(fe_medium_prog(rig.medium, ppn, ppn, 0, FE_PPN_NONE, 0, 0, NULL), FE_OK);
        enum fe_status st = fe_medium_read(rig.medium, ppn, 0, PAGE, NULL);
        uint64_t before = corrected;
        corrected = rig.medium->counters.ecc_corrected;
        assert_true(st != FE_OK || corrected == before);
        n += 2;
    }
    /* P(0) = (1 - 2e-4)^2048 = 0.66389, P(more than 4) = 0.0000669 */
    double share = (double)corrected / (double)n;
    print_message("%.5f of %llu codewords corrected, %llu not\n", share, (unsigned long long)n,
                  (unsigned long long)rig.medium->counters.ecc_uncorrectable);
    assert_true(share > 0.3361 - 0.006 && share < 0.3361 + 0.006);
    assert_in_range(rig.medium->counters.ecc_uncorrectable, 1, 30);
    ft_rig_fini(&rig);
}

static void test_wear_retention_and_reads_spoil_data(void **state)
{
    (void)state;
    for (int disturb = 0; disturb < 2; disturb++) {
        struct ft_rig rig;
        struct fe_wear_params w = plain;
        w.ber.retention = disturb ? 0 : 5000000000;
        w.ber.disturb = disturb ? 5000000000 : 0;
        setup(&rig, &w);
        rig.medium->now_ns = 1000;
        fill(&rig, 1);
        assert_int_equal(fe_medium_read(rig.medium, 5, 0, PAGE, NULL), FE_OK);
        if (disturb)
            rig.medium->chip.reads[1] = 300000;
        else
            rig.medium->now_ns += 3 * FE_BER_YEAR_NS;
        uint32_t wrong = ft_rig_wrong_bits(&rig, 5, FE_UNCORRECTABLE);
        assert_true(wrong > 4);
        assert_int_equal(ft_rig_wrong_bits(&rig, 5, FE_UNCORRECTABLE), wrong); /* not a new draw */
        assert_int_equal(fe_medium_erase(rig.medium, 1), FE_OK);
        fill(&rig, 1);
        assert_int_equal(ft_rig_wrong_bits(&rig, 5, FE_OK), 0);
        ft_rig_fini(&rig);
    }
}

/* Data of today that need correcting: the block is no good.  Old data, or data that were
 * read ten thousand times: it was time. */
static void test_wear_young_blocks_with_errors_are_retired(void **state)
{
    (void)state;
    for (int kind = 0; kind < 3; kind++) {
        bool old = kind > 0;
        struct ft_rig rig;
        struct fe_wear_params w = plain;
        w.ber.fresh = 1;
        setup(&rig, &w);
        fill(&rig, 1);
        fe_wear_flip(rig.medium, 5, 3, NULL);
        rig.medium->now_ns = kind == 1 ? 86401 * FE_NS_PER_S : 86399 * FE_NS_PER_S;
        rig.medium->chip.reads[1] = kind == 2 ? 10000 : 9000;
        ft_rig_wrong_bits(&rig, 5, FE_CORRECTED);
        assert_true(fe_wear_refresh(rig.medium));
        assert_int_equal(rig.medium->counters.retired, !old);
        assert_int_equal(rig.medium->counters.refreshed, old);
        assert_int_equal(fe_medium_is_bad(rig.medium, 9), !old);
        ft_rig_fini(&rig);
    }
}

static void test_wear_mark_bad(void **state)
{
    (void)state;
    struct ft_rig rig;
    struct fe_err err = {""};
    setup(&rig, &plain);
    fill(&rig, 4);
    assert_int_equal(fe_wear_mark_bad(rig.medium, 4, NULL), 0);
    assert_int_equal(fe_medium_chip_block(rig.medium, 4), 8);
    assert_int_equal(ft_rig_wrong_bits(&rig, 4 * B + 3, FE_OK), 0);
    assert_int_equal(fe_wear_mark_bad(rig.medium, 4, &err), -EINVAL);
    assert_string_equal(err.text, "block 4: is bad already");
    assert_int_equal(fe_wear_mark_bad(rig.medium, 9, NULL), 0); /* a spare */
    assert_int_equal(spares(rig.medium), 0);
    assert_int_equal(fe_wear_mark_bad(rig.medium, 8, NULL), 0); /* now behind peb 4: the end */
    assert_true(rig.medium->eol);
    assert_int_equal(ft_rig_wrong_bits(&rig, 4 * B, FE_OK), 0);
    err.text[0] = 0;
    assert_int_equal(fe_wear_mark_bad(rig.medium, 10, &err), -EINVAL);
    assert_string_equal(err.text, "block 10: the chip has blocks 0 to 9");
    assert_int_equal(fe_wear_flip(rig.medium, 0, 1, NULL), -EINVAL); /* erased */
    ft_rig_fini(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_wear_factory_bad_blocks_are_out_of_sight),
        cmocka_unit_test(test_wear_reserve_that_leaves_nothing_is_refused),
        cmocka_unit_test(test_wear_failed_program_moves_the_block),
        cmocka_unit_test(test_wear_failed_copy_takes_the_next_spare),
        cmocka_unit_test(test_wear_blocks_die_after_their_endurance),
        cmocka_unit_test(test_wear_lives_spread_and_weak_blocks),
        cmocka_unit_test(test_wear_slow_repeats_and_keeps_everything),
        cmocka_unit_test(test_wear_silent_loses_without_a_word),
        cmocka_unit_test(test_wear_flips_are_corrected_up_to_the_code),
        cmocka_unit_test(test_wear_codewords_shorter_and_longer_than_a_page),
        cmocka_unit_test(test_wear_without_a_code_bits_are_wrong),
        cmocka_unit_test(test_wear_refresh_moves_the_block_and_heals_it),
        cmocka_unit_test(test_wear_a_block_that_fails_its_refresh_is_bad),
        cmocka_unit_test(test_wear_reads_go_wrong_at_the_rate_of_the_model),
        cmocka_unit_test(test_wear_retention_and_reads_spoil_data),
        cmocka_unit_test(test_wear_young_blocks_with_errors_are_retired),
        cmocka_unit_test(test_wear_mark_bad),
    };
    return cmocka_run_group_tests_name("wear", tests, NULL, NULL);
}
