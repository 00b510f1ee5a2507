/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The column `used_by` of the option table tells the truth.
 *
 * Every option that depends on the strategy is changed under every strategy, on a small device
 * that gets the same requests before and after.  If the row does not name the strategy, the two
 * runs are equal in everything: operations with their times, replies, contents, statistics.  If
 * the row names it, at least one of the changes makes a difference.
 *
 * The table below has the changes.  An option that is not in it is changed to the ends of its
 * range, or to each of its names.
 *
 * The parser refuses a key that the strategy does not use, so values are put into the profile
 * behind its back.
 *
 *     test_used_by [STRATEGY|SECTION.KEY...]      all strategies and options, or only these
 */
#include "lib/rand.h"

#include "flashemu/device.h"
#include "ftl/ftl.h"
#include "nand/ops.h"
#include "profile/parse.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KIB = 1024, CAPACITY = 512 * KIB, REQUESTS = 900, REREADS = 100, N_SETTINGS = 5 };

/* A change, and what must be set before for the change to matter: "KEY=VALUE" each. */
struct change {
    const char *what;
    const char *with[N_SETTINGS];
};

#define RBER  "faults.rber:fresh=500000000"
#define SHORT "nand.endurance=4", "faults.spare_blocks=8"
#define SMALL "ftl.small_log=1", "ftl.small_write=2K"

