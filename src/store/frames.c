/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The store in memory.  A programmed page never changes until its block is erased, so a copy of
 * it needs no bytes of its own: pages of the chip name frames, and pages that name the same frame
 * form a ring.
 *
 *     page of the chip   0   1   2   3   4   5            after a merge copied 1 and 2 to 4 and 5
 *     its frame          -   0   2   -   0   2
 *     next of its ring       4   5       1   2
 *
 *     frame              [0] of 1 and 4   [1] free   [2] of 2 and 5   [3] free   |  fresh: 4, ...
 *
 * A copy joins the ring of its base, an erased page leaves its ring, and the last one frees the
 * frame.  So merges and cleaning cost the processor nearly nothing, whatever the pages hold.  A
 * count for each frame would do as well, but frames lie anywhere: it would cost a cache miss for
 * each copy and one for each erased page.  Pages are copied and erased in the order of the chip, and
 * a ring has hardly ever more than two pages: the copied one and its copy, until the former is
 * erased.
 *
 * A block whose erase may have to be taken back can be programmed already.  What a page of it held
 * before is put aside: a name beyond those of the chip's pages takes its place in the ring.
 *
 *     names              0   1   2   3   4   5   |  6   7   8 ...
 *                        pages of the chip       |  put aside
 *
 * Frames lie one behind the other in memory that is mapped once and that takes room where it is
 * used.  It is private: a process that forks has a copy of the device.  frame_pool.h says which
 * free frame is used next.  There are as many frames as names and lent frames, so there is always
 * one.  What the device needs is therefore its largest number of different pages so far and some
 * spare frames, and not what it has copied.
 *
 * A frame can be lent to whoever makes data for a page that will be written.  If a page is written
 * with all bytes of a lent frame, the page names that frame and nothing is copied.
 *
 * Frames belong to groups of about 2 MiB, which is a huge page of most hosts.  A group without a
 * used frame is given back when it has left the warm ring (warm.h).  The memory of fresh frames is
 * asked for 256 KiB at a time, with one call instead of a page fault for each page; kernels before
 * 5.14 refuse that, and the faults come one by one.  Where there are huge pages, the first call
 * brings all of the group.
 *
 * Frames that are more than a cache holds are written past it (base/copy.h).
 *
 * Not modelled here: OOB, wear, bit errors.  The chip keeps them (nand/chip.h).
 */
#include "store/frames.h"

#include "base/bits.h"
#include "base/copy.h"
#include "base/fetch.h"
#include "base/num.h"
#include "base/table.h"
#include "store/frame_pool.h"
#include "store/warm.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define GROUP_BYTES (UINT64_C(2) << 20)
#define TOGETHER_BYTES (UINT64_C(64) << 10) /* of frames that are taken one behind the other */
#define SPARE_BYTES (UINT64_C(8) << 20) /* the limit of spare frames */
#define POPULATE_BYTES (UINT64_C(256) << 10)
/* So many names there are for pages put aside: as many as the chip has pages, within these. */
#define MIN_ASIDE (UINT64_C(1) << 16)
#define MAX_ASIDE (UINT64_C(1) << 20)
#define MAX_LENT 256u /* frames that are lent at a time */
#define CACHE_BYTES (UINT64_C(8) << 20) /* what the host's processor surely keeps */

struct name {
    uint32_t frame; /* of the page, plus 1; 0: it has no bytes */
    fe_ppn next;    /* the next page of the ring; the page itself if it is alone */
};

enum { NAMES_A_LINE = 64 / sizeof(struct name) }; /* of the host's cache */

struct fe_frames {
    uint32_t page_bytes;
    uint32_t n_pages;    /* names of pages */
    uint32_t n_names;    /* and of what was put aside */
    uint32_t n_lent;     /* frames; no name names them */
    uint32_t n_named;    /* names [n_named, n_names) were never used */
    uint32_t unnamed;    /* the first of the others that names nothing; the next one of each is its
                          * `next`; 0: there is none */
    uint32_t group_shift; /* frame >> group_shift is its group */
    uint32_t populate_shift; /* likewise for what is asked for together */
    struct name *names;
    struct fe_frame_pool pool; /* as many frames as names and loans; named and lent ones are used */
    uint32_t *used;      /* per group: how many of its frames are named or lent */
    uint64_t *lent;      /* a bit per frame */
    uint8_t *map;
    uint64_t map_bytes;
    struct fe_warm warm;
};

