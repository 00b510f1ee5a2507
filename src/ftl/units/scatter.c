/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A plain array is enough: it has some dozens of entries and is touched only when a unit is
 * opened.
 */
#include "ftl/units/scatter.h"

#include "base/num.h"

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
    if (!s->units)
        return fe_err_nomem(err, "list of scattered units", n * sizeof *s->units);
    uint64_t groups = fe_div_up(s->n_lebs, s->group_units);
    if (s->hot)
        s->writes = calloc(groups, sizeof *s->writes);
    return s->writes || !s->hot
        ? 0 : fe_err_nomem(err, "commands to groups", groups * sizeof *s->writes);
}

void fe_scatter_fini(struct fe_scatter *s)
{
    free(s->units);
    free(s->writes);
    s->units = NULL;
    s->writes = NULL;
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

static uint32_t writes_of(const struct fe_scatter *s, fe_leb leb)
{
    return s->writes ? s->writes[leb / s->group_units] : 0;
}

void fe_scatter_written(struct fe_scatter *s, fe_leb leb)
{
    if (s->writes && writes_of(s, leb) < s->hot)
        s->writes[leb / s->group_units]++;
}

/* The first unit of the group besides `own` to which the fewest commands were written, and of those
 * the oldest; FE_LEB_NONE if there is none that can be gathered. */
static fe_leb coldest_besides(const struct fe_scatter *s, fe_leb own)
{
    fe_leb best = FE_LEB_NONE;
    for (uint32_t i = 0; i < s->n; i++) {
        fe_leb leb = s->units[i].leb;
        if (!is_of_group(s, i, own) && !s->is_busy(s->ctx, leb) &&
            (best == FE_LEB_NONE || writes_of(s, leb) < writes_of(s, best)))
            best = leb;
    }
    return best == FE_LEB_NONE ? best : first_of_group(s, best);
}

/* The group whose place this one takes because more commands were written to it; FE_LEB_NONE if it
 * takes none. */
static fe_leb find_colder(const struct fe_scatter *s, fe_leb own)
{
    fe_leb other = s->writes ? coldest_besides(s, own) : FE_LEB_NONE;
    if (other == FE_LEB_NONE)
        return FE_LEB_NONE;
    bool takes = writes_of(s, own) >= s->hot || writes_of(s, other) < writes_of(s, own);
    return takes ? other : FE_LEB_NONE;
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
    fe_leb colder = find_colder(s, own);
    if (colder != FE_LEB_NONE || last_of_group(s, own) > 0) {
        *ret_first = colder != FE_LEB_NONE ? colder : own;
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
    if (s->writes)
        s->writes[first / s->group_units] = 0;
    for (uint32_t i = 0; i < s->n; i++)
        if (!is_of_group(s, i, first))
            s->units[n++] = s->units[i];
    s->n = n;
}
