/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The screen of top on a terminal:
 *
 *     name, clock, time          always
 *     the state in plain words   always
 *     rates                      reads and writes; besides trims and flushes if there are 18 rows
 *     flash                      one row, or three
 *     latencies                  a sparkline for writes; if there are 18 rows, reads and flushes, too
 *     map                        the rows that are left
 *     events                     one, or three
 *     keys                       always
 *
 * All text goes through put(), which counts columns and stops at the edge.  Colours take no
 * columns.
 */
#include "top/top.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { SMALL = 18 }; /* a screen with fewer rows is small */

enum colour { PLAIN, TITLE, READ, WRITE, SOFT, GOOD, BAD, BUSY };
static const char *const codes[] = {
    [PLAIN] = "", [TITLE] = "\033[1m", [READ] = "\033[34m", [WRITE] = "\033[33m",
    [SOFT] = "\033[2m", [GOOD] = "\033[32m", [BAD] = "\033[31m", [BUSY] = "\033[35m"};

struct screen {
    const struct top_view *v;
    int left;      /* columns of this row that are free */
    int rows_left; /* with this one */
};

/* Adds to the row what fits of a text. */
static void put_text(struct screen *s, enum colour colour, const char *text)
{
    const char *end = text;

    for (; *end; end++) {
        if ((*end & 0xc0) == 0x80)
            continue; /* inside a character */
        if (s->left == 0)
            break;
        s->left--;
    }
    while ((*end & 0xc0) == 0x80)
        end++;
    bool coloured = s->v->colour && colour != PLAIN && end > text;
    printf("%s%.*s%s", coloured ? codes[colour] : "", (int)(end - text), text,
           coloured ? "\033[0m" : "");
}

__attribute__((format(printf, 3, 4)))
static void put(struct screen *s, enum colour colour, const char *format, ...)
{
    char text[512];
    va_list ap;

    va_start(ap, format);
    vsnprintf(text, sizeof text, format, ap);
    va_end(ap);
    put_text(s, colour, text);
}

/* The same if there is room for the whole text, which is ASCII. */
static void put_whole(struct screen *s, enum colour colour, const char *text)
{
    if (strlen(text) <= (size_t)s->left)
        put_text(s, colour, text);
}

/* Ends a row.  The last one is for the keys: on too small a screen, the rest is left out. */
static void end_row(struct screen *s)
{
    if (s->rows_left > 1) {
        s->rows_left--;
        fputs("\r\n", stdout);
    }
    s->left = s->rows_left > 1 ? s->v->columns : 0;
}

/* --- the state --- */

static void put_state(struct screen *s)
{
    const json_t *was = s->v->was, *is = s->v->is;
    const char *state = top_text(is, "state");
    const char *reason = json_string_value(json_object_get(is, "reason"));
    double ns = top_number(is, "device_ns") - top_number(was, "device_ns");
    double busy = top_number(is, "busy_ns") - top_number(was, "busy_ns");
    char time[FE_ROUNDED_MAX], last[FE_ROUNDED_MAX + 16];

    put(s, strcmp(state, "alive") == 0 ? GOOD : BAD, "%s", state);
    if (reason)
        put(s, BAD, ": %s", reason);
    else if (s->v->paused)
        put(s, PLAIN, ": this screen is paused");
    else if (!(busy > 0))
        put(s, PLAIN, ": it has nothing to do");
    else
        put(s, PLAIN, ": %s, %.0f %% busy",
            top_rate(was, is, "ftl.merges.full") + top_rate(was, is, "ftl.merges.partial") > 0
                ? "it merges units"
            : top_rate(was, is, "ftl.gc_runs") > 0      ? "it collects blocks"
            : top_rate(was, is, "host.write.bytes") > 0 ? "it writes"
            : top_rate(was, is, "host.read.bytes") > 0  ? "it reads"
                                                        : "it works",
            100 * busy / ns);
    if (!reason && !s->v->paused && busy > 0) {
        snprintf(last, sizeof last, " in the last %s", fe_time_text(ns, time));
        put_whole(s, PLAIN, last);
    }
    end_row(s);
}

/* --- numbers --- */

