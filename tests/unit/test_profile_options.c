/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The option table: that its rows are sound, that every value of every key survives
 * being printed, and what is said about keys and values that are none.
 */
#include "test_profile.h"

#include "ftl/ftl.h"
#include "lib/rand.h"
#include "profile/parse.h"

static bool is_number(const struct fe_option *o)
{
    return o->type != FE_OPT_BOOL && o->type != FE_OPT_ENUM && o->type != FE_OPT_STRING &&
           o->type != FE_OPT_LIES && o->type != FE_OPT_DETAILS;
}

static void full_key(const struct fe_option *o, char *buf, size_t len)
{
    snprintf(buf, len, "%s.%s", fe_section_name(o->section), o->key);
}

/* The details of a key follow it, stand without it in no other place, and go with it. */
static void check_details(const struct fe_option *o)
{
    size_t len = strlen(o->key);
    assert_true(o->type != FE_OPT_DETAILS || o->n_details > 0);
    assert_true(!fe_option_is_detail(o) || (o->n_details == 0 && o > fe_options && o->def));
    if (o->n_details)
        assert_true(o->def && o->type != FE_OPT_TIMES && o->type != FE_OPT_STRING);
    for (const struct fe_option *d = o + 1; d <= o + o->n_details; d++) {
        assert_true(fe_option_is_detail(d) && d->section == o->section);
        assert_memory_equal(d->key, o->key, len);
        assert_int_equal(d->key[len], ':');
        assert_int_equal(d->live, o->live);
        for (uint32_t t = 0; fe_ftl_registry[t]; t++)
            assert_int_equal(fe_option_is_used(d, t), fe_option_is_used(o, t));
    }
    const struct fe_option *next = o + o->n_details + 1;
    if (!fe_option_is_detail(o) && next < fe_options + fe_n_options)
        assert_false(fe_option_is_detail(next));
}

static void test_options_are_sound(void **state)
{
    (void)state;
    assert_true(fe_n_options <= FE_MAX_OPTIONS);
    for (uint32_t i = 0; i < fe_n_options; i++) {
        const struct fe_option *o = &fe_options[i];
        struct fe_profile p = {.name = ""};
        char key[64];
        full_key(o, key, sizeof key);
        assert_ptr_equal(fe_option_find(key), o); /* so no key is there twice */
        assert_ptr_equal(fe_option_in(o->section, o->key), o);
        assert_true(i == 0 || o->section >= o[-1].section);
        assert_true(o->section < FE_SEC_PROVENANCE);
        size_t len = strlen(o->help);
        assert_true(len > 10 && o->help[len - 1] == '.');
        assert_true(o->type != FE_OPT_ENUM || o->names[0]);
        if (is_number(o))
            assert_true(o->min < o->max);
        if (o->type == FE_OPT_U32 || o->type == FE_OPT_SIZE32)
            assert_true(o->max <= UINT32_MAX);
        if (o->def)
            assert_int_equal(fe_option_parse(o, o->def, &p, NULL), 0);
        assert_false(o->def && o->derived);
        check_details(o);
    }
    assert_null(fe_option_find("nand"));
    assert_null(fe_option_find("nand."));
    assert_null(fe_option_find(".tR"));
    assert_null(fe_option_find("nand.tR "));
    assert_null(fe_option_find("provenance.device"));
}

