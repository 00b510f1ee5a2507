/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the tests of profiles share.
 */
#pragma once

#include "lib/unit.h"

#include "flashemu/profile.h"
#include "profile/options.h"

#include <errno.h>
#include <stdio.h>

/* Every required key and nothing else, in 10 lines. */
#define MINIMAL                                                                                    \
    "[nand]\n"                                                                                     \
    "cell = mlc\n"                                                                                 \
    "blocks_per_plane = 64\n"                                                                      \
    "pages_per_block = 128\n"                                                                      \
    "page_size = 4K\n"                                                                             \
    "tR = 50us\n"                                                                                  \
    "tPROG = 300us/1200us\n"                                                                       \
    "tBERS = 2ms\n"                                                                                \
    "[ftl]\n"                                                                                      \
    "type = page\n"

static inline int parse_with(struct fe_profile *p, const char *text, const char *const *overrides,
                             uint32_t n, struct fe_err *err)
{
    fe_err_init(err);
    return fe_profile_parse(p, "x.ini", text, strlen(text), overrides, n, err);
}

/* The profile must be good. */
static inline void parse_good(struct fe_profile *p, const char *text)
{
    struct fe_err err;
    if (parse_with(p, text, NULL, 0, &err) != 0)
        fail_msg("%s", err.text);
}

/* The profile must be refused with exactly this message. */
static inline void parse_bad(const char *text, const char *message)
{
    struct fe_profile p;
    struct fe_err err;
    assert_int_equal(parse_with(&p, text, NULL, 0, &err), -EINVAL);
    assert_string_equal(err.text, message);
}

/* What `show` prints; to be freed. */
static inline char *show(const struct fe_profile *p)
{
    char *text = NULL;
    size_t len = 0;
    struct fe_err err;
    FILE *out = open_memstream(&text, &len);
    assert_non_null(out);
    fe_err_init(&err);
    assert_int_equal(fe_profile_print(p, out, &err), 0);
    assert_int_equal(fclose(out), 0);
    return text;
}

/* Printing and loading again gives the same. */
static inline void check_fixpoint(const struct fe_profile *p)
{
    struct fe_profile again;
    char *once = show(p);
    parse_good(&again, once);
    char *twice = show(&again);
    assert_string_equal(once, twice);
    assert_memory_equal(&p->device, &again.device, sizeof p->device);
    assert_memory_equal(&p->nand, &again.nand, sizeof p->nand);
    assert_memory_equal(&p->ftl, &again.ftl, sizeof p->ftl);
    assert_memory_equal(&p->cache, &again.cache, sizeof p->cache);
    assert_memory_equal(&p->link, &again.link, sizeof p->link);
    fe_profile_fini(&again);
    free(once);
    free(twice);
}

static inline void assert_value(const struct fe_profile *p, const char *key, const char *value)
{
    char buf[FE_VALUE_MAX];
    assert_true(fe_profile_get(p, key, buf, sizeof buf));
    assert_string_equal(buf, value);
}
