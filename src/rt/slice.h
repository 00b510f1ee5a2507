/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Asking the scheduler for short turns.  Private to src/rt.
 */
#ifndef FE_RT_SLICE_H
#define FE_RT_SLICE_H

/* Asks that the calling thread, if it runs under SCHED_OTHER, be scheduled in turns
 * of 100 us.  Policy and nice value stay as they are; needs no privilege; the wish
 * stays with the thread and with those that it starts.  Returns 0 or a negative
 * errno, which callers may ignore: without it waits are only later on a busy
 * machine.  Kernels before 6.12 accept the wish and do nothing. */
int fe_slice_shorten(void);

#endif
