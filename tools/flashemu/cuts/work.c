/* SPDX-License-Identifier: BSD-3-Clause */
#include "cuts/cuts.h"

#include "base/table.h"
#include "gzfile.h"
#include "replay/source.h"
#include "tool.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 1024 };

static int refuse(const char *trace, const struct fe_trace_rec *rec, struct fe_err *err,
                  const char *why)
{
    return fe_err_set(err, EINVAL, "%.200s:%llu: %s", trace, (unsigned long long)rec->line, why);
}

static int check(const struct fe_trace_rec *rec, const char *trace, const struct fe_device *dev,
                 struct fe_err *err)
{
    uint64_t capacity = fe_device_capacity(dev);
    if (rec->status != FE_OK && rec->status != FE_CORRECTED)
        return refuse(trace, rec, err, "the request had failed when it was recorded, so nobody knows "
                                       "what it has written; cuts need a recording without failures");
    if (rec->len > capacity || rec->offset > capacity - rec->len)
        return refuse(trace, rec, err, "is behind the end of the device");
    if (rec->type == FE_REQ_TRIM && !fe_device_profile(dev)->device.discard)
        return refuse(trace, rec, err, "trim, but the device offers none (device.discard)");
    if (rec->type == FE_REQ_WRITE && !rec->data)
        return refuse(trace, rec, err, "the trace does not say what was written; trace-data=FILE of "
                                       "the server records it");
    return 0;
}

/* Adds a record to the digest of the work, with its data.  Times count, because they decide what the
 * device does between requests. */
static int digest_rec(struct cuts_work *w, const struct fe_trace_rec *rec, uint8_t *buf,
                      struct fe_err *err)
{
    struct fe_digest d = fe_digest_add_u64(w->digest, rec->type);
    int r = 0;
    d = fe_digest_add_u64(fe_digest_add_u64(d, rec->time_ns), rec->think_ns);
    d = fe_digest_add_u64(fe_digest_add_u64(d, rec->offset), rec->len);
    d = fe_digest_add_u64(d, rec->fua);
    if (rec->type == FE_TRACE_MARK)
        d = fe_digest_add(d, rec->mark, strlen(rec->mark));
    if (rec->type == FE_REQ_WRITE)
        r = fe_data_get(w->data, rec->data, rec->offset, rec->len, buf, err);
    if (r == 0 && rec->type == FE_REQ_WRITE)
        d = fe_digest_add(d, buf, (size_t)rec->len);
    w->digest = d;
    return r;
}

static int read_recs(struct cuts_work *w, const char *trace, const struct fe_device *dev,
                     struct fe_err *err)
{
    size_t room = 0;
    int n;
    do {
        struct fe_trace_rec *recs = fe_table_grow(w->recs, w->n + BATCH, &room, sizeof *recs);
        if (!recs)
            return fe_err_nomem(err, "requests", (w->n + BATCH) * sizeof *recs);
        w->recs = recs;
        n = fe_trace_read(w->reader, w->recs + w->n, BATCH, err);
        for (int i = 0; i < n; i++) {
            const struct fe_trace_rec *rec = &w->recs[w->n++];
            bool is_mark = rec->type == FE_TRACE_MARK;
            int r = is_mark ? 0 : check(rec, trace, dev, err);
            if (r < 0)
                return r;
            w->n_marks += is_mark;
            w->n_requests += !is_mark;
            if (rec->type == FE_REQ_WRITE && rec->len > w->longest)
                w->longest = rec->len;
        }
    } while (n > 0);
    return n;
}

/* The file that the trace names. */
static int open_named(struct cuts_work *w, const char *trace, struct fe_err *err)
{
    const char *name = fe_trace_origin(w->reader, FE_ORIGIN_DATA);
    if (!*name)
        return fe_err_set(err, EINVAL, "%.200s: is a trace without data; record it with "
                          "trace-data=FILE, or name the file with --data", trace);
    return fe_data_open_beside(&w->data, trace, name, err);
}

static int open_data(struct cuts_work *w, const char *trace, const char *data, struct fe_err *err)
{
    bool writes = false;
    for (size_t i = 0; i < w->n; i++)
        writes |= w->recs[i].type == FE_REQ_WRITE;
    if (data)
        return fe_data_reader_open(&w->data, data, err);
    return writes ? open_named(w, trace, err) : 0;
}

int cuts_work_load(struct cuts_work *w, const char *trace, const char *data,
                   const struct fe_device *dev, struct fe_err *err)
{
    const struct fe_trace_options opt = {
        .sector_size = fe_device_profile(dev)->device.sector_size, .marks = true};
    bool compressed;
    *w = (struct cuts_work){.digest = fe_digest_start()};
    int r = gzfile_open(&w->file, &compressed, trace, err);
    if (r == 0)
        r = fe_trace_reader_open(&w->reader, w->file, trace, &opt, err);
    if (r == 0)
        r = read_recs(w, trace, dev, err);
    if (r == 0 && fe_trace_is_cut(w->reader) && !tool_is_quiet())
        tool_error("note: %.200s: " SOURCE_CUT, trace);
    if (r == 0)
        r = open_data(w, trace, data, err);
    uint8_t *buf = r == 0 ? malloc((size_t)w->longest + 1) : NULL;
    if (r == 0 && !buf)
        r = fe_err_nomem(err, "data of a write", w->longest);
    for (size_t i = 0; i < w->n && r == 0; i++)
        r = digest_rec(w, &w->recs[i], buf, err);
    free(buf);
    return r;
}

void cuts_work_fini(struct cuts_work *w)
{
    fe_data_reader_close(w->data);
    fe_trace_reader_close(w->reader);
    if (w->file)
        fclose(w->file);
    free(w->recs);
}
