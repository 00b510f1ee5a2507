/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A recorded conversation: the requests of a trace that has the time of each and of its completion,
 * with the rule by which the host sent them, and divided into blocks of like requests.
 *
 *     recorded     |--- 1 ---|  pause |-- 2 --|   |-- 3 --|        a closed loop
 *     replayed     |----- 1 -----|  pause |- 2 -|   |--- 3 ---|    the pauses are the host's
 *
 * A host that sends a request has seen some of its requests completed.  The last of these is the cause
 * of the request, and what lies between the two is a pause of the host, which it makes on any device.
 * So a host that waits for each answer does so again, and one that keeps several requests in flight
 * does that, too.  A request in front of any completion comes as long behind the one before it as it
 * did.
 *
 * One request says little: a page more or less, or a collection, comes one request earlier on a device
 * that is nearly the same.  So requests of a kind are compared in sums, of BLOCK of them in a row; others
 * may come between two of them, such as a flush behind each write, but no more than BLOCK.
 */
#pragma once

#include "flashemu/err.h"
#include "flashemu/request.h"
#include "workload/trace.h"

#include <stdbool.h>
#include <stdint.h>

enum { CONVERSATION_BLOCK = 16 };
#define CONVERSATION_NO_CAUSE UINT32_MAX

/* What the host sent and how long it took. */
struct said {
    struct fe_request request;
    uint64_t took_ns;
    uint64_t pause_ns; /* behind the completion of the cause; without one, behind the request before */
    uint64_t line;     /* of the trace */
    uint32_t cause;    /* the number of a request, or CONVERSATION_NO_CAUSE */
    uint32_t block;
    bool failed;       /* it ended with an error */
};

struct said_kind {
    uint64_t least, most;  /* bytes of a request */
    uint64_t recorded_ns;
    uint32_t shallow, deep; /* requests in flight, this one included */
    uint32_t n, n_blocks;
    uint8_t type;           /* enum fe_req_type */
    bool in_order;          /* each begins where the one of its operation before it has ended */
};

struct said_block {
    uint64_t recorded_ns;
    uint32_t kind, n;
};

struct conversation {
    struct said *said;
    struct said_block *blocks;
    struct said_kind *kinds; /* in the order of their first requests */
    uint32_t n, n_blocks, n_kinds;
    uint64_t seed, capacity; /* of the recorded device; capacity 0 = the trace does not tell */
    bool has_seed;
};

/* Reads a trace file or "-".  -EINVAL with a message that names it, and the line if there is one: it has
 * no completions, its end is missing, it has no requests, or nothing in it took any time; or the error
 * of a reader.  The caller must call conversation_fini, even after an error. */
int conversation_load(struct conversation *c, const char *path, const struct fe_trace_options *options,
                      struct fe_err *err);
void conversation_fini(struct conversation *c);

/* "writes in order by 64 KiB", "reads apart by 4 to 7.5 KiB, 8 in flight".  Prints it into buf and
 * returns buf. */
#define SAID_KIND_NAME 128
const char *said_kind_name(const struct said_kind *k, char buf[SAID_KIND_NAME]);
