/* SPDX-License-Identifier: BSD-3-Clause
 *
 * An image keeps the device's clock, and everything that counts over the device's life: a device
 * that was closed or killed in between does the same as one that was never restarted.
 */
#include "lib/device.h"
#include "lib/fault_io.h"
#include "lib/other_host.h"
#include "lib/unit.h"

#include "device/internal.h"
#include "store/image.h"
#include "store/image_extra.h"
#include "store/image_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PAGE    UINT64_C(2048)
#define YEAR_NS UINT64_C(31536000000000000)
#define MS      UINT64_C(1000000)

enum end { CLOSE, KILL };

static char path[64];
static uint8_t data[PAGE];

static struct fe_device *make(const struct fe_profile *p, const struct fe_io *io, bool sync)
{
    const struct fe_store_file file = {.path = path, .sync = sync, .io = io};
    const struct fe_device_options opt = {
        .seed = 1, .payload = true, .power_cuts = true, .file = &file};
    struct fe_device *dev = NULL;
    struct fe_err err = {""};
    if (fe_device_create(&dev, p, &opt, &err) < 0)
        fail_msg("%s", err.text);
    return dev;
}

static struct fe_device *again(struct fe_device *dev, const struct fe_profile *p, enum end end)
{
    struct fe_err err = {""};
    if (end == CLOSE && fe_device_close(dev, &err) < 0)
        fail_msg("%s", err.text);
    fe_device_destroy(dev);
    return make(p, NULL, false);
}

/* A request that may fail. */
static struct fe_reply run(struct fe_device *dev, enum fe_req_type type, uint64_t page)
{
    struct fe_request req = {.type = type, .offset = page * PAGE, .len = PAGE, .buf = data};
    struct fe_reply reply;
    assert_int_equal(fe_device_submit(dev, fe_device_now(dev), &req, &reply), 0);
    return reply;
}

static int setup(void **state)
{
    (void)state;
    snprintf(path, sizeof path, "/tmp/fe-lifetime-XXXXXX");
    int fd = mkstemp(path);
    return fd < 0 || close(fd) < 0 || unlink(path) < 0 ? -1 : 0;
}

static int teardown(void **state)
{
    (void)state;
    return unlink(path) < 0 && errno != ENOENT ? -1 : 0;
}

static void test_lifetime_clock_goes_on(void **state)
{
    (void)state;
    struct fe_profile p = ft_device_profile("page");
    struct fe_device *dev = make(&p, NULL, false);
    assert_int_equal(fe_device_now(dev), 0);
    for (enum end end = CLOSE; end <= KILL; end++) {
        run(dev, FE_REQ_WRITE, 3);
        uint64_t now = fe_device_now(dev);
        dev = again(dev, &p, end);
        assert_int_equal(fe_device_now(dev), now);
        run(dev, FE_REQ_READ, 3);
        assert_true(fe_device_now(dev) > now);
        now = fe_device_now(dev);
        dev = again(dev, &p, end);
        assert_int_equal(fe_device_now(dev), now);
        fe_device_idle(dev, now + 5 * YEAR_NS);
        dev = again(dev, &p, end);
        assert_int_equal(fe_device_now(dev), now + 5 * YEAR_NS);
        /* the years were over before: nothing that comes now is 5 years of work */
        struct fe_stats stats;
        fe_device_get_stats(dev, &stats);
        assert_int_equal(stats.busy_ns, 0);
        assert_int_equal(run(dev, FE_REQ_READ, 3).arrival_ns, now + 5 * YEAR_NS);
    }
    fe_device_destroy(dev);
}

static uint64_t unreadable(struct fe_device *dev, uint32_t n)
{
    uint64_t bad = 0;
    for (uint32_t page = 0; page < n; page++)
        bad += run(dev, FE_REQ_READ, page).status == FE_UNCORRECTABLE;
    return bad;
}

