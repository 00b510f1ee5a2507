/* SPDX-License-Identifier: BSD-3-Clause
 *
 *            first        ready          next
 *              |            |              |
 *     ---------+============+==--=---------+--------->  tickets
 *     written    finished,    not all
 *                to be written finished
 *
 * A ring of records between the requests and the file.  The requests move `next`, and the writer
 * thread moves `first` and `ready`.  The records from `first` to `ready` are constant, and the
 * writer reads them where they are.
 *
 * A request takes no lock of the recorder, unless it wakes the writer or ends the trace.  One that
 * holds the device's lock would wait for it, and all others for the device.  The device's lock
 * orders what adds records; each record says itself when it is finished; and the writer looks.
 *
 * A wake-up costs the request that causes it more than the record does.  So the writer is woken only
 * when it is idle, and then pauses before it writes what there is:
 *
 *     idle --- a record is finished ---> pause of PAUSE_NS ---> write all that is ready --.
 *      ^                                                                                  |
 *      '----------------------------------------------------------------------------------'
 *
 * No wake-up is lost.  The writer says that it is idle before it looks at the oldest record, and a
 * request finishes its record before it looks whether the writer is idle.  Both are in the one order
 * that all threads see (memory_order_seq_cst), so at least one of them sees the other.
 *
 * The writer hands each batch to the host as a whole.  If the host fails, the file is cut back to
 * the end of the last good batch, so that no half line remains.
 */
#include "recorder.h"

#include "base/fetch.h"
#include "base/num.h"
#include "rt/clock.h"
#include "workload/data.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define PAUSE_NS (20 * FE_NS_PER_MS)
#define LOST UINT64_MAX
#define FIRST_LINE "# flashemu trace "

/* A file that is being recorded. */
struct kept_file {
    char *name; /* "trace=PATH", for messages */
    FILE *file;
};

struct fe_recorder {
    struct kept_file trace, data; /* data.file NULL: without the data */
    pthread_t thread;
    bool is_running;

    struct fe_trace_rec *ring;
    void **bytes;                 /* of each place: what a write wrote, or the text of a mark; NULL:
                                     zeros, or nothing */
    _Atomic uint64_t n_bytes;     /* that wait to be written */
    atomic_bool *is_finished;     /* of each place in the ring; the writer clears it again */
    _Atomic uint64_t next;        /* moved with the device's lock held */
    _Atomic uint64_t refused;     /* likewise: requests that came after the end */
    _Atomic uint64_t first;       /* moved by the writer */
    atomic_bool is_idle;          /* whoever finishes a record wakes the writer */
    _Atomic(const char *) ended;  /* why the trace has ended; NULL: it goes on */

    pthread_mutex_t lock; /* protects what follows; no other lock is taken while it is held */
    pthread_cond_t due;   /* is_idle has become false, or is_closing true; its clock is monotonic, as
                             fe_clock_now_ns */
    uint64_t awaited;     /* somebody waits for a mark up to here: until then there is no pause */
    int wake_fd;          /* hears of it; -1: nothing does */
    uint64_t written;     /* records in the file */
    bool has_failed;      /* the host has refused a batch: nothing more is written */
    bool is_closing;
    int errnum;           /* of the end */
    struct fe_err overflow, failure; /* why; constant once they are set */

    /* Only for the writer: the thread, and open and close. */
    struct fe_trace_writer *writer;
    struct fe_data_writer *data_writer;
    off_t good;           /* the length of the file up to the end of the last good batch */
    uint64_t ready;
};

static uint32_t place(uint64_t ticket)
{
    return (uint32_t)(ticket % FE_RECORDER_KEPT);
}

/* ---- the file ---- */

static int file_error(const struct kept_file *f, struct fe_err *err, int errnum)
{
    return fe_err_set(err, errnum, "%s: %s", f->name, strerror(errnum));
}

