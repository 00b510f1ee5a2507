/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A request of the host, and the reply of the device.
 */
#pragma once

#include "flashemu/types.h"

#include <stdbool.h>

enum fe_req_type { FE_REQ_READ, FE_REQ_WRITE, FE_REQ_TRIM, FE_REQ_FLUSH, FE_N_REQ_TYPES };

struct fe_request {
    enum fe_req_type type;
    bool fua;           /* of a write or trim: it is durable when it completes */
    uint64_t offset;    /* bytes, multiple of the sector size */
    uint64_t len;       /* bytes, multiple of the sector size; 0 for flush */
    void *buf;          /* a read fills it; a write takes data from it (NULL: zeros) */
};

struct fe_reply {
    uint64_t arrival_ns;  /* max(now, the last request's arrival) */
    uint64_t complete_ns;
    enum fe_status status;
};
