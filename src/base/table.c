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

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define HUGE_BYTES ((uintptr_t)2 << 20)

/* Only a hint: nothing is lost on a kernel without huge pages. */
static void ask_for_huge_pages(void *table, size_t bytes)
{
    uintptr_t from = ((uintptr_t)table + HUGE_BYTES - 1) & ~(HUGE_BYTES - 1);
    uintptr_t to = ((uintptr_t)table + bytes) & ~(HUGE_BYTES - 1);
    (void)madvise((void *)from, to - from, MADV_HUGEPAGE);
}

void *fe_table_alloc(size_t n, size_t entry_size)
{
    size_t bytes;
    void *table = __builtin_mul_overflow(n, entry_size, &bytes) ? NULL : calloc(n, entry_size);
    if (table && bytes >= 2 * HUGE_BYTES)
        ask_for_huge_pages(table, bytes);
    return table;
}

void *fe_table_grow(void *table, uint64_t need, size_t *room, size_t entry_size)
{
    size_t more;
    if (table && need <= *room)
        return table;
    bool fits = !__builtin_add_overflow(need, 4, &more) && !__builtin_mul_overflow(more, 2, &more);
    void *grown = fits ? reallocarray(table, more, entry_size) : NULL;
    if (grown)
        *room = more;
    return grown;
}

static void *map(size_t bytes)
{
    void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return at == MAP_FAILED ? NULL : at;
}

/* A mapping begins at any page of the host.  So one huge page more is mapped, and what sticks out
 * at both ends is given back. */
void *fe_table_map(size_t bytes)
{
    size_t more;
    if (bytes < 2 * HUGE_BYTES)
        return map(bytes);
    if (__builtin_add_overflow(bytes, HUGE_BYTES, &more)) {
        errno = ENOMEM;
        return NULL;
    }
    uint8_t *at = map(more);
    if (!at)
        return NULL;
    size_t head = -(uintptr_t)at & (HUGE_BYTES - 1);
    size_t host = (size_t)sysconf(_SC_PAGESIZE), end = head + (bytes + host - 1) / host * host;
    if (head > 0)
        munmap(at, head);
    if (end < more)
        munmap(at + end, more - end);
    ask_for_huge_pages(at + head, bytes);
    return at + head;
}

void fe_table_unmap(void *table, size_t bytes)
{
    if (table)
        munmap(table, bytes);
}