/* Whether the file is empty or begins as such a file does.  -EEXIST with message if not. */
static int check_contents(const struct kept_file *f, int fd, const char *first_line,
                          struct fe_err *err)
{
    char line[32];
    size_t len = strlen(first_line);
    assert(len <= sizeof line);
    ssize_t n = pread(fd, line, len, 0);
    if (n < 0)
        return file_error(f, err, errno);
    if (n > 0 && ((size_t)n != len || memcmp(line, first_line, len) != 0))
        return fe_err_set(err, EEXIST, "%s: the file is not %s and is not overwritten; allowed: a "
                          "new file, an empty file or such a one", f->name,
                          f->name[5] == '=' ? "a flashemu trace" : "the data of a flashemu trace");
    return 0;
}

/* Opens what is there, locks it as long as it is written, and empties it.  A pipe or a terminal has no
 * contents to lose.  A disk has, and so it is refused like a folder. */
static int open_file(struct kept_file *f, const char *path, const char *first_line,
                     struct fe_err *err)
{
    struct stat st;
    bool is_special = stat(path, &st) == 0 && !S_ISREG(st.st_mode);
    if (is_special && S_ISDIR(st.st_mode))
        return file_error(f, err, EISDIR);
    if (is_special && S_ISBLK(st.st_mode))
        return fe_err_set(err, EEXIST, "%s: is a disk; allowed: a file, a pipe or a terminal",
                          f->name);
    int fd = open(path, (is_special ? O_WRONLY : O_RDWR | O_CREAT) | O_CLOEXEC | O_NOCTTY, 0666);
    if (fd < 0)
        return file_error(f, err, errno);
    int code = is_special ? 0 : check_contents(f, fd, first_line, err);
    if (code == 0 && !is_special && flock(fd, LOCK_EX | LOCK_NB) < 0)
        code = errno == EWOULDBLOCK
                   ? fe_err_set(err, EBUSY, "%s: is in use by another flashemu server or tool",
                                f->name)
                   : file_error(f, err, errno);
    if (code == 0 && !is_special && ftruncate(fd, 0) < 0)
        code = file_error(f, err, errno);
    if (code == 0) {
        f->file = fdopen(fd, "w");
        if (f->file)
            return 0;
        code = file_error(f, err, errno);
    }
    close(fd);
    return code;
}

static void init_locks(struct fe_recorder *r)
{
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&r->due, &monotonic);
    pthread_condattr_destroy(&monotonic);
    pthread_mutex_init(&r->lock, NULL);
}

/* `text` already has the name of the data in its origin. */
static int open_files(struct fe_recorder *r, const char *path, const char *data,
                      const struct fe_trace_writer_options *text, struct fe_err *err)
{
    int code = open_file(&r->trace, path, FIRST_LINE, err);
    if (code == 0 && data)
        code = open_file(&r->data, data, FE_DATA_FIRST_LINE, err);
    if (code == 0 && data)
        code = fe_data_writer_open(&r->data_writer, r->data.file, r->data.name, err);
    if (code < 0)
        return code;
    setvbuf(r->trace.file, NULL, _IONBF, 0); /* the trace writer has a buffer of its own */
    return fe_trace_writer_open(&r->writer, r->trace.file, r->trace.name, text, err);
}

