/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What all patterns share: options, the region, the stream of records.
 *
 * A kind of pattern only says where record i goes.  This file adds everything that all patterns
 * can have: a limit, flushes between the writes, FUA, pauses and times.
 */
#include "workload/pattern_impl.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

int fe_pattern_bad(const struct fe_pattern *p, struct fe_err *err, const char *fmt, ...)
{
    char text[256];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    return fe_err_set(err, EINVAL, "pattern %s: %s", p->kind->name, text);
}

static int must_be_sectors(const struct fe_pattern *p, enum fe_pattern_key key,
                           struct fe_err *err)
{
    if (p->o.v[key] % p->env.sector_size == 0)
        return 0;
    return fe_pattern_bad(p, err, "%s=%llu must be a multiple of the sector size %u",
                          fe_pattern_key_name(key), (unsigned long long)p->o.v[key],
                          p->env.sector_size);
}

int fe_pattern_region(struct fe_pattern *p, struct fe_err *err)
{
    uint64_t *v = p->o.v, capacity = p->env.capacity, end;
    int ret = 0;

    if (capacity && v[FE_PK_OFFSET] >= capacity)
        return fe_pattern_bad(p, err, "offset=%llu is not below the capacity %llu",
                              (unsigned long long)v[FE_PK_OFFSET], (unsigned long long)capacity);
    if (!(p->o.given & FE_PK_BIT(SIZE)))
        v[FE_PK_SIZE] = capacity ? capacity - v[FE_PK_OFFSET] : UINT64_C(1) << 30;
    if (__builtin_add_overflow(v[FE_PK_OFFSET], v[FE_PK_SIZE], &end) ||
        end > (capacity ? capacity : FE_TRACE_MAX_END))
        return fe_pattern_bad(p, err, "offset=%llu and size=%llu end behind the capacity %llu",
                              (unsigned long long)v[FE_PK_OFFSET],
                              (unsigned long long)v[FE_PK_SIZE],
                              (unsigned long long)(capacity ? capacity : FE_TRACE_MAX_END));
    static const enum fe_pattern_key sizes[] = {FE_PK_OFFSET, FE_PK_SIZE, FE_PK_BS};
    for (unsigned i = 0; ret == 0 && i < sizeof sizes / sizeof *sizes; i++)
        ret = must_be_sectors(p, sizes[i], err);
    if (ret < 0)
        return ret;
    p->n_blocks = v[FE_PK_SIZE] / v[FE_PK_BS];
    if (p->n_blocks == 0)
        return fe_pattern_bad(p, err, "bs=%llu is larger than size=%llu",
                              (unsigned long long)v[FE_PK_BS], (unsigned long long)v[FE_PK_SIZE]);
    if (!(p->o.given & FE_PK_BIT(COUNT)))
        v[FE_PK_COUNT] = p->n_blocks;
    return 0;
}

/* Splits "NAME,KEY=VALUE,...", and applies these options first and then the others. */
static int parse_options(struct fe_pattern *p, const char *spec, const char *const *options,
                         uint32_t n_options, struct fe_err *err)
{
    size_t len = strcspn(spec, ",");
    int ret = 0;

    p->kind = fe_pattern_kind_find(spec, len);
    if (!p->kind)
        return fe_pattern_unknown(spec, len, err);
    fe_pattern_set_defaults(p->kind, &p->o);
    while (ret == 0 && spec[len] == ',') {
        spec += len + 1;
        len = strcspn(spec, ",");
        ret = fe_pattern_set(p->kind, &p->o, spec, len, err);
    }
    for (uint32_t i = 0; ret == 0 && i < n_options; i++)
        ret = fe_pattern_set(p->kind, &p->o, options[i], strlen(options[i]), err);
    return ret;
}

int fe_pattern_create(struct fe_pattern **ret, const char *spec, const char *const *options,
                      uint32_t n_options, const struct fe_pattern_env *env, struct fe_err *err)
{
    struct fe_pattern *p = calloc(1, sizeof *p);

    if (!p)
        return fe_err_nomem(err, "pattern", sizeof *p);
    p->env = *env;
    if (p->env.sector_size == 0)
        p->env.sector_size = 512;
    int code = parse_options(p, spec, options, n_options, err);
    if (code == 0) {
        p->state = calloc(1, p->kind->state_size + 1);
        code = p->state ? p->kind->init(p, err) : fe_err_nomem(err, "pattern", sizeof *p);
    }
    if (code < 0) {
        fe_pattern_destroy(p);
        return code;
    }
    *ret = p;
    return 0;
}

void fe_pattern_destroy(struct fe_pattern *p)
{
    if (!p)
        return;
    free(p->state);
    free(p);
}

uint64_t fe_pattern_count(const struct fe_pattern *p)
{
    uint64_t count = p->o.v[FE_PK_COUNT], every = p->o.v[FE_PK_FLUSH];

    if (count == 0)
        return UINT64_MAX;
    return every ? count + count / every : count;
}

/* Sets pause, time and number of a record.  Times saturate instead of failing, because they only
 * give requests an order. */
static void stamp(struct fe_pattern *p, struct fe_trace_rec *rec)
{
    uint64_t pause = p->o.v[FE_PK_INTERVAL];

    if (__builtin_add_overflow(rec->think_ns, p->o.v[FE_PK_THINK], &rec->think_ns))
        rec->think_ns = UINT64_MAX;
    if (p->n_records == 0)
        pause = 0;
    if (__builtin_add_overflow(p->time_ns, pause, &p->time_ns) ||
        __builtin_add_overflow(p->time_ns, rec->think_ns, &p->time_ns))
        p->time_ns = UINT64_MAX;
    rec->time_ns = p->time_ns;
    rec->line = ++p->n_records;
}

uint32_t fe_pattern_next(struct fe_pattern *p, struct fe_trace_rec *recs, uint32_t max)
{
    uint64_t count = p->o.v[FE_PK_COUNT], every = p->o.v[FE_PK_FLUSH];
    uint32_t n = 0;

    while (n < max && !p->ended) {
        struct fe_trace_rec *rec = &recs[n];
        *rec = (struct fe_trace_rec){0};
        if (p->flush_due) {
            p->flush_due = false;
            rec->type = FE_REQ_FLUSH;
        } else if ((count && p->i == count) || !p->kind->next(p, p->i, rec)) {
            p->ended = true;
            break;
        } else {
            p->i++;
            bool writes = rec->type == FE_REQ_WRITE || rec->type == FE_REQ_TRIM;
            rec->fua = writes && p->o.v[FE_PK_FUA];
            if (every && writes && ++p->writes_since_flush == every) {
                p->writes_since_flush = 0;
                p->flush_due = true;
            }
        }
        stamp(p, rec);
        n++;
    }
    return n;
}
