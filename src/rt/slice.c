/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Since 6.12 a thread under SCHED_OTHER may say how long its turns on a processor
 * should be.  It gets no more of the processor than before, but it gets it sooner:
 * the scheduler picks by virtual deadline, and that of a short turn comes early.  A
 * thread that waits for instants wants exactly this.  Measured on two processors
 * with four programs that compute: woken up late by 4 ms at the 99th percentile with
 * turns of 2.8 ms, by 0.08 ms with turns of 0.1 ms, the least that the kernel grants.
 *
 * glibc has no wrapper for these calls before 2.41, and the kernel's header with the
 * structure collides with glibc's; hence the structure's first version here, which
 * is ABI.
 */
#include "rt/slice.h"

#include <errno.h>
#include <sched.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SLICE_NS 100000

struct attr_v0 {
    uint32_t size;
    uint32_t policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime_ns; /* for SCHED_OTHER: the length of a turn */
    uint64_t deadline_ns;
    uint64_t period_ns;
};

int fe_slice_shorten(void)
{
    struct attr_v0 attr = {.size = sizeof attr};

    if (syscall(SYS_sched_getattr, 0, &attr, sizeof attr, 0) < 0)
        return -errno;
    if (attr.policy != SCHED_OTHER)
        return -EINVAL; /* somebody has chosen better, or chosen to be in nobody's way */
    attr.size = sizeof attr;
    attr.runtime_ns = SLICE_NS;
    if (syscall(SYS_sched_setattr, 0, &attr, 0) < 0)
        return -errno;
    return 0;
}
