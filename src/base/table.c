/* SPDX-License-Identifier: BSD-3-Clause
 *
 *     calloc      |-------------------------------------------------|
 *     huge pages       |=============|=============|===========|        the whole ones in it
 *
 * Memory from calloc is not touched before the first use, so the hint comes in time.  A
 * table takes at most one huge page more than it needs, at its end: small ones are left
 * alone.
 */
#include "base/table.h"

#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

#define HUGE_BYTES ((uintptr_t)2 << 20)

void *fe_table_alloc(size_t n, size_t entry_size)
{
    size_t bytes;
    void *table = __builtin_mul_overflow(n, entry_size, &bytes) ? NULL : calloc(n, entry_size);
    if (!table || bytes < 2 * HUGE_BYTES)
        return table;
    uintptr_t from = ((uintptr_t)table + HUGE_BYTES - 1) & ~(HUGE_BYTES - 1);
    uintptr_t to = ((uintptr_t)table + bytes) & ~(HUGE_BYTES - 1);
    /* Only a hint: a kernel that knows no huge pages does without. */
    (void)madvise((void *)from, to - from, MADV_HUGEPAGE);
    return table;
}