static void put_host(struct screen *s, bool small)
{
    static const char *const ops[] = {"read", "write", "trim", "flush"};
    const json_t *was = s->v->was, *is = s->v->is;

    put(s, SOFT, "%-5s %7s %7s %8s %8s", "host", "MB/s", "op/s", "p50", "p99");
    put(s, SOFT, " %9s %9s %10s", "max", "bytes", "requests");
    end_row(s);
    for (int i = 0; i < (small ? 2 : 4); i++) {
        char bytes[32], count[32], b[6][FE_ROUNDED_MAX];
        snprintf(bytes, sizeof bytes, "host.%s.bytes", ops[i]);
        snprintf(count, sizeof count, "host.%s.ops", ops[i]);
        put(s, i == 0 ? READ : i == 1 ? WRITE : PLAIN, "%-5s", ops[i]);
        put(s, PLAIN, " %7s %7s %8s %8s", top_per_second(was, is, bytes, 1e6, b[4]),
            top_per_second(was, is, count, 1, b[5]), top_latency(is, ops[i], "p50", b[0]),
            top_latency(is, ops[i], "p99", b[1]));
        put(s, PLAIN, " %9s %9s %10.0f", top_latency(is, ops[i], "max", b[2]),
            fe_size_text(top_number(is, bytes), b[3]), top_number(is, count));
        end_row(s);
    }
}

static void put_flash(struct screen *s, bool small)
{
    const json_t *was = s->v->was, *is = s->v->is;
    double written = top_number(is, "host.write.bytes"),
           programmed = top_number(is, "nand.bytes_programmed");
    char b[4][FE_ROUNDED_MAX], others[64], life[TOP_LIFE_MAX];

    put(s, PLAIN, "WAF %s, in all %s; merges %.0f full",
        top_waf(programmed - top_number(was, "nand.bytes_programmed"),
                written - top_number(was, "host.write.bytes"), b[0]),
        top_waf(programmed, written, b[1]), top_number(is, "ftl.merges.full"));
    snprintf(others, sizeof others, ", %.0f partial, %.0f switch",
             top_number(is, "ftl.merges.partial"), top_number(is, "ftl.merges.switch"));
    put_whole(s, PLAIN, others);
    end_row(s);
    if (small)
        return;
    put(s, PLAIN, "%.0f blocks free, %.0f collections; %s erases/s, %s programs/s",
        top_number(is, "ftl.free_blocks"), top_number(is, "ftl.gc_runs"),
        top_per_second(was, is, "nand.block_erases", 1, b[2]),
        top_per_second(was, is, "nand.page_programs", 1, b[3]));
    end_row(s);
    put(s, PLAIN, "cycles %.0f to %.0f, mean %.1f; bad blocks %.0f factory, %.0f grown%s%s",
        top_number(is, "wear.min"), top_number(is, "wear.max"), top_number(is, "wear.mean"),
        top_number(is, "bad_blocks.factory"), top_number(is, "bad_blocks.grown"),
        *top_life(is, life) ? "; " : "", life);
    end_row(s);
}

/* --- latencies --- */

enum { WIDE = 60 }; /* columns from which a sparkline has its range behind it */

/* The range of a sparkline, as what stands behind it. */
static void put_range(struct screen *s, double least, double most)
{
    char b[2][FE_ROUNDED_MAX];

    if (most > least && s->v->columns >= WIDE)
        put(s, SOFT, " means %s to %s", fe_time_text(least, b[0]), fe_time_text(most, b[1]));
    else if (most > 0)
        put(s, SOFT, " %s %s", most > least ? "to" : s->v->columns >= WIDE ? "mean" : "of",
            fe_time_text(most, b[1]));
    end_row(s);
}

