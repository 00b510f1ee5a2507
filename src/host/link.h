/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The link between host and device: how a request becomes commands, and what each
 * costs before and after the flash.
 *
 * A request is cut into commands of at most max_transfer bytes, counted from its own
 * start (as a USB host cuts them: 120 KiB pieces that do not stay aligned).  A command
 * occupies one of queue_depth slots from its start to its completion; data cross the
 * link one after another:
 *
 *   write  |overhead|~~ data in ~~|              a page is programmed as soon as it
 *                     |== flash ==...==|         has arrived
 *   read   |overhead|== flash ==...==|
 *                      |~~ data out ~~|          and sent as soon as it has been read
 */
#ifndef FE_HOST_LINK_H
#define FE_HOST_LINK_H

#include "flashemu/host_params.h"

#include <stdint.h>

struct fe_link {
    struct fe_link_params p;
    uint64_t slot_free_ns[FE_LINK_MAX_DEPTH];
    uint64_t wire_free_ns;     /* data cross one after another */
    /* the command under way */
    uint32_t slot;
    uint64_t data_start_ns, data_bytes;
};

void fe_link_init(struct fe_link *l, const struct fe_link_params *p);

/* A command arrives: takes the slot that is free first.  Returns when the device
 * starts on it: after queueing and overhead. */
uint64_t fe_link_begin(struct fe_link *l, uint64_t now_ns);

/* Host data: the next `bytes` of this command's data are in the device at the
 * returned time. */
uint64_t fe_link_data_in(struct fe_link *l, uint64_t bytes);

/* Device data: the next `bytes`, ready in the device at ready_ns, have reached the
 * host at the returned time. */
uint64_t fe_link_data_out(struct fe_link *l, uint64_t ready_ns, uint64_t bytes);

/* The command completes at complete_ns and frees its slot then. */
void fe_link_end(struct fe_link *l, uint64_t complete_ns);

#endif
