/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Profiles from files and by name: every kind of thing that can lie at a path, the order
 * of the folders, the shipped profiles, and the list of all mistakes.
 */
#include "test_profile.h"

#include "ftl/ftl.h"
#include "nand/wear.h"
#include "profile/builtin.h"

#include <locale.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static char folder[] = "/tmp/flashemu-test-profile.XXXXXX";

static int make_folder(void **state)
{
    (void)state;
    alarm(120); /* nothing here may wait */
    unsetenv("FLASHEMU_PATH");
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    char command[128];
    (void)state;
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command);
}

/* folder/NAME, in one of a few buffers. */
static const char *at(const char *name)
{
    static char paths[8][256];
    static unsigned next;
    char *path = paths[next++ % 8];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

static void write_file(const char *path, const char *text, size_t len)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_int_equal(fwrite(text, 1, len, f), len);
    assert_int_equal(fclose(f), 0);
}

static void write_text(const char *path, const char *text)
{
    write_file(path, text, strlen(text));
}

static void load_bad(const char *path, int errnum, const char *why)
{
    struct fe_profile p;
    struct fe_err err = {""};
    char want[512];
    assert_int_equal(fe_profile_load(&p, path, NULL, 0, &err), -errnum);
    snprintf(want, sizeof want, "%s: %s", path, why);
    assert_string_equal(err.text, want);
    fe_err_init(&err);
    assert_int_equal(fe_profile_check(path, stdout, &err), -errnum);
    assert_string_equal(err.text, want);
}

static void test_load_refuses_what_is_no_file(void **state)
{
    (void)state;
    assert_int_equal(mkdir(at("folder.ini"), 0755), 0);
    assert_int_equal(mkfifo(at("fifo.ini"), 0644), 0);
    assert_int_equal(symlink("loop.ini", at("loop.ini")), 0);
    load_bad(at("nothing.ini"), ENOENT, "No such file or directory");
    load_bad(at("folder.ini"), EISDIR, "is a directory, not a profile");
    load_bad(at("fifo.ini"), EINVAL, "is not a regular file");
    load_bad("./", EISDIR, "is a directory, not a profile");
    load_bad("/dev/null", EINVAL, "is not a regular file");
    load_bad("/dev/zero", EINVAL, "is not a regular file");
    load_bad(at("loop.ini"), ELOOP, "Too many levels of symbolic links");
    load_bad(at("nothing.ini/x.ini"), ENOENT, "No such file or directory");
}

static void test_load_refuses_what_it_may_not_read(void **state)
{
    (void)state;
    write_text(at("secret.ini"), MINIMAL);
    assert_int_equal(chmod(at("secret.ini"), 0), 0);
    if (access(at("secret.ini"), R_OK) == 0)
        skip(); /* root may read everything */
    load_bad(at("secret.ini"), EACCES, "Permission denied");
}

static void test_load_refuses_by_size_without_reading(void **state)
{
    struct timespec from, to;
    (void)state;
    write_text(at("zeros.ini"), "");
    assert_int_equal(truncate(at("zeros.ini"), 1000000000), 0);
    assert_int_equal(clock_gettime(CLOCK_MONOTONIC, &from), 0);
    load_bad(at("zeros.ini"), EFBIG, "is larger than 1 MiB, the most that a profile may have");
    assert_int_equal(clock_gettime(CLOCK_MONOTONIC, &to), 0);
    assert_true(to.tv_sec - from.tv_sec <= 1);
    assert_int_equal(truncate(at("zeros.ini"), (1 << 20) + 1), 0);
    load_bad(at("zeros.ini"), EFBIG, "is larger than 1 MiB, the most that a profile may have");
}

