/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The accesses of flashbench (Arnd Bergmann), request for request.
 *
 *     align (-a)     For each power of two, from the largest that fits down to 2 * bs, and
 *                    `rounds` times each: 7 reads in front of a multiple of the power of two,
 *                    7 reads across one, and 7 reads behind one.
 *     open-au (-O)   For each chunk size, from erasesize down to bs: chunk after chunk of an
 *                    allocation unit.  Each chunk is written in open-au-nr units, which are 12
 *                    erase sizes apart, before the next chunk follows.
 *     find-fat (-f)  For each chunk size: the first fat-nr units, one unit after the other.
 *     scatter (-s)   `rounds` times 2^scatter-order reads in LFSR order.
 *
 * A position behind the end of the device wraps around, as in flashbench.  A request across the
 * end becomes two requests.
 *
 * `stream` of a record says to which line of flashbench's output the request belongs, so that
 * a recorded replay can be summed up in the same way.  For open-au and find-fat it is the chunk
 * size (1 is the largest).  For align it is 3 * step + 1 in front, + 2 across and + 3 behind.
 */
#include "workload/pattern_impl.h"

#include "workload/lfsr.h"

/* A walk over all numbers below n, in order or in LFSR order. */
struct walk {
    uint64_t n, done;
    uint32_t pos;
    unsigned bits; /* 0 = in order */
};

static void walk_start(struct walk *w, uint64_t n, bool random)
{
    *w = (struct walk){.n = n, .bits = random ? fe_lfsr_bits(n) : 0};
}

/* Goes to the next number.  Returns false if all n have been visited. */
static bool walk_next(struct walk *w)
{
    if (w->done == w->n)
        return false;
    if (w->bits == 0) {
        w->pos = (uint32_t)w->done;
    } else {
        do
            w->pos = fe_lfsr_next(w->pos, w->bits);
        while (w->pos >= w->n);
    }
    w->done++;
    return true;
}

struct flashbench {
    uint64_t rest_len;      /* second part of a request that crossed the end; 0 = none */
    struct fe_trace_rec rest;
    /* align */
    uint64_t max_align, align;
    uint32_t step, round, place, i;
    /* open-au, find-fat */
    uint64_t chunk, base;
    uint32_t level;
    struct walk outer, inner;
    /* scatter */
    uint32_t pos;
};

enum { N_POSITIONS = 7, AU_STRIDE = 12 };

/* Fills *rec with an access of len bytes at pos modulo the device.  What crosses the end is kept
 * for take_rest.  Returns true. */
static bool emit(struct fe_pattern *p, enum fe_req_type type, uint64_t pos, uint64_t len,
                 uint32_t stream, struct fe_trace_rec *rec)
{
    struct flashbench *s = p->state;
    uint64_t size = p->o.v[FE_PK_SIZE];

    rec->type = (uint8_t)type;
    rec->offset = pos % size;
    rec->len = fe_min_u64(len, size - rec->offset);
    rec->stream = stream;
    s->rest_len = len - rec->len;
    if (s->rest_len) {
        s->rest = *rec;
        s->rest.offset = 0;
        s->rest.len = s->rest_len;
    }
    return true;
}

/* Fills *rec with the second part of the last access.  Returns false if there is none. */
static bool take_rest(struct fe_pattern *p, struct fe_trace_rec *rec)
{
    struct flashbench *s = p->state;

    if (s->rest_len == 0)
        return false;
    s->rest_len = 0;
    *rec = s->rest;
    return true;
}

/* Settles the region.  flashbench works on the whole device, whatever its offset is, and runs to
 * its own end.  `longest`: bytes of the longest access. */
