/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A region is mapped from the start of its file on, because its offset there need not be a whole
 * page.
 */
#include "memory.h"

#include "base/num.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

void fe_memory_drop(struct fe_memory *m)
{
    for (uint32_t i = 0; i < m->n; i++)
        munmap(m->regions[i].map, m->regions[i].at.size + m->regions[i].at.mmap_offset);
    m->n = 0;
}

/* A guest that names more than its file has would end this program by a signal. */
static int map_region(struct fe_memory *m, const struct fe_region_wire *at, int fd,
                      struct fe_err *err)
{
    struct fe_region *r = &m->regions[m->n];
    struct stat st;
    uint64_t end;

    if (at->size == 0 || __builtin_add_overflow(at->size, at->mmap_offset, &end) ||
        at->guest_addr > UINT64_MAX - at->size || at->user_addr > UINT64_MAX - at->size)
        return fe_err_set(err, EINVAL, "the guest's memory: %llu bytes at offset %llu of its file",
                          (unsigned long long)at->size, (unsigned long long)at->mmap_offset);
    if (fstat(fd, &st) < 0)
        return fe_err_set(err, errno, "the guest's memory: %s", strerror(errno));
    if (end > (uint64_t)st.st_size)
        return fe_err_set(err, EINVAL, "the guest's memory: its file has %llu bytes, not %llu",
                          (unsigned long long)st.st_size, (unsigned long long)end);
    void *map = mmap(NULL, end, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (map == MAP_FAILED)
        return fe_err_set(err, errno, "the guest's memory: %s", strerror(errno));
    *r = (struct fe_region){*at, map};
    m->n++;
    return 0;
}

int fe_memory_set(struct fe_memory *m, const struct fe_region_wire *at, const int *fds, uint32_t n,
                  struct fe_err *err)
{
    int r = 0;

    fe_memory_drop(m);
    for (uint32_t i = 0; i < n; i++) {
        if (r == 0)
            r = map_region(m, &at[i], fds[i], err);
        close(fds[i]);
    }
    if (r < 0)
        fe_memory_drop(m);
    return r;
}

void *fe_memory_at(const struct fe_memory *m, uint64_t addr, uint64_t *len)
{
    for (uint32_t i = 0; i < m->n; i++) {
        const struct fe_region *r = &m->regions[i];
        if (addr >= r->at.guest_addr && addr - r->at.guest_addr < r->at.size) {
            uint64_t from = addr - r->at.guest_addr;
            *len = fe_min_u64(*len, r->at.size - from);
            return r->map + r->at.mmap_offset + from;
        }
    }
    return NULL;
}

void *fe_memory_user(const struct fe_memory *m, uint64_t addr, uint64_t len)
{
    for (uint32_t i = 0; i < m->n; i++) {
        const struct fe_region *r = &m->regions[i];
        if (addr >= r->at.user_addr && addr - r->at.user_addr < r->at.size &&
            len <= r->at.size - (addr - r->at.user_addr))
            return r->map + r->at.mmap_offset + (addr - r->at.user_addr);
    }
    return NULL;
}
