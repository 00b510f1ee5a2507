/* SPDX-License-Identifier: BSD-3-Clause
 *
 *            first        ready          next
 *              |            |              |
 *     ---------+============+==--=---------+--------->  tickets
 *     written    finished,    not all
 *                to be written finished
 *
 * A ring of records between the requests and the file.  The requests move `ready` and `next`, and
 * the writer thread moves `first`.  The recorder's lock is held only while a record is copied into
 * the ring, never while the file is written: the records from `first` to `ready` are constant, and
 * the writer reads them where they are.
 *
 * A wake-up costs the request that causes it more than the record does.  So a request wakes the
 * writer only when the ring was empty or when a batch is full.  In between the writer sleeps for at
 * most PAUSE_NS, and then writes what there is.
 *
 * The writer hands each batch to the host as a whole.  If the host fails, the file is cut back to
 * the end of the last good batch, so that no half line remains.
 */
#include "recorder.h"

#include "base/num.h"
#include "rt/clock.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define PAUSE_NS (100 * FE_NS_PER_MS) /* as long as a record may wait for a full batch */
#define LOST UINT64_MAX
#define FIRST_LINE "# flashemu trace "

struct fe_recorder {
    char *name; /* "trace=PATH", for messages */
    pthread_t thread;
    bool is_running;

    pthread_mutex_t lock; /* protects what follows; no other lock is taken while it is held */
    pthread_cond_t due;   /* `ready` has come to `awaited`, or the recorder is closing; its clock is
                             monotonic, as fe_clock_now_ns */
    struct fe_trace_rec *ring;
    bool *is_finished;    /* of each place in the ring */
    uint64_t first, ready, next;
    uint64_t awaited;     /* the `ready` at which the writer is woken; UINT64_MAX: at none */
    uint64_t written;     /* records in the file */
    uint64_t refused;     /* requests that came after the end */
    bool has_failed;      /* the host has refused a batch: nothing more is written */
    bool is_closing;
    int errnum;           /* why the trace has ended; 0: it goes on */
    struct fe_err why;    /* constant once errnum is set */

    /* Only for the writer: the thread, and open and close. */
    struct fe_trace_writer *writer;
    FILE *file;
    off_t good;           /* the length of the file up to the end of the last good batch */
};

static uint32_t place(uint64_t ticket)
{
    return (uint32_t)(ticket % FE_RECORDER_KEPT);
}

/* ---- the file ---- */

static int file_error(const struct fe_recorder *r, struct fe_err *err, int errnum)
{
    return fe_err_set(err, errnum, "%s: %s", r->name, strerror(errnum));
}

/* Whether the file is empty or a trace.  -EEXIST with message if it is something else. */
static int check_contents(const struct fe_recorder *r, int fd, struct fe_err *err)
{
    char line[sizeof FIRST_LINE - 1];
    ssize_t n = pread(fd, line, sizeof line, 0);
    if (n < 0)
        return file_error(r, err, errno);
    if (n > 0 && (n != sizeof line || memcmp(line, FIRST_LINE, sizeof line) != 0))
        return fe_err_set(err, EEXIST, "%s: the file is not a flashemu trace and is not "
                          "overwritten; allowed: a new file, an empty file or a trace", r->name);
    return 0;
}

/* Opens what is there, and empties it.  A pipe or a terminal has no contents to lose.  A disk has,
 * and so it is refused like a folder. */
