/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The link between host and device: how a request becomes commands, and what each command costs
 * before and after the flash works on it.
 *
 * A request is cut into commands of at most max_transfer bytes, counted from the request's own
 * start.  (A USB host cuts it in the same way, into pieces of 120 KiB that do not stay aligned.)
 * A command occupies one of queue_depth queue slots from its start to its completion.  The data of
 * all commands cross the link one after another:
 *
 *   write  |overhead|~~ data in ~~|              a page is programmed as soon as it
 *                     |== flash ==...==|         has arrived
 *   read   |overhead|== flash ==...==|
 *                      |~~ data out ~~|          a page is sent as soon as it has been read
 */
#ifndef FE_HOST_LINK_H
#define FE_HOST_LINK_H

#include "flashemu/host_params.h"

#include <stdint.h>

struct fe_link {
    struct fe_link_params p;
    uint64_t slot_free_ns[FE_LINK_MAX_DEPTH]; /* when each queue slot is free */
    uint64_t wire_free_ns;                    /* when the wire is free */
    /* The current command: its queue slot, and the run of bytes that it transfers without a
     * gap (when the run began, how many bytes so far). */
    uint32_t slot;
    uint64_t data_start_ns, data_bytes;
};

void fe_link_init(struct fe_link *l, const struct fe_link_params *p);

/* A command arrives and takes the queue slot that is free first.  Returns the time at which the
 * device starts to work on it: after waiting for the slot, and after the overhead. */
uint64_t fe_link_begin(struct fe_link *l, uint64_t now_ns);

/* The host sends the next `bytes` of this command.  Returns when they are in the device. */
uint64_t fe_link_data_in(struct fe_link *l, uint64_t bytes);

/* The device sends the next `bytes` of this command, which are ready at ready_ns.  Returns when
 * they have reached the host. */
uint64_t fe_link_data_out(struct fe_link *l, uint64_t ready_ns, uint64_t bytes);

/* The command completes at complete_ns, when its queue slot becomes free. */
void fe_link_end(struct fe_link *l, uint64_t complete_ns);

#endif
