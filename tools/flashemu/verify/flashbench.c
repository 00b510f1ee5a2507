/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Experiment `flashbench`: what flashbench measures on a card, compared with the real card point
 * by point.
 *
 * The order is that of the published runs, all on one device: the alignment test (-a), the first
 * units (-f), then 1 to 7 open units in order (-O), then the same in random order (--random).
 * What one test leaves open in the card, the next test has to pay for.
 *
 *     KB/s      4M   2M  ...   4K                 for each of some 77 cells
 *      1       10100 10100 .. 1540                |measured / published - 1|
 *      :         :     :        :         ---->   agreement = 100 % - median of these
 *      7       10600  5480 ..  166
 *
 * The limit of open units follows from the geometric means of the rows.  It is the first N from 2
 * on for which the next row has less than 4/5 of the mean of row N; it is 7 if there is no such
 * row.  (N may also be 1, if the second row has less than 1/2 of the first: a second stream always
 * costs something.)  The same rule is applied to the model and, by the test of the profiles, to
 * the published rows.
 */
#include "verify/curves.h"
#include "verify/verify.h"

#include "base/num.h"
#include "workload/pattern.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N_CHUNKS = 11, N_OPEN = 7, N_UNITS = 8, N_POSITIONS = 7 };
enum { N_ALIGN = 34 }; /* alignments from 2 KiB to more than 1/7 of the largest device, 16 TiB */
enum test { LINEAR, RANDOM, FIND_FAT, N_TESTS };

static const char *const test_names[N_TESTS] = {"linear", "random", "find-fat"};

#define UNIT_BYTES (UINT64_C(4) << 20)

/* Time and bytes of one cell.  The row of a cell is the number of open units - 1, or the unit. */
struct cell {
    uint64_t ns, bytes;
};

struct bench {
    struct fe_device *dev;
    struct fe_pattern_env env;
    struct cell cells[N_TESTS][N_UNITS][N_CHUNKS];
    uint64_t least[3 * N_ALIGN][N_POSITIONS]; /* shortest times of the alignment test, by stream */
    uint32_t n_align;
    /* the present run */
    enum test test;
    uint32_t row;
    uint64_t n;
};

static void note_write(void *ctx, const struct fe_trace_rec *rec, uint64_t ns)
{
    struct bench *b = ctx;
    uint32_t row = b->test == FIND_FAT ? (uint32_t)(rec->offset / UNIT_BYTES) : b->row;
    if (rec->stream > N_CHUNKS)
        return; /* -f goes down to 1 KiB; only the sizes that -O has as well are compared */
    struct cell *c = &b->cells[b->test][row][rec->stream - 1];
    c->ns += ns;
    c->bytes += rec->len;
}

static void note_read(void *ctx, const struct fe_trace_rec *rec, uint64_t ns)
{
    struct bench *b = ctx;
    uint64_t *least = &b->least[rec->stream - 1][b->n++ % N_POSITIONS];
    *least = *least == 0 ? ns : fe_min_u64(*least, ns);
}

static int run_pattern(struct bench *b, const char *spec, verify_note *note, struct fe_err *err)
{
    return verify_pattern(b->dev, spec, &b->env, note, b, err);
}

static int run_all(struct bench *b, struct fe_err *err)
{
    char spec[80];

    for (uint64_t align = 2048; b->n_align < N_ALIGN; align *= 2) {
        b->n_align++;
        if (align >= b->env.capacity / N_POSITIONS)
            break;
    }
    int r = run_pattern(b, "flashbench-align,bs=1K,rounds=3", note_read, err);
    b->test = FIND_FAT;
    if (r == 0)
        r = run_pattern(b, "flashbench-find-fat,bs=1K,fat-nr=8", note_write, err);
    for (b->test = LINEAR; b->test <= RANDOM && r == 0; b->test++)
        for (b->row = 0; b->row < N_OPEN && r == 0; b->row++) {
            snprintf(spec, sizeof spec, "flashbench-open-au,bs=4K,open-au-nr=%u,random=%s",
                     b->row + 1, b->test == RANDOM ? "yes" : "no");
            r = run_pattern(b, spec, note_write, err);
        }
    return r;
}

/* --- figures --- */

static double rate(const struct cell *c)
{
    return (double)c->bytes * 1e9 / (double)c->ns;
}

static const struct curve *find_curve(const char *card, const char *test, uint32_t number)
{
    const struct curve *c = curves;
    while (c->card && (strcmp(c->card, card) || strcmp(c->test, test) || c->number != number))
        c++;
    return c->card ? c : NULL;
}

static json_t *row_json(const struct cell *cells)
{
    json_t *row = json_array();
    for (uint32_t i = 0; i < N_CHUNKS; i++)
        json_array_append_new(row, json_integer((json_int_t)rate(&cells[i])));
    return row;
}

/* Compares a row of cells with the card's: stores the errors without sign, returns how many. */
static uint32_t row_errors(const struct verify_run *run, const struct bench *b, enum test test,
                           uint32_t row, double *errors)
{
    const struct curve *c = find_curve(run->profile->name, test_names[test],
                                       test == FIND_FAT ? row : row + 1);
    uint32_t n = 0;
    for (uint32_t i = 0; c && i < c->n; i++)
        if (c->values[i] != CURVE_NONE)
            errors[n++] = fabs(rate(&b->cells[test][row][i]) / c->values[i] - 1);
    return n;
}

