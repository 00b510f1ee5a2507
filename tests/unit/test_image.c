/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A store in a file: what was written is there after a kill, whatever the host does is an
 * error with a message, and no damage passes as data.
 */
#include "lib/fault_io.h"
#include "lib/rand.h"
#include "lib/unit.h"

#include "base/crc32c.h"
#include "base/num.h"
#include "store/image.h"
#include "store/store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PAGE = 1024, PPB = 4, BLOCKS = 6, PAGES = PPB * BLOCKS, SLOTS = 3 };

static const char profile[] = "[device]\nmodel = x\n";

static char folder[64], path[96];
static struct ft_io host;

static int setup(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/fe-image-XXXXXX");
    if (!mkdtemp(folder))
        return -1;
    snprintf(path, sizeof path, "%s/stick", folder);
    ft_io_init(&host);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    ft_io_fini(&host);
    unlink(path);
    return rmdir(folder);
}

static struct fe_store_file file(bool sync)
{
    return (struct fe_store_file){.path = path, .sync = sync, .io = &host.io};
}

static int make(struct fe_store **ret, struct fe_err *err)
{
    struct fe_store_file f = file(true);
    struct fe_store_what what = {
        .n_pages = PAGES, .page_bytes = PAGE, .pages_per_block = PPB, .n_slots = SLOTS,
        .capacity = 10 * PAGE, .seed = 7, .profile = profile, .profile_bytes = sizeof profile - 1,
    };
    int r = fe_store_image_create(ret, &f, &what, err);
    if (r == 0 && (r = fe_store_image_ready(*ret, err)) < 0)
        fe_store_destroy(*ret);
    return r;
}

static struct fe_store *made(void)
{
    struct fe_err err = {""};
    struct fe_store *s = NULL;
    if (make(&s, &err) < 0)
        fail_msg("%s", err.text);
    return s;
}

static struct fe_store *opened(void)
{
    struct fe_store_file f = file(true);
    struct fe_err err = {""};
    struct fe_store *s = NULL;
    if (fe_store_image_open(&s, &f, &err) < 0)
        fail_msg("%s", err.text);
    return s;
}

static void refused(int errnum, const char *part)
{
    struct fe_store_file f = file(true);
    struct fe_err err = {""};
    struct fe_store *s = NULL;
    int r = fe_store_image_open(&s, &f, &err);
    if (r != -errnum || !strstr(err.text, part))
        fail_msg("got %d '%s', expected %d '%s'", r, err.text, -errnum, part);
    assert_null(s);
}

static const uint8_t *bytes(uint8_t value)
{
    static uint8_t buf[PAGE];
    for (uint32_t i = 0; i < PAGE; i++)
        buf[i] = (uint8_t)(value + i);
    return buf;
}

static void program(struct fe_store *s, fe_ppn ppn, fe_lpn lpn, uint64_t seq, uint8_t value)
{
    fe_store_write(s, ppn, FE_PPN_NONE, 0, PAGE, bytes(value));
    fe_store_set_oob(s, ppn, &(struct fe_store_oob){seq, lpn, 3, FE_STORE_PROGRAMMED});
}

static void erase(struct fe_store *s, fe_peb peb, uint32_t cycle)
{
    fe_store_set_block(s, peb, &(struct fe_store_block){.erase_count = cycle});
    fe_store_discard(s, peb);
}

static void assert_page(struct fe_store *s, fe_ppn ppn, uint8_t value)
{
    uint8_t buf[PAGE];
    assert_int_equal(fe_store_read(s, ppn, 0, PAGE, buf), 0);
    assert_memory_equal(buf, bytes(value), PAGE);
    assert_int_equal(fe_store_read(s, ppn, 100, 8, buf), 0);
    assert_memory_equal(buf, bytes(value) + 100, 8);
}

static void load(struct fe_store *s, fe_peb peb, struct fe_store_block *b, struct fe_store_oob *p)
{
    struct fe_err err = {""};
    if (fe_store_load_block(s, peb, b, p, &err) < 0)
        fail_msg("%s", err.text);
}

static void load_all(struct fe_store *s)
{
    struct fe_store_block b;
    struct fe_store_oob p[PPB];
    for (fe_peb peb = 0; peb < BLOCKS; peb++)
        load(s, peb, &b, p);
}

