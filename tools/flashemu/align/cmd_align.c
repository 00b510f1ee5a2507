/* SPDX-License-Identifier: BSD-3-Clause
 *
 * align: where a partition should start, as a table and a sentence.
 *
 *     start               seq 1M        seq 64K    ...   random 4K
 *     31.5 KiB       63   3.58  2.63    ...              the rate in MB/s, and the write
 *     128 KiB       256   6.14  2.12    ...              amplification (WAF), of each pattern
 *
 * What is measured is said in align.h.
 */
#include "align/align.h"
#include "align/align_svg.h"
#include "align/unmeasured.h"
#include "output.h"
#include "tool.h"

#include "base/quantity.h"
#include "flashemu/device.h"
#include "obs/json_text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char align_help[] =
    "usage: flashemu align PROFILE [SECTION.KEY=VALUE...]\n\n"
    "Writes in order and at random to partitions that start at different places of an\n"
    "emulated device, in virtual time.  Prints rate and write amplification (WAF) by start\n"
    "and size of the requests, and says what follows for the start of a partition.\n"
    "The part of the device that is used has been written once before.\n"
    "If [provenance] says that the page, the unit or the map was taken from another device\n"
    "and not measured, that stands first, and there is no advice.  What it says a fitted\n"
    "profile is far off at follows.\n\n"
    "  --start START,...    these starts: sizes (4M), or sectors of 512 bytes (63s);\n"
    "                       the default is 63s, 32K, 64K, ... 8M and the device's own unit\n"
    "  --json               the same as JSON\n"
    "  -o, --output FILE    also draws the rates, as SVG\n"
    "  --force              replaces FILE whatever it is, except an input\n"
    "  --seed N             of the device's randomness and of the places (1)\n";

struct command {
    const char *starts, *svg, *seed_text;
    bool json;
    uint64_t seed, capacity;
    const char *profile_name; /* as the user wrote it */
    const char *const *overrides;
    uint32_t n_overrides;
    struct fe_profile profile;
    struct align_result result;
    struct unmeasured unmeasured;
};

/* --- arguments --- */

static bool parse_start(const char *word, size_t len, uint32_t sector_size, uint64_t *ret)
{
    bool sectors = len > 1 && word[len - 1] == 's';
    enum fe_quantity q = sectors ? FE_COUNT : FE_SIZE;

    if (!fe_quantity_parse_span(q, word, sectors ? len - 1 : len, ret) ||
        (sectors && *ret > UINT64_MAX / 512)) {
        tool_error("--start %.*s: expected a size such as 4M, or sectors such as 63s", (int)len,
                   word);
        return false;
    }
    *ret *= sectors ? 512 : 1;
    if (*ret % sector_size == 0)
        return true;
    tool_error("--start %.*s: is not a whole number of the device's sectors of %u bytes", (int)len,
               word, sector_size);
    return false;
}

static bool parse_starts(const char *list, uint32_t sector_size, struct align_result *a)
{
    for (const char *word = list;; word++) {
        size_t len = strcspn(word, ",");
        if (a->n_starts == ALIGN_MAX_STARTS) {
            tool_error("--start: at most %d starts", ALIGN_MAX_STARTS);
            return false;
        }
        if (!parse_start(word, len, sector_size, &a->start[a->n_starts]))
            return false;
        a->n_starts++;
        word += len;
        if (!*word)
            break;
    }
    qsort(a->start, a->n_starts, sizeof *a->start, tool_compare_u64);
    for (uint32_t i = 1; i < a->n_starts; i++)
        if (a->start[i] == a->start[i - 1]) {
            tool_error("--start %s: one start is given twice", list);
            return false;
        }
    return true;
}

