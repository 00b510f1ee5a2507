/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The screens of top.
 */
#pragma once

#include "base/quantity.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

enum { TOP_HISTORY = 400, TOP_EVENTS = 8, TOP_EVENT_MAX = 80, TOP_CELLS_MAX = 4096, TOP_LIFE_MAX = 64,
       TOP_SPARKS = 3 };

/* What a screen shows.  The caller owns everything. */
struct top_view {
    json_t *was, *is;               /* two replies to `stats`, with `health` in them */
    json_t *map_was, *map;          /* two replies to `map`; NULL = there is none */
    double latency[TOP_SPARKS][TOP_HISTORY]; /* of reads, writes and flushes: the mean of each
                                                interval in ns, 0 = none; the newest is the last */
    char event[TOP_EVENTS][TOP_EVENT_MAX]; /* the last ones; the newest is the last; "" = none */
    const char *note;               /* what came of the last key; "" = nothing */
    bool colour, utf8, paused, has_keys;
    int columns, rows;
};

/* --- plain.c --- */

/* The number at a path; 0 if there is none.  By how much it has grown in each second of device
 * time; 0 if no time has passed.  A member as text; "?" if there is none. */
double top_number(const json_t *o, const char *path);
double top_rate(const json_t *was, const json_t *is, const char *path);
const char *top_text(const json_t *o, const char *key);

/* The rate of a number, in so many units a second: three digits behind the point if it is below 1,
 * and "<0.001" rather than 0 for what is not 0. */
const char *top_per_second(const json_t *was, const json_t *is, const char *path, double unit,
                           char buf[static FE_ROUNDED_MAX]);

/* A latency as text; "" if there is none.  The write amplification of an interval or of all time;
 * "-" if nothing was written. */
const char *top_latency(const json_t *o, const char *op, const char *which,
                        char buf[static FE_ROUNDED_MAX]);
const char *top_waf(double programmed, double written, char buf[static FE_ROUNDED_MAX]);

/* How much of its life the device reports as used, and what it says of its reserve if that is not
 * as it should be; "" if it reports nothing. */
const char *top_life(const json_t *o, char buf[static TOP_LIFE_MAX]);

/* Prints rows that are at most `width` wide. */
void top_plain(int width, const json_t *was, const json_t *is);

/* --- screen.c --- */

/* How many cells of the device's map fit on a screen of this size. */
uint32_t top_cells(int columns, int rows);

/* Prints a whole screen, from 40x12 on, over the one before.  No row is wider than the screen, and
 * the last row has no newline, so nothing scrolls. */
void top_screen(const struct top_view *v);

/* A line of the stream of events as a short text. */
void top_event(const json_t *event, char buf[static TOP_EVENT_MAX]);
