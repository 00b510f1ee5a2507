/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The chip's state in an image, and back.
 *
 * A page's record says what the OOB of a real page says; how far a block is programmed is
 * counted from those.  A block's record has what the controller keeps of it elsewhere on
 * the chip: erase count and marks.
 */
#include "nand/medium_image.h"

#include "nand/wear.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
    FLAG_FACTORY_BAD = 1,
    FLAG_GROWN_BAD = 2,
    FLAG_SLC = 4,
    FLAG_UNSTABLE = 8,
    FLAG_FAILED = 16,
    FLAGS_ALL = 31,
};

/* In the image a block's count goes with its slot: by it the image knows which pages are of
 * the present cycle, and those stay where they are when another block takes the slot.  What
 * the block itself has behind it is told by a difference. */
enum {
    EXTRA_DIFFERENCE, /* count of the slot - erase_count of its block */
    EXTRA_PHYS,       /* the block of the chip in the slot + 1; 0: itself */
    EXTRA_READS,
    EXTRA_SINCE, /* low and high half */
};

/* In the tag of a page: its data are lost, the controller knows or not. */
enum { TAG_LOST = 0x80, TAG_SILENT = 0x40, TAG_MASK = 0x3f };

/* What the controller knows of power cuts, in the image's control bytes. */
struct journal {
    uint32_t interrupted;
    uint8_t is_off, is_dead, reserved[2];
    uint64_t since, until;
    uint64_t n, n_stale;
};

static struct fe_store_block block_record(const struct fe_medium *m, fe_peb peb)
{
    const struct fe_peb_info *b = &m->pebs[peb];
    uint32_t difference = m->wear && m->wear->difference ? m->wear->difference[peb] : 0;
    bool dated = m->wear && m->wear->reads && peb < m->geo.n_pebs;
    return (struct fe_store_block){
        .erase_count = b->erase_count + difference,
        .extra = {
            [EXTRA_DIFFERENCE] = difference,
            [EXTRA_PHYS] = m->phys && m->phys[peb] != peb ? m->phys[peb] + 1 : 0,
            [EXTRA_READS] = dated ? m->wear->reads[peb] : 0,
            [EXTRA_SINCE] = dated ? (uint32_t)m->wear->since_ns[peb] : 0,
            [EXTRA_SINCE + 1] = dated ? (uint32_t)(m->wear->since_ns[peb] >> 32) : 0,
        },
        .flags = (b->factory_bad ? FLAG_FACTORY_BAD : 0) | (b->grown_bad ? FLAG_GROWN_BAD : 0) |
                 (b->slc ? FLAG_SLC : 0) | (b->unstable ? FLAG_UNSTABLE : 0) |
                 (b->failed ? FLAG_FAILED : 0),
    };
}

void fe_medium_save_block(struct fe_medium *m, fe_peb peb)
{
    if (!m->image)
        return;
    struct fe_store_block r = block_record(m, peb);
    fe_store_set_block(m->store, peb, &r);
}

static uint8_t lost_tag(const struct fe_medium *m, fe_ppn ppn)
{
    if (!m->wear || !m->wear->flips || m->oob_tag[ppn] == FE_TAG_TORN)
        return 0;
    uint16_t flips = m->wear->flips[ppn];
    return flips == FE_FLIPS_LOST ? TAG_LOST : flips == FE_FLIPS_SILENT ? TAG_SILENT : 0;
}

static struct fe_store_oob page_record(const struct fe_medium *m, fe_ppn ppn)
{
    static const uint8_t states[] = {
        [FE_PAGE_ERASED] = FE_STORE_ERASED,
        [FE_PAGE_PROGRAMMED] = FE_STORE_PROGRAMMED,
        [FE_PAGE_TORN] = FE_STORE_TORN,
    };
    return (struct fe_store_oob){
        .seq = m->oob_seq[ppn],
        .lpn = m->oob_lpn[ppn],
        .tag = m->oob_tag[ppn] | lost_tag(m, ppn),
        .state = states[fe_medium_state(m, ppn)],
    };
}

void fe_medium_save_page(struct fe_medium *m, fe_ppn ppn)
{
    if (!m->image)
        return;
    struct fe_store_oob r = page_record(m, ppn);
    fe_store_set_oob(m->store, ppn, &r);
}

/* The pages first: none of them counts until the block's record has their cycle. */
void fe_medium_put_back_block(struct fe_medium *m, fe_peb peb)
{
    if (!m->image)
        return;
    struct fe_store_block block = block_record(m, peb);
    for (uint32_t i = 0; i < m->pebs[peb].next_page; i++) {
        fe_ppn ppn = peb * m->geo.pages_per_block + i;
        struct fe_store_oob page = page_record(m, ppn);
        fe_store_put_back_oob(m->store, ppn, &page, block.erase_count);
    }
    fe_store_set_block(m->store, peb, &block);
}

static void save_journal(struct fe_medium *m, fe_peb interrupted)
{
    struct journal j = {
        .interrupted = interrupted,
        .is_off = m->cuts.is_off,
        .is_dead = m->cuts.is_dead,
        .since = m->interrupted_since,
        .until = m->interrupted_until,
        .n = m->cuts.n,
        .n_stale = m->cuts.n_stale,
    };
    if (m->image)
        fe_store_set_control(m->store, &j, sizeof j);
}

void fe_medium_save_journal(struct fe_medium *m)
{
    save_journal(m, m->interrupted);
}

void fe_medium_end_journal(struct fe_medium *m)
{
    if (m->cuts.n)
        save_journal(m, FE_PEB_NONE);
}

