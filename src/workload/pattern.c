/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The table of patterns, and what all of them share: the stream of records.
 *
 * A kind of pattern only says where record i goes.  This file adds everything that all patterns
 * can have: a limit, flushes between the writes, FUA, pauses and times.
 */
#include "workload/pattern_impl.h"

#include "base/guess.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const struct fe_pattern_kind *const families[] = {fe_pattern_basic, fe_pattern_uflip,
                                                         fe_pattern_flashbench, fe_pattern_fat};

const struct fe_pattern_kind *fe_pattern_kind_at(unsigned i)
{
    for (unsigned f = 0; f < sizeof families / sizeof *families; f++)
        for (const struct fe_pattern_kind *k = families[f]; k->name; k++)
            if (i-- == 0)
                return k;
    return NULL;
}

/* The kind of that name, or NULL. */
static const struct fe_pattern_kind *kind_find(const char *name, size_t len)
{
    const struct fe_pattern_kind *k;

    for (unsigned i = 0; (k = fe_pattern_kind_at(i)) != NULL; i++)
        if (strlen(k->name) == len && memcmp(k->name, name, len) == 0)
            return k;
    return NULL;
}

/* Fails with -EINVAL and a message that lists the names of all kinds. */
static int unknown(const char *name, size_t len, struct fe_err *err)
{
    const struct fe_pattern_kind *k;
    char known[288] = "", guess[FE_GUESS_MAX];

    for (unsigned i = 0; (k = fe_pattern_kind_at(i)) != NULL; i++)
        fe_text_add(known, sizeof known, " %s", k->name);
    fe_guess_word(name, len, known, guess);
    return fe_err_set(err, EINVAL, "there is no pattern '%.*s'; %sknown:%s",
                      len > 60 ? 60 : (int)len, name, guess, known);
}

int fe_pattern_help(FILE *out, const char *name, struct fe_err *err)
{
    const struct fe_pattern_kind *kind;

    if (!name) {
        for (unsigned i = 0; (kind = fe_pattern_kind_at(i)) != NULL; i++)
            fprintf(out, "%-22s %s\n", kind->name, kind->help);
        return 0;
    }
    kind = kind_find(name, strlen(name));
    if (!kind)
        return unknown(name, strlen(name), err);
    fprintf(out, "%s: %s\n", kind->name, kind->help);
    fe_pattern_keys_help(out, kind);
    return 0;
}

/* Splits "NAME,KEY=VALUE,...", and applies these options first and then the others. */
static int parse_options(struct fe_pattern *p, const char *spec, const char *const *options,
                         uint32_t n_options, struct fe_err *err)
{
    size_t len = strcspn(spec, ",");
    int ret = 0;

    p->kind = kind_find(spec, len);
    if (!p->kind)
        return unknown(spec, len, err);
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
