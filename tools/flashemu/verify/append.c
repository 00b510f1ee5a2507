/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Experiment `append`: a file grows by 256 bytes in each call until the disk is full, and each
 * call is timed.  The writes of one volume:
 *
 *   call    1    2    3    4    5    6    7    8    9 ...
 *   data    #    #    #    #    #    #    #    #    #     its sector; two calls share one
 *   new     FFD                                     FFD   a cluster of 2 KiB is linked: both
 *                                                         FATs and the directory entry
 *
 * The volume covers the whole device: a boot sector, two FATs, and 512 root entries.  It is FAT12,
 * or FAT16 if FAT12 is too small.  Nothing is written before the first call, and nothing is
 * trimmed.
 *
 * A call counts as one with a collection if the device's own number of collections has grown.  The
 * number of calls so far says how full the disk is.
 */
#include "verify/verify.h"

#include "base/num.h"

#include <errno.h>
#include <stdlib.h>

enum { SECTOR = 512, CALL = 256, CLUSTER = 2048, ROOT = 32, QUIET_BIN_US = 500, QUIET_BINS = 200 };

/* In sectors from the device's start; clusters counted from 2. */
struct volume {
    uint64_t fat[2], root, data, n_clusters;
    unsigned entry_bits;
};

struct calls {
    uint64_t n, *ns;
    bool *collected;
};

static uint64_t fat_sectors(uint64_t n_clusters, unsigned bits)
{
    return fe_div_up(fe_div_up((n_clusters + 2) * bits, 8), SECTOR);
}

/* Finds the largest number of clusters that leaves room for the FATs. */
static int lay_out(struct volume *v, uint64_t capacity, struct fe_err *err)
{
    uint64_t sectors = capacity / SECTOR, per = CLUSTER / SECTOR, n;

    if (sectors < 1 + ROOT + 2 + per)
        return fe_err_set(err, EINVAL, "%llu bytes are too few for a FAT volume",
                          (unsigned long long)capacity);
    for (v->entry_bits = 12; v->entry_bits <= 16; v->entry_bits += 4) {
        for (n = (sectors - 1 - ROOT) / per;
             n * per + 2 * fat_sectors(n, v->entry_bits) > sectors - 1 - ROOT; n--)
            ;
        if (n <= (v->entry_bits == 12 ? 4084 : 65524))
            break;
    }
    if (v->entry_bits > 16)
        return fe_err_set(err, EINVAL, "%llu bytes are too many for FAT16 with clusters of 2 KiB",
                          (unsigned long long)capacity);
    v->n_clusters = n;
    v->fat[0] = 1;
    v->fat[1] = 1 + fat_sectors(n, v->entry_bits);
    v->root = 1 + 2 * fat_sectors(n, v->entry_bits);
    v->data = v->root + ROOT;
    return 0;
}

static int write_sector(struct fe_device *dev, uint64_t sector, uint64_t *sum_ns,
                        struct fe_err *err)
{
    uint64_t ns = 0;
    int r = verify_request(dev, FE_REQ_WRITE, sector * SECTOR, SECTOR, &ns, err);

    *sum_ns += ns;
    return r;
}

static int append(struct fe_device *dev, const struct volume *v, uint64_t at, uint64_t *ns,
                  struct fe_err *err)
{
    uint64_t entry = (2 + at / CLUSTER) * v->entry_bits / 8 / SECTOR;

    *ns = 0;
    int r = write_sector(dev, v->data + at / SECTOR, ns, err);
    for (int i = 0; i < 2 && r == 0 && at % CLUSTER == 0; i++)
        r = write_sector(dev, v->fat[i] + entry, ns, err);
    if (r == 0 && at % CLUSTER == 0)
        r = write_sector(dev, v->root, ns, err);
    return r;
}

