/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The lies of a device: what it tells its host that is not so.
 *
 *     faults.lie = NAME[:ARGUMENT][/FROM-TO][@BEGIN], ...
 *
 *     flush-ignored@1000                   from the host's 1001st write on
 *     lost-write:10%/1G-2G@30s             in this range, from this time of the device on
 *
 * The table has one row for each thing that a host can see.  Rows follow the names that studies of
 * storage use (Bairavasundaram and others, "An Analysis of Data Corruption in the Storage Stack",
 * FAST '08): a write or read is misdirected, lost or stale.  What other keys do already is not
 * here: writes that are refused (faults.end_of_life), a device that is never ready (faults.power_cut:dead,
 * faults.disconnect:request), addresses that come round (device.beyond), data that are lost without
 * a flush (cache.volatile), copies that come back after a cut (faults.cut:stale).
 */
#pragma once

#include "flashemu/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* LIE(ID, name, argument, its default, lowest, highest, whether it takes a range, sentence). */
#define FE_LIES(LIE)                                                                              \
    LIE(FLUSH_IGNORED, "flush-ignored", NONE, 0, 0, 0, false,                                     \
        "a flush, and a write with FUA, is answered and writes nothing out of the cache")         \
    LIE(FLUSH_LATE, "flush-late", TIME, 700000000, 1, 3600000000000, false,                       \
        "a flush is answered at once and carried out so much later")                              \
    LIE(LOST_WRITE, "lost-write", SHARE, 1000000, 1, 1000000, true,                               \
        "this share of the writes and TRIMs is answered and changes nothing: old data stay")      \
    LIE(MISDIRECTED_WRITE, "misdirected-write", SIZE, 1024, 512, 1ull << 40, true,                \
        "data that are written land so many bytes further on")                                    \
    LIE(MISDIRECTED_READ, "misdirected-read", SIZE, 1024, 512, 1ull << 40, true,                  \
        "a read gives the data that lie so many bytes further on")                                \
    LIE(STALE_READ, "stale-read", SIZE, 1 << 20, 512, 1 << 30, true,                              \
        "of the so many bytes that were written last, a read gives the copy before, until power " \
        "is cut")                                                                                 \
    LIE(UNSTABLE_READ, "unstable-read", SHARE, 1000000, 1, 1000000, true,                         \
        "this share of the sectors gives other bytes at each read, without an error")             \
    LIE(STUCK_READ, "stuck-read", COUNT, 0, 0, 255, true,                                         \
        "a read gives this one byte again and again")                                             \
    LIE(CAPACITY, "capacity", SIZE, 0, 512, 1ull << 44, false,                                    \
        "the device reports this capacity, and requests beyond it fail")                          \
    LIE(WIDE_TRIM, "wide-trim", SIZE, 4 << 20, 512, 1 << 30, true,                                \
        "TRIM destroys all of each such piece of which the host names a part")                    \
    LIE(MIXED_QUEUE, "mixed-queue", NONE, 0, 0, 0, true,                                          \
        "a read that arrives while another one is in the device gives that one's data")

#define FE_LIE_ID(id, name, arg, def, min, max, ranged, sentence) FE_LIE_##id,
enum fe_lie_kind { FE_LIES(FE_LIE_ID) FE_N_LIES };
#undef FE_LIE_ID

#define FE_MAX_LIES 8

/* One lie of a device. */
struct fe_lie {
    uint32_t kind;         /* enum fe_lie_kind */
    uint64_t arg;          /* share in ppm, bytes, ns or a byte, as the row of the table says */
    uint64_t from, to;     /* bytes of the host's addresses; to UINT64_MAX: the end of the device */
    uint64_t begin_ns;     /* it begins at this time of the device */
    uint64_t begin_writes; /* and when the host has written so often, since the device was made */
};

struct fe_lies_params {
    uint32_t n;
    struct fe_lie lies[FE_MAX_LIES];
};

/* The name and the sentence of a row of the table. */
const char *fe_lie_name(uint32_t kind);
const char *fe_lie_sentence(uint32_t kind);

/* The default of the argument as text; "" if there is no argument, and "VALUE" if it must be
 * given. */
void fe_lie_argument(uint32_t kind, char *buf, size_t len);

/* Whether the argument is a number of bytes. */
bool fe_lie_is_size(uint32_t kind);

/* The text of faults.lie; "none" is the empty list.  -EINVAL with a reason, in words that follow
 * the text ("has an unknown lie ..."), and then *ret is unchanged. */
int fe_lies_parse(const char *text, struct fe_lies_params *ret, struct fe_err *why);

/* The canonical text, which fe_lies_parse reads back.  FE_VALUE_MAX is enough: a list whose text is
 * longer is refused. */
void fe_lies_print(const struct fe_lies_params *p, char *buf, size_t len);

/* What is allowed, in words. */
void fe_lies_allowed(char *buf, size_t len);