/* Written at the time 0, which is a date like any other. */
static void test_lifetime_data_stay_as_old_as_they_are(void **state)
{
    (void)state;
    struct fe_profile p = ft_device_profile("page");
    p.nand.endurance = 100;
    p.wear.correctable_bits = 1;
    p.wear.codeword_size = 512;
    p.wear.ber.retention = 2000000000;
    for (enum end end = CLOSE; end <= KILL; end++) {
        (void)unlink(path);
        struct fe_device *dev = make(&p, NULL, false);
        for (uint32_t page = 0; page < 8; page++)
            ft_device_submit(dev, FE_REQ_WRITE, 0, page * PAGE, PAGE, data, false);
        assert_int_equal(unreadable(dev, 8), 0);
        fe_device_idle(dev, 45 * YEAR_NS);
        uint64_t bad = unreadable(dev, 8);
        assert_true(bad > 0);
        dev = again(dev, &p, end);
        assert_int_equal(unreadable(dev, 8), bad);
        fe_device_destroy(dev);
    }
}

/* While nobody asks for the age of data, nobody dates them. */
static void test_lifetime_of_data_without_a_date(void **state)
{
    (void)state;
    struct fe_profile p = ft_device_profile("page"), ages = p;
    p.nand.endurance = ages.nand.endurance = 100;
    ages.wear.correctable_bits = 1;
    ages.wear.codeword_size = 512;
    ages.wear.ber.retention = 2000000000;
    struct fe_device *dev = make(&p, NULL, false);
    fe_device_idle(dev, 45 * YEAR_NS);
    for (uint32_t page = 0; page < 8; page++)
        run(dev, FE_REQ_WRITE, page);
    dev = again(dev, &ages, CLOSE);
    assert_int_equal(unreadable(dev, 8), 0); /* not 45 years old */
    fe_device_idle(dev, 90 * YEAR_NS);
    uint64_t bad = unreadable(dev, 8);
    assert_true(bad > 0);
    dev = again(dev, &ages, CLOSE);
    assert_int_equal(unreadable(dev, 8), bad); /* and dated once only */
    fe_device_destroy(dev);
}

static void test_lifetime_keeps_reads_at_the_end_of_a_run(void **state)
{
    (void)state;
    struct fe_profile p = ft_device_profile("page");
    p.wear.codeword_size = 512;
    p.wear.ber.disturb = 1;
    struct fe_device *dev = make(&p, NULL, false);
    run(dev, FE_REQ_WRITE, 0);
    for (int i = 0; i < 17; i++)
        run(dev, FE_REQ_READ, 0);
    dev = again(dev, &p, CLOSE);
    uint32_t most = 0;
    for (fe_peb peb = 0; peb < dev->medium->geo.n_pebs; peb++)
        most = fe_medium_reads(dev->medium, peb) > most ? fe_medium_reads(dev->medium, peb) : most;
    assert_in_range(most, 17, 19); /* power-on may read, too */
    fe_device_destroy(dev);
}

/* How many blocks have become bad after each of n writes. */
static void write_and_look(struct fe_device **dev, const struct fe_profile *p, int restart_at,
                           enum end end, uint8_t *bad, int n)
{
    for (int i = 0; i < n; i++) {
        struct fe_stats stats;
        if (i == restart_at)
            *dev = again(*dev, p, end);
        assert_int_equal(run(*dev, FE_REQ_WRITE, (uint64_t)i % 40).status, FE_OK);
        fe_device_get_stats(*dev, &stats);
        bad[i] = (uint8_t)stats.bad_grown;
    }
}

