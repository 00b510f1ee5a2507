/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The enhanced area: a range of the host's pages that always lies in blocks in SLC mode.
 *
 *     host pages     |      plain      |  area  |          plain          |
 *                             |            |                  |
 *                             +------------|------------------+
 *                                          |                  |
 *     blocks   | area: SLC mode, a pool of its own | SLC cache | all others |
 *              0                               area.end
 *
 * An area is a small page-mapped device of its own.  It has the same streams, policies and wear
 * levelling as the rest, except that no page of it goes through the SLC cache: it would gain
 * nothing there.  Its blocks never change places with the others.  So they wear as blocks in SLC
 * mode do (nand.slc_endurance), and what page_limits.c proves of the others is true of them.  No
 * page of such a block shares its cells with another one, so a power cut harms nothing that was
 * written before.
 *
 * The area has the same over-provisioning (ftl.op) of its own, or what the strategy needs for
 * its work if that is more:
 *
 *     | data of the area | op, or places, reserve and 1 |      in blocks of slc pages
 *
 * Not modelled: the general purpose partitions, the boot areas and the RPMB of an eMMC, which may
 * be enhanced as well; and that a real device can be divided only once.  Here the area belongs to
 * the profile, and an image refuses another one.
 */
#include "ftl/pages/page_core.h"

#include <errno.h>

struct fe_ftl_params fe_page_area_params(const struct fe_ftl_params *p)
{
    struct fe_ftl_params area = *p;
    area.page.slc_mode = FE_SLC_OFF;
    return area;
}

/* Blocks that hold no data of the area when all of it was written. */
static uint64_t area_kept(const struct fe_ftl_params *p, const struct fe_geometry *geo)
{
    struct fe_ftl_params area = fe_page_area_params(p);
    return fe_page_kept(&area, geo);
}

uint64_t fe_page_area_blocks(const struct fe_ftl_params *p, const struct fe_geometry *geo)
{
    uint64_t pages = p->page.enhanced_size / geo->page_bytes, slc = fe_slc_pages(geo);
    if (pages == 0)
        return 0;
    uint64_t with_op = fe_muldiv_up(pages, 1000000 + p->op_ppm, 1000000);
    return fe_max_u64(fe_div_up(with_op, slc), fe_div_up(pages, slc) + area_kept(p, geo));
}

/* The largest number of pages for which fe_page_area_blocks is at most n. */
static uint64_t pages_in_blocks(const struct fe_ftl_params *p, const struct fe_geometry *geo,
                                uint64_t n)
{
    uint64_t slc = fe_slc_pages(geo), kept = area_kept(p, geo);
    if (n <= kept)
        return 0;
    return fe_min_u64((n - kept) * slc, fe_muldiv(n * slc, 1000000, 1000000 + p->op_ppm));
}

int fe_page_area_check(const struct fe_ftl_params *p, const struct fe_geometry *geo,
                       struct fe_err *err)
{
    unsigned long long start = p->page.enhanced_start, size = p->page.enhanced_size;
    if (size == 0 && start)
        return fe_err_set(err, EINVAL,
                          "ftl.enhanced_start=%llu: there is no enhanced area with "
                          "ftl.enhanced_size=none; use 0, or a size", start);
    if (size && fe_slc_pages(geo) == 0)
        return fe_err_set(err, EINVAL,
                          "ftl.enhanced_size=%llu: only blocks of nand.cell=mlc (2 pages or more) "
                          "or tlc (3 or more) can be used in SLC mode; use none", size);
    if (start % geo->page_bytes || size % geo->page_bytes)
        return fe_err_set(err, EINVAL,
                          "ftl.enhanced_%s=%llu: must be a multiple of the flash page, %u bytes",
                          start % geo->page_bytes ? "start" : "size",
                          start % geo->page_bytes ? start : size, geo->page_bytes);
    return 0;
}

int fe_page_area_fits_chip(const struct fe_ftl_params *p, const struct fe_geometry *geo,
                           struct fe_err *err)
{
    uint64_t area = fe_page_area_blocks(p, geo), kept = fe_page_kept(p, geo);
    if (area == 0 || geo->n_pebs > area + kept)
        return 0;
    uint64_t left = geo->n_pebs > kept + 1 ? geo->n_pebs - kept - 1 : 0;
    return fe_err_set(err, EINVAL,
                      "ftl.enhanced_size=%llu: takes %llu blocks in SLC mode; of the chip's %u "
                      "the page strategy keeps %llu besides the other data, which leaves %llu; "
                      "at most %llu bytes",
                      (unsigned long long)p->page.enhanced_size, (unsigned long long)area,
                      geo->n_pebs, (unsigned long long)kept, (unsigned long long)left,
                      (unsigned long long)pages_in_blocks(p, geo, left) * geo->page_bytes);
}

int fe_page_area_fits_range(const struct fe_ftl_params *p, const struct fe_geometry *geo,
                            uint64_t n_lpns, struct fe_err *err)
{
    uint64_t start = p->page.enhanced_start, size = p->page.enhanced_size;
    uint64_t bytes = n_lpns * geo->page_bytes;
    if (size == 0 || start + size <= bytes)
        return 0;
    if (size > bytes)
        return fe_err_set(err, EINVAL,
                          "ftl.enhanced_size=%llu: is larger than the device, which has %llu bytes",
                          (unsigned long long)size, (unsigned long long)bytes);
    return fe_err_set(err, EINVAL,
                      "ftl.enhanced_start=%llu: the enhanced area would end at %llu, and the "
                      "device at %llu; at most %llu",
                      (unsigned long long)start, (unsigned long long)(start + size),
                      (unsigned long long)bytes, (unsigned long long)(bytes - size));
}