int fe_recorder_open(struct fe_recorder **ret, const char *path, const char *data,
                     const struct fe_origin *origin, struct fe_err *err)
{
    struct fe_origin with_data = origin ? *origin : (struct fe_origin){0};
    const struct fe_trace_writer_options text = {.origin = origin || data ? &with_data : NULL,
                                                 .says_end = true};
    struct fe_recorder *r = calloc(1, sizeof *r);
    if (!r)
        return fe_err_nomem(err, "recorder", sizeof *r);
    init_locks(r);
    r->wake_fd = -1;
    if (asprintf(&r->trace.name, "trace=%s", path) < 0)
        r->trace.name = NULL;
    if (data && asprintf(&r->data.name, "trace-data=%s", data) < 0)
        r->data.name = NULL;
    r->ring = calloc(FE_RECORDER_KEPT, sizeof *r->ring);
    r->bytes = calloc(FE_RECORDER_KEPT, sizeof *r->bytes);
    r->is_finished = calloc(FE_RECORDER_KEPT, sizeof *r->is_finished);
    with_data.data = data ? fe_data_name_beside(path, data) : NULL;
    int code = r->trace.name && (!data || r->data.name) && r->ring && r->bytes && r->is_finished
                   ? open_files(r, path, data, &text, err)
                   : fe_err_nomem(err, "recorder", FE_RECORDER_KEPT * sizeof *r->ring);
    if (code == 0) /* otherwise a server that forks into the background writes it twice */
        code = fe_trace_flush(r->writer, err);
    if (code < 0) {
        fe_recorder_close(r, NULL);
        return code;
    }
    r->good = ftello(r->trace.file);
    *ret = r;
    return 0;
}

/* ---- requests ---- */

/* Remembers why the trace ends, with the lock held.  After a failure of the host less is in the file
 * than an overflow has said, so the failure is what is told from then on. */
static void end(struct fe_recorder *r, struct fe_err *why, int errnum, const char *text)
{
    r->errnum = -fe_err_set(why, errnum, "%s", text);
    atomic_store(&r->ended, why->text);
}

static bool is_full(const struct fe_recorder *r, uint64_t next)
{
    return next - atomic_load_explicit(&r->first, memory_order_acquire) == FE_RECORDER_KEPT;
}

/* Unless the writer has made room meanwhile. */
static void end_by_overflow(struct fe_recorder *r, uint64_t n)
{
    struct fe_err why = {""};
    fe_err_set(&why, ENOBUFS, "%s: the trace ends after %llu requests, because %d of them wait to "
               "be written; the later ones are missing", r->trace.name, (unsigned long long)n,
               FE_RECORDER_KEPT);
    pthread_mutex_lock(&r->lock);
    if (is_full(r, n) && !fe_recorder_ended(r))
        end(r, &r->overflow, ENOBUFS, why.text);
    pthread_mutex_unlock(&r->lock);
}

/* The data of a request cannot be kept until they are written. */
static void end_by_data(struct fe_recorder *r, uint64_t n, int errnum)
{
    struct fe_err why = {""};
    fe_err_set(&why, errnum, "%s: the trace ends after %llu requests, because %s; the later ones are "
               "missing", r->data.name, (unsigned long long)n,
               errnum == ENOMEM ? "there is no memory for what they write"
                                : "256 MiB of what they write wait to be written");
    pthread_mutex_lock(&r->lock);
    if (!fe_recorder_ended(r))
        end(r, &r->overflow, errnum, why.text);
    pthread_mutex_unlock(&r->lock);
}

/* Keeps a copy of what a write writes.  False if the trace ends because of it. */
static bool keep_bytes(struct fe_recorder *r, uint64_t ticket, const struct fe_request *req)
{
    r->bytes[place(ticket)] = NULL;
    if (!r->data_writer || req->type != FE_REQ_WRITE || !req->buf)
        return true;
    uint64_t waiting = atomic_fetch_add(&r->n_bytes, req->len);
    void *copy = waiting + req->len <= FE_RECORDER_BYTES || waiting == 0 ? malloc(req->len) : NULL;
    if (copy) {
        r->bytes[place(ticket)] = memcpy(copy, req->buf, req->len);
        return true;
    }
    atomic_fetch_sub(&r->n_bytes, req->len);
    end_by_data(r, ticket, waiting + req->len > FE_RECORDER_BYTES && waiting ? ENOBUFS : ENOMEM);
    return false;
}

/* The ring is larger than a cache, and the device's lock is held until what was stored there has
 * arrived.  So the place of the next record is asked for early. */
