/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Each call of the host fails once, by its number: while an image is made, opened, used and
 * closed.
 *
 * The runs do the same steps.  After each step the test knows what the image must hold.  When a
 * step has failed, the store must say so, and the next run must find the image as it was before
 * that step or after it, and nothing in between.
 */
#include "test_image.h"

enum { N_STEPS = 16, RAW = 20, CONTROL = 7 };

/* What an image holds; the pages have the value of their first byte. */
struct world {
    int page[PAGES]; /* -1: erased */
    uint32_t cycles[BLOCKS];
    int entry, control; /* entry: -1: empty */
    uint64_t trims;
};

static void put_entry(struct fe_store *s, struct world *w, fe_lpn lpn, uint8_t value)
{
    struct fe_store_entry v = {.order = value, .sectors = 3, .lpn = lpn};
    fe_store_entry_put(s, 1, &v, 0, PAGE, bytes(value));
    w->entry = value;
}

static void program_step(struct fe_store *s, struct world *w, fe_ppn ppn, uint64_t seq)
{
    program(s, ppn, ppn, seq, (uint8_t)(seq * 5));
    w->page[ppn] = (uint8_t)(seq * 5);
}

static void erase_step(struct fe_store *s, struct world *w, fe_peb peb)
{
    erase(s, peb, ++w->cycles[peb]);
    for (fe_ppn i = 0; i < PPB; i++)
        w->page[peb * PPB + i] = -1;
}

static void trim_step(struct fe_store *s, struct world *w, uint64_t trims)
{
    if (w->trims & ~trims)
        fe_store_forget_trims(s, 0, PAGES);
    else
        fe_store_set_trims(s, &trims, 0, 1);
    w->trims = trims;
}

static void do_step(struct fe_store *s, int step, struct world *w)
{
    struct fe_store_sync sync;
    switch (step) {
    case 0: case 1: case 2: case 3: /* one page after the other */
        program_step(s, w, (fe_ppn)step, (uint64_t)step + 1);
        break;
    case 4: case 5: case 8: /* into an empty entry; the same page; another page */
        put_entry(s, w, step < 8 ? 11 : 12, (uint8_t)(40 + step));
        break;
    case 6:
        sync = fe_store_sync_begin(s);
        fe_store_sync_end(s, sync, fe_store_sync_run(s));
        break;
    case 7:
        fe_store_entry_end(s, 1, true);
        w->entry = -1;
        w->trims = UINT64_C(1) << 11;
        break;
    case 9:
        erase_step(s, w, 0);
        break;
    case 10: /* over the erased block, after a sync */
        program_step(s, w, 0, 10);
        break;
    case 11: case 12:
        trim_step(s, w, step == 11 ? UINT64_C(0xe00800) : 0);
        break;
    case 13:
        w->control = CONTROL;
        fe_store_set_control(s, &(uint8_t){CONTROL}, 1);
        break;
    case 14: case 15: /* made, then changed in place */
        fe_store_overwrite(s, RAW, 0, 1, &(uint8_t){(uint8_t)step});
        w->page[RAW] = step;
        break;
    }
}

/* What the image holds: 0, or a negative errno with a message, if the host's calls fail. */
static int look(struct world *ret, struct fe_err *err)
{
    struct fe_store_file f = file(true);
    struct fe_store *s = NULL;
    struct fe_store_entry v;
    uint8_t buf[FE_STORE_CONTROL_BYTES + PAGE];
    memset(ret, 0, sizeof *ret);
    int r = fe_store_image_open(&s, &f, err);
    for (fe_peb peb = 0; r == 0 && peb < BLOCKS; peb++) {
        struct fe_store_block b;
        struct fe_store_oob p[PPB];
        r = fe_store_load_block(s, peb, &b, p, err);
        ret->cycles[peb] = b.erase_count;
        for (uint32_t i = 0; r == 0 && i < PPB; i++) {
            fe_ppn ppn = peb * PPB + i;
            bool is_there = p[i].state != FE_STORE_ERASED;
            ret->page[ppn] = -1;
            if (is_there && (r = fe_store_read(s, ppn, 0, PAGE, buf)) == 0)
                ret->page[ppn] = buf[0];
            if (r < 0)
                fe_err_set(err, EIO, "%s: page %u", path, ppn);
            if (r == 0 && p[i].state == FE_STORE_PROGRAMMED)
                assert_memory_equal(buf, bytes(buf[0]), PAGE);
        }
    }
    if (r == 0)
        r = fe_store_entry_load(s, 1, &v, buf, err);
    if (r == 0 && v.lpn != FE_LPN_NONE)
        assert_memory_equal(buf, bytes(buf[0]), PAGE);
    ret->entry = v.lpn == FE_LPN_NONE ? -1 : buf[0];
    if (r == 0)
        r = fe_store_load_trims(s, &ret->trims, err);
    if (r == 0 && v.lpn != FE_LPN_NONE)
        ret->trims &= ~(UINT64_C(1) << v.lpn); /* what the cache holds is newer */
    ret->control = r == 0 && fe_store_get_control(s, buf) > 0 ? buf[0] : 0;
    fe_store_destroy(s);
    return r;
}