static void test_load_takes_the_largest_file(void **state)
{
    char *text = malloc(1 << 20);
    struct fe_profile p;
    struct fe_err err = {""};
    (void)state;
    memset(text, '\n', 1 << 20);
    memcpy(text, MINIMAL, sizeof MINIMAL - 1);
    write_file(at("large.ini"), text, 1 << 20);
    assert_int_equal(fe_profile_load(&p, at("large.ini"), NULL, 0, &err), 0);
    fe_profile_fini(&p);

    /* The same of zeros: one mistake, named once for its line. */
    memset(text, 0, 1 << 20);
    write_file(at("zeros.ini"), text, 1 << 20);
    assert_int_equal(fe_profile_load(&p, at("zeros.ini"), NULL, 0, &err), -EINVAL);
    assert_non_null(strstr(err.text, "zeros.ini:1: a NUL byte: this is not a text file"));
    free(text);
}

static void test_load_reads_files_of_unknown_size(void **state)
{
    struct fe_profile p;
    struct fe_err err = {""};
    (void)state;
    if (access("/proc/self/status", R_OK) != 0)
        skip();
    assert_int_equal(fe_profile_load(&p, "/proc/self/status", NULL, 0, &err), -EINVAL);
    assert_string_equal(err.text, "/proc/self/status:1: Name stands before the first [section]");
}

static void test_load_reports_what_reading_says(void **state)
{
    struct fe_profile p;
    struct fe_err err = {""};
    (void)state;
    /* A regular file whose first page is not mapped: reading it fails. */
    if (access("/proc/self/mem", R_OK) == 0)
        load_bad("/proc/self/mem", EIO, "Input/output error");
    /* A large one that says it is empty. */
    if (access("/proc/kallsyms", R_OK) == 0 &&
        fe_profile_load(&p, "/proc/kallsyms", NULL, 0, &err) == -EFBIG)
        assert_string_equal(err.text, "/proc/kallsyms: is larger than 1 MiB, the most that a "
                                      "profile may have");
}

static void test_load_by_path_gives_name_and_lines(void **state)
{
    static const char *const overrides[] = {"ftl.op=9%", "device.capacity=8M"};
    struct fe_profile p;
    struct fe_err err = {""};
    char want[512];
    (void)state;
    write_text(at("stick.ini"), MINIMAL);
    assert_int_equal(fe_profile_load(&p, at("stick.ini"), overrides, 2, &err), 0);
    assert_string_equal(p.name, "stick");
    assert_value(&p, "ftl.op", "9%");
    fe_profile_fini(&p);

    write_text(at("stick.ini"), MINIMAL "op = 8\n");
    assert_int_equal(fe_profile_load(&p, at("stick.ini"), NULL, 0, &err), -EINVAL);
    snprintf(want, sizeof want,
             "%s:11: ftl.op = 8: has no unit (%%); allowed: 0%% to 1000%%", at("stick.ini"));
    assert_string_equal(err.text, want);
}

static void test_load_looks_in_the_folders_first(void **state)
{
    struct fe_profile p;
    struct fe_err err = {""};
    char path[1024];
    (void)state;
    assert_int_equal(mkdir(at("a"), 0755), 0);
    assert_int_equal(mkdir(at("b"), 0755), 0);
    write_text(at("b/mine.ini"), MINIMAL "op = 3%\n");
    write_text(at("b/ideal.ini"), MINIMAL "op = 4%\n");
    snprintf(path, sizeof path, ":%s:%s::%s:", at("nowhere"), at("a"), at("b"));
    setenv("FLASHEMU_PATH", path, 1);
    assert_int_equal(fe_profile_load(&p, "mine", NULL, 0, &err), 0);
    assert_value(&p, "ftl.op", "3%");
    assert_string_equal(p.name, "mine");
    fe_profile_fini(&p);
    assert_int_equal(fe_profile_load(&p, "ideal", NULL, 0, &err), 0);
    assert_value(&p, "ftl.op", "4%");
    fe_profile_fini(&p);

    write_text(at("a/mine.ini"), MINIMAL "op = 5%\n");
    assert_int_equal(fe_profile_load(&p, "mine", NULL, 0, &err), 0);
    assert_value(&p, "ftl.op", "5%");
    fe_profile_fini(&p);

    /* A bad one is not passed over for the next. */
    assert_int_equal(unlink(at("a/mine.ini")), 0);
    assert_int_equal(mkdir(at("a/mine.ini"), 0755), 0);
    assert_int_equal(fe_profile_load(&p, "mine", NULL, 0, &err), -EISDIR);
    unsetenv("FLASHEMU_PATH");
    fe_err_init(&err);
    assert_int_equal(fe_profile_load(&p, "mine", NULL, 0, &err), -ENOENT);
}

