/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Records and traces from strings, for the tests of the workload layer.
 */
#pragma once

#include "lib/unit.h"

#include "workload/formats/format.h"

#include <errno.h>
#include <stdio.h>

/* Field by field: the padding of a record is anything. */
static inline void check_same(const struct fe_trace_rec *a, const struct fe_trace_rec *b)
{
    assert_int_equal(a->time_ns, b->time_ns);
    assert_int_equal(a->offset, b->offset);
    assert_int_equal(a->len, b->len);
    assert_int_equal(a->think_ns, b->think_ns);
    assert_int_equal(a->done_ns, b->done_ns);
    assert_int_equal(a->programmed, b->programmed);
    assert_int_equal(a->collections, b->collections);
    assert_int_equal(a->merges, b->merges);
    assert_int_equal(a->line, b->line);
    assert_int_equal(a->stream, b->stream);
    assert_int_equal(a->depth, b->depth);
    assert_int_equal(a->type, b->type);
    assert_int_equal(a->status, b->status);
    assert_int_equal(a->fua, b->fua);
}

#define HEAD "# flashemu trace 1\n"

enum { MAX_RECS = 64 };

struct loaded {
    struct fe_trace_rec rec[MAX_RECS];
    int n;      /* records in front of the end or the mistake */
    int result; /* 0, or the negative errno */
    uint64_t skipped;
    const struct fe_trace_format *format;
    struct fe_err err;
};

static inline const struct fe_trace_format *format_of(const char *name)
{
    const struct fe_trace_format *f = NULL;
    assert_int_equal(fe_trace_format_find(&f, name, NULL), 0);
    return f;
}

/* Reads all of a text, `batch` records at a time. */
static inline struct loaded load_options(const char *text, size_t len, uint32_t batch,
                                  const struct fe_trace_options *opt)
{
    struct loaded l = {.n = 0};
    struct fe_trace_reader *r = NULL;
    FILE *f = len ? fmemopen((void *)text, len, "r") : fopen("/dev/null", "r");

    assert_non_null(f);
    fe_err_init(&l.err);
    l.result = fe_trace_reader_open(&r, f, "t", opt, &l.err);
    if (l.result == 0) {
        int n;
        while ((n = fe_trace_read(r, l.rec + l.n, batch, &l.err)) > 0) {
            l.n += n;
            assert_in_range(l.n, 0, MAX_RECS - batch);
        }
        l.result = n;
        l.format = r->opt.format;
        l.skipped = fe_trace_skipped(r);
        if (n < 0) { /* the error stays */
            fe_err_init(&l.err);
            assert_int_equal(fe_trace_read(r, l.rec + l.n, batch, &l.err), n);
        }
        fe_trace_reader_close(r);
    }
    fclose(f);
    return l;
}

static inline struct loaded load(const char *text)
{
    const struct fe_trace_options none = {0};
    return load_options(text, strlen(text), 1, &none);
}

/* The text has this one mistake, told at this line. */
static inline void check_bad(const char *text, const char *where, const char *what)
{
    struct loaded l = load(text);
    if (l.result >= 0)
        fail_msg("taken: %s", text);
    if (strncmp(l.err.text, where, strlen(where)) != 0 || !strstr(l.err.text, what))
        fail_msg("'%s' is not '%s ... %s'", l.err.text, where, what);
}

static inline void check_rec(const struct fe_trace_rec *r, uint64_t time_ns, enum fe_req_type type,
                      uint64_t offset, uint64_t len, bool fua)
{
    assert_int_equal(r->time_ns, time_ns);
    assert_int_equal(r->type, type);
    assert_int_equal(r->offset, offset);
    assert_int_equal(r->len, len);
    assert_int_equal(r->fua, fua);
}
