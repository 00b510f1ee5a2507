/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Sticks worn to death in virtual time.
 *
 *   host bytes until the first refused write = endurance x bytes of the blocks / WAF
 *
 * That holds if wear is levelled, whatever the host writes.  If nothing moves the cold data, and
 * the host writes only a small part of the device, the stick lives for a much shorter time.  The
 * WAF in the formula is the measured one: the test is about whether every cycle of every block
 * was used.
 *
 * Writes that stay in an enhanced area use up the area's blocks, for the endurance and with the
 * pages of SLC mode; writes that stay outside use up the others.
 */
#include "lib/rand.h"

#include "flashemu/device.h"
#include "ftl/ftl.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define PAGE 512u

static int n_failed;

static struct fe_profile make_profile(uint32_t levelling)
{
    struct fe_profile p = {.name = "worn"};
    p.nand = (struct fe_nand_params){
        .cell = FE_CELL_SLC, .channels = 1, .dies_per_channel = 2, .planes_per_die = 1,
        .blocks_per_plane = 65, .pages_per_block = 16, .page_size = PAGE, .oob_size = 16,
        .tR_ns = {25000}, .tPROG_ns = {200000}, .tBERS_ns = 1500000, .endurance = 1000};
    p.device.sector_size = PAGE;
    p.ftl = (struct fe_ftl_params){.type = (uint32_t)fe_ftl_find("page"),
                                   .op_ppm = 200000,
                                   .clean.gc_d = 10,
                                   .clean.gc_reserve = 2,
                                   .clean.wear_levelling = levelling,
                                   .clean.wl_threshold = 8,
                                   .unit.copy_buffer = 2,
                                   .dftl.map_cache = 64,
                                   .unit.unit_size = 16 * PAGE,
                                   .log.log_blocks = 2};
    p.link = (struct fe_link_params){.type = FE_LINK_NONE, .max_transfer = PAGE, .queue_depth = 1};
    p.wear = (struct fe_wear_params){.spare_blocks = 2, .codeword_size = 512};
    return p;
}

/* What is written: all pages of [first, first + pages) once, then any of the first `hot` ones. */
struct work {
    uint64_t first, pages, hot;
};

/* Does this work until a write is refused.  Returns how much was written, as a share of what
 * `cycles` cycles of so many pages are good for. */
static double wear_out(const char *name, const struct fe_profile *profile, struct work w,
                       uint64_t cycles, uint64_t chip_pages)
{
    struct fe_profile p = *profile;
    struct fe_device_options opt = {.seed = 1};
    struct fe_device *dev = NULL;
    struct fe_err err = {""};
    struct ft_rand r = {.seed = 42};
    struct fe_reply reply = {.status = FE_OK};
    struct fe_stats s;
    if (fe_device_create(&dev, &p, &opt, &err) < 0) {
        fprintf(stderr, "%s\n", err.text);
        exit(1);
    }
    uint64_t n = 0;
    while (reply.status == FE_OK) {
        uint64_t page = w.first + (n < w.pages ? n : ft_below(&r, w.hot));
        struct fe_request req = {.type = FE_REQ_WRITE, .offset = page * PAGE, .len = PAGE};
        if (fe_device_submit(dev, reply.complete_ns, &req, &reply) < 0)
            abort();
        n++;
    }
    fe_device_get_stats(dev, &s);
    double waf = (double)s.nand.bytes_programmed / (double)(n * PAGE);
    double want = (double)cycles * (double)chip_pages * PAGE / waf;
    double share = (double)(n * PAGE) / want;
    printf("%-34s %8.1f MB of the host, WAF %.3f, endurance x bytes / WAF = %8.1f MB: %.4f; "
           "erases %llu to %llu, grown bad %llu\n",
           name, (double)(n * PAGE) / 1e6, waf, want / 1e6, share, (unsigned long long)s.wear.min,
           (unsigned long long)s.wear.max, (unsigned long long)s.bad_grown);
    if (reply.status != FE_READ_ONLY || s.bad_grown != 3) {
        fprintf(stderr, "%s: ended with status %d and %llu bad blocks\n", name, reply.status,
                (unsigned long long)s.bad_grown);
        n_failed++;
    }
    fe_device_destroy(dev);
    return share;
}

/* Writes a part of the device, the first `percent` of it, again and again. */
static double live(const char *name, uint32_t levelling, uint64_t percent)
{
    struct fe_profile p = make_profile(levelling);
    uint64_t pages = fe_muldiv(130 * 16 - 2 * 16, 1000000, 1000000 + p.ftl.op_ppm);
    struct work all = {.pages = pages, .hot = pages * percent / 100};
    return wear_out(name, &p, all, 1000, 128 * 16);
}

/* An area of 240 pages: 37 blocks of 8 pages, since 30 hold the data, 3 are open, 3 in reserve and
 * 1 is to spare.  91 blocks of 16 pages are left. */
enum { AREA = 240, AREA_BLOCKS = 37 };

static double live_beside_area(const char *name, bool inside)
{
    struct fe_profile p = make_profile(FE_WEAR_STATIC);
    p.nand.cell = FE_CELL_MLC;
    p.nand.tR_ns[1] = p.nand.tR_ns[2] = p.nand.tR_ns[0];
    p.nand.tPROG_ns[1] = p.nand.tPROG_ns[2] = p.nand.tPROG_ns[0];
    p.nand.endurance = 300;
    p.nand.slc_endurance = 1500;
    p.ftl.page.enhanced_size = AREA * PAGE;
    struct work area = {.pages = AREA, .hot = AREA}, others = {AREA, 1000, 1000};
    return inside ? wear_out(name, &p, area, 1500, AREA_BLOCKS * 8)
                  : wear_out(name, &p, others, 300, (128 - AREA_BLOCKS) * 16);
}

static void expect(const char *name, double got, double least, double most)
{
    if (got >= least && got <= most)
        return;
    fprintf(stderr, "%s: %.4f of the lifetime, wanted %.2f to %.2f\n", name, got, least, most);
    n_failed++;
}

int main(void)
{
    static const uint64_t percents[] = {100, 30, 5};
    char name[64];
    for (size_t i = 0; i < sizeof percents / sizeof *percents; i++) {
        snprintf(name, sizeof name, "static levelling, %u %% written", (unsigned)percents[i]);
        expect(name, live(name, FE_WEAR_STATIC, percents[i]), 0.97, 1.03);
    }
    expect("no levelling, 5 % written", live("no levelling, 5 % written", FE_WEAR_OFF, 5), 0, 0.5);
    expect("dynamic levelling, 5 % written",
           live("dynamic levelling, 5 % written", FE_WEAR_DYNAMIC, 5), 0, 0.5);
    expect("in the enhanced area", live_beside_area("in the enhanced area", true), 0.97, 1.03);
    expect("outside of it", live_beside_area("outside of it", false), 0.97, 1.03);
    return n_failed ? 1 : 0;
}
