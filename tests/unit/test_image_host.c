/* SPDX-License-Identifier: BSD-3-Clause
 *
 * An image on a host that fails: short writes, a full disk, errors, and what has to be
 * synced when.
 */
#include "lib/other_host.h"
#include "test_image.h"

#include <sys/stat.h>

static void test_image_survives_short_writes_and_reads(void **state)
{
    (void)state;
    host.longest = 7;
    struct fe_store *s = made();
    program(s, 0, 1, 1, 33);
    assert_page(s, 0, 33);
    fe_store_destroy(s);
    s = opened();
    load_all(s);
    assert_page(s, 0, 33);
    fe_store_destroy(s);
}

/* Every call of making an image fails once: an error, and no file is left. */
static void test_image_making_fails_cleanly(void **state)
{
    (void)state;
    for (enum ft_call call = FT_PWRITE; call <= FT_FTRUNCATE; call++)
        for (uint64_t at = 1;; at++) {
            struct fe_err err = {""};
            struct fe_store *s = NULL;
            ft_io_init(&host);
            host.fail_call = call;
            host.fail_at = at;
            host.fail_errno = ENOSPC;
            int r = make(&s, &err);
            if (host.n[call] < at) {
                assert_int_equal(r, 0);
                assert_true(at > 1);
                fe_store_destroy(s);
                unlink(path);
                break;
            }
            assert_int_equal(r, -ENOSPC);
            assert_non_null(strstr(err.text, "No space left"));
            assert_non_null(strstr(err.text, path));
            assert_int_equal(access(path, F_OK), -1);
        }
}

/* Nothing is tried behind the write that has failed. */
static void test_image_making_ends_with_the_first_failure(void **state)
{
    (void)state;
    struct fe_err err = {""};
    struct fe_store *s = NULL;
    host.fail_call = FT_PWRITE;
    host.fail_at = 1;
    host.fail_errno = ENOSPC;
    assert_int_equal(make(&s, &err), -ENOSPC);
    assert_int_equal(host.n[FT_FTRUNCATE], 1); /* the file was emptied, and not made long */
    assert_int_equal(host.n[FT_FDATASYNC], 0);
}

/* The disk is full at each write in turn: what was written before is there, what comes
 * after says so, and the file is what it was at that moment. */
static void test_image_stops_at_the_first_failure(void **state)
{
    (void)state;
    for (uint64_t at = 1; at <= 8; at++) {
        struct fe_store_block b;
        struct fe_store_oob p[PPB];
        uint8_t buf[PAGE];
        struct fe_err why = {""};
        ft_io_init(&host);
        struct fe_store *s = made();
        host.fail_call = FT_PWRITE;
        host.fail_at = host.n[FT_PWRITE] + at;
        host.fail_errno = ENOSPC; /* once: the next writes would succeed, and must not be tried */
        for (fe_ppn i = 0; i < PPB; i++)
            program(s, i, i, i + 1, (uint8_t)i);
        assert_int_equal(fe_store_failure(s, &why), -ENOSPC);
        assert_non_null(strstr(why.text, "No space left"));
        uint32_t kept = (uint32_t)(at - 1) / 2;
        for (fe_ppn i = 0; i < PPB; i++)
            if (i < kept)
                assert_page(s, i, (uint8_t)i);
            else
                assert_int_equal(fe_store_read(s, i, 0, PAGE, buf), -EIO);
        struct fe_err err = {""};
        assert_int_equal(fe_store_image_close(s, &err), -ENOSPC);
        fe_store_destroy(s);
        s = opened();
        load(s, 0, &b, p);
        for (fe_ppn i = 0; i < PPB; i++)
            assert_int_equal(p[i].state, i < kept ? FE_STORE_PROGRAMMED : FE_STORE_ERASED);
        fe_store_destroy(s);
        unlink(path);
    }
}