static void test_crc32c_has_the_known_values(void **state)
{
    (void)state;
    uint8_t buf[100];
    assert_int_equal(fe_crc32c(0, "123456789", 9), 0xe3069283);
    assert_int_equal(fe_crc32c_table(0, "123456789", 9), 0xe3069283);
    memset(buf, 0, sizeof buf);
    assert_int_equal(fe_crc32c(0, buf, 32), 0x8a9136aa); /* RFC 3720, B.4 */
    for (uint32_t i = 0; i < sizeof buf; i++)
        buf[i] = (uint8_t)(i * 37);
    for (uint32_t n = 0; n <= sizeof buf; n++) {
        assert_int_equal(fe_crc32c(0, buf, n), fe_crc32c_table(0, buf, n));
        assert_int_equal(fe_crc32c(fe_crc32c(0, buf, n), buf + n, sizeof buf - n),
                         fe_crc32c(0, buf, sizeof buf));
    }
}

static void test_image_is_the_same_after_a_kill(void **state)
{
    (void)state;
    struct fe_store *s = made();
    struct fe_store_block b;
    struct fe_store_oob p[PPB];
    program(s, 0, 5, 1, 10);
    program(s, 1, 6, 2, 20);
    fe_store_write(s, 2, FE_PPN_NONE, 0, 0, NULL); /* zeros: no bytes */
    fe_store_set_oob(s, 2, &(struct fe_store_oob){3, 9, 1, FE_STORE_PROGRAMMED});
    fe_store_set_oob(s, 3, &(struct fe_store_oob){0, FE_LPN_NONE, 255, FE_STORE_TORN});
    fe_store_write(s, 4, 0, 4, 8, NULL); /* a copy with a hole */
    fe_store_set_oob(s, 4, &(struct fe_store_oob){4, 5, 0, FE_STORE_PROGRAMMED});
    fe_store_destroy(s); /* no close: as killed */

    s = opened();
    const struct fe_store_what *w = fe_store_image(s);
    assert_int_equal(w->n_pages, PAGES);
    assert_int_equal(w->capacity, 10 * PAGE);
    assert_int_equal(w->seed, 7);
    assert_string_equal(w->profile, profile);
    assert_null(fe_store_crash_note(s));
    load_all(s);
    load(s, 0, &b, p);
    assert_int_equal(p[0].seq, 1);
    assert_int_equal(p[1].lpn, 6);
    assert_int_equal(p[1].tag, 3);
    assert_int_equal(p[2].state, FE_STORE_PROGRAMMED);
    assert_int_equal(p[3].state, FE_STORE_TORN);
    assert_page(s, 0, 10);
    assert_page(s, 1, 20);
    uint8_t buf[PAGE], want[PAGE];
    assert_int_equal(fe_store_read(s, 4, 0, PAGE, buf), 0);
    memcpy(want, bytes(10), PAGE);
    memset(want + 4, 0, 8);
    assert_memory_equal(buf, want, PAGE);
    fe_store_destroy(s);
}

static void test_image_erase_is_one_record(void **state)
{
    (void)state;
    struct fe_store *s = made();
    struct fe_store_block b;
    struct fe_store_oob p[PPB];
    for (fe_ppn i = 0; i < PPB; i++)
        program(s, i, i, i + 1, (uint8_t)i);
    uint64_t before = host.n[FT_PWRITE];
    fe_store_set_block(s, 0, &(struct fe_store_block){.erase_count = 1, .flags = 4,
                                                      .extra = {11, [8] = 12}});
    assert_int_equal(host.n[FT_PWRITE], before + 1);
    fe_store_destroy(s);
    s = opened();
    load(s, 0, &b, p);
    assert_int_equal(b.erase_count, 1);
    assert_int_equal(b.flags, 4);
    assert_int_equal(b.extra[0], 11);
    assert_int_equal(b.extra[8], 12);
    for (uint32_t i = 0; i < PPB; i++)
        assert_int_equal(p[i].state, FE_STORE_ERASED);
    program(s, 0, 8, 9, 50); /* stale records behind it stay erased */
    fe_store_destroy(s);
    s = opened();
    load(s, 0, &b, p);
    assert_int_equal(p[0].lpn, 8);
    assert_int_equal(p[1].state, FE_STORE_ERASED);
    fe_store_destroy(s);
}