static void test_load_unknown_names_list_the_known(void **state)
{
    struct fe_profile p;
    struct fe_err err = {""};
    (void)state;
    assert_int_equal(fe_profile_load(&p, "mystick", NULL, 0, &err), -ENOENT);
    assert_memory_equal(err.text, "profile=mystick: no profile of that name; known: ", 49);
    for (uint32_t i = 0; fe_profile_names[i]; i++)
        assert_non_null(strstr(err.text, fe_profile_names[i]));
    assert_non_null(strstr(err.text, "or a path with '/' or .ini"));
    fe_err_init(&err);
    assert_int_equal(fe_profile_load(&p, "trancsend8g", NULL, 0, &err), -ENOENT);
    assert_string_equal(err.text, "profile=trancsend8g: no profile of that name; did you mean "
                                  "transcend8g? flashemu profiles lists them");
}

/* Whole names, as many as fit, and dots behind them unless all do; for every length. */
static void test_a_list_of_names_has_whole_names(void **state)
{
    char all[4096] = "", buf[sizeof all];
    (void)state;
    for (uint32_t i = 0; fe_profile_names[i]; i++) {
        strcat(all, " ");
        strcat(all, fe_profile_names[i]);
    }
    for (size_t len = 5; len < strlen(all) + 3; len++) {
        memset(buf, '#', sizeof buf);
        fe_profile_list_names(buf, len);
        assert_true(strlen(buf) < len && buf[len] == '#');
        if (strlen(all) < len) {
            assert_string_equal(buf, all);
            continue;
        }
        size_t n = strlen(buf) - 4;
        assert_string_equal(buf + n, " ...");
        assert_memory_equal(buf, all, n);
        assert_true(all[n] == ' ');
        size_t next = strcspn(all + n + 1, " ") + 1;
        assert_true(n + next + 4 >= len); /* the next name did not fit */
    }
}

static void test_load_strange_names_are_refused(void **state)
{
    static const char *const names[] = {
        "", "a b", "..", ".hidden", "-x", "a\nb", "a;b", "a:b", "a\\b", "$HOME", "a=b", "\xc3\xa4",
        "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
    };
    (void)state;
    setenv("FLASHEMU_PATH", folder, 1);
    for (size_t i = 0; i < ft_array_len(names); i++) {
        struct fe_profile p;
        struct fe_err err = {""};
        assert_int_equal(fe_profile_load(&p, names[i], NULL, 0, &err), -EINVAL);
        assert_non_null(strstr(err.text, "a name has letters, digits and _-. only, up to 63; a "
                                         "path has a '/' or ends in .ini"));
        assert_null(strchr(err.text, '\n'));
    }
    unsetenv("FLASHEMU_PATH");
}

static void test_load_shipped_profiles_are_fixpoints(void **state)
{
    uint32_t n = 0;
    (void)state;
    for (; fe_profile_names[n]; n++) {
        struct fe_profile p, again;
        struct fe_err err = {""};
        if (fe_profile_load(&p, fe_profile_names[n], NULL, 0, &err) != 0)
            fail_msg("%s", err.text);
        assert_string_equal(p.name, fe_profile_names[n]);
        assert_true(n == 0 || strcmp(fe_profile_names[n - 1], fe_profile_names[n]) < 0);
        check_fixpoint(&p);

        char *text = show(&p);
        write_text(at("shown.ini"), text);
        assert_int_equal(fe_profile_load(&again, at("shown.ini"), NULL, 0, &err), 0);
        char *twice = show(&again);
        assert_string_equal(text, twice);
        assert_int_equal(fe_profile_check(at("shown.ini"), stdout, &err), 0);
        free(text);
        free(twice);
        fe_profile_fini(&again);
        fe_profile_fini(&p);
    }
    assert_true(n >= 2);
    assert_null(fe_builtins[n].file_name);
}

