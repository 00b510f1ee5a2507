/* SPDX-License-Identifier: BSD-3-Clause */
#include "flusher.h"

void fe_flusher_init(struct fe_flusher *f)
{
    *f = (struct fe_flusher){0};
    pthread_cond_init(&f->ended, NULL);
}

void fe_flusher_fini(struct fe_flusher *f)
{
    pthread_cond_destroy(&f->ended);
}

static void run_sync(struct fe_flusher *f, struct fe_device *dev, pthread_mutex_t *lock)
{
    struct fe_store_sync sync = fe_device_sync_begin(dev);
    f->is_running = true;
    f->n_begun++;
    pthread_mutex_unlock(lock);
    int r = fe_device_sync_run(dev);
    pthread_mutex_lock(lock);
    (void)fe_device_sync_end(dev, sync, r); /* the device remembers a failure */
    f->is_running = false;
    f->n_ended++;
    pthread_cond_broadcast(&f->ended);
}

int fe_flusher_sync(struct fe_flusher *f, struct fe_device *dev, pthread_mutex_t *lock)
{
    uint64_t mine = f->n_begun + 1;
    while (f->n_ended < mine)
        if (f->is_running)
            pthread_cond_wait(&f->ended, lock);
        else
            run_sync(f, dev, lock);
    return fe_device_failure(dev, NULL);
}