static void ask_for_place(const struct fe_recorder *r, uint64_t ticket)
{
    const struct fe_trace_rec *rec = &r->ring[place(ticket)];
    fe_fetch(rec);
    fe_fetch(&rec->fua);
}

uint64_t fe_recorder_add(struct fe_recorder *r, const struct fe_request *req,
                         const struct fe_reply *reply, const struct fe_work *work)
{
    uint64_t ticket = atomic_load_explicit(&r->next, memory_order_relaxed);
    if (!fe_recorder_ended(r) && is_full(r, ticket))
        end_by_overflow(r, ticket);
    if (fe_recorder_ended(r) || !keep_bytes(r, ticket, req)) {
        atomic_fetch_add_explicit(&r->refused, 1, memory_order_relaxed);
        return LOST;
    }
    r->ring[place(ticket)] = (struct fe_trace_rec){
        .time_ns = reply->arrival_ns,
        .done_ns = reply->complete_ns,
        .offset = req->offset,
        .len = req->len,
        .programmed = work->programmed,
        .collections = work->collections,
        .merges = work->merges,
        .type = (uint8_t)req->type,
        .status = (uint8_t)reply->status,
        .fua = req->fua,
    };
    atomic_store_explicit(&r->next, ticket + 1, memory_order_release);
    ask_for_place(r, ticket + 1);
    return ticket;
}

void fe_recorder_finish(struct fe_recorder *r, uint64_t ticket, enum fe_status status)
{
    if (ticket == LOST)
        return;
    assert(ticket >= atomic_load_explicit(&r->first, memory_order_relaxed));
    r->ring[place(ticket)].status = (uint8_t)status;
    bool was_finished = atomic_exchange(&r->is_finished[place(ticket)], true);
    assert(!was_finished);
    (void)was_finished;
    if (!atomic_load(&r->is_idle) || !atomic_exchange(&r->is_idle, false))
        return;
    pthread_mutex_lock(&r->lock); /* the writer waits, or has not looked at is_idle yet */
    pthread_mutex_unlock(&r->lock);
    pthread_cond_signal(&r->due);
}

int fe_recorder_add_mark(struct fe_recorder *r, uint64_t now_ns, const char *text,
                         uint64_t *ret_ticket, struct fe_err *err)
{
    uint64_t ticket = atomic_load_explicit(&r->next, memory_order_relaxed);
    char *copy = strdup(text);
    if (!copy)
        return fe_err_nomem(err, "mark", strlen(text) + 1);
    if (!fe_recorder_ended(r) && is_full(r, ticket))
        end_by_overflow(r, ticket);
    if (fe_recorder_ended(r)) {
        free(copy);
        return fe_err_set(err, EIO, "%s", fe_recorder_ended(r));
    }
    r->bytes[place(ticket)] = copy;
    r->ring[place(ticket)] =
        (struct fe_trace_rec){.time_ns = now_ns, .type = FE_TRACE_MARK, .mark = copy};
    atomic_store_explicit(&r->next, ticket + 1, memory_order_release);
    *ret_ticket = ticket;
    return 0;
}

void fe_recorder_wake(struct fe_recorder *r, int fd)
{
    r->wake_fd = fd;
}

/* The writer must know that somebody waits before it may find the mark. */
void fe_recorder_hurry(struct fe_recorder *r, uint64_t ticket)
{
    pthread_mutex_lock(&r->lock);
    r->awaited = fe_max_u64(r->awaited, ticket + 1);
    pthread_mutex_unlock(&r->lock);
    fe_recorder_finish(r, ticket, FE_OK);
    pthread_cond_signal(&r->due); /* the writer may be in its pause */
}

bool fe_recorder_is_known(struct fe_recorder *r, uint64_t ticket, int *ret, struct fe_err *err)
{
    pthread_mutex_lock(&r->lock);
    bool is_known = atomic_load(&r->first) > ticket;
    if (is_known)
        *ret = r->has_failed ? fe_err_set(err, EIO, "%s", fe_recorder_ended(r)) : 0;
    pthread_mutex_unlock(&r->lock);
    return is_known;
}

