/* SPDX-License-Identifier: BSD-3-Clause */
#include "replay/print.h"

#include "tool.h"

#include "base/quantity.h"
#include "obs/stats_json.h"

#include <inttypes.h>

static json_t *failures_json(const struct replay *r)
{
    return json_pack("{s:I, s:I, s:I, s:I}", "read", (json_int_t)r->failed[FE_REQ_READ], "write",
                     (json_int_t)r->failed[FE_REQ_WRITE], "trim",
                     (json_int_t)r->failed[FE_REQ_TRIM], "flush",
                     (json_int_t)r->failed[FE_REQ_FLUSH]);
}

static double per_second(const struct replay *r)
{
    return r->wall_seconds > 0 ? (double)r->records / r->wall_seconds : 0;
}

json_t *replay_json(const struct replay *r)
{
    struct fe_snapshot *now = fe_snapshot_create(r->dev);
    json_t *o = NULL;
    uint64_t first;

    if (now) {
        fe_snapshot_take(now, r->dev);
        o = fe_stats_json(now, fe_device_profile(r->dev)->name, "virtual", NULL, false);
        fe_snapshot_destroy(now);
    }
    if (!o)
        return NULL;
    json_object_set_new(o, "records", json_integer((json_int_t)r->records));
    json_object_set_new(o, "dropped_trims", json_integer((json_int_t)r->dropped_trims));
    json_object_set_new(o, "user_bytes",
                        r->user_bytes ? json_integer((json_int_t)r->user_bytes) : json_null());
    json_object_set_new(o, "failed", failures_json(r));
    if (r->repeat)
        json_object_set_new(o, "repeated", repeat_json(r->repeat));
    json_object_set_new(o, "elapsed_ns",
                        json_integer((json_int_t)(fe_device_now(r->dev) - r->start_ns)));
    if (r->payload) {
        json_object_set_new(o, "verified_sectors",
                            json_integer((json_int_t)payload_verified(r->payload)));
        json_object_set_new(o, "wrong_sectors",
                            json_integer((json_int_t)payload_wrong(r->payload, &first)));
    }
    json_object_set_new(o, "wall_seconds", json_real(r->wall_seconds));
    json_object_set_new(o, "cpu_seconds", json_real(r->cpu_seconds));
    json_object_set_new(o, "host_ops_per_second", json_real(per_second(r)));
    return o;
}

static void print_latency(const struct fe_hist *h)
{
    struct fe_unit unit = fe_quantity_unit(FE_TIME, (double)h->max);
    const struct {
        const char *name;
        double ns;
    } times[] = {
        {"mean", fe_hist_mean(h)},
        {"p50", (double)fe_hist_quantile(h, 500000)},
        {"p99", (double)fe_hist_quantile(h, 990000)},
        {"p99.9", (double)fe_hist_quantile(h, 999000)},
        {"max", (double)h->max},
    };
    char text[FE_ROUNDED_MAX];

    printf("%-12s", "");
    for (size_t i = 0; i < sizeof times / sizeof *times; i++)
        printf("%s %s %s %s", i ? "," : "", times[i].name,
               fe_digits_text(times[i].ns / unit.size, 4, text), unit.name);
    putchar('\n');
}

static void print_commits(const struct replay *r)
{
    struct fe_hist h;

    fe_device_commit_latency(r->dev, &h);
    if (h.count == 0)
        return;
    printf("%-12s %" PRIu64 ": writes, and what makes them durable\n", "commit", h.count);
    print_latency(&h);
}

static void print_requests(const struct replay *r, const struct fe_stats *s, enum fe_req_type type,
                           const char *name)
{
    double seconds = (double)(fe_device_now(r->dev) - r->start_ns) / 1e9;

    if (s->host[type].ops == 0)
        return;
    char text[FE_ROUNDED_MAX];
    printf("%-12s %" PRIu64 " requests, %s MB", name, s->host[type].ops,
           fe_digits_text((double)s->host[type].bytes / 1e6, 4, text));
    if (seconds > 0) {
        printf(", %s MB/s",
               fe_digits_text((double)s->host[type].bytes / 1e6 / seconds, 4, text));
        printf(", %s IOPS", fe_digits_text((double)s->host[type].ops / seconds, 4, text));
    }
    putchar('\n');
    print_latency(fe_device_latency(r->dev, type));
}

