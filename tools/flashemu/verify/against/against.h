/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A measurement of some device, flashemu-measurement(5), next to what a profile's device does.
 *
 * Points that come from one run of a program are one test:
 *
 *     points of the file        open 1, 64K    open 1, 4K    open 2, 64K    open 2, 4K    request
 *     tests, all on one device  '----- flashbench -O ----'   '----- flashbench -O ----'   '-----'
 *
 * Tests run in the order of the file, because each of them leaves units open in the device.  Only
 * sequential reads have a device of their own, because they need one on which the region has been
 * written; and so have, all together, the loads of a host that uses neither queue nor cache.
 *
 * A search compares many sets of parameters with one measurement.  It may choose the points that it
 * asks for, and give up a set as soon as its errors exceed a bound.  The other tests are run as
 * well, because the measured device had them behind it, too; but none behind the last one that is
 * asked for, and no read that has a device of its own.
 */
#pragma once

#include "flashemu/device.h"
#include "flashemu/err.h"
#include "flashemu/profile.h"

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum against_state {
    AGAINST_OPEN,     /* not run yet */
    AGAINST_MEASURED,
    AGAINST_NOT_RUN,  /* nothing in virtual time measures it; `why` says what is missing */
    AGAINST_FAILED,   /* the profile's device refused it; `why` has the reason */
    AGAINST_LEFT,     /* as if it were not in the file */
};

enum against_kind { AGAINST_ALIGN, AGAINST_OPEN_AU, AGAINST_FIND_FAT, AGAINST_REQUEST,
                    AGAINST_SEQ_READ, AGAINST_SEQ_WRITE, AGAINST_FILL, AGAINST_LOAD };

/* The rate; how long a request is in flight, with or without the flush behind it; how long a flush
 * takes, alone or with the writes in front of it, which the page cache has kept until then. */
enum against_what { AGAINST_RATE, AGAINST_LATENCY, AGAINST_LATENCY_SYNCED, AGAINST_SYNC,
                    AGAINST_SYNC_AND_WRITES };

#define AGAINST_MAX_DEPTH 64 /* requests in flight */

/* A percentile of a latency. */
struct against_share {
    const char *text;  /* "99.9", owned by the document */
    uint32_t ppm;
    double published;  /* the median of its values, in ns */
    double measured;   /* 0: not compared */
};

struct against_point {
    const char *procedure, *unit; /* owned by the document, as are parameters */
    const json_t *parameters;
    double published;             /* the median of the values, in the unit */
    double measured;
    enum against_state state;
    enum against_kind kind;
    char test[160];               /* points with the same text are of one test */
    size_t first;                 /* the number of the first of these points */
    uint64_t bs, start, stride, size; /* request, seq: size is the bytes of the whole test */
    uint64_t idle_ns;             /* request, fill: pause in front of the first request */
    uint32_t depth;               /* request, load: how many are in flight */
    bool random;                  /* load: in random order */
    bool may_shrink;              /* load: nobody has said how large, so it may be the device */
    bool queue_off;               /* load: the host uses neither command queue nor write cache */
    bool flush;                   /* request: a flush behind each; load, seq: one at the end */
    uint64_t sync_every;          /* load, seq: a flush behind each so many writes; 0: none */
    uint64_t gap;                 /* load: bytes that are left out behind each request */
    uint64_t page;                /* load: requests are widened to multiples of it; 0: they are not */
    enum against_what what;       /* load: which of its figures the value is */
    uint64_t push, push_start;    /* request: bytes in order behind the last one, and where */
    bool median;                  /* request: the median of the times, not the mean */
    uint32_t op;                  /* request: enum fe_req_type */
    uint64_t of;                  /* erasesize, or for -a unused */
    uint64_t at;                  /* chunk; for -a the alignment; for fill the bytes before */
    uint32_t row;                 /* for -f the unit, for -a the place: 0 pre, 1 on, 2 post */
    uint32_t rows;                /* for -f how many units */
    bool unwanted;                /* not asked for: run for what it leaves behind, not compared */
    double weight;                /* of its error in against_sum */
    double part;                  /* of against_sum; below 0 as long as nobody has asked */
    char why[160];
    struct against_share *shares; /* its percentiles, in the order of the file */
    size_t n_shares;
    uint64_t n_times;             /* of the times whose percentiles these are; 0: nobody took any */
};

struct against {
    json_t *document;
    struct against_point *points;
    double *errors; /* room for an error of each point and each percentile, for the median */
    size_t n;
    size_t n_shares;  /* of all points */
    bool percentiles; /* whether these are compared, too */
    double knee;    /* of against_sum; 0 for none */
};

/* Reads the file.  -EINVAL with a message that names the member, -EIO etc.  The caller must call
 * against_fini, even after an error. */
int against_load(struct against *a, const char *path, struct fe_err *err);
void against_fini(struct against *a);

/* When to begin no further test. */
struct against_limits {
    double sum;  /* against_sum exceeds this */
    uint64_t ns; /* the device's clock exceeds this */
};

/* Runs the tests up to the last one with a wanted point, on devices with this profile, until a limit
 * is exceeded; *ret_exceeded says whether one was, also by the last test.  -ECANCELED (what was measured before
 * is kept), -ENOMEM, or an error of fe_device_create, with message.  A test that fails is noted in
 * its points. */
int against_run(struct against *a, const struct fe_profile *profile, uint64_t seed,
                const struct against_limits *limits, bool *ret_exceeded, struct fe_err *err);

/* The sum of weight * error over the wanted points that were measured, where the error is
 * |ln(measured / published)|, or with a knee K only K ln(1 + error / K); what was measured counts as
 * 1 ns or 1 byte/s at least. */
double against_sum(struct against *a);

/* Answers each line of `in`, an object in JSON, with a line on standard output, as flashemu-verify(1)
 * says: one set of changes to the profile `name`, its points and its bound.  Returns an exit code. */
int against_sets(struct against *a, const char *name, FILE *in, uint64_t seed);

/* (measured / published - 1) in percent; only for a measured point. */
double against_error(const struct against_point *p);

void against_print(const struct against *a, const struct fe_profile *profile);
json_t *against_json(const struct against *a, const struct fe_profile *profile);

/* The points and their percentiles as rows, in the form of verify_json: within 10 % is "ok". */
json_t *against_page_json(const struct against *a, const struct fe_profile *profile);

/* 0 if every test that there is has run, 1 if some have failed. */
int against_code(const struct against *a);