/* The program with a number fails once in a life, wherever a run ends, and so does the erase. */
static void test_lifetime_faults_with_a_number(void **state)
{
    enum { N = 300 };
    (void)state;
    for (int kind = 0; kind < 2; kind++) {
        struct fe_profile p = ft_device_profile("page");
        uint8_t want[N], got[N];
        p.wear.spare_blocks = 2;
        p.device.capacity = 80 << 10;
        p.wear.fail_program = kind == 0 ? 57 : 0;
        p.wear.fail_erase = kind == 1 ? 9 : 0;
        struct fe_device *dev = make(&p, NULL, false);
        write_and_look(&dev, &p, -1, KILL, want, N);
        assert_int_equal(want[0], 0);
        assert_int_equal(want[N - 1], 1);
        if (kind == 0)
            assert_true(want[55] == 0 && want[56] == 1);
        fe_device_destroy(dev);
        for (int at = 1; at < N; at += 7) {
            unlink(path);
            dev = make(&p, NULL, false);
            write_and_look(&dev, &p, at, at % 2 ? KILL : CLOSE, got, N);
            if (kind == 0 && memcmp(got, want, N) != 0)
                fail_msg("a restart at %d changes what fails", at);
            assert_int_equal(got[N - 1], 1); /* where erases fall may differ after a restart */
            fe_device_destroy(dev);
        }
        unlink(path);
    }
}

/* A server is killed between any two writes to the image, and one of them is in the middle of the
 * fault: it does not come a second time. */
static void test_lifetime_a_fault_never_strikes_twice(void **state)
{
    uint32_t struck = 0, writes = 0;
    (void)state;
    for (int kind = 0; kind < 2; kind++) {
        struct fe_profile p = ft_device_profile("page");
        p.wear.spare_blocks = 3;
        p.device.capacity = 80 << 10;
        p.wear.fail_program = kind == 0 ? 5 : 0;
        p.wear.fail_erase = kind == 1 ? 1 : 0;
        for (uint64_t killed_at = 1;; killed_at++) {
            struct fe_stats stats;
            struct ft_io io;
            uint32_t i = 0;
            unlink(path);
            ft_io_init(&io);
            struct fe_device *dev = make(&p, &io.io, false);
            io.fail_call = FT_PWRITE;
            io.fail_at = io.n[FT_PWRITE] + killed_at;
            io.fail_errno = EIO;
            io.fail_on = true;
            while (i < 250 && run(dev, FE_REQ_WRITE, i % 40).status == FE_OK)
                i++;
            fe_device_destroy(dev);
            ft_io_fini(&io);
            dev = make(&p, NULL, false);
            for (uint32_t k = 0; k < 250; k++)
                assert_int_equal(run(dev, FE_REQ_WRITE, k % 40).status, FE_OK);
            fe_device_get_stats(dev, &stats);
            assert_in_range(stats.bad_grown, 0, 1);
            struck += (uint32_t)stats.bad_grown;
            writes++;
            fe_device_destroy(dev);
            if (i == 250)
                break;
        }
    }
    assert_true(struck > writes - 8); /* nearly always once: not never */
}

/* What `used` stands for was before the first power-on.  And a number that is set later counts from
 * there as well. */
static void test_lifetime_begins_with_the_first_power_on(void **state)
{
    (void)state;
    struct fe_profile p = ft_device_profile("page");
    struct fe_stats stats;
    struct fe_err err = {""};
    p.device.used = 20 * PAGE;
    p.wear.spare_blocks = 2;
    p.device.capacity = 80 << 10;
    p.wear.fail_program = 3;
    struct fe_device *dev = make(&p, NULL, false);
    for (int i = 0; i < 3; i++) {
        fe_device_get_stats(dev, &stats);
        assert_int_equal(stats.bad_grown, 0);
        run(dev, FE_REQ_WRITE, 30);
    }
    fe_device_get_stats(dev, &stats);
    assert_int_equal(stats.bad_grown, 1);
    uint64_t n = fe_medium_lifetime(dev->medium).n_programs;
    char number[24];
    p.wear.fail_program = 0;
    dev = again(dev, &p, KILL);
    run(dev, FE_REQ_WRITE, 30);
    assert_int_equal(fe_medium_lifetime(dev->medium).n_programs, n + 1);
    snprintf(number, sizeof number, "%llu", (unsigned long long)n + 3);
    assert_int_equal(fe_device_set(dev, "faults.fail:program_number", number, &err), 0);
    run(dev, FE_REQ_WRITE, 30);
    fe_device_get_stats(dev, &stats);
    assert_int_equal(stats.bad_grown, 1);
    run(dev, FE_REQ_WRITE, 30);
    fe_device_get_stats(dev, &stats);
    assert_int_equal(stats.bad_grown, 2);
    fe_device_destroy(dev);
}

