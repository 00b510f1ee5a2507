/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What formats call while a trace is read or written.
 *
 * A format puts the text of a record directly into the writer's buffer.  The buffer goes to
 * the file when it is nearly full.  After the first failed write the writer refuses all
 * others, so that a full disk cannot leave a hole in the middle of a trace.
 */
#include "workload/formats/format.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>

/* ---- reading ---- */

int fe_trace_bad(const struct fe_trace_reader *r, struct fe_err *err, const char *fmt, ...)
{
    char text[256];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    return fe_err_set(err, EINVAL, "%s:%llu: %s%s", r->name, (unsigned long long)r->line, text,
                      r->is_torn && r->n_read ? "; the file ends within this line" : "");
}

int fe_trace_wanted(struct fe_trace_reader *r, struct fe_span device, struct fe_err *err)
{
    if (r->opt.device)
        return fe_span_is(device, r->opt.device);
    if (r->device[0] == '\0')
        memcpy(r->device, device.p, device.len);
    if (!fe_span_is(device, r->device))
        return fe_trace_bad(r, err, "requests of a second device %.*s after %s; --from-device says "
                                    "which one is wanted", fe_span_shown(device), device.p,
                            r->device);
    return 1;
}

uint64_t fe_trace_since_first(struct fe_trace_reader *r, uint64_t ns)
{
    if (!r->has_first) {
        r->has_first = true;
        r->first_ns = ns;
    }
    return ns > r->first_ns ? ns - r->first_ns : 0;
}

void fe_trace_take_origin(struct fe_trace_reader *r, struct fe_span line)
{
    for (int key = 0; key < FE_N_ORIGIN_KEYS; key++) {
        size_t len = strlen(fe_origin_names[key]);
        if (line.len > len + 4 && memcmp(line.p, "# ", 2) == 0 &&
            memcmp(line.p + 2, fe_origin_names[key], len) == 0 &&
            memcmp(line.p + 2 + len, ": ", 2) == 0)
            snprintf(r->origin[key], sizeof r->origin[key], "%.*s", (int)(line.len - len - 4),
                     line.p + len + 4);
    }
}

bool fe_trace_mark_ok(const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if ((unsigned char)text[i] < 0x20 || text[i] == 0x7f)
            return false;
    return len > 0 && len <= FE_TRACE_MARK_MAX && text[0] != ' ' && text[len - 1] != ' ';
}

struct fe_trace_text {
    struct fe_trace_text *next;
    char text[];
};

int fe_trace_take_mark(struct fe_trace_reader *r, struct fe_span text, struct fe_trace_rec *rec,
                       struct fe_err *err)
{
    if (!fe_trace_mark_ok(text.p, text.len))
        return fe_trace_bad(r, err, "a mark is 1 to %d bytes without control characters, and without "
                                    "a blank at its ends", FE_TRACE_MARK_MAX);
    if (!r->opt.marks)
        return fe_trace_skip(r);
    struct fe_trace_text *t = malloc(sizeof *t + text.len + 1);
    if (!t)
        return fe_err_nomem(err, "mark", sizeof *t + text.len + 1);
    memcpy(t->text, text.p, text.len);
    t->text[text.len] = '\0';
    t->next = r->marks;
    r->marks = t;
    rec->type = FE_TRACE_MARK;
    rec->mark = t->text;
    return 1;
}

void fe_trace_free_marks(struct fe_trace_reader *r)
{
    while (r->marks) {
        struct fe_trace_text *next = r->marks->next;
        free(r->marks);
        r->marks = next;
    }
}

/* ---- writing ---- */

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
    if (w->used + FE_TRACE_ROOM > FE_TRACE_BUFFER && fe_trace_flush(w, err) < 0)
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
