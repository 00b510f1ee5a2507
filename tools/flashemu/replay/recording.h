/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Recordings: what a kernel's filesystem asked of a device for some work, from the partition table
 * on.  A recording is a trace in the text format, compressed by gzip, whose first comments say
 * what is in it:
 *
 *     # flashemu trace 1
 *     # limit: 122880                        bytes of the host's longest request
 *     # offers: flush fua                    to the host; without it, no flush is recorded
 *     # think: of the host, emulated         the requests have think=; without it, none has
 *     # capacity: 8019509248                 of the device, in bytes
 *     # partition: 256 15000000              first sector, and how many
 *     # phase: format 312 0                  its name, the number of records from the beginning of
 *     # phase: write 1204 104857600          the trace to its end, and the bytes of the user's files
 *
 * An operand rec:NAME[,start=SECTOR|SIZE][,measure=PHASE][,pace=R] replays one.  `start` moves the
 * partition; a plain number is a sector, and one with a unit is bytes.  What is in front of the
 * partition stays where it is, and what is behind it keeps its distance to the device's end:
 * these are the partition table, and where the kernel looks for other tables.  Writes from before
 * the table, which wipe the device, stay in the same way.  What mkfs.exfat aligns on the device
 * stays as aligned.  With `measure`, the phases before this one are warm-up and those behind it are
 * left out.  The host thinks R times as long as the recorded one did; it takes no time by default.
 *
 * A kernel cuts its requests to the longest command of the device.  So a recording NAME may have
 * several files, FOLDER/NAME.trace.gz and FOLDER/LIMIT/NAME.trace.gz with a LIMIT of 64K, 120K or
 * 512K, and a device gets the one whose limit is nearest to its own by ratio.
 *
 * The device of a replay may have another capacity; the partition must fit.
 */
#pragma once

#include "workload/trace.h"

#include <stdbool.h>
#include <stdint.h>

enum { RECORDING_MAX_PHASES = 16 };

struct recording_phase {
    char name[32];
    uint64_t end;   /* records from the beginning of the trace to the end of the phase */
    uint64_t bytes; /* of the user's files, written or read in it */
};

struct recording {
    char path[512];
    bool flushes;            /* those of the host are in it, and FUA, because it could send them */
    bool thinks;             /* the host's think times are in it */
    uint64_t capacity;       /* bytes, of the device on which it was recorded */
    uint64_t start, sectors; /* the partition, in sectors */
    struct recording_phase phases[RECORDING_MAX_PHASES];
    uint32_t n_phases;
    uint64_t table; /* records up to the last one that writes the table; 0: there is none */

    uint64_t pace;        /* how long the host of the replay thinks, in 10^-9 of the recorded one */
    uint64_t new_start;   /* sector */
    uint64_t first, last; /* the records that count, half-open */
    uint64_t bytes;       /* of the user's files in these records */
    int64_t shift, tail_shift; /* bytes, of the partition and of what is behind it */

    uint64_t align;        /* bytes, of exFAT's FAT and clusters on the device; 0: no exFAT */
    uint64_t fat, fat_end; /* sectors of the partition that have them, half-open; empty if 0 */
    int64_t fat_shift;     /* bytes, of these sectors */
};

/* Whether an operand means a recording. */
bool recording_is(const char *arg);

/* Finds the recording of an operand and reads its first comments.  A name without '/' is looked
 * up in the folders of $FLASHEMU_RECORDINGS (colon separated), the user's folder
 * (~/.local/share/flashemu/recordings), the source tree, and where recordings are installed.
 * capacity and max_transfer, its longest command, are those of the device; 0 = those of the
 * recording.  Negative errno with message. */
int recording_find(struct recording *ret, const char *arg, uint64_t capacity,
                   uint64_t max_transfer, struct fe_err *err);

/* Moves a record to where it is on the device, and sets how long the host thinks before it.  number
 * counts the records of the trace from 0. */
void recording_move(const struct recording *r, uint64_t number, struct fe_trace_rec *rec);
