/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Two devices with the same requests and the same power cuts.  One lets go of the bytes of pages
 * that were overwritten or trimmed, the other keeps them until their block is erased.  Whatever
 * happens, the host must not see a difference.
 *
 *     test_stale_twins [SEED...]      without: many of them
 */
#include "lib/device.h"
#include "lib/rand.h"
#include "lib/unit.h"

#include "device/internal.h"

#include <stdio.h>
#include <stdlib.h>

enum { PAGE = 512, PAGES = 256, MOST = 16, STEPS = 1500 };

struct twins {
    uint64_t seed;
    struct ft_rand r;
    struct fe_profile profile;
    struct fe_device *dev[2]; /* the second one keeps all bytes */
    uint64_t now_ns;
    uint64_t next_page; /* behind the last write */
    uint64_t n_cut; /* cuts that have taken something back, or torn it */
};

/* ---- devices ---- */

static void draw_cells(struct fe_profile *p, struct ft_rand *r, bool is_page, uint32_t dies)
{
    p->nand.cell = FE_CELL_MLC;
    for (int i = 1; i < 3; i++) {
        p->nand.tR_ns[i] = 40000;
        p->nand.tPROG_ns[i] = 600000;
    }
    if (!is_page || ft_chance(r, 40))
        return;
    p->ftl.page.slc_mode = ft_chance(r, 50) ? FE_SLC_STATIC : FE_SLC_DYNAMIC;
    p->ftl.page.slc_blocks = dies + (uint32_t)ft_below(r, 8);
    p->ftl.page.slc_run = PAGE * ft_below(r, 8);
    p->ftl.page.slc_gather = ft_chance(r, 60) ? PAGE << ft_between(r, 1, 2) : 0;
    p->ftl.page.slc_pause = ft_chance(r, 50);
}

static void draw_wear(struct fe_wear_params *w, struct ft_rand *r)
{
    static const uint32_t ends[] = {FE_EOL_READ_ONLY, FE_EOL_FULL, FE_EOL_SLOW, FE_EOL_SILENT};
    *w = (struct fe_wear_params){
        .spare_blocks = (uint32_t)ft_below(r, 12), .program_fail_ppm = ft_below(r, 5000),
        .erase_fail_ppm = ft_below(r, 50000), .end_of_life = ends[ft_below(r, 4)],
        .slow_factor = 3, .codeword_size = 512, .correctable_bits = 4};
}

/* A trim of dftl that fails at the end of life may have dropped bytes. */
static void draw_profile(struct fe_profile *p, struct ft_rand *r)
{
    static const char *const strategies[] = {"page", "page", "page", "dftl", "norlog"};
    uint64_t which = ft_below(r, 5);
    bool is_page = which < 3, is_dftl = which == 3;
    *p = ft_device_profile(strategies[which]);
    p->device.capacity = PAGES * PAGE;
    p->nand.page_size = PAGE;
    p->nand.dies_per_channel = 1u << ft_below(r, 3);
    p->nand.channels = 1u << ft_below(r, 2);
    uint32_t dies = p->nand.dies_per_channel * p->nand.channels;
    p->nand.blocks_per_plane = 160 / dies;
    p->link.queue_depth = (uint32_t)ft_between(r, 1, 8);
    p->link.max_transfer = PAGE * ft_between(r, 1, 8);
    p->ftl.clean.idle_free = (uint32_t)ft_below(r, 4);
    if (!is_page && !is_dftl) {
        p->nand.cell = FE_CELL_NOR;
    } else {
        p->nand.cached = ft_chance(r, 30);
        p->nand.copyback = ft_chance(r, 30);
        if (ft_chance(r, 50))
            draw_cells(p, r, is_page, dies);
    }
    if (is_page) {
        p->ftl.page.hot_cold = (uint32_t)ft_below(r, 3);
        if (ft_chance(r, 30)) {
            p->nand.page_parts = 2;
            p->nand.page_size = 2 * PAGE;
            p->nand.pages_per_block = 4;
        }
    }
    bool fails = ft_chance(r, 40);
    if (fails)
        draw_wear(&p->wear, r);
    p->device.discard = !(fails && is_dftl);
    if (ft_chance(r, 30)) {
        p->cache.mode = FE_CACHE_ON;
        p->cache.size = PAGE * 16;
        p->cache.volatile_ = ft_chance(r, 70);
        p->cache.idle_flush = ft_chance(r, 50);
    }
}

/* False if there is no such device. */
static bool make_twins(struct twins *t, uint64_t seed)
{
    *t = (struct twins){.seed = seed, .r = {.seed = seed}};
    draw_profile(&t->profile, &t->r);
    struct fe_device_options opt = {.seed = seed, .payload = true, .power_cuts = true};
    for (int i = 0; i < 2; i++)
        if (fe_device_create(&t->dev[i], &t->profile, &opt, NULL) < 0) {
            fe_device_destroy(t->dev[0]);
            return false;
        }
    t->dev[1]->medium->brings_back = true;
    return true;
}

/* ---- what happens to both ---- */

static void differ(const struct twins *t, const char *what)
{
    printf("seed %llu, %s: %s\n", (unsigned long long)t->seed,
           t->dev[0]->ftl->ops->name, what);
    exit(1);
}