const char *fe_recorder_ended(const struct fe_recorder *r)
{
    return atomic_load_explicit(&r->ended, memory_order_acquire);
}

void fe_recorder_get_state(struct fe_recorder *r, struct fe_recorder_state *ret)
{
    pthread_mutex_lock(&r->lock);
    uint64_t refused = atomic_load(&r->refused), next = atomic_load(&r->next);
    uint64_t records = r->has_failed ? r->written : next;
    *ret = (struct fe_recorder_state){
        .records = records,
        .lost = next - records + refused,
        .ended = fe_recorder_ended(r),
    };
    pthread_mutex_unlock(&r->lock);
}

/* ---- the writer ---- */

/* Adds the data of n records to their file, and their places there to the records. */
static int put_data(struct fe_recorder *r, uint64_t first, uint32_t n, struct fe_err *err)
{
    int code = 0;
    for (uint64_t ticket = first; r->data_writer && ticket < first + n && code == 0; ticket++) {
        struct fe_trace_rec *rec = &r->ring[place(ticket)];
        if (rec->type == FE_REQ_WRITE)
            code = fe_data_put(r->data_writer, rec->offset, rec->len, r->bytes[place(ticket)],
                               &rec->data, err);
    }
    return code == 0 && r->data_writer ? fe_data_flush(r->data_writer, err) : code;
}

static void drop_bytes(struct fe_recorder *r, uint64_t ticket)
{
    if (r->ring[place(ticket)].type == FE_REQ_WRITE && r->bytes[place(ticket)])
        atomic_fetch_sub(&r->n_bytes, r->ring[place(ticket)].len);
    free(r->bytes[place(ticket)]);
    r->bytes[place(ticket)] = NULL;
}

/* Writes the n oldest records, and gives their places back.  The first failure ends the trace; the
 * records that are not in the file yet do not get there. */
static void put(struct fe_recorder *r, uint32_t n)
{
    struct fe_err why = {""};
    int code = 0;
    uint64_t first = atomic_load(&r->first);
    if (!r->has_failed) { /* only this thread changes it, and `first` */
        code = put_data(r, first, n, &why);
        if (code == 0)
            code = fe_trace_write(r->writer, &r->ring[place(first)], n, &why);
        if (code == 0)
            code = fe_trace_flush(r->writer, &why);
        if (code == 0)
            r->good = ftello(r->trace.file);
        else if (r->good >= 0)
            (void)!ftruncate(fileno(r->trace.file), r->good);
    }
    for (uint64_t ticket = first; ticket < first + n; ticket++) {
        drop_bytes(r, ticket);
        atomic_store_explicit(&r->is_finished[place(ticket)], false, memory_order_relaxed);
    }
    pthread_mutex_lock(&r->lock);
    atomic_store_explicit(&r->first, first + n, memory_order_release);
    if (code < 0) {
        end(r, &r->failure, -code, why.text);
        r->has_failed = true;
    } else if (!r->has_failed) {
        r->written += n;
    }
    bool wake = first < r->awaited && r->wake_fd >= 0;
    pthread_mutex_unlock(&r->lock);
    if (wake) /* the counter can only be full, and then it is readable */
        (void)!write(r->wake_fd, &(uint64_t){1}, sizeof(uint64_t));
}

/* With the lock held. */
static bool is_awaited(const struct fe_recorder *r)
{
    return atomic_load(&r->first) < r->awaited;
}

/* Moves `ready` behind the finished records.  Returns how many can be written. */
static uint64_t count_ready(struct fe_recorder *r)
{
    uint64_t next = atomic_load_explicit(&r->next, memory_order_acquire);
    while (r->ready < next && atomic_load(&r->is_finished[place(r->ready)]))
        r->ready++;
    return r->ready - atomic_load_explicit(&r->first, memory_order_relaxed);
}

