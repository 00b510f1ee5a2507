/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A family of metrics is a line with its type, perhaps a line with its unit, a line of help, and
 * its samples:
 *
 *     # TYPE flashemu_host_bytes counter
 *     # UNIT flashemu_host_bytes bytes
 *     # HELP flashemu_host_bytes What the host has read, written and trimmed.
 *     flashemu_host_bytes_total{type="read"} 4096
 *
 * The bounds of a histogram are one nanosecond below the powers of two, because the histogram
 * knows exactly how many values are below these.  Nothing is printed by way of a floating-point
 * format, because such a format follows the locale of the process.
 */
#include "obs/metrics.h"

#include "flashemu/health.h"

#include "obs/json_text.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_BOUND = 10, LAST_BOUND = 36 }; /* 2^10 ns is 1 us, and 2^36 ns are 69 s */

static const uint64_t NS = 1000000000;

/* Begins a family.  unit may be NULL; otherwise the name ends with it. */
static void family(FILE *out, const char *name, const char *type, const char *unit,
                   const char *help)
{
    fprintf(out, "# TYPE flashemu_%s %s\n", name, type);
    if (unit)
        fprintf(out, "# UNIT flashemu_%s %s\n", name, unit);
    fprintf(out, "# HELP flashemu_%s %s\n", name, help);
}

/* A sample of the counter `name`; label may be NULL. */
static void count(FILE *out, const char *name, const char *label, const char *is, uint64_t value)
{
    if (label)
        fprintf(out, "flashemu_%s_total{%s=\"%s\"} %" PRIu64 "\n", name, label, is, value);
    else
        fprintf(out, "flashemu_%s_total %" PRIu64 "\n", name, value);
}

/* A counter that consists of one sample. */
static void counter(FILE *out, const char *name, const char *help, uint64_t value)
{
    family(out, name, "counter", NULL, help);
    count(out, name, NULL, NULL, value);
}

static void gauge(FILE *out, const char *name, const char *help, uint64_t value)
{
    family(out, name, "gauge", NULL, help);
    fprintf(out, "flashemu_%s %" PRIu64 "\n", name, value);
}

static void print_seconds(FILE *out, unsigned __int128 ns)
{
    fprintf(out, "%" PRIu64 ".%09" PRIu64, (uint64_t)(ns / NS), (uint64_t)(ns % NS));
}

static void seconds_counter(FILE *out, const char *name, const char *help, uint64_t ns)
{
    family(out, name, "counter", "seconds", help);
    fprintf(out, "flashemu_%s_total ", name);
    print_seconds(out, ns);
    fputc('\n', out);
}

/* With six digits after the point.  value is not negative and below 2^43. */
static void print_real(FILE *out, double value)
{
    uint64_t millionths = (uint64_t)llround(value * 1e6);
    fprintf(out, "%" PRIu64 ".%06" PRIu64 "\n", millionths / 1000000, millionths % 1000000);
}

/* A text as the value of a label. */
static void print_label(FILE *out, const char *label, const char *text)
{
    fprintf(out, "%s=\"", label);
    for (; *text; text++) {
        if (*text == '\n')
            fputs("\\n", out);
        else if (*text == '"' || *text == '\\')
            fprintf(out, "\\%c", *text);
        else
            fputc(*text, out);
    }
    fputc('"', out);
}

static void print_info(FILE *out, const json_t *origin, const char *clock)
{
    const char *version = json_string_value(json_object_get(origin, "version"));
    const char *profile = json_string_value(json_object_get(origin, "profile"));
    uint64_t seed = 0;
    fe_json_to_u64(json_object_get(origin, "seed"), &seed);
    family(out, "server", "info", NULL, "What is served.");
    fputs("flashemu_server_info{", out);
    print_label(out, "version", version ? version : "");
    fputc(',', out);
    print_label(out, "profile", profile ? profile : "");
    fprintf(out, ",clock=\"%s\",seed=\"%" PRIu64 "\"} 1\n", clock, seed);
}

/* Each state once; several conditions can have the same state. */
static void print_state(FILE *out, enum fe_condition is)
{
    family(out, "state", "stateset", NULL, "In which state the device is.");
    for (int i = FE_COND_DEAD_BY_CUT; i <= FE_COND_ALIVE; i++) {
        const char *state = fe_condition_state((enum fe_condition)i);
        bool known = false;
        for (int j = FE_COND_DEAD_BY_CUT; j < i; j++)
            known = known || strcmp(state, fe_condition_state((enum fe_condition)j)) == 0;
        if (!known)
            fprintf(out, "flashemu_state{flashemu_state=\"%s\"} %d\n", state,
                    strcmp(state, fe_condition_state(is)) == 0);
    }
}

