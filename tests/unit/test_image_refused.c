/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What is no image, or a damaged one: an error that says so, and no damage passes as data.
 */
#include "test_image.h"

#include "store/image_check.h"
#include "store/internal.h"

#include <sys/stat.h>

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

static void read_header(struct fe_image_header *h)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_int_equal(pread(fd, h, sizeof *h, 0), sizeof *h);
    close(fd);
}

static void write_header(struct fe_image_header *h)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    h->crc = fe_image_record_crc(0, h, sizeof *h);
    assert_int_equal(pwrite(fd, h, sizeof *h, 0), sizeof *h);
    close(fd);
}

static void test_image_refuses_another_version_with_both(void **state)
{
    (void)state;
    struct fe_image_header h;
    fe_store_destroy(made());
    read_header(&h);
    h.version = 9;
    write_header(&h);
    refused(EINVAL, "format 9, this flashemu knows formats 1 to 2");
    h.version = 0;
    write_header(&h);
    refused(EINVAL, "format 0");
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
    struct fe_image_header h = {
        .version = FE_IMAGE_VERSION, .n_pages = PAGES, .page_bytes = PAGE, .pages_per_block = PPB,
        .n_entries = ENTRIES, .profile_bytes = sizeof profile - 1};
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
    s = opened(); /* there are two of them */
    assert_non_null(strstr(fe_store_image_note(s), "one of the two copies of its status"));
    fe_store_destroy(s);
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
    assert_int_equal(fe_store_failure(s, NULL), -EIO);
    assert_int_equal(fe_store_read(s, 10, 0, 16, buf), -EIO);
    fe_store_destroy(s);
}

static int load_trims(struct fe_store *s, uint64_t *words, const char *part)
{
    struct fe_err err = {""};
    load_all(s);
    int r = fe_store_load_trims(s, words, &err);
    if (part && !strstr(err.text, part))
        fail_msg("%s, not %s", err.text, part);
    fe_store_destroy(s);
    return r;
}

/* Every byte of the list, whether its page was trimmed or not. */
static void test_image_damage_in_the_list_of_trims_is_an_error(void **state)
{
    (void)state;
    struct fe_image_layout at = layout();
    uint64_t words[1] = {0x700005};
    struct fe_store *s = made();
    fe_store_set_trims(s, words, 0, 1);
    fe_store_destroy(s);
    for (uint32_t i = 0; i < PAGES * sizeof(struct fe_image_trim); i++) {
        char part[40];
        snprintf(part, sizeof part, "the trim of page %u is damaged", i / 16);
        ft_flip_byte(path, (int64_t)at.trims + i);
        assert_int_equal(load_trims(opened(), words, part), -EIO);
        ft_flip_byte(path, (int64_t)at.trims + i);
    }
    assert_int_equal(load_trims(opened(), words, NULL), 0);
    assert_int_equal(words[0], 0x700005);
}

/* An image of version 1 stays one: a trim is a number of 8 bytes.  (The parts of an image this
 * small begin at the same places in both versions.) */
static void test_image_of_version_1_keeps_its_list_of_trims(void **state)
{
    (void)state;
    struct fe_image_layout at = layout();
    struct fe_image_header h;
    uint64_t words[1] = {0x48}, seqs[8];
    fe_store_destroy(made());
    read_header(&h);
    h.version = 1;
    write_header(&h);
    struct fe_store *s = opened();
    program(s, 0, 3, 41, 1);
    fe_store_set_trims(s, words, 0, 1);
    fe_store_destroy(s);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_int_equal(pread(fd, seqs, sizeof seqs, (off_t)at.trims), sizeof seqs);
    close(fd);
    assert_int_equal(seqs[3], 42);
    assert_int_equal(seqs[4], 0);
    assert_int_equal(seqs[6], 42);
    words[0] = 0;
    assert_int_equal(load_trims(opened(), words, NULL), 0);
    assert_int_equal(words[0], 0x48);
    s = opened();
    fe_store_forget_trims(s, 6, 1);
    fe_store_destroy(s);
    assert_int_equal(load_trims(opened(), words, NULL), 0);
    assert_int_equal(words[0], 8);
    read_header(&h);
    assert_int_equal(h.version, 1);
}

/* Entries 0 and 1 hold pages, the image is closed or left, and the bytes of n of them changed. */
static struct fe_store *with_damaged_entries(bool closed, uint32_t n)
{
    struct fe_image_layout at = layout();
    struct fe_err err = {""};
    struct fe_store *s = made();
    for (uint32_t i = 0; i < 2; i++)
        fe_store_entry_put(s, i, &(struct fe_store_entry){.order = i, .sectors = 1, .lpn = i}, 0,
                           512, bytes((uint8_t)i));
    if (closed)
        assert_int_equal(fe_store_image_close(s, &err), 0);
    fe_store_destroy(s);
    for (uint32_t i = 0; i < n; i++) /* the first put into an entry takes its second half */
        ft_flip_byte(path, (int64_t)(at.cache + (i * 2 + 1) * PAGE + 100));
    return opened();
}

static int load_entries(struct fe_store *s)
{
    struct fe_store_entry v;
    uint8_t buf[PAGE];
    int r = 0;
    for (uint32_t i = 0; i < 2 && r == 0; i++)
        r = fe_store_entry_load(s, i, &v, buf, &(struct fe_err){""});
    return r;
}

