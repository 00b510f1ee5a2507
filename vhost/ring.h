/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A split virtqueue, as the virtio standard has it (2.7): the guest offers chains of descriptors, and
 * gets each of them back as used.
 *
 * All that a ring holds is the guest's, which may write to it at any time.  So each number is read
 * once, and checked before it is used.
 */
#pragma once

#include "memory.h"

#include <linux/virtio_ring.h>
#include <stdbool.h>
#include <sys/uio.h>

#define FE_RING_MAX 1024 /* descriptors of a ring */
#define FE_SEGMENTS_MAX 254 /* of the data of a request, which guests are told */
#define FE_PIECES_MAX (FE_SEGMENTS_MAX + 2 + FE_REGIONS_MAX) /* with head and status, some cut in two */

struct fe_ring {
    uint32_t num;    /* descriptors; a power of two, 0 before the guest has said it */
    struct vring_desc *desc;
    struct vring_avail *avail;
    struct vring_used *used;
    uint16_t next, used_idx; /* of the next chain to take, and to give back */
    bool enabled;
    int kick_fd, call_fd; /* -1: none */
    bool must_call;  /* chains were given back since the guest was called */
};

/* What a chain describes: first what the device reads, then what it writes. */
struct fe_chain {
    uint16_t head;
    uint32_t n_out, n_in;
    struct iovec pieces[FE_PIECES_MAX];
};

/* Takes the next chain.  1, or 0 if there is none; -EINVAL with message if the guest has broken its
 * ring, which must not be used any more then. */
int fe_ring_take(struct fe_ring *r, const struct fe_memory *m, struct fe_chain *ret,
                 struct fe_err *err);

/* Gives a chain back, of which the device has written so many bytes. */
void fe_ring_give(struct fe_ring *r, uint16_t head, uint32_t written);

/* Whether the guest wants to hear of what was given back; it counts as called then. */
bool fe_ring_wants_call(struct fe_ring *r);