static const struct change changes[] = {
    {"nand.cell=tlc", {"nand.tPROG=300us/600us/900us"}},
    {"nand.oob_size=0", {0}},
    {"nand.program_unit=512", {0}},
    {"nand.page_parts=4", {0}},
    {"nand.cached=yes", {0}},
    {"nand.copyback=yes", {0}},
    {"nand.tR=70us", {0}},
    {"nand.tPROG=1ms", {0}},
    {"nand.tBERS=1ms", {0}},
    {"nand.bus_rate=20MB/s", {0}},
    {"nand.command=1us", {0}},
    {"nand.endurance=2", {0}},
    {"nand.worn=read:1000%", {"nand.endurance=50"}},
    {"nand.worn:read=1000%", {"nand.endurance=50"}},
    {"nand.worn:program=1000%", {"nand.endurance=50"}},
    {"nand.worn:erase=1000%", {"nand.endurance=50"}},
    {"nand.worn:end=1000%", {SHORT}},
    {"nand.slc_tR=5us", {"ftl.slc_mode=dynamic"}},
    {"nand.slc_tPROG=1ms", {"ftl.slc_mode=dynamic"}},
    {"nand.slc_endurance=1", {"ftl.slc_mode=dynamic", SHORT}},

    {"ftl.trim_lost=yes", {0}},
    {"ftl.gc_policy=fifo", {0}},
    {"ftl.gc_d=1", {"ftl.gc_policy=d-choices"}},
    {"ftl.gc_reserve=8", {0}},
    {"ftl.idle_free=8", {0}},
    {"ftl.wear_levelling=off", {0}},
    {"ftl.wear_levelling=static", {"ftl.wear_levelling:threshold=1"}},
    {"ftl.wear_levelling:threshold=1", {"ftl.wear_levelling=static"}},
    {"ftl.hot_cold=gc", {0}},
    {"ftl.slc_mode=dynamic", {0}},
    {"ftl.slc_blocks=1", {"ftl.slc_mode=dynamic"}},
    {"ftl.slc_run=4K", {"ftl.slc_mode=dynamic"}},
    {"ftl.slc_pause=yes", {"ftl.slc_run=4K", "ftl.slc_mode=dynamic"}},
    {"ftl.slc_dies=1", {"ftl.slc_mode=dynamic"}},
    {"ftl.slc_gather=64K", {"ftl.slc_run=4K", "ftl.slc_mode=dynamic"}},
    {"ftl.enhanced_size:start=64K", {"ftl.enhanced_size=64K", "nand.blocks_per_plane=26"}},
    {"ftl.enhanced_size=64K", {"nand.blocks_per_plane=26"}},
    {"ftl.map_region=32K", {"ftl.map_switch=1ms"}},
    {"ftl.map_held=3", {"ftl.map_switch=1ms", "ftl.map_region=32K"}},
    {"ftl.map_switch=1ms", {0}},
    {"ftl.map_read=1ms", {0}},
    {"ftl.stream_read=1ms", {0}},
    {"ftl.part_write=1ms", {0}},
    {"ftl.rest_write=1ms", {0}},
    {"ftl.tail_write=1ms", {"link.max_transfer=2560"}},
    {"ftl.tail_align=64K", {"ftl.tail_write=1ms", "link.max_transfer=2560"}},
    {"ftl.rest_read=1ms", {"ftl.rest_align=64K"}},
    {"ftl.rest_align=64K", {"ftl.rest_read=1ms"}},
    {"ftl.map_cache=64", {0}},
    {"ftl.unit_size=32K", {0}},
    {"ftl.copy_buffer=1", {0}},
    {"ftl.copy_page=1ms", {0}},
    {"ftl.gap_fill=4", {0}},
    {"ftl.switch_merge=no", {0}},
    {"ftl.log_blocks=2", {0}},
    {"ftl.fast_sequential=no", {0}},
    {"ftl.open_linear=1", {0}},
    {"ftl.open_random=3", {0}},
    {"ftl.open_units=1", {0}},
    {"ftl.random_log=4K", {0}},
    {"ftl.random_record=4K", {0}},
    {"ftl.small_log=1", {"ftl.small_log=2", "ftl.small_write=8K", "ftl.unit_size=32K"}},
    {"ftl.small_write=4K", {SMALL}},
    {"ftl.small_pace=1", {"ftl.small_log=2", "ftl.small_write=8K", "ftl.unit_size=32K"}},
    {"ftl.small_join=yes", {SMALL}},
    {"ftl.zone_units:start=2", {SMALL, "ftl.zone_units=1"}},
    {"ftl.zone_units=2", {SMALL}},
    {"ftl.group_units=2", {"ftl.scattered=2"}},
    {"ftl.scattered=2", {"ftl.group_units=2"}},
    {"ftl.scattered_policy=stay:9", {"ftl.scattered=2", "ftl.group_units=2"}},
    {"ftl.scattered_policy:stay=9", {"ftl.scattered=2", "ftl.group_units=2"}},
    {"ftl.scattered_policy:fewest=1", {"ftl.scattered_policy:stay=9", "ftl.scattered=2", "ftl.group_units=2"}},
    {"ftl.group_switch=yes", {"ftl.scattered=3", "ftl.group_units=2"}},
    {"ftl.unit_read=1ms", {0}},
    {"ftl.end_read=1ms", {0}},

    {"ecc.correctable_bits=2", {RBER}},
    {"ecc.codeword_size=2K", {RBER}},
    {"ecc.retry_bits=1", {RBER}},
    {"ecc.refresh_bits=1", {RBER, "faults.spare_blocks=4"}},
    {"faults.slow_factor=20", {"faults.end_of_life=slow", "faults.fail:program=1%"}},
    {"faults.life_spread=50%", {SHORT}},
    {"faults.life_spread:shape=lognormal", {"faults.life_spread=100%", SHORT}},
    {"faults.life_spread:device=100%", {SHORT}},
    {"faults.life_spread:kind=100%", {"faults.life_spread:rank=10%", SHORT}},
    {"faults.life_spread:rank=10%", {"faults.life_spread:kind=100%", SHORT}},
    {"faults.weak_block=3", {"faults.weak_block:cycles=1", "faults.spare_blocks=8"}},
    {"faults.weak_block:cycles=1", {"faults.spare_blocks=8"}},
    {"faults.fail=program:1%", {"faults.spare_blocks=8"}},
    {"faults.fail:program=1%", {"faults.spare_blocks=8"}},
    {"faults.fail:erase=5%", {"faults.spare_blocks=8"}},
    {"faults.fail:program_number=5", {"faults.spare_blocks=8"}},
    {"faults.fail:erase_number=5", {"faults.spare_blocks=8"}},
    {"faults.rber=fresh:900000000", {0}},
    {"faults.rber:fresh=900000000", {0}},
    {"faults.rber:worn=90000000000", {SHORT}},
    {"faults.rber:retention=90000000000", {SHORT}},
    {"faults.rber:disturb=90000000000", {SHORT}},
    {"faults.cut=stale:100%", {0}},
    {"faults.cut:partner=100%", {"device.used=0"}},
    {"faults.cut:map_lost=100%", {0}},
    {"faults.cut:stale=100%", {0}},

    {"step.read_random=3ms", {0}},
    {"step.read_spike=5ms", {0}},
    {"step.read_spike:first=3", {0}},
    {"step.read_spike:limit=2", {0}},
    {"step.write_random=3ms", {0}},
    {"step.write_step=1ms", {0}},
    {"step.write_spike=5ms", {0}},
    {"step.write_spike:first=3", {0}},
    {"step.write_spike:period=2", {0}},
};

