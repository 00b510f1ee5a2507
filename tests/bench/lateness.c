/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How late do waits end?  Six ways side by side, at two periods and three depths, and
 * whether lateness accumulates over many waits in a row.  The thread that only spins has two rows,
 * apart from each other in each round.
 *
 *     lateness [--json] [--rounds N] [--batch-ms N] [--drift-waits N]
 *
 * The machine is usually shared, so no figure means much alone.  The ways therefore
 * take turns in short batches, which meet the same noise, and what counts is the
 * ratio to the thread that only spins: it shows what the machine allows.  The ratio of its
 * second row to its first should be 1: if it is 2, the machine's noise alone may double any other
 * ratio of this run.  At a depth
 * above the number of processors that baseline is poor itself, since spinners push
 * each other off the processors; there the comparison is with the sleepers.  A host that
 * takes a processor away from a virtual machine makes every way late; the last line says
 * how much of the time that was.
 *
 * Each thread waits until (now + period) again and again, as a client does that
 * sends its next request when the last was answered.  Threads start staggered.
 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

#include "base/num.h"
#include "flashemu/hist.h"
#include "rt/clock.h"
#include "rt/delay.h"

#define MAX_THREADS 16

enum way { SLEEP_SLACK, SLEEP_NO_SLACK, SPIN_AGAIN, URING, OURS, OURS_SPIN, SPIN, N_WAYS };

static const char *const way_names[N_WAYS] = {
    [SLEEP_SLACK] = "nanosleep-default-slack",
    [SLEEP_NO_SLACK] = "nanosleep-1ns-slack",
    [SPIN_AGAIN] = "pure-spin-again",
    [URING] = "io_uring-no-spin",
    [OURS] = "ours-auto",
    [OURS_SPIN] = "ours-spin=2ms",
    [SPIN] = "pure-spin",
};

static const uint64_t periods_ns[] = {FE_NS_PER_MS, 100 * FE_NS_PER_US};
static const unsigned depths[] = {1, 4, MAX_THREADS};
#define N_PERIODS (sizeof periods_ns / sizeof *periods_ns)
#define N_DEPTHS  (sizeof depths / sizeof *depths)

struct options {
    bool json;
    unsigned rounds, batch_ms, drift_waits;
};

struct cell {
    struct fe_hist lateness;
    uint64_t cpu_ns, wall_ns; /* of all threads; the sum of what each has lived */
};

struct worker {
    pthread_t thread;
    enum way way;
    struct fe_delay *delay;
    uint64_t period_ns, start_ns, end_ns;
    struct cell result;
};

static void die(const char *what, int errnum)
{
    fprintf(stderr, "lateness: %s: %s\n", what, strerror(errnum));
    exit(2);
}

static void *xcalloc(size_t n, size_t size)
{
    void *p = calloc(n, size);
    if (!p)
        die("no memory", ENOMEM);
    return p;
}

static void sleep_until(uint64_t at_ns)
{
    struct timespec ts = {(time_t)(at_ns / FE_NS_PER_S), (long)(at_ns % FE_NS_PER_S)};
    int r;

    do
        r = clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL);
    while (r == EINTR);
    if (r)
        die("clock_nanosleep", r);
}

static void wait_until(const struct worker *w, uint64_t deadline_ns)
{
    switch (w->way) {
    case SLEEP_SLACK:
    case SLEEP_NO_SLACK:
        sleep_until(deadline_ns);
        break;
    case SPIN:
    case SPIN_AGAIN:
        while (fe_clock_now_ns() < deadline_ns)
            ;
        break;
    default:
        fe_delay_until(w->delay, deadline_ns, NULL, NULL, NULL);
    }
}

static uint64_t thread_cpu_ns(void)
{
    struct timespec ts;
    if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts))
        die("clock_gettime", errno);
    return (uint64_t)ts.tv_sec * FE_NS_PER_S + (uint64_t)ts.tv_nsec;
}

static void *work(void *arg)
{
    struct worker *w = arg;

    if (w->way == SLEEP_NO_SLACK && prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL))
        die("PR_SET_TIMERSLACK", errno);
    sleep_until(w->start_ns);
    wait_until(w, fe_clock_now_ns() + FE_NS_PER_MS); /* makes the thread's ring */

    uint64_t cpu = thread_cpu_ns(), start = fe_clock_now_ns(), now = start;
    while (now < w->end_ns) {
        uint64_t deadline = now + w->period_ns;
        wait_until(w, deadline);
        now = fe_clock_now_ns();
        fe_hist_add(&w->result.lateness, now - deadline);
    }
    w->result.cpu_ns = thread_cpu_ns() - cpu;
    w->result.wall_ns = now - start;
    return NULL;
}