static void test_image_raw_pages_change_in_place(void **state)
{
    (void)state;
    struct fe_store *s = made();
    uint8_t want[PAGE] = {0}, buf[PAGE];
    fe_store_overwrite(s, 9, 10, 20, bytes(1));
    fe_store_overwrite(s, 9, 15, 100, bytes(200));
    fe_store_overwrite(s, 9, 12, 2, NULL);
    fe_store_overwrite(s, 10, 0, 50, NULL); /* zeros that are there already */
    memcpy(want + 10, bytes(1), 20);
    memcpy(want + 15, bytes(200), 100);
    memset(want + 12, 0, 2);
    fe_store_destroy(s);
    s = opened();
    load_all(s);
    assert_int_equal(fe_store_read(s, 9, 0, PAGE, buf), 0);
    assert_memory_equal(buf, want, PAGE);
    fe_store_destroy(s);
}

static void test_image_keeps_cache_trims_and_control(void **state)
{
    (void)state;
    struct fe_store *s = made();
    struct fe_err err = {""};
    struct fe_store_slot v;
    uint8_t buf[PAGE];
    uint64_t words[1] = {0x5};
    fe_store_slot_put(s, 1, &(struct fe_store_slot){.order = 17, .sectors = 2, .lpn = 4}, 512, 512,
                      bytes(3));
    fe_store_slot_put(s, 2, &(struct fe_store_slot){.order = 18, .sectors = 1, .lpn = 5}, 0, 512,
                      bytes(4));
    fe_store_slot_end(s, 2, true);
    fe_store_slot_put(s, 0, &(struct fe_store_slot){.order = 19, .sectors = 1, .lpn = 6}, 0, 512,
                      bytes(5));
    fe_store_slot_end(s, 0, false);
    fe_store_set_trims(s, words, 0, 1);
    fe_store_set_control(s, "state", 5);
    fe_store_destroy(s);
    s = opened();
    assert_int_equal(fe_store_slot_load(s, 1, &v, buf, &err), 0);
    assert_int_equal(v.order, 17);
    assert_int_equal(v.sectors, 2);
    assert_int_equal(v.lpn, 4);
    assert_memory_equal(buf + 512, bytes(3), 512);
    for (uint32_t i = 0; i < SLOTS; i += 2) {
        assert_int_equal(fe_store_slot_load(s, i, &v, buf, &err), 0);
        assert_int_equal(v.lpn, FE_LPN_NONE);
    }
    words[0] = 0;
    assert_int_equal(fe_store_load_trims(s, words, &err), 0);
    assert_int_equal(words[0], 5);
    assert_int_equal(fe_store_get_control(s, buf), 5);
    assert_memory_equal(buf, "state", 5);
    fe_store_destroy(s);
}

static void test_image_has_one_user(void **state)
{
    (void)state;
    struct fe_store *s = made(), *look = NULL;
    struct fe_store_file f = {.path = path, .read_only = true};
    struct fe_err err = {""};
    refused(EBUSY, "in use");
    assert_int_equal(fe_store_image_open(&look, &f, &err), -EBUSY);
    fe_store_destroy(s);
    fe_err_init(&err);
    assert_int_equal(fe_store_image_open(&look, &f, &err), 0);
    refused(EBUSY, "in use");
    s = NULL;
    assert_int_equal(fe_store_image_open(&s, &f, &err), 0); /* those that only look may share */
    fe_store_destroy(s);
    fe_store_destroy(look);
}

static void write_file(const void *data, size_t len)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, data, len), (ssize_t)len);
    close(fd);
}

static void test_image_refuses_what_is_none(void **state)
{
    (void)state;
    struct fe_store *s = NULL;
    struct fe_err err = {""};
    char junk[8192];
    memset(junk, 'x', sizeof junk);
    struct fe_store_file f = file(true);
    assert_int_equal(fe_store_image_open(&s, &f, &err), -ENOENT);
    write_file("", 0);
    refused(EINVAL, "is empty");
    assert_int_equal(make(&s, &err), -EINVAL); /* it is not overwritten either */
    write_file("short", 5);
    refused(EINVAL, "only 5 bytes");
    write_file(junk, sizeof junk);
    refused(EINVAL, "does not begin with");
    fe_err_init(&err);
    assert_int_equal(make(&s, &err), -EINVAL);
    assert_int_equal(access(path, F_OK), 0);
    unlink(path);
    assert_int_equal(mkdir(path, 0700), 0);
    refused(EISDIR, "directory");
    rmdir(path);
    assert_int_equal(mkfifo(path, 0600), 0);
    refused(EINVAL, "not a regular file");
}

