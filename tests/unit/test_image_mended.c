/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What is left of an image after a crash of the host: what is put right, and what no crash can have left.
 */
#include "lib/other_host.h"
#include "test_image.h"

/* The crash has lost program 4, and the bytes of pages 1 and 2. */
static void lose_some(void)
{
    static const uint8_t zeros[2 * PAGE];
    struct fe_image_header h;
    struct fe_image_layout at;
    int fd = open(path, O_RDWR | O_CLOEXEC);
    assert_int_equal(pread(fd, &h, sizeof h, 0), sizeof h);
    assert_int_equal(fe_image_layout(&at, &h, NULL), 0);
    assert_int_equal(pwrite(fd, zeros, 32, (off_t)(at.oob + PPB * 32)), 32);
    assert_int_equal(pwrite(fd, zeros, sizeof zeros, (off_t)(at.pages + PAGE)),
                     sizeof zeros);
    close(fd);
    ft_pretend_another_host(path);
}

static void crash_after_an_erase(void)
{
    struct fe_store *s = made();
    program(s, 0, 1, 1, 1);
    program(s, 1, 2, 2, 2);
    program(s, 2, 3, 3, 3);
    fe_image_sync_now(s);
    program(s, PPB, 4, 4, 4);
    erase(s, 0, 1);
    fe_store_destroy(s);
    lose_some();
}

/* Gives the page's record another cycle or number, and the checksum that it has with it. */
static void damage_page(fe_ppn ppn, uint32_t cycle, uint64_t seq)
{
    struct fe_image_header h;
    struct fe_image_layout at;
    struct fe_image_oob r;
    int fd = open(path, O_RDWR | O_CLOEXEC);
    assert_int_equal(pread(fd, &h, sizeof h, 0), sizeof h);
    assert_int_equal(fe_image_layout(&at, &h, NULL), 0);
    off_t place = (off_t)(at.oob + ppn * sizeof r);
    assert_int_equal(pread(fd, &r, sizeof r, place), sizeof r);
    r.cycle = cycle;
    r.seq = seq;
    r.crc = fe_image_record_crc(ppn, &r, sizeof r);
    assert_int_equal(pwrite(fd, &r, sizeof r, place), sizeof r);
    close(fd);
}

/* Page 1 of block 0 lacks its record, and the pages behind it, programs 3 and 4, have theirs.  If they were
 * not synced, or a power cut may have taken them back, a crash leaves that: they were never programmed.
 * Else it does not, and what was promised is not dropped. */
