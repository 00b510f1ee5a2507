/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Which image a device fits: the profile in the image against the device's, with keys that
 * one of them lacks.
 */
#include "lib/device.h"
#include "lib/other_host.h"
#include "lib/unit.h"

#include "ftl/ftl.h"
#include "store/image.h"
#include "store/image_extra.h"
#include "store/store.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

static char path[64];

/* A profile that loading gives, so that its text can be stored. */
static struct fe_profile make_profile(const char *strategy, const char *const *overrides,
                                      uint32_t n)
{
    char text[400];
    struct fe_profile p;
    struct fe_err err = {""};
    snprintf(text, sizeof text, "[device]\ncapacity = 512K\n%s[ftl]\ntype = %s\n",
             strcmp(strategy, "step") == 0
                 ? ""
                 : "[nand]\ncell = mlc\nblocks_per_plane = 32\npages_per_block = 16\n"
                   "page_size = 2K\ntR = 50us\ntPROG = 300us/900us\ntBERS = 2ms\n",
             strategy);
    if (fe_profile_parse(&p, "x.ini", text, strlen(text), overrides, n, &err) < 0)
        fail_msg("%s", err.text);
    return p;
}

static char *text_of(const struct fe_profile *p)
{
    char *text = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&text, &len);
    assert_non_null(out);
    assert_int_equal(fe_profile_print(p, out, NULL), 0);
    assert_int_equal(fclose(out), 0);
    return text;
}

/* text with the line `old` (NULL: the line after "[ftl]") replaced by `new`; to be freed. */
static char *with_line(const char *text, const char *old, const char *new)
{
    const char *at = strstr(text, old ? old : "[ftl]\n");
    size_t size = strlen(text) + strlen(new) + 1;
    char *ret = malloc(size);
    assert_true(at && ret);
    const char *rest = at + strlen(old ? old : "[ftl]\n");
    snprintf(ret, size, "%.*s%s%s", (int)(old ? at - text : rest - text), text, new, rest);
    return ret;
}

/* An image of an erased chip that has this text. */
static void make_image(const char *text)
{
    const struct fe_store_file file = {.path = path};
    const struct fe_store_what what = {
        .n_pages = 512, .page_bytes = 2048, .pages_per_block = 16, .capacity = 512 << 10,
        .seed = 1, .profile = text, .profile_bytes = (uint32_t)strlen(text)};
    struct fe_store *s;
    struct fe_err err = {""};
    unlink(path);
    if (fe_store_image_create(&s, &file, &what, &err) < 0 || fe_store_image_ready(s, &err) < 0)
        fail_msg("%s", err.text);
    fe_store_destroy(s);
}

static int open_image(const struct fe_profile *p, struct fe_err *err)
{
    const struct fe_store_file file = {.path = path};
    const struct fe_device_options opt = {.seed = 1, .payload = true, .file = &file};
    struct fe_device *dev = NULL;
    fe_err_init(err);
    int r = fe_device_create(&dev, p, &opt, err);
    if (r == 0)
        fe_device_destroy(dev);
    return r;
}

/* The image opens with this profile, and can be looked at without one. */
static void expect_fits(const struct fe_profile *p)
{
    struct fe_device *dev;
    struct fe_err err;
    if (open_image(p, &err) != 0)
        fail_msg("%s", err.text);
    if (fe_device_look(&dev, path, true, &err) != 0)
        fail_msg("%s", err.text);
    assert_int_equal(fe_device_check(dev, &err), 0);
    fe_device_destroy(dev);
}

static void expect_refused(const struct fe_profile *p, const char *message)
{
    struct fe_err err;
    assert_int_equal(open_image(p, &err), -EINVAL);
    if (!strstr(err.text, message))
        fail_msg("%s, not %s", err.text, message);
}

static void test_device_image_of_each_strategy(void **state)
{
    static const char *const smaller[] = {"ftl.unit_size=32K", "ftl.log_blocks=2"};
    (void)state;
    for (uint32_t type = 0; fe_ftl_registry[type]; type++) {
        const char *name = fe_ftl_registry[type]->name;
        bool hybrid = strcmp(name, "bast") == 0 || strcmp(name, "fast") == 0;
        bool units = hybrid || strcmp(name, "segment") == 0 || strcmp(name, "block") == 0;
        struct fe_profile p = make_profile(name, smaller, hybrid ? 2 : units ? 1 : 0);
        struct fe_err err;
        unlink(path);
        if (open_image(&p, &err) != 0) /* makes it */
            fail_msg("%s: %s", name, err.text);
        expect_fits(&p);
        fe_profile_fini(&p);
    }
}

/* What version 0.1.0 wrote: every key, whatever the strategy. */
static void test_device_image_with_keys_that_have_no_effect(void **state)
{
    struct fe_profile p = make_profile("page", NULL, 0);
    char *text = text_of(&p);
    char *old = with_line(text, NULL, "unit_size = 64K\nopen_linear = 7\nmap_cache = 8K\n");
    char *older = with_line(old, "[faults]\n", "[step]\nstreams = 3\n\n[faults]\n");
    (void)state;
    make_image(older);
    expect_fits(&p);
    free(older);
    free(old);
    free(text);
    fe_profile_fini(&p);
}

static void test_device_image_without_a_key(void **state)
{
    static const char *const more[] = {"ftl.map_read=5us"};
    struct fe_profile p = make_profile("page", NULL, 0), q = make_profile("page", more, 1);
    char *text = text_of(&p), *old = with_line(text, "map_read = 0\n", "");
    (void)state;
    make_image(old);
    expect_fits(&p);
    expect_refused(&q, "the image has ftl.map_read = 0, the profile 5us");
    free(old);
    free(text);
    fe_profile_fini(&p);
    fe_profile_fini(&q);
}

