/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How a device lies to its host (flashemu/lies.h has the table of what it does).
 *
 *     host --> request --> lies: which of them tell on this request?
 *                            |
 *              writes        '--> where its bytes go: elsewhere, or nowhere
 *              reads         '--> where they come from, and what becomes of them on their way
 *              flush, FUA    '--> nothing, or later
 *              TRIM          '--> more than it names, or nothing
 *
 * The layers below work as always, on what is left of the request: so every invariant of the
 * translation layer holds on a device that lies, and a lie costs the time of an honest request.
 *
 * All draws are addressed: by the number of the request since the start, or by the sector.
 *
 * The state is in the controller's memory.  A power cut forgets older copies and a flush that has
 * not come yet; an image has neither of them.
 */
#pragma once

#include "device/ring.h"
#include "flashemu/request.h"

struct fe_device;

struct fe_lies {
    bool payload;             /* somebody wants the data */
    uint64_t told[FE_N_LIES]; /* requests on which each lie has told, since the reset */
    uint64_t n_requests;      /* since the start, while there were lies */
    uint32_t active;          /* by index in the profile's list: those that tell on this request */
    uint64_t flush_ns;        /* when a flush that was answered is carried out; UINT64_MAX: none is
                                 pending */
    struct fe_ring old;       /* the copy before, of sectors that were written last */
    struct {
        uint64_t offset, until_ns;
    } read;                   /* the read before: where it was, and when it has ended */
};

/* Begins without a history; the profile's list counts from now on.  -ENOMEM. */
int fe_lies_init(struct fe_device *dev, bool payload, struct fe_err *err);
void fe_lies_fini(struct fe_device *dev);

/* The profile has another list.  -ENOMEM, with message; the list is empty then. */
int fe_lies_set(struct fe_device *dev, struct fe_err *err);

/* Power has failed. */
void fe_lies_forget(struct fe_device *dev);

/* A request arrives: finds out which lies tell on it, and counts them.  *req becomes what the
 * layers below carry out.  A write to sectors of which a stale copy will be read keeps that copy. */
void fe_lies_begin(struct fe_device *dev, struct fe_request *req, uint64_t arrival_ns);

/* Where the bytes from `at` on go to or come from, in addresses of the host; *len is reduced to
 * what goes there in one piece.  FE_NOWHERE: a write that is lost. */
uint64_t fe_lies_place(const struct fe_device *dev, const struct fe_request *req, uint64_t at,
                       uint64_t *len);

/* The first lie of that kind that tells on the present request; NULL if there is none. */
const struct fe_lie *fe_lies_active(const struct fe_device *dev, enum fe_lie_kind kind);

/* Whether a flush is not carried out now. */
bool fe_lies_hold_flush(const struct fe_device *dev);

/* The capacity that the device reports at now_ns, at most the one that it was made with. */
uint64_t fe_lies_capacity(const struct fe_device *dev, uint64_t now_ns);

/* The request has been carried out: what the host gets of it. */
void fe_lies_end(struct fe_device *dev, const struct fe_request *req, const struct fe_reply *reply);