static void test_load_ideal_takes_no_time(void **state)
{
    static const char *const sizes[] = {"1M", "100M", "1G", "3GB", "64G"};
    (void)state;
    for (size_t i = 0; i < ft_array_len(sizes); i++) {
        struct fe_profile p;
        struct fe_err err = {""};
        assert_int_equal(fe_profile_load(&p, "ideal", NULL, 0, &err), 0);
        assert_int_equal(p.nand.tR_ns[0] | p.nand.tPROG_ns[2] | p.nand.tBERS_ns |
                             p.nand.bus_rate | p.nand.command_ns | p.link.bandwidth |
                             p.link.command_overhead_ns, 0);
        assert_int_equal(fe_profile_set(&p, "device.capacity", sizes[i], &err), 0);
        struct fe_geometry geo;
        assert_int_equal(fe_geometry_init(&geo, &p.nand, &err), 0);
        assert_true(fe_ftl_registry[p.ftl.type]->max_lpns(&p.ftl, &geo, &err) >=
                    p.device.capacity / geo.page_bytes);
        fe_profile_fini(&p);
    }
}

static void test_load_ssd_page_is_a_gibibyte(void **state)
{
    struct fe_profile p;
    struct fe_err err = {""};
    struct fe_geometry geo;
    (void)state;
    assert_int_equal(fe_profile_load(&p, "ssd-page", NULL, 0, &err), 0);
    assert_int_equal(fe_geometry_init(&geo, &p.nand, &err), 0);
    assert_int_equal((uint64_t)geo.n_ppns * geo.page_bytes, 1 << 30);
    assert_int_equal(geo.n_pebs, 4096);
    assert_int_equal(geo.n_dies, 4);
    assert_value(&p, "ftl.type", "page");
    assert_value(&p, "ftl.op", "7%");
    fe_profile_fini(&p);
}

static bool is_number(const struct fe_option *o)
{
    return o->type != FE_OPT_BOOL && o->type != FE_OPT_ENUM && o->type != FE_OPT_STRING &&
           o->type != FE_OPT_LIES && o->type != FE_OPT_DETAILS;
}

/* Each number that a shipped profile gives says where it comes from, or that it is assumed. */
static void test_load_shipped_profiles_cite_their_numbers(void **state)
{
    uint32_t checked = 0;
    (void)state;
    for (uint32_t i = 0; fe_profile_names[i]; i++) {
        struct fe_profile p;
        assert_int_equal(fe_profile_load(&p, fe_profile_names[i], NULL, 0, NULL), 0);
        for (uint32_t k = 0; k < fe_n_options; k++) {
            const struct fe_option *o = &fe_options[k];
            char key[64];
            bool cited = false;
            if (!p.given[k] || !is_number(o))
                continue;
            snprintf(key, sizeof key, "%s.%.*s", fe_section_name(o->section),
                     (int)strcspn(o->key, ":"), o->key);
            for (uint32_t n = 0; n < p.n_provenance; n++)
                cited = cited || strcmp(p.provenance[n].key, key) == 0;
            if (!cited)
                fail_msg("%s: %s has no provenance", fe_profile_names[i], key);
            checked++;
        }
        fe_profile_fini(&p);
    }
    assert_true(checked > 100);
}

static char *check_text(const char *text, int n)
{
    char *list = NULL;
    size_t len = 0;
    struct fe_err err = {""};
    FILE *out = open_memstream(&list, &len);
    write_text(at("checked.ini"), text);
    assert_int_equal(fe_profile_check(at("checked.ini"), out, &err), n);
    fclose(out);
    return list;
}

