/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Flushes of many threads, which are brought to the host's disk in groups.
 *
 * One sync of the image runs at a time.  A flush that comes while a sync is running waits for the
 * next one, because the running sync may have begun before the data of this flush were written.
 * All flushes that wait have the next sync in common:
 *
 *     sync       |==== 1 ====|==== 2 ====|
 *     flush A    +-----------+               begins sync 1
 *     flush B        +-------------------+   waits for sync 2
 *     flush C           +----------------+   waits for sync 2
 *
 * If a sync fails, the image has failed: every flush that has not been answered fails, and every
 * later one, too.
 */
#pragma once

#include "flashemu/device.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/* Protected by the lock of the device. */
struct fe_flusher {
    pthread_cond_t ended;      /* a sync has ended */
    bool is_running;
    uint64_t n_begun, n_ended; /* syncs */
};

void fe_flusher_init(struct fe_flusher *f);

/* No thread may be in fe_flusher_sync. */
void fe_flusher_fini(struct fe_flusher *f);

/* Makes what the device has done before the call last through a crash of the host.  The caller
 * holds `lock`, which protects dev; the function releases it while it waits.  0, or a negative
 * errno if the image has failed. */
int fe_flusher_sync(struct fe_flusher *f, struct fe_device *dev, pthread_mutex_t *lock);