static int whole_device(struct fe_pattern *p, uint64_t longest, struct fe_err *err)
{
    uint64_t offset = p->o.v[FE_PK_OFFSET];

    p->o.v[FE_PK_OFFSET] = 0;
    int ret = fe_pattern_region(p, err);
    p->o.v[FE_PK_OFFSET] = offset;
    if (ret < 0)
        return ret;
    if (offset % p->env.sector_size != 0 || longest > p->o.v[FE_PK_SIZE])
        return fe_pattern_bad(p, err, "offset=%llu must be whole sectors of %u bytes, and %llu "
                                      "bytes must fit the device of %llu",
                              (unsigned long long)offset, p->env.sector_size,
                              (unsigned long long)longest,
                              (unsigned long long)p->o.v[FE_PK_SIZE]);
    if (!(p->o.given & FE_PK_BIT(COUNT)))
        p->o.v[FE_PK_COUNT] = 0;
    return 0;
}

/* --- align --- */

static int align_init(struct fe_pattern *p, struct fe_err *err)
{
    struct flashbench *s = p->state;
    uint64_t bs = p->o.v[FE_PK_BS];
    int ret = whole_device(p, bs, err);

    if (ret < 0)
        return ret;
    if (bs / 2 % p->env.sector_size != 0)
        return fe_pattern_bad(p, err, "bs=%llu: half of it must be whole sectors of %u bytes",
                              (unsigned long long)bs, p->env.sector_size);
    s->max_align = bs * 2;
    while (s->max_align < p->o.v[FE_PK_SIZE] / N_POSITIONS)
        s->max_align *= 2;
    s->align = s->max_align;
    return 0;
}

static bool align_next(struct fe_pattern *p, uint64_t i, struct fe_trace_rec *rec)
{
    struct flashbench *s = p->state;
    uint64_t bs = p->o.v[FE_PK_BS];
    const uint64_t before[] = {bs, bs / 2, 0};

    (void)i;
    if (take_rest(p, rec))
        return true;
    if (s->align < bs * 2)
        return false;
    emit(p, FE_REQ_READ, s->align - before[s->place] + s->i * s->max_align, bs,
         3 * s->step + s->place + 1, rec);
    if (++s->i < N_POSITIONS)
        return true;
    s->i = 0;
    if (++s->place < 3)
        return true;
    s->place = 0;
    if (++s->round < p->o.v[FE_PK_ROUNDS])
        return true;
    s->round = 0;
    s->align /= 2;
    s->step++;
    return true;
}

/* --- open-au, find-fat: units and chunks --- */

static bool is_open_au(const struct fe_pattern *p)
{
    return p->kind->keys & FE_PK_BIT(OPEN_AU_NR);
}

/* Begins with the chunk size s->chunk. */
static void start_level(struct fe_pattern *p)
{
    struct flashbench *s = p->state;
    uint64_t n_chunks = p->o.v[FE_PK_ERASESIZE] / s->chunk;

    if (is_open_au(p)) {
        walk_start(&s->outer, n_chunks, p->o.v[FE_PK_RANDOM]);
        walk_start(&s->inner, p->o.v[FE_PK_OPEN_AU_NR], true);
    } else {
        walk_start(&s->outer, p->o.v[FE_PK_FAT_NR], false);
        walk_start(&s->inner, n_chunks, p->o.v[FE_PK_RANDOM]);
    }
    walk_next(&s->outer);
}

static int units_init(struct fe_pattern *p, struct fe_err *err)
{
    struct flashbench *s = p->state;
    const uint64_t *v = p->o.v;
    uint64_t erase = v[FE_PK_ERASESIZE];
    int ret = whole_device(p, erase, err);

    if (ret < 0)
        return ret;
    if (erase % v[FE_PK_BS] != 0 || !fe_is_pow2(erase / v[FE_PK_BS]))
        return fe_pattern_bad(p, err, "erasesize=%llu must be bs=%llu times a power of two",
                              (unsigned long long)erase, (unsigned long long)v[FE_PK_BS]);
    if (v[FE_PK_RANDOM] && erase / v[FE_PK_BS] > UINT16_MAX)
        return fe_pattern_bad(p, err, "random order is for at most %u chunks in a unit",
                              UINT16_MAX);
    if (p->o.given & FE_PK_BIT(OFFSET))
        s->base = v[FE_PK_OFFSET];
    else if (is_open_au(p))
        s->base = fe_div_up(16u << 20, erase) * erase; /* behind what may hold a FAT */
    s->chunk = erase;
    start_level(p);
    return 0;
}

