/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the sectors of `replay --payload` hold.
 *
 * The content of a sector is a function of its offset and of its generation: how many times it was
 * written.  So one number for each sector is enough to know what a read must return.  Neither the
 * data of another sector nor an older version of the same sector passes the comparison.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct content {
    uint32_t sector_size;
    uint64_t key; /* of the seed */
    bool is_wide; /* the processor has stores of 64 bytes */
};

struct content content_make(uint32_t sector_size, uint64_t seed);

/* The bytes of one sector, to[0, sector_size). */
void content_fill(const struct content *c, uint64_t offset, uint32_t generation, uint8_t *to);

/* Whether a sector holds that.  Generation 0 was never written, and consists of one byte value
 * throughout; which one, differs between profiles, since erased flash may read as either. */
bool content_is(const struct content *c, uint64_t offset, uint32_t generation,
                const uint8_t *data);
