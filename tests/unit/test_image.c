/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A store in a file: what was written is there after a kill, and only one has it.
 */
#include "test_image.h"

#include "base/crc32c.h"

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
    fe_store_set_oob(s, 2, &(struct fe_store_oob){3, 9, 1, FE_STORE_PROGRAMMED, 0});
    fe_store_set_oob(s, 3, &(struct fe_store_oob){0, FE_LPN_NONE, 255, FE_STORE_TORN, 0});
    fe_store_write(s, 4, 0, 4, 8, NULL); /* a copy with a hole */
    fe_store_set_oob(s, 4, &(struct fe_store_oob){4, 5, 0, FE_STORE_PROGRAMMED, 0});
    fe_store_destroy(s); /* no close: as killed */

    s = opened();
    const struct fe_store_what *w = fe_store_image(s);
    assert_int_equal(w->n_pages, PAGES);
    assert_int_equal(w->capacity, 10 * PAGE);
    assert_int_equal(w->seed, 7);
    assert_string_equal(w->profile, profile);
    assert_null(fe_store_image_note(s));
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
    struct fe_store_entry v;
    uint8_t buf[PAGE];
    uint64_t words[1] = {0x25};
    fe_store_entry_put(s, 1, &(struct fe_store_entry){.order = 17, .sectors = 2, .lpn = 4}, 512,
                       512, bytes(3));
    fe_store_entry_put(s, 2, &(struct fe_store_entry){.order = 18, .sectors = 1, .lpn = 5}, 0, 512,
                       bytes(4));
    fe_store_entry_end(s, 2, true);
    fe_store_entry_put(s, 0, &(struct fe_store_entry){.order = 19, .sectors = 1, .lpn = 6}, 0, 512,
                       bytes(5));
    fe_store_entry_end(s, 0, false);
    fe_store_set_trims(s, words, 0, 1);
    fe_store_set_control(s, "state", 5);
    fe_store_destroy(s);
    s = opened();
    assert_int_equal(fe_store_entry_load(s, 1, &v, buf, &err), 0);
    assert_int_equal(v.order, 17);
    assert_int_equal(v.sectors, 2);
    assert_int_equal(v.lpn, 4);
    assert_memory_equal(buf + 512, bytes(3), 512);
    for (uint32_t i = 0; i < ENTRIES; i += 2) {
        assert_int_equal(fe_store_entry_load(s, i, &v, buf, &err), 0);
        assert_int_equal(v.lpn, FE_LPN_NONE);
    }
    words[0] = 0;
    assert_int_equal(fe_store_load_trims(s, words, &err), 0);
    assert_int_equal(words[0], 0x25);
    assert_int_equal(fe_store_get_control(s, buf), 5);
    assert_memory_equal(buf, "state", 5);
    for (int all = 0; all < 2; all++) {
        fe_store_forget_trims(s, all ? 0 : 2, all ? PAGES : 1);
        fe_store_destroy(s);
        s = opened();
        assert_int_equal(fe_store_load_trims(s, words, &err), 0);
        assert_int_equal(words[0], all ? 0 : 0x21);
    }
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
        T(test_image_interrupted_making_is_made_anew),
    };
    return cmocka_run_group_tests_name("image", tests, NULL, NULL);
}
