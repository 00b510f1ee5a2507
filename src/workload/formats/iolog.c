/* SPDX-License-Identifier: BSD-3-Clause
 *
 * fio's iolog, as the section "Trace file format" of fio's HOWTO has it.
 *
 *     fio version 2 iolog              fio version 3 iolog
 *     /dev/sda add                     0 /dev/sda add
 *     /dev/sda open                    0 /dev/sda open
 *     /dev/sda write 4096 8192         17 /dev/sda write 4096 8192
 *     /dev/sda wait 500 0              520 /dev/sda sync 0 0
 *     /dev/sda close                   530 /dev/sda close
 *
 * Version 3 has a time in microseconds on each line.  Version 2 has `wait` lines instead.  The
 * first number of a `wait` is in microseconds and counts from the previous `wait`; fio discards
 * waits below 100.  All requests between two waits have the same time.
 *
 * A file must be added and opened before it is used.  sync and datasync are a flush of the host.
 * fio writes the offset of the last request on these lines, so the numbers there mean nothing.
 * sync_file_range makes the host write its pages, and sends no flush to the device.  The writes that
 * it brings about are not told from others, so such a line is passed over and counted.
 *
 * A device has one address space, so requests to two files would overlay each other.  That is an
 * error unless the reader was told which of the files is the device.
 */
#include "workload/formats/format.h"

#include "base/num.h"
#include "base/table.h"
#include "workload/number.h"

#include <errno.h>
#include <stdlib.h>

static const char header2[] = "fio version 2 iolog";
static const char header3[] = "fio version 3 iolog";

enum { WAIT_MIN_US = 100, MAX_NAME = 256 };

struct file {
    char *name;
    size_t len;
    bool open;
};

struct iolog_reader {
    int version;
    uint64_t wait_ns; /* version 2: the sum of the waits so far */
    struct file *files;
    size_t n_files, cap;
    size_t device; /* 1 + the index of the file that requests go to; 0 = none yet */
};

static bool detect2(struct fe_span line)
{
    return fe_span_is(line, header2);
}

static bool detect3(struct fe_span line)
{
    return fe_span_is(line, header3);
}

static void free_state(void *state)
{
    struct iolog_reader *s = state;

    for (size_t i = 0; i < s->n_files; i++)
        free(s->files[i].name);
    free(s->files);
}

/* The file of that name, or NULL.  The search begins with the last file, which is usually the one
 * in use. */
static struct file *find_file(struct iolog_reader *s, struct fe_span name)
{
    for (size_t i = s->n_files; i-- > 0;)
        if (s->files[i].len == name.len && memcmp(s->files[i].name, name.p, name.len) == 0)
            return &s->files[i];
    return NULL;
}

static int add_file(struct fe_trace_reader *r, struct fe_span name, struct fe_err *err)
{
    struct iolog_reader *s = r->state;

    if (find_file(s, name))
        return 0;
    struct file *files = fe_table_grow(s->files, s->n_files + 1, &s->cap, sizeof *files);
    if (!files)
        return fe_err_nomem(err, "files of an iolog", (s->n_files + 1) * sizeof *files);
    s->files = files;
    char *copy = malloc(name.len); /* not a string: it may hold a NUL */
    if (!copy)
        return fe_err_nomem(err, "file name of an iolog", name.len);
    memcpy(copy, name.p, name.len);
    s->files[s->n_files++] = (struct file){copy, name.len, false};
    return 0;
}

static int file_action(struct fe_trace_reader *r, struct fe_span name, struct fe_span action,
                       struct fe_err *err)
{
    struct iolog_reader *s = r->state;
    struct file *file = find_file(s, name);

    if (fe_span_is(action, "add"))
        return add_file(r, name, err);
    if (!fe_span_is(action, "open") && !fe_span_is(action, "close"))
        return fe_trace_bad(r, err, "'%.*s' is not add, open or close, nor a request with "
                                    "offset and length", fe_span_shown(action), action.p);
    if (!file)
        return fe_trace_bad(r, err, "file '%.*s' was not added before", fe_span_shown(name),
                            name.p);
    file->open = fe_span_is(action, "open");
    return 0;
}

