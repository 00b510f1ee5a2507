/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The chip's state in an image, and back.
 *
 * A page's record says what the OOB of a real page says; how far a block is programmed is
 * counted from those.  A block's record has what the controller keeps of it elsewhere on
 * the chip: erase count and marks.
 */
#include "nand/medium.h"

#include <errno.h>
#include <stdlib.h>

enum {
    FLAG_FACTORY_BAD = 1,
    FLAG_GROWN_BAD = 2,
    FLAG_SLC = 4,
    FLAG_UNSTABLE = 8,
    FLAGS_ALL = 15,
};

void fe_medium_save_block(struct fe_medium *m, fe_peb peb)
{
    const struct fe_peb_info *b = &m->pebs[peb];
    struct fe_store_block r = {
        .erase_count = b->erase_count,
        .flags = (b->factory_bad ? FLAG_FACTORY_BAD : 0) | (b->grown_bad ? FLAG_GROWN_BAD : 0) |
                 (b->slc ? FLAG_SLC : 0) | (b->unstable ? FLAG_UNSTABLE : 0),
    };
    if (m->image)
        fe_store_set_block(m->store, peb, &r);
}

void fe_medium_save_page(struct fe_medium *m, fe_ppn ppn)
{
    static const uint8_t states[] = {
        [FE_PAGE_ERASED] = FE_STORE_ERASED,
        [FE_PAGE_PROGRAMMED] = FE_STORE_PROGRAMMED,
        [FE_PAGE_TORN] = FE_STORE_TORN,
    };
    struct fe_store_oob r = {
        .seq = m->oob_seq[ppn],
        .lpn = m->oob_lpn[ppn],
        .tag = m->oob_tag[ppn],
        .state = states[fe_medium_state(m, ppn)],
    };
    if (m->image)
        fe_store_set_oob(m->store, ppn, &r);
}

static int refuse(fe_peb peb, const char *why, struct fe_err *err)
{
    return fe_err_set(err, EIO, "the image's block %u %s; flashemu fsck tells more", peb, why);
}

/* pages: those of the block.  Raw pages are no flash and none of the medium's. */
static int take_block(struct fe_medium *m, fe_peb peb, const struct fe_store_block *r,
                      const struct fe_store_oob *pages, struct fe_err *err)
{
    struct fe_peb_info *b = &m->pebs[peb];
    uint32_t first = peb * m->geo.pages_per_block, n = 0;
    if (r->flags & ~(uint32_t)FLAGS_ALL)
        return refuse(peb, "has flags that this version does not know", err);
    *b = (struct fe_peb_info){
        .erase_count = r->erase_count,
        .factory_bad = !!(r->flags & FLAG_FACTORY_BAD),
        .grown_bad = !!(r->flags & FLAG_GROWN_BAD),
        .slc = !!(r->flags & FLAG_SLC),
        .unstable = !!(r->flags & FLAG_UNSTABLE),
    };
    while (n < m->geo.pages_per_block &&
           (pages[n].state == FE_STORE_PROGRAMMED || pages[n].state == FE_STORE_TORN)) {
        bool torn = pages[n].state == FE_STORE_TORN;
        if (!torn && pages[n].tag == FE_TAG_TORN)
            return refuse(peb, "has a programmed page that counts as torn", err);
        m->oob_lpn[first + n] = torn ? FE_LPN_NONE : pages[n].lpn;
        m->oob_seq[first + n] = torn ? 0 : pages[n].seq;
        m->oob_tag[first + n] = torn ? FE_TAG_TORN : pages[n].tag;
        m->seq = fe_max_u64(m->seq, m->oob_seq[first + n]);
        n++;
    }
    b->next_page = (uint16_t)n;
    if (b->slc && (fe_slc_pages(&m->geo) == 0 || n > fe_slc_pages(&m->geo)))
        return refuse(peb, "is in SLC mode and holds more than that allows", err);
    return 0;
}

int fe_medium_load(struct fe_medium *m, struct fe_err *err)
{
    struct fe_store_oob *pages = malloc(m->geo.pages_per_block * sizeof *pages);
    struct fe_store_block block;
    int r = pages ? 0 : fe_err_nomem(err, "OOB of a block", m->geo.pages_per_block * sizeof *pages);
    for (fe_peb peb = 0; r == 0 && peb < m->geo.n_pebs; peb++) {
        r = fe_store_load_block(m->store, peb, &block, pages, err);
        if (r == 0)
            r = take_block(m, peb, &block, pages, err);
    }
    free(pages);
    return r;
}
