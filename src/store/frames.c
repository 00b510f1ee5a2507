/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The store in memory.  A programmed page never changes until its block is erased, so a copy of
 * it needs no bytes of its own: pages of the chip name frames, and a frame counts the pages that
 * name it.
 *
 *     page of the chip   0   1   2   3   4   5            after a merge copied 1 and 2 to 4 and 5
 *     its frame          -   0   2   -   0   2
 *                            |   |       |   |
 *     frame              [0] 2 pages  [1] free -> [3]  [2] 2 pages  [3] free   |  fresh: 4, 5, ...
 *
 * A copy counts one more page, an erase one less for each page of the block.  So merges and
 * cleaning cost the processor nearly nothing, whatever the pages hold.
 *
 * Frames lie one behind the other in memory that is mapped once and that takes room where it is
 * used.  It is private: a process that forks has a copy of the device.  The frame that became
 * free last is used next, because its memory is the warmest: in the processor's cache, and not
 * given back to the host.  There are as many frames as pages, so there is always one.  What the
 * device needs is therefore its largest number of different pages so far, and not what it has
 * copied.
 *
 * Frames belong to groups of about 256 KiB.  The memory of a fresh group is asked for with one
 * call instead of a page fault for each page; kernels before 5.14 refuse that, and the faults come
 * one by one.  A group without a used frame is given back when it has left the warm ring (warm.h).
 *
 * Not modelled here: OOB, wear, bit errors.  The chip keeps them (nand/chip.h).
 */
#include "store/frames.h"

#include "base/fetch.h"
#include "base/num.h"
#include "store/warm.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define AHEAD 8 /* pages */
#define GROUP_BYTES (UINT64_C(256) << 10)

struct fe_frames {
    uint32_t page_bytes;
    uint32_t n_pages;    /* as many frames as pages */
    uint32_t n_fresh;    /* frames [n_fresh, n_pages) were never used */
    uint32_t free;       /* the frame that became free last, plus 1; 0: none */
    uint32_t group_shift; /* frame >> group_shift is its group */
    uint32_t *frame_of;  /* per page: its frame plus 1, or 0 */
    uint32_t *count;     /* per frame: pages that name it; if it is free: the next one, plus 1 */
    uint32_t *used;      /* per group: how many of its frames are named */
    uint8_t *map;
    uint64_t map_bytes;
    struct fe_warm warm;
};