static uint64_t agreement(double median_error)
{
    return (uint64_t)llround(1e6 * fmax(0, 1 - median_error));
}

/* The figure of a row that names one unit or one size. */
static void put_single(struct verify_run *run, struct verify_row *row, const struct bench *b)
{
    const char *name = row->published.procedure->name;
    uint64_t wanted = row->published.arg[0];
    double errors[N_CHUNKS];

    if (strcmp(name, "flashbench-rate") == 0) {
        for (uint32_t i = 0; i < N_CHUNKS; i++)
            if (UNIT_BYTES >> i == wanted)
                verify_put_row(row, (uint64_t)rate(&b->cells[LINEAR][0][i]));
    } else if (strcmp(name, "flashbench-find-fat-unit") == 0) {
        uint32_t n = row_errors(run, b, FIND_FAT, (uint32_t)wanted, errors);
        if (n > 0)
            verify_put_row(row, agreement(verify_median(errors, n)));
    }
}

/* The agreement of one test with the curves of the card, if there are any. */
static void put_agreement(struct verify_run *run, const struct bench *b, enum test test)
{
    double errors[N_UNITS * N_CHUNKS];
    uint32_t n = 0;
    char name[32], key[48];
    json_t *rows = json_array();

    snprintf(name, sizeof name, "flashbench-%s", test_names[test]);
    for (uint32_t row = 0; row < (test == FIND_FAT ? N_UNITS : N_OPEN); row++) {
        n += row_errors(run, b, test, row, errors + n);
        json_array_append_new(rows, row_json(b->cells[test][row]));
    }
    snprintf(key, sizeof key, "%s-bytes-per-s", test_names[test]);
    json_object_set_new(run->details, key, rows);
    if (n == 0)
        return;
    double off = verify_median(errors, n);
    verify_put(run, name, agreement(off));
    snprintf(key, sizeof key, "%s-points", test_names[test]);
    verify_detail(run, key, n);
    snprintf(key, sizeof key, "%s-worst", test_names[test]);
    verify_detail(run, key, errors[n - 1]);
}

static void put_open_units(struct verify_run *run, const struct bench *b, enum test test)
{
    double mean[N_OPEN];
    uint32_t limit = N_OPEN;
    char name[40];

    for (uint32_t row = 0; row < N_OPEN; row++) {
        double sum = 0;
        for (uint32_t i = 0; i < N_CHUNKS; i++)
            sum += log(rate(&b->cells[test][row][i]));
        mean[row] = exp(sum / N_CHUNKS);
    }
    for (uint32_t row = N_OPEN - 1; row-- > 0;)
        if (mean[row + 1] < mean[row] * (row == 0 ? 0.5 : 0.8))
            limit = row + 1;
    snprintf(name, sizeof name, "flashbench-open-%s", test_names[test]);
    verify_put(run, name, limit);
}

/* ns at one place (0 before the boundary, 1 across it, 2 behind it) at alignment 2 KiB << i. */
static double align_ns(const struct bench *b, uint32_t i, uint32_t place)
{
    double sum = 0;
    for (uint32_t k = 0; k < N_POSITIONS; k++)
        sum += (double)b->least[3 * (b->n_align - 1 - i) + place][k];
    return sum / N_POSITIONS;
}

static double align_diff(const struct bench *b, uint32_t i)
{
    return align_ns(b, i, 1) - (align_ns(b, i, 0) + align_ns(b, i, 2)) / 2;
}

/* Medians over alignments: the time of a small read, the additional time across a boundary of
 * pages within a unit (16 KiB to 2 MiB), and that across a boundary of units (4 MiB and more). */
static void put_alignment(struct verify_run *run, const struct bench *b)
{
    enum { PAGE_FROM = 3, UNIT_FROM = 11 };
    double pre[N_ALIGN], page[N_ALIGN], unit[N_ALIGN];
    uint32_t n_page = 0, n_unit = 0;

    for (uint32_t i = 0; i < b->n_align; i++) {
        pre[i] = align_ns(b, i, 0);
        if (i >= UNIT_FROM)
            unit[n_unit++] = align_diff(b, i);
        else if (i >= PAGE_FROM)
            page[n_page++] = align_diff(b, i);
    }
    verify_put(run, "flashbench-align-pre", (uint64_t)llround(verify_median(pre, b->n_align)));
    if (n_page)
        verify_put(run, "flashbench-align-page", (uint64_t)llround(fmax(0, verify_median(page, n_page))));
    if (n_unit)
        verify_put(run, "flashbench-align-unit", (uint64_t)llround(fmax(0, verify_median(unit, n_unit))));
}

int verify_flashbench(struct verify_run *run, struct fe_err *err)
{
    struct bench *b = calloc(1, sizeof *b);
    if (!b)
        return fe_err_nomem(err, "flashbench", sizeof *b);
    int r = verify_device(run, &b->dev, err);
    if (r == 0) {
        b->env.capacity = fe_device_capacity(b->dev);
        b->env.sector_size = run->profile->device.sector_size;
        r = run_all(b, err);
    }
    for (int test = 0; test < N_TESTS && r == 0; test++)
        put_agreement(run, b, (enum test)test);
    if (r == 0) {
        put_open_units(run, b, LINEAR);
        put_open_units(run, b, RANDOM);
        put_alignment(run, b);
        for (size_t i = 0; i < run->n_rows; i++)
            put_single(run, run->rows[i], b);
    }
    fe_device_destroy(b->dev);
    free(b);
    return r;
}