static void merge(struct fe_hist *into, const struct fe_hist *from)
{
    into->count += from->count;
    into->sum += from->sum;
    into->max = fe_max_u64(into->max, from->max);
    for (unsigned i = 0; i < FE_HIST_BUCKETS; i++)
        into->bucket[i] += from->bucket[i];
}

/* One turn of one way: `depth` fresh threads for `batch_ms`, added to `into`. */
static void run_batch(enum way way, struct fe_delay *delay, uint64_t period_ns,
                      unsigned depth, unsigned batch_ms, struct cell *into)
{
    struct worker *w = xcalloc(depth, sizeof *w);
    uint64_t start = fe_clock_now_ns() + 2 * FE_NS_PER_MS;

    for (unsigned i = 0; i < depth; i++) {
        w[i].way = way;
        w[i].delay = delay;
        w[i].period_ns = period_ns;
        w[i].start_ns = start + period_ns * i / depth;
        w[i].end_ns = start + batch_ms * FE_NS_PER_MS;
        int r = pthread_create(&w[i].thread, NULL, work, &w[i]);
        if (r)
            die("pthread_create", r);
    }
    for (unsigned i = 0; i < depth; i++) {
        int r = pthread_join(w[i].thread, NULL);
        if (r)
            die("pthread_join", r);
        merge(&into->lateness, &w[i].result.lateness);
        into->cpu_ns += w[i].result.cpu_ns;
        into->wall_ns += w[i].result.wall_ns;
    }
    free(w);
}

static double us(uint64_t ns)
{
    return (double)ns / 1000;
}

static double quantile_us(const struct cell *c, uint32_t ppm)
{
    return us(fe_hist_quantile(&c->lateness, ppm));
}

/* 0 where there is nothing to compare with: a run too short for that baseline. */
static double ratio(double a, double b)
{
    return b > 0 ? a / b : 0;
}

static void print_cell(const struct options *opt, uint64_t period_ns, unsigned depth,
                       enum way way, const struct cell *cells)
{
    const struct cell *c = &cells[way], *spin = &cells[SPIN];
    double p50 = quantile_us(c, 500000), p99 = quantile_us(c, 990000);
    double cpu = c->wall_ns ? 100.0 * (double)c->cpu_ns / (double)c->wall_ns : 0;
    double p999 = quantile_us(c, 999000);
    double r50 = ratio(p50, quantile_us(spin, 500000));
    double r99 = ratio(p99, quantile_us(spin, 990000));
    double r999 = ratio(p999, quantile_us(spin, 999000));

    printf(opt->json
               ? "{\"deadline_us\":%g,\"depth\":%u,\"way\":\"%s\",\"count\":%" PRIu64
                 ",\"p50_us\":%.3f,\"p99_us\":%.3f,\"p999_us\":%.3f,\"max_us\":%.3f,"
                 "\"cpu_percent\":%.1f,\"p50_over_spin\":%.3f,\"p99_over_spin\":%.3f,"
                 "\"p999_over_spin\":%.3f}"
               : "%8g %5u  %-24s %8" PRIu64 " %9.2f %9.2f %9.2f %10.1f %6.1f %8.2f %8.2f %8.2f\n",
           us(period_ns), depth, way_names[way], c->lateness.count, p50, p99, p999,
           us(c->lateness.max), cpu, r50, r99, r999);
}

static void run_table(const struct options *opt, struct fe_delay *const delays[N_WAYS])
{
    bool first = true;

    printf(opt->json
               ? "{\"lateness\":["
               : "deadline depth  way                         count    p50 us    p99 us  p99.9 us"
                 "     max us   cpu%%      /spin: p50    p99    p99.9\n");
    for (unsigned d = 0; d < N_DEPTHS; d++)
        for (unsigned p = 0; p < N_PERIODS; p++) {
            struct cell *cells = xcalloc(N_WAYS, sizeof *cells);
            for (unsigned round = 0; round < opt->rounds; round++)
                for (enum way way = 0; way < N_WAYS; way++)
                    run_batch(way, delays[way], periods_ns[p], depths[d], opt->batch_ms,
                              &cells[way]);
            for (enum way way = 0; way < N_WAYS; way++) {
                if (opt->json && !first)
                    printf(",\n");
                first = false;
                print_cell(opt, periods_ns[p], depths[d], way, cells);
            }
            fflush(stdout);
            free(cells);
        }
    if (opt->json)
        printf("]");
}