static void test_image_drops_no_page_that_was_synced(void **state)
{
    (void)state;
    static const struct {
        uint64_t n_synced, final;
        const char *why;
    } cases[] = {
        {2, UINT64_MAX, NULL},
        {4, 2, NULL},
        {3, UINT64_MAX, "block 0 has page 2, program 3, which was synced, and lacks a page before it"},
        {4, 3, "block 0 has page 2, program 3, which was synced, and lacks a page before it"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct fe_store_block b;
        struct fe_store_oob p[PPB];
        struct fe_store *s = made();
        fe_store_set_final(s, cases[i].final);
        for (fe_ppn ppn = 0; ppn < PPB; ppn++) {
            program(s, ppn, ppn, ppn + 1, (uint8_t)ppn);
            if (ppn + 1 == cases[i].n_synced)
                fe_image_sync_now(s);
        }
        fe_store_destroy(s);
        damage_page(1, 63, 2);
        ft_pretend_another_host(path);
        if (cases[i].why) {
            refused(EIO, cases[i].why);
        } else {
            s = opened();
            load(s, 0, &b, p);
            assert_page(s, 0, 0);
            for (uint32_t page = 1; page < PPB; page++)
                assert_int_equal(p[page].state, FE_STORE_ERASED);
            fe_store_destroy(s);
        }
        unlink(path);
    }
}

/* The page is behind all programs, and the last of its block, so that it could count as lost. */
static void test_image_drops_no_page_that_cannot_be(void **state)
{
    (void)state;
    struct fe_store *s = made();
    program(s, 0, 6, 1, 1);
    fe_image_sync_now(s);
    fe_store_destroy(s);
    damage_page(0, 0, UINT64_C(4000000000000000000));
    ft_pretend_another_host(path);
    refused(EIO, "the record of page 0 cannot be: its seq is 4000000000000000000");
}

/* A crash may leave one of the two records of the clock torn; if both are, nobody knows what the device has
 * behind it. */
static void test_image_knows_its_clock_or_is_refused(void **state)
{
    (void)state;
    for (int torn = 0; torn < 4; torn++) {
        uint64_t numbers[FE_IMAGE_LIFETIME_NUMBERS] = {100, 20, 3, 40, 5};
        struct fe_store *s = made();
        fe_store_set_lifetime(s, numbers); /* generation 1, in place 1 */
        numbers[0] = 200;
        fe_store_set_lifetime(s, numbers);
        fe_store_destroy(s);
        for (int place = 0; place < 2; place++)
            if (torn >> place & 1)
                ft_flip_byte(path, (int64_t)FE_IMAGE_LIFETIME(place) + 9);
        ft_pretend_another_host(path);
        if (torn == 3) {
            refused(EIO, "the record of the device's clock and counters is damaged (checksum)");
        } else {
            s = opened();
            fe_store_get_lifetime(s, numbers);
            assert_int_equal(numbers[0], torn == 1 ? 100 : 200);
            assert_int_equal(numbers[3], 40);
            fe_store_destroy(s);
        }
        unlink(path);
    }
}

/* Both copies of the status say that programs were synced up to this one. */
static void say_synced(uint64_t seq)
{
    int fd = open(path, O_RDWR | O_CLOEXEC);
    for (int i = 0; i < 2; i++) {
        struct fe_image_status st;
        assert_int_equal(pread(fd, &st, sizeof st, (off_t)FE_IMAGE_STATUS(i)), sizeof st);
        st.synced_seq = seq;
        st.n_open_1 = 1;
        st.crc = fe_image_record_crc(0, &st, sizeof st);
        assert_int_equal(pwrite(fd, &st, sizeof st, (off_t)FE_IMAGE_STATUS(i)), sizeof st);
    }
    close(fd);
}

/* Block 0 was erased behind program 4, and has program 5, which was synced.  A status that says less than
 * that erase would make of the block one that was never programmed. */
static void test_image_believes_no_status_that_is_too_old(void **state)
{
    (void)state;
    for (uint64_t synced = 3; synced <= 5; synced++) {
        struct fe_store_block b;
        struct fe_store_oob p[PPB];
        struct fe_store *s = made();
        for (fe_ppn ppn = 0; ppn < PPB; ppn++)
            program(s, ppn, ppn, ppn + 1, (uint8_t)ppn);
        erase(s, 0, 1);
        program(s, 0, 7, 5, 5);
        fe_image_sync_now(s);
        fe_store_destroy(s);
        say_synced(synced);
        ft_pretend_another_host(path);
        if (synced < 4) {
            refused(EIO, "block 0 was erased behind program 4, and programmed since, but the status "
                         "says that only 3 programs were synced");
        } else {
            s = opened();
            load(s, 0, &b, p);
            assert_int_equal(b.erase_count, 1);
            assert_page(s, 0, 5);
            fe_store_destroy(s);
        }
        unlink(path);
    }
}

static void test_image_says_what_was_mended(void **state)
{
    (void)state;
    crash_after_an_erase();
    struct fe_store *s = opened();
    assert_string_equal(fe_store_image_note(s), "the host has crashed or is another one: 2 pages "
                        "dropped, 1 erases and 0 cache pages taken back");
    fe_store_destroy(s);
}

/* A crash has lost program 4, so an erase after it is taken back, without pages that lack their
 * bytes.  Mending is cut short by another crash: the next one comes to the same end. */
static void test_image_mending_is_cut_short(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 256; seed++) {
        struct fe_store_block b;
        struct fe_store_oob p[PPB];
        struct fe_store_file f = file(true);
        struct fe_store *s;
        struct fe_err err = {""};
        ft_io_fini(&host);
        ft_io_init(&host);
        crash_after_an_erase();
        host.log = true;
        host.changes_left = seed % 8;
        if (fe_store_image_open(&s, &f, &err) == 0)
            fe_store_destroy(s);
        host.changes_left = UINT64_MAX;
        ft_io_crash(&host, path, seed);
        ft_pretend_another_host(path);
        s = opened();
        load(s, 0, &b, p);
        assert_int_equal(b.erase_count, 0);
        assert_page(s, 0, 1);
        assert_int_equal(p[1].state, FE_STORE_ERASED);
        fe_store_destroy(s);
        unlink(path);
    }
}

