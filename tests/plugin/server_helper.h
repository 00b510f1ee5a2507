/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A server without nbdkit around it, for the tests of plugin/server.c and plugin/events.c.
 */
#pragma once

#include "lib/unit.h"

#include "server.h"

#include <string.h>

/* A server of profile `ideal` with these parameters, "KEY=VALUE", with NULL at the end. */
static inline struct fe_server *ft_server_make(const char *const *params)
{
    struct fe_err err = {""};
    struct fe_params p;
    struct fe_profile profile;
    struct fe_server *s = NULL;
    char texts[8][64];
    fe_params_init(&p);
    assert_int_equal(fe_params_set(&p, "profile", "ideal", &err), 0);
    for (size_t i = 0; params[i]; i++) {
        assert_true(i < 8 && strlen(params[i]) < sizeof texts[i]);
        strcpy(texts[i], params[i]); /* the parameters point into it until the server is there */
        char *equals = strchr(texts[i], '=');
        *equals = '\0';
        if (fe_params_set(&p, texts[i], equals + 1, &err) < 0)
            fail_msg("%s", err.text);
    }
    if (fe_params_load_profile(&p, &profile, &err) < 0 ||
        fe_server_create(&s, &p, &profile, &err) < 0)
        fail_msg("%s", err.text);
    fe_profile_fini(&profile);
    fe_params_fini(&p);
    assert_int_equal(fe_server_start(s, &err), 0);
    return s;
}