static void test_image_failed_sync_is_final(void **state)
{
    (void)state;
    struct fe_err why = {""};
    struct fe_store *s = made();
    program(s, 0, 1, 1, 1);
    host.fail_call = FT_FDATASYNC;
    host.fail_at = host.n[FT_FDATASYNC] + 1;
    host.fail_errno = EIO;
    struct fe_store_sync sync = fe_store_sync_begin(s);
    assert_int_equal(fe_store_sync_end(s, sync, fe_store_sync_run(s)), -EIO);
    assert_int_equal(fe_store_failure(s, &why), -EIO);
    assert_non_null(strstr(why.text, "fdatasync"));
    sync = fe_store_sync_begin(s); /* the next one would succeed, which means nothing */
    assert_int_equal(fe_store_sync_end(s, sync, fe_store_sync_run(s)), -EIO);
    fe_store_destroy(s);
}

/* The host has lost data.  A sync without the lock and one inside an operation overlap: both fail,
 * whichever comes first, and the image never says that the data are on the disk. */
static void test_image_both_kinds_of_sync_hear_of_lost_data(void **state)
{
    (void)state;
    for (int inside_first = 0; inside_first < 2; inside_first++) {
        struct fe_store_block b;
        struct fe_store_oob p[PPB];
        struct fe_err err = {""};
        uint8_t buf[PAGE];
        int r = 0;
        ft_io_init(&host);
        struct fe_store *s = made();
        program(s, 0, 1, 1, 1);
        erase(s, 0, 1);
        struct fe_store_sync sync = fe_store_sync_begin(s);
        host.lost = true;
        if (!inside_first)
            r = fe_store_sync_run(s);
        program(s, 0, 2, 2, 2); /* must wait for a sync of the erase */
        assert_int_equal(fe_store_failure(s, NULL), -EIO);
        assert_int_equal(fe_store_read(s, 0, 0, PAGE, buf), -EIO);
        if (inside_first)
            r = fe_store_sync_run(s);
        assert_int_equal(r, -EIO);
        assert_int_equal(fe_store_sync_end(s, sync, r), -EIO);
        assert_int_equal(fe_store_image_close(s, &err), -EIO);
        fe_store_destroy(s);
        assert_int_equal(status().synced_seq, 0);
        assert_int_equal(status().clean, 0);
        s = opened();
        load(s, 0, &b, p);
        assert_int_equal(b.erase_count, 1);
        assert_int_equal(p[0].state, FE_STORE_ERASED);
        fe_store_destroy(s);
        unlink(path);
    }
}

/* After a crash of the host the entry holds one of these versions of its page. */
static void assert_entry(fe_lpn lpn, uint8_t oldest, uint8_t newest, uint64_t seed)
{
    struct fe_store_entry v;
    struct fe_err err = {""};
    uint8_t buf[PAGE];
    ft_io_crash(&host, path, seed);
    ft_pretend_another_host(path);
    struct fe_store *s = opened();
    assert_int_equal(fe_store_entry_load(s, 1, &v, buf, &err), 0);
    assert_int_equal(v.lpn, lpn);
    assert_in_range(buf[0], oldest, newest);
    assert_memory_equal(buf, bytes(buf[0]), PAGE);
    fe_store_destroy(s);
}

static void put_entry(struct fe_store *s, fe_lpn lpn, uint8_t value)
{
    fe_store_entry_put(s, 1, &(struct fe_store_entry){.order = value, .sectors = 3, .lpn = lpn}, 0,
                       PAGE, bytes(value));
}

/* A client flushes, and while its sync runs another one changes the cached page.  The crash comes
 * before the sync ends or after it. */
static void test_image_changes_a_cached_page_while_it_is_synced(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 64; seed++) {
        bool has_ended = seed % 2;
        ft_io_fini(&host);
        ft_io_init(&host);
        struct fe_store *s = made();
        host.log = true;
        put_entry(s, 4, 50);
        fe_image_sync_now(s);
        put_entry(s, 4, 51);
        struct fe_store_sync sync = fe_store_sync_begin(s);
        int r = has_ended ? fe_store_sync_run(s) : 0;
        put_entry(s, 4, 52);
        if (has_ended)
            assert_int_equal(fe_store_sync_end(s, sync, r), 0);
        fe_store_destroy(s);
        assert_entry(4, has_ended ? 51 : 50, 52, seed);
        unlink(path);
    }
}