static void test_check_lists_every_mistake_by_line(void **state)
{
    static const char text[] = "stray = 1\n"              /* 1 */
                               "[nand]\n"                 /* 2: where its missing keys belong */
                               "cel = slc\n"              /* 3 */
                               "cell = sls\n"             /* 4 */
                               "pages_per_block = 64\n"   /* 5 */
                               "page_size = 3\n"          /* 6 */
                               "rubbish\n"                /* 7 */
                               "tBERS = 1ms\n"            /* 8 */
                               "tBERS = 1ms\n"            /* 9 */
                               "tR = 1us/2us\n"           /* 10: the cell is unknown */
                               "\n"
                               "[lnk]\n"                  /* 12 */
                               "type = nothing\n"         /* 13: of a section that is none */
                               "[device]\n"
                               "sector_size = 4K\n"       /* 15 */
                               "capacity = 1001K\n"       /* 16: no multiple */
                               "[provenance]\n"
                               "a b = c\n"                /* 18 */
                               "[fidelity]\n"
                               "\n"
                               "x = y";                   /* 21: the last line */
    static const char *const want[] = {
        ":1: stray stands before the first [section]\n",
        ":2: nand.tPROG is missing; allowed: 0 to 10s, one value or one for each bit of ",
        ":3: unknown key nand.cel; did you mean nand.cell?\n",
        ":4: nand.cell = sls: is unknown; allowed: slc, mlc, tlc, nor\n",
        ":6: nand.page_size = 3: is out of range; allowed: 512 to 64K, a multiple of 512\n",
        ":7: \"rubbish\" is neither [SECTION] nor KEY = VALUE\n",
        ":9: nand.tBERS is given twice, first in line 8\n",
        ":12: unknown section [lnk]; did you mean [link]?\n",
        ":16: device.capacity = 1001K: is not a multiple of device.sector_size, 4096 bytes\n",
        ":18: key \"a b\": letters, digits and _.- only\n",
        ":21: fidelity row x: is not PROCEDURE | VALUE UNIT | TOLERANCE% [| REASON]\n",
        ":21: ftl.type is missing; allowed: page",
    };
    (void)state;
    char *list = check_text(text, ft_array_len(want)), *rest = list;
    for (size_t i = 0; i < ft_array_len(want); i++) {
        size_t n = strlen(at("checked.ini"));
        assert_memory_equal(rest, at("checked.ini"), n);
        if (strncmp(rest + n, want[i], strlen(want[i])) != 0)
            fail_msg("%s is not %s", rest, want[i]);
        rest = strchr(rest, '\n') + 1;
    }
    assert_string_equal(rest, "");
    free(list);
}

static void test_check_of_a_good_file_is_silent(void **state)
{
    char *list;
    (void)state;
    list = check_text(MINIMAL, 0);
    assert_string_equal(list, "");
    free(list);
}

static void test_check_copes_with_many_mistakes(void **state)
{
    size_t n = 1 << 18;
    char *text = malloc(3 * n + 1), *list;
    (void)state;
    for (size_t i = 0; i < n; i++)
        memcpy(text + 3 * i, "x=\n", 3);
    text[3 * n] = '\0';
    list = check_text(text, 3 + 1);
    assert_non_null(strstr(list, "checked.ini:3: x stands before the first [section]"));
    assert_non_null(strstr(list, "checked.ini:262144: the last of 262141 more lines that stand before "
                                 "the first [section]; a profile looks otherwise"));
    free(text);
    free(list);
}

/* A trace, say: lines that no profile has are shown three times and counted from then on. */
static void test_check_counts_the_lines_of_another_format(void **state)
{
    static const char *const want[] = {
        ":2: \"0 write 0 4096\" is neither [SECTION] nor KEY = VALUE\n",
        ":3: \"1 write 0 4096\" is neither [SECTION] nor KEY = VALUE\n",
        ":5: \"2 write 0 4096\" is neither [SECTION] nor KEY = VALUE\n",
        ":7: the last of 2 more lines that are neither; a profile looks otherwise",
    };
    (void)state;
    char *list = check_text("# flashemu trace 1\n0 write 0 4096\n1 write 0 4096\n\n2 write 0 4096\n"
                            "3 write 0 4096\n4 write 0 4096\n", 3 + 1);
    for (size_t i = 0; i < ft_array_len(want); i++)
        assert_non_null(strstr(list, want[i]));
    assert_null(strstr(list, "\"3 write"));
    free(list);
    list = check_text("0\n1\n2\n", 3 + 8); /* three are just shown */
    assert_null(strstr(list, "more"));
    free(list);
}

