/* SPDX-License-Identifier: BSD-3-Clause */
#include "verify/against/series.h"

#include "tool.h"
#include "verify/verify.h"

#include "base/num.h"

#include <errno.h>
#include <stdlib.h>

enum { PUSH_BYTES = 64 << 10 };

uint64_t against_place(const struct against_point *p, uint64_t k, uint64_t len, uint64_t capacity)
{
    uint64_t from = p->start % capacity + k * (p->stride % capacity); /* below 2^44 * 2^20 */

    return fe_min_u64(from % capacity, capacity - len);
}

int against_check_bs(const struct fe_device *dev, const struct against_point *p, struct fe_err *err)
{
    uint64_t capacity = fe_device_capacity(dev);

    return p->bs <= capacity ? 0
                             : fe_err_set(err, EINVAL, "bs=%llu does not fit the device of %llu "
                                          "bytes", (unsigned long long)p->bs,
                                          (unsigned long long)capacity);
}

bool against_takes_flushes(const struct fe_device *dev)
{
    const struct fe_cache_params *cache = &fe_device_profile(dev)->cache;

    return cache->size && cache->volatile_;
}

int against_flush(struct fe_device *dev, uint64_t *ret_ns, struct fe_err *err)
{
    uint64_t ns = 0;
    int r = against_takes_flushes(dev) ? verify_request(dev, FE_REQ_FLUSH, 0, 0, &ns, err) : 0;

    *ret_ns += ns;
    return r;
}

int against_one_by_one(struct fe_device *dev, const struct against_point *p,
                       enum fe_req_type type, uint64_t *each, uint64_t *ret_ns, struct fe_err *err)
{
    uint64_t capacity = fe_device_capacity(dev), ns = 0, k = 0;

    *ret_ns = 0;
    for (uint64_t done = 0; done < p->size; done += p->bs, k++) {
        uint64_t len = fe_min_u64(p->bs, p->size - done);
        uint64_t before = *ret_ns;
        int r = verify_request(dev, type, against_place(p, k, len, capacity), len, &ns, err);
        *ret_ns += ns;
        if (r == 0 && p->flush)
            r = against_flush(dev, ret_ns, err);
        if (r < 0)
            return r;
        if (each)
            each[k] = *ret_ns - before;
    }
    return 0;
}

/* The same; *ret_ns is what the requests would take if each took the median of their times. */
static int run_for_median(struct fe_device *dev, const struct against_point *p, uint64_t *ret_ns,
                          struct fe_err *err)
{
    size_t n = p->size / p->bs;
    uint64_t *each = calloc(n, sizeof *each);

    if (!each)
        return fe_err_nomem(err, "times", n * sizeof *each);
    int r = against_one_by_one(dev, p, (enum fe_req_type)p->op, each, ret_ns, err);
    qsort(each, n, sizeof *each, tool_compare_u64);
    *ret_ns = each[(n - 1) / 2] * n;
    free(each);
    return r;
}

/* `depth` requests in flight: the next one arrives when the first of them completes. */
static int run_in_flight(struct fe_device *dev, const struct against_point *p, uint64_t *ret_ns,
                         struct fe_err *err)
{
    uint64_t done[AGAINST_MAX_DEPTH], count = p->size / p->bs, capacity = fe_device_capacity(dev);
    uint64_t begin = fe_device_now(dev), end = begin;

    for (uint32_t i = 0; i < p->depth; i++)
        done[i] = begin;
    for (uint64_t k = 0; k < count; k++) {
        uint32_t first = 0;
        for (uint32_t i = 1; i < p->depth; i++)
            if (done[i] < done[first])
                first = i;
        const struct fe_request req = {.type = p->op, .len = p->bs,
                                       .offset = against_place(p, k, p->bs, capacity)};
        struct fe_reply reply;
        if (verify_stopped())
            return fe_err_set(err, ECANCELED, "interrupted");
        if (fe_device_submit(dev, done[first], &req, &reply) < 0)
            return fe_err_set(err, EINVAL, "%llu bytes at offset %llu are no sectors of the device",
                              (unsigned long long)p->bs, (unsigned long long)req.offset);
        if (reply.status != FE_OK && reply.status != FE_CORRECTED)
            return fe_err_set(err, EIO, "the medium failed at offset %llu",
                              (unsigned long long)req.offset);
        done[first] = reply.complete_ns;
        end = fe_max_u64(end, reply.complete_ns);
    }
    *ret_ns = end - begin;
    return 0;
}

/* Writes in order behind the requests of a point, which push these out of a write cache.  *ret_ns
 * grows by their time. */
static int run_push(struct fe_device *dev, const struct against_point *p, uint64_t *ret_ns,
                    struct fe_err *err)
{
    const struct against_point push = {.bs = PUSH_BYTES, .stride = PUSH_BYTES,
                                       .start = p->push_start, .size = p->push};
    uint64_t ns = 0;
    int r = against_check_bs(dev, &push, err);

    if (r == 0)
        r = against_one_by_one(dev, &push, FE_REQ_WRITE, NULL, &ns, err);
    *ret_ns += ns;
    return r;
}

int against_series(struct fe_device *dev, const struct against_point *p, uint64_t *ret_ns,
                   struct fe_err *err)
{
    int r = against_check_bs(dev, p, err);

    if (r == 0 && p->op == FE_REQ_TRIM && !fe_device_profile(dev)->device.discard)
        r = fe_err_set(err, EINVAL, "op=trim: the device has no TRIM (device.discard=no)");
    if (r == 0 && p->idle_ns)
        verify_pause(dev, p->idle_ns);
    if (r == 0)
        r = p->depth > 1 ? run_in_flight(dev, p, ret_ns, err)
            : p->median  ? run_for_median(dev, p, ret_ns, err)
                         : against_one_by_one(dev, p, (enum fe_req_type)p->op, NULL, ret_ns, err);
    if (r == 0 && p->push)
        r = run_push(dev, p, ret_ns, err);
    return r;
}
