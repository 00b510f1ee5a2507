/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A plain array is enough: it has some dozens of entries and is touched only when a unit is
 * opened.
 */
#include "ftl/scatter.h"

#include <assert.h>
#include <stdlib.h>

int fe_scatter_init(struct fe_scatter *s, uint32_t group_units, uint32_t max, bool switching,
                    struct fe_err *err)
{
    *s = (struct fe_scatter){
        .group_units = group_units ? group_units : 1, .max = max, .switching = switching};
    if (max == 0)
        return 0;
    s->lebs = calloc(max, sizeof *s->lebs);
    return s->lebs ? 0 : fe_err_nomem(err, "list of scattered units", max * sizeof *s->lebs);
}

void fe_scatter_fini(struct fe_scatter *s)
{
    free(s->lebs);
    s->lebs = NULL;
}

/* *ret = where the unit is in the list, or n and false if it is not there. */
static bool find(const struct fe_scatter *s, fe_leb leb, uint32_t *ret)
{
    for (*ret = 0; *ret < s->n; ++*ret)
        if (s->lebs[*ret] == leb)
            return true;
    return false;
}

bool fe_scatter_has_room(const struct fe_scatter *s, fe_leb leb)
{
    uint32_t at;
    return s->n < s->max || s->max == 0 || find(s, leb, &at);
}

/* Whether the newest entries are a whole group, from its first unit to its last. */
static bool ends_whole_group(const struct fe_scatter *s)
{
    if (s->n < s->group_units || s->lebs[s->n - s->group_units] % s->group_units != 0)
        return false;
    for (uint32_t i = s->n - s->group_units + 1; i < s->n; i++)
        if (s->lebs[i] != s->lebs[i - 1] + 1)
            return false;
    return true;
}

void fe_scatter_add(struct fe_scatter *s, fe_leb leb)
{
    uint32_t at;
    if (s->max == 0)
        return;
    if (!find(s, leb, &at)) {
        assert(s->n < s->max);
        s->n++;
    }
    for (; at + 1 < s->n; at++)
        s->lebs[at] = s->lebs[at + 1];
    s->lebs[s->n - 1] = leb;
    if (s->switching && ends_whole_group(s))
        s->n -= s->group_units;
}

fe_leb fe_scatter_oldest_group(const struct fe_scatter *s)
{
    assert(s->n > 0);
    return s->lebs[0] / s->group_units * s->group_units;
}

void fe_scatter_gathered(struct fe_scatter *s, fe_leb first)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < s->n; i++)
        if (s->lebs[i] < first || s->lebs[i] - first >= s->group_units)
            s->lebs[n++] = s->lebs[i];
    s->n = n;
}
