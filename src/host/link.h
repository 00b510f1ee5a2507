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
 *
 * With a command queue, the time of a command has two parts.  The overhead passes in the command's
 * own slot, while other commands transfer data.  The task overhead occupies the wire, directly
 * before the command's data: these are the commands that ask which task is ready and start it.  A
 * write may occupy the wire longer, with and without a queue: the card holds it busy.
 *
 * A host without a queue asks whether a write has ended, each time after a wait of twice as long.
 * It sleeps, and a sleep may take longer than it should (Linux: usleep_range(u, 2 * u)).  How much
 * longer is drawn for each wait, by the time at which the data were in.
 *
 *     data in  |~~ 4K ~~|     ?       ?               ?
 *     flash             |======= program =======|
 *
 * A controller may have to set up a stream for each long read (link.turn_read), and cannot do so
 * while it still sends the one before.  So small reads overlap, and long ones do not.
 *
 * A simple controller takes the tasks of its queue in turn: it begins one when it has finished
 * everything of the one before, except that it goes on with a task that continues that one.  And it
 * may hold the pages of a read in a buffer, and send them when the buffer is full:
 *
 *     pages      |=0=|=1=|=2=|=3=|              read_buffer is two pages
 *     data out           |~0~1~| |~2~3~|
 */
#pragma once

#include "flashemu/host_params.h"

#include <stdbool.h>
#include <stdint.h>

struct fe_link_gap {
    uint64_t from_ns, to_ns; /* [from, to) */
};

struct fe_link {
    struct fe_link_params p;
    uint64_t slot_free_ns[FE_LINK_MAX_DEPTH]; /* when each queue slot is free */
    uint64_t slots_free_ns;                   /* when all of them are: no slot is free later */
    uint64_t wire_free_ns;                    /* when the wire is free for good */
    struct fe_link_gap gaps[FE_LINK_MAX_DEPTH]; /* free before that, in order: any-order only */
    uint32_t n_gaps;
    /* The current command: its queue slot, what it still has to pay before its first data, and the
     * run of bytes that it transfers without a gap (when the run began, how many bytes so far).
     * With any-order, data_start_ns is when its next piece may begin. */
    uint32_t slot;
    uint64_t task_ns;
    uint64_t data_start_ns, data_bytes;
    /* in-turn, turn_read: when all of the command before has ended, where it ended, and whether it
     * wrote */
    uint64_t turn_ns, turn_at;
    bool turn_writes;
    uint64_t held, held_ns; /* bytes of a read that wait, and when the last of them came */
    /* The last number of bytes and their time, because nearly all commands have the same size. */
    uint64_t memo_bytes, memo_ns;
};

void fe_link_init(struct fe_link *l, const struct fe_link_params *p);

/* Bandwidth, overheads, and how the host asks, become those of p from the next command on. */
void fe_link_set_delays(struct fe_link *l, const struct fe_link_params *p);

/* No command is in the device at now_ns, and the wire is free.  O(1): it is asked before every
 * command. */
static inline bool fe_link_is_idle(const struct fe_link *l, uint64_t now_ns)
{
    return l->slots_free_ns <= now_ns && l->wire_free_ns <= now_ns;
}

/* No command starts before at_ns, whatever the link has done before. */
void fe_link_hold(struct fe_link *l, uint64_t at_ns);

/* A command arrives and takes the queue slot that is free first.  Returns the time at which the
 * device starts to work on it: after waiting for the slot, and after the overhead. */
uint64_t fe_link_begin(struct fe_link *l, uint64_t now_ns);

/* To be called after fe_link_begin, which has returned start_ns, for a command with data, which are
 * those from `from` to `to`.  Returns when the device starts to work on it: later if the command
 * before has not ended, and this one is a long read (turn_read) or, with in-turn, does not continue
 * it.  Such a write has its overhead behind that end, because the device is busy until then. */
uint64_t fe_link_take_turn(struct fe_link *l, uint64_t start_ns, bool writes, uint64_t from,
                           uint64_t to);

/* All that the commands so far have brought about on the flash ends at end_ns. */
void fe_link_end_turn(struct fe_link *l, uint64_t end_ns);

/* The next `bytes` of this command cross the wire, in either direction, but not before ready_ns:
 * then the flash has delivered them, or the device has room for them.  Returns when they are
 * there. */
uint64_t fe_link_data(struct fe_link *l, uint64_t ready_ns, uint64_t bytes);

/* The same for bytes of a read, which may be held first; `more` of the command follow.  Returns
 * 0 as long as they wait. */
uint64_t fe_link_send(struct fe_link *l, uint64_t ready_ns, uint64_t bytes, bool more);

/* When the host hears that a write has ended at end_ns, if all of its data were in at in_ns.  A
 * host without a queue may have to ask: at once, again after link.busy_poll, then each time after
 * twice as long, and each time later by up to link.busy_late.  Each question takes link.busy_ask.
 * The same times have the same answer. */
uint64_t fe_link_asked(const struct fe_link *l, uint64_t in_ns, uint64_t end_ns);

/* The command completes at complete_ns, when its queue slot becomes free. */
void fe_link_end(struct fe_link *l, uint64_t complete_ns);
