/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The load that benchmarks put on a region: all of its blocks once, in order or in random order,
 * with a number of requests in flight.  The host sends the next request when one has completed,
 * and the device says which one that is.
 *
 *     depth 2    |====1====|====3====|=2
 *                |==2==|======4======|..
 *
 * A program may need some time before it sends its first request, and between an answer and the
 * next one (its think time).  One that syncs waits for the flush before it writes again.  If it does
 * so through the page cache, the device gets whole pages, some of them again and again.
 */
#include "verify/verify.h"

#include "base/num.h"
#include "base/rng.h"

#include <stdlib.h>

/* The blocks 0 .. n - 1 in an order that the seed draws. */
static uint32_t *shuffled(uint64_t n, uint64_t seed)
{
    uint32_t *order = malloc(n * sizeof *order);

    for (uint64_t i = 0; order && i < n; i++) {
        uint64_t k = fe_rng_below(fe_rng(seed, FE_RNG_WORKLOAD, n, i), i + 1);
        order[i] = order[k];
        order[k] = (uint32_t)i;
    }
    return order;
}

/* The requests in flight. */
struct flight {
    uint64_t next_ns[VERIFY_MAX_DEPTH]; /* when the host sends the next one in this place */
    uint64_t end_ns;                    /* the last completion */
    uint32_t depth;
};

/* The place in which the next request is sent. */
static uint32_t next_place(const struct flight *f)
{
    uint32_t next = 0;

    for (uint32_t i = 1; i < f->depth; i++)
        if (f->next_ns[i] < f->next_ns[next])
            next = i;
    return next;
}

/* Where request number k of the order begins: with a gap, the region is gone over several times. */
static uint64_t place_of(const struct verify_load *load, uint64_t k)
{
    uint64_t step = load->bs + load->gap;
    uint64_t n = load->gap ? (load->size - load->bs) / step + 1 : load->size / load->bs;

    return load->offset + k % n * step;
}

static int send(struct fe_device *dev, const struct verify_load *load, uint64_t block,
                struct flight *f, struct verify_done *done, struct fe_err *err)
{
    uint32_t place = next_place(f);
    uint64_t end = 0, begin = place_of(load, block), stop = begin + load->bs;

    if (load->page) {
        begin -= begin % load->page;
        stop = (stop + load->page - 1) / load->page * load->page;
    }
    int r = verify_request_at(dev, load->type, f->next_ns[place], begin, stop - begin, &end, err);

    if (load->request_ns)
        load->request_ns[done->requests] = end - f->next_ns[place];
    done->requests++;
    f->end_ns = fe_max_u64(f->end_ns, end);
    f->next_ns[place] = fe_time_add(end, load->think_ns);
    return r;
}

/* A flush behind all that was sent; then the program goes on. */
static int sync_all(struct fe_device *dev, const struct verify_load *load, struct flight *f,
                    struct verify_done *done, struct fe_err *err)
{
    uint64_t start = f->end_ns;
    int r = verify_request_at(dev, FE_REQ_FLUSH, start, 0, 0, &f->end_ns, err);

    for (uint32_t i = 0; i < f->depth; i++)
        f->next_ns[i] = fe_time_add(f->end_ns, load->think_ns);
    if (load->sync_ns)
        load->sync_ns[done->syncs] = f->end_ns - start;
    done->sync_ns += f->end_ns - start;
    done->syncs++;
    return r;
}

int verify_load(struct fe_device *dev, const struct verify_load *load, struct verify_done *ret,
                struct fe_err *err)
{
    uint64_t n = load->size / load->bs, start = fe_device_now(dev);
    struct flight f = {.depth = (uint32_t)load->depth, .end_ns = start};
    uint32_t *order = load->random ? shuffled(n, load->seed) : NULL;
    int r = 0;

    if (load->random && !order)
        return fe_err_nomem(err, "an order of blocks", n * sizeof *order);
    for (uint32_t i = 0; i < f.depth; i++)
        f.next_ns[i] = fe_time_add(start, load->start_ns);
    *ret = (struct verify_done){0};
    for (uint64_t i = 0; i < n && r == 0; i++) {
        if (load->limit_ns && f.next_ns[next_place(&f)] - start >= load->limit_ns)
            break;
        r = send(dev, load, order ? order[i] : i, &f, ret, err);
        if (r == 0 && load->sync_every && ret->requests % load->sync_every == 0)
            r = sync_all(dev, load, &f, ret, err);
    }
    free(order);
    if (r == 0 && load->flush)
        r = verify_request_at(dev, FE_REQ_FLUSH, f.end_ns, 0, 0, &f.end_ns, err);
    ret->ns = f.end_ns - start;
    return r;
}

uint64_t verify_load_rate(const struct verify_load *load, const struct verify_done *done)
{
    return verify_rate(done->requests * load->bs, done->ns);
}