/* Another page comes into an entry only when the end of the page before is on the disk. */
static void test_image_syncs_the_end_of_a_cached_page(void **state)
{
    (void)state;
    struct fe_store *s = made();
    put_entry(s, 4, 50);
    fe_store_entry_end(s, 1, false);
    uint64_t before = host.n[FT_FDATASYNC];
    put_entry(s, 5, 51);
    assert_int_equal(host.n[FT_FDATASYNC], before + 1);
    put_entry(s, 5, 52);
    assert_int_equal(host.n[FT_FDATASYNC], before + 1);
    fe_store_destroy(s);
}

/* A cached page is trimmed, and the host crashes: the cache has the page, or it is trimmed. */
static void test_image_trim_of_a_cached_page(void **state)
{
    (void)state;
    int n_held = 0, n_trimmed = 0;
    for (uint64_t seed = 0; seed < 64; seed++) {
        struct fe_store_entry v;
        struct fe_err err = {""};
        uint64_t trims = 1 << 4;
        ft_io_fini(&host);
        ft_io_init(&host);
        struct fe_store *s = made();
        host.log = true;
        put_entry(s, 4, 50);
        fe_image_sync_now(s);
        fe_store_entry_end(s, 1, true);
        fe_store_set_trims(s, &trims, 0, 1);
        fe_store_destroy(s);
        ft_io_crash(&host, path, seed);
        ft_pretend_another_host(path);
        s = opened();
        load_all(s);
        assert_int_equal(fe_store_load_trims(s, &trims, &err), 0);
        assert_int_equal(fe_store_entry_load(s, 1, &v, NULL, &err), 0);
        assert_true(v.lpn == 4 || trims == 1 << 4); /* or both: the end of the entry is lost */
        n_held += v.lpn == 4 && trims == 0;
        n_trimmed += v.lpn != 4;
        fe_store_destroy(s);
        unlink(path);
    }
    assert_in_range(n_held, 1, 63);
    assert_in_range(n_trimmed, 1, 63);
}

/* A cached page is trimmed, and the server is killed between any two writes: the cache has the page, or it
 * is trimmed.  Else an older copy on the flash would come back. */
static void test_image_kill_while_a_cached_page_is_trimmed(void **state)
{
    (void)state;
    int n_held = 0, n_trimmed = 0;
    for (uint64_t changes = 0; changes < 5; changes++) {
        struct fe_store_entry v;
        struct fe_err err = {""};
        uint64_t trims = 1 << 4;
        struct fe_store *s = made();
        program(s, 0, 4, 1, 1);
        put_entry(s, 4, 50);
        host.changes_left = changes;
        fe_store_entry_end(s, 1, true);
        fe_store_set_trims(s, &trims, 0, 1);
        fe_store_destroy(s);
        host.changes_left = UINT64_MAX;
        s = opened();
        load_all(s);
        assert_int_equal(fe_store_load_trims(s, &trims, &err), 0);
        assert_int_equal(fe_store_entry_load(s, 1, &v, NULL, &err), 0);
        assert_true(v.lpn == 4 || trims == 1 << 4);
        n_held += v.lpn == 4;
        n_trimmed += v.lpn != 4;
        fe_store_destroy(s);
        unlink(path);
    }
    assert_int_equal(n_held, 2);
    assert_int_equal(n_trimmed, 3);
}

/* A page that the host has garbled was put aside for a cut, which brings it back: it can be read neither
 * then nor after a restart. */
