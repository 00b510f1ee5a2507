/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Copying bytes to where nobody looks soon.
 *
 * A plain store reads the cache line that it changes first, and a copy of 4 KiB pushes 4 KiB of
 * something else out of the cache.  Where the target is not in the cache and will not be read soon,
 * both are waste: a copy past the cache takes a half to a third of the time.  Where the target is
 * in the cache, the plain store is faster.  The caller has to know.
 *
 * Such stores may reach memory later than plain ones that follow.  Another thread must therefore
 * neither read nor write the target before the owner has given a lock to it: every processor that
 * has these stores waits for them in a locked instruction.  A fence behind each copy would wait
 * every time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* As memcpy, past the cache if the processor offers that. */
void fe_copy_past_cache(uint8_t *to, const uint8_t *from, size_t n);

/* As fe_copy_past_cache, by stores of so many bytes: 64, 32 or 16.  Returns false, and copies
 * nothing, if this processor has no such stores.  For tests and benchmarks. */
bool fe_copy_by(unsigned store_bytes, uint8_t *to, const uint8_t *from, size_t n);
