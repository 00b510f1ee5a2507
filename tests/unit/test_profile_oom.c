/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Out of memory, by count: the n-th allocation fails, for every n that a call makes.  The
 * call must say so or succeed all the same, leave nothing behind (a leak checker watches),
 * and work again afterwards.
 *
 * The allocators are wrapped by the linker, so that only this program's own calls count.  So is
 * inih, of which a distribution may have one that was built for short lines.
 */
#include "test_profile.h"

#include "profile/parse.h"

#include <ini.h>
#include <unistd.h>

void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t n);
char *__real_strdup(const char *s);
int __real_ini_parse_stream(ini_reader reader, void *stream, ini_handler handler, void *user);
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t n);
char *__wrap_strdup(const char *s);
int __wrap_ini_parse_stream(ini_reader reader, void *stream, ini_handler handler, void *user);

static long countdown; /* 0: never fail; 1: the next one fails, and all after it if `all` */
static bool all_after, failed;
static bool is_short; /* the installed inih has a buffer that is one byte too small */

static bool fails(void)
{
    if (countdown == 0 || --countdown > 0)
        return false;
    countdown = all_after ? 1 : 0;
    failed = true;
    errno = ENOMEM;
    return true;
}

void *__wrap_malloc(size_t n)
{
    return fails() ? NULL : __real_malloc(n);
}

void *__wrap_calloc(size_t n, size_t size)
{
    return fails() ? NULL : __real_calloc(n, size);
}

void *__wrap_realloc(void *p, size_t n)
{
    return fails() ? NULL : __real_realloc(p, n);
}

char *__wrap_strdup(const char *s)
{
    return fails() ? NULL : __real_strdup(s);
}

int __wrap_ini_parse_stream(ini_reader reader, void *stream, ini_handler handler, void *user)
{
    char line[FE_MAX_LINE + 2];
    if (!is_short)
        return __real_ini_parse_stream(reader, stream, handler, user);
    return reader(line, sizeof line, stream) ? 1 : 0;
}

static const char notes[] = MINIMAL "[provenance]\n"
                                    "device = somewhere\n"
                                    "  and more\n"
                                    "  and more\n"
                                    "nand.tR = here\n"
                                    "ftl = there\n"
                                    "[fidelity]\n"
                                    "a = hdparm-t | 3 MB/s | 5%\n"
                                    "b = hdparm-t | 3 MB/s | 5%\n";

static char path[64] = "/tmp/flashemu-test-oom.XXXXXX.ini";
static const char *text = notes;

static int do_parse(struct fe_err *err)
{
    struct fe_profile p;
    static const char *const overrides[] = {"ftl.op=5%", "link.type=uas"};
    int r = fe_profile_parse(&p, "x.ini", text, strlen(text), overrides, 2, err);
    if (r == 0)
        fe_profile_fini(&p);
    return r;
}

static int do_load_path(struct fe_err *err)
{
    struct fe_profile p;
    int r = fe_profile_load(&p, path, NULL, 0, err);
    if (r == 0)
        fe_profile_fini(&p);
    return r;
}

static int do_load_name(struct fe_err *err)
{
    struct fe_profile p;
    int r = fe_profile_load(&p, "ssd-page", NULL, 0, err);
    if (r == 0)
        fe_profile_fini(&p);
    return r;
}

static int do_check(struct fe_err *err)
{
    static FILE *null;
    if (!null)
        null = fopen("/dev/null", "w");
    int r = fe_profile_check(path, null, err);
    return r > 0 ? 0 : r;
}

static int do_copy(struct fe_err *err)
{
    static struct fe_profile p, copy;
    if (p.n_provenance == 0)
        parse_good(&p, notes);
    int r = fe_profile_copy(&copy, &p, err);
    if (r == 0)
        fe_profile_fini(&copy);
    return r;
}

static int do_set(struct fe_err *err)
{
    static struct fe_profile p;
    if (p.n_provenance == 0)
        parse_good(&p, notes);
    return fe_profile_set(&p, "nand.tR", "5us/6us", err);
}

/* How often it failed before it ran through. */
static unsigned fail_every(int (*fn)(struct fe_err *), bool all)
{
    struct fe_err err = {""};
    unsigned n_failed = 0;

    countdown = 0;
    assert_int_equal(fn(&err), 0); /* and whatever is made once is made */
    for (long n = 1;; n++) {
        fe_err_init(&err);
        all_after = all;
        failed = false;
        countdown = n;
        int r = fn(&err);
        countdown = 0;
        if (!failed) {
            assert_int_equal(r, 0);
            return n_failed;
        }
        if (r != 0) {
            assert_int_equal(r, -ENOMEM);
            assert_memory_equal(err.text, "out of memory: ", 15);
        }
        n_failed += r != 0;
        fe_err_init(&err);
        assert_int_equal(fn(&err), 0);
        assert_true(n < 1000);
    }
}

static int write_profile(void **state)
{
    (void)state;
    int fd = mkstemps(path, 4);
    if (fd < 0)
        return -1;
    size_t len = strlen(text);
    ssize_t n = write(fd, text, len);
    close(fd);
    return n == (ssize_t)len ? 0 : -1;
}

static int remove_profile(void **state)
{
    (void)state;
    return unlink(path);
}

static void test_oom_every_call_says_so(void **state)
{
    static int (*const calls[])(struct fe_err *) = {do_parse, do_load_path, do_load_name, do_check,
                                                    do_copy};
    (void)state;
    for (size_t i = 0; i < ft_array_len(calls); i++) {
        assert_true(fail_every(calls[i], false) >= 5);
        assert_true(fail_every(calls[i], true) >= 5);
    }
}

static void test_oom_search_path(void **state)
{
    char folders[512];
    (void)state;
    snprintf(folders, sizeof folders, "/nonexistent/a:/nonexistent/b:/nonexistent/c");
    setenv("FLASHEMU_PATH", folders, 1);
    assert_true(fail_every(do_load_name, false) >= 8);
    unsetenv("FLASHEMU_PATH");
}

static void test_oom_set_needs_no_memory(void **state)
{
    (void)state;
    assert_int_equal(fail_every(do_set, true), 0);
}

/* Mistakes need memory too when all of them are listed. */
static void test_oom_list_of_mistakes(void **state)
{
    static char bad[1000];
    (void)state;
    for (size_t i = 0; i < sizeof bad - 1; i += 9)
        memcpy(bad + i, "rubbish=\n", 9);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs("[nand]\n", f);
    fputs(bad, f);
    fclose(f);
    assert_true(fail_every(do_check, false) >= 100);
    assert_true(fail_every(do_check, true) >= 100);
}

static void test_an_inih_with_short_lines_is_refused(void **state)
{
    (void)state;
    is_short = true;
    parse_bad(MINIMAL, "x.ini:1: the installed inih cannot read lines of 197 bytes");
    is_short = false;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_oom_every_call_says_so),
        cmocka_unit_test(test_oom_search_path),
        cmocka_unit_test(test_oom_set_needs_no_memory),
        cmocka_unit_test(test_oom_list_of_mistakes),
        cmocka_unit_test(test_an_inih_with_short_lines_is_refused),
    };
    return cmocka_run_group_tests(tests, write_profile, remove_profile);
}