static void test_image_a_garbled_page_is_not_mended_by_a_cut(void **state)
{
    (void)state;
    struct fe_store_block b;
    struct fe_store_oob p[PPB];
    struct fe_aside aside;
    uint8_t buf[PAGE];
    struct fe_store *s = made();
    program(s, PAGES - 1 - 3, 1, 1, 1);
    program(s, PAGES - 1 - 2, 2, 2, 2);
    fe_store_destroy(s);
    ft_flip_byte(path, -3 * PAGE + 17);
    s = opened();
    load_all(s);
    fe_store_set_block(s, BLOCKS - 1, &(struct fe_store_block){.erase_count = 1});
    for (fe_ppn ppn = PAGES - 4; ppn < PAGES - 2; ppn++) {
        assert_int_equal(fe_store_put_aside(s, ppn, &aside), 0);
        program(s, ppn, ppn, ppn, 60);
        fe_store_forget(s, ppn, 1);
        fe_store_put_back(s, ppn, &aside);
        fe_store_put_back_oob(s, ppn, &(struct fe_store_oob){ppn - PAGES + 5, ppn - PAGES + 5, 3,
                              FE_STORE_PROGRAMMED, 0}, 0);
    }
    fe_store_set_block(s, BLOCKS - 1, &(struct fe_store_block){.erase_count = 0});
    for (int again = 0; again < 2; again++) {
        assert_page(s, PAGES - 4, 1);
        assert_int_equal(fe_store_read(s, PAGES - 3, 0, PAGE, buf), -EIO);
        fe_store_destroy(s);
        s = opened();
        load(s, BLOCKS - 1, &b, p);
        assert_int_equal(p[1].lpn, 2);
    }
    fe_store_destroy(s);
}

static void test_image_without_sync_never_syncs(void **state)
{
    (void)state;
    struct fe_store_file f = file(false);
    struct fe_err err = {""};
    struct fe_store *s = NULL;
    fe_store_destroy(made());
    uint64_t before = host.n[FT_FDATASYNC];
    assert_int_equal(fe_store_image_open(&s, &f, &err), 0);
    load_all(s);
    erase(s, 0, 1);
    program(s, 0, 1, 1, 1);
    struct fe_store_sync sync = fe_store_sync_begin(s);
    assert_int_equal(fe_store_sync_end(s, sync, fe_store_sync_run(s)), 0);
    assert_int_equal(fe_store_image_close(s, &err), 0);
    fe_store_destroy(s);
    assert_int_equal(host.n[FT_FDATASYNC], before);
}

static void test_image_syncs_before_an_erased_block_is_overwritten(void **state)
{
    (void)state;
    struct fe_store *s = made();
    program(s, 0, 1, 1, 1);
    uint64_t before = host.n[FT_FDATASYNC];
    erase(s, 0, 1);
    assert_int_equal(host.n[FT_FDATASYNC], before);
    program(s, 4, 2, 2, 2); /* another block: it need not wait */
    assert_int_equal(host.n[FT_FDATASYNC], before);
    program(s, 0, 3, 3, 3); /* the erase, and a status that says so */
    assert_int_equal(host.n[FT_FDATASYNC], before + 2);
    program(s, 1, 3, 4, 4);
    assert_int_equal(host.n[FT_FDATASYNC], before + 2);
    fe_store_destroy(s);
}

/* A power cut takes an erase back.  What was put back into the pages is on the disk before the record
 * that makes them count, and the record before anything else. */
static void test_image_syncs_when_an_erase_is_taken_back(void **state)
{
    (void)state;
    for (int is_down = 0; is_down < 2; is_down++) {
        struct fe_store_block b;
        struct fe_store_oob p[PPB];
        struct fe_store *s = made();
        program(s, 0, 1, 1, 1);
        erase(s, 0, 1);
        program(s, 0, 2, 2, 2);
        fe_store_write(s, 0, FE_PPN_NONE, 0, PAGE, bytes(1));
        fe_store_put_back_oob(s, 0, &(struct fe_store_oob){1, 1, 3, FE_STORE_PROGRAMMED, 0}, 0);
        uint64_t before = host.n[FT_FDATASYNC];
        if (is_down)
            host.changes_left = 1; /* the first sync; the host goes down before the record */
        fe_store_set_block(s, 0, &(struct fe_store_block){.erase_count = 0});
        host.changes_left = UINT64_MAX;
        assert_int_equal(host.n[FT_FDATASYNC], before + 2);
        fe_store_destroy(s);
        s = opened();
        load(s, 0, &b, p);
        assert_int_equal(b.erase_count, is_down ? 1 : 0);
        fe_store_destroy(s);
        unlink(path);
    }
}