/* Returns 1 if this file is the device, 0 if it is another one, or -EINVAL with message. */
static int is_device(struct fe_trace_reader *r, struct fe_span name, struct fe_err *err)
{
    struct iolog_reader *s = r->state;
    struct file *file = find_file(s, name);

    if (!file || !file->open)
        return fe_trace_bad(r, err, "file '%.*s' was not added and opened before",
                            fe_span_shown(name), name.p);
    if (r->opt.device)
        return fe_span_is(name, r->opt.device);
    if (s->device == 0)
        s->device = 1 + (size_t)(file - s->files);
    if (file != &s->files[s->device - 1])
        return fe_trace_bad(r, err, "requests to a second file '%.*s'; say which one is the "
                                    "device", fe_span_shown(name), name.p);
    return 1;
}

static int wait_action(struct fe_trace_reader *r, uint64_t us, struct fe_err *err)
{
    struct iolog_reader *s = r->state;
    uint64_t ns;

    if (s->version == 3)
        return fe_trace_bad(r, err, "wait is not allowed in version 3");
    if (us < WAIT_MIN_US)
        return 0;
    if (!fe_mul_ok(us, FE_NS_PER_US, &ns) ||
        __builtin_add_overflow(s->wait_ns, ns, &s->wait_ns))
        return fe_trace_bad(r, err, "the times add up to more than 2^64 ns");
    return 0;
}

static int io_action(struct fe_trace_reader *r, const struct fe_span *word,
                     struct fe_trace_rec *rec, struct fe_err *err)
{
    struct fe_span action = word[1];
    uint64_t offset, len;

    if (!fe_number_u64(word[2].p, word[2].len, &offset) ||
        !fe_number_u64(word[3].p, word[3].len, &len))
        return fe_trace_bad(r, err, "offset and length must be plain numbers below 2^64");
    if (fe_span_is(action, "wait"))
        return wait_action(r, offset, err);
    int ret = is_device(r, word[0], err);
    if (ret < 0)
        return ret;
    if (fe_span_is(action, "sync_file_range"))
        return fe_trace_skip(r);
    rec->offset = offset;
    rec->len = len;
    if (fe_span_is(action, "read"))
        rec->type = FE_REQ_READ;
    else if (fe_span_is(action, "write"))
        rec->type = FE_REQ_WRITE;
    else if (fe_span_is(action, "trim"))
        rec->type = FE_REQ_TRIM;
    else if (fe_span_is(action, "sync") || fe_span_is(action, "datasync")) {
        rec->type = FE_REQ_FLUSH;
        rec->offset = rec->len = 0;
    } else {
        return fe_trace_bad(r, err, "'%.*s' is not read, write, trim, sync, datasync, "
                                    "sync_file_range or wait",
                            fe_span_shown(action), action.p);
    }
    return ret == 1 ? 1 : fe_trace_skip(r);
}

static int parse(struct fe_trace_reader *r, struct fe_span line, struct fe_trace_rec *rec,
                 struct fe_err *err)
{
    struct iolog_reader *s = r->state;
    struct fe_span word[6];
    uint64_t us;
    int n = 0;

    if (r->line == 1) {
        s->version = fe_span_is(line, header2) ? 2 : fe_span_is(line, header3) ? 3 : 0;
        return s->version ? 0 : fe_trace_bad(r, err, "expected '%s' or '%s'", header2, header3);
    }
    while (n < 6 && (word[n] = fe_span_word(&line)).len > 0)
        n++;
    if (n == 0)
        return 0;
    rec->time_ns = s->wait_ns;
    if (s->version == 3) {
        if (!fe_number_u64(word[0].p, word[0].len, &us) ||
            !fe_mul_ok(us, FE_NS_PER_US, &rec->time_ns))
            return fe_trace_bad(r, err, "'%.*s' is not a time in microseconds",
                                fe_span_shown(word[0]), word[0].p);
    }
    const struct fe_span *name = word + (s->version == 3);
    n -= s->version == 3;
    if (n >= 1 && name->len > MAX_NAME)
        return fe_trace_bad(r, err, "file name longer than %d characters", MAX_NAME);
    if (n == 2)
        return file_action(r, name[0], name[1], err);
    if (n == 4)
        return io_action(r, name, rec, err);
    return fe_trace_bad(r, err, "expected %sFILE ACTION or %sFILE ACTION OFFSET LENGTH",
                        s->version == 3 ? "TIME " : "", s->version == 3 ? "TIME " : "");
}

