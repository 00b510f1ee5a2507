/* SPDX-License-Identifier: BSD-3-Clause
 *
 *     calloc      |-------------------------------------------------|
 *     huge pages       |=============|=============|===========|        the whole ones in it
 *
 * calloc does not touch the memory, so the hint comes before the first page fault.  A table may
 * take one huge page more than it needs at its end.  That would be too much for a small table, so
 * small tables get no hint.
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
    /* Only a hint: nothing is lost on a kernel without huge pages. */
    (void)madvise((void *)from, to - from, MADV_HUGEPAGE);
    return table;
}