static bool units_next(struct fe_pattern *p, uint64_t i, struct fe_trace_rec *rec)
{
    struct flashbench *s = p->state;
    uint64_t erase = p->o.v[FE_PK_ERASESIZE], pos;

    (void)i;
    if (take_rest(p, rec))
        return true;
    while (!walk_next(&s->inner)) {
        walk_start(&s->inner, s->inner.n, s->inner.bits != 0);
        if (walk_next(&s->outer))
            continue;
        s->chunk /= 2;
        s->level++;
        if (s->chunk < p->o.v[FE_PK_BS])
            return false;
        start_level(p);
    }
    if (is_open_au(p))
        pos = s->outer.pos * s->chunk + s->inner.pos * (AU_STRIDE * erase);
    else
        pos = s->outer.pos * erase + s->inner.pos * s->chunk;
    return emit(p, FE_REQ_WRITE, s->base + pos, s->chunk, s->level + 1, rec);
}

/* --- scatter --- */

static int scatter_init(struct fe_pattern *p, struct fe_err *err)
{
    return whole_device(p, p->o.v[FE_PK_SPAN] * p->o.v[FE_PK_BS], err);
}

static bool scatter_next(struct fe_pattern *p, uint64_t i, struct fe_trace_rec *rec)
{
    struct flashbench *s = p->state;
    unsigned bits = (unsigned)p->o.v[FE_PK_ORDER];
    uint64_t bs = p->o.v[FE_PK_BS];

    (void)i;
    if (take_rest(p, rec))
        return true;
    if (s->i >> bits) {
        s->i = 0;
        s->pos = 0;
        s->round++;
    }
    if (s->round == p->o.v[FE_PK_ROUNDS])
        return false;
    emit(p, FE_REQ_READ, s->pos * bs, p->o.v[FE_PK_SPAN] * bs, 0, rec);
    s->pos = fe_lfsr_step(s->pos ? s->pos : fe_lfsr_start(bits), bits);
    s->i++;
    return true;
}

#define KEYS (FE_PK_COMMON | FE_PK_BIT(BS))
#define UNIT_KEYS (KEYS | FE_PK_BIT(OFFSET) | FE_PK_BIT(ERASESIZE) | FE_PK_BIT(RANDOM))
#define KIND(name_, help_, keys_, defaults_, init_, next_)                                  \
    {                                                                                       \
        .name = "flashbench-" name_, .help = "flashbench: " help_, .keys = keys_,                 \
        .defaults = defaults_, .state_size = sizeof(struct flashbench), .init = init_,            \
        .next = next_                                                                       \
    }

const struct fe_pattern_kind fe_pattern_flashbench[] = {
    KIND("align", "-a, reads around powers of two", KEYS | FE_PK_BIT(ROUNDS), "bs=16K", align_init,
         align_next),
    KIND("open-au", "-O, several allocation units written simultaneously",
         UNIT_KEYS | FE_PK_BIT(OPEN_AU_NR), "bs=16K", units_init, units_next),
    KIND("find-fat", "-f, the first allocation units written one by one",
         UNIT_KEYS | FE_PK_BIT(FAT_NR), "bs=16K", units_init, units_next),
    KIND("scatter", "-s, scattered reads",
         KEYS | FE_PK_BIT(ROUNDS) | FE_PK_BIT(ORDER) | FE_PK_BIT(SPAN), "bs=16K", scatter_init,
         scatter_next),
    {0},
};
