/* SPDX-License-Identifier: BSD-3-Clause */
#include "lib/unit.h"

#include "base/num.h"
#include "base/rng.h"
#include "timemap.h"

#define DAY_NS UINT64_C(86400000000000)

static struct fe_scale scale_of(const char *text)
{
    struct fe_scale s;
    struct fe_err err = {""};
    assert_int_equal(fe_scale_parse(text, &s, &err), 0);
    assert_string_equal(err.text, "");
    return s;
}

static void test_scale_parses_exactly(void **state)
{
    static const struct {
        const char *text;
        uint64_t num, den;
        const char *canonical;
    } cases[] = {
        {"1", 1, 1, "1"},          {"0.1", 1, 10, "0.1"},       {"10", 10, 1, "10"},
        {"0.50", 5, 10, "0.5"},    {"1.000", 1, 1, "1"},        {"0.0001", 1, 10000, "0.0001"},
        {"1.0000000000", 1, 1, "1"},
        {"10000", 10000, 1, "10000"}, {"10000.000", 10000, 1, "10000"}, {"007", 7, 1, "7"},
        {"3.141592653", 3141592653, 1000000000, "3.141592653"},
        {"9999.999999999", UINT64_C(9999999999999), 1000000000, "9999.999999999"},
        {"100.05", 10005, 100, "100.05"},
    };
    (void)state;
    for (size_t i = 0; i < ft_array_len(cases); i++) {
        char text[32];
        struct fe_scale s = scale_of(cases[i].text);
        assert_int_equal(s.num, cases[i].num);
        assert_int_equal(s.den, cases[i].den);
        fe_scale_print(s, text, sizeof text);
        assert_string_equal(text, cases[i].canonical);
    }
}

static void test_scale_refuses_the_rest(void **state)
{
    static const char *const bad[] = {
        "", ".", ".5", "5.", "0", "0.0", "-1", "+1", " 1", "1 ", "1e3", "0x1", "1,5", "nan", "inf",
        "0.00009", "0.00009999", "10000.000000001", "10001", "99999999999999999999999", "1.2.3",
        "0.0000000001", "1/3",
    };
    (void)state;
    for (size_t i = 0; i < ft_array_len(bad); i++) {
        struct fe_scale s = {7, 9};
        struct fe_err err = {""};
        assert_true(fe_scale_parse(bad[i], &s, &err) < 0);
        assert_string_equal(err.text, "must be " FE_SCALE_ALLOWED);
        assert_int_equal(s.num, 7);
        assert_int_equal(s.den, 9);
    }
}

static void test_map_known_values(void **state)
{
    struct fe_timemap m = {.real0_ns = 1000, .device0_ns = 50, .scale = scale_of("0.1")};
    (void)state;
    assert_int_equal(fe_timemap_device(&m, 1000), 50);
    assert_int_equal(fe_timemap_device(&m, 1001), 60);
    assert_int_equal(fe_timemap_device(&m, 0), 50); /* before the anchor */
    assert_int_equal(fe_timemap_real(&m, 60), 1001);
    assert_int_equal(fe_timemap_real(&m, 61), 1002); /* up */
    assert_int_equal(fe_timemap_real(&m, 0), 1000);
    m.scale = scale_of("3");
    assert_int_equal(fe_timemap_device(&m, 1003), 51);
    assert_int_equal(fe_timemap_device(&m, 1004), 52); /* up */
    assert_int_equal(fe_timemap_real(&m, 51), 1003);
}

/* A wait that starts at `real` and lasts d in device time is at least d times the scale,
 * and longer by no more than one ns of each time. */
static void test_map_never_early(void **state)
{
    static const char *const scales[] = {"1", "0.1", "10", "0.3", "7.77", "0.0001", "10000",
                                         "0.333333333", "9999.999999999"};
    (void)state;
    for (uint64_t i = 0; i < 20000; i++) {
        struct fe_timemap m = {
            .real0_ns = fe_rng(1, FE_RNG_TEST, i, 0) % (1000 * DAY_NS),
            .device0_ns = fe_rng(1, FE_RNG_TEST, i, 1) % DAY_NS,
            .scale = scale_of(scales[i % ft_array_len(scales)]),
        };
        uint64_t real = m.real0_ns + fe_rng(1, FE_RNG_TEST, i, 2) % (20 * DAY_NS);
        uint64_t d = fe_rng(1, FE_RNG_TEST, i, 3) % FE_NS_PER_S;
        uint64_t end = fe_timemap_real(&m, fe_timemap_device(&m, real) + d);
        /* in ns times den, exactly */
        unsigned __int128 took = (unsigned __int128)(end - real) * m.scale.den;
        unsigned __int128 want = (unsigned __int128)d * m.scale.num;
        assert_true(end >= real && took >= want);
        assert_true(took < want + m.scale.num + m.scale.den);
    }
}

static void test_map_saturates(void **state)
{
    struct fe_timemap m = {.real0_ns = 0, .device0_ns = 0, .scale = scale_of("0.0001")};
    (void)state;
    assert_int_equal(fe_timemap_device(&m, UINT64_MAX), UINT64_MAX);
    m.scale = scale_of("10000");
    assert_int_equal(fe_timemap_real(&m, UINT64_MAX), UINT64_MAX);
    m = (struct fe_timemap){UINT64_MAX, UINT64_MAX, scale_of("1")};
    assert_int_equal(fe_timemap_real(&m, UINT64_MAX), UINT64_MAX);
    assert_int_equal(fe_timemap_device(&m, UINT64_MAX), UINT64_MAX);
}

static void test_rescale_does_not_jump(void **state)
{
    struct fe_timemap m = {.real0_ns = 5000, .device0_ns = 0, .scale = FE_SCALE_ONE};
    uint64_t real = 5000, last = 0;
    (void)state;
    for (uint64_t i = 0; i < 1000; i++) {
        real += fe_rng(2, FE_RNG_TEST, i, 0) % FE_NS_PER_S;
        uint64_t before = fe_timemap_device(&m, real);
        fe_timemap_rescale(&m, real, scale_of(i % 2 ? "0.3" : "17"));
        assert_int_equal(fe_timemap_device(&m, real), before);
        assert_true(before >= last);
        last = before;
    }
    /* an instant from before the anchor, as a thread may have read it */
    uint64_t now = fe_timemap_device(&m, real);
    fe_timemap_rescale(&m, real - 100, FE_SCALE_ONE);
    assert_int_equal(fe_timemap_device(&m, real), now);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scale_parses_exactly),
        cmocka_unit_test(test_scale_refuses_the_rest),
        cmocka_unit_test(test_map_known_values),
        cmocka_unit_test(test_map_never_early),
        cmocka_unit_test(test_map_saturates),
        cmocka_unit_test(test_rescale_does_not_jump),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
