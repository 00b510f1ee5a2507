/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the two halves of the server share:
 *
 *     server.c           start, requests, end
 *     server_control.c   what the control socket asks for
 *
 * There are two locks.  The lock of the device is held for the microseconds that the model needs,
 * including the copying of data.  It is never held while a thread waits.  The lock of the lateness
 * histogram is taken after the wait, by threads that need nothing from the device, and so it is a
 * separate lock.  Nobody ever holds both.
 */
#pragma once

#include "flusher.h"
#include "hostq.h"
#include "recorder.h"
#include "server.h"

#include "rt/late.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

struct fe_server {
    bool virtual_clock;      /* constant, as are the next six */
    bool image, sync;
    bool keeps_pages;        /* no image and no cache: the device may keep a page of data in memory
                                that it lends */
    uint64_t open_ns;        /* how long it took to open the image */
    uint32_t page_bytes;     /* copies: `set` writes to the device's profile */
    char profile[sizeof(((struct fe_profile *)NULL)->name)];
    struct fe_delay *delay;  /* has its own locking; NULL with clock=virtual */
    json_t *origin;          /* constant: what `stats` says about where it comes from */
    struct fe_recorder *recorder; /* NULL without trace=; has its own locking */
    char *trace;             /* the path of the trace */
    atomic_bool notice_taken, trace_notice_taken, late_notice_due;
    bool is_known_late;      /* guarded by lateness_lock: late_notice_due has been set once */

    atomic_uint n_waiting;   /* threads that have found the lock of the device taken */

    /* Protects the ten members below.  It is never held while a thread waits, nor during a system
     * call, except for those of the store: page faults, and reading and writing the image.  An
     * fdatasync is one of them only if the model cannot go on without it (store/image_page.c). */
    pthread_mutex_t lock;
    struct fe_hostq queue;   /* clock=real: requests that have no queue slot of the link yet */
    struct fe_device *dev;
    bool is_started;         /* device time passes */
    struct fe_timemap map;   /* clock=real: between CLOCK_MONOTONIC and device time */
    uint64_t virtual_now_ns; /* clock=virtual: completion of the last request */
    uint64_t overhead_ns;    /* transport-overhead */
    bool in_trim;            /* a long trim has paused (flashemu/pause.h): nobody may change dev */
    pthread_cond_t trim_over;
    struct fe_flusher flusher;
    struct fe_events events; /* wake_fd in it is constant */

    /* Protects the members below.  No other lock is taken while this one is held. */
    pthread_mutex_t lateness_lock;
    struct fe_hist lateness;
    struct fe_late late;     /* of the requests that take the device time */
};

/* Locking can only fail by a bug, because the mutexes are plain and live as long as s. */
static inline void lock(pthread_mutex_t *m)
{
    int r = pthread_mutex_lock(m);
    assert(r == 0);
    (void)r;
}

static inline void unlock(pthread_mutex_t *m)
{
    int r = pthread_mutex_unlock(m);
    assert(r == 0);
    (void)r;
}

/* Takes the lock of the device.  Who finds it taken says so: a long trim waits in its pauses until
 * everybody who waits for the lock has had it. */
static inline void lock_device(struct fe_server *s)
{
    if (pthread_mutex_trylock(&s->lock) == 0)
        return;
    atomic_fetch_add(&s->n_waiting, 1);
    lock(&s->lock);
    atomic_fetch_sub(&s->n_waiting, 1);
}

/* Returns when no trim is in the midst of its work; the lock is held. */
static inline void wait_for_trim(struct fe_server *s)
{
    while (s->in_trim)
        pthread_cond_wait(&s->trim_over, &s->lock);
}

/* Takes the lock to change the device. */
static inline void lock_to_change(struct fe_server *s)
{
    lock_device(s);
    wait_for_trim(s);
}

/* Unlocks after the device may have done something, and tells listeners about it. */
static inline void unlock_and_tell(struct fe_server *s, bool marked)
{
    bool news = fe_events_look(&s->events, s->dev, marked);
    unlock(&s->lock);
    if (news)
        fe_events_wake(&s->events);
}