static void test_options_live_ones_are_delays_and_faults(void **state)
{
    static const char *const live[] = {
        "nand.tR", "nand.tPROG", "nand.tBERS",
        "nand.worn", "nand.worn:read", "nand.worn:program", "nand.worn:erase", "nand.worn:end",
        "link.bandwidth", "link.command_overhead",
        "link.task_overhead", "link.write_overhead", "link.busy_poll", "link.busy_ask",
        "link.busy_late",
        "ftl.unit_read", "step.read_random", "step.read_spike",
        "step.write_random", "step.write_step", "step.write_spike",
        "step.read_spike:first", "step.read_spike:limit", "step.write_spike:first",
        "step.write_spike:period",
        "faults.slow_factor", "faults.fail", "faults.weak_block", "faults.weak_block:cycles", "faults.fail:program",
        "faults.fail:erase", "faults.fail:program_number", "faults.fail:erase_number",
        "faults.hang:request", "faults.hang", "faults.disconnect:request", "faults.disconnect",
        "faults.lie",
    };
    uint32_t n = 0;
    (void)state;
    for (uint32_t i = 0; i < fe_n_options; i++)
        n += fe_options[i].live;
    assert_int_equal(n, ft_array_len(live));
    for (size_t i = 0; i < ft_array_len(live); i++)
        assert_true(fe_option_find(live[i])->live);
}

/* A value of the range, often at its ends or a round one. */
static uint64_t draw(const struct fe_option *o, struct ft_rand *rand)
{
    uint64_t span = o->max - o->min, v;
    if (o->zero && ft_chance(rand, 5))
        return 0;
    switch (ft_below(rand, 4)) {
    case 0:
        v = o->min;
        break;
    case 1:
        v = o->max;
        break;
    case 2:
        v = o->min + ft_rand(rand) % (span + 1);
        break;
    default:
        v = o->min + (ft_rand(rand) >> ft_below(rand, 64)) % (span + 1);
    }
    if (o->multiple) {
        v -= v % o->multiple;
        v = v < o->min ? o->min : v;
    }
    while (o->pow2 && (v & (v - 1)))
        v &= v - 1;
    return v;
}

/* A list of lies, most of them with a range or a begin. */
static void draw_lies(struct ft_rand *rand, char *buf, size_t len)
{
    static const struct {
        const char *before, *after;
    } lies[] = {
        {"flush-late:", "ms"}, {"lost-write:", "%/8K-16M"}, {"stuck-read:", "/1M-"},
        {"capacity:", "M"}, {"misdirected-read:", "K@3"}, {"unstable-read@", "s"},
        {"stale-read/", "K-1G@9"},
    };
    size_t at = 0;
    for (uint64_t n = 1 + ft_below(rand, 3); n > 0; n--) {
        uint64_t i = ft_below(rand, ft_array_len(lies));
        at += (size_t)snprintf(buf + at, len - at, "%s%s%u%s", at ? " , " : "", lies[i].before,
                               1 + (unsigned)ft_below(rand, 99), lies[i].after);
    }
}

static void draw_own(const struct fe_option *o, uint32_t bits, struct ft_rand *rand, char *buf,
                      size_t len)
{
    enum fe_quantity q = o->type <= FE_OPT_U64      ? FE_COUNT
                         : o->type <= FE_OPT_SIZE   ? FE_SIZE
                         : o->type <= FE_OPT_TIMES  ? FE_TIME
                         : o->type == FE_OPT_RATE   ? FE_RATE
                                                    : FE_SHARE;
    uint32_t n = o->type == FE_OPT_TIMES && ft_chance(rand, 60) ? bits : 1, names = 0;
    size_t at = 0;

    if (o->type == FE_OPT_LIES) {
        draw_lies(rand, buf, len);
    } else if (o->type == FE_OPT_DETAILS) {
        snprintf(buf, len, "%s", o->def);
    } else if (o->type == FE_OPT_BOOL) {
        snprintf(buf, len, "%s", ft_chance(rand, 50) ? "on" : "false");
    } else if (o->type == FE_OPT_ENUM) {
        while (o->names[names])
            names++;
        snprintf(buf, len, "%s", o->names[ft_below(rand, names)]);
    } else if (o->type == FE_OPT_STRING) {
        size_t k = 0, n_chars = ft_below(rand, 64);
        for (; k < n_chars; k++)
            buf[k] = "aZ09 =[]#%\"\\:.\xc3\xa4"[ft_below(rand, 16)];
        buf[k] = '\0';
    } else {
        for (uint32_t i = 0; i < n; i++) {
            char one[FE_VALUE_MAX];
            fe_quantity_print(q, draw(o, rand), one, sizeof one);
            at += (size_t)snprintf(buf + at, len - at, "%s%s", i ? " / " : "", one);
        }
    }
}