static uint64_t table_bytes(const struct fe_frames *f)
{
    return (uint64_t)f->n_names * sizeof *f->names;
}

/* The table of a large device is larger than what a small host has, but hardly used: only what is
 * written takes memory. */
static int map_all(struct fe_frames *f, struct fe_err *err)
{
    f->names = fe_table_map(table_bytes(f));
    f->map = f->names ? fe_table_map(f->map_bytes) : NULL;
    if (f->map)
        return 0;
    return fe_err_set(err, errno, "medium in memory: %smapping %llu bytes: %s",
                      f->names ? "" : "names: ",
                      (unsigned long long)(f->names ? f->map_bytes : table_bytes(f)), strerror(errno));
}

/* The largest power of two of pages that has at most so many bytes, or a single page. */
static uint32_t shift_of(uint32_t page_bytes, uint64_t bytes)
{
    uint32_t shift = 0;
    while (((uint64_t)page_bytes << (shift + 1)) <= bytes)
        shift++;
    return shift;
}

/* So many names and frames there are, or as many as have numbers and bytes. */
static uint32_t limited(uint64_t n, uint32_t page_bytes)
{
    return (uint32_t)fe_min_u64(n, fe_min_u64(FE_PPN_NONE, INT64_MAX / page_bytes));
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
    f->n_pages = f->n_named = (uint32_t)n_pages;
    uint64_t aside = fe_min_u64(fe_max_u64(n_pages, MIN_ASIDE), MAX_ASIDE);
    f->n_names = limited(n_pages + aside, page_bytes);
    f->populate_shift = shift_of(page_bytes, POPULATE_BYTES);
    f->group_shift = shift_of(page_bytes, GROUP_BYTES);
    uint32_t n_frames = limited((uint64_t)f->n_names + MAX_LENT, page_bytes);
    uint32_t n_groups = ((n_frames - 1) >> f->group_shift) + 1;

    f->map_bytes = (uint64_t)n_frames * page_bytes;
    f->used = calloc(n_groups, sizeof *f->used);
    f->lent = calloc(fe_bits_words(n_frames), sizeof *f->lent);
    int r = f->used && f->lent
                ? fe_frame_pool_init(&f->pool, n_frames, shift_of(page_bytes, TOGETHER_BYTES),
                                     (uint32_t)(SPARE_BYTES / page_bytes), err)
                : fe_err_nomem(err, "tables of the medium's pages", n_groups * 4ull + n_frames / 8);
    if (r == 0)
        r = fe_warm_init(&f->warm, (uint64_t)page_bytes << f->group_shift, n_groups, err);
    if (r == 0)
        r = map_all(f, err);
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
    fe_table_unmap(f->map, f->map_bytes);
    fe_table_unmap(f->names, table_bytes(f));
    fe_warm_fini(&f->warm);
    fe_frame_pool_fini(&f->pool);
    free(f->used);
    free(f->lent);
    free(f);
}

static uint8_t *bytes_of(const struct fe_frames *f, uint32_t frame)
{
    return f->map + (uint64_t)frame * f->page_bytes;
}

const uint8_t *fe_frames_at(const struct fe_frames *f, fe_ppn ppn)
{
    uint32_t frame = f->names[ppn].frame;
    return frame ? bytes_of(f, frame - 1) : NULL;
}

/* Groups need not begin at a page of the host: only whole pages of the host are given back.  The
 * last group may be shorter. */
static void give_back(struct fe_frames *f, uint32_t group)
{
    uint64_t host = (uint64_t)sysconf(_SC_PAGESIZE);
    uint64_t bytes = (uint64_t)f->page_bytes << f->group_shift, from = group * bytes;
    uint64_t end = fe_min_u64(from + bytes, f->map_bytes) / host * host;
    from = fe_div_up(from, host) * host;
    /* A hole is a saving, not a promise: where the host refuses it, the memory stays. */
    if (f->used[group] == 0 && from < end)
        (void)madvise(f->map + from, end - from, MADV_DONTNEED);
}