static void print_host(FILE *out, const struct fe_stats *s)
{
    static const char *const types[FE_N_REQ_TYPES] = {
        [FE_REQ_READ] = "read", [FE_REQ_WRITE] = "write", [FE_REQ_TRIM] = "trim",
        [FE_REQ_FLUSH] = "flush"};
    family(out, "host_requests", "counter", NULL, "Requests of the host that were answered.");
    for (int i = 0; i < FE_N_REQ_TYPES; i++)
        count(out, "host_requests", "type", types[i], s->host[i].ops);
    family(out, "host_bytes", "counter", "bytes", "What the host has read, written and trimmed.");
    for (int i = 0; i < FE_N_REQ_TYPES; i++)
        if (i != FE_REQ_FLUSH)
            count(out, "host_bytes", "type", types[i], s->host[i].bytes);
}

static void print_nand(FILE *out, const struct fe_stats *s)
{
    uint64_t written = s->host[FE_REQ_WRITE].bytes;
    family(out, "nand_operations", "counter", NULL, "Operations of the flash chips.");
    count(out, "nand_operations", "operation", "page_read", s->nand.page_reads);
    count(out, "nand_operations", "operation", "page_program", s->nand.page_programs);
    count(out, "nand_operations", "operation", "block_erase", s->nand.block_erases);
    family(out, "nand_programmed_bytes", "counter", "bytes", "What was programmed into pages.");
    count(out, "nand_programmed_bytes", NULL, NULL, s->nand.bytes_programmed);
    if (written == 0)
        return; /* the ratio has no value yet */
    family(out, "write_amplification_ratio", "gauge", "ratio",
           "Programmed bytes for each byte that the host wrote.");
    fputs("flashemu_write_amplification_ratio ", out);
    print_real(out, (double)s->nand.bytes_programmed / (double)written);
}

static void print_ftl(FILE *out, const struct fe_stats *s)
{
    counter(out, "ftl_collections", "Blocks that garbage collection has emptied.", s->ftl.gc_runs);
    counter(out, "ftl_copied_pages", "Pages that were copied within the device.",
            s->ftl.pages_copied);
    family(out, "ftl_merges", "counter", NULL, "Merges by their kind.");
    count(out, "ftl_merges", "kind", "switch", s->ftl.merges_switch);
    count(out, "ftl_merges", "kind", "partial", s->ftl.merges_partial);
    count(out, "ftl_merges", "kind", "full", s->ftl.merges_full);
    counter(out, "ftl_slc_folds", "Blocks that were folded from the SLC cache.", s->ftl.slc_folds);
    counter(out, "ftl_wear_moves", "Blocks that wear levelling has moved.", s->ftl.wear_moves);
    family(out, "ftl_map_lookups", "counter", NULL, "Lookups in the mapping cache.");
    count(out, "ftl_map_lookups", "result", "hit", s->ftl.map_hits);
    count(out, "ftl_map_lookups", "result", "miss", s->ftl.map_misses);
    family(out, "ftl_map_pages", "counter", NULL, "Pages of the mapping table in flash.");
    count(out, "ftl_map_pages", "operation", "read", s->ftl.map_reads);
    count(out, "ftl_map_pages", "operation", "write", s->ftl.map_writes);
    count(out, "ftl_map_pages", "operation", "evict", s->ftl.map_evictions);
    gauge(out, "ftl_free_blocks", "Erased blocks that are ready for use.", s->free_blocks);
}

static void print_cycles(FILE *out, const char *name, const struct fe_wear_stats *w)
{
    const struct {
        const char *statistic;
        double value;
    } rows[] = {{"min", (double)w->min}, {"mean", w->mean}, {"max", (double)w->max},
                {"stddev", w->stddev}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        fprintf(out, "flashemu_%s{statistic=\"%s\"} ", name, rows[i].statistic);
        print_real(out, rows[i].value);
    }
}

static void print_wear(FILE *out, const struct fe_stats *s)
{
    family(out, "wear_cycles", "gauge", "cycles", "Erases of the blocks in use.");
    print_cycles(out, "wear_cycles", &s->wear);
    if (s->enhanced_blocks) {
        family(out, "enhanced_wear_cycles", "gauge", "cycles",
               "Erases of the blocks that hold the enhanced area.");
        print_cycles(out, "enhanced_wear_cycles", &s->enhanced);
    }
    family(out, "bad_blocks", "gauge", NULL, "Bad blocks of the chips by their origin.");
    fprintf(out, "flashemu_bad_blocks{origin=\"factory\"} %" PRIu64 "\n", s->bad_factory);
    fprintf(out, "flashemu_bad_blocks{origin=\"grown\"} %" PRIu64 "\n", s->bad_grown);
    family(out, "ecc_codewords", "counter", NULL, "Codewords that had wrong bits.");
    count(out, "ecc_codewords", "result", "corrected", s->ecc_corrected);
    count(out, "ecc_codewords", "result", "uncorrectable", s->ecc_uncorrectable);
    counter(out, "power_cuts", "Power cuts since the device was made.", s->power.cuts);
    gauge(out, "power_on", "1 if the device has power, otherwise 0.", s->power.is_on);
}