/* The value of a key, often with details, and at times nothing but these. */
static void draw_text(const struct fe_option *o, uint32_t bits, struct ft_rand *rand, char *buf,
                      size_t len)
{
    size_t at = 0;
    if (o->n_details == 0 || ft_chance(rand, 50)) {
        draw_own(o, bits, rand, buf, len);
        at = o->type == FE_OPT_DETAILS && o->n_details ? 0 : strlen(buf);
    }
    for (const struct fe_option *d = o + 1; d <= o + o->n_details; d++)
        if (at == 0 || ft_chance(rand, 50)) {
            char value[FE_VALUE_MAX];
            draw_own(d, bits, rand, value, sizeof value);
            at += (size_t)snprintf(buf + at, len - at, "%s%s:%s", at ? " , " : "",
                                   strchr(d->key, ':') + 1, value);
        }
}

/* Every key, alone: any value in its range, printed and parsed again, is the same. */
static void test_options_survive_printing(void **state)
{
    struct ft_rand rand = {.seed = 11};
    (void)state;
    for (uint32_t i = 0; i < fe_n_options; i++)
        for (int round = 0; round < 3000; round++) {
            const struct fe_option *o = &fe_options[i];
            struct fe_profile a = {.nand.cell = (uint32_t)ft_below(&rand, FE_N_CELLS)};
            fe_option_reset(o, &a);
            struct fe_profile b = a;
            char text[256], printed[FE_VALUE_MAX], again[FE_VALUE_MAX];
            struct fe_err err = {""};
            draw_text(o, fe_cell_bits(a.nand.cell), &rand, text, sizeof text);
            if (fe_option_parse(o, text, &a, &err) != 0)
                fail_msg("%s = %s: %s", o->key, text, err.text);
            if (o->type == FE_OPT_TIMES)
                fe_times_close(&a.nand);
            fe_option_print(o, &a, printed, sizeof printed);
            if (fe_option_parse(o, printed, &b, &err) != 0)
                fail_msg("%s = %s, printed %s: %s", o->key, text, printed, err.text);
            if (o->type == FE_OPT_TIMES)
                fe_times_close(&b.nand);
            fe_option_print(o, &b, again, sizeof again);
            assert_string_equal(printed, again);
            assert_memory_equal(&a, &b, sizeof a);
        }
}

/* All keys in one profile, which goes through show and is parsed again. */
static void test_options_random_profiles_are_fixpoints(void **state)
{
    struct ft_rand rand = {.seed = 12};
    unsigned good = 0;
    (void)state;
    for (int round = 0; round < 3000; round++) {
        struct fe_profile p;
        struct fe_err err = {""};
        parse_good(&p, MINIMAL);
        for (uint32_t i = 0; i < fe_n_options; i++) {
            char key[64], text[256];
            if (ft_chance(&rand, 50))
                continue;
            full_key(&fe_options[i], key, sizeof key);
            draw_text(&fe_options[i], fe_cell_bits(p.nand.cell), &rand, text, sizeof text);
            good += fe_profile_set(&p, key, text, &err) == 0;
        }
        check_fixpoint(&p);
        fe_profile_fini(&p);
    }
    assert_true(good > 30000);
}

