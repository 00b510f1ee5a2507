/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The experiment of `flashemu align`: what the start of a partition does to the rate and to the
 * write amplification of usual writes.
 *
 *     device  |.......|#################################|.......
 *             0     start                        start + region
 *
 * Each start gets a new device of its own.  The part of the device up to the end of the last region
 * is first written once in order, because on a fresh stick nothing has to be moved.  Then each
 * pattern writes to the region, one pattern after the other, in two rounds.  In each round a
 * pattern first runs until enough requests or enough operations of the chip have passed, and then
 * for as many requests again.  Only the latter count.  The two rounds tell by how much equal things
 * differ.
 *
 * The amount of work is bounded by operations of the chip and not by time on the host.  So the
 * result depends only on profile, seed and starts.
 *
 * Not modelled: a filesystem.  Its tables lie at places of their own, and a file is seldom in one
 * piece.  For that there are the procedures of `flashemu verify` that use a kernel.
 */
#pragma once

#include "flashemu/err.h"
#include "flashemu/profile.h"

#include <stdbool.h>
#include <stdint.h>

enum { ALIGN_MAX_STARTS = 64 };

struct align_pattern {
    const char *order; /* "sequential" or "random" */
    uint32_t bs;       /* bytes of a request */
};

enum { ALIGN_N_PATTERNS = 5 };
extern const struct align_pattern align_patterns[ALIGN_N_PATTERNS];

enum { ALIGN_N_ROUNDS = 2 };

/* What one pattern did from one start, by round. */
struct align_cell {
    struct align_round {
        uint64_t bytes, ns;  /* written by the host, and the device time that it took */
        uint64_t programmed; /* bytes that the chip has programmed */
    } round[ALIGN_N_ROUNDS];
};

struct align_result {
    uint32_t n_starts;
    uint64_t start[ALIGN_MAX_STARTS]; /* bytes, ascending */
    struct align_cell cell[ALIGN_MAX_STARTS][ALIGN_N_PATTERNS];
    uint64_t region;                  /* bytes */
};

/* What follows from a result. */
struct align_advice {
    uint64_t multiple; /* the good starts are the tested multiples of this one, at least two, and
                          no others; 0: there is no such rule, or no start is bad */
    bool matters;      /* some start is not good */
    uint32_t best;                /* the start with the best geometric mean of the rates */
    uint32_t worst_start, worst_pattern; /* the lowest rate, as a share of the best one */
    uint32_t best_for_worst;      /* the start with the best rate of worst_pattern */
};

/* Chooses the usual starts that fit a device of `capacity` bytes, and the profile's unit. */
void align_usual_starts(const struct fe_profile *profile, uint64_t capacity,
                        struct align_result *ret);

/* Measures all starts of *a and fills in its cells.  `capacity` is that of the device that the
 * profile makes.  With device.used=0 a device is made quickly, and the part that is used is written
 * anyway.
 * -EINVAL if the last start leaves too little of the device; -EIO if the medium fails; -ENOMEM. */
int align_measure(const struct fe_profile *profile, uint64_t capacity, uint64_t seed,
                  struct align_result *a, struct fe_err *err);

double align_rate(const struct align_cell *c); /* bytes a second */
double align_waf(const struct align_cell *c);

/* Whether a start is as good as any other.  It is not if its rate in the better round is below that
 * of another start in the worse round: by 15 % for one pattern, or by 5 % in the geometric mean of
 * all patterns.  On a device without delays the write amplification takes the place of the rate. */
bool align_is_good(const struct align_result *a, uint32_t start);

/* n_starts must be at least 1. */
struct align_advice align_advise(const struct align_result *a);