/* The mean latencies of the last intervals, on a logarithmic scale from the least to the most. */
static void put_spark(struct screen *s, int w)
{
    static const char *const fine[] = {"\xe2\x96\x81", "\xe2\x96\x82", "\xe2\x96\x83",
                                       "\xe2\x96\x84", "\xe2\x96\x85", "\xe2\x96\x86",
                                       "\xe2\x96\x87", "\xe2\x96\x88"};
    static const char *const coarse[] = {"_", ".", "-", "~", "=", "+", "*", "#"};
    static const struct {
        const char *name;
        enum colour colour;
    } of[TOP_SPARKS] = {{"read", READ}, {"write", WRITE}, {"flush", PLAIN}};
    const double *latency = s->v->latency[w];
    int n = s->v->columns - (s->v->columns >= WIDE ? 42 : 26);
    double least = INFINITY, most = 0;

    n = n < 1 ? 1 : n > TOP_HISTORY ? TOP_HISTORY : n;
    for (int i = TOP_HISTORY - n; i < TOP_HISTORY; i++)
        if (latency[i] > 0) {
            least = fmin(least, latency[i]);
            most = fmax(most, latency[i]);
        }
    put(s, of[w].colour, "%-5s latency ", of[w].name);
    for (int i = TOP_HISTORY - n; i < TOP_HISTORY; i++) {
        int level = most > least ? (int)(7.99 * log(latency[i] / least) / log(most / least)) : 3;
        put_text(s, of[w].colour,
                 latency[i] > 0 ? (s->v->utf8 ? fine : coarse)[level] : " ");
    }
    put_range(s, least, most);
}

/* --- the map --- */

static json_int_t cell_number(const json_t *map, const char *key, size_t i)
{
    return json_integer_value(json_array_get(json_object_get(map, key), i));
}

/* How the cells are drawn: level 0 is erased, level 4 is full. */
static const char *level_text(const struct screen *s, size_t level)
{
    static const char *const fine[] = {"\xc2\xb7", "\xe2\x96\x91", "\xe2\x96\x92",
                                       "\xe2\x96\x93", "\xe2\x96\x88"};
    static const char *const coarse[] = {".", ":", "+", "=", "#"};
    return (s->v->utf8 ? fine : coarse)[level < 4 ? level : 4];
}

/* The letter of cells that were erased in the last interval. */
static const char *erased_text(const struct screen *s)
{
    static const char *const merges[] = {"ftl.merges.full", "ftl.merges.partial",
                                         "ftl.merges.switch"};
    for (size_t i = 0; i < sizeof merges / sizeof *merges; i++)
        if (top_rate(s->v->was, s->v->is, merges[i]) > 0)
            return "m";
    return "e";
}

/* One cell.  Where the device works comes first: what was erased since the last screen.  Otherwise
 * a cell shows how full of valid pages it is, or that most of what it holds is stale.  A device
 * that does not know which pages are valid has cells that show what is written. */
static void put_cell(struct screen *s, size_t i, json_int_t worn, const char *erased)
{
    const json_t *map = s->v->map, *was = s->v->map_was;
    json_int_t filled = cell_number(map, "filled", i);
    bool knows_valid = json_is_array(json_object_get(map, "valid"));
    json_int_t valid = knows_valid ? cell_number(map, "valid", i) : filled;

    if (cell_number(map, "bad", i) > 0)
        put_text(s, BAD, "x");
    else if (was && cell_number(map, "erases", i) != cell_number(was, "erases", i))
        put_text(s, BUSY, erased);
    else if (worn > 1 && cell_number(map, "cycles", i) == worn)
        put_text(s, WRITE, "w");
    else if (2 * valid < filled)
        put_text(s, SOFT, "o");
    else
        put_text(s, filled ? READ : SOFT, level_text(s, (size_t)(valid + 24) / 25));
}

/* The mean of the cells, in percent. */
static double mean_of(const json_t *map, const char *key)
{
    size_t n = json_array_size(json_object_get(map, key));
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += (double)cell_number(map, key, i);
    return n ? sum / (double)n : 0;
}

/* What comes first on this row must do for a screen of 40 columns. */
static void put_legend(struct screen *s, const char *erased)
{
    const json_t *map = s->v->map;
    bool knows_valid = json_is_array(json_object_get(map, "valid"));
    char blocks[48];

    put(s, PLAIN, "map %.0f%% written, ", mean_of(map, "filled"));
    if (knows_valid)
        put(s, PLAIN, "%.0f%% valid: ", mean_of(map, "valid"));
    else
        put(s, PLAIN, "valid unknown: ");
    put(s, SOFT, "%s to %s", level_text(s, 0), level_text(s, 4));
    if (knows_valid)
        put_whole(s, SOFT, ", o stale");
    put_whole(s, SOFT, *erased == 'm' ? ", m merged" : ", e erased");
    put_whole(s, SOFT, ", w worn, x bad");
    snprintf(blocks, sizeof blocks, "; blocks in a cell: %.0f", top_number(map, "blocks_per_cell"));
    put_whole(s, SOFT, blocks);
    end_row(s);
}