static void test_options_refuse_what_is_out_of_range(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < fe_n_options; i++) {
        const struct fe_option *o = &fe_options[i];
        enum fe_quantity q = o->type <= FE_OPT_U64 ? FE_COUNT : FE_SIZE;
        struct fe_profile p = {.name = ""};
        struct fe_err err = {""};
        char text[FE_VALUE_MAX], allowed[256];
        fe_option_allowed(o, allowed, sizeof allowed);
        if (o->type > FE_OPT_SIZE)
            continue;
        fe_quantity_print(q, o->max + 1, text, sizeof text);
        assert_int_equal(fe_option_parse(o, text, &p, &err), -EINVAL);
        assert_non_null(strstr(err.text, "is out of range; allowed: "));
        assert_non_null(strstr(err.text, allowed));
        fe_quantity_print(q, o->min - 1, text, sizeof text);
        if (o->min > 0 && !(o->min == 1 && o->zero))
            assert_int_equal(fe_option_parse(o, text, &p, NULL), -EINVAL);
        struct fe_profile untouched = {.name = ""};
        assert_memory_equal(&p, &untouched, sizeof p);
    }
}

static void set_bad(const char *key, const char *value, const char *message)
{
    struct fe_profile p;
    struct fe_err err = {""};
    parse_good(&p, MINIMAL);
    char *before = show(&p);
    assert_int_equal(fe_profile_set(&p, key, value, &err), -EINVAL);
    assert_string_equal(err.text, message);
    char *after = show(&p);
    assert_string_equal(before, after);
    free(before);
    free(after);
    fe_profile_fini(&p);
}

static void test_options_messages_name_key_value_and_range(void **state)
{
    (void)state;
    set_bad("device.sector_size", "100",
            "device.sector_size=100: is out of range; allowed: 512 to 4K, a power of two");
    set_bad("device.sector_size", "1.5K",
            "device.sector_size=1.5K: is not a power of two; allowed: 512 to 4K, a power of two");
    set_bad("nand.page_size", "1000",
            "nand.page_size=1000: is not a multiple of 512; allowed: 512 to 64K, a multiple of "
            "512");
    set_bad("nand.cell", "qlc", "nand.cell=qlc: is unknown; allowed: slc, mlc, tlc, nor");
    set_bad("nand.cell", "", "nand.cell=: is empty; allowed: slc, mlc, tlc, nor");
    set_bad("nand.multiplane", "maybe",
            "nand.multiplane=maybe: is neither yes nor no; allowed: yes, no");
    set_bad("ftl.op", "1001%", "ftl.op=1001%: is out of range; allowed: 0% to 1000%");
    set_bad("link.bandwidth", "1B/s",
            "link.bandwidth=1B/s: is out of range; allowed: 1KB/s to 1000GB/s, or unlimited");
    set_bad("nand.tR", "1us/2us/3us/4us",
            "nand.tR=1us/2us/3us/4us: has more than three values; allowed: 0 to 10s, one value or "
            "one for each bit of the cell: A/B/C");
    set_bad("nand.tBERS", "101s", "nand.tBERS=101s: is out of range; allowed: 0 to 100s");
    set_bad("device.model", "a ; b",
            "device.model=a ; b: has a ';' or a control character; allowed: up to 63 bytes "
            "without ';'");
}

static void test_options_refuse_long_values(void **state)
{
    static const char *const keys[] = {"device.model", "nand.cell", "nand.tR", "nand.channels",
                                       "ftl.op", "link.type", "cache.volatile"};
    (void)state;
    for (size_t i = 0; i < ft_array_len(keys); i++)
        for (size_t len = 64; len <= 1024; len *= 2) {
            const struct fe_option *o = fe_option_find(keys[i]);
            struct fe_profile p = {.name = ""}, untouched = {.name = ""};
            struct fe_err err = {""};
            char text[1025];
            memset(text, '9', len);
            text[len] = '\0';
            assert_int_equal(fe_option_parse(o, text, &p, &err), -EINVAL);
            assert_non_null(strstr(err.text, "; allowed: "));
            assert_memory_equal(&p, &untouched, sizeof p);
        }
}