/* Asks for the memory of the fresh frames that begin here, if they are not a single large page. */
static void populate(struct fe_frames *f, uint32_t frame)
{
    uint64_t host = (uint64_t)sysconf(_SC_PAGESIZE);
    uint64_t bytes = (uint64_t)f->page_bytes << f->populate_shift;
    uint64_t from = (uint64_t)frame * f->page_bytes;
    uint64_t end = fe_min_u64(from + bytes, f->map_bytes);
    if (bytes <= POPULATE_BYTES)
        (void)madvise(f->map + from / host * host, end - from / host * host, MADV_POPULATE_WRITE);
}

/* A fresh frame holds zeros, any other frame holds anything. */
static uint32_t take_frame(struct fe_frames *f, bool *ret_is_fresh)
{
    uint32_t frame = fe_frame_pool_take(&f->pool, ret_is_fresh);
    if (*ret_is_fresh && frame == frame >> f->populate_shift << f->populate_shift)
        populate(f, frame);
    f->used[frame >> f->group_shift]++;
    return frame;
}

static void drop_frame(struct fe_frames *f, uint32_t frame)
{
    uint32_t group = frame >> f->group_shift;
    fe_frame_pool_drop(&f->pool, frame);
    if (--f->used[group])
        return;
    uint32_t oldest = fe_warm_add(&f->warm, group);
    if (oldest != FE_WARM_NONE)
        give_back(f, oldest);
}

/* Nothing is done for len 0: a masked store of no bytes to memory that is not there yet is slow on
 * some processors. */
static void put(const struct fe_frames *f, uint8_t *to, const void *data, uint32_t len)
{
    if (len == 0)
        return;
    if (!data)
        memset(to, 0, len);
    else if ((uint64_t)f->pool.n_fresh * f->page_bytes > CACHE_BYTES)
        fe_copy_past_cache(to, data, len);
    else
        memcpy(to, data, len);
}

uint8_t *fe_frames_lend(struct fe_frames *f, const void *data)
{
    bool is_fresh;
    if (f->n_lent == f->pool.n_frames - f->n_names)
        return NULL;
    uint32_t frame = take_frame(f, &is_fresh);
    fe_bit_set(f->lent, frame);
    f->n_lent++;
    if (data)
        put(f, bytes_of(f, frame), data, f->page_bytes);
    return bytes_of(f, frame);
}

/* Whether all bytes of a frame that is lent begin here: then it is lent no longer. */
static bool end_loan(struct fe_frames *f, const uint8_t *data, uint32_t *ret_frame)
{
    uint64_t at = (uintptr_t)data - (uintptr_t)f->map;
    if (at >= f->map_bytes || at % f->page_bytes)
        return false;
    *ret_frame = (uint32_t)(at / f->page_bytes);
    if (!fe_bit(f->lent, *ret_frame))
        return false;
    fe_bit_clear(f->lent, *ret_frame);
    f->n_lent--;
    return true;
}

bool fe_frames_take_back(struct fe_frames *f, const uint8_t *data)
{
    uint32_t frame;
    bool was_lent = end_loan(f, data, &frame);
    if (was_lent)
        drop_frame(f, frame);
    return was_lent;
}

static void join(struct fe_frames *f, fe_ppn ppn, fe_ppn base)
{
    f->names[ppn] = f->names[base];
    f->names[base].next = ppn;
}

/* The name that stands before this one in its ring. */
static uint32_t before(const struct fe_frames *f, uint32_t name)
{
    uint32_t at = name;
    while (f->names[at].next != name)
        at = f->names[at].next;
    return at;
}

/* The name names no frame from now on.  Returns whether the frame has other names. */
static bool leave(struct fe_frames *f, uint32_t name)
{
    uint32_t next = f->names[name].next;
    f->names[before(f, name)].next = next;
    f->names[name].frame = 0;
    return next != name;
}

