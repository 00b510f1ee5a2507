/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The parameters of a point, as take.h says, and what the tests of several procedures share.
 */
#include "verify/against/take.h"

#include "verify/verify.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int against_bad(struct fe_err *err, const char *path, const char *key, const char *allowed)
{
    return fe_err_set(err, EINVAL, "%s%s%s: expected %s", path, *path && *key ? "." : "", key,
                      allowed);
}

int against_get_size(const struct against_point *p, const char *path, const char *key, uint64_t min,
                    uint64_t *ret, struct fe_err *err)
{
    const json_t *value = json_object_get(p->parameters, key);
    char allowed[80];

    if (json_is_integer(value) && json_integer_value(value) >= (json_int_t)min &&
        (uint64_t)json_integer_value(value) <= AGAINST_MAX_BYTES) {
        *ret = (uint64_t)json_integer_value(value);
        return 0;
    }
    snprintf(allowed, sizeof allowed, "a whole number from %llu to 2^44", (unsigned long long)min);
    return against_bad(err, path, key, allowed);
}

int against_may_get_size(const struct against_point *p, const char *path, const char *key,
                        uint64_t min, uint64_t *ret, struct fe_err *err)
{
    return json_object_get(p->parameters, key) ? against_get_size(p, path, key, min, ret, err) : 0;
}

int against_take_median(const json_t *values, const char *path, const char *key, bool is_signed,
                        double *ret, struct fe_err *err)
{
    size_t n = json_array_size(values);
    double *sorted = calloc(n + 1, sizeof *sorted);

    if (!sorted)
        return fe_err_nomem(err, "values", n * sizeof *sorted);
    int r = n > 0 ? 0 : against_bad(err, path, key, "a list of at least one number");
    for (size_t i = 0; i < n && r == 0; i++) {
        const json_t *value = json_array_get(values, i);
        sorted[i] = json_number_value(value);
        if (!json_is_number(value) || (sorted[i] <= 0 && !is_signed) || sorted[i] >= 1e18)
            r = fe_err_set(err, EINVAL, "%s.%s[%zu]: expected a number greater than 0", path, key, i);
    }
    if (r == 0)
        *ret = verify_median(sorted, n);
    free(sorted);
    return r;
}

int against_may_get_flag(const struct against_point *p, const char *path, const char *key,
                        bool *ret, struct fe_err *err)
{
    const json_t *value = json_object_get(p->parameters, key);

    if (value && !json_is_boolean(value))
        return against_bad(err, path, key, "true or false");
    if (value)
        *ret = json_is_true(value);
    return 0;
}

int against_get_word(const struct against_point *p, const char *path, const char *key,
                    const char *words, uint32_t *ret, struct fe_err *err)
{
    const char *value = json_string_value(json_object_get(p->parameters, key));
    size_t len = value ? strlen(value) : 0;

    *ret = 0;
    for (const char *w = words; len; w += strcspn(w, " ") + 1, (*ret)++) {
        size_t n = strcspn(w, " ");
        if (n == len && memcmp(w, value, n) == 0)
            return 0;
        if (w[n] == '\0')
            break;
    }
    char allowed[80];
    snprintf(allowed, sizeof allowed, "one of: %s", words);
    return against_bad(err, path, key, allowed);
}

void against_leave(struct against_point *p, const char *why)
{
    p->state = AGAINST_NOT_RUN;
    snprintf(p->why, sizeof p->why, "%s", why);
}

void against_name_seq(struct against_point *p, bool writes)
{
    p->kind = writes ? AGAINST_SEQ_WRITE : AGAINST_SEQ_READ;
    snprintf(p->test, sizeof p->test, "seq-%s %llu %llu %llu %u%u", writes ? "write" : "read",
             (unsigned long long)p->bs, (unsigned long long)p->size,
             (unsigned long long)p->start, p->flush, p->sync_every != 0);
}
