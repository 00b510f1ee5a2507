/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The small-write log of the segment strategy: a few units that take single pages of any
 * logical unit, mapped page by page.
 *
 * What it holds of a page is always the newest copy.  It does not clean itself: when it
 * is full its owner merges the logical units that the oldest log unit holds pages of, and
 * releases it.
 */
#ifndef FE_FTL_SMALL_LOG_H
#define FE_FTL_SMALL_LOG_H

#include "ftl/unit.h"

struct fe_small_log {
    struct fe_units *units;
    uint32_t n_max;           /* log units; 0: there is no log */
    uint32_t *ring;           /* the units in use, oldest first */
    uint32_t head, n;
    fe_ppn *map;              /* lpn -> page in the log, or FE_PPN_NONE */
};

/* -ENOMEM.  4 bytes a logical page if n_max > 0. */
int fe_small_log_init(struct fe_small_log *l, struct fe_units *units, uint32_t n_max,
                      uint32_t n_lpns, struct fe_err *err);
void fe_small_log_fini(struct fe_small_log *l);

/* Where the log holds this page; FE_PPN_NONE if it does not. */
static inline fe_ppn fe_small_log_find(const struct fe_small_log *l, fe_lpn lpn)
{
    return l->n_max ? l->map[lpn] : FE_PPN_NONE;
}

/* The page has a newer copy elsewhere. */
static inline void fe_small_log_forget(struct fe_small_log *l, fe_lpn lpn)
{
    if (l->n_max)
        l->map[lpn] = FE_PPN_NONE;
}

/* Whether a page can be appended at once. */
bool fe_small_log_has_room(const struct fe_small_log *l);

/* Appends a page (base as in fe_medium_prog); there must be room.  FE_NO_SPACE if no
 * unit is free. */
enum fe_status fe_small_log_append(struct fe_small_log *l, fe_lpn lpn, fe_ppn base, uint32_t off,
                                   uint32_t len, const void *data);

/* The oldest log unit; FE_UNIT_NONE if the log is empty. */
uint32_t fe_small_log_oldest(const struct fe_small_log *l);

/* Erases the oldest log unit; none of its pages may be mapped any more. */
enum fe_status fe_small_log_drop_oldest(struct fe_small_log *l);

#endif