/* `to`, which names no frame, takes the place of `from`. */
static void rename_to(struct fe_frames *f, uint32_t from, uint32_t to)
{
    uint32_t next = f->names[from].next;
    f->names[before(f, from)].next = to;
    f->names[to] = (struct name){f->names[from].frame, next == from ? to : next};
    f->names[from].frame = 0;
}

/* Pages are programmed in the order of the chip: the names of those that come next are asked for
 * early. */
static void ask_for_names(const struct fe_frames *f, uint64_t ppn)
{
    if (ppn + NAMES_A_LINE < f->n_pages)
        fe_fetch(&f->names[ppn + NAMES_A_LINE]);
}

/* A page of zeros to which nothing was ever put stays without a frame. */
void fe_frames_write(struct fe_frames *f, fe_ppn ppn, fe_ppn base, uint32_t off, uint32_t len,
                     const void *data)
{
    assert(!f->names[ppn].frame);
    ask_for_names(f, ppn);
    uint32_t old = base != FE_PPN_NONE && len < f->page_bytes ? f->names[base].frame : 0;
    if (old && len == 0) {
        join(f, ppn, base);
        return;
    }
    if (!old && (!data || len == 0))
        return;
    bool is_fresh;
    uint32_t frame, end = off + len;
    if (len == f->page_bytes && end_loan(f, data, &frame)) {
        f->names[ppn] = (struct name){frame + 1, ppn};
        return;
    }
    frame = take_frame(f, &is_fresh);
    uint8_t *to = bytes_of(f, frame);
    const uint8_t *from = old ? bytes_of(f, old - 1) : NULL;
    if (from || !is_fresh) {
        put(f, to, from, off);
        put(f, to + end, from ? from + end : NULL, f->page_bytes - end);
    }
    put(f, to + off, data, len);
    f->names[ppn] = (struct name){frame + 1, ppn};
}

void fe_frames_overwrite(struct fe_frames *f, fe_ppn ppn, uint32_t off, uint32_t len,
                         const void *data)
{
    uint32_t old = f->names[ppn].frame;
    if (!old) {
        fe_frames_write(f, ppn, FE_PPN_NONE, off, len, data);
        return;
    }
    if (f->names[ppn].next != ppn) { /* the others keep what they have */
        bool is_fresh;
        uint32_t own = take_frame(f, &is_fresh);
        memcpy(bytes_of(f, own), bytes_of(f, old - 1), f->page_bytes);
        leave(f, ppn);
        f->names[ppn] = (struct name){own + 1, ppn};
        old = own + 1;
    }
    put(f, bytes_of(f, old - 1) + off, data, len);
}

void fe_frames_fetch(const struct fe_frames *f, fe_ppn first, uint32_t n)
{
    for (uint32_t i = 0; i < n; i += NAMES_A_LINE)
        fe_fetch(&f->names[first + i]);
}

void fe_frames_forget(struct fe_frames *f, fe_ppn first, uint32_t n)
{
    for (fe_ppn ppn = first; ppn < first + n; ppn++) {
        uint32_t frame = f->names[ppn].frame;
        if (frame && !leave(f, ppn))
            drop_frame(f, frame - 1);
    }
}

int fe_frames_put_aside(struct fe_frames *f, fe_ppn ppn, uint32_t *ret_name)
{
    uint32_t name = f->unnamed;
    if (!name && f->n_named == f->n_names)
        return -ENOMEM;
    if (name)
        f->unnamed = f->names[name].next;
    else
        name = f->n_named++;
    rename_to(f, ppn, name);
    *ret_name = name;
    return 0;
}

static void give_up_name(struct fe_frames *f, uint32_t name)
{
    f->names[name].next = f->unnamed;
    f->unnamed = name;
}

void fe_frames_put_back(struct fe_frames *f, fe_ppn ppn, uint32_t name)
{
    assert(!f->names[ppn].frame && f->names[name].frame);
    rename_to(f, name, ppn);
    give_up_name(f, name);
}

void fe_frames_drop_aside(struct fe_frames *f, uint32_t name)
{
    fe_frames_forget(f, name, 1);
    give_up_name(f, name);
}