/* A crash has left an entry of a page that the device does not have: who loads it has to refuse it. */
static void test_image_mends_around_an_entry_of_no_page(void **state)
{
    (void)state;
    struct fe_err err = {""};
    struct fe_store_entry v;
    uint8_t buf[PAGE];
    struct fe_store *s = made();
    put_entry(s, FE_LPN_NONE - 9, 50);
    fe_store_destroy(s);
    ft_pretend_another_host(path);
    s = opened();
    assert_int_equal(fe_store_entry_load(s, 1, &v, buf, &err), 0);
    assert_int_equal(v.lpn, FE_LPN_NONE - 9);
    fe_store_destroy(s);
}

/* Makes an image with two pages that are programmed already, on a host that fails at the sync with
 * this number and then crashes.  Another link keeps the file, which is removed after a failure.
 * False if there are fewer syncs. */
static bool crash_while_making(uint64_t at, uint64_t seed)
{
    struct fe_store_file f = file(true);
    struct fe_store_what what = {.n_pages = PAGES, .page_bytes = PAGE, .pages_per_block = PPB,
                                 .capacity = 10 * PAGE, .profile = profile,
                                 .profile_bytes = sizeof profile - 1};
    struct fe_err err = {""};
    struct fe_store *s = NULL;
    char kept[sizeof path + 8];
    snprintf(kept, sizeof kept, "%s.kept", path);
    host.log = true;
    host.fail_call = FT_FDATASYNC;
    host.fail_errno = EIO;
    assert_int_equal(fe_store_image_create(&s, &f, &what, &err), 0);
    assert_int_equal(link(path, kept), 0);
    program(s, 0, 5, 1, 11);
    program(s, 4, 6, 2, 22);
    host.fail_at = host.n[FT_FDATASYNC] + at;
    int r = fe_store_image_ready(s, &err);
    fe_store_destroy(s);
    if (r < 0)
        ft_io_crash(&host, kept, seed);
    unlink(path); /* it is still there if nothing failed */
    assert_int_equal(rename(kept, path), 0);
    return r < 0;
}

/* An image that says that it is ready has all of its pages. */
static void test_image_crash_of_the_host_while_making(void **state)
{
    (void)state;
    int refusals = 0, crashes = 0;
    for (uint64_t seed = 1; seed <= 40; seed++)
        for (uint64_t at = 1;; at++) {
            struct fe_store_file f = file(true);
            struct fe_store_block b;
            struct fe_store_oob p[PPB];
            struct fe_store *s = NULL;
            struct fe_err err = {""};
            ft_io_init(&host);
            bool crashed = crash_while_making(at, seed);
            crashes += crashed;
            ft_io_fini(&host);
            ft_io_init(&host);
            if (fe_store_image_open(&s, &f, &err) < 0) {
                assert_true(crashed);
                refusals++;
            } else {
                load(s, 0, &b, p);
                assert_int_equal(p[0].state, FE_STORE_PROGRAMMED);
                load(s, 1, &b, p);
                assert_int_equal(p[0].state, FE_STORE_PROGRAMMED);
                assert_page(s, 0, 11);
                assert_page(s, 4, 22);
                fe_store_destroy(s);
            }
            unlink(path);
            if (!crashed)
                break;
        }
    assert_true(crashes >= 80 && refusals >= 40 && refusals < crashes);
}

/* In the place of the host's: it counts. */
static uint32_t n_folder_syncs;

int fsync(int fd)
{
    struct stat st;
    n_folder_syncs += fstat(fd, &st) == 0 && S_ISDIR(st.st_mode);
    return 0;
}