/* A kill leaves one entry half changed at most, and a second kill does not make it two. */
static void test_image_damage_in_the_cache_is_an_error(void **state)
{
    (void)state;
    for (uint32_t n = 0; n <= 2; n++)
        for (int closed = 0; closed < 2; closed++) {
            struct fe_store *s = with_damaged_entries(closed, n);
            assert_int_equal(load_entries(s), n > (closed ? 0 : 1) ? -EIO : 0);
            fe_store_destroy(s);
            unlink(path);
        }
    struct fe_image_layout at = layout();
    struct fe_store *s = with_damaged_entries(false, 1);
    assert_int_equal(load_entries(s), 0);
    fe_store_destroy(s);
    ft_flip_byte(path, (int64_t)(at.cache + 3 * PAGE + 100));
    s = opened();
    assert_int_equal(load_entries(s), 0);
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

/* The last number that each field of a record can be, and the first one that it cannot. */
static void test_image_what_a_record_can_be(void **state)
{
    const uint64_t most = 999999999999999999; /* of a number of what has happened */
    char name[] = "stick";
    struct fe_image g = {.path = name};
    struct fe_err err = {""};
    (void)state;
#define TAKES(part, type, ...) \
    assert_int_equal(fe_image_check_##part(&g, 0, &(type){__VA_ARGS__}, &err), 0)
#define REFUSES(part, type, field, ...)                                                        \
    do {                                                                                       \
        fe_err_init(&err);                                                                     \
        assert_int_equal(fe_image_check_##part(&g, 0, &(type){__VA_ARGS__}, &err), -EIO);      \
        assert_non_null(strstr(err.text, " 0 cannot be: its " field " is "));                  \
    } while (0)
#define BLOCK(...)         TAKES(block, struct fe_image_block, __VA_ARGS__)
#define NO_BLOCK(f, ...)   REFUSES(block, struct fe_image_block, f, __VA_ARGS__)
    BLOCK(.erase_count = 3999999999, .kept_cycle = 3999999999, .erase_seq = most);
    NO_BLOCK("erase_count", .erase_count = 4000000000);
    NO_BLOCK("kept_cycle", .erase_count = 5, .kept_cycle = 6);
    NO_BLOCK("erase_seq", .erase_seq = most + 1);
#define CLOCK(...)         TAKES(lifetime, struct fe_image_lifetime, __VA_ARGS__)
#define NO_CLOCK(...)      REFUSES(lifetime, struct fe_image_lifetime, "generation", __VA_ARGS__)
    CLOCK(.generation = 2);
    CLOCK(.generation = most - 1);
    NO_CLOCK(.generation = 0);
    NO_CLOCK(.generation = 3); /* belongs to the other place */
    NO_CLOCK(.generation = most + 1);
#define ENTRY(...)         TAKES(entry, struct fe_image_entry, __VA_ARGS__)
#define NO_ENTRY(f, ...)   REFUSES(entry, struct fe_image_entry, f, __VA_ARGS__)
    ENTRY(.state = FE_ENTRY_HELD, .generation = 1);
    ENTRY(.state = FE_ENTRY_DROPPED, .generation = most, .order = most, .seq = most, .out_seq = most);
    NO_ENTRY("state", .state = FE_ENTRY_HELD - 1, .generation = 1);
    NO_ENTRY("state", .state = FE_ENTRY_DROPPED + 1, .generation = 1);
    NO_ENTRY("generation", .state = FE_ENTRY_HELD);
    NO_ENTRY("generation", .state = FE_ENTRY_HELD, .generation = most + 1);
    NO_ENTRY("order", .state = FE_ENTRY_HELD, .generation = 1, .order = most + 1);
    NO_ENTRY("seq", .state = FE_ENTRY_HELD, .generation = 1, .seq = most + 1);
    NO_ENTRY("out_seq", .state = FE_ENTRY_HELD, .generation = 1, .out_seq = most + 1);
    assert_int_equal(fe_image_check_trim(&g, 0, most, &err), 0);
    assert_int_equal(fe_image_check_trim(&g, 0, most + 1, &err), -EIO);
}

static void test_image_what_its_status_can_be(void **state)
{
    char name[] = "stick";
    struct fe_image g = {.path = name};
    struct fe_err err = {""};
    const struct fe_image_status good = {.generation = 4, .synced_seq = 70, .clean = 1,
                                         .n_open_1 = 71, .control_bytes = 256};
    struct fe_image_status s = good;
    (void)state;
    assert_int_equal(fe_image_check_status(&g, &s, &err), 0);
#define NO_STATUS(field, value, says)                                                          \
    do {                                                                                       \
        s = good;                                                                              \
        s.field = value;                                                                       \
        fe_err_init(&err);                                                                     \
        assert_int_equal(fe_image_check_status(&g, &s, &err), -EIO);                           \
        assert_non_null(strstr(err.text, "the record of status 0 cannot be: its " says));      \
    } while (0)
    NO_STATUS(generation, UINT64_C(1000000000000000000), "generation is 1000000000000000000");
    NO_STATUS(synced_seq, UINT64_C(1000000000000000002), "synced_seq is 1000000000000000002");
    NO_STATUS(clean, 2, "clean is 2");
    NO_STATUS(n_open_1, 72, "n_open_1 is 72");
    NO_STATUS(control_bytes, 257, "control_bytes is 257");
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(test_image_refuses_what_is_none),
        T(test_image_refuses_another_version_with_both),
        T(test_image_refuses_wrong_sizes),
        T(test_image_damage_is_an_error),
        T(test_image_damage_in_the_cache_is_an_error),
        T(test_image_damage_in_the_list_of_trims_is_an_error),
        T(test_image_of_version_1_keeps_its_list_of_trims),
        T(test_image_page_below_an_erased_one_is_refused),
        T(test_image_what_a_record_can_be),
        T(test_image_what_its_status_can_be),
    };
    return cmocka_run_group_tests_name("image_refused", tests, NULL, NULL);
}