/* What every device has, whether its strategy uses it or not. */
static const char *const always[] = {
    "device.used=384K", "ftl.unit_size=64K", "ftl.copy_buffer=4", "ftl.gap_fill=1",
    "ftl.log_blocks=3", "ftl.open_linear=2", "ftl.open_random=1", "ftl.map_cache=512",
    "step.read_random=900us", "step.read_spike=400us",
    "step.read_spike:first=8", "step.read_spike:limit=32", "step.write_random=2ms", "step.write_step=300us",
    "step.write_spike=1ms", "step.write_spike:first=8", "step.write_spike:period=8",
};

static const char chip[] =
    "[device]\ncapacity = 512K\n"
    "[nand]\ncell = mlc\nchannels = 1\ndies_per_channel = 2\nblocks_per_plane = 18\n"
    "pages_per_block = 16\npage_size = 2K\noob_size = 64\ntR = 50us/60us\n"
    "tPROG = 300us/900us\ntBERS = 2ms\nbus_rate = 40MB/s\n"
    "[ftl]\ntype = page\n"
    "[link]\ntype = usb-hs\n";

static const struct fe_option *option_of(const char *setting)
{
    char key[64];
    snprintf(key, sizeof key, "%.*s", (int)strcspn(setting, "="), setting);
    const struct fe_option *o = fe_option_find(key);
    if (!o) {
        fprintf(stderr, "%s: there is no such key\n", setting);
        exit(1);
    }
    return o;
}

static void apply(struct fe_profile *p, const char *setting)
{
    struct fe_err err = {""};
    if (fe_option_parse(option_of(setting), strchr(setting, '=') + 1, p, &err) < 0) {
        fprintf(stderr, "%s: %s\n", setting, err.text);
        exit(1);
    }
    fe_times_close(&p->nand);
}

static struct fe_profile make_profile(uint32_t type)
{
    struct fe_profile p;
    struct fe_err err = {""};
    if (fe_profile_parse(&p, "chip.ini", chip, sizeof chip - 1, NULL, 0, &err) < 0) {
        fprintf(stderr, "%s\n", err.text);
        exit(1);
    }
    for (size_t i = 0; i < sizeof always / sizeof *always; i++)
        apply(&p, always[i]);
    p.ftl.type = type;
    p.device.discard = fe_ftl_registry[type]->trim != NULL;
    return p;
}

static struct fe_device *make_device(const struct fe_profile *p)
{
    struct fe_device_options opt = {.seed = 1, .payload = true, .power_cuts = true};
    struct fe_device *dev = NULL;
    return fe_device_create(&dev, p, &opt, NULL) < 0 ? NULL : dev;
}

/* Barriers take no time by themselves; what they delay is there to be seen. */
static void hash_ops(void *ctx, const struct fe_op *ops, uint32_t n)
{
    uint64_t *hash = ctx;
    for (uint32_t i = 0; i < n; i++) {
        if (ops[i].kind == FE_OP_BARRIER)
            continue;
        *hash = ft_hash_u64(*hash, ops[i].kind);
        *hash = ft_hash_u64(*hash, ops[i].ppn);
        *hash = ft_hash_u64(*hash, ops[i].start_ns);
        *hash = ft_hash_u64(*hash, ops[i].end_ns);
    }
}

