/* SPDX-License-Identifier: BSD-3-Clause */
#include "verify/against/percentiles.h"

#include "tool.h"
#include "verify/against/take.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PPM = 1000000, PATH_ROOM = 96 };

int against_times_init(struct against_times *t, uint64_t room, struct fe_err *err)
{
    t->room = room;
    t->request_ns = calloc(room, sizeof *t->request_ns);
    t->sync_ns = calloc(room, sizeof *t->sync_ns);
    t->sorted = calloc(room, sizeof *t->sorted);
    return t->request_ns && t->sync_ns && t->sorted
               ? 0 : fe_err_nomem(err, "times", 3 * room * sizeof *t->sorted);
}

void against_times_fini(struct against_times *t)
{
    free(t->request_ns);
    free(t->sync_ns);
    free(t->sorted);
}

/* --- the file --- */

/* Parses a percentage of up to four digits behind the point. */
static bool parse_share(const char *text, uint32_t *ret_ppm)
{
    uint32_t ppm = 0, digits = 0, scale = PPM / 100;
    const char *p = text;

    for (; *p >= '0' && *p <= '9' && digits < 3; p++, digits++)
        ppm = 10 * ppm + (uint32_t)(*p - '0');
    ppm *= PPM / 100;
    if (digits == 0 || (digits == 3 && ppm != PPM))
        return false;
    if (*p == '.') {
        for (p++; *p >= '0' && *p <= '9' && scale > 1; p++) {
            scale /= 10;
            ppm += scale * (uint32_t)(*p - '0');
        }
        if (scale == PPM / 100)
            return false;
    }
    *ret_ppm = ppm;
    return *p == '\0' && ppm <= PPM;
}

int against_take_percentiles(struct against_point *p, const json_t *percentiles, const char *point,
                             struct fe_err *err)
{
    char path[PATH_ROOM];
    const char *key;
    json_t *values;
    size_t n = json_object_size(percentiles);

    if (!percentiles)
        return 0;
    if (!json_is_object(percentiles) || (n > 0 && strcmp(p->unit, "ns") != 0))
        return against_bad(err, point, "percentiles", "an object, of a point in ns");
    snprintf(path, sizeof path, "%s.percentiles", point);
    p->shares = calloc(n + 1, sizeof *p->shares);
    if (!p->shares)
        return fe_err_nomem(err, "percentiles", n * sizeof *p->shares);
    json_object_foreach((json_t *)percentiles, key, values) {
        struct against_share *s = &p->shares[p->n_shares++];
        s->text = key;
        if (!parse_share(key, &s->ppm))
            return against_bad(err, path, key, "a percentage such as 99.9");
        int r = against_take_median(values, path, s->text, false, &s->published, err);
        if (r < 0)
            return r;
    }
    return 0;
}

/* --- what was measured --- */

/* The times of what the point is about, from the least on; how many there are. */
static uint64_t sort_times(const struct against_point *p, struct against_times *t,
                           const struct verify_done *done)
{
    uint64_t n = p->what == AGAINST_SYNC ? done->syncs : done->requests;
    bool both = p->what == AGAINST_LATENCY_SYNCED || p->what == AGAINST_SYNC_AND_WRITES;

    for (uint64_t i = 0; i < n; i++)
        t->sorted[i] = p->what == AGAINST_SYNC ? t->sync_ns[i]
                       : both && i < done->syncs ? t->request_ns[i] + t->sync_ns[i]
                                                 : t->request_ns[i];
    qsort(t->sorted, n, sizeof *t->sorted, tool_compare_u64);
    return n;
}

/* Whether so many times have another one on each side of the percentile. */
static bool tell(uint64_t n, uint32_t ppm)
{
    return n * ppm >= PPM && n * (PPM - ppm) >= PPM;
}

void against_percentiles(struct against_point *p, struct against_times *t,
                         const struct verify_done *done)
{
    if (p->n_shares == 0)
        return;
    p->n_times = sort_times(p, t, done);
    for (size_t i = 0; i < p->n_shares; i++) {
        struct against_share *s = &p->shares[i];
        uint64_t rank = (p->n_times * s->ppm + PPM - 1) / PPM;
        s->measured = tell(p->n_times, s->ppm) ? (double)t->sorted[rank - 1] : 0;
    }
}

const char *against_share_reason(const struct against_point *p, const struct against_share *s)
{
    return p->state != AGAINST_MEASURED ? "its point is not"
           : p->n_times == 0            ? "nothing computes percentiles of this procedure"
           : !tell(p->n_times, s->ppm)  ? "the test has too few requests"
           : s->measured <= 0           ? "it takes no time on this device"
                                        : "";
}

double against_share_error(const struct against_share *s)
{
    return 100 * (s->measured / s->published - 1);
}
