/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A merge of sorted files: of each file the head of the next event is known, and the earliest event is
 * handed on, head and what follows it.  src/workload/formats/blktrace.c says how an event looks; the
 * stream looks like a file of one processor, and is read as such.
 *
 * What is left of a file that ends inside an event comes last, so that the reader finds it.
 */
#include "blktracefile.h"

#include "base/bytes.h"
#include "base/table.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { HEAD = 48, TIME_AT = 8, FOLLOW_AT = 46, MAX_CPUS = 8192, MAX_PATH = 4096 };

struct cpu {
    FILE *file;
    uint8_t head[HEAD];
    size_t have; /* of head; less than HEAD at the end */
};

struct merge {
    struct cpu *cpu;
    size_t n, cap;
    const struct cpu *now; /* whose event is handed on; NULL = the next one is to be chosen */
    size_t given, follow;  /* of its head; and what is still to come behind the head */
};

static uint64_t number(const struct cpu *c, size_t at, unsigned bytes)
{
    return fe_bytes_get(c->head + at, bytes, c->head[0] == 0x65);
}

static bool next_head(struct cpu *c)
{
    c->have = fread(c->head, 1, HEAD, c->file);
    return !ferror(c->file);
}

/* The file with the earliest event, of equal ones the first; NULL if all have ended. */
static struct cpu *earliest(struct merge *m)
{
    struct cpu *best = NULL;

    for (size_t i = 0; i < m->n; i++) {
        struct cpu *c = &m->cpu[i];
        if (c->have == 0)
            continue;
        bool whole = c->have == HEAD, best_whole = best && best->have == HEAD;
        if (!best || (whole && (!best_whole ||
                                number(c, TIME_AT, 8) < number(best, TIME_AT, 8))))
            best = c;
    }
    return best;
}

static ssize_t read_merged(void *cookie, char *buf, size_t size)
{
    struct merge *m = cookie;
    size_t n;

    if (!m->now) {
        m->now = earliest(m);
        m->given = 0;
        m->follow = m->now && m->now->have == HEAD ? (size_t)number(m->now, FOLLOW_AT, 2) : 0;
    }
    if (!m->now)
        return 0;
    struct cpu *c = &m->cpu[m->now - m->cpu];
    if (m->given < c->have) {
        n = c->have - m->given < size ? c->have - m->given : size;
        memcpy(buf, c->head + m->given, n);
        m->given += n;
    } else {
        n = fread(buf, 1, m->follow < size ? m->follow : size, c->file);
        m->follow = n > 0 ? m->follow - n : 0;
    }
    if (m->given == c->have && m->follow == 0) {
        m->now = NULL;
        if (!next_head(c))
            return -1;
    }
    return ferror(c->file) ? -1 : n > 0 ? (ssize_t)n : read_merged(cookie, buf, size);
}

static int close_merged(void *cookie)
{
    struct merge *m = cookie;

    for (size_t i = 0; i < m->n; i++)
        fclose(m->cpu[i].file);
    free(m->cpu);
    free(m);
    return 0;
}

/* Adds a file if there is one. */
static int add(struct merge *m, const char *path, struct fe_err *err)
{
    FILE *file = fopen(path, "re");

    if (!file)
        return errno == ENOENT ? 0 : fe_err_set(err, errno, "%s: %s", path, strerror(errno));
    struct cpu *cpu = fe_table_grow(m->cpu, m->n + 1, &m->cap, sizeof *cpu);
    if (!cpu) {
        fclose(file);
        return fe_err_nomem(err, path, (m->n + 1) * sizeof *cpu);
    }
    m->cpu = cpu;
    struct cpu *c = &m->cpu[m->n++];
    *c = (struct cpu){.file = file};
    errno = 0;
    return next_head(c) ? 0 : fe_err_set(err, errno ? errno : EIO, "%s: %s", path,
                                         strerror(errno ? errno : EIO));
}

/* How long the part of the path in front of the processor's number is; 0 = it is no such path. */
static size_t stem(const char *path)
{
    static const char ending[] = ".blktrace.";
    size_t len = strlen(path), digits = 0;

    while (digits < len && path[len - 1 - digits] >= '0' && path[len - 1 - digits] <= '9')
        digits++;
    len -= digits;
    return digits > 0 && len >= sizeof ending - 1 && len < MAX_PATH - 16 &&
                   memcmp(path + len - (sizeof ending - 1), ending, sizeof ending - 1) == 0
               ? len : 0;
}

int blktracefile_open(FILE **ret, const char *path, struct fe_err *err)
{
    const cookie_io_functions_t functions = {.read = read_merged, .close = close_merged};
    size_t len = stem(path);
    char name[MAX_PATH];
    int code = 0;

    *ret = NULL;
    if (len == 0)
        return 0;
    struct merge *m = calloc(1, sizeof *m);
    if (!m)
        return fe_err_nomem(err, path, sizeof *m);
    for (int i = 0; i < MAX_CPUS && code == 0; i++) {
        snprintf(name, sizeof name, "%.*s%d", (int)len, path, i);
        code = add(m, name, err);
    }
    if (code < 0 || m->n < 2) {
        close_merged(m);
        return code;
    }
    *ret = fopencookie(m, "r", functions);
    if (!*ret) {
        close_merged(m);
        return fe_err_nomem(err, path, 0);
    }
    return 0;
}