/* After which of n writes power was off.  It is switched on again each time. */
static void write_and_cut(struct fe_device **dev, const struct fe_profile *p, int every,
                          uint8_t *cut, int n)
{
    for (int i = 0; i < n; i++) {
        uint64_t ready;
        if (every && i % every == 0)
            *dev = again(*dev, p, i % 2 ? KILL : CLOSE);
        cut[i] = run(*dev, FE_REQ_WRITE, (uint64_t)i % 40).status == FE_NO_POWER;
        fe_device_idle(*dev, fe_device_now(*dev));
        if (!fe_device_has_power(*dev))
            assert_int_equal(fe_device_power_on(*dev, fe_device_now(*dev), &ready, NULL), 0);
    }
}

static void test_lifetime_draws_for_each_write_once(void **state)
{
    enum { N = 400 };
    uint8_t want[N], got[N];
    (void)state;
    struct fe_profile p = ft_device_profile("page");
    p.power.cut_ppm = 50000;
    struct fe_device *dev = make(&p, NULL, false);
    write_and_cut(&dev, &p, 0, want, N);
    fe_device_destroy(dev);
    unlink(path);
    dev = make(&p, NULL, false);
    write_and_cut(&dev, &p, 13, got, N);
    uint32_t n = 0;
    for (int i = 0; i < N; i++)
        n += want[i];
    assert_in_range(n, 10, 30);
    assert_memory_equal(got, want, N);
    fe_device_destroy(dev);
}

static void test_lifetime_time_of_a_cut_comes_once(void **state)
{
    (void)state;
    struct fe_profile p = ft_device_profile("page");
    struct fe_tally tally;
    p.power.cut_time_ns = 7 * MS;
    for (enum end end = CLOSE; end <= KILL; end++) {
        unlink(path);
        struct fe_device *dev = make(&p, NULL, false);
        fe_device_idle(dev, 5 * MS);
        dev = again(dev, &p, end); /* it is still to come */
        fe_device_idle(dev, 6 * MS);
        assert_true(fe_device_has_power(dev));
        fe_device_idle(dev, 9 * MS);
        assert_false(fe_device_has_power(dev));
        dev = again(dev, &p, end);
        fe_device_get_tally(dev, &tally);
        assert_true(tally.is_on && tally.cuts == 1 && tally.last_cut_ns == 7 * MS);
        fe_device_idle(dev, 20 * MS);
        assert_int_equal(fe_device_cuts(dev), 1);
        fe_device_destroy(dev);
    }
}

static void test_lifetime_requests_count_from_power_on(void **state)
{
    (void)state;
    struct fe_profile p = ft_device_profile("page");
    uint64_t ready;
    p.manners = (struct fe_manners_params){.hang_ns = 5 * MS, .hang_request = 2};
    struct fe_device *dev = ft_device_make(&p, true);
    for (int life = 0; life < 2; life++) {
        for (int i = 1; i <= 3; i++) {
            struct fe_reply r = run(dev, FE_REQ_READ, 0);
            assert_int_equal(r.complete_ns - r.arrival_ns >= 5 * MS, i == 2);
        }
        assert_int_equal(fe_device_cut_power(dev, fe_device_now(dev), NULL), 0);
        assert_int_equal(fe_device_power_on(dev, fe_device_now(dev), &ready, NULL), 0);
    }
    fe_device_destroy(dev);
}

/* ---- the record ---- */

static void set(struct fe_store *s, uint64_t clock)
{
    const uint64_t numbers[FE_IMAGE_LIFETIME_NUMBERS] = {clock};
    fe_store_set_lifetime(s, numbers);
}

static uint64_t get(const struct fe_store *s)
{
    uint64_t numbers[FE_IMAGE_LIFETIME_NUMBERS];
    fe_store_get_lifetime(s, numbers);
    return numbers[0];
}