static void test_options_unknown_keys_get_a_hint(void **state)
{
    (void)state;
    set_bad("ftl.opp", "7%", "unknown key ftl.opp; did you mean ftl.op?");
    set_bad("nand.tr", "7us", "unknown key nand.tr; did you mean nand.tR?");
    set_bad("nand.TPROG", "7us", "unknown key nand.TPROG; did you mean nand.tPROG?");
    set_bad("nand.pages_pre_block", "7", "unknown key nand.pages_pre_block; did you mean "
                                         "nand.pages_per_block?");
    set_bad("nand.bandwidth", "7", "unknown key nand.bandwidth; bandwidth belongs to [link]");
    set_bad("bandwidth", "7", "unknown key bandwidth; bandwidth belongs to [link]");
    set_bad("linc.bandwith", "7", "unknown key linc.bandwith; did you mean link.bandwidth?");
    set_bad("ecc.correctable_bit", "7",
            "unknown key ecc.correctable_bit; did you mean ecc.correctable_bits?");
    set_bad("", "7", "unknown key ; 'flashemu help' lists all keys");
    set_bad("quite.something_else", "7",
            "unknown key quite.something_else; 'flashemu help' lists all keys");
    set_bad("nand.aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "7",
            "unknown key nand.aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa; "
            "'flashemu help' lists all keys");
}

/* One letter dropped, doubled or swapped, and the key is still found. */
static void test_options_hint_mends_one_slip(void **state)
{
    struct ft_rand rand = {.seed = 13};
    (void)state;
    for (uint32_t i = 0; i < fe_n_options; i++) {
        const struct fe_option *o = &fe_options[i];
        size_t len = strlen(o->key);
        for (int round = 0; len >= 6 && round < 20; round++) {
            char key[64], hint[160], want[96];
            size_t at = ft_below(&rand, len - 1);
            snprintf(key, sizeof key, "%s", o->key);
            if (ft_chance(&rand, 50))
                memmove(key + at, key + at + 1, len - at);
            else
                memmove(key + at + 1, key + at, len - at + 1);
            fe_option_hint(o->section, key, hint, sizeof hint);
            snprintf(want, sizeof want, "; did you mean %s.%s?", fe_section_name(o->section),
                     o->key);
            if (!fe_option_in(o->section, key))
                assert_string_equal(hint, want);
        }
    }
}

static void test_options_times_go_with_the_cell(void **state)
{
    struct fe_profile p;
    struct fe_err err = {""};
    (void)state;
    /* While other keys are still being read. */
    memset(&p, 0, sizeof p);
    assert_int_equal(fe_option_parse(fe_option_find("nand.tR"), "5us", &p, &err), 0);
    assert_value(&p, "nand.tR", "5us");
    assert_int_equal(fe_option_parse(fe_option_find("nand.tR"), "5us/5us", &p, &err), 0);
    assert_value(&p, "nand.tR", "5us/5us");

    parse_good(&p, MINIMAL);
    assert_value(&p, "nand.tR", "50us");
    assert_int_equal(p.nand.tR_ns[1], 50000);
    assert_int_equal(p.nand.tR_ns[2], 50000);
    assert_value(&p, "nand.tPROG", "300us/1200us");
    assert_int_equal(fe_profile_set(&p, "nand.tPROG", "1ms", &err), 0);
    assert_value(&p, "nand.tPROG", "1ms");
    assert_int_equal(p.nand.tPROG_ns[1], 1000000);
    assert_int_equal(fe_profile_set(&p, "nand.tPROG", "1ms / 1000us", &err), 0);
    assert_value(&p, "nand.tPROG", "1ms");
    assert_int_equal(fe_profile_set(&p, "nand.cell", "tlc", &err), 0);
    assert_int_equal(fe_profile_set(&p, "nand.tPROG", "1ms/2ms/2ms", &err), 0);
    assert_value(&p, "nand.tPROG", "1ms/2ms/2ms");
    check_fixpoint(&p);
    fe_profile_fini(&p);
    set_bad("nand.cell", "slc", "nand.cell=slc: nand.tPROG = 300us/1200us has 2 values, nand.cell "
                                "= slc takes one");
    set_bad("nand.tR", "1us/2us/3us",
            "nand.tR=1us/2us/3us: has 3 values, nand.cell = mlc takes one or two");
}

