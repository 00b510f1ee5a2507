/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Every power cut of a recorded work, and what a host would read afterwards.
 *
 *     work      the trace with its data              work.c
 *     view      what the host has written so far     view.c
 *     walk      the device does the work; at each    walk.c
 *               instant a child cuts its power
 *     subsets   what a host must expect of any       subsets.c
 *               device
 *     states    what was found, once                 states.c
 *
 * A cut has an id, HASH:REQUEST:OP:OUTCOME[:OP:OUTCOME].  HASH names the recording, the device and the
 * way of the replay, so an id that is given to another one is refused.  REQUEST counts from 1; 0 is
 * the new device.  Power fails after this request has arrived, and before the next one does: OP and
 * OUTCOME are as device/cuts.h has them.  OP `end` is the instant at which the next request would
 * arrive, or at which the last one is answered, and `idle` is long after that; both have no
 * outcome.  The second pair is a cut while the device recovers.
 *
 * A second sort of states asks no device (subsets.c).  Its ids are HASH:REQUEST:any:N, with which
 * this request has just arrived, and HASH:REQUEST:last:N, after all of them.
 */
#pragma once

#include "base/digest.h"
#include "device/cuts.h"
#include "workload/data.h"
#include "workload/trace.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct cuts_work {
    struct fe_trace_rec *recs; /* requests and marks */
    size_t n;
    uint32_t n_requests, n_marks;
    uint64_t longest;          /* write, in bytes */
    struct fe_data_reader *data;
    struct fe_digest digest;   /* of all requests with their data, and the marks */
    struct fe_trace_reader *reader; /* keeps the texts of the marks */
    FILE *file;
};

/* Reads a trace and checks all of its data.  data NULL: the file that the trace names.  -EINVAL with
 * message if a write has no data, if a request had failed when it was recorded, or if a request does
 * not fit the device; other errors of the readers. */
int cuts_work_load(struct cuts_work *w, const char *trace, const char *data,
                   const struct fe_device *dev, struct fe_err *err);
void cuts_work_fini(struct cuts_work *w);

/* What the host has written: a digest of each sector, zeros for one that reads as zeros.  `sum` is a
 * digest of all of it that can be changed sector by sector. */
struct cuts_view {
    uint64_t capacity, n_sectors;
    uint32_t sector_size;
    struct fe_digest *sectors, sum;
};

int cuts_view_init(struct cuts_view *v, const struct fe_device *dev, struct fe_err *err);
void cuts_view_fini(struct cuts_view *v);

/* The host has written or trimmed this range; buf NULL: it reads as zeros now. */
void cuts_view_put(struct cuts_view *v, uint64_t offset, uint64_t len, const void *buf);

/* The digest of a state in which this sector is another one than in the view. */
struct fe_digest cuts_view_differ(const struct cuts_view *v, struct fe_digest sum, uint64_t sector,
                                  struct fe_digest is);
extern const struct fe_digest cuts_unreadable; /* of a sector that cannot be read */

enum {
    CUTS_END = FE_CUTS_NO_OP,
    CUTS_IDLE = FE_CUTS_NO_OP - 1,
    CUTS_NO_SECOND = FE_CUTS_NO_OP - 2,
    CUTS_ANY = FE_CUTS_NO_OP - 3, /* the outcome is the number of a draw */
    CUTS_LAST = FE_CUTS_NO_OP - 4,
};

struct cuts_id {
    uint32_t request, op, outcome, op2, outcome2;
};

/* Whether it is of a state that no device was asked for. */
bool cuts_is_subset(const struct cuts_id *id);

enum { CUTS_ID_MAX = 96 };

/* Prints an id into buf, and returns buf.  And the other way round: false if it is none. */
const char *cuts_id_text(const char *hash, const struct cuts_id *id, char buf[CUTS_ID_MAX]);
bool cuts_id_parse(const char *hash, const char *text, struct cuts_id *ret);

/* Where the bytes of a state differ from the view: DATA has the bytes behind it. */
struct cuts_range {
    uint64_t offset, len;
    enum { CUTS_DATA, CUTS_ZEROS, CUTS_UNREADABLE } kind;
};