static int map_memory(struct fe_frames *f, struct fe_err *err)
{
    void *map = mmap(NULL, f->map_bytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (map == MAP_FAILED)
        return fe_err_set(err, errno, "medium in memory: mapping %llu bytes: %s",
                          (unsigned long long)f->map_bytes, strerror(errno));
    f->map = map;
    return 0;
}

static uint64_t table_bytes(const struct fe_frames *f)
{
    return (uint64_t)f->n_pages * (sizeof *f->frame_of + sizeof *f->count);
}

/* The two tables of a large device are larger than what a small host has, but hardly used: only
 * what is written takes memory. */
static int map_tables(struct fe_frames *f, struct fe_err *err)
{
    void *tables = mmap(NULL, table_bytes(f), PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (tables == MAP_FAILED)
        return fe_err_set(err, errno, "medium in memory: tables: mapping %llu bytes: %s",
                          (unsigned long long)table_bytes(f), strerror(errno));
    f->frame_of = tables;
    f->count = f->frame_of + f->n_pages;
    return 0;
}

int fe_frames_create(struct fe_frames **ret, uint64_t n_pages, uint32_t page_bytes,
                     struct fe_err *err)
{
    assert(n_pages > 0 && n_pages <= FE_PPN_NONE && page_bytes > 0);
    assert(n_pages <= INT64_MAX / page_bytes);
    struct fe_frames *f = calloc(1, sizeof *f);
    if (!f)
        return fe_err_nomem(err, "medium in memory", sizeof *f);
    f->page_bytes = page_bytes;
    f->n_pages = (uint32_t)n_pages;
    while (((uint64_t)page_bytes << (f->group_shift + 1)) <= GROUP_BYTES)
        f->group_shift++;
    uint32_t n_groups = (uint32_t)(((n_pages - 1) >> f->group_shift) + 1);

    f->map_bytes = n_pages * page_bytes;
    f->used = calloc(n_groups, sizeof *f->used);
    int r = f->used ? map_tables(f, err)
                    : fe_err_nomem(err, "tables of the medium's pages", n_groups * 4ull);
    if (r == 0)
        r = fe_warm_init(&f->warm, (uint64_t)page_bytes << f->group_shift, n_groups, err);
    if (r == 0)
        r = map_memory(f, err);
    if (r < 0) {
        fe_frames_destroy(f);
        return r;
    }
    *ret = f;
    return 0;
}

void fe_frames_destroy(struct fe_frames *f)
{
    if (!f)
        return;
    if (f->map)
        munmap(f->map, f->map_bytes);
    if (f->frame_of)
        munmap(f->frame_of, table_bytes(f));
    fe_warm_fini(&f->warm);
    free(f->used);
    free(f);
}

static uint8_t *bytes_of(const struct fe_frames *f, uint32_t frame)
{
    return f->map + (uint64_t)frame * f->page_bytes;
}

const uint8_t *fe_frames_at(const struct fe_frames *f, fe_ppn ppn)
{
    uint32_t named = f->frame_of[ppn];
    return named ? bytes_of(f, named - 1) : NULL;
}

/* The bytes of a group: [*ret_from, *ret_from + result).  The last one may be shorter. */
static uint64_t group_range(const struct fe_frames *f, uint32_t group, uint64_t *ret_from)
{
    uint64_t bytes = (uint64_t)f->page_bytes << f->group_shift;
    *ret_from = group * bytes;
    return fe_min_u64(bytes, f->map_bytes - *ret_from);
}

/* Groups need not begin at a page of the host: only whole pages of the host are given back. */
static void give_back(struct fe_frames *f, uint32_t group)
{
    uint64_t host = (uint64_t)sysconf(_SC_PAGESIZE), from;
    uint64_t end = group_range(f, group, &from);
    end = (from + end) / host * host;
    from = fe_div_up(from, host) * host;
    /* A hole is a saving, not a promise: where the host refuses it, the memory stays. */
    if (f->used[group] == 0 && from < end)
        (void)madvise(f->map + from, end - from, MADV_DONTNEED);
}

/* Asks for the memory of a fresh group, if the group is not a single large page. */
static void populate(struct fe_frames *f, uint32_t group)
{
    uint64_t from, n = group_range(f, group, &from);
    uint64_t host = (uint64_t)sysconf(_SC_PAGESIZE), head = from % host;
    if (n <= GROUP_BYTES)
        (void)madvise(f->map + from - head, n + head, MADV_POPULATE_WRITE);
}

/* A fresh frame holds zeros, any other frame holds anything. */
static uint32_t take_frame(struct fe_frames *f, bool *ret_is_fresh)
{
    uint32_t frame;
    *ret_is_fresh = !f->free;
    if (f->free) {
        frame = f->free - 1;
        f->free = f->count[frame];
    } else {
        assert(f->n_fresh < f->n_pages);
        frame = f->n_fresh++;
        if (frame == frame >> f->group_shift << f->group_shift)
            populate(f, frame >> f->group_shift);
    }
    f->count[frame] = 1;
    f->used[frame >> f->group_shift]++;
    return frame;
}

static void drop_frame(struct fe_frames *f, uint32_t frame)
{
    uint32_t group = frame >> f->group_shift;
    if (--f->count[frame])
        return;
    f->count[frame] = f->free;
    f->free = frame + 1;
    if (--f->used[group])
        return;
    uint32_t oldest = fe_warm_add(&f->warm, group);
    if (oldest != FE_WARM_NONE)
        give_back(f, oldest);
}

/* Pages are copied and erased in the order of the chip, but their frames lie anywhere: the counts
 * of those that come next are asked for early. */
static void ask_for_count(const struct fe_frames *f, uint64_t ppn)
{
    if (ppn < f->n_pages && f->frame_of[ppn])
        fe_fetch(&f->count[f->frame_of[ppn] - 1]);
}

/* Nothing is done for len 0: a masked store of no bytes to memory that is not there yet is slow on
 * some processors. */
static void put(uint8_t *to, const void *data, uint32_t len)
{
    if (len > 0 && data)
        memcpy(to, data, len);
    else if (len > 0)
        memset(to, 0, len);
}

/* A page of zeros to which nothing was ever put stays without a frame. */
void fe_frames_write(struct fe_frames *f, fe_ppn ppn, fe_ppn base, uint32_t off, uint32_t len,
                     const void *data)
{
    assert(!f->frame_of[ppn]);
    uint32_t old = base != FE_PPN_NONE && len < f->page_bytes ? f->frame_of[base] : 0;
    if (old && len == 0) {
        ask_for_count(f, (uint64_t)base + AHEAD);
        f->count[old - 1]++;
        f->frame_of[ppn] = old;
        return;
    }
    if (!old && (!data || len == 0))
        return;
    bool is_fresh;
    uint32_t frame = take_frame(f, &is_fresh), end = off + len;
    uint8_t *to = bytes_of(f, frame);
    const uint8_t *from = old ? bytes_of(f, old - 1) : NULL;
    if (from || !is_fresh) {
        put(to, from, off);
        put(to + end, from ? from + end : NULL, f->page_bytes - end);
    }
    put(to + off, data, len);
    f->frame_of[ppn] = frame + 1;
}

void fe_frames_overwrite(struct fe_frames *f, fe_ppn ppn, uint32_t off, uint32_t len,
                         const void *data)
{
    uint32_t old = f->frame_of[ppn];
    if (!old) {
        fe_frames_write(f, ppn, FE_PPN_NONE, off, len, data);
        return;
    }
    if (f->count[old - 1] > 1) { /* the others keep what they have */
        bool is_fresh;
        uint32_t own = take_frame(f, &is_fresh);
        memcpy(bytes_of(f, own), bytes_of(f, old - 1), f->page_bytes);
        f->count[old - 1]--;
        f->frame_of[ppn] = old = own + 1;
    }
    put(bytes_of(f, old - 1) + off, data, len);
}

void fe_frames_forget(struct fe_frames *f, fe_ppn first, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        uint32_t named = f->frame_of[first + i];
        ask_for_count(f, (uint64_t)first + i + AHEAD);
        f->frame_of[first + i] = 0;
        if (named)
            drop_frame(f, named - 1);
    }
}