/* A step is a number, as in EXT_CSD; 0 is "not defined". */
static void print_health(FILE *out, const struct fe_snapshot *now)
{
    struct fe_health h;
    fe_snapshot_health(now, &h);
    family(out, "life_time_step", "gauge", NULL,
           "EXT_CSD DEVICE_LIFE_TIME_EST: 1 for up to 10 % used, to 11; type A is SLC.");
    fprintf(out, "flashemu_life_time_step{type=\"a\"} %" PRIu32 "\n", h.life_a);
    fprintf(out, "flashemu_life_time_step{type=\"b\"} %" PRIu32 "\n", h.life_b);
    gauge(out, "pre_eol_step", "EXT_CSD PRE_EOL_INFO: 1 normal, 2 warning, 3 urgent.", h.pre_eol);
    gauge(out, "spare_blocks", "Good blocks that can still replace bad ones.", h.spare);
}

static void print_lies(FILE *out, const struct fe_stats *s)
{
    if (!s->lies)
        return;
    family(out, "lies", "counter", NULL, "Requests on which the device has lied, by faults.lie.");
    for (uint32_t i = 0; i < FE_N_LIES; i++)
        count(out, "lies", "lie", fe_lie_name(i), s->told[i]);
}

/* The samples of one histogram; the labels end with a comma if there are any. */
static void histogram(FILE *out, const char *name, const char *labels, const struct fe_hist *h)
{
    for (unsigned i = FIRST_BOUND; i <= LAST_BOUND; i++) {
        fprintf(out, "flashemu_%s_bucket{%sle=\"", name, labels);
        print_seconds(out, (UINT64_C(1) << i) - 1);
        fprintf(out, "\"} %" PRIu64 "\n", fe_hist_below(h, i));
    }
    fprintf(out, "flashemu_%s_bucket{%sle=\"+Inf\"} %" PRIu64 "\n", name, labels, h->count);
    size_t len = strlen(labels);
    char braces[64] = "";
    if (len > 0)
        snprintf(braces, sizeof braces, "{%.*s}", (int)len - 1, labels);
    fprintf(out, "flashemu_%s_count%s %" PRIu64 "\n", name, braces, h->count);
    fprintf(out, "flashemu_%s_sum%s ", name, braces);
    print_seconds(out, h->sum);
    fputc('\n', out);
}

static void print_times(FILE *out, const struct fe_snapshot *now, const struct fe_hist *lateness,
                        bool late)
{
    family(out, "request_duration_seconds", "histogram", "seconds",
           "Device time from the arrival of a request to its completion.");
    histogram(out, "request_duration_seconds", "type=\"read\",",
              fe_snapshot_latency(now, FE_REQ_READ));
    histogram(out, "request_duration_seconds", "type=\"write\",",
              fe_snapshot_latency(now, FE_REQ_WRITE));
    histogram(out, "request_duration_seconds", "type=\"flush\",",
              fe_snapshot_latency(now, FE_REQ_FLUSH));
    family(out, "commit_duration_seconds", "histogram", "seconds",
           "Device time from the first write of a commit to the end of its flush.");
    histogram(out, "commit_duration_seconds", "", fe_snapshot_commit_latency(now));
    family(out, "lateness_seconds", "histogram", "seconds",
           "How much later than planned the server has answered, in real time.");
    histogram(out, "lateness_seconds", "", lateness);
    gauge(out, "late",
          "1 if of 1000 answers in a row more than half were more than 10 us late.", late);
}

char *fe_metrics_text(const struct fe_snapshot *now, const json_t *origin, const char *clock,
                      const struct fe_hist *lateness, bool late)
{
    struct fe_stats s;
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return NULL;
    fe_snapshot_stats(now, &s);
    print_info(out, origin, clock);
    print_state(out, s.condition);
    seconds_counter(out, "device_time_seconds", "Time on the clock of the device.", s.device_ns);
    seconds_counter(out, "busy_time_seconds", "Time in which the device had work.", s.busy_ns);
    print_host(out, &s);
    print_nand(out, &s);
    print_ftl(out, &s);
    print_wear(out, &s);
    print_health(out, now);
    print_lies(out, &s);
    print_times(out, now, lateness, late);
    fputs("# EOF\n", out);
    bool failed = ferror(out) != 0;
    if (fclose(out) != 0 || failed) {
        free(text);
        return NULL;
    }
    return text;
}
