/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Events of Linux' block layer, as blkparse, blktrace, ftrace and perf tell them.
 *
 * A request passes through many events: it is queued, merged, issued and completed.  Only one kind of
 * event makes records.  By default that is D, the moment at which the driver gets the request, because
 * that is what a device sees.  C tells when a request was done.  All events that make no record are
 * counted as skipped.
 *
 * The field RWBS consists of
 *
 *     [F]              a flush in front of the rest
 *     D W R F or N     discard, write, read, flush, nothing
 *     letters          F FUA, A readahead, B barrier, S sync, M metadata, E secure erase, U atomic
 *
 * So FWFS with sectors gives two records, a flush and a FUA write.  FN, FF or FWS without sectors
 * gives one flush.  Packet commands have no sectors and are skipped.
 *
 * Thread rule: that of the reader.
 */
#pragma once

#include "workload/formats/format.h"

enum { FE_SECTOR = 512 };

/* What a reader of such events keeps: the first member of its state. */
struct fe_trace_events {
    bool other, chosen; /* kinds of event that have been seen */
};

struct fe_trace_rwbs {
    bool flush, fua;
    char op; /* D, W, R or N */
};

struct fe_trace_event {
    struct fe_span device;    /* empty = not told */
    char kind;                /* Q, G, I, D, C, or 0 for all others */
    struct fe_trace_rwbs rwbs;
    uint64_t time_ns, offset, len; /* len 0 = no sectors */
    uint32_t pid;
};

bool fe_trace_is_device(struct fe_span s); /* MAJ,MIN */
bool fe_trace_parse_rwbs(struct fe_span s, struct fe_trace_rwbs *ret);

/* Parses "SECTOR + COUNT ...".  Returns 1, 0 if the event has no sectors, or -1 if this is neither. */
int fe_trace_parse_sectors(struct fe_span rest, uint64_t *ret_offset, uint64_t *ret_len);

/* Whether events of this kind are to be parsed at all: the chosen kind, and C.  Takes note of the
 * kind. */
bool fe_trace_event_matters(struct fe_trace_reader *r, char kind);

/* Makes the records of an event, or tells a record when it was done.  Returns what parse does; `rec`
 * has the line. */
int fe_trace_take_event(struct fe_trace_reader *r, const struct fe_trace_event *event,
                        const struct fe_trace_rec *rec, struct fe_err *err);

/* Fails if there were events, but none of the chosen kind. */
int fe_trace_end_events(struct fe_trace_reader *r, struct fe_err *err);