/* The next request: two streams, one in steps of the page and one in steps of a sector, random
 * writes of 4 KiB, most of them to a few places, pages left out in the middle, reads and trims. */
static struct fe_request next_request(struct ft_rand *r, uint64_t at[2], bool trims, uint8_t *buf)
{
    static const uint32_t step[2] = {6 * KIB, 512};
    struct fe_request q = {.type = FE_REQ_WRITE, .len = 4 * KIB, .buf = buf};
    uint64_t kind = ft_below(r, 16), stream = kind & 1;
    if (kind < 8) { /* sometimes with a gap */
        if (at[stream] + step[stream] + 4 * KIB > CAPACITY)
            at[stream] = 0;
        if (stream == 0 && ft_chance(r, 15))
            at[0] += 4 * KIB;
        q.offset = at[stream];
        q.len = step[stream];
        at[stream] += step[stream];
    } else if (kind < 11) {
        q.offset = ft_below(r, (ft_chance(r, 70) ? CAPACITY / 4 : CAPACITY) / (4 * KIB)) * 4 * KIB;
    } else if (kind == 11 && trims) {
        q.type = FE_REQ_TRIM;
        q.offset = ft_below(r, CAPACITY / (8 * KIB)) * 8 * KIB;
    } else {
        q.type = FE_REQ_READ;
        q.len = ft_chance(r, 30) ? 96 * KIB : 4 * KIB;
        q.offset = ft_below(r, (CAPACITY - q.len) / (4 * KIB)) * 4 * KIB;
    }
    return q;
}

struct bench {
    struct fe_device *dev;
    struct ft_rand rand;
    uint64_t hash, now;
    uint8_t *buf;
};

static void submit(struct bench *b, const struct fe_request *q)
{
    struct fe_reply reply;
    if (fe_device_submit(b->dev, b->now, q, &reply) < 0)
        abort();
    b->hash = ft_hash_u64(b->hash, reply.complete_ns);
    b->hash = ft_hash_u64(b->hash, reply.status);
    if (q->type == FE_REQ_READ && reply.status <= FE_CORRECTED)
        b->hash = ft_hash(b->hash, q->buf, q->len);
    b->now = reply.complete_ns;
}

static void work(struct bench *b, bool trims)
{
    uint64_t at[2] = {0, CAPACITY / 2};
    for (int i = 0; i < REQUESTS; i++) {
        struct fe_request q = next_request(&b->rand, at, trims, b->buf);
        bool cut = i % 20 == 19; /* while the request is under way, or a little later */
        if (q.type == FE_REQ_WRITE)
            ft_fill(&b->rand, b->buf, q.len);
        if (cut)
            fe_device_plan_cut(b->dev, b->now + ft_below(&b->rand, 4000000), 0, NULL);
        submit(b, &q);
        b->now += cut ? 5000000 : ft_chance(&b->rand, 5) ? 80000000 : 0;
        fe_device_idle(b->dev, b->now);
        if (!fe_device_has_power(b->dev) &&
            fe_device_power_on(b->dev, b->now, &b->now, NULL) < 0)
            return;
    }
    for (int i = 0; i < REREADS; i++)
        submit(b, &(struct fe_request){.type = FE_REQ_READ, .len = 128 * KIB, .buf = b->buf});
}

/* Everything that can be seen of a run, in a number; 0 if there is no such device. */
static uint64_t run(const struct fe_profile *p)
{
    struct bench b = {.dev = make_device(p), .rand = {.seed = 7}, .hash = FT_HASH_START};
    struct fe_stats stats;
    if (!b.dev)
        return 0;
    b.buf = malloc(CAPACITY);
    if (!b.buf)
        abort();
    fe_device_observe(b.dev, hash_ops, &b.hash);
    work(&b, p->device.discard);
    fe_device_get_stats(b.dev, &stats);
    b.hash = ft_hash(b.hash, &stats, sizeof stats);
    fe_device_destroy(b.dev);
    free(b.buf);
    return b.hash ? b.hash : 1;
}

