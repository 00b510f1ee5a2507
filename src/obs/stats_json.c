/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Each function below builds one member and returns NULL without memory.  put() takes over such a
 * result and remembers a failure: an object under construction becomes NULL at the first failure
 * and remains NULL.  So the whole object is checked once, at its end, instead of after each of
 * some fifty numbers.
 *
 * JSON integers are signed in jansson.  A counter beyond 2^63 - 1 (292 years in nanoseconds) stays
 * at that number instead of turning negative.
 */
#include "obs/stats_json.h"

#include "obs/json_text.h"

#include <math.h>
#include <string.h>

/* Sets (*obj)[key] to value, which is taken over.  *obj becomes NULL if that fails. */
static void put(json_t **obj, const char *key, json_t *value)
{
    if (!*obj) {
        json_decref(value);
    } else if (json_object_set_new(*obj, key, value) != 0) {
        json_decref(*obj);
        *obj = NULL;
    }
}

static void put_u64(json_t **obj, const char *key, uint64_t value)
{
    put(obj, key, json_integer(value > INT64_MAX ? INT64_MAX : (json_int_t)value));
}

/* JSON has neither infinity nor NaN: they become null. */
static void put_real(json_t **obj, const char *key, double value)
{
    put(obj, key, isfinite(value) ? json_real(value) : json_null());
}

struct counter {
    const char *key;
    uint64_t value;
};

/* An object of counters; the list ends with a key of NULL. */
static json_t *counters_json(const struct counter *c)
{
    json_t *o = json_object();
    for (; c->key; c++)
        put_u64(&o, c->key, c->value);
    return o;
}

#define COUNTERS(...) counters_json((const struct counter[]){__VA_ARGS__, {NULL, 0}})

static json_t *req_json(const struct fe_req_stats *r)
{
    return COUNTERS({"ops", r->ops}, {"bytes", r->bytes});
}

static json_t *host_json(const struct fe_stats *s)
{
    json_t *o = json_object();
    put(&o, "read", req_json(&s->host[FE_REQ_READ]));
    put(&o, "write", req_json(&s->host[FE_REQ_WRITE]));
    put(&o, "trim", req_json(&s->host[FE_REQ_TRIM]));
    put(&o, "flush", req_json(&s->host[FE_REQ_FLUSH]));
    return o;
}

static json_t *nand_json(const struct fe_stats *s)
{
    return COUNTERS({"page_reads", s->nand.page_reads}, {"page_programs", s->nand.page_programs},
                    {"block_erases", s->nand.block_erases},
                    {"bytes_programmed", s->nand.bytes_programmed});
}

static json_t *ftl_json(const struct fe_stats *s)
{
    uint64_t written = s->host[FE_REQ_WRITE].bytes;
    json_t *o = json_object();
    if (written)
        put_real(&o, "waf", (double)s->nand.bytes_programmed / (double)written);
    else
        put(&o, "waf", json_null());
    put_u64(&o, "gc_runs", s->ftl.gc_runs);
    put_u64(&o, "pages_copied", s->ftl.pages_copied);
    put(&o, "merges", COUNTERS({"switch", s->ftl.merges_switch}, {"partial", s->ftl.merges_partial},
                               {"full", s->ftl.merges_full}));
    put_u64(&o, "slc_folds", s->ftl.slc_folds);
    put_u64(&o, "wear_moves", s->ftl.wear_moves);
    put(&o, "map", COUNTERS({"hits", s->ftl.map_hits}, {"misses", s->ftl.map_misses},
                            {"reads", s->ftl.map_reads}, {"writes", s->ftl.map_writes},
                            {"evictions", s->ftl.map_evictions}));
    put_u64(&o, "free_blocks", s->free_blocks);
    return o;
}

static json_t *cycles_json(const struct fe_wear_stats *w)
{
    json_t *o = json_object();
    put_u64(&o, "min", w->min);
    put_real(&o, "mean", w->mean);
    put_u64(&o, "max", w->max);
    put_real(&o, "stddev", w->stddev);
    return o;
}

json_t *fe_wear_json(const struct fe_stats *s)
{
    json_t *o = cycles_json(&s->wear);
    if (s->enhanced_blocks == 0)
        return o;
    json_t *area = cycles_json(&s->enhanced);
    put_u64(&area, "blocks", s->enhanced_blocks);
    put(&o, "enhanced", area);
    return o;
}

static json_t *hist_json(const struct fe_hist *h, int with_mean)
{
    json_t *o = json_object();
    put_u64(&o, "count", h ? h->count : 0);
    if (with_mean)
        put_real(&o, "mean", h ? fe_hist_mean(h) : 0);
    put_u64(&o, "p50", h ? fe_hist_quantile(h, 500000) : 0);
    put_u64(&o, "p99", h ? fe_hist_quantile(h, 990000) : 0);
    put_u64(&o, "p999", h ? fe_hist_quantile(h, 999000) : 0);
    put_u64(&o, "max", h ? h->max : 0);
    return o;
}

static json_t *latency_json(const struct fe_snapshot *now)
{
    json_t *o = json_object();
    put(&o, "read", hist_json(fe_snapshot_latency(now, FE_REQ_READ), 1));
    put(&o, "write", hist_json(fe_snapshot_latency(now, FE_REQ_WRITE), 1));
    put(&o, "flush", hist_json(fe_snapshot_latency(now, FE_REQ_FLUSH), 1));
    put(&o, "commit", hist_json(fe_snapshot_commit_latency(now), 1));
    return o;
}

/* Of every lie that a device can tell, how often it did. */
static json_t *lies_json(const struct fe_stats *s)
{
    json_t *o = json_object();
    for (uint32_t i = 0; i < FE_N_LIES; i++)
        put_u64(&o, fe_lie_name(i), s->told[i]);
    return o;
}

json_t *fe_stats_json(const struct fe_snapshot *now, const char *name, const char *clock,
                      const struct fe_hist *lateness, bool late)
{
    struct fe_stats s;
    fe_snapshot_stats(now, &s);

    json_t *o = json_object();
    put(&o, "profile", fe_json_text(name, strlen(name)));
    put(&o, "clock", json_string(clock));
    put_u64(&o, "device_ns", s.device_ns);
    put_u64(&o, "busy_ns", s.busy_ns);
    put(&o, "host", host_json(&s));
    put(&o, "nand", nand_json(&s));
    put(&o, "ftl", ftl_json(&s));
    put(&o, "wear", fe_wear_json(&s));
    put(&o, "bad_blocks", COUNTERS({"factory", s.bad_factory}, {"grown", s.bad_grown}));
    put(&o, "ecc",
        COUNTERS({"corrected", s.ecc_corrected}, {"uncorrectable", s.ecc_uncorrectable}));
    put(&o, "power", json_pack("{s:b, s:I}", "on", (int)s.power.is_on, "cuts",
                                (json_int_t)s.power.cuts));
    if (s.lies)
        put(&o, "lies", lies_json(&s));
    const char *reason = fe_condition_reason(s.condition);
    put(&o, "state", json_string(fe_condition_state(s.condition)));
    put(&o, "reason", reason ? json_string(reason) : json_null());
    put(&o, "latency_ns", latency_json(now));
    json_t *lateness_ns = hist_json(lateness, 0);
    put(&lateness_ns, "late", json_boolean(late));
    put(&o, "lateness_ns", lateness_ns);
    return o;
}