static struct fe_store *open_store(const struct fe_io *io, bool is_new, int want)
{
    const struct fe_store_file file = {.path = path, .sync = true, .io = io};
    const struct fe_store_what what = {.n_pages = 8, .page_bytes = 512, .pages_per_block = 4,
                                       .capacity = 512, .profile = "x\n", .profile_bytes = 2};
    struct fe_store *s = NULL;
    struct fe_err err = {""};
    int r = is_new ? fe_store_image_create(&s, &file, &what, &err)
                   : fe_store_image_open(&s, &file, &err);
    if (r == 0 && is_new)
        r = fe_store_image_ready(s, &err);
    if (r != want)
        fail_msg("%d: %s", r, err.text);
    return s;
}

/* A sync runs while the clock goes on, and the host crashes at any time. */
static void test_lifetime_survives_a_crash_of_the_host(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 600; seed++) {
        struct ft_io io;
        ft_io_init(&io);
        io.log = true;
        unlink(path);
        struct fe_store *s = open_store(&io.io, true, 0);
        uint64_t clock = 0, began = 0, synced = 0, steps = seed % 23;
        bool runs = false;
        struct fe_store_sync sync = {0};
        for (uint64_t i = 0; i < steps; i++) {
            uint64_t what = (seed * 2654435761u >> i) % 8;
            if (what < 5) {
                set(s, ++clock);
            } else if (!runs) {
                sync = fe_store_sync_begin(s);
                assert_int_equal(fe_store_sync_run(s), 0); /* the disk is done, and nobody knows */
                began = clock;
                runs = true;
            } else {
                assert_int_equal(fe_store_sync_end(s, sync, 0), 0);
                synced = began;
                runs = false;
            }
        }
        fe_store_destroy(s);
        ft_io_crash(&io, path, seed);
        ft_io_fini(&io);
        ft_pretend_another_host(path);
        s = open_store(NULL, false, 0);
        if (get(s) < synced || get(s) > clock)
            fail_msg("seed %llu: %llu, but %llu was synced", (unsigned long long)seed,
                     (unsigned long long)get(s), (unsigned long long)synced);
        fe_store_destroy(s);
    }
}

static void test_lifetime_damaged_record(void **state)
{
    struct fe_err err = {""};
    (void)state;
    struct fe_store *s = open_store(NULL, true, 0);
    set(s, 5);
    fe_store_destroy(s);
    s = open_store(NULL, false, 0);
    assert_int_equal(get(s), 5);
    set(s, 6);
    assert_int_equal(fe_store_image_close(s, &err), 0);
    fe_store_destroy(s);
    uint32_t n = 0;
    for (uint32_t place = 0; place < 2; place++) {
        struct fe_image_lifetime r;
        int fd = open(path, O_RDWR);
        assert_int_equal(pread(fd, &r, sizeof r, (off_t)FE_IMAGE_LIFETIME(place)), sizeof r);
        close(fd);
        if (r.generation == 0)
            continue;
        ft_flip_byte(path, (int64_t)FE_IMAGE_LIFETIME(place) + 8);
        n++;
        if (n == 1) {
            s = open_store(NULL, false, 0);
            assert_non_null(strstr(fe_store_image_note(s), "the image is whole"));
            assert_true(get(s) == 5 || get(s) == 6);
            assert_int_equal(fe_store_image_close(s, &err), 0);
            fe_store_destroy(s);
        }
    }
    assert_int_equal(n, 2);
    open_store(NULL, false, -EIO);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(test_lifetime_clock_goes_on),
        T(test_lifetime_data_stay_as_old_as_they_are),
        T(test_lifetime_of_data_without_a_date),
        T(test_lifetime_keeps_reads_at_the_end_of_a_run),
        T(test_lifetime_faults_with_a_number),
        T(test_lifetime_a_fault_never_strikes_twice),
        T(test_lifetime_begins_with_the_first_power_on),
        T(test_lifetime_draws_for_each_write_once),
        T(test_lifetime_time_of_a_cut_comes_once),
        T(test_lifetime_requests_count_from_power_on),
        T(test_lifetime_survives_a_crash_of_the_host),
        T(test_lifetime_damaged_record),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