/* A server was killed while it made the image, so the file is there, and nobody has synced its name. */
static void test_image_syncs_its_folder_also_when_it_is_made_again(void **state)
{
    (void)state;
    struct fe_store_file f = file(true);
    struct fe_store_what what = {.n_pages = PAGES, .page_bytes = PAGE, .pages_per_block = PPB,
                                 .capacity = 10 * PAGE, .profile = profile,
                                 .profile_bytes = sizeof profile - 1};
    struct fe_err err = {""};
    struct fe_store *s = NULL;
    char kept[sizeof path + 8];
    snprintf(kept, sizeof kept, "%s.kept", path);
    assert_int_equal(fe_store_image_create(&s, &f, &what, &err), 0);
    assert_int_equal(link(path, kept), 0);
    fe_store_destroy(s);
    assert_int_equal(rename(kept, path), 0);
    n_folder_syncs = 0;
    fe_store_destroy(made());
    assert_int_equal(n_folder_syncs, 1);
    fe_store_destroy(opened());
    assert_int_equal(n_folder_syncs, 1);
}

/* A few writes of the host for a whole device, whatever was trimmed before. */
static void test_image_trims_are_written_together(void **state)
{
    enum { N = 100000, WORDS = N / 64 + 1, AT_MOST = N / 4096 + 2 };
    (void)state;
    struct fe_store_file f = file(true);
    struct fe_store_what what = {.n_pages = N, .page_bytes = 512, .pages_per_block = 10,
                                 .profile = profile, .profile_bytes = sizeof profile - 1};
    struct fe_err err = {""};
    struct fe_store *s = NULL;
    uint64_t *words = calloc(WORDS, 8), *found = calloc(WORDS, 8);
    assert_int_equal(fe_store_image_create(&s, &f, &what, &err), 0);
    assert_int_equal(fe_store_image_ready(s, &err), 0);
    uint64_t before = host.n[FT_PWRITE];
    words[20] = 0x11; /* two pages apart from each other */
    fe_store_set_trims(s, words + 20, 20, 1);
    assert_int_equal(host.n[FT_PWRITE], before + 2);
    for (uint32_t i = 1; i < 640; i += 2)
        words[i / 64] |= UINT64_C(1) << i % 64;
    fe_store_set_trims(s, words, 0, 10);
    before = host.n[FT_PWRITE];
    for (uint32_t i = 1; i < N - 1; i++)
        words[i / 64] |= UINT64_C(1) << i % 64;
    fe_store_set_trims(s, words, 0, WORDS);
    assert_in_range(host.n[FT_PWRITE] - before, N / 4096, AT_MOST);
    before = host.n[FT_PWRITE];
    fe_store_set_trims(s, words, 0, WORDS); /* nothing new */
    assert_int_equal(host.n[FT_PWRITE], before);
    fe_store_destroy(s);
    assert_int_equal(fe_store_image_open(&s, &f, &err), 0);
    assert_int_equal(fe_store_load_trims(s, found, &err), 0);
    assert_memory_equal(found, words, WORDS * 8);
    before = host.n[FT_PWRITE];
    fe_store_forget_trims(s, 0, N);
    assert_in_range(host.n[FT_PWRITE] - before, N / 4096, AT_MOST);
    assert_int_equal(fe_store_load_trims(s, found, &err), 0);
    for (uint32_t i = 0; i < WORDS; i++)
        assert_int_equal(found[i], 0);
    fe_store_destroy(s);
    free(words);
    free(found);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(test_image_survives_short_writes_and_reads),
        T(test_image_making_fails_cleanly),
        T(test_image_making_ends_with_the_first_failure),
        T(test_image_stops_at_the_first_failure),
        T(test_image_failed_sync_is_final),
        T(test_image_both_kinds_of_sync_hear_of_lost_data),
        T(test_image_changes_a_cached_page_while_it_is_synced),
        T(test_image_syncs_the_end_of_a_cached_page),
        T(test_image_trim_of_a_cached_page),
        T(test_image_kill_while_a_cached_page_is_trimmed),
        T(test_image_a_garbled_page_is_not_mended_by_a_cut),
        T(test_image_without_sync_never_syncs),
        T(test_image_syncs_before_an_erased_block_is_overwritten),
        T(test_image_syncs_when_an_erase_is_taken_back),
        T(test_image_mends_around_an_entry_of_no_page),
        T(test_image_crash_of_the_host_while_making),
        T(test_image_syncs_its_folder_also_when_it_is_made_again),
        T(test_image_trims_are_written_together),
    };
    return cmocka_run_group_tests_name("image_host", tests, NULL, NULL);
}
