/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A host next to a device.  It keeps an array of plain bytes, which must read the same as the
 * device, and checks the rules for replies.
 */
#pragma once

#include "lib/cases.h"
#include "lib/chip.h"
#include "lib/rand.h"

struct ft_host {
    struct fe_device *dev;
    struct ft_chip chip;
    bool payload;
    uint64_t capacity, unit;       /* bytes */
    uint32_t sector;
    uint8_t *bytes;                /* what must be read from the device */
    uint8_t *buf;                  /* the data of a request; room for the capacity */
    uint64_t now;                  /* the latest completion */
    uint64_t last_arrival;
    uint64_t busy, busy_until;     /* time during which a request was in the device */
    bool idle_work;                /* the device has also worked on its own: `busy` is too small */
    bool behind;                   /* it answers writes before the flash has them */
    uint64_t ops[FE_N_REQ_TYPES], op_bytes[FE_N_REQ_TYPES];
    struct fe_reply reply;         /* the last one */
    uint64_t hash;                 /* of all replies */
    char wrong[600];               /* the first thing that went wrong; empty if none */
};

/* Creates the device of the case, with the seed device_seed.  False with h->wrong. */
bool ft_host_init(struct ft_host *h, const struct ft_case *c, uint64_t device_seed, bool payload);
void ft_host_fini(struct ft_host *h);

/* Submits one request, and checks status, times and bytes.  `data` is the seed of the bytes of a
 * write; 0 writes zeros without a buffer.  False with h->wrong. */
bool ft_host_submit(struct ft_host *h, enum fe_req_type type, uint64_t arrival, uint64_t offset,
                    uint64_t len, bool fua, uint64_t data);

/* Reads everything and compares it.  False with h->wrong. */
bool ft_host_verify(struct ft_host *h);

/* Whether the invariants of the device hold, and no rule of the chip has been broken.  False with
 * h->wrong. */
bool ft_host_check(struct ft_host *h);

/* A workload: streams, small random writes and whole units, which may overlap.  Requests arrive in
 * a closed loop, early, late, and after pauses. */
struct ft_workload {
    struct ft_rand rand;
    uint64_t stream[3];
    uint64_t hot;
};

struct ft_step {
    enum fe_req_type type;
    uint64_t offset, len, data;
    bool fua;
    int64_t wait; /* ns from the last completion to the arrival; may be negative */
};

void ft_workload_init(struct ft_workload *w, const struct ft_host *h, uint64_t seed);
struct ft_step ft_workload_next(struct ft_workload *w, const struct ft_host *h);
bool ft_host_step(struct ft_host *h, const struct ft_step *s);