static int make_calls(struct fe_device *dev, struct calls *c, struct fe_err *err)
{
    struct volume v = {0};
    struct fe_stats stats;

    int r = lay_out(&v, fe_device_capacity(dev), err);
    if (r < 0)
        return r;
    c->n = v.n_clusters * (CLUSTER / CALL);
    c->ns = calloc(c->n, sizeof *c->ns);
    c->collected = calloc(c->n, sizeof *c->collected);
    if (!c->ns || !c->collected)
        return fe_err_nomem(err, "timed calls", c->n * (sizeof *c->ns + sizeof *c->collected));
    fe_device_get_stats(dev, &stats);
    for (uint64_t i = 0, before = stats.ftl.gc_runs; i < c->n && r == 0; i++) {
        r = append(dev, &v, i * CALL, &c->ns[i], err);
        fe_device_get_stats(dev, &stats);
        c->collected[i] = stats.ftl.gc_runs > before;
        before = stats.ftl.gc_runs;
    }
    return r;
}

/* The calls in [from, to) with a collection, or those without one: how many there are, how many of
 * them took less than below_ns, and how long all of them took together. */
struct share {
    uint64_t n, below, sum_ns;
};

static struct share share_of(const struct calls *c, uint64_t from, uint64_t to, bool collected,
                             uint64_t below_ns)
{
    struct share s = {0};

    for (uint64_t i = from; i < to; i++)
        if (c->collected[i] == collected) {
            s.n++;
            s.below += c->ns[i] < below_ns;
            s.sum_ns += c->ns[i];
        }
    return s;
}

/* Reports every figure, as if it had been asked for with the arguments of the run.  No row takes a
 * figure whose arguments are of another kind (verify_put). */
static void put_figures(struct verify_run *run, const struct calls *c)
{
    const uint64_t million = 1000000, *arg = run->arg;
    uint64_t from = fe_muldiv(c->n, fe_min_u64(arg[0], million), million);
    uint64_t to = fe_muldiv(c->n, fe_min_u64(arg[1], million), million);
    struct share quiet = share_of(c, 0, c->n, false, arg[0]);
    struct share all = share_of(c, 0, c->n, true, 0), some = share_of(c, from, to, true, 0);

    verify_put(run, "append-collections", all.n);
    if (quiet.n) {
        verify_put(run, "append-quiet", quiet.sum_ns / quiet.n);
        verify_put(run, "append-quiet-share", fe_muldiv(quiet.below, million, quiet.n));
    }
    if (some.n) {
        verify_put(run, "append-collect", some.sum_ns / some.n);
        verify_put(run, "append-period", (to - from + some.n / 2) / some.n);
    }
}

/* For pictures: the number and the ms of each call with a collection, and how many of the other
 * calls took 0 to 0.5 ms, 0.5 to 1 ms, and so on. */
static int put_details(struct verify_run *run, const struct calls *c, struct fe_err *err)
{
    json_t *collections = json_array(), *quiet = json_array();
    uint64_t bins[QUIET_BINS] = {0}, used = 0;
    int bad = 0;

    for (uint64_t i = 0; i < c->n; i++)
        if (c->collected[i]) {
            bad |= json_array_append_new(collections, json_pack("[I, f]", (json_int_t)i,
                                                                (double)c->ns[i] / 1e6));
        } else {
            uint64_t bin = fe_min_u64(c->ns[i] / (1000 * QUIET_BIN_US), QUIET_BINS - 1);
            bins[bin]++;
            used = fe_max_u64(used, bin + 1);
        }
    for (uint64_t i = 0; i < used; i++)
        bad |= json_array_append_new(quiet, json_integer((json_int_t)bins[i]));
    verify_detail(run, "calls", (double)c->n);
    verify_detail(run, "quiet_bin_ms", QUIET_BIN_US / 1e3);
    bad |= json_object_set_new(run->details, "collections", collections);
    bad |= json_object_set_new(run->details, "quiet", quiet);
    return bad ? fe_err_nomem(err, "details of calls", c->n) : 0;
}

int verify_append(struct verify_run *run, struct fe_err *err)
{
    struct calls c = {0};
    struct fe_device *dev;

    int r = verify_device(run, &dev, err);
    if (r < 0)
        return r;
    r = make_calls(dev, &c, err);
    if (r == 0) {
        put_figures(run, &c);
        if (!run->procedure->args[0].key)
            r = put_details(run, &c, err);
    }
    free(c.ns);
    free(c.collected);
    fe_device_destroy(dev);
    return r;
}