/* Deadlines that follow from the model, start + i ms, whenever the last wait ended. */
static void run_drift(const struct options *opt, struct fe_delay *delay)
{
    uint64_t start = fe_clock_now_ns(), modelled = opt->drift_waits * FE_NS_PER_MS;

    for (uint64_t i = 1; i <= opt->drift_waits; i++)
        fe_delay_until(delay, start + i * FE_NS_PER_MS, NULL, NULL, NULL);

    uint64_t elapsed = fe_clock_now_ns() - start;
    printf(opt->json
               ? ",\n\"drift\":{\"waits\":%u,\"elapsed_ms\":%.4f,\"modelled_ms\":%.4f,"
                 "\"ratio\":%.8f}"
               : "drift: %u waits of 1 ms in a row: elapsed %.4f ms, modelled %.4f ms, "
                 "ratio %.8f\n",
           opt->drift_waits, (double)elapsed / FE_NS_PER_MS,
           (double)modelled / FE_NS_PER_MS,
           modelled ? (double)elapsed / (double)modelled : 1.0);
}

/* Since the machine began, of all its processors: what the host gave to others, and all. */
struct host_ticks {
    uint64_t stolen, all;
};

static struct host_ticks host_ticks(void)
{
    struct host_ticks t = {0, 0};
    uint64_t v[8];
    FILE *f = fopen("/proc/stat", "r");
    if (!f)
        die("/proc/stat", errno);
    int n = fscanf(f, "cpu %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64
                   " %" SCNu64 " %" SCNu64, &v[0], &v[1], &v[2], &v[3], &v[4], &v[5], &v[6], &v[7]);
    fclose(f);
    for (int i = 0; n == 8 && i < n; i++)
        t.all += v[i];
    t.stolen = n == 8 ? v[7] : 0;
    return t;
}

static void print_stolen(const struct options *opt, struct host_ticks before)
{
    struct host_ticks now = host_ticks();
    double percent = 100 * ratio((double)(now.stolen - before.stolen),
                                 (double)(now.all - before.all));
    printf(opt->json ? ",\n\"stolen_percent\":%.2f}\n"
                     : "stolen: the host gave %.2f %% of the processors' time to others\n", percent);
}

static struct fe_delay *make_delay(enum fe_delay_spin spin)
{
    struct fe_delay_params params = {.spin = spin, .spin_ns = 2 * FE_NS_PER_MS};
    struct fe_delay *d;
    struct fe_err err;

    fe_err_init(&err);
    int r = fe_delay_create(&d, &params, &err);
    if (r < 0)
        die(err.text, -r);
    if (fe_delay_notice(d))
        fprintf(stderr, "lateness: %s\n", fe_delay_notice(d));
    return d;
}

static unsigned number(const char *text)
{
    char *end;
    unsigned long n = strtoul(text, &end, 10);
    if (*text == '-' || *end || end == text || n == 0 || n > 10000000)
        die(text, EINVAL);
    return (unsigned)n;
}

int main(int argc, char **argv)
{
    static const struct option longs[] = {
        {"json", no_argument, NULL, 'j'},
        {"rounds", required_argument, NULL, 'r'},
        {"batch-ms", required_argument, NULL, 'b'},
        {"drift-waits", required_argument, NULL, 'd'},
        {0},
    };
    struct options opt = {.rounds = 20, .batch_ms = 150, .drift_waits = 10000};

    for (int c; (c = getopt_long(argc, argv, "", longs, NULL)) != -1;)
        switch (c) {
        case 'j':
            opt.json = true;
            break;
        case 'r':
            opt.rounds = number(optarg);
            break;
        case 'b':
            opt.batch_ms = number(optarg);
            break;
        case 'd':
            opt.drift_waits = number(optarg);
            break;
        default:
            return 2;
        }
    if (optind != argc)
        die(argv[optind], EINVAL);

    struct fe_delay *delays[N_WAYS] = {
        [URING] = make_delay(FE_DELAY_SPIN_OFF),
        [OURS] = make_delay(FE_DELAY_SPIN_AUTO),
        [OURS_SPIN] = make_delay(FE_DELAY_SPIN_FIXED),
    };
    struct host_ticks before = host_ticks();
    run_table(&opt, delays);
    run_drift(&opt, delays[OURS]);
    print_stolen(&opt, before);
    fe_delay_destroy(delays[URING]);
    fe_delay_destroy(delays[OURS]);
    fe_delay_destroy(delays[OURS_SPIN]);
    return 0;
}