static void test_options_set_lets_derived_defaults_follow(void **state)
{
    struct fe_profile p;
    struct fe_err err = {""};
    (void)state;
    parse_good(&p, MINIMAL);
    assert_int_equal(fe_profile_set(&p, "link.queue_depth", "7", &err), 0);
    assert_int_equal(fe_profile_set(&p, "link.type", "uas", &err), 0);
    assert_value(&p, "link.max_transfer", "1M");
    assert_value(&p, "link.queue_depth", "7");
    assert_int_equal(fe_profile_set(&p, "nand.page_size", "8K", &err), 0);
    assert_value(&p, "nand.oob_size", "256");
    fe_profile_fini(&p);
}

static char *text_of(int (*print)(FILE *, struct fe_err *))
{
    char *text = NULL;
    size_t len = 0;
    struct fe_err err = {""};
    FILE *out = open_memstream(&text, &len);
    assert_int_equal(print(out, &err), 0);
    fclose(out);
    return text;
}

static int help_all(FILE *out, struct fe_err *err)
{
    return fe_options_help(NULL, out, err);
}

static int help_op(FILE *out, struct fe_err *err)
{
    return fe_options_help("ftl.op", out, err);
}

static void test_options_help_has_every_key(void **state)
{
    char *help = text_of(help_all), *one = text_of(help_op);
    struct fe_err err = {""};
    (void)state;
    for (uint32_t i = 0; i < fe_n_options; i++) {
        char key[64];
        full_key(&fe_options[i], key, sizeof key);
        if (fe_option_is_detail(&fe_options[i]))
            snprintf(key, sizeof key, "\n  %s:", strchr(fe_options[i].key, ':') + 1);
        assert_non_null(strstr(help, key));
    }
    assert_string_equal(one, "ftl.op: Over-provisioning, (physical - logical) / logical: gives the "
                             "capacity if that is auto.\n"
                             "  type     share\n"
                             "  allowed  0% to 1000%\n"
                             "  default  7%\n");
    assert_int_equal(fe_options_help("ftl.opp", stderr, &err), -EINVAL);
    assert_string_equal(err.text, "unknown key ftl.opp; did you mean ftl.op?");
    free(help);
    free(one);
}

static void test_options_report_a_full_disk(void **state)
{
    struct fe_profile p;
    struct fe_err err = {""};
    FILE *full = fopen("/dev/full", "w");
    (void)state;
    if (!full)
        skip();
    parse_good(&p, MINIMAL);
    assert_int_equal(fe_profile_print(&p, full, &err), -EIO);
    assert_string_equal(err.text, "the profile could not be written");
    assert_int_equal(fe_options_help(NULL, full, NULL), -EIO);
    fe_profile_fini(&p);
    fclose(full);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_options_are_sound),
        cmocka_unit_test(test_options_live_ones_are_delays_and_faults),
        cmocka_unit_test(test_options_survive_printing),
        cmocka_unit_test(test_options_random_profiles_are_fixpoints),
        cmocka_unit_test(test_options_refuse_what_is_out_of_range),
        cmocka_unit_test(test_options_messages_name_key_value_and_range),
        cmocka_unit_test(test_options_refuse_long_values),
        cmocka_unit_test(test_options_unknown_keys_get_a_hint),
        cmocka_unit_test(test_options_hint_mends_one_slip),
        cmocka_unit_test(test_options_times_go_with_the_cell),
        cmocka_unit_test(test_options_set_lets_derived_defaults_follow),
        cmocka_unit_test(test_options_help_has_every_key),
        cmocka_unit_test(test_options_report_a_full_disk),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