static void test_image_refuses_another_version_with_both(void **state)
{
    (void)state;
    struct fe_image_header h;
    fe_store_destroy(made());
    int fd = open(path, O_RDWR | O_CLOEXEC);
    assert_int_equal(pread(fd, &h, sizeof h, 0), sizeof h);
    h.version = 9;
    h.crc = fe_image_record_crc(0, &h, sizeof h);
    assert_int_equal(pwrite(fd, &h, sizeof h, 0), sizeof h);
    close(fd);
    refused(EINVAL, "format 9, this flashemu has format 1");
}

static void test_image_refuses_wrong_sizes(void **state)
{
    (void)state;
    struct stat st;
    fe_store_destroy(made());
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(truncate(path, st.st_size - 1), 0);
    refused(EIO, "truncated");
    assert_int_equal(truncate(path, st.st_size + 1), 0);
    refused(EIO, "appended");
    assert_int_equal(truncate(path, 4096), 0);
    refused(EIO, "truncated");
    assert_int_equal(truncate(path, 40), 0);
    refused(EINVAL, "only 40 bytes");
}

static struct fe_image_layout layout(void)
{
    struct fe_image_layout at;
    struct fe_image_header h = {.n_pages = PAGES, .page_bytes = PAGE, .pages_per_block = PPB,
                                .n_slots = SLOTS, .profile_bytes = sizeof profile - 1};
    assert_int_equal(fe_image_layout(&at, &h, NULL), 0);
    return at;
}

static void test_image_damage_is_an_error(void **state)
{
    (void)state;
    struct fe_image_layout at = layout();
    struct fe_err err = {""};
    struct fe_store_block b;
    struct fe_store_oob p[PPB];
    uint8_t buf[PAGE];
    struct fe_store *s = made();
    program(s, 8, 1, 1, 77);
    program(s, 9, 2, 2, 78);
    erase(s, 3, 1);
    fe_store_destroy(s);

    ft_flip_byte(path, 30); /* header */
    refused(EIO, "header is damaged");
    ft_flip_byte(path, 30);
    ft_flip_byte(path, (int64_t)at.profile + 3);
    refused(EIO, "profile is damaged");
    ft_flip_byte(path, (int64_t)at.profile + 3);
    ft_flip_byte(path, FE_IMAGE_STATUS(0) + 1);
    fe_store_destroy(opened()); /* there are two of them */
    ft_flip_byte(path, FE_IMAGE_STATUS(0) + 1);
    ft_flip_byte(path, FE_IMAGE_STATUS(1) + 1);
    refused(EIO, "both copies of its status");
    ft_flip_byte(path, FE_IMAGE_STATUS(1) + 1);

    ft_flip_byte(path, (int64_t)(at.oob + 9 * sizeof(struct fe_image_oob) + 8));
    s = opened();
    assert_int_equal(fe_store_load_block(s, 2, &b, p, &err), -EIO);
    assert_non_null(strstr(err.text, "page 9"));
    fe_store_destroy(s);
    ft_flip_byte(path, (int64_t)(at.oob + 9 * sizeof(struct fe_image_oob) + 8));
    ft_flip_byte(path, (int64_t)(at.blocks + 3 * sizeof(struct fe_image_block) + 4));
    s = opened();
    fe_err_init(&err);
    assert_int_equal(fe_store_load_block(s, 3, &b, p, &err), -EIO);
    assert_non_null(strstr(err.text, "block 3"));
    fe_store_destroy(s);

    ft_flip_byte(path, (int64_t)(at.pages + 8 * PAGE + 500)); /* a page's bytes */
    s = opened();
    load(s, 2, &b, p);
    assert_int_equal(fe_store_read(s, 8, 0, 16, buf), -EIO);
    assert_int_equal(buf[0], 0);
    assert_page(s, 9, 78);
    fe_store_write(s, 10, 8, 0, 0, NULL); /* and it is not copied as if it were data */
    int errnum = 0;
    assert_non_null(fe_store_failure(s, &errnum));
    assert_int_equal(errnum, EIO);
    assert_int_equal(fe_store_read(s, 10, 0, 16, buf), -EIO);
    fe_store_destroy(s);
}