/* Whether the change makes a difference.  Settings that the strategy refuses are left out. */
static bool makes_difference(const struct change *c, uint32_t type)
{
    struct fe_profile p = make_profile(type);
    struct fe_profile plain = p;
    for (int i = 0; i < N_SETTINGS && c->with[i]; i++)
        apply(&p, c->with[i]);
    uint64_t before = run(&p);
    if (before == 0) {
        p = plain;
        before = run(&p);
    }
    if (before == 0) {
        fprintf(stderr, "%s: no device\n", fe_ftl_registry[type]->name);
        exit(1);
    }
    apply(&p, c->what);
    return run(&p) != before;
}

/* "KEY=VALUE" with value i of some that the option can have; false from the last on. */
static bool any_value(const struct fe_option *o, uint32_t i, char *buf, size_t len)
{
    struct fe_profile p = {.name = ""};
    char value[FE_VALUE_MAX];
    if (o->type == FE_OPT_ENUM) {
        if (!o->names[i])
            return false;
        snprintf(value, sizeof value, "%s", o->names[i]);
    } else {
        bool wide = o->type == FE_OPT_U64 || o->type >= FE_OPT_SIZE;
        void *field = (char *)&p + o->offset;
        uint64_t v = i ? o->max : o->min;
        uint32_t v32 = (uint32_t)v;
        bool yes = i;
        if (i > 1 || o->type == FE_OPT_STRING || o->type >= FE_OPT_LIES)
            return false;
        if (o->type == FE_OPT_BOOL)
            memcpy(field, &yes, sizeof yes);
        else
            memcpy(field, wide ? (void *)&v : (void *)&v32, wide ? sizeof v : sizeof v32);
        fe_option_print(o, &p, value, sizeof value);
    }
    snprintf(buf, len, "%s.%s=%s", fe_section_name(o->section), o->key, value);
    return true;
}

static int check_option(const struct fe_option *o, uint32_t type)
{
    bool used = fe_option_is_used(o, type), differs = false, listed = false;
    for (size_t i = 0; i < sizeof changes / sizeof *changes && !differs; i++)
        if (option_of(changes[i].what) == o) {
            differs = makes_difference(&changes[i], type);
            listed = true;
        }
    char what[64 + FE_VALUE_MAX];
    for (uint32_t i = 0; !listed && !differs && any_value(o, i, what, sizeof what); i++)
        differs = makes_difference(&(struct change){.what = what}, type);
    if (used == differs)
        return 0;
    const char *section = fe_section_name(o->section), *name = fe_ftl_registry[type]->name;
    if (used)
        fprintf(stderr, "%s.%s makes no difference with ftl.type=%s: give "
                "tests/property/test_used_by.c a change that does, or mend used_by in "
                "src/profile/options.c\n", section, o->key, name);
    else
        fprintf(stderr, "%s.%s makes a difference with ftl.type=%s: used_by in "
                "src/profile/options.c must name %s\n", section, o->key, name, name);
    return 1;
}

/* Whether the arguments name this strategy or option, or no other one. */
static bool is_wanted(const char *name, int argc, char **argv)
{
    bool any = false;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], name) == 0)
            return true;
        any |= !strchr(argv[i], '.') == !strchr(name, '.');
    }
    return !any;
}

int main(int argc, char **argv)
{
    int failed = 0, n = 0;
    for (uint32_t type = 0; fe_ftl_registry[type]; type++)
        for (uint32_t i = 0; i < fe_n_options; i++) {
            char key[64];
            snprintf(key, sizeof key, "%s.%s", fe_section_name(fe_options[i].section),
                     fe_options[i].key);
            if (!is_wanted(fe_ftl_registry[type]->name, argc, argv) ||
                !is_wanted(key, argc, argv) || !fe_option_depends(&fe_options[i]))
                continue;
            failed += check_option(&fe_options[i], type);
            n++;
        }
    printf("%d options of strategies, %d wrong\n", n, failed);
    return failed || n == 0 ? 1 : 0;
}
