/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What this machine can do at most: how long a copy of memory, a cache miss, a system call and a
 * transfer through a socket take when a program does nothing else.
 *
 *     limits [--json] [--rounds N]
 *
 * No version of the emulator can be quicker than these, so docs/SPEED.md compares with them.  The
 * tests take turns in short rounds, which meet the same noise; the median and the least of the
 * rounds are printed, in ns for the unit that the name says; with --json, one object a line.  Some
 * 3 ns of them are the drawing of a place.  A test that this processor cannot run is left out.
 *
 * "anywhere" is a page of 4 KiB at random in 1 GiB of huge pages, which is where the frames of a
 * device lie that has been written at random for long.
 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/copy.h"
#include "base/num.h"
#include "base/rng.h"
#include "base/table.h"
#include "rt/clock.h"
#include "store/copy_list.h"

enum { PAGE = 4096, LINE = 64, MIB = 1 << 20, PAGES_A_MIB = MIB / PAGE, MAX_ROUNDS = 99 };

#define MEMORY (UINT64_C(1) << 30)
#define N_PAGES (MEMORY / PAGE)

struct bench {
    uint8_t *memory;  /* MEMORY bytes */
    uint8_t *near;    /* a MiB that the cache holds */
    uint64_t drawn;   /* random numbers so far */
    uint64_t sum;     /* of what was read, so that it is read */
    int pair[2];      /* a socket and its other end */
    struct fe_copy_list gather;
};

static _Noreturn void die(const char *what)
{
    fprintf(stderr, "limits: %s: %s\n", what, strerror(errno));
    exit(1);
}

static uint64_t draw(struct bench *b, uint64_t n)
{
    return fe_rng_below(fe_rng(1, FE_RNG_TEST, b->drawn++, 0), n);
}

static uint8_t *anywhere(struct bench *b)
{
    return b->memory + draw(b, N_PAGES) * PAGE;
}

/* One unit of a test.  Returns false if this machine cannot run it. */
typedef bool unit_fn(struct bench *b);

static bool copy_near(struct bench *b)
{
    memcpy(b->near, b->near + draw(b, PAGES_A_MIB / 2) * PAGE + MIB / 2, PAGE);
    return true;
}

static bool copy_anywhere(struct bench *b)
{
    memcpy(anywhere(b), b->near, PAGE);
    return true;
}

static bool past_16(struct bench *b)
{
    return fe_copy_by(16, anywhere(b), b->near, PAGE);
}

static bool past_32(struct bench *b)
{
    return fe_copy_by(32, anywhere(b), b->near, PAGE);
}

static bool past_64(struct bench *b)
{
    return fe_copy_by(64, anywhere(b), b->near, PAGE);
}

static bool read_in_order(struct bench *b)
{
    memcpy(b->near, b->memory + draw(b, MEMORY / MIB) * MIB, MIB);
    return true;
}

static bool read_anywhere(struct bench *b)
{
    for (uint32_t i = 0; i < PAGES_A_MIB; i++)
        memcpy(b->near + i * PAGE, anywhere(b), PAGE);
    return true;
}

/* As a read of a device does (store/copy_list.c): the pages that come next are asked for. */
static bool read_anywhere_gathered(struct bench *b)
{
    for (uint32_t i = 0; i < PAGES_A_MIB; i++)
        fe_copy_list_add(&b->gather, b->near + i * PAGE, anywhere(b), PAGE);
    fe_copy_list_settle(&b->gather);
    return true;
}

/* Each address depends on what the one before holds. */
static bool miss(struct bench *b)
{
    b->sum += anywhere(b)[b->sum % LINE];
    b->drawn += b->sum & 1;
    return true;
}

static bool system_call(struct bench *b)
{
    b->sum += (uint64_t)syscall(SYS_getppid);
    return true;
}

