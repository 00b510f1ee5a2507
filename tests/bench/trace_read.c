/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How fast traces are read: records a second of processor time, of each trace that is named.
 *
 *     trace_read FILE...
 *
 * Each file is read several times, in turn with the others, and the median counts.
 */
#include "workload/trace.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { BATCH = 1024, ROUNDS = 9 };

static double cpu_seconds(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
    return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

static double read_once(const char *path, uint64_t *ret_records)
{
    static struct fe_trace_rec recs[BATCH];
    const struct fe_trace_options options = {0};
    struct fe_trace_reader *reader;
    struct fe_err err = {""};
    FILE *f = fopen(path, "rb");
    double started = cpu_seconds();
    int n = -1;

    *ret_records = 0;
    if (f && fe_trace_reader_open(&reader, f, path, &options, &err) == 0) {
        while ((n = fe_trace_read(reader, recs, BATCH, &err)) > 0)
            *ret_records += (uint64_t)n;
        fe_trace_reader_close(reader);
    }
    if (n < 0) {
        fprintf(stderr, "%s: %s\n", path, err.text);
        exit(1);
    }
    double seconds = cpu_seconds() - started;
    fclose(f);
    return seconds;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
    double (*seconds)[ROUNDS] = calloc((size_t)argc, sizeof *seconds);
    uint64_t *n = calloc((size_t)argc, sizeof *n);

    for (int round = 0; seconds && n && round < ROUNDS; round++)
        for (int i = 1; i < argc; i++)
            seconds[i][round] = read_once(argv[i], &n[i]);
    for (int i = 1; seconds && n && i < argc; i++) {
        qsort(seconds[i], ROUNDS, sizeof **seconds, compare);
        printf("%-40s %8.2f M records/s (best %.2f)\n", argv[i],
               (double)n[i] / seconds[i][ROUNDS / 2] / 1e6, (double)n[i] / seconds[i][0] / 1e6);
    }
    free(seconds);
    free(n);
    return 0;
}
