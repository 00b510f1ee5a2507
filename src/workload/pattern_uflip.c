/* SPDX-License-Identifier: BSD-3-Clause
 *
 * uFLIP's micro-benchmarks (Bouganim, Jonsson, Bonnet, CIDR 2009).
 *
 * Each of the nine benchmarks varies one parameter of a baseline.  The four baselines are
 * sequential or random, reads or writes (SR, RR, SW, RW).  A pattern of this file is one run
 * with one value of the parameter; whoever wants a sweep calls it in a loop.  With request
 * number i, request size b and n = size / b blocks:
 *
 *     sequential    block i mod n                    random       block random(n)
 *     order         block i * incr mod n             (-1 reverse, 0 in place)
 *     partitioning  part i mod P, block i / P in it
 *     parallelism   process i mod D, each a baseline in its own 1/D of the region
 *     mix           first one request of base2, then `ratio` requests of base
 *     alignment     every offset + shift
 *     pause, burst  pauses in front of requests, as think time of a closed loop
 *     granularity   bs is the parameter
 *     locality      size is the parameter
 *
 * FlashIO, the authors' program, starts real processes for the parallel benchmark.  Here the
 * processes take turns in one stream of requests.  A replay with --depth D keeps D of the
 * requests in flight simultaneously.
 */
#include "workload/pattern_impl.h"

struct uflip {
    uint64_t shift, partitions, parallel, ratio, burst, pause_ns;
    int64_t incr;
    bool ordered; /* the benchmark `order` */
};

/* Whether the benchmark has this option.  Other options keep their neutral values. */
static bool takes(const struct fe_pattern *p, uint64_t bit)
{
    return p->kind->keys & bit;
}

static int uflip_init(struct fe_pattern *p, struct fe_err *err)
{
    struct uflip *s = p->state;
    const uint64_t *v = p->o.v;
    int ret = fe_pattern_region(p, err);

    if (ret < 0)
        return ret;
    s->shift = takes(p, FE_PK_BIT(SHIFT)) ? v[FE_PK_SHIFT] : 0;
    s->partitions = takes(p, FE_PK_BIT(PARTITIONS)) ? v[FE_PK_PARTITIONS] : 1;
    s->parallel = takes(p, FE_PK_BIT(PARALLEL)) ? v[FE_PK_PARALLEL] : 1;
    s->ratio = takes(p, FE_PK_BIT(RATIO)) ? v[FE_PK_RATIO] : 0;
    s->pause_ns = takes(p, FE_PK_BIT(PAUSE)) ? v[FE_PK_PAUSE] : 0;
    s->burst = takes(p, FE_PK_BIT(BURST)) ? v[FE_PK_BURST] : 1;
    s->ordered = takes(p, FE_PK_BIT(INCR));
    s->incr = s->ordered ? (int64_t)v[FE_PK_INCR] : 1;

    if (s->shift % p->env.sector_size != 0)
        return fe_pattern_bad(p, err, "shift=%llu must be a multiple of the sector size %u",
                              (unsigned long long)s->shift, p->env.sector_size);
    if (s->shift >= v[FE_PK_SIZE] || v[FE_PK_SIZE] - s->shift < v[FE_PK_BS])
        return fe_pattern_bad(p, err, "shift=%llu leaves no room for a request",
                              (unsigned long long)s->shift);
    p->n_blocks = (v[FE_PK_SIZE] - s->shift) / v[FE_PK_BS];
    if (s->partitions > p->n_blocks || s->parallel > p->n_blocks ||
        (s->ratio > 0 && p->n_blocks < 2))
        return fe_pattern_bad(p, err, "the region has only %llu blocks",
                              (unsigned long long)p->n_blocks);
    return 0;
}

static bool is_write(uint64_t base)
{
    return base == FE_BASE_SW || base == FE_BASE_RW;
}

static bool is_random(uint64_t base)
{
    return base == FE_BASE_RR || base == FE_BASE_RW;
}

