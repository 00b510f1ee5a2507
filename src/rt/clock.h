/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The clock of real time.
 *
 * CLOCK_MONOTONIC and no other: nobody can set it, the kernel steers its rate but
 * never makes it jump, it stands still while the machine is suspended, and both
 * io_uring and clock_nanosleep take absolute deadlines on it.  Nanoseconds since
 * an arbitrary instant; 64 bits last for 584 years.
 */
#ifndef FE_RT_CLOCK_H
#define FE_RT_CLOCK_H

#include <stdint.h>
#include <time.h>

#include "base/num.h"

/* Now, in ns.  Any thread; about 25 ns where the vDSO serves it, a system call on
 * machines whose clock source it cannot read.  Cannot fail on Linux. */
static inline uint64_t fe_clock_now_ns(void)
{
    struct timespec ts;
    int r = clock_gettime(CLOCK_MONOTONIC, &ts);
    assert(r == 0);
    (void)r;
    return (uint64_t)ts.tv_sec * FE_NS_PER_S + (uint64_t)ts.tv_nsec;
}

#endif
