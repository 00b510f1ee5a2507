/* SPDX-License-Identifier: BSD-3-Clause */
#include "lib/cases.h"

#include "ftl/ftl.h"
#include "lib/ftl_params.h"
#include "nand/wear.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define MAX_RAW_BYTES (UINT64_C(24) << 20)

static uint32_t pick(struct ft_rand *r, const uint32_t *list, size_t n)
{
    return list[ft_below(r, n)];
}
#define PICK(r, ...)                                                                         \
    pick(r, (const uint32_t[]){__VA_ARGS__}, sizeof((uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t))

/* Draws chip and unit.  Chips are small, because every invariant is checked after every step. */
static void make_shape(struct fe_profile *p, uint32_t geometry)
{
    struct ft_rand r = {.seed = 1000 + geometry};
    struct fe_nand_params *n = &p->nand;
    n->cell = PICK(&r, FE_CELL_SLC, FE_CELL_MLC, FE_CELL_TLC, FE_CELL_NOR);
    n->channels = (uint32_t)ft_between(&r, 1, 4);
    n->dies_per_channel = (uint32_t)ft_between(&r, 1, 3);
    n->planes_per_die = (uint32_t)ft_between(&r, 1, 2);
    n->multiplane = n->planes_per_die > 1 && ft_chance(&r, 60);
    n->pages_per_block = PICK(&r, 4, 5, 7, 12, 16, 33, 63, 64, 65, 96, 128, 130);
    n->page_size = PICK(&r, 512, 2048, 4096, 8192, 16384);
    uint32_t unit_blocks = (uint32_t)ft_between(&r, 1, 7), units = (uint32_t)ft_between(&r, 12, 18);
    uint32_t dies = n->channels * n->dies_per_channel, gang = n->multiplane ? n->planes_per_die : 1;
    uint64_t blocks = (uint64_t)unit_blocks * units;
    if (blocks < 6 * dies + 8)
        blocks = 6 * dies + 8;
    while (n->page_size > 512 &&
           blocks * n->pages_per_block * n->page_size * gang > MAX_RAW_BYTES)
        n->page_size /= 2;
    uint32_t planes = n->multiplane ? 1 : n->planes_per_die;
    n->blocks_per_plane = (uint32_t)((blocks + dies * planes - 1) / (dies * planes));
    n->oob_size = n->page_size / 32;
    n->page_parts = n->cell == FE_CELL_NOR ? 1 : PICK(&r, 1, 1, 1, 2, 4, 8);
    while (n->page_size / n->page_parts < 512)
        n->page_parts /= 2;
    p->ftl.unit.unit_size = (uint64_t)unit_blocks * n->pages_per_block * n->page_size * gang;
}

static void make_times(struct fe_profile *p, struct ft_rand *r)
{
    struct fe_nand_params *n = &p->nand;
    for (int i = 0; i < 3; i++) {
        n->tR_ns[i] = ft_between(r, 5000, 60000);
        n->tPROG_ns[i] = ft_between(r, 100000, 900000);
    }
    n->tBERS_ns = ft_between(r, 500000, 3000000);
    n->bus_rate = PICK(r, 0, 20000000, 133333333, 1200000000);
    n->command_ns = PICK(r, 0, 137);
    n->endurance = 1000000;
    n->cached = ft_chance(r, 40);
    n->copyback = ft_chance(r, 40);
    n->program_unit = n->cell == FE_CELL_NOR ? PICK(r, 0, 64, 512) : 0;
    p->link.type = FE_LINK_USB_HS;
    p->link.bandwidth = PICK(r, 0, 33000000, 400000000);
    p->link.command_overhead_ns = PICK(r, 0, 20000, 125000);
    p->link.max_transfer = (uint64_t)p->device.sector_size * PICK(r, 1, 3, 16, 240, 256, 100000);
    p->link.queue_depth = PICK(r, 1, 1, 1, 2, 7, 32);
    /* A strategy may copy a unit for every command.  With large units that must not happen for
     * every sector, so commands are larger there. */
    uint64_t pages = p->ftl.unit.unit_size / n->page_size, commands = 20000 / pages + 1;
    if (p->link.max_transfer < p->ftl.unit.unit_size / commands)
        p->link.max_transfer = (p->ftl.unit.unit_size / commands / 4096 + 1) * 4096;
    if (ft_chance(r, 5)) { /* a device without any delay */
        *n = (struct fe_nand_params){
            .cell = n->cell, .channels = n->channels, .dies_per_channel = n->dies_per_channel,
            .planes_per_die = n->planes_per_die, .blocks_per_plane = n->blocks_per_plane,
            .pages_per_block = n->pages_per_block, .page_size = n->page_size,
            .oob_size = n->oob_size, .page_parts = n->page_parts, .multiplane = n->multiplane,
            .endurance = n->endurance};
        p->link.bandwidth = p->link.command_overhead_ns = 0;
    }
}

static void make_plain_ftl(struct fe_ftl_params *f)
{
    *f = ft_ftl_params(f->type, f->unit.unit_size);
    f->clean.wl_threshold = 16;
    f->segment.open_linear = 2;
    f->log.log_blocks = 2;
    f->unit.copy_buffer = 8;
    f->dftl.map_cache = 1024;
}

static void make_step(struct fe_step_params *s, struct ft_rand *r)
{
    for (int write = 0; write < 2; write++) {
        struct fe_step_rule *rule = write ? &s->write : &s->read;
        rule->random_ns = ft_below(r, 5000000);
        rule->step_ns = ft_below(r, 500000);
        rule->spike_ns = ft_below(r, 9000000);
        rule->first = PICK(r, 0, 2, 5);
        rule->again = PICK(r, 0, 1, 16);
    }
}

/* An enhanced area of some pages or some blocks, not far from the beginning. */
static void draw_area(struct fe_profile *p, struct ft_rand *r, bool possible)
{
    bool is_page = p->ftl.type == (uint32_t)fe_ftl_find("page");
    struct fe_page_params *page = &p->ftl.page;
    uint64_t bytes = (uint64_t)p->nand.page_size *
                     (p->nand.multiplane ? p->nand.planes_per_die : 1);
    uint32_t pages = PICK(r, 0, 0, 1, 3, p->nand.pages_per_block, 3 * p->nand.pages_per_block);
    page->enhanced_size = possible && is_page ? bytes * pages : 0;
    page->enhanced_start = page->enhanced_size ? bytes * ft_below(r, 20) : 0;
}

/* Those that came later, so that a seed still means what it did. */
static void draw_later_options(struct fe_profile *p, struct ft_rand *r, struct ft_rand *own, bool slc)
{
    struct fe_ftl_params *f = &p->ftl;
    f->region.map_held = PICK(r, 1, 1, 2, 5);
    f->page.slc_run = f->page.slc_mode == FE_SLC_OFF ? 0 : p->nand.page_size * PICK(r, 0, 0, 1, 7);
    f->page.slc_dies = f->page.slc_mode == FE_SLC_OFF ? 0 : PICK(r, 0, 0, 1, 2);
    f->page.slc_gather = f->page.slc_run
                             ? (uint64_t)p->nand.page_size * PICK(r, 0, 0, 1, 4) : 0;
    f->segment.scattered_stay = PICK(r, 0, 0, 2, 6);
    f->page.slc_pause = f->page.slc_run && ft_chance(r, 50);
    f->region.stream_read_ns = PICK(r, 0, 0, 300000);
    draw_area(p, r, slc && p->nand.pages_per_block > 2);
    f->segment.scattered_hot = PICK(r, 0, 0, 1, 4);
    f->segment.open_units = PICK(r, 0, 0, 1, 2);
    f->segment.random_log = p->nand.page_size * PICK(r, 0, 0, 1, 5);
    if (f->segment.random_log != p->nand.page_size)
        f->segment.random_record = p->nand.page_size * PICK(own, 0, 0, 1, 3);
}

void ft_case_draw_ftl(struct fe_profile *p, struct ft_rand *r)
{
    struct fe_ftl_params *f = &p->ftl;
    struct ft_rand own = {.seed = r->seed + 1};
    make_plain_ftl(f);
    ft_ftl_draw_own(f, &own); /* a new option is drawn before it has a line here */
    f->unit.copy_page_ns = PICK(&own, 0, 0, 250000);
    f->part.rest_write_ns = PICK(&own, 0, 0, 2000000);
    f->part.rest_read_ns = PICK(&own, 0, 0, 300000);
    f->part.rest_align = p->nand.page_size * PICK(&own, 0, 1, 3);
    f->segment.end_read_ns = PICK(&own, 0, 0, 150000);
    f->clean.gc_policy = (uint32_t)ft_below(r, FE_N_GC_POLICIES);
    f->clean.gc_d = (uint32_t)ft_between(r, 1, 12);
    f->clean.gc_reserve = (uint32_t)ft_between(r, 1, 4);
    f->page.hot_cold = (uint32_t)ft_below(r, FE_N_HOT_COLDS);
    f->clean.wear_levelling = (uint32_t)ft_below(r, FE_N_WEAR_LEVELLINGS);
    f->clean.wl_threshold = (uint32_t)ft_between(r, 1, 8);
    f->clean.idle_free = PICK(r, 0, 2, 6);
    bool slc = p->nand.cell == FE_CELL_MLC || p->nand.cell == FE_CELL_TLC;
    f->page.slc_mode = slc ? (uint32_t)ft_below(r, FE_N_SLC_MODES) : FE_SLC_OFF;
    f->page.slc_blocks = f->page.slc_mode == FE_SLC_OFF ? 0 : (uint32_t)ft_between(r, 1, 6);
    f->segment.open_linear = (uint32_t)ft_between(r, 1, 3);
    f->unit.switch_merge = ft_chance(r, 70);
    f->segment.open_random = (uint32_t)ft_between(r, f->unit.switch_merge ? 0 : 1, 2);
    f->log.log_blocks = (uint32_t)ft_between(r, 1, 4);
    f->log.fast_sequential = f->log.log_blocks > 1 && ft_chance(r, 50);
    f->unit.gap_fill = PICK(r, 0, 0, 1, 5, 1000);
    f->unit.copy_buffer = PICK(r, 1, 2, 16, 1000);
    f->segment.small_log = PICK(r, 0, 0, 1, 2);
    if (f->segment.small_log) {
        f->segment.small_write = (uint64_t)p->device.sector_size * PICK(r, 0, 1, 8, 64);
        f->segment.zone_units = PICK(r, 0, 1, 2);
        f->segment.zone_start = PICK(r, 0, 0, 1, 3);
    }
    f->segment.small_pace = f->segment.small_log > 1 ? PICK(&own, 0, 1, 3) : 0;
    f->segment.small_join = ft_chance(r, 50);
    f->segment.group_units = PICK(r, 1, 1, 2, 3);
    f->segment.scattered = PICK(r, 0, 0, 1, 3);
    f->segment.group_switch = ft_chance(r, 50);
    f->region.map_region = (uint64_t)p->nand.page_size * PICK(r, 1, 4, 100);
    f->region.map_switch_ns = PICK(r, 0, 0, 900000);
    f->region.map_read_ns = PICK(r, 0, 0, 400000);
    f->segment.unit_read_ns = PICK(r, 0, 0, 200000);
    f->dftl.map_cache = PICK(r, 8, 16, 100, 1024, 1 << 20);
    make_step(&f->step, r);
    draw_later_options(p, r, &own, slc);
}

static void make_host_side(struct fe_profile *p, struct ft_rand *r, uint64_t max_bytes)
{
    struct fe_device_params *d = &p->device;
    d->discard = fe_ftl_registry[p->ftl.type]->trim && ft_chance(r, 70);
    uint64_t least = p->ftl.page.enhanced_start + p->ftl.page.enhanced_size;
    d->capacity = ft_chance(r, 40) ? max_bytes : ft_between(r, max_bytes / 2, max_bytes);
    d->capacity -= d->capacity % d->sector_size;
    if (d->capacity < least)
        d->capacity = least;
    if (d->capacity == 0)
        d->capacity = d->sector_size;
    d->used = ft_chance(r, 50) ? 0 : ft_chance(r, 50) ? d->capacity : ft_below(r, d->capacity);
    uint64_t page = (uint64_t)p->nand.page_size * (p->nand.multiplane ? p->nand.planes_per_die : 1);
    p->cache.size = page * PICK(r, 0, 0, 0, 1, 3, 17);
    p->cache.volatile_ = ft_chance(r, 60);
    p->cache.idle_flush = ft_chance(r, 60);
    p->cache.write_behind = p->cache.volatile_ ? page * PICK(r, 0, 1, 4) : 0;
    p->cache.reliable_ns = PICK(r, 0, 0, 70000);
}

bool ft_case_make(struct ft_case *c, uint64_t seed, uint32_t geometry, uint32_t type)
{
    struct ft_rand r = {.seed = fe_rng(seed, FE_RNG_TEST, geometry, type)};
    struct fe_profile *p = &c->profile;
    struct fe_geometry geo;
    *c = (struct ft_case){.seed = seed, .geometry = geometry, .type = type};
    snprintf(c->id, sizeof c->id, "%" PRIu64 ":%u:%s", seed, geometry, fe_ftl_registry[type]->name);
    snprintf(p->name, sizeof p->name, "case");
    make_shape(p, geometry);
    uint32_t page = p->nand.page_size / p->nand.page_parts *
                    (p->nand.multiplane ? p->nand.planes_per_die : 1);
    p->device.sector_size = page % 4096 == 0 && ft_chance(&r, 25) ? 4096 : 512;
    p->ftl.type = type;
    make_times(p, &r);
    ft_case_draw_ftl(p, &r);
    if (fe_geometry_init(&geo, &p->nand, NULL) < 0)
        return false;
    uint64_t n = fe_ftl_registry[type]->max_lpns(&p->ftl, &geo, NULL);
    if (n == 0) {
        make_plain_ftl(&p->ftl);
        n = fe_ftl_registry[type]->max_lpns(&p->ftl, &geo, NULL);
    }
    if (n > 0)
        make_host_side(p, &r, n * geo.page_bytes);
    return n > 0;
}

const char *ft_case_text(const struct ft_case *c, char *buf, size_t len)
{
    const struct fe_profile *p = &c->profile;
    snprintf(buf, len,
             "%u channels x %u dies x %u planes%s x %u blocks x %u pages x %u bytes in %u parts, "
             "unit %" PRIu64 ", sector %u, capacity %" PRIu64 ", used %" PRIu64
             ", cache %" PRIu64 ", max_transfer %" PRIu64 ", depth %u",
             p->nand.channels, p->nand.dies_per_channel, p->nand.planes_per_die,
             p->nand.multiplane ? " ganged" : "", p->nand.blocks_per_plane,
             p->nand.pages_per_block, p->nand.page_size, p->nand.page_parts, p->ftl.unit.unit_size,
             p->device.sector_size, p->device.capacity, p->device.used, p->cache.size,
             p->link.max_transfer, p->link.queue_depth);
    return buf;
}

static char running[128]; /* printed if the case aborts */

static void on_abort(int sig)
{
    ssize_t ignored = write(STDERR_FILENO, running, strlen(running));
    (void)ignored;
    signal(sig, SIG_DFL);
    raise(sig);
}

struct tally {
    uint32_t run, failed;
    uint32_t *refused, *made; /* per strategy */
};

static void run_case(uint64_t seed, uint32_t geometry, uint32_t type, struct tally *t,
                     const char *(*fn)(const struct ft_case *c))
{
    struct ft_case c;
    char text[400];
    if (!ft_case_make(&c, seed, geometry, type)) {
        t->refused[type]++;
        return;
    }
    t->made[type]++;
    t->run++;
    snprintf(running, sizeof running, "\nABORTED in case %s (run it alone: give this id)\n", c.id);
    const char *wrong = fn(&c);
    if (wrong) {
        t->failed++;
        fprintf(stderr, "FAILED %s: %s\n    %s\n", c.id, wrong,
                ft_case_text(&c, text, sizeof text));
    }
}

const char *ft_case_parse(const char *id, uint64_t *seed, uint32_t *geometry, uint32_t *type)
{
    char name[32];
    int n = 0;
    if (sscanf(id, "%" SCNu64 ":%" SCNu32 ":%31[a-z]%n", seed, geometry, name, &n) != 3 ||
        fe_ftl_find(name) < 0 || (id[n] != '\0' && id[n] != ':'))
        return NULL;
    *type = (uint32_t)fe_ftl_find(name);
    return id + n;
}

bool ft_part_parse(const char *text, uint32_t *part, uint32_t *parts)
{
    return sscanf(text, "%u/%u", part, parts) == 2 && *part >= 1 && *part <= *parts;
}

static bool run_named(const char *id, struct tally *t, const char *(*fn)(const struct ft_case *c))
{
    uint64_t seed;
    uint32_t geometry, type;
    const char *more = ft_case_parse(id, &seed, &geometry, &type);
    if (!more || *more) {
        fprintf(stderr, "%s: a case is SEED:GEOMETRY:STRATEGY\n", id);
        return false;
    }
    run_case(seed, geometry, type, t, fn);
    return true;
}

static bool is_set(const char *name)
{
    const char *value = getenv(name);
    return value && strcmp(value, "1") == 0;
}

uint32_t ft_seeds(uint32_t usual, uint32_t many)
{
    return is_set("FLASHEMU_LONG") ? many : is_set("FLASHEMU_SHORT") ? 1 : usual;
}

static void run_all(uint32_t n_geometries, uint32_t seeds, uint32_t part, uint32_t parts,
                    struct tally *t, const char *(*fn)(const struct ft_case *c))
{
    uint32_t i = 0;
    for (uint32_t seed = 1; seed <= seeds; seed++)
        for (uint32_t g = 0; g < n_geometries; g++)
            for (uint32_t type = 0; fe_ftl_registry[type]; type++)
                if (i++ % parts == part - 1)
                    run_case(seed, g, type, t, fn);
}

/* How many strategies refuse most shapes.  They are not really tested, so that is a failure. */
static uint32_t count_untested(const struct tally *t)
{
    uint32_t n = 0;
    for (int i = 0; fe_ftl_registry[i]; i++)
        if (t->refused[i] > t->made[i]) {
            fprintf(stderr, "%s: refuses %u of %u cases\n", fe_ftl_registry[i]->name,
                    t->refused[i], t->refused[i] + t->made[i]);
            n++;
        }
    return n;
}

int ft_cases_main(int argc, char **argv, uint32_t n_geometries, uint32_t seeds,
                  const char *(*fn)(const struct ft_case *c))
{
    bool is_long = is_set("FLASHEMU_LONG"), named = false, good = true;
    uint32_t part = 1, parts = 1, refused[64] = {0}, made[64] = {0};
    struct tally t = {.refused = refused, .made = made};
    signal(SIGABRT, on_abort);
    signal(SIGSEGV, on_abort);
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--long") == 0) {
            is_long = true;
        } else if (strcmp(argv[i], "--part") == 0 && i + 1 < argc) {
            good = ft_part_parse(argv[++i], &part, &parts);
        } else {
            named = true;
            good = run_named(argv[i], &t, fn);
        }
        if (!good) {
            fprintf(stderr,
                    "usage: %s [--long] [--part K/N] [SEED:GEOMETRY:STRATEGY...]\n",
                    argv[0]);
            return 2;
        }
    }
    if (!named) {
        run_all(n_geometries, is_long ? 6 * seeds : seeds, part, parts, &t, fn);
        t.failed += count_untested(&t);
    }
    printf("%u cases, %u failed\n", t.run, t.failed);
    return t.failed ? 1 : 0;
}
