/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A name of 128 bits for some bytes.
 *
 * Two blocks of bytes that differ have the same digest with a probability of about 2^-128, unless
 * somebody looks for such blocks: this is no cryptographic hash.  The digest of the same bytes is the
 * same on every machine, and files contain it, so it never changes.
 *
 * Two lanes see each word of eight bytes, and each lane is a bijection of what it had before.  So
 * two blocks that differ in one word only never have the same digest.
 */
#pragma once

#include "base/rng.h"

#include <endian.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

struct fe_digest {
    uint64_t a, b;
};

static inline struct fe_digest fe_digest_add_u64(struct fe_digest d, uint64_t word)
{
    d.a = (((d.a << 29) | (d.a >> 35)) ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    d.b = (((d.b << 31) | (d.b >> 33)) + word) * UINT64_C(0xc2b2ae3d27d4eb4f);
    d.a ^= d.a >> 32;
    d.b ^= d.b >> 29;
    return d;
}

/* Goes on with the digest of what came before.  The bytes count together with their number, so
 * "ab" and then "c" is not the same as "a" and then "bc". */
static inline struct fe_digest fe_digest_add(struct fe_digest d, const void *data, size_t len)
{
    const uint8_t *p = data;
    uint64_t word;
    d = fe_digest_add_u64(d, len);
    for (; len >= sizeof word; len -= sizeof word, p += sizeof word) {
        memcpy(&word, p, sizeof word);
        d = fe_digest_add_u64(d, le64toh(word));
    }
    word = 0;
    memcpy(&word, p, len);
    return len ? fe_digest_add_u64(d, le64toh(word)) : d;
}

/* Of nothing yet. */
static inline struct fe_digest fe_digest_start(void)
{
    return (struct fe_digest){UINT64_C(0x6a09e667f3bcc908), UINT64_C(0xbb67ae8584caa73b)};
}

static inline struct fe_digest fe_digest_of(const void *data, size_t len)
{
    struct fe_digest d = fe_digest_add(fe_digest_start(), data, len);
    return (struct fe_digest){fe_mix64(d.a), fe_mix64(d.b ^ d.a)};
}

static inline bool fe_digest_same(struct fe_digest x, struct fe_digest y)
{
    return x.a == y.a && x.b == y.b;
}
