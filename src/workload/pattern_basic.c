/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Sequential, uniformly random, Zipf and hot/cold access to a region of equal blocks.
 *
 * The region consists of blocks of bs bytes, counted from its offset.  A rest at its end that is
 * smaller than a block is never touched.  Sequential access wraps around.
 *
 *     sequential   0 1 2 3 ...
 *     random       each block equally likely
 *     zipf         rank r is the block (r * step + shift) mod n, so that popular blocks are
 *                  spread over the region
 *     hotcold      | hot: fraction of the blocks, share of the requests | cold |
 */
#include "workload/pattern_impl.h"

#include "workload/zipf.h"

static bool sequential_next(struct fe_pattern *p, uint64_t i, struct fe_trace_rec *rec)
{
    fe_pattern_block(p, i, i % p->n_blocks, rec);
    return true;
}

static bool random_next(struct fe_pattern *p, uint64_t i, struct fe_trace_rec *rec)
{
    fe_pattern_block(p, i, fe_rng_below(fe_pattern_draw(p, i, 0), p->n_blocks), rec);
    return true;
}

struct zipf {
    struct fe_zipf zipf;
    uint64_t step, shift; /* rank r is block (r * step + shift) mod n_blocks */
};

static uint64_t gcd(uint64_t a, uint64_t b)
{
    while (b != 0) {
        uint64_t t = a % b;
        a = b;
        b = t;
    }
    return a;
}

static int zipf_init(struct fe_pattern *p, struct fe_err *err)
{
    struct zipf *s = p->state;
    int ret = fe_pattern_region(p, err);

    if (ret < 0)
        return ret;
    fe_zipf_init(&s->zipf, p->n_blocks, (double)p->o.v[FE_PK_THETA] / 1e6);
    s->step = 1;
    if (p->o.v[FE_PK_SCATTER] && p->n_blocks > 2) {
        /* A step near the golden section keeps neighbouring ranks far apart.  The step must
         * have no divisor in common with n_blocks, or it would not reach every block. */
        s->step = fe_muldiv(p->n_blocks, 618034, 1000000);
        while (gcd(s->step, p->n_blocks) != 1)
            s->step++;
        s->shift = fe_rng_below(fe_pattern_draw(p, UINT64_MAX, 0), p->n_blocks);
    }
    return 0;
}

/* The source of randomness of one record, for fe_zipf_sample. */
struct draw_of {
    const struct fe_pattern *p;
    uint64_t i;
};

static uint64_t draw(const void *ctx, uint64_t attempt)
{
    const struct draw_of *d = ctx;
    return fe_pattern_draw(d->p, d->i, attempt);
}

static bool zipf_next(struct fe_pattern *p, uint64_t i, struct fe_trace_rec *rec)
{
    const struct zipf *s = p->state;
    struct draw_of d = {p, i};
    uint64_t rank = fe_zipf_sample(&s->zipf, draw, &d);
    uint64_t block = (uint64_t)(((unsigned __int128)rank * s->step + s->shift) % p->n_blocks);

    fe_pattern_block(p, i, block, rec);
    return true;
}

struct hotcold {
    uint64_t n_hot; /* blocks [0, n_hot) are hot */
};

static int hotcold_init(struct fe_pattern *p, struct fe_err *err)
{
    struct hotcold *s = p->state;
    int ret = fe_pattern_region(p, err);

    if (ret < 0)
        return ret;
    s->n_hot = fe_max_u64(1, fe_muldiv(p->n_blocks, p->o.v[FE_PK_FRACTION], 1000000));
    if (s->n_hot == p->n_blocks)
        return fe_pattern_bad(p, err, "the region needs at least 2 blocks");
    return 0;
}

static bool hotcold_next(struct fe_pattern *p, uint64_t i, struct fe_trace_rec *rec)
{
    const struct hotcold *s = p->state;
    bool hot = fe_rng_below(fe_pattern_draw(p, i, 0), 1000000) < p->o.v[FE_PK_SHARE];
    uint64_t bits = fe_pattern_draw(p, i, 1);

    fe_pattern_block(p, i,
                     hot ? fe_rng_below(bits, s->n_hot)
                         : s->n_hot + fe_rng_below(bits, p->n_blocks - s->n_hot),
                     rec);
    return true;
}

#define KEYS (FE_PK_COMMON | FE_PK_BIT(OP) | FE_PK_BIT(BS) | FE_PK_BIT(OFFSET) | FE_PK_BIT(READS))

/* More keys than KEYS; state: the pattern's own, in bytes. */
#define KIND(name_, help_, keys_, state_, init_, next_)                                  \
    {                                                                                    \
        .name = name_, .help = help_, .keys = KEYS | (keys_), .state_size = state_,      \
        .init = init_, .next = next_                                                     \
    }

const struct fe_pattern_kind fe_pattern_basic[] = {
    KIND("sequential", "block after block, then again from the first", 0, 0, fe_pattern_region,
         sequential_next),
    KIND("random", "uniformly random blocks", 0, 0, fe_pattern_region, random_next),
    KIND("zipf", "few blocks often, many rarely: Zipf's law", FE_PK_BIT(THETA) | FE_PK_BIT(SCATTER),
         sizeof(struct zipf), zipf_init, zipf_next),
    KIND("hotcold", "a share of the requests to a fraction of the blocks, uniform in both parts",
         FE_PK_BIT(SHARE) | FE_PK_BIT(FRACTION), sizeof(struct hotcold), hotcold_init, hotcold_next),
    {0},
};