static int open_file(struct fe_recorder *r, const char *path, struct fe_err *err)
{
    struct stat st;
    bool is_special = stat(path, &st) == 0 && !S_ISREG(st.st_mode);
    if (is_special && S_ISDIR(st.st_mode))
        return file_error(r, err, EISDIR);
    if (is_special && S_ISBLK(st.st_mode))
        return fe_err_set(err, EEXIST, "%s: is a disk; allowed: a file, a pipe or a terminal",
                          r->name);
    int fd = open(path, (is_special ? O_WRONLY : O_RDWR | O_CREAT) | O_CLOEXEC | O_NOCTTY, 0666);
    if (fd < 0)
        return file_error(r, err, errno);
    int code = is_special ? 0 : check_contents(r, fd, err);
    if (code == 0 && !is_special && ftruncate(fd, 0) < 0)
        code = file_error(r, err, errno);
    if (code == 0) {
        r->file = fdopen(fd, "w");
        if (r->file) {
            setvbuf(r->file, NULL, _IONBF, 0); /* the trace writer has a buffer of its own */
            return 0;
        }
        code = file_error(r, err, errno);
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

int fe_recorder_open(struct fe_recorder **ret, const char *path, const struct fe_origin *origin,
                     struct fe_err *err)
{
    const struct fe_trace_writer_options text = {.origin = origin};
    struct fe_recorder *r = calloc(1, sizeof *r);
    if (!r)
        return fe_err_nomem(err, "recorder", sizeof *r);
    init_locks(r);
    if (asprintf(&r->name, "trace=%s", path) < 0)
        r->name = NULL;
    r->ring = calloc(FE_RECORDER_KEPT, sizeof *r->ring);
    r->is_finished = calloc(FE_RECORDER_KEPT, sizeof *r->is_finished);
    int code = r->name && r->ring && r->is_finished
                   ? open_file(r, path, err)
                   : fe_err_nomem(err, "recorder", FE_RECORDER_KEPT * sizeof *r->ring);
    if (code == 0)
        code = fe_trace_writer_open(&r->writer, r->file, r->name, &text, err);
    if (code == 0) /* otherwise a server that forks into the background writes it twice */
        code = fe_trace_flush(r->writer, err);
    if (code < 0) {
        fe_recorder_close(r, NULL);
        return code;
    }
    r->good = ftello(r->file);
    *ret = r;
    return 0;
}

/* ---- requests ---- */

/* Remembers why the trace ends; with the lock held. */
static void end(struct fe_recorder *r, int errnum, const char *why)
{
    if (r->errnum == 0)
        r->errnum = -fe_err_set(&r->why, errnum, "%s", why);
}

static void end_by_overflow(struct fe_recorder *r)
{
    struct fe_err why = {""};
    fe_err_set(&why, ENOBUFS, "%s: the trace ends after %llu requests, because %d of them wait to "
               "be written; the later ones are missing", r->name, (unsigned long long)r->next,
               FE_RECORDER_KEPT);
    end(r, ENOBUFS, why.text);
}

uint64_t fe_recorder_add(struct fe_recorder *r, const struct fe_request *req,
                         const struct fe_reply *reply, const struct fe_work *work)
{
    uint64_t ticket = LOST;
    pthread_mutex_lock(&r->lock);
    if (r->errnum == 0 && r->next - r->first == FE_RECORDER_KEPT)
        end_by_overflow(r);
    if (r->errnum == 0) {
        ticket = r->next++;
        r->is_finished[place(ticket)] = false;
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
    } else {
        r->refused++;
    }
    pthread_mutex_unlock(&r->lock);
    return ticket;
}

void fe_recorder_finish(struct fe_recorder *r, uint64_t ticket, enum fe_status status)
{
    if (ticket == LOST)
        return;
    pthread_mutex_lock(&r->lock);
    assert(ticket >= r->ready && ticket < r->next);
    r->ring[place(ticket)].status = (uint8_t)status;
    r->is_finished[place(ticket)] = true;
    while (r->ready < r->next && r->is_finished[place(r->ready)])
        r->ready++;
    bool is_due = r->ready >= r->awaited;
    if (is_due)
        r->awaited = UINT64_MAX; /* one wake-up is enough */
    pthread_mutex_unlock(&r->lock);
    if (is_due)
        pthread_cond_signal(&r->due);
}

void fe_recorder_get_state(struct fe_recorder *r, struct fe_recorder_state *ret)
{
    pthread_mutex_lock(&r->lock);
    uint64_t records = r->has_failed ? r->written : r->next;
    *ret = (struct fe_recorder_state){
        .records = records,
        .lost = r->next - records + r->refused,
        .ended = r->errnum ? r->why.text : NULL,
    };
    pthread_mutex_unlock(&r->lock);
}

/* ---- the writer ---- */

/* Writes the n oldest records, and gives their places back.  The first failure ends the trace; the
 * records that are not in the file yet do not get there. */
static void put(struct fe_recorder *r, uint32_t n)
{
    struct fe_err why = {""};
    int code = 0;
    if (!r->has_failed) { /* only this thread changes it, and `first` */
        code = fe_trace_write(r->writer, &r->ring[place(r->first)], n, &why);
        if (code == 0)
            code = fe_trace_flush(r->writer, &why);
        if (code == 0)
            r->good = ftello(r->file);
        else if (r->good >= 0)
            (void)!ftruncate(fileno(r->file), r->good);
    }
    pthread_mutex_lock(&r->lock);
    r->first += n;
    if (code < 0) {
        end(r, -code, why.text);
        r->has_failed = true;
    } else if (!r->has_failed) {
        r->written += n;
    }
    pthread_mutex_unlock(&r->lock);
}

static struct timespec after_pause(void)
{
    uint64_t at_ns = fe_clock_now_ns() + PAUSE_NS;
    return (struct timespec){
        .tv_sec = (time_t)(at_ns / FE_NS_PER_S),
        .tv_nsec = (long)(at_ns % FE_NS_PER_S),
    };
}

/* Waits until a batch is ready, or until the oldest finished record has waited for PAUSE_NS.
 * Returns how many records to write; 0: the recorder is closing, and there are no more. */
static uint32_t await_records(struct fe_recorder *r)
{
    pthread_mutex_lock(&r->lock);
    while (!r->is_closing && r->ready == r->first) {
        r->awaited = r->first + 1;
        pthread_cond_wait(&r->due, &r->lock);
    }
    struct timespec until = after_pause();
    int code = 0;
    while (!r->is_closing && r->ready - r->first < FE_RECORDER_BATCH && code == 0) {
        r->awaited = r->first + FE_RECORDER_BATCH;
        code = pthread_cond_timedwait(&r->due, &r->lock, &until);
    }
    r->awaited = UINT64_MAX;
    uint64_t n = r->ready - r->first;
    pthread_mutex_unlock(&r->lock);
    uint32_t to_wrap = FE_RECORDER_KEPT - place(r->first);
    uint32_t most = to_wrap < FE_RECORDER_BATCH ? to_wrap : FE_RECORDER_BATCH;
    return n < most ? (uint32_t)n : most;
}

static void *write_all(void *arg)
{
    struct fe_recorder *r = arg;
    for (uint32_t n; (n = await_records(r)) > 0;)
        put(r, n);
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
        return fe_err_set(err, code, "%s: thread: %s", r->name, strerror(code));
    r->is_running = true;
    return 0;
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
    int closed = fe_trace_writer_close(r->writer, &why);
    if (r->file && fclose(r->file) != 0 && closed == 0)
        closed = file_error(r, &why, errno);
    if (closed < 0)
        end(r, -closed, why.text);
    int code = r->errnum ? fe_err_set(err, r->errnum, "%s", r->why.text) : 0;
    pthread_cond_destroy(&r->due);
    pthread_mutex_destroy(&r->lock);
    free(r->is_finished);
    free(r->ring);
    free(r->name);
    free(r);
    return code;
}