/* What a child tells about a cut.  A range of kind DATA is followed by its bytes. */
struct cuts_found {
    enum {
        CUTS_BEGUN,  /* the cut begins; if nothing follows, the device has crashed */
        CUTS_STATE,  /* n_ranges of ranges follow */
        CUTS_KNOWN,  /* a state that was known */
        CUTS_DEAD,   /* the device does not come back, which its profile allows */
        CUTS_FAILED, /* the device does not come back */
        CUTS_WINDOW, /* no cut: all of the request's window has been told */
    } kind;
    struct cuts_id id;
    uint32_t marks;      /* so many had been reached */
    uint32_t n_ranges;
    uint64_t at_ns;
    struct fe_digest hash;
};

struct cuts_subsets;
struct cuts_walk {
    const struct cuts_work *work;
    struct fe_device *dev;
    struct cuts_view view;
    bool timed;
    uint64_t seed;
    uint32_t second;       /* one cut of so many also gets cuts while the device recovers; 0: none */
    uint32_t behind;       /* looks only at instants behind so many marks */
    uint32_t job, jobs;    /* looks at windows of number job, job + jobs, ... */
    uint64_t wanted, total; /* of `total` instants so many are tried, evenly */
    uint64_t subsets, places_of_subsets; /* so many states of the second sort, spread evenly over
                                            as many instants at which something is not flushed */
    bool counts_only;      /* counts instants, and tries none */
    /* Whether a state was told before; from now on it was. */
    bool (*was_told)(void *ctx, struct fe_digest hash, uint32_t marks, bool is_subset);
    void *ctx;
    FILE *out;             /* gets struct cuts_found */

    /* Private. */
    uint64_t n_instants;   /* so far */
    uint64_t n_open;       /* instants so far at which something was not flushed */
    struct cuts_subsets *any;
    uint64_t *marks;       /* when each mark was reached */
    uint32_t n_marks;
    struct fe_cuts_place *places; /* as the device stands, if has_places */
    bool has_places;
    bool *may_hold;        /* of each page: the host has written to it, or whoever had it before */
    uint8_t *buf;          /* of the longest write */
    uint64_t last_done_ns, base_ns;
    const struct cuts_id *only; /* stops at this cut, which is carried out in this process */
    bool stopped;
    struct cuts_found found; /* of `only`: its instant and its marks */
};

/* Lets the device do the work, and tries every instant.  Negative errno with message. */
int cuts_walk_run(struct cuts_walk *w, struct fe_err *err);

/* Lets the device do the work up to that cut, and carries it out: the device is as a host finds it.
 * *ret tells which cut it was; -EINVAL with message if there is no such cut. */
int cuts_walk_to(struct cuts_walk *w, const struct cuts_id *id, struct cuts_found *ret,
                 struct fe_err *err);

/* The bytes of a sector of the state of the second sort at which cuts_walk_to has stopped. */
int cuts_walk_sector(const struct cuts_walk *w, uint64_t sector, uint8_t *buf, bool *ret_reads,
                     struct fe_err *err);
/* Frees what cuts_walk_to has left for it. */
void cuts_walk_fini(struct cuts_walk *w);

/* What came out. */
struct cuts_result {
    char hash[17];
    uint64_t capacity;     /* of the device, in bytes */
    uint64_t instants, tried, second; /* without and with those of recovery in `tried` */
    uint64_t states;       /* that differ in a byte */
    uint64_t cases;        /* that differ in a byte or in their marks */
    uint64_t unreadable;   /* of the cases, with a sector that cannot be read */
    uint64_t subsets, subset_cases; /* of the second sort: drawn, and other ones than the device's */
    uint64_t dead, failed;
    char first_failed[CUTS_ID_MAX];
};

enum { CUTS_MAX_JOBS = 64 };

struct cuts_options {
    uint32_t jobs;         /* processes, 1 to CUTS_MAX_JOBS */
    bool progress;
    FILE *states;          /* a line of JSON for each case; NULL: nobody wants them */
    struct fe_data_writer *data; /* then: the bytes of the ranges */
};

/* Makes the device; each process needs one of its own. */
struct cuts_maker {
    int (*make)(void *ctx, struct fe_device **ret, struct fe_err *err);
    void *ctx;
};

/* Tries w->wanted instants of the walk.  ret->hash is filled in.  Negative errno with message. */
int cuts_states_run(struct cuts_walk *w, const struct cuts_options *opt,
                    const struct cuts_maker *maker, struct cuts_result *ret, struct fe_err *err);
