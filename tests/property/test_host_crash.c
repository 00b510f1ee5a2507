/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A crash of the host under an image with sync=flush, for every strategy.
 *
 * A device works on an image through a host that remembers what it has not synced.  Then the host
 * crashes: the disk has any of the versions of each sector of the file that was written since
 * the last fdatasync.  The next device must return, for each sector of the device, the version
 * that was flushed last or a later one, and its invariants must hold.  Then all of this is
 * repeated with that device.
 *
 * Before half of the crashes the device loses power, if possible in the middle of an erase.  Half
 * of these devices get power back and lose it again before they are ready.
 *
 *     test_host_crash [SEED:STRATEGY]     reruns one case
 */
#include "lib/fault_io.h"
#include "lib/ftl_params.h"
#include "lib/other_host.h"
#include "lib/rand.h"

#include "flashemu/device.h"
#include "ftl/ftl.h"
#include "store/image.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PAGE = 2048, SECTOR = 512, SECTORS = 96 * 4, LATER = 64, CRASHES = 12 };

static char path[64], wrong[512];
static uint32_t n_in_erase, n_at_power_on; /* cuts, in all cases */

static bool complain(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

static bool complain(const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(wrong, sizeof wrong, fmt, ap);
    va_end(ap);
    return false;
}

struct bench {
    struct ft_io host;
    struct ft_rand rand;
    struct fe_profile profile;
    struct fe_device *dev;
    uint32_t version;
    uint32_t flushed[SECTORS];        /* the version that is promised */
    uint32_t later[SECTORS][LATER];   /* versions that may have replaced it */
    uint32_t n_later[SECTORS];
    uint32_t n_since_flush;
    bool no_promises;                 /* no FUA: power may fail before the answer */
    uint64_t erase_from_ns, erase_to_ns; /* of the latest erase */
    uint32_t n_cuts_in_erase, n_cuts_at_power_on;
};

static void make_profile(struct fe_profile *p, uint32_t type, struct ft_rand *r)
{
    bool pages = fe_ftl_registry[type]->trim;
    *p = (struct fe_profile){.name = "crash"};
    p->device = (struct fe_device_params){.capacity = SECTORS * SECTOR, .sector_size = SECTOR,
                                          .discard = pages && ft_chance(r, 50)};
    p->nand = (struct fe_nand_params){
        .cell = FE_CELL_SLC, .channels = 1, .dies_per_channel = (uint32_t)ft_between(r, 1, 2),
        .planes_per_die = 1, .blocks_per_plane = 40, .pages_per_block = 8, .page_size = PAGE,
        .oob_size = 64, .tR_ns = {25000}, .tPROG_ns = {200000}, .tBERS_ns = 1500000,
        .endurance = 1000};
    p->ftl = ft_ftl_params(type, 8 * PAGE);
    p->ftl.segment.open_linear = 2;
    p->ftl.unit.switch_merge = ft_chance(r, 50);
    p->ftl.dftl.map_cache = 128;
    p->cache = (struct fe_cache_params){.size = ft_chance(r, 50) ? 6 * PAGE : 0,
                                        .volatile_ = ft_chance(r, 50)};
    p->link = (struct fe_link_params){.type = FE_LINK_NONE, .max_transfer = 4 * PAGE,
                                      .queue_depth = 1};
}

static bool open_device(struct bench *b)
{
    struct fe_err err = {""};
    struct fe_store_file file = {.path = path, .sync = true, .io = &b->host.io};
    struct fe_device_options opt = {
        .seed = 1, .payload = true, .file = &file, .power_cuts = true};
    int r = fe_device_create(&b->dev, &b->profile, &opt, &err);
    if (r == 0 && fe_device_check(b->dev, &err) < 0) {
        fe_device_destroy(b->dev);
        b->dev = NULL;
        r = -EIO;
    }
    return r == 0 ? true : complain("no device (%d): %s", r, err.text);
}

static bool submit(struct bench *b, struct fe_request *req)
{
    struct fe_reply reply;
    if (fe_device_submit(b->dev, fe_device_now(b->dev), req, &reply) < 0)
        return complain("request %d is refused", req->type);
    if (reply.status > FE_CORRECTED)
        return complain("request %d: status %d", req->type, reply.status);
    return true;
}

static bool sync_device(struct bench *b)
{
    struct fe_store_sync sync = fe_device_sync_begin(b->dev);
    return fe_device_sync_end(b->dev, sync, fe_device_sync_run(b->dev)) == 0
               ? true
               : complain("the sync has failed");
}

static void look_for_erase(void *ctx, const struct fe_op *ops, uint32_t n)
{
    struct bench *b = ctx;
    for (uint32_t i = 0; i < n; i++)
        if (ops[i].kind == FE_OP_ERASE && ops[i].end_ns > ops[i].start_ns) {
            b->erase_from_ns = ops[i].start_ns;
            b->erase_to_ns = ops[i].end_ns;
        }
}

static void settle(struct bench *b, uint32_t s)
{
    if (b->n_later[s])
        b->flushed[s] = b->later[s][b->n_later[s] - 1];
    b->n_later[s] = 0;
}

static bool flush(struct bench *b)
{
    struct fe_request req = {.type = FE_REQ_FLUSH};
    if (!submit(b, &req) || !sync_device(b))
        return false;
    for (uint32_t s = 0; s < SECTORS; s++)
        settle(b, s);
    b->n_since_flush = 0;
    return true;
}

static void fill(uint8_t *buf, uint32_t s, uint32_t version)
{
    uint32_t words[2] = {s, version};
    for (uint32_t i = 0; i < SECTOR; i += 8)
        memcpy(buf + i, words, 8);
    if (version == 0)
        memset(buf, 0, SECTOR);
}

static bool write_or_trim(struct bench *b)
{
    static uint8_t buf[32 * SECTOR];
    bool trim = b->profile.device.discard && ft_chance(&b->rand, 10);
    uint32_t first = (uint32_t)ft_below(&b->rand, SECTORS);
    uint32_t n = (uint32_t)ft_between(&b->rand, 1, ft_chance(&b->rand, 30) ? 32 : 4);
    n = n < SECTORS - first ? n : SECTORS - first;
    struct fe_request req = {.type = trim ? FE_REQ_TRIM : FE_REQ_WRITE, .buf = buf,
                             .offset = (uint64_t)first * SECTOR, .len = (uint64_t)n * SECTOR,
                             .fua = !b->no_promises && ft_chance(&b->rand, 3)};
    uint32_t version = trim ? 0 : ++b->version;
    for (uint32_t i = 0; i < n; i++) {
        fill(buf + i * SECTOR, first + i, version);
        b->later[first + i][b->n_later[first + i]++] = version;
    }
    if (!submit(b, &req))
        return false;
    if (req.fua) {
        if (!sync_device(b))
            return false;
        for (uint32_t i = 0; i < n; i++)
            settle(b, first + i);
    }
    return ++b->n_since_flush < LATER ? true : flush(b);
}

/* Power fails in the middle of an erase, unless the workload does not lead to one. */
static bool cut_in_erase(struct bench *b)
{
    struct fe_err err = {""};
    uint64_t before_ns = fe_device_now(b->dev);
    if (!flush(b))
        return false;
    b->no_promises = true;
    b->erase_from_ns = b->erase_to_ns = 0;
    fe_device_observe(b->dev, look_for_erase, b);
    for (int i = 0; i < LATER - 1 && b->erase_to_ns <= before_ns; i++) {
        before_ns = fe_device_now(b->dev);
        if (!write_or_trim(b))
            return false;
    }
    b->no_promises = false;
    fe_device_observe(b->dev, NULL, NULL);
    uint64_t at_ns = fe_device_now(b->dev);
    if (b->erase_to_ns > before_ns)
        at_ns = b->erase_from_ns + (b->erase_to_ns - b->erase_from_ns) / 2;
    b->n_cuts_in_erase += b->erase_to_ns > before_ns;
    return fe_device_cut_power(b->dev, at_ns, &err) == 0 ? true : complain("%s", err.text);
}

static bool cut_at_power_on(struct bench *b)
{
    struct fe_err err = {""};
    uint64_t now_ns = fe_device_now(b->dev), ready_ns;
    if (fe_device_power_on(b->dev, now_ns, &ready_ns, &err) < 0)
        return complain("%s", err.text);
    b->n_cuts_at_power_on += ready_ns > now_ns;
    now_ns += ft_below(&b->rand, ready_ns - now_ns + 1);
    return fe_device_cut_power(b->dev, now_ns, &err) == 0 ? true : complain("%s", err.text);
}

static bool may_be(const struct bench *b, uint32_t s, const uint8_t *got, uint32_t *ret)
{
    uint8_t want[SECTOR];
    for (uint32_t i = 0; i <= b->n_later[s]; i++) {
        *ret = i ? b->later[s][i - 1] : b->flushed[s];
        fill(want, s, *ret);
        if (memcmp(want, got, SECTOR) == 0)
            return true;
    }
    return false;
}

static bool verify(struct bench *b)
{
    static uint8_t buf[SECTORS * SECTOR];
    struct fe_request req = {.type = FE_REQ_READ, .len = sizeof buf, .buf = buf};
    if (!submit(b, &req))
        return false;
    for (uint32_t s = 0; s < SECTORS; s++) {
        uint32_t words[2], version;
        memcpy(words, buf + s * SECTOR, 8);
        if (!may_be(b, s, buf + s * SECTOR, &version))
            return complain("sector %u is (%u, %u), flushed was %u, written since %u times", s,
                            words[0], words[1], b->flushed[s], b->n_later[s]);
        b->flushed[s] = version;
        b->n_later[s] = 0;
    }
    return true;
}

static bool run_case(struct bench *b, uint64_t seed, uint32_t type)
{
    b->rand = (struct ft_rand){.seed = seed * 1000 + type};
    make_profile(&b->profile, type, &b->rand);
    ft_io_init(&b->host);
    bool ok = open_device(b);
    for (int crash = 0; ok && crash < CRASHES; crash++) {
        b->host.log = true;
        uint64_t steps = ft_between(&b->rand, 1, 150);
        for (uint64_t i = 0; ok && i < steps; i++)
            ok = ft_chance(&b->rand, 5) ? flush(b) : write_or_trim(b);
        if (ok && ft_chance(&b->rand, 50)) {
            ok = cut_in_erase(b);
            if (ok && ft_chance(&b->rand, 50))
                ok = cut_at_power_on(b);
        }
        fe_device_destroy(b->dev);
        b->dev = NULL;
        if (!ok)
            break;
        ft_io_crash(&b->host, path, ft_rand(&b->rand));
        ft_pretend_another_host(path);
        b->host.log = ft_chance(&b->rand, 50); /* mending may be cut short, too */
        ok = open_device(b);
        if (ok && b->host.log) {
            fe_device_destroy(b->dev);
            b->dev = NULL;
            ft_io_crash(&b->host, path, ft_rand(&b->rand));
            ft_pretend_another_host(path);
            ok = open_device(b);
        }
        ok = ok && verify(b);
        b->n_since_flush = 0;
        ok = ok && flush(b); /* what was read is where the next round starts */
    }
    if (b->dev)
        fe_device_destroy(b->dev);
    ft_io_fini(&b->host);
    unlink(path);
    return ok;
}

static int run_one(struct bench *b, uint64_t seed, uint32_t type)
{
    memset(b, 0, sizeof *b);
    bool ok = run_case(b, seed, type);
    n_in_erase += b->n_cuts_in_erase;
    n_at_power_on += b->n_cuts_at_power_on;
    if (ok)
        return 0;
    printf("%" PRIu64 ":%s: %s\n", seed, fe_ftl_registry[type]->name, wrong);
    return 1;
}

int main(int argc, char **argv)
{
    struct bench *b = malloc(sizeof *b);
    uint64_t seeds = getenv("FLASHEMU_LONG") ? 200 : 12;
    int failed = 0, n = 0;
    snprintf(path, sizeof path, "/tmp/fe-host-crash-%ld", (long)getpid());
    if (!b)
        return 1;
    if (argc > 1) {
        char *name = strchr(argv[1], ':');
        int type = name ? fe_ftl_find(name + 1) : -1;
        return type < 0 ? 2 : run_one(b, strtoull(argv[1], NULL, 0), (uint32_t)type);
    }
    for (uint32_t type = 0; fe_ftl_registry[type]; type++)
        for (uint64_t seed = 1; seed <= seeds && !fe_ftl_registry[type]->no_medium; seed++, n++)
            failed += run_one(b, seed, type);
    printf("%d cases, %d crashes each, %u cuts in an erase, %u at power-on, %d failed\n", n,
           CRASHES, n_in_erase, n_at_power_on, failed);
    free(b);
    return failed > 0 || n_in_erase == 0 || n_at_power_on == 0;
}
