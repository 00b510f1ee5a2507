/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The clock of real time.
 *
 * It is CLOCK_MONOTONIC and no other clock.  Nobody can set it.  The kernel steers its rate but
 * never makes it jump.  It stands still while the machine is suspended.  Both io_uring and
 * clock_nanosleep accept absolute deadlines on it.  It counts nanoseconds since an arbitrary
 * instant; 64 bits last for 584 years.
 */
#pragma once

#include <stdint.h>
#include <time.h>

#include "base/num.h"

/* The present, in ns.  Any thread may call it.  It takes about 25 ns where the vDSO can read the
 * machine's clock source, and a system call elsewhere.  It cannot fail on Linux. */
static inline uint64_t fe_clock_now_ns(void)
{
    struct timespec ts;
    int r = clock_gettime(CLOCK_MONOTONIC, &ts);
    assert(r == 0);
    (void)r;
    return (uint64_t)ts.tv_sec * FE_NS_PER_S + (uint64_t)ts.tv_nsec;
}