/* Loads the profile of a device that is made quickly, and finds out its capacity. */
static int load(struct command *c, struct fe_err *err)
{
    const struct fe_device_options opt = {.seed = 1};
    struct fe_device *dev;

    const char **overrides = calloc(c->n_overrides + 1, sizeof *overrides);
    if (!overrides)
        return fe_err_nomem(err, "overrides", c->n_overrides + 1);
    uint32_t n = 0;
    bool told = false;
    for (uint32_t i = 0; i < c->n_overrides; i++) {
        overrides[n++] = c->overrides[i];
        told |= strncmp(c->overrides[i], "device.used=", 12) == 0;
    }
    if (!told)
        overrides[n++] = "device.used=0";
    int code = tool_load_profile(&c->profile, c->profile_name, overrides, n, err);
    free(overrides);
    if (code < 0)
        return code;
    code = tool_create_device(&dev, &c->profile, &opt, c->profile_name, c->overrides,
                              c->n_overrides, err);
    if (code == 0) {
        c->capacity = fe_device_capacity(dev);
        fe_device_destroy(dev);
    } else {
        fe_profile_fini(&c->profile);
    }
    return code;
}

/* --- what came out --- */

/* What unmeasured_say writes, "" for nothing; NULL without memory.  The caller frees it. */
static char *unmeasured_text(const struct unmeasured *u)
{
    char *text = NULL;
    size_t len;
    FILE *out = open_memstream(&text, &len);

    if (out)
        unmeasured_say(out, u);
    if (!out || fclose(out) != 0) {
        free(text);
        return NULL;
    }
    return text;
}

static const char *pattern_text(uint32_t p, char buf[static 24])
{
    const struct align_pattern *pattern = &align_patterns[p];
    snprintf(buf, 24, "%s %u%s", pattern->order[0] == 's' ? "seq" : "random",
             pattern->bs >= 1 << 20 ? pattern->bs >> 20 : pattern->bs >> 10,
             pattern->bs >= 1 << 20 ? "M" : "K");
    return buf;
}

static void print_rate(double rate, int width)
{
    char text[FE_ROUNDED_MAX];

    printf("%*s", width, isinf(rate) ? "-" : fe_digits_text(rate / 1e6, 3, text));
}

static void print_table(const struct command *c)
{
    const struct align_result *a = &c->result;
    char text[FE_ROUNDED_MAX], name[24];

    printf("%s: MB/s and WAF of writes in %s behind the start of a partition\n\n",
           c->profile.name, fe_size_text((double)a->region, text));
    printf("%-8s %6s", "start", "sector");
    for (uint32_t p = 0; p < ALIGN_N_PATTERNS; p++)
        printf(" %12s", pattern_text(p, name));
    putchar('\n');
    for (uint32_t i = 0; i < a->n_starts; i++) {
        printf("%-8s %6llu", fe_size_text((double)a->start[i], text),
               (unsigned long long)(a->start[i] / c->profile.device.sector_size));
        for (uint32_t p = 0; p < ALIGN_N_PATTERNS; p++) {
            print_rate(align_rate(&a->cell[i][p]), 7);
            printf(" %5s", fe_digits_text(align_waf(&a->cell[i][p]), 3, text));
        }
        putchar('\n');
    }
}

/* The pattern and the start that lose most, and what they lose. */
static void say_worst(FILE *out, const struct command *c, const struct align_advice *v)
{
    const struct align_result *a = &c->result;
    const struct align_pattern *pattern = &align_patterns[v->worst_pattern];
    const struct align_cell *worst = &a->cell[v->worst_start][v->worst_pattern];
    const struct align_cell *best = &a->cell[v->best_for_worst][v->worst_pattern];
    char start[FE_ROUNDED_MAX], bs[FE_ROUNDED_MAX], low[FE_ROUNDED_MAX], high[FE_ROUNDED_MAX];

    fprintf(out, "In a partition at %s, %s writes of %s lose most:",
            fe_size_text((double)a->start[v->worst_start], start), pattern->order,
            fe_size_text(pattern->bs, bs));
    if (!isinf(align_rate(worst)))
        fprintf(out, " they run at %s instead of %s MB/s, and",
                fe_digits_text(align_rate(worst) / 1e6, 3, low),
                fe_digits_text(align_rate(best) / 1e6, 3, high));
    fprintf(out, " their write amplification is %s instead of %s.",
            fe_digits_text(align_waf(worst), 3, low), fe_digits_text(align_waf(best), 3, high));
}