static void test_image_page_below_an_erased_one_is_refused(void **state)
{
    (void)state;
    struct fe_err err = {""};
    struct fe_store_block b;
    struct fe_store_oob p[PPB];
    struct fe_store *s = made();
    program(s, 5, 1, 1, 1);
    fe_store_destroy(s);
    s = opened();
    assert_int_equal(fe_store_load_block(s, 1, &b, p, &err), -EIO);
    assert_non_null(strstr(err.text, "page 5 is programmed"));
    fe_store_destroy(s);
}

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

/* The disk is full at each write in turn: what was written before is there, what comes
 * after says so, and the file is what it was at that moment. */
static void test_image_stops_at_the_first_failure(void **state)
{
    (void)state;
    for (uint64_t at = 1; at <= 8; at++) {
        struct fe_store_block b;
        struct fe_store_oob p[PPB];
        uint8_t buf[PAGE];
        int errnum = 0;
        ft_io_init(&host);
        struct fe_store *s = made();
        host.fail_call = FT_PWRITE;
        host.fail_at = host.n[FT_PWRITE] + at;
        host.fail_errno = ENOSPC; /* once: the next writes would succeed, and must not be tried */
        for (fe_ppn i = 0; i < PPB; i++)
            program(s, i, i, i + 1, (uint8_t)i);
        assert_non_null(strstr(fe_store_failure(s, &errnum), "No space left"));
        assert_int_equal(errnum, ENOSPC);
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
    int errnum = 0;
    struct fe_store *s = made();
    program(s, 0, 1, 1, 1);
    host.fail_call = FT_FDATASYNC;
    host.fail_at = host.n[FT_FDATASYNC] + 1;
    host.fail_errno = EIO;
    struct fe_store_sync sync = fe_store_sync_begin(s);
    assert_int_equal(fe_store_sync_end(s, sync, fe_store_sync_run(s)), -EIO);
    assert_non_null(strstr(fe_store_failure(s, &errnum), "fdatasync"));
    sync = fe_store_sync_begin(s); /* the next one would succeed, which means nothing */
    assert_int_equal(fe_store_sync_end(s, sync, fe_store_sync_run(s)), -EIO);
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
    program(s, 0, 3, 3, 3);
    assert_int_equal(host.n[FT_FDATASYNC], before + 1);
    program(s, 1, 3, 4, 4);
    assert_int_equal(host.n[FT_FDATASYNC], before + 1);
    fe_store_destroy(s);
}

static void test_image_interrupted_making_is_made_anew(void **state)
{
    (void)state;
    struct fe_store_what what = {.n_pages = PAGES, .page_bytes = PAGE, .pages_per_block = PPB,
                                 .profile = profile, .profile_bytes = sizeof profile - 1};
    struct fe_store_file f = file(true);
    struct fe_err err = {""};
    struct fe_store *s = NULL;
    assert_int_equal(fe_store_image_create(&s, &f, &what, &err), 0);
    char copy[8192];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = read(fd, copy, sizeof copy);
    close(fd);
    fe_store_destroy(s);
    assert_int_equal(access(path, F_OK), -1); /* given up: removed */
    write_file(copy, (size_t)n);              /* killed: it lies there */
    assert_int_equal(fe_store_image_open(&s, &f, &err), -ENOENT);
    s = made();
    fe_store_destroy(s);
    fe_store_destroy(opened());
    assert_int_equal(make(&s, &err), -EEXIST);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_crc32c_has_the_known_values),
        T(test_image_is_the_same_after_a_kill),
        T(test_image_erase_is_one_record),
        T(test_image_raw_pages_change_in_place),
        T(test_image_keeps_cache_trims_and_control),
        T(test_image_has_one_user),
        T(test_image_refuses_what_is_none),
        T(test_image_refuses_another_version_with_both),
        T(test_image_refuses_wrong_sizes),
        T(test_image_damage_is_an_error),
        T(test_image_page_below_an_erased_one_is_refused),
        T(test_image_survives_short_writes_and_reads),
        T(test_image_making_fails_cleanly),
        T(test_image_stops_at_the_first_failure),
        T(test_image_failed_sync_is_final),
        T(test_image_without_sync_never_syncs),
        T(test_image_syncs_before_an_erased_block_is_overwritten),
        T(test_image_interrupted_making_is_made_anew),
    };
    return cmocka_run_group_tests_name("image", tests, NULL, NULL);
}