static bool socket_page(struct bench *b)
{
    if (send(b->pair[0], b->near, PAGE, 0) != PAGE ||
        recv(b->pair[1], b->near, PAGE, MSG_WAITALL) != PAGE)
        die("socket");
    return true;
}

struct test {
    const char *name;
    unit_fn *unit;
    unsigned units; /* in a round */
};

static const struct test tests[] = {
    {"copy 4 KiB within the cache", copy_near, 200000},
    {"copy 4 KiB to anywhere", copy_anywhere, 50000},
    {"copy 4 KiB to anywhere, past the cache by 16", past_16, 50000},
    {"copy 4 KiB to anywhere, past the cache by 32", past_32, 50000},
    {"copy 4 KiB to anywhere, past the cache by 64", past_64, 50000},
    {"copy 1 MiB from memory", read_in_order, 300},
    {"copy 1 MiB from pages anywhere", read_anywhere, 300},
    {"copy 1 MiB from pages anywhere, with hints", read_anywhere_gathered, 300},
    {"cache miss", miss, 100000},
    {"system call", system_call, 200000},
    {"4 KiB through a socket and back out", socket_page, 50000},
};

enum { N_TESTS = sizeof tests / sizeof *tests };

static void start(struct bench *b)
{
    *b = (struct bench){.memory = fe_table_map(MEMORY), .near = fe_table_map(MIB)};
    if (!b->memory || !b->near)
        die("1 GiB of memory");
    memset(b->memory, 1, MEMORY);
    memset(b->near, 2, MIB);
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, b->pair) < 0)
        die("socketpair");
}

/* ns for a unit; less than 0 if this machine cannot run the test. */
static double run(struct bench *b, const struct test *t)
{
    uint64_t begin = fe_clock_now_ns();
    for (unsigned i = 0; i < t->units; i++)
        if (!t->unit(b))
            return -1;
    return (double)(fe_clock_now_ns() - begin) / t->units;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void print(const struct test *t, double median, double least, bool json)
{
    if (json)
        printf("{\"name\": \"%s\", \"median_ns\": %.1f, \"least_ns\": %.1f}\n", t->name, median,
               least);
    else
        printf("%-46s %10.0f %10.0f\n", t->name, median, least);
}

static void print_all(double ns[][MAX_ROUNDS], unsigned rounds, bool json)
{
    if (!json)
        printf("%-46s %10s %10s\n", "ns", "median", "least");
    for (unsigned i = 0; i < N_TESTS; i++) {
        qsort(ns[i], rounds, sizeof ns[i][0], by_value);
        if (ns[i][0] >= 0)
            print(&tests[i], ns[i][rounds / 2], ns[i][0], json);
    }
}

/* 0 if the text is no number of rounds. */
static unsigned number(const char *text)
{
    char *end;
    unsigned long n = strtoul(text, &end, 10);
    return *text == '-' || *end || n > MAX_ROUNDS ? 0 : (unsigned)n;
}

int main(int argc, char **argv)
{
    static double ns[N_TESTS][MAX_ROUNDS];
    static const struct option long_options[] = {
        {"json", no_argument, NULL, 'j'}, {"rounds", required_argument, NULL, 'r'}, {0}};
    unsigned rounds = 9;
    bool json = false;
    struct bench b;
    int c;

    while ((c = getopt_long(argc, argv, "", long_options, NULL)) != -1) {
        if (c == 'j')
            json = true;
        else if (c != 'r' || (rounds = number(optarg)) == 0)
            return fprintf(stderr, "usage: limits [--json] [--rounds 1 to %d]\n", MAX_ROUNDS), 2;
    }
    start(&b);
    for (unsigned round = 0; round < rounds; round++)
        for (unsigned i = 0; i < N_TESTS; i++)
            ns[i][round] = run(&b, &tests[i]);
    print_all(ns, rounds, json);
    fe_table_unmap(b.memory, MEMORY);
    fe_table_unmap(b.near, MIB);
    close(b.pair[0]);
    close(b.pair[1]);
    return 0;
}