static void say_advice(FILE *out, const struct command *c, const struct align_advice *v)
{
    const struct align_result *a = &c->result;
    char text[FE_ROUNDED_MAX];
    uint64_t sector_size = c->profile.device.sector_size;

    if (c->unmeasured.decides) {
        fputs("So nothing follows for the start of a partition: it would depend on what was not "
              "measured.  flashemu-lab probe measures it.", out);
        return;
    }
    if (!v->matters) {
        fputs("The start of a partition does not matter on this device: all starts that were tried "
              "are equally good.", out);
        return;
    }
    if (v->multiple)
        fprintf(out, "Start partitions at a multiple of %s (%llu sectors).  ",
                fe_size_text((double)v->multiple, text),
                (unsigned long long)(v->multiple / sector_size));
    else
        fprintf(out,
                "The rates differ, but the good starts are not the multiples of one size.  The "
                "best start on the whole is %s (sector %llu).  ",
                fe_size_text((double)a->start[v->best], text),
                (unsigned long long)(a->start[v->best] / sector_size));
    say_worst(out, c, v);
}

static int print_text(const struct command *c)
{
    struct align_advice v = align_advise(&c->result);

    unmeasured_say(stdout, &c->unmeasured);
    if (c->unmeasured.few || c->unmeasured.worst || c->unmeasured.n > 0)
        fputs("\n\n", stdout);
    print_table(c);
    putchar('\n');
    say_advice(stdout, c, &v);
    putchar('\n');
    return tool_finish(TOOL_OK);
}

static json_t *cell_json(const struct align_cell *cell, uint32_t p)
{
    double rate = align_rate(cell);
    json_t *rounds = json_array();
    for (uint32_t i = 0; i < ALIGN_N_ROUNDS; i++)
        json_array_append_new(
            rounds, json_pack("{s:I, s:I, s:I}", "bytes", (json_int_t)cell->round[i].bytes, "ns",
                              (json_int_t)cell->round[i].ns, "bytes_programmed",
                              (json_int_t)cell->round[i].programmed));
    return json_pack("{s:s, s:I, s:o, s:f, s:o}", "order", align_patterns[p].order, "bs",
                     (json_int_t)align_patterns[p].bs, "bytes_per_second",
                     isinf(rate) ? json_null() : json_real(rate), "waf", align_waf(cell), "rounds",
                     rounds);
}

static json_t *starts_json(const struct command *c)
{
    const struct align_result *a = &c->result;
    json_t *starts = json_array();

    for (uint32_t i = 0; i < a->n_starts; i++) {
        json_t *cells = json_array();
        for (uint32_t p = 0; p < ALIGN_N_PATTERNS; p++)
            json_array_append_new(cells, cell_json(&a->cell[i][p], p));
        json_array_append_new(
            starts, json_pack("{s:I, s:I, s:o}", "start", (json_int_t)a->start[i], "sector",
                              (json_int_t)(a->start[i] / c->profile.device.sector_size),
                              "patterns", cells));
    }
    return starts;
}

static json_t *unmeasured_json(const struct unmeasured *u)
{
    json_t *keys = json_array();
    for (uint32_t i = 0; i < u->n; i++)
        json_array_append_new(keys, json_string(u->key[i]));
    return keys;
}