/* Shipped profiles had no spare blocks at first.  An image of that time goes on without spares,
 * also if the profile's chip has become larger by just the spares. */
static void test_device_image_made_without_spares(void **state)
{
    (void)state;
    static const char *const spares[] = {"faults.spare_blocks=2"};
    static const char *const larger[] = {"faults.spare_blocks=2", "nand.blocks_per_plane=34"};
    static const char *const more[] = {"faults.spare_blocks=3", "nand.blocks_per_plane=34"};
    struct fe_profile p = make_profile("page", NULL, 0);
    char *text = text_of(&p);
    make_image(text);
    free(text);
    for (int i = 0; i < 3; i++) {
        struct fe_profile q = make_profile("page", i == 0 ? spares : i == 1 ? larger : more,
                                           i == 0 ? 1 : 2);
        if (i < 2)
            expect_fits(&q);
        else
            expect_refused(&q, "the image has nand.blocks_per_plane = 32, the profile 34");
        fe_profile_fini(&q);
    }
    fe_profile_fini(&p);

    p = make_profile("page", spares, 1); /* an image with spares keeps them */
    text = text_of(&p);
    make_image(text);
    free(text);
    expect_fits(&p);
    fe_profile_fini(&p);
    p = make_profile("page", (const char *const[]){"faults.spare_blocks=1"}, 1);
    expect_refused(&p, "the image has faults.spare_blocks = 2, the profile 1");
    fe_profile_fini(&p);
    p = make_profile("page", NULL, 0);
    expect_refused(&p, "the image has faults.spare_blocks = 2, the profile 0");
    fe_profile_fini(&p);
}

/* The image's spares are looked up before the image is opened.  The first look must not put right
 * what a crash of the host has left, because then nobody would be told of the crash. */
static void test_device_image_of_a_crashed_host_keeps_its_note(void **state)
{
    static const char *const spares[] = {"faults.spare_blocks=2"};
    const struct fe_store_file file = {.path = path};
    const struct fe_device_options opt = {.seed = 1, .payload = true, .file = &file};
    struct fe_profile p = make_profile("page", spares, 1);
    struct fe_device *dev;
    struct fe_err err = {""};
    char *text = text_of(&p);
    (void)state;
    make_image(text); /* it is not closed */
    free(text);
    ft_pretend_another_host(path);
    if (fe_device_create(&dev, &p, &opt, &err) < 0)
        fail_msg("%s", err.text);
    const char *note = fe_device_image_note(dev);
    assert_non_null(note);
    assert_non_null(strstr(note, "the host has crashed"));
    fe_device_destroy(dev);
    fe_profile_fini(&p);
}

static void test_device_image_of_another_strategy(void **state)
{
    struct fe_profile p = make_profile("page", NULL, 0), q = make_profile("dftl", NULL, 0);
    char *text = text_of(&p);
    (void)state;
    make_image(text);
    expect_refused(&q, "the image has ftl.type = page, the profile dftl");
    q.ftl.type = p.ftl.type;
    q.nand.tPROG_ns[0]++; /* a delay */
    expect_fits(&q);
    q.ftl.clean.gc_reserve = 9;
    expect_refused(&q, "the image has ftl.gc_reserve = 2, the profile 9");
    free(text);
    fe_profile_fini(&p);
    fe_profile_fini(&q);
}

/* The entries of the write cache are a ring, so their numbers rise from the oldest one on. */
static void test_device_image_with_a_cache_out_of_turn(void **state)
{
    static const struct {
        uint64_t order[4]; /* 0: the entry is empty */
        int r;
    } CASES[] = {
        {{1, 2, 3, 0}, 0},
        {{1, 0, 3, 0}, 0}, /* one has been trimmed */
        {{3, 0, 1, 2}, 0}, /* from the third one around the end */
        {{1, 2, 3, 4}, 0},
        {{1, 9, 5, 0}, -EIO}, /* the next one behind the newest */
        {{1, 9, 0, 5}, -EIO},
        {{5, 1, 9, 6}, -EIO},
    };
    static const uint8_t bytes[2048];
    static const char *const cache[] = {"cache.size=8K"};
    struct fe_profile p = make_profile("page", cache, 1);
    struct fe_err err;
    (void)state;
    for (size_t c = 0; c < sizeof CASES / sizeof CASES[0]; c++) {
        struct fe_store *s;
        unlink(path);
        assert_int_equal(open_image(&p, &err), 0); /* makes it */
        if (fe_store_image_open(&s, &(struct fe_store_file){.path = path}, &err) < 0)
            fail_msg("%s", err.text);
        for (uint32_t i = 0; i < 4; i++)
            if (CASES[c].order[i])
                fe_store_entry_put(s, i,
                                   &(struct fe_store_entry){CASES[c].order[i], 1, 40 + i}, 0, 512,
                                   bytes);
        fe_store_destroy(s);
        assert_int_equal(open_image(&p, &err), CASES[c].r);
        if (CASES[c].r < 0)
            assert_non_null(strstr(err.text, "is not in its turn"));
    }
    fe_profile_fini(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_device_image_of_each_strategy),
        cmocka_unit_test(test_device_image_with_keys_that_have_no_effect),
        cmocka_unit_test(test_device_image_without_a_key),
        cmocka_unit_test(test_device_image_made_without_spares),
        cmocka_unit_test(test_device_image_of_a_crashed_host_keeps_its_note),
        cmocka_unit_test(test_device_image_of_another_strategy),
        cmocka_unit_test(test_device_image_with_a_cache_out_of_turn),
    };
    snprintf(path, sizeof path, "/tmp/flashemu-device-image-%d.img", (int)getpid());
    int r = cmocka_run_group_tests_name("device_image", tests, NULL, NULL);
    unlink(path);
    return r;
}
