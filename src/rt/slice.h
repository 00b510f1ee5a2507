/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Asks the scheduler for short turns.  Private to src/rt.
 */
#pragma once

/* Asks the kernel to schedule the calling thread in turns of 100 us if it runs under SCHED_OTHER.
 * Policy and nice value stay as they are, and no privilege is needed.  The wish stays with the
 * thread and with the threads that it starts.  Returns 0 or a negative errno, which callers may
 * ignore: without short turns waits end later on a busy machine, and nothing else changes.
 * Kernels before 6.12 accept the wish and do nothing. */
int fe_slice_shorten(void);
