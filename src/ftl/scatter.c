/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A plain array is enough: it has some dozens of entries and is touched only when a unit is
 * opened.
 */
#include "ftl/scatter.h"

#include <assert.h>
#include <stdlib.h>

int fe_scatter_init(struct fe_scatter *s, const struct fe_scatter *as, struct fe_err *err)
{
    *s = *as;
    s->group_units = as->group_units ? as->group_units : 1;
    if (s->max == 0)
        return 0;
    uint32_t n = s->max + s->more;
    s->units = calloc(n, sizeof *s->units);
    return s->units ? 0 : fe_err_nomem(err, "list of scattered units", n * sizeof *s->units);
}

void fe_scatter_fini(struct fe_scatter *s)
{
    free(s->units);
    s->units = NULL;
}

/* *ret = where the unit is in the list, or n and false if it is not there. */
static bool find(const struct fe_scatter *s, fe_leb leb, uint32_t *ret)
{
    for (*ret = 0; *ret < s->n; ++*ret)
        if (s->units[*ret].leb == leb)
            return true;
    return false;
}

static fe_leb first_of_group(const struct fe_scatter *s, fe_leb leb)
{
    return leb / s->group_units * s->group_units;
}

static bool is_of_group(const struct fe_scatter *s, uint32_t at, fe_leb first)
{
    return s->units[at].leb >= first && s->units[at].leb - first < s->group_units;
}

/* When a unit of this group was replaced last; 0 if none is scattered. */
static uint64_t last_of_group(const struct fe_scatter *s, fe_leb first)
{
    for (uint32_t i = s->n; i-- > 0;)
        if (is_of_group(s, i, first))
            return s->units[i].at;
    return 0;
}

bool fe_scatter_has_room(const struct fe_scatter *s, fe_leb leb, fe_leb *ret_first)
{
    uint32_t at;
    if (s->n < s->max || s->max == 0 || find(s, leb, &at))
        return true;
    fe_leb own = first_of_group(s, leb);
    *ret_first = first_of_group(s, s->units[0].leb);
    if (s->tick - last_of_group(s, *ret_first) >= s->stay)
        return false;
    if (last_of_group(s, own) > 0) {
        *ret_first = own;
        return false;
    }
    return s->n < s->max + s->more;
}

/* Whether the newest entries are a whole group, from its first unit to its last. */
static bool ends_whole_group(const struct fe_scatter *s)
{
    if (s->n < s->group_units || s->units[s->n - s->group_units].leb % s->group_units != 0)
        return false;
    for (uint32_t i = s->n - s->group_units + 1; i < s->n; i++)
        if (s->units[i].leb != s->units[i - 1].leb + 1)
            return false;
    return true;
}

void fe_scatter_add(struct fe_scatter *s, fe_leb leb)
{
    uint32_t at;
    if (s->max == 0)
        return;
    if (!find(s, leb, &at)) {
        assert(s->n < s->max + s->more);
        s->n++;
    }
    for (; at + 1 < s->n; at++)
        s->units[at] = s->units[at + 1];
    s->units[s->n - 1] = (struct fe_scattered){.leb = leb, .at = ++s->tick};
    if (s->switching && ends_whole_group(s))
        s->n -= s->group_units;
}

void fe_scatter_gathered(struct fe_scatter *s, fe_leb first)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < s->n; i++)
        if (!is_of_group(s, i, first))
            s->units[n++] = s->units[i];
    s->n = n;
}
