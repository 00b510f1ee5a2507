/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The devices of the crash tests.  Their chips have 36 to 52 blocks.  That is small enough to cut
 * power at every operation, and large enough for cleaning to matter.  The geometry number decides
 * the shape of the chip and whether the chip wears out.  The seed decides the rest.
 */
#include "crash/bench.h"

#include "ftl/ftl.h"
#include "lib/cases.h"
#include "nand/wear.h"

#include <stdio.h>

enum { SECTOR = 512 };

static const struct shape {
    uint32_t channels, dies_per_channel, planes, pages_per_block;
    bool multiplane;
} shapes[FT_CRASH_SHAPES] = {
    {1, 1, 1, 4, false}, {1, 2, 1, 6, false}, {1, 3, 1, 5, false}, {2, 2, 1, 4, false},
    {1, 2, 1, 8, false}, {1, 1, 1, 7, false}, {2, 2, 1, 6, false}, {1, 2, 1, 9, false},
    {1, 1, 2, 6, true},  {2, 1, 2, 5, true},  {4, 1, 1, 4, false}, {1, 2, 2, 6, false},
};

static void make_chip(struct fe_nand_params *n, struct ft_rand *r, const struct shape *s)
{
    static const uint32_t cells[] = {FE_CELL_SLC, FE_CELL_MLC, FE_CELL_TLC, FE_CELL_NOR};
    uint32_t dies = s->channels * s->dies_per_channel, planes = s->multiplane ? 1 : s->planes;
    n->cell = cells[ft_below(r, 4)];
    n->channels = s->channels;
    n->dies_per_channel = s->dies_per_channel;
    n->planes_per_die = s->planes;
    n->multiplane = s->multiplane;
    n->pages_per_block = s->pages_per_block;
    n->page_size = 512u << ft_below(r, s->multiplane ? 2 : 3);
    n->blocks_per_plane = (36 + 4 * dies) / (dies * planes);
    n->oob_size = 16;
    for (int i = 0; i < 3; i++) {
        n->tR_ns[i] = 25000;
        n->tPROG_ns[i] = ft_between(r, 200000, 900000);
    }
    n->tBERS_ns = ft_between(r, 500000, 3000000);
    n->bus_rate = ft_chance(r, 50) ? 20000000 : 0;
    n->cached = ft_chance(r, 40);
    n->copyback = ft_chance(r, 40);
    n->endurance = 1000000;
    struct ft_rand own = {.seed = r->seed + 1};
    n->page_parts = n->cell == FE_CELL_NOR ? 1 : 1u << ft_below(&own, 2);
    n->page_size *= n->page_parts;
}

/* Programs and erases fail so often that the few spare blocks are soon used up. */
static void make_wear(struct fe_wear_params *w, struct ft_rand *r)
{
    static const uint32_t ends[] = {FE_EOL_READ_ONLY, FE_EOL_READ_ONLY, FE_EOL_READ_ONLY,
                                    FE_EOL_FULL, FE_EOL_DEAD, FE_EOL_SLOW, FE_EOL_SILENT};
    *w = (struct fe_wear_params){
        .spare_blocks = 3, .program_fail_ppm = 6000, .erase_fail_ppm = 20000, .slow_factor = 2,
        .codeword_size = SECTOR, .end_of_life = ends[ft_below(r, 7)]};
}

static void make_host_side(struct fe_profile *p, struct ft_rand *r, uint64_t page_bytes,
                           uint64_t n_pages)
{
    static const uint64_t partner[] = {0, 0, 300000, 1000000};
    bool trims = fe_ftl_registry[p->ftl.type]->trim;
    p->device.capacity = n_pages * page_bytes;
    p->device.discard = trims && ft_chance(r, 70);
    p->device.used = ft_chance(r, 60) ? p->device.capacity : 0;
    p->ftl.trim_lost = p->device.discard && ft_chance(r, 30);
    p->cache.size = page_bytes * (ft_chance(r, 50) ? ft_between(r, 1, 4) : 0);
    p->cache.volatile_ = !ft_chance(r, 20);
    p->cache.idle_flush = ft_chance(r, 50);
    p->power.partner_ppm = partner[ft_below(r, 4)];
    p->link = (struct fe_link_params){.bandwidth = 40000000, .command_overhead_ns = 1000,
                                      .max_transfer = 8192, .queue_depth = 1};
    p->link.queue_depth = ft_chance(r, 50) ? 1 : 4;
    static const uint32_t queues[] = {FE_QUEUE_IN_ORDER, FE_QUEUE_ANY_ORDER, FE_QUEUE_IN_TURN};
    p->link.queue = queues[ft_below(r, 3)];
    p->link.read_buffer = page_bytes * ft_below(r, 3);
    p->link.turn_read = page_bytes * ((p->link.read_buffer / page_bytes + 1) % 3);
    if (p->cache.volatile_ && ft_chance(r, 40))
        p->cache.write_behind = page_bytes * ft_between(r, 1, 6);
    p->cache.reliable_ns = ft_chance(r, 25) ? 300000 : 0;
}

bool ft_crash_profile(struct fe_profile *p, uint64_t seed, uint32_t geometry, uint32_t type)
{
    struct ft_rand r = {.seed = fe_rng(seed, FE_RNG_TEST, geometry, type)};
    struct fe_geometry geo;
    *p = (struct fe_profile){.name = "crash"};
    p->device.sector_size = SECTOR;
    p->ftl.type = type;
    make_chip(&p->nand, &r, &shapes[geometry % FT_CRASH_SHAPES]);
    if (geometry >= FT_CRASH_SHAPES)
        make_wear(&p->wear, &r);
    if (fe_geometry_init(&geo, &p->nand, NULL) < 0 ||
        fe_geometry_reserve(&geo, fe_wear_reserve(&p->wear, &geo), NULL) < 0)
        return false;
    for (int tries = 0; tries < 20; tries++) {
        p->ftl.unit.unit_size =
            (uint64_t)geo.pages_per_block * geo.page_bytes * ft_between(&r, 1, 3);
        ft_case_draw_ftl(p, &r);
        p->ftl.dftl.map_cache = 8 * ft_between(&r, 1, 20);
        uint64_t n = fe_ftl_registry[type]->max_lpns(&p->ftl, &geo, NULL);
        if (n == 0)
            continue;
        make_host_side(p, &r, geo.page_bytes, n);
        return true;
    }
    return false;
}