static int refuse(fe_peb peb, const char *why, struct fe_err *err)
{
    return fe_err_set(err, EIO, "the image's block %u %s", peb, why);
}

/* Which block it is, what it has behind it, and how old its data are. */
static int take_extra(struct fe_medium *m, fe_peb peb, const struct fe_store_block *r,
                      struct fe_err *err)
{
    struct fe_wear *w = m->wear;
    uint32_t phys = r->extra[EXTRA_PHYS];
    if ((phys && !m->phys) || (r->extra[EXTRA_DIFFERENCE] && !w))
        return refuse(peb, "is another block of the chip, which has no reserve", err);
    if (r->extra[EXTRA_DIFFERENCE] && fe_wear_make_difference(m, err) < 0)
        return -ENOMEM;
    if (phys > m->geo.n_chip_blocks)
        return refuse(peb, "is a block that the chip does not have", err);
    m->pebs[peb].erase_count -= r->extra[EXTRA_DIFFERENCE];
    if (w && w->difference)
        w->difference[peb] = r->extra[EXTRA_DIFFERENCE];
    if (m->phys)
        m->phys[peb] = phys ? phys - 1 : peb;
    if (w && w->reads && peb < m->geo.n_pebs) {
        w->reads[peb] = r->extra[EXTRA_READS];
        w->since_ns[peb] = (uint64_t)r->extra[EXTRA_SINCE + 1] << 32 | r->extra[EXTRA_SINCE];
    }
    return 0;
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
        .failed = !!(r->flags & FLAG_FAILED),
    };
    if (peb < m->geo.n_pebs && fe_medium_is_bad(m, peb))
        return refuse(peb, "is bad, but none of those that were set aside", err);
    int e = take_extra(m, peb, r, err);
    if (e < 0)
        return e;
    while (n < m->geo.pages_per_block &&
           (pages[n].state == FE_STORE_PROGRAMMED || pages[n].state == FE_STORE_TORN)) {
        bool torn = pages[n].state == FE_STORE_TORN;
        if (!torn && pages[n].tag == FE_TAG_TORN)
            return refuse(peb, "has a programmed page that counts as torn", err);
        if (peb >= m->geo.n_pebs)
            return refuse(peb, "is a spare or bad, and has programmed pages", err);
        e = torn ? 0 : fe_wear_restore_page(m, first + n, !!(pages[n].tag & TAG_LOST),
                                            !!(pages[n].tag & TAG_SILENT), err);
        if (e < 0)
            return e;
        m->oob_lpn[first + n] = torn ? FE_LPN_NONE : pages[n].lpn;
        m->oob_seq[first + n] = torn ? 0 : pages[n].seq;
        m->oob_tag[first + n] = torn ? FE_TAG_TORN : pages[n].tag & TAG_MASK;
        m->seq = fe_max_u64(m->seq, m->oob_seq[first + n]);
        n++;
    }
    b->next_page = (uint16_t)n;
    b->slc &= n > 0; /* or the server was killed before the first page was programmed */
    if (b->slc && (fe_slc_pages(&m->geo) == 0 || n > fe_slc_pages(&m->geo)))
        return refuse(peb, "is in SLC mode and holds more than that allows", err);
    return 0;
}

/* Nothing is there of a device whose power was never cut. */
static int load_journal(struct fe_medium *m, struct fe_err *err)
{
    uint8_t control[FE_STORE_CONTROL_BYTES];
    struct journal j;
    uint32_t n = fe_store_get_control(m->store, control);
    m->interrupted = FE_PEB_NONE;
    if (n == 0)
        return 0;
    memcpy(&j, control, sizeof j);
    if (n != sizeof j || (j.interrupted >= m->geo.n_pebs && j.interrupted != FE_PEB_NONE) ||
        j.is_off > 1 || j.is_dead > j.is_off)
        return fe_err_set(err, EIO, "the image's journal of a power cut has %u bytes and names "
                          "block %u; %zu bytes and one of %u blocks were expected",
                          n, n == sizeof j ? j.interrupted : 0, sizeof j, m->geo.n_pebs);
    m->interrupted = j.interrupted;
    m->interrupted_since = j.since;
    m->interrupted_until = j.until;
    m->cuts = (struct fe_cut_log){
        .n = j.n, .n_stale = j.n_stale, .is_off = j.is_off, .is_dead = j.is_dead};
    return 0;
}

int fe_medium_load(struct fe_medium *m, struct fe_err *err)
{
    struct fe_store_oob *pages = malloc(m->geo.pages_per_block * sizeof *pages);
    struct fe_store_block block;
    int r = pages ? 0 : fe_err_nomem(err, "OOB of a block", m->geo.pages_per_block * sizeof *pages);
    for (fe_peb peb = 0; r == 0 && peb < m->geo.n_chip_blocks; peb++) {
        r = fe_store_load_block(m->store, peb, &block, pages, err);
        if (r == 0)
            r = take_block(m, peb, &block, pages, err);
        if (r == 0 && block.flags & FLAG_SLC && !m->pebs[peb].slc)
            fe_medium_save_block(m, peb); /* it may be programmed in the other mode now */
    }
    free(pages);
    if (r == 0)
        r = load_journal(m, err);
    if (r == 0 && m->trims)
        r = fe_store_load_trims(m->store, m->trims, err);
    m->seq = fe_max_u64(m->seq, fe_store_last_seq(m->store));
    if (r == 0 && m->wear)
        fe_wear_restored(m);
    return r;
}