/* Waits until the oldest record is finished, or a younger one, or the recorder is closing. */
static void await_record(struct fe_recorder *r)
{
    pthread_mutex_lock(&r->lock);
    atomic_store(&r->is_idle, true);
    while (!r->is_closing && atomic_load(&r->is_idle) &&
           !atomic_load(&r->is_finished[place(r->ready)]))
        pthread_cond_wait(&r->due, &r->lock);
    atomic_store(&r->is_idle, false);
    pthread_mutex_unlock(&r->lock);
}

/* Lets PAUSE_NS pass, so that several records are written together, unless somebody waits for a mark.
 * Returns whether the recorder is closing, which ends the pause. */
static bool pause_writing(struct fe_recorder *r)
{
    uint64_t at_ns = fe_clock_now_ns() + PAUSE_NS;
    struct timespec until = {
        .tv_sec = (time_t)(at_ns / FE_NS_PER_S),
        .tv_nsec = (long)(at_ns % FE_NS_PER_S),
    };
    pthread_mutex_lock(&r->lock);
    for (int code = 0; !r->is_closing && !is_awaited(r) && code == 0;)
        code = pthread_cond_timedwait(&r->due, &r->lock, &until);
    bool is_closing = r->is_closing;
    pthread_mutex_unlock(&r->lock);
    return is_closing;
}

static void *write_all(void *arg)
{
    struct fe_recorder *r = arg;
    bool is_closing;
    do {
        await_record(r);
        is_closing = pause_writing(r);
        for (uint64_t n; (n = count_ready(r)) > 0;) {
            uint64_t to_wrap = FE_RECORDER_KEPT - place(atomic_load(&r->first));
            put(r, (uint32_t)fe_min_u64(fe_min_u64(n, to_wrap), FE_RECORDER_BATCH));
        }
    } while (!is_closing);
    return NULL;
}

int fe_recorder_start(struct fe_recorder *r, struct fe_err *err)
{
    sigset_t all, before;
    sigfillset(&all); /* signals are for nbdkit's main thread */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int code = pthread_create(&r->thread, NULL, write_all, r);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (code)
        return fe_err_set(err, code, "%s: thread: %s", r->trace.name, strerror(code));
    r->is_running = true;
    return 0;
}

/* A trace that has ended early, or was never begun, has no end. */
static int close_trace(struct fe_recorder *r, struct fe_err *err)
{
    int code = r->writer && !fe_recorder_ended(r) ? fe_trace_write_end(r->writer, err) : 0;
    int closed = fe_trace_writer_close(r->writer, err);

    return code < 0 ? code : closed;
}

int fe_recorder_close(struct fe_recorder *r, struct fe_err *err)
{
    if (!r)
        return 0;
    pthread_mutex_lock(&r->lock);
    r->is_closing = true;
    pthread_mutex_unlock(&r->lock);
    pthread_cond_signal(&r->due);
    if (r->is_running)
        pthread_join(r->thread, NULL);
    else if (r->writer)
        write_all(r);
    struct fe_err why = {""};
    int closed = close_trace(r, &why);
    int data_closed = fe_data_writer_close(r->data_writer, closed == 0 ? &why : NULL);
    closed = closed == 0 ? data_closed : closed;
    if (r->trace.file && fclose(r->trace.file) != 0 && closed == 0)
        closed = file_error(&r->trace, &why, errno);
    if (r->data.file && fclose(r->data.file) != 0 && closed == 0)
        closed = file_error(&r->data, &why, errno);
    if (closed < 0 && !r->has_failed)
        end(r, &r->failure, -closed, why.text);
    int code = r->errnum ? fe_err_set(err, r->errnum, "%s", fe_recorder_ended(r)) : 0;
    pthread_cond_destroy(&r->due);
    pthread_mutex_destroy(&r->lock);
    free(r->is_finished);
    free(r->bytes);
    free(r->ring);
    free(r->trace.name);
    free(r->data.name);
    free(r);
    return code;
}