/* --- writing --- */

struct iolog_writer {
    uint64_t wait_us; /* version 2: the sum of the waits that have been written */
    uint64_t last_us;
};

static const char *device_name(const struct fe_trace_writer *w)
{
    return w->opt.device ? w->opt.device : "/dev/flashemu";
}

static bool with_times(const struct fe_trace_writer *w)
{
    return w->opt.format != &fe_trace_iolog2;
}

/* Writes "[TIME ]FILE ACTION" and, if `numbers`, " OFFSET LENGTH". */
static int put_line(struct fe_trace_writer *w, uint64_t us, const char *action, bool numbers,
                    uint64_t offset, uint64_t len, struct fe_err *err)
{
    char *p = fe_trace_room(w, err);

    if (!p)
        return w->broken;
    if (with_times(w)) {
        p += fe_number_put(p, us);
        *p++ = ' ';
    }
    p = fe_put_text(p, device_name(w));
    *p++ = ' ';
    p = fe_put_text(p, action);
    if (numbers) {
        *p++ = ' ';
        p += fe_number_put(p, offset);
        *p++ = ' ';
        p += fe_number_put(p, len);
    }
    *p++ = '\n';
    return fe_trace_used(w, p);
}

static int begin(struct fe_trace_writer *w, struct fe_err *err)
{
    const char *name = device_name(w);
    char *p = fe_trace_room(w, err);

    if (!p)
        return w->broken;
    if (*name == '\0' || strlen(name) > MAX_NAME || strpbrk(name, " \t\r\n"))
        return fe_err_set(err, EINVAL, "%s: '%s' cannot stand in an iolog: 1 to %d characters "
                                       "without blanks", w->name, name, MAX_NAME);
    p = fe_put_text(p, with_times(w) ? header3 : header2);
    *p++ = '\n';
    fe_trace_used(w, p);
    int code = put_line(w, 0, "add", false, 0, 0, err);
    return code < 0 ? code : put_line(w, 0, "open", false, 0, 0, err);
}

static int put(struct fe_trace_writer *w, const struct fe_trace_rec *rec, struct fe_err *err)
{
    static const char *const actions[] = {
        [FE_REQ_READ] = "read",
        [FE_REQ_WRITE] = "write",
        [FE_REQ_TRIM] = "trim",
        [FE_REQ_FLUSH] = "sync",
    };
    struct iolog_writer *s = w->state;
    uint64_t us = rec->time_ns / FE_NS_PER_US;
    int code = 0;

    if (rec->fua)
        code = fe_trace_cannot(w, err, "FUA");
    if (code == 0 && rec->think_ns)
        code = fe_trace_cannot(w, err, "think time");
    if (code == 0 && !with_times(w) && us >= s->wait_us + WAIT_MIN_US) {
        code = put_line(w, 0, "wait", true, us - s->wait_us, 0, err);
        s->wait_us = us;
    }
    s->last_us = us;
    return code < 0 ? code
                    : put_line(w, us, actions[rec->type], true, rec->offset, rec->len, err);
}

static int finish(struct fe_trace_writer *w, struct fe_err *err)
{
    struct iolog_writer *s = w->state;
    return put_line(w, s->last_us, "close", false, 0, 0, err);
}

/* Either of them reads both versions: parse finds the version in the first line.  They
 * differ in the version that they write. */
#define BOTH_VERSIONS                                                                         \
    .reader_state = sizeof(struct iolog_reader), .writer_state = sizeof(struct iolog_writer), \
    .parse = parse, .free_state = free_state, .begin = begin, .put = put, .finish = finish

const struct fe_trace_format fe_trace_iolog = {
    .name = "iolog",
    .summary = "fio's, version 3: times in us (--from-device FILE)",
    .detect = detect3,
    BOTH_VERSIONS,
};

const struct fe_trace_format fe_trace_iolog2 = {
    .name = "iolog2",
    .summary = "fio's, version 2: waits of 100 us and more instead of times",
    .detect = detect2,
    BOTH_VERSIONS,
};
