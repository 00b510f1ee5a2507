/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The content of a sector is a function of its offset and of its generation: how many times the
 * sector was written.  So one number for each sector is enough to know what a read must return.
 * Neither the data of another sector nor an older version of the same sector passes the
 * comparison.
 *
 * A sector that was never written must consist of one byte value throughout; which one, differs
 * between profiles, since erased flash may read as either.  After a trim or a failed write a
 * sector may hold anything.
 */
#include "replay/payload.h"

#include "base/fetch.h"
#include "base/rng.h"
#include "base/table.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define ANYTHING UINT32_MAX

typedef void fill_fn(uint64_t first, uint8_t *to, uint32_t n);

struct payload {
    uint32_t sector_size;
    uint64_t key; /* of the seed */
    fill_fn *fill;
    uint32_t *generation; /* 0 = never written */
    uint8_t *buf, *expected;
    uint64_t buf_size;
    uint64_t verified, wrong, first_wrong;
};

#define STEP UINT64_C(0x9e3779b97f4a7c15)

/* A line of the host's cache.  It is stored to any address, by as few stores as there can be. */
typedef uint64_t line __attribute__((vector_size(64)));
typedef line unaligned_line __attribute__((aligned(1), may_alias));

/* The words of a sector count in steps from the first one.  A sector is a multiple of 512 bytes. */
__attribute__((always_inline)) static inline void fill_words(uint64_t first, uint8_t *to,
                                                             uint32_t n)
{
    line a = first + STEP * (line){0, 1, 2, 3, 4, 5, 6, 7};

    for (const uint8_t *end = to + n; to < end; to += sizeof a, a += 8 * STEP)
        *(unaligned_line *)to = a;
}

#ifdef __x86_64__
__attribute__((target("avx512f"))) static void fill_wide(uint64_t first, uint8_t *to, uint32_t n)
{
    fill_words(first, to, n);
}
#endif

static void fill_plain(uint64_t first, uint8_t *to, uint32_t n)
{
    fill_words(first, to, n);
}

static void fill_sector(const struct payload *p, uint64_t offset, uint32_t generation,
                        uint8_t *to)
{
    p->fill(fe_mix64(p->key + offset + generation * STEP), to, p->sector_size);
}

static fill_fn *best_fill(void)
{
#ifdef __x86_64__
    if (__builtin_cpu_supports("avx512f"))
        return fill_wide;
#endif
    return fill_plain;
}

int payload_create(struct payload **ret, uint64_t capacity, uint32_t sector_size, uint64_t seed,
                   struct fe_err *err)
{
    struct payload *p = calloc(1, sizeof *p);
    uint64_t n = capacity / sector_size;

    if (!p)
        return fe_err_nomem(err, "payload", sizeof *p);
    p->sector_size = sector_size;
    p->key = fe_rng(seed, FE_RNG_WORKLOAD, 0, 0);
    p->fill = best_fill();
    p->generation = fe_table_alloc(n, sizeof *p->generation);
    p->expected = malloc(sector_size);
    if (!p->generation || !p->expected) {
        payload_destroy(p);
        return fe_err_nomem(err, "payload", n * sizeof *p->generation);
    }
    *ret = p;
    return 0;
}

void payload_destroy(struct payload *p)
{
    if (!p)
        return;
    free(p->generation);
    free(p->expected);
    free(p->buf);
    free(p);
}

void payload_ask(const struct payload *p, uint64_t offset)
{
    fe_fetch(&p->generation[offset / p->sector_size]);
}

static uint32_t next_generation(uint32_t generation)
{
    return generation + 1 >= ANYTHING ? 1 : generation + 1;
}

void *payload_begin(struct payload *p, const struct fe_request *req, struct fe_err *err)
{
    if (req->len > p->buf_size) {
        void *bigger = realloc(p->buf, req->len);
        if (!bigger) {
            fe_err_nomem(err, "data of a request", req->len);
            return NULL;
        }
        p->buf = bigger;
        p->buf_size = req->len;
    }
    const uint32_t *generation = &p->generation[req->offset / p->sector_size];
    for (uint64_t i = 0; req->type == FE_REQ_WRITE && i < req->len; i += p->sector_size)
        fill_sector(p, req->offset + i, next_generation(*generation++), p->buf + i);
    if (req->type == FE_REQ_READ)
        memset(p->buf, 0xa5, req->len); /* shows what the device does not fill */
    return p->buf;
}

static bool is_uniform(const uint8_t *data, uint32_t len)
{
    return memcmp(data, data + 1, len - 1) == 0;
}

static void compare(struct payload *p, uint64_t offset, uint32_t generation, const uint8_t *data)
{
    bool right;

    if (generation == ANYTHING)
        return;
    if (generation == 0) {
        right = is_uniform(data, p->sector_size);
    } else {
        fill_sector(p, offset, generation, p->expected);
        right = memcmp(p->expected, data, p->sector_size) == 0;
    }
    p->verified++;
    if (!right && p->wrong++ == 0)
        p->first_wrong = offset;
}

void payload_end(struct payload *p, const struct fe_request *req, enum fe_status status)
{
    bool failed = status != FE_OK && status != FE_CORRECTED;

    uint32_t *generation = &p->generation[req->offset / p->sector_size];
    for (uint64_t i = 0; i < req->len; i += p->sector_size, generation++) {
        if (req->type == FE_REQ_READ && !failed)
            compare(p, req->offset + i, *generation, p->buf + i);
        else if (req->type == FE_REQ_TRIM || (req->type == FE_REQ_WRITE && failed))
            *generation = ANYTHING;
        else if (req->type == FE_REQ_WRITE)
            *generation = next_generation(*generation);
    }
}

uint64_t payload_verified(const struct payload *p)
{
    return p->verified;
}

uint64_t payload_wrong(const struct payload *p, uint64_t *ret_first)
{
    *ret_first = p->first_wrong;
    return p->wrong;
}