static struct fe_reply request(struct twins *t, enum fe_req_type type, uint64_t page, uint64_t n)
{
    static uint8_t data[MOST * PAGE], got[2][MOST * PAGE];
    struct fe_reply reply[2];
    for (uint64_t i = 0; i < n && type == FE_REQ_WRITE; i++)
        memset(data + i * PAGE, (int)ft_between(&t->r, 1, 255), PAGE);
    for (int i = 0; i < 2; i++) {
        struct fe_request req = {.type = type, .offset = page * PAGE, .len = n * PAGE};
        memset(got[i], 0xee, sizeof got[i]);
        req.buf = type == FE_REQ_READ ? got[i] : type == FE_REQ_WRITE ? data : NULL;
        if (fe_device_submit(t->dev[i], t->now_ns, &req, &reply[i]) < 0)
            differ(t, "refused");
    }
    if (reply[0].status != reply[1].status || reply[0].complete_ns != reply[1].complete_ns)
        differ(t, "another reply");
    if (memcmp(got[0], got[1], sizeof got[0]) != 0)
        differ(t, "other bytes");
    return reply[0];
}

static void cut(struct twins *t)
{
    uint64_t at_ns = t->now_ns + ft_below(&t->r, 3000000);
    bool is_planned = ft_chance(&t->r, 50);
    for (int i = 0; i < 2; i++)
        (void)(is_planned ? fe_device_plan_cut(t->dev[i], at_ns, 0, NULL)
                          : fe_device_cut_power(t->dev[i], t->now_ns, NULL));
    if (!is_planned)
        t->n_cut += t->dev[0]->power.last.torn + t->dev[0]->power.last.undone > 0;
}

/* Sometimes power fails again during recovery.  Returns false if the device does not come back. */
static bool come_back(struct twins *t)
{
    uint64_t ready_ns[2];
    int r[2];
    for (int i = 0; i < 2; i++)
        r[i] = fe_device_power_on(t->dev[i], t->now_ns, &ready_ns[i], NULL);
    if (r[0] != r[1] || (r[0] == 0 && ready_ns[0] != ready_ns[1]))
        differ(t, "another power-on");
    if (r[0] < 0)
        return false;
    if (ready_ns[0] > t->now_ns && ft_chance(&t->r, 30)) {
        uint64_t at_ns = t->now_ns + ft_below(&t->r, ready_ns[0] - t->now_ns);
        for (int i = 0; i < 2; i++)
            (void)fe_device_plan_cut(t->dev[i], at_ns, 0, NULL);
    }
    if (ft_chance(&t->r, 70))
        t->now_ns = ready_ns[0];
    for (uint64_t page = 0; page < PAGES; page++)
        t->now_ns = request(t, FE_REQ_READ, page, 1).complete_ns;
    return true;
}

static void one_request(struct twins *t)
{
    uint64_t kind = ft_below(&t->r, 100), n = ft_chance(&t->r, 70) ? 1 : ft_between(&t->r, 1, 12);
    uint64_t page = ft_below(&t->r, ft_chance(&t->r, 70) ? 40 : PAGES);
    bool is_next = ft_chance(&t->r, 50), waits = ft_chance(&t->r, 40);
    enum fe_req_type type = kind < 75 ? FE_REQ_WRITE : kind < 85 ? FE_REQ_TRIM : FE_REQ_READ;
    if (type == FE_REQ_TRIM)
        n = ft_chance(&t->r, 20) ? MOST : n;
    if (type == FE_REQ_TRIM && !t->profile.device.discard)
        type = FE_REQ_READ;
    if (type == FE_REQ_WRITE && is_next)
        page = t->next_page;
    page = fe_min_u64(page, PAGES - n);
    if (type == FE_REQ_WRITE)
        t->next_page = (page + n) % PAGES;
    uint64_t complete_ns = request(t, type, page, n).complete_ns;
    t->now_ns = waits ? complete_ns : t->now_ns;
}

/* Returns how many cuts came while something was under way. */
static uint64_t run(uint64_t seed)
{
    struct twins t;
    if (!make_twins(&t, seed))
        return 0;
    for (uint32_t i = 0; i < STEPS; i++) {
        uint64_t what = ft_below(&t.r, 1000);
        if (!fe_device_has_power(t.dev[0])) {
            if (!come_back(&t))
                break;
        } else if (what < 15) {
            cut(&t);
        } else if (what < 100) {
            t.now_ns += ft_below(&t.r, 5000000);
        } else {
            one_request(&t);
        }
    }
    fe_device_destroy(t.dev[0]);
    fe_device_destroy(t.dev[1]);
    return t.n_cut;
}

int main(int argc, char **argv)
{
    uint64_t n_cut = 0, n_seeds = getenv("FLASHEMU_LONG") ? 5000 : 300;
    for (int i = 1; i < argc; i++)
        n_cut += run(strtoull(argv[i], NULL, 10));
    for (uint64_t seed = 0; seed < n_seeds && argc < 2; seed++)
        n_cut += run(seed);
    printf("%llu cuts while something was under way\n", (unsigned long long)n_cut);
    return argc < 2 && n_cut < 100; /* too few to have tried anything */
}