static int print_json(const struct command *c)
{
    struct align_advice v = align_advise(&c->result);
    struct fe_origin origin = tool_origin();
    char *text = NULL, *note = unmeasured_text(&c->unmeasured);
    size_t len;

    FILE *out = note ? open_memstream(&text, &len) : NULL;
    if (!out) {
        free(note);
        return tool_error("out of memory");
    }
    fputs(note, out);
    say_advice(out, c, &v);
    if (fclose(out) != 0 || !text) {
        free(text);
        free(note);
        return tool_error("out of memory");
    }
    bool given = !c->unmeasured.decides;
    json_t *o = json_pack("{s:o, s:I, s:I, s:o, s:o, s:o, s:{s:b, s:b, s:o, s:o, s:o}}", "profile",
                          fe_json_text(c->profile.name, strlen(c->profile.name)), "capacity",
                          (json_int_t)c->capacity, "region", (json_int_t)c->result.region,
                          "starts", starts_json(c), "not_measured",
                          unmeasured_json(&c->unmeasured), "note",
                          fe_json_text(note, strlen(note)), "advice", "given", given, "matters",
                          given && v.matters, "multiple",
                          given && v.multiple ? json_integer((json_int_t)v.multiple) : json_null(),
                          "best",
                          given ? json_integer((json_int_t)c->result.start[v.best]) : json_null(),
                          "text", fe_json_text(text, len));
    free(text);
    free(note);
    if (!o)
        return tool_error("out of memory");
    origin.profile = c->profile.name;
    origin.overrides = c->overrides;
    origin.n_overrides = c->n_overrides;
    origin.seed = c->seed;
    origin.has_seed = true;
    return tool_print_result(o, &origin);
}

/* --- the command --- */

static int run(struct command *c, struct fe_err *err)
{
    int code;

    c->unmeasured = unmeasured_of(&c->profile, c->overrides, c->n_overrides);
    if (c->starts && !parse_starts(c->starts, c->profile.device.sector_size, &c->result))
        return TOOL_USAGE;
    if (!c->starts)
        align_usual_starts(&c->profile, c->capacity, &c->result);
    if (c->result.n_starts == 0)
        return tool_error("%s: the device is too small for partitions", c->profile.name);
    code = align_measure(&c->profile, c->capacity, c->seed, &c->result, err);
    char *note = unmeasured_text(&c->unmeasured);
    if (code == 0 && !note)
        code = fe_err_nomem(err, "a note", 1);
    if (code == 0 && c->svg)
        code = align_svg_write(&c->result, c->profile.name, note, c->svg, c->profile_name, err);
    free(note);
    if (code < 0)
        return tool_fail(err);
    return c->json ? print_json(c) : print_text(c);
}

int cmd_align(int argc, char **argv)
{
    struct command *c = calloc(1, sizeof *c);
    struct fe_err err;
    int result = TOOL_USAGE;

    if (!c)
        return tool_error("out of memory");
    const struct tool_option options[] = {
        {"start", 0, NULL, &c->starts},
        {"json", 0, &c->json, NULL},
        {"output=FILE", 'o', NULL, &c->svg},
        {"svg=FILE", 0, NULL, &c->svg}, /* its older name */
        {"force", 0, &output_force, NULL},
        {"seed", 0, NULL, &c->seed_text},
        {0},
    };
    const struct tool_args args = {.options = options, .help = align_help};

    fe_err_init(&err);
    c->seed = 1;
    if (!tool_parse(&args, &argc, argv, &result))
        goto done;
    result = TOOL_USAGE;
    if (argc < 2) {
        tool_error("align: expected PROFILE; flashemu profiles lists them");
    } else if (!c->seed_text || tool_number("--seed", c->seed_text, 0, UINT64_MAX, &c->seed)) {
        c->profile_name = argv[1];
        c->overrides = (const char *const *)argv + 2;
        c->n_overrides = (uint32_t)argc - 2;
        if (load(c, &err) < 0) {
            tool_fail(&err);
        } else {
            result = run(c, &err);
            fe_profile_fini(&c->profile);
        }
    }
done:
    free(c);
    return result;
}
