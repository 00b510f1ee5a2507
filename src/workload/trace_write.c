/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What all formats share when a trace is written: the buffer and its errors.
 *
 * A format puts the text of a record directly into the writer's buffer.  The buffer goes to
 * the file when it is nearly full.  After the first failed write the writer refuses all
 * others, so that a full disk cannot leave a hole in the middle of a trace.
 */
#include "workload/formats/format.h"

#include <errno.h>
#include <stdlib.h>

enum { WRITE_BYTES = 1 << 16 };

int fe_trace_cannot(const struct fe_trace_writer *w, struct fe_err *err, const char *what)
{
    if (w->opt.lossy)
        return 0;
    return fe_err_set(err, EINVAL, "%s: record %llu: the format %s cannot hold %s", w->name,
                      (unsigned long long)w->n_written + 1, w->opt.format->name, what);
}

int fe_trace_flush(struct fe_trace_writer *w, struct fe_err *err)
{
    errno = 0;
    if (w->broken == 0 && ((w->used > 0 && fwrite(w->buf, 1, w->used, w->file) != w->used) ||
                           fflush(w->file) != 0))
        w->broken = -(errno ? errno : EIO);
    w->used = 0;
    return w->broken ? fe_err_set(err, -w->broken, "%s: %s", w->name, strerror(-w->broken)) : 0;
}

char *fe_trace_room(struct fe_trace_writer *w, struct fe_err *err)
{
    if (w->used + FE_TRACE_ROOM > WRITE_BYTES && fe_trace_flush(w, err) < 0)
        return NULL;
    return w->buf + w->used;
}

int fe_trace_put_header(struct fe_trace_writer *w, const char *first, struct fe_err *err)
{
    char *p = fe_trace_room(w, err);

    if (!p)
        return w->broken;
    p = fe_put_text(p, first);
    *p++ = '\n';
    fe_trace_used(w, p);
    for (int key = 0; w->opt.origin && key < FE_N_ORIGIN_KEYS; key++) {
        char text[FE_TRACE_ROOM - 32];
        p = fe_trace_room(w, err);
        if (!p)
            return w->broken;
        if (!fe_origin_text(w->opt.origin, (enum fe_origin_key)key, text, sizeof text))
            continue;
        p = fe_put_text(fe_put_text(p, "# "), fe_origin_names[key]);
        p = fe_put_text(fe_put_text(p, ": "), text);
        *p++ = '\n';
        fe_trace_used(w, p);
    }
    return 0;
}

int fe_trace_writer_open(struct fe_trace_writer **ret, FILE *f, const char *name,
                         const struct fe_trace_writer_options *opt, struct fe_err *err)
{
    if (opt->format && !opt->format->put)
        return fe_err_set(err, EINVAL, "%s: the format %s can be read, not written; flashemu trace "
                          "--formats says which can", name, opt->format->name);
    struct fe_trace_writer *w = calloc(1, sizeof *w);
    if (!w)
        return fe_err_nomem(err, "trace writer", sizeof *w);
    w->file = f;
    w->name = name;
    w->opt = *opt;
    if (!w->opt.format)
        w->opt.format = &fe_trace_text;
    w->buf = malloc(WRITE_BYTES);
    w->state = calloc(1, w->opt.format->writer_state + 1);
    int code = 0;
    if (!w->buf || !w->state)
        code = fe_err_nomem(err, "trace writer", WRITE_BYTES);
    else if (w->opt.format->begin)
        code = w->opt.format->begin(w, err);
    if (code < 0) {
        w->broken = code;
        fe_trace_writer_close(w, NULL);
        return code;
    }
    *ret = w;
    return 0;
}

int fe_trace_write(struct fe_trace_writer *w, const struct fe_trace_rec *recs, uint32_t n,
                   struct fe_err *err)
{
    for (uint32_t i = 0; i < n; i++) {
        bool lacks = recs[i].type == FE_TRACE_MARK && !w->opt.format->holds_marks;
        int code = lacks ? fe_trace_cannot(w, err, "mark") : w->opt.format->put(w, &recs[i], err);
        if (code < 0) {
            w->broken = code;
            return code;
        }
        w->n_written++;
    }
    return 0;
}

int fe_trace_writer_close(struct fe_trace_writer *w, struct fe_err *err)
{
    int code = 0;

    if (!w)
        return 0;
    if (w->broken == 0) {
        code = w->opt.format->finish ? w->opt.format->finish(w, err) : 0;
        if (code == 0)
            code = fe_trace_flush(w, err);
    }
    free(w->state);
    free(w->buf);
    free(w);
    return code;
}