static void print_errors(const struct replay *r)
{
    static const char *const names[] = {
        [FE_REQ_READ] = "reads", [FE_REQ_WRITE] = "writes", [FE_REQ_TRIM] = "trims",
        [FE_REQ_FLUSH] = "flushes",
    };
    uint64_t first;

    for (int i = 0; i < FE_N_REQ_TYPES; i++)
        if (r->failed[i])
            printf("%-12s %" PRIu64 " %s ended with an error\n", "failed", r->failed[i], names[i]);
    if (r->dropped_trims)
        printf("%-12s %" PRIu64 " trims left out\n", "dropped", r->dropped_trims);
    if (r->payload)
        printf("%-12s %" PRIu64 " sectors read as they were written\n", "verified",
               payload_verified(r->payload) - payload_wrong(r->payload, &first));
}

int replay_print(const struct replay *r)
{
    char elapsed[FE_ROUNDED_MAX], busy[FE_ROUNDED_MAX];
    struct fe_stats s;

    fe_device_get_stats(r->dev, &s);
    printf("%-12s %s\n", "profile", fe_device_profile(r->dev)->name);
    printf("%-12s %s, busy %s\n", "device time",
           fe_time_text((double)(s.device_ns - r->start_ns), elapsed),
           fe_time_text((double)s.busy_ns, busy));
    print_requests(r, &s, FE_REQ_READ, "read");
    print_requests(r, &s, FE_REQ_WRITE, "write");
    print_requests(r, &s, FE_REQ_TRIM, "trim");
    print_requests(r, &s, FE_REQ_FLUSH, "flush");
    print_commits(r);
    printf("%-12s %" PRIu64 " page reads, %" PRIu64 " programs, %" PRIu64 " block erases\n", "nand",
           s.nand.page_reads, s.nand.page_programs, s.nand.block_erases);
    if (r->user_bytes && s.busy_ns)
        printf("%-12s %.4g MB, %.4g MB/s\n", "files", (double)r->user_bytes / 1e6,
               (double)r->user_bytes * 1e3 / (double)s.busy_ns);
    if (s.host[FE_REQ_WRITE].bytes)
        printf("%-12s %.4g\n", "WAF",
               (double)s.nand.bytes_programmed / (double)s.host[FE_REQ_WRITE].bytes);
    printf("%-12s %" PRIu64 " collections, %" PRIu64 " pages copied; merges %" PRIu64
           " switch, %" PRIu64 " partial, %" PRIu64 " full\n",
           "ftl", s.ftl.gc_runs, s.ftl.pages_copied, s.ftl.merges_switch, s.ftl.merges_partial,
           s.ftl.merges_full);
    if (s.ftl.slc_folds || s.ftl.wear_moves)
        printf("%-12s %" PRIu64 " blocks of the SLC cache folded, %" PRIu64
               " moved by wear levelling\n",
               "", s.ftl.slc_folds, s.ftl.wear_moves);
    if (s.ftl.map_hits || s.ftl.map_misses)
        printf("%-12s %" PRIu64 " hits, %" PRIu64 " misses; %" PRIu64 " pages read, %" PRIu64
               " written, %" PRIu64 " of them by eviction\n",
               "map", s.ftl.map_hits, s.ftl.map_misses, s.ftl.map_reads, s.ftl.map_writes,
               s.ftl.map_evictions);
    printf("%-12s erases min %" PRIu64 ", mean %.4g, max %" PRIu64 "; bad blocks %" PRIu64
           " factory, %" PRIu64 " grown\n",
           "wear", s.wear.min, s.wear.mean, s.wear.max, s.bad_factory, s.bad_grown);
    if (s.enhanced_blocks)
        printf("%-12s erases min %" PRIu64 ", mean %.4g, max %" PRIu64 " of the %" PRIu64
               " blocks with the enhanced area\n",
               "", s.enhanced.min, s.enhanced.mean, s.enhanced.max, s.enhanced_blocks);
    print_errors(r);
    printf("%-12s %.4g million host operations a second\n", "simulated", per_second(r) / 1e6);
    return tool_finish(TOOL_OK);
}