static void start_faults(enum ft_call call, uint64_t at, int errnum)
{
    host.fail_call = call;
    host.fail_at = host.n[call] + at;
    host.fail_errno = errnum;
}

/* The steps, and the end of the run.  Returns the number of steps that were done; before[0] is what
 * the last of them has left, and before[1] what a step that failed would have. */
static int run_steps(struct world before[2], bool *ret_closed)
{
    struct fe_err err = {""};
    struct fe_store *s = opened();
    struct world w = {.entry = -1};
    int step = 0;
    memset(w.page, -1, sizeof w.page);
    before[0] = w;
    for (; step < N_STEPS; step++) {
        do_step(s, step, &w);
        before[1] = w;
        if (fe_store_failure(s, NULL) < 0)
            break;
        before[0] = w;
    }
    *ret_closed = fe_store_image_close(s, &err) == 0;
    if (!*ret_closed)
        assert_non_null(strstr(err.text, path));
    fe_store_destroy(s);
    return step;
}

/* One run with one fault.  False if the run has no such call any more. */
static bool run_with_fault(enum ft_call call, uint64_t at, int errnum)
{
    struct world want[2], has;
    struct fe_err err = {""};
    bool closed;
    ft_io_init(&host);
    fe_store_destroy(made());
    uint64_t before = host.n[call];
    fe_store_destroy(opened()); /* the calls of opening are for the next test */
    at += host.n[call] - before;
    start_faults(call, at, errnum);
    before = host.n[call];
    int done = run_steps(want, &closed);
    bool is_hit = host.n[call] - before >= at;
    host.fail_at = 0;
    if (look(&has, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(closed, !is_hit || errnum == EINTR);
    if (closed)
        assert_int_equal(done, N_STEPS);
    if (memcmp(&has, &want[0], sizeof has) != 0 && memcmp(&has, &want[1], sizeof has) != 0)
        fail_msg("call %d number %llu, errno %d: after %d steps the image is neither as before "
                 "the next step nor as after it", call, (unsigned long long)at, errnum, done);
    unlink(path);
    return is_hit;
}

static void test_image_every_call_of_a_run_fails(void **state)
{
    static const int errnums[] = {EIO, ENOSPC, EINTR};
    (void)state;
    for (int e = 0; e < 3; e++)
        for (enum ft_call call = FT_PWRITE; call <= FT_FDATASYNC; call++) {
            uint64_t at = 1;
            while (run_with_fault(call, at, errnums[e]))
                at++;
            assert_true(at > (call == FT_PWRITE ? 20 : 5));
        }
}

/* A read that fails: an error with a reason, or the data. */
static void test_image_every_call_of_opening_fails(void **state)
{
    static const enum ft_call calls[] = {FT_PREAD, FT_PWRITE, FT_FDATASYNC};
    struct world want[2], has;
    bool closed;
    (void)state;
    fe_store_destroy(made());
    run_steps(want, &closed);
    assert_true(closed);
    for (int c = 0; c < 3; c++)
        for (uint64_t at = 1;; at++) {
            struct fe_err err = {""};
            uint64_t before = host.n[calls[c]];
            start_faults(calls[c], at, EIO);
            int r = look(&has, &err);
            bool is_hit = host.n[calls[c]] - before >= at;
            host.fail_at = 0;
            assert_int_equal(r, is_hit ? -EIO : 0);
            if (is_hit)
                assert_non_null(strstr(err.text, path));
            assert_int_equal(look(&has, &err), 0);
            assert_memory_equal(&has, &want[0], sizeof has);
            if (!is_hit)
                break;
        }
}

static void test_image_signals_interrupt_every_call(void **state)
{
    struct world want[2], has;
    struct fe_err err = {""};
    bool closed;
    (void)state;
    for (enum ft_call call = FT_PREAD; call <= FT_FTRUNCATE; call++)
        for (uint64_t at = 1, n = UINT64_MAX; at <= n; at++) {
            ft_io_init(&host);
            host.longest = 1000;
            start_faults(call, at, EINTR);
            fe_store_destroy(made());
            assert_int_equal(run_steps(want, &closed), N_STEPS);
            assert_true(closed);
            assert_int_equal(look(&has, &err), 0);
            assert_memory_equal(&has, &want[0], sizeof has);
            n = host.n[call];
            unlink(path);
        }
}

/* A hole is a saving: whether the host can punch one makes no difference. */
static void test_image_no_hole_is_no_failure(void **state)
{
    enum { MIB = 1 << 20, BIG_PPB = 16, BIG_BLOCKS = 6 };
    static const char text[] = "x";
    struct fe_store_file f = file(true);
    struct fe_store_what what = {.n_pages = BIG_PPB * BIG_BLOCKS, .page_bytes = MIB,
                                 .pages_per_block = BIG_PPB, .profile = text, .profile_bytes = 1};
    struct fe_err err = {""};
    uint8_t *buf = calloc(1, MIB);
    (void)state;
    for (int fails = 0; fails < 2; fails++) {
        struct fe_store *s = NULL;
        ft_io_init(&host);
        host.fail_at = fails;
        host.fail_call = FT_PUNCH;
        host.fail_on = true;
        host.fail_errno = EOPNOTSUPP;
        assert_int_equal(fe_store_image_create(&s, &f, &what, &err), 0);
        assert_int_equal(fe_store_image_ready(s, &err), 0);
        for (fe_peb peb = 0; peb < BIG_BLOCKS; peb++) {
            memset(buf, 3, MIB);
            fe_store_write(s, peb * BIG_PPB, FE_PPN_NONE, 0, MIB, buf);
            fe_store_set_oob(s, peb * BIG_PPB, &(struct fe_store_oob){peb + 1, 0, 0,
                                                                      FE_STORE_PROGRAMMED, 0});
            fe_store_set_block(s, peb, &(struct fe_store_block){.erase_count = 1});
            struct fe_store_sync sync = fe_store_sync_begin(s);
            assert_int_equal(fe_store_sync_end(s, sync, fe_store_sync_run(s)), 0);
            fe_store_discard(s, peb);
            assert_int_equal(fe_store_read(s, peb * BIG_PPB, 0, MIB, buf), 0);
            for (uint32_t i = 0; i < MIB; i++)
                assert_int_equal(buf[i], 0);
        }
        assert_true(host.n[FT_PUNCH] >= 3);
        assert_int_equal(fe_store_failure(s, NULL), 0);
        assert_int_equal(fe_store_image_close(s, &err), 0);
        fe_store_destroy(s);
        unlink(path);
    }
    free(buf);
}

/* ---- the order of what is durable ---- */

static uint32_t header_state(void)
{
    struct fe_image_header h;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_int_equal(pread(fd, &h, sizeof h, 0), sizeof h);
    close(fd);
    return h.state;
}

/* A new image says that it is one, and an image that it is clean, only after a sync of the rest. */
static void test_image_says_nothing_too_early(void **state)
{
    struct fe_store_file f = file(true);
    struct fe_store_what what = {.n_pages = PAGES, .page_bytes = PAGE, .pages_per_block = PPB,
                                 .profile = profile, .profile_bytes = sizeof profile - 1};
    struct fe_err err = {""};
    struct fe_store *s = NULL;
    (void)state;
    assert_int_equal(fe_store_image_create(&s, &f, &what, &err), 0);
    program(s, 0, 1, 1, 1);
    start_faults(FT_FDATASYNC, 1, EIO);
    assert_int_equal(fe_store_image_ready(s, &err), -EIO);
    assert_int_equal(header_state(), FE_IMAGE_CREATING);
    fe_store_destroy(s);

    s = made();
    program(s, 0, 1, 1, 1);
    start_faults(FT_FDATASYNC, 1, EIO);
    assert_int_equal(fe_store_image_close(s, &err), -EIO);
    assert_int_equal(status().clean, 0);
    fe_store_destroy(s);

    s = opened();
    assert_int_equal(fe_store_image_close(s, &err), 0);
    assert_int_equal(status().clean, 1);
    fe_store_destroy(s);
}

/* From the moment at which it is open, an image is not clean, on the disk as well. */
static void test_image_is_not_clean_while_it_is_open(void **state)
{
    struct fe_err err = {""};
    struct fe_store *s = made();
    (void)state;
    assert_int_equal(fe_store_image_close(s, &err), 0);
    fe_store_destroy(s);
    assert_int_equal(status().clean, 1);
    for (uint64_t seed = 0; seed < 8; seed++) {
        host.log = true;
        s = opened();
        fe_store_destroy(s);
        ft_io_crash(&host, path, seed);
        assert_int_equal(status().clean, 0);
    }
}

/* What comes between begin and end of a sync is not said to be on the disk. */
static void test_image_a_sync_covers_what_was_before_it(void **state)
{
    struct fe_store *s = made();
    (void)state;
    program(s, 0, 1, 1, 1);
    program(s, 4, 1, 2, 2);
    struct fe_store_sync sync = fe_store_sync_begin(s);
    program(s, 5, 1, 3, 3);
    erase(s, 0, 1);
    assert_int_equal(fe_store_sync_end(s, sync, fe_store_sync_run(s)), 0);
    assert_int_equal(status().synced_seq, 2);
    uint64_t before = host.n[FT_FDATASYNC];
    program(s, 0, 1, 4, 4);
    assert_int_equal(host.n[FT_FDATASYNC], before + 2); /* of the erase, and of the status */
    assert_int_equal(status().synced_seq, 3);
    fe_store_destroy(s);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(test_image_every_call_of_a_run_fails),
        T(test_image_every_call_of_opening_fails),
        T(test_image_signals_interrupt_every_call),
        T(test_image_no_hole_is_no_failure),
        T(test_image_says_nothing_too_early),
        T(test_image_is_not_clean_while_it_is_open),
        T(test_image_a_sync_covers_what_was_before_it),
    };
    return cmocka_run_group_tests_name("image_faults", tests, NULL, NULL);
}
