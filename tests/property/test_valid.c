/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The valid pages of each block, against a plain oracle: the newest copy of a logical page, by the
 * numbers in the OOB, is valid if the host has written the page and not trimmed it since.  Every
 * other page that holds data is not.
 *
 *     test_valid [--long] [--part K/N] [SEED:GEOMETRY:STRATEGY...]
 *
 * With an enhanced area, the newest copies of its pages are in blocks in SLC mode, and without an
 * SLC cache those of the others are not.
 *
 * dftl counts the pages of its table as valid, too.  Their newest copies are found in the same way,
 * but the oracle cannot know which part of the table is in use, so any of them may be valid.
 */
#include "flashemu/map.h"
#include "device/internal.h"
#include "lib/host.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STEPS = 300, EVERY = 50 };

struct oracle {
    bool *mapped;     /* per logical page */
    fe_ppn *newest;   /* per logical page and page of a table */
    uint32_t n_lpns, n_tags;
    char wrong[300];
};

/* Notes what a request does to whole logical pages. */
static void note(struct oracle *o, const struct ft_step *s, uint32_t page_bytes)
{
    uint64_t end = s->offset + s->len;
    for (uint64_t lpn = s->offset / page_bytes; lpn * page_bytes < end; lpn++) {
        bool whole = lpn * page_bytes >= s->offset && (lpn + 1) * page_bytes <= end;
        if (s->type == FE_REQ_WRITE || (s->type == FE_REQ_TRIM && !whole))
            o->mapped[lpn] = true;
        else if (s->type == FE_REQ_TRIM)
            o->mapped[lpn] = false;
    }
}

static void find_newest(struct oracle *o, const struct fe_medium *m)
{
    memset(o->newest, 0xff, o->n_tags * sizeof *o->newest);
    for (fe_ppn ppn = 0; ppn < m->geo.n_ppns; ppn++) {
        if (fe_medium_state(m, ppn) != FE_PAGE_PROGRAMMED || fe_medium_lpn(m, ppn) >= o->n_tags)
            continue;
        fe_ppn *newest = &o->newest[fe_medium_lpn(m, ppn)];
        if (*newest == FE_PPN_NONE || fe_medium_seq(m, *newest) < fe_medium_seq(m, ppn))
            *newest = ppn;
    }
}

/* Whether a page lies in a block of the mode that it must be in, by where the area is. */
static bool mode_is_right(const struct fe_device *dev, fe_lpn lpn, fe_ppn ppn)
{
    const struct fe_page_params *p = &dev->profile.ftl.page;
    uint64_t at = (uint64_t)lpn * dev->page_bytes;
    bool inside = at >= p->enhanced_start && at < p->enhanced_start + p->enhanced_size;
    bool slc = fe_medium_is_slc(dev->medium, fe_peb_of(&dev->medium->geo, ppn));
    return slc == inside || (!inside && p->slc_mode != FE_SLC_OFF);
}

/* Compares every block. */
static const char *compare(struct oracle *o, const struct fe_device *dev)
{
    const struct fe_medium *m = dev->medium;
    uint32_t n = fe_device_blocks(dev), half = n / 2;
    uint16_t *is = calloc(n, sizeof *is), *least = calloc(n, sizeof *least),
             *most = calloc(n, sizeof *most);
    find_newest(o, m);
    for (uint32_t tag = 0; tag < o->n_tags; tag++) {
        if (o->newest[tag] == FE_PPN_NONE)
            continue;
        fe_chip_block b = fe_medium_chip_block(m, fe_peb_of(&m->geo, o->newest[tag]));
        if (tag < o->n_lpns && o->mapped[tag] && !mode_is_right(dev, tag, o->newest[tag]))
            snprintf(o->wrong, sizeof o->wrong, "page %u is in the wrong mode", tag);
        least[b] += tag < o->n_lpns && o->mapped[tag];
        most[b] += tag >= o->n_lpns || o->mapped[tag];
    }
    fe_device_get_valid(dev, half, n - half, is); /* in two parts */
    fe_device_get_valid(dev, 0, half, is);
    for (uint32_t b = 0; b < n && !*o->wrong; b++)
        if (is[b] < least[b] || is[b] > most[b])
            snprintf(o->wrong, sizeof o->wrong, "block %u has %u valid pages, not %u to %u", b,
                     is[b], least[b], most[b]);
    free(is);
    free(least);
    free(most);
    return *o->wrong ? o->wrong : NULL;
}

static const char *run_steps(struct ft_host *h, struct oracle *o, uint64_t seed)
{
    struct ft_workload w;
    ft_workload_init(&w, h, seed);
    for (int i = 0; i < STEPS; i++) {
        struct ft_step s = ft_workload_next(&w, h);
        if (!ft_host_step(h, &s))
            return h->wrong;
        note(o, &s, h->dev->page_bytes);
        if (i % EVERY != EVERY - 1)
            continue;
        const struct ft_step flush = {.type = FE_REQ_FLUSH};
        if (!ft_host_step(h, &flush))
            return h->wrong;
        const char *wrong = compare(o, h->dev);
        if (wrong)
            return wrong;
    }
    return NULL;
}

static const char *run_case(const struct ft_case *given)
{
    static struct ft_host h;
    static struct oracle o;
    struct ft_case c = *given;
    c.profile.device.used = 0;
    c.profile.cache.volatile_ = true; /* a flush empties no other cache */
    if (!ft_host_init(&h, &c, c.seed, true))
        return h.wrong;
    const struct fe_medium *m = h.dev->medium;
    o = (struct oracle){.n_lpns = h.dev->ftl->n_lpns,
                        .n_tags = h.dev->ftl->n_lpns + m->geo.n_ppns};
    o.mapped = calloc(o.n_lpns, sizeof *o.mapped);
    o.newest = malloc(o.n_tags * sizeof *o.newest);
    const char *wrong = NULL;
    if (fe_device_knows_valid(h.dev) == fe_ftl_registry[c.type]->no_medium)
        wrong = "a strategy must count valid pages exactly if it uses the chip";
    else if (fe_device_knows_valid(h.dev))
        wrong = run_steps(&h, &o, c.seed);
    free(o.mapped);
    free(o.newest);
    ft_host_fini(&h);
    return wrong;
}

int main(int argc, char **argv)
{
    return ft_cases_main(argc, argv, 24, 1, run_case);
}