static void put_map(struct screen *s, int rows)
{
    const json_t *map = s->v->map;
    const char *erased = erased_text(s);
    size_t n = json_array_size(json_object_get(map, "filled"));
    json_int_t worn = 0;

    put_legend(s, erased);
    for (size_t i = 0; i < n; i++)
        worn = cell_number(map, "cycles", i) > worn ? cell_number(map, "cycles", i) : worn;
    for (int row = 1; row < rows; row++) {
        for (int column = 0; column < s->v->columns; column++) {
            size_t i = (size_t)(row - 1) * (size_t)s->v->columns + (size_t)column;
            if (i < n)
                put_cell(s, i, worn, erased);
        }
        end_row(s);
    }
}

/* --- events --- */

void top_event(const json_t *event, char buf[static TOP_EVENT_MAX])
{
    const char *name = json_string_value(json_object_get(event, "event"));
    const char *more = json_string_value(json_object_get(event, "merge"));
    json_int_t count = json_integer_value(json_object_get(event, "count"));
    char at[FE_ROUNDED_MAX], times[32] = "";

    more = more ? more : json_string_value(json_object_get(event, "state"));
    if (count > 1)
        snprintf(times, sizeof times, " %lld times", (long long)count);
    if (json_object_get(event, "block"))
        snprintf(times, sizeof times, " %.0f", top_number(event, "block"));
    snprintf(buf, TOP_EVENT_MAX, "%s  %.20s%s%.20s%s",
             fe_time_text(top_number(event, "device_ns"), at), name ? name : "?", more ? " " : "",
             more ? more : "", times);
}

static void put_events(struct screen *s, int n)
{
    for (int i = TOP_EVENTS - n; i < TOP_EVENTS; i++) {
        put(s, SOFT, "%s", i == TOP_EVENTS - n ? "events " : "       ");
        put(s, PLAIN, "%s", s->v->event[i]);
        end_row(s);
    }
}

/* --- the screen --- */

/* The rows of everything except the map. */
static int fixed_rows(int rows)
{
    return rows < SMALL ? 2 + 3 + 1 + 1 + 1 + 1 : 2 + 5 + 3 + TOP_SPARKS + 3 + 1;
}

static int map_rows(int rows)
{
    return rows > fixed_rows(rows) + 1 ? rows - fixed_rows(rows) : 0;
}

uint32_t top_cells(int columns, int rows)
{
    int n = (map_rows(rows) - 1) * columns;
    return n < 1 ? 1 : n > TOP_CELLS_MAX ? TOP_CELLS_MAX : (uint32_t)n;
}

void top_screen(const struct top_view *v)
{
    struct screen s = {v, v->columns, v->rows};
    bool small = v->rows < SMALL;
    char time[FE_ROUNDED_MAX];
    int n_map = map_rows(v->rows);

    fputs("\033[H\033[J", stdout);
    put(&s, TITLE, "%s", top_text(v->is, "profile"));
    put(&s, PLAIN, ", clock=%s: %s", top_text(v->is, "clock"),
        fe_time_text(top_number(v->is, "device_ns"), time));
    put_whole(&s, PLAIN, " of device time");
    end_row(&s);
    put_state(&s);
    put_host(&s, small);
    put_flash(&s, small);
    if (!small)
        put_spark(&s, 0);
    put_spark(&s, 1);
    if (!small)
        put_spark(&s, 2);
    if (v->map && n_map)
        put_map(&s, n_map);
    put_events(&s, small ? 1 : 3);
    while (s.rows_left > 1)
        end_row(&s);
    s.left = v->columns;
    if (v->note[0])
        put(&s, TITLE, "%s", v->note);
    else if (v->has_keys)
        put(&s, SOFT, s.left < 43 ? "q quit p pause r reset c cut o power on"
                                  : "q quit  p pause  r reset  c cut  o power on");
    fputs("\r", stdout); /* a message of the end goes over the keys */
}
