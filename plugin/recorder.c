/* SPDX-License-Identifier: BSD-3-Clause
 *
 *            first        ready          next
 *              |            |              |
 *     ---------+============+==--=---------+--------->  tickets
 *     written    finished,    not all
 *                to be written finished
 *
 * A ring of records between the requests and the file.  The requests move `ready` and `next`, and
 * the writer thread moves `first`.  The recorder's lock is held only while records are copied,
 * never while the file is written.
 *
 * The writer waits until a batch of records is ready, so that it does not wake up for every
 * request.  It hands each batch to the host as a whole.  If the host fails, the file is cut back to
 * the end of the last good batch, so that no half line remains.
 */
#include "recorder.h"

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
#include <unistd.h>

enum { BATCH = 64 }; /* records that are written in one step */

#define LOST UINT64_MAX
#define FIRST_LINE "# flashemu trace "

struct entry {
    struct fe_trace_rec rec;
    bool is_finished;
};

struct fe_recorder {
    char *name; /* "trace=PATH", for messages */
    pthread_t thread;
    bool is_running;

    pthread_mutex_t lock; /* protects what follows; no other lock is taken while it is held */
    pthread_cond_t due;   /* a batch is ready, or the recorder is closing */
    struct entry *ring;
    uint64_t first, ready, next;
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

static struct entry *at(struct fe_recorder *r, uint64_t ticket)
{
    return &r->ring[ticket % FE_RECORDER_KEPT];
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

int fe_recorder_open(struct fe_recorder **ret, const char *path, const struct fe_origin *origin,
                     struct fe_err *err)
{
    const struct fe_trace_writer_options text = {.origin = origin};
    struct fe_recorder *r = calloc(1, sizeof *r);
    if (!r)
        return fe_err_nomem(err, "recorder", sizeof *r);
    pthread_mutex_init(&r->lock, NULL);
    pthread_cond_init(&r->due, NULL);
    if (asprintf(&r->name, "trace=%s", path) < 0)
        r->name = NULL;
    r->ring = r->name ? calloc(FE_RECORDER_KEPT, sizeof *r->ring) : NULL;
    int code = r->ring ? open_file(r, path, err)
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
        *at(r, ticket) = (struct entry){.rec = {
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
        }};
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
    at(r, ticket)->rec.status = (uint8_t)status;
    at(r, ticket)->is_finished = true;
    while (r->ready < r->next && at(r, r->ready)->is_finished)
        r->ready++;
    bool is_due = r->ready - r->first >= BATCH;
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

/* Writes n records.  The first failure ends the trace; the records that are not in the file yet do
 * not get there. */
static void put(struct fe_recorder *r, const struct fe_trace_rec *recs, uint32_t n)
{
    struct fe_err why = {""};
    if (r->has_failed) /* only this thread changes it */
        return;
    int code = fe_trace_write(r->writer, recs, n, &why);
    if (code == 0)
        code = fe_trace_flush(r->writer, &why);
    if (code == 0)
        r->good = ftello(r->file);
    else if (r->good >= 0)
        (void)!ftruncate(fileno(r->file), r->good);

    pthread_mutex_lock(&r->lock);
    if (code == 0) {
        r->written += n;
    } else {
        end(r, -code, why.text);
        r->has_failed = true;
    }
    pthread_mutex_unlock(&r->lock);
}

/* Waits until a batch is ready.  Returns less than a batch only when the recorder is closing. */
static uint32_t take(struct fe_recorder *r, struct fe_trace_rec recs[static BATCH])
{
    uint32_t n = 0;
    pthread_mutex_lock(&r->lock);
    while (!r->is_closing && r->ready - r->first < BATCH)
        pthread_cond_wait(&r->due, &r->lock);
    while (n < BATCH && r->first < r->ready)
        recs[n++] = at(r, r->first++)->rec;
    pthread_mutex_unlock(&r->lock);
    return n;
}

static void *write_all(void *arg)
{
    struct fe_recorder *r = arg;
    struct fe_trace_rec recs[BATCH];
    for (uint32_t n; (n = take(r, recs)) > 0;)
        put(r, recs, n);
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
    free(r->ring);
    free(r->name);
    free(r);
    return code;
}
