/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One pass over the chip pays for looking at it, and a second one over the OOB really looks.
 *
 *     copies of page 7     seq 12        seq 31        torn
 *                                          ^ the newest copy that can be read is the page
 *
 * Not modelled: reads that tell the controller nothing, and what controllers keep on the chip
 * to have less to look at (a journal of the mapping, a superblock).
 */
#include "ftl/recover.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static bool may_hold(const struct fe_ftl *ftl, fe_ppn ppn)
{
    const struct fe_medium *m = ftl->medium;
    if (fe_medium_tag(m, ppn) >= FE_N_TAGS)
        return false;
    return ftl->ops->may_hold ? ftl->ops->may_hold(ftl, ppn) : fe_medium_lpn(m, ppn) < ftl->n_lpns;
}

int fe_recover_check(const struct fe_ftl *ftl, struct fe_err *err)
{
    const struct fe_medium *m = ftl->medium;
    for (fe_peb peb = 0; peb < m->geo.n_pebs; peb++) {
        fe_ppn first = peb * m->geo.pages_per_block;
        if (fe_medium_is_slc(m, peb) && !ftl->ops->uses_slc)
            return fe_err_set(err, EIO, "block %u is in SLC mode, which ftl.type=%s does not use",
                              peb, ftl->ops->name);
        for (fe_ppn ppn = first; ppn < first + fe_medium_next_page(m, peb); ppn++)
            if (fe_recover_readable(m, ppn) && !may_hold(ftl, ppn))
                return fe_err_set(err, EIO, "page %u says that it is logical page %u with tag %u: "
                                  "ftl.type=%s writes none there", ppn, fe_medium_lpn(m, ppn),
                                  fe_medium_tag(m, ppn), ftl->ops->name);
    }
    return 0;
}

/* A torn page is found by reading it, so the status of the read does not matter. */
static void read_block(struct fe_medium *m, fe_peb peb)
{
    fe_ppn first = peb * m->geo.pages_per_block;
    uint32_t n = fe_medium_next_page(m, peb);
    for (uint32_t i = n == fe_recover_room(m, peb) ? n - 1 : 0; i < n; i++)
        (void)fe_medium_read(m, first + i, 0, m->geo.page_bytes, NULL);
}

enum fe_status fe_recover_scan(struct fe_medium *m)
{
    bool erased = false;
    for (fe_peb peb = 0; peb < m->geo.n_pebs; peb++) {
        if (fe_medium_is_bad(m, peb))
            continue;
        if (!fe_medium_is_unstable(m, peb)) {
            read_block(m, peb);
            continue;
        }
        if (m->eol)
            continue;
        enum fe_status st = fe_medium_erase(m, peb);
        if (st != FE_OK)
            return st;
        erased = true;
    }
    if (erased)
        fe_ops_barrier(m->ops);
    return FE_OK;
}

void fe_recover_newest(const struct fe_medium *m, struct fe_mapping *newest, uint32_t n,
                       const uint8_t *skip)
{
    memset(newest, 0, n * sizeof *newest);
    for (fe_peb peb = 0; peb < m->geo.n_pebs; peb++) {
        if (fe_medium_is_bad(m, peb) || (skip && skip[peb]))
            continue;
        fe_ppn first = peb * m->geo.pages_per_block;
        for (fe_ppn ppn = first; ppn < first + fe_medium_next_page(m, peb); ppn++) {
            fe_lpn lpn = fe_medium_lpn(m, ppn);
            if (lpn >= n || fe_medium_tag(m, ppn) == FE_TAG_TORN || fe_medium_is_trimmed(m, lpn))
                continue;
            fe_ppn before = fe_mapped(newest[lpn]);
            if (before == FE_PPN_NONE || fe_medium_seq(m, before) < fe_medium_seq(m, ppn))
                newest[lpn] = fe_mapping(ppn);
        }
    }
}

uint64_t fe_recover_last_seq(const struct fe_medium *m, fe_peb peb)
{
    fe_ppn first = peb * m->geo.pages_per_block;
    uint64_t seq = 0;
    for (uint32_t i = fe_medium_next_page(m, peb); i-- > 0 && seq == 0;)
        seq = fe_medium_seq(m, first + i); /* 0 for a torn page; the others grow */
    return seq;
}

fe_ppn fe_recover_first(const struct fe_medium *m, fe_peb peb)
{
    fe_ppn first = peb * m->geo.pages_per_block;
    for (uint32_t i = 0; i < fe_medium_next_page(m, peb); i++)
        if (fe_recover_readable(m, first + i))
            return first + i;
    return FE_PPN_NONE;
}

static int by_age(const void *va, const void *vb)
{
    const struct fe_recover_age *a = va, *b = vb;
    if (a->seq != b->seq)
        return a->seq < b->seq ? -1 : 1;
    return a->peb < b->peb ? -1 : a->peb > b->peb;
}

void fe_recover_sort(struct fe_recover_age *a, uint32_t n)
{
    qsort(a, n, sizeof *a, by_age);
}