/* The block, among n, of the j-th request of a baseline.  The request is record i. */
static uint64_t base_block(const struct fe_pattern *p, uint64_t base, uint64_t i, uint64_t j,
                           uint64_t n)
{
    return is_random(base) ? fe_rng_below(fe_pattern_draw(p, i, 0), n) : j % n;
}

/* i * incr mod n, in [0, n). */
static uint64_t ordered_block(uint64_t i, int64_t incr, uint64_t n)
{
    uint64_t step = incr < 0 ? (uint64_t)-incr : (uint64_t)incr;
    uint64_t block = (uint64_t)((unsigned __int128)i * step % n);
    return incr < 0 && block > 0 ? n - block : block;
}

static bool uflip_next(struct fe_pattern *p, uint64_t i, struct fe_trace_rec *rec)
{
    const struct uflip *s = p->state;
    uint64_t n = p->n_blocks, base = p->o.v[FE_PK_BASE], block;

    if (s->ratio > 0) {
        bool second = i % (s->ratio + 1) == 0;
        uint64_t turn = i / (s->ratio + 1);
        if (second) {
            base = p->o.v[FE_PK_BASE2];
            block = n / 2 + base_block(p, base, i, turn, n / 2);
        } else {
            block = base_block(p, base, i, turn * s->ratio + i % (s->ratio + 1) - 1, n / 2);
        }
        rec->stream = second ? 2 : 1;
    } else if (s->parallel > 1) {
        uint64_t share = n / s->parallel, process = i % s->parallel;
        block = process * share + base_block(p, base, i, i / s->parallel, share);
        rec->stream = (uint32_t)process + 1;
        rec->depth = (uint16_t)fe_min_u64(s->parallel, UINT16_MAX);
    } else if (s->partitions > 1) {
        uint64_t part = n / s->partitions;
        block = i % s->partitions * part + i / s->partitions % part;
    } else {
        block = s->ordered ? ordered_block(i, s->incr, n) : base_block(p, base, i, i, n);
    }
    if (i > 0 && i % s->burst == 0)
        rec->think_ns = s->pause_ns;
    rec->type = is_write(base) ? FE_REQ_WRITE : FE_REQ_READ;
    rec->offset = p->o.v[FE_PK_OFFSET] + s->shift + block * p->o.v[FE_PK_BS];
    rec->len = p->o.v[FE_PK_BS];
    return true;
}

#define KEYS (FE_PK_COMMON | FE_PK_BIT(BS) | FE_PK_BIT(OFFSET) | FE_PK_BIT(BASE))
#define KIND(name_, help_, keys_, defaults_)                                                \
    {                                                                                       \
        .name = "uflip-" name_, .help = "uFLIP: " help_, .keys = KEYS | (keys_),                  \
        .defaults = "bs=32K" defaults_, .state_size = sizeof(struct uflip),                 \
        .init = uflip_init, .next = uflip_next                                              \
    }

const struct fe_pattern_kind fe_pattern_uflip[] = {
    KIND("granularity", "a baseline with requests of bs", 0, ""),
    KIND("alignment", "a baseline shifted by `shift`", FE_PK_BIT(SHIFT), ""),
    KIND("locality", "a baseline in a region of size", 0, ",size=1M"),
    KIND("partitioning", "sequential in each of several parts in turn", FE_PK_BIT(PARTITIONS),
         ",base=sw"),
    KIND("order", "reverse, in place, or with gaps", FE_PK_BIT(INCR), ",base=sw"),
    KIND("parallelism", "several processes, each a baseline in its own part",
         FE_PK_BIT(PARALLEL), ""),
    KIND("mix", "two baselines in a ratio", FE_PK_BIT(BASE2) | FE_PK_BIT(RATIO), ",base=sw"),
    KIND("pause", "a baseline with a pause before each request", FE_PK_BIT(PAUSE), ",pause=10ms"),
    KIND("burst", "a baseline with pauses between bursts", FE_PK_BIT(PAUSE) | FE_PK_BIT(BURST),
         ""),
    {0},
};