/* The crash has left more on the disk than the status says: program 4, and the erase of its block behind it.
 * A start tells that before block 0 is programmed, because page 0 was what showed it.  If the host crashes
 * again, the erase is not one that nobody knows. */
static void test_image_start_tells_what_it_has_found(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 64; seed++) {
        struct fe_store_block b;
        struct fe_store_oob p[PPB];
        struct fe_store *s = made();
        for (fe_ppn ppn = 0; ppn < 3; ppn++)
            program(s, ppn, ppn, ppn + 1, (uint8_t)ppn);
        fe_image_sync_now(s);
        program(s, 3, 3, 4, 4);
        erase(s, 0, 1);
        fe_store_destroy(s);
        assert_int_equal(status().synced_seq, 3);
        ft_pretend_another_host(path);
        ft_io_fini(&host);
        ft_io_init(&host);
        host.log = true;
        s = opened();
        load_all(s);
        fe_store_loaded(s);
        program(s, 0, 7, 6, 6);
        fe_store_destroy(s);
        ft_io_crash(&host, path, seed);
        ft_pretend_another_host(path);
        s = opened();
        load(s, 0, &b, p);
        assert_int_equal(b.erase_count, 1);
        fe_store_destroy(s);
        unlink(path);
    }
}

/* Served without `sync`: block 0 was erased behind program 4, and has programs 5 and 6 since, and block 1 was
 * erased behind program 8.  Nothing of programs 1 to 4 is left, so no start may say that what it finds was
 * programmed in order from 1 on. */
static void serve_without_sync(bool is_clean)
{
    struct fe_store_file f = file(false);
    struct fe_store_what what = {.n_pages = PAGES, .page_bytes = PAGE, .pages_per_block = PPB,
                                 .profile = profile, .profile_bytes = sizeof profile - 1};
    struct fe_err err = {""};
    struct fe_store *s = NULL;
    assert_int_equal(fe_store_image_create(&s, &f, &what, &err), 0);
    assert_int_equal(fe_store_image_ready(s, &err), 0);
    for (fe_ppn ppn = 0; ppn < PPB; ppn++)
        program(s, ppn, ppn, ppn + 1, (uint8_t)ppn);
    erase(s, 0, 1);
    program(s, 0, 7, 5, 5);
    program(s, 1, 8, 6, 6);
    program(s, PPB, 10, 7, 7);
    program(s, PPB + 1, 11, 8, 8);
    erase(s, 1, 1);
    if (is_clean)
        assert_int_equal(fe_store_image_close(s, &err), 0);
    fe_store_destroy(s);
}

/* A server with `sync` follows one without, and the host crashes: before the server has looked at all
 * pages, when it has, or behind its first program.  When it has, it knows of the erase. */
static void test_image_order_begins_with_a_server_that_syncs(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 192; seed++) {
        struct fe_store_block b;
        struct fe_store_oob p[PPB];
        serve_without_sync(seed % 2);
        ft_io_fini(&host);
        ft_io_init(&host);
        host.log = true;
        struct fe_store *s = opened();
        if (seed % 3 > 0) {
            load_all(s);
            fe_store_loaded(s);
        }
        if (seed % 3 > 1)
            program(s, PPB, 12, 9, 9);
        fe_store_destroy(s);
        ft_io_crash(&host, path, seed);
        ft_pretend_another_host(path);
        s = opened();
        load(s, 0, &b, p);
        assert_int_equal(b.erase_count, 1);
        assert_page(s, 0, 5);
        assert_page(s, 1, 6);
        load(s, 1, &b, p);
        assert_true(b.erase_count == 1 || seed % 3 == 0);
        fe_store_destroy(s);
        unlink(path);
    }
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(test_image_drops_no_page_that_was_synced),
        T(test_image_knows_its_clock_or_is_refused),
        T(test_image_drops_no_page_that_cannot_be),
        T(test_image_believes_no_status_that_is_too_old),
        T(test_image_says_what_was_mended),
        T(test_image_mending_is_cut_short),
        T(test_image_start_tells_what_it_has_found),
        T(test_image_order_begins_with_a_server_that_syncs),
    };
    return cmocka_run_group_tests_name("image_mended", tests, NULL, NULL);
}