/* A picture, say. */
static void test_check_counts_the_lines_of_a_binary_file(void **state)
{
    static const char *const want[] = {
        ":1: the control character 0x01\n", ":2: the control character 0x7f\n",
        ":4: the control character 0x02\n",
        ":6: the last of 2 more lines that have bytes that are no text; a profile looks otherwise",
    };
    (void)state;
    char *list = check_text("\x01\n\x7f\n\n\x02\n\x03\n\x04\n", 3 + 1);
    for (size_t i = 0; i < ft_array_len(want); i++)
        assert_non_null(strstr(list, want[i]));
    assert_null(strstr(list, "0x03"));
    free(list);
    list = check_text("\x01\n\x02\n\x03\n", 3 + 8); /* three are just shown */
    assert_null(strstr(list, "more"));
    free(list);
}

static void test_check_reports_a_full_disk(void **state)
{
    struct fe_err err = {""};
    FILE *full = fopen("/dev/full", "w");
    (void)state;
    if (!full)
        skip();
    write_text(at("checked.ini"), "x\n");
    assert_int_equal(fe_profile_check(at("checked.ini"), full, &err), -EIO);
    assert_string_equal(err.text, "the list of mistakes could not be written");
    fclose(full);
}

static void test_load_is_the_same_in_any_locale(void **state)
{
    static const char *const names[] = {"de_DE.UTF-8", "de_DE", "tr_TR.UTF-8", "tr_TR",
                                        "fr_FR.ISO-8859-1"};
    bool any = false;
    for (size_t i = 0; i < ft_array_len(names); i++)
        if (setlocale(LC_ALL, names[i])) {
            any = true;
            test_load_shipped_profiles_are_fixpoints(state);
            test_check_lists_every_mistake_by_line(state);
        }
    setlocale(LC_ALL, "C");
    if (!any)
        skip();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_load_refuses_what_is_no_file),
        cmocka_unit_test(test_load_refuses_what_it_may_not_read),
        cmocka_unit_test(test_load_refuses_by_size_without_reading),
        cmocka_unit_test(test_load_takes_the_largest_file),
        cmocka_unit_test(test_load_reads_files_of_unknown_size),
        cmocka_unit_test(test_load_reports_what_reading_says),
        cmocka_unit_test(test_load_by_path_gives_name_and_lines),
        cmocka_unit_test(test_load_looks_in_the_folders_first),
        cmocka_unit_test(test_load_unknown_names_list_the_known),
        cmocka_unit_test(test_a_list_of_names_has_whole_names),
        cmocka_unit_test(test_load_strange_names_are_refused),
        cmocka_unit_test(test_load_shipped_profiles_are_fixpoints),
        cmocka_unit_test(test_load_ideal_takes_no_time),
        cmocka_unit_test(test_load_ssd_page_is_a_gibibyte),
        cmocka_unit_test(test_load_shipped_profiles_cite_their_numbers),
        cmocka_unit_test(test_check_lists_every_mistake_by_line),
        cmocka_unit_test(test_check_of_a_good_file_is_silent),
        cmocka_unit_test(test_check_copes_with_many_mistakes),
        cmocka_unit_test(test_check_counts_the_lines_of_another_format),
        cmocka_unit_test(test_check_counts_the_lines_of_a_binary_file),
        cmocka_unit_test(test_check_reports_a_full_disk),
        cmocka_unit_test(test_load_is_the_same_in_any_locale),
    };
    int before = ft_next_fd();
    int failed = cmocka_run_group_tests(tests, make_folder, remove_folder);
    return failed + ft_left_open(before);
}
