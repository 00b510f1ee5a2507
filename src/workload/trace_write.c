/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Writes a trace, by means of its format.
 */
#include "workload/formats/format.h"

#include <errno.h>
#include <stdlib.h>

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
    w->buf = malloc(FE_TRACE_BUFFER);
    w->state = calloc(1, w->opt.format->writer_state + 1);
    int code = 0;
    if (!w->buf || !w->state)
        code = fe_err_nomem(err, "trace writer", FE_TRACE_BUFFER);
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
    if (w->state && w->opt.format->free_writer)
        w->opt.format->free_writer(w->state);
    free(w->state);
    free(w->buf);
    free(w);
    return code;
}
