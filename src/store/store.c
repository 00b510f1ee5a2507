/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What both kinds of store share, and the store in memory: a sparse memfd, mapped once.
 *
 *     page p of the chip  <->  bytes [p * page_bytes, (p + 1) * page_bytes)
 *
 * `written` has a bit for each page.  A discarded page whose memory is still there (warm)
 * therefore reads as zeros all the same.
 *
 * Warm blocks stand in a ring, oldest first.  When the ring is full, the oldest block leaves
 * it, and its memory is given back unless the block has been written again:
 *
 *     discard ---> [ 17 | 4 | 9 | 30 ] ---> give back, if still unwritten
 *                    newest      oldest
 *
 * An image does the same with a file (image_page.c): ring and `written` are the same there.
 *
 * Not modelled here: OOB, wear, bit errors.  The chip keeps them (nand/chip.h).
 */
#include "store/store.h"

#include "base/num.h"
#include "store/image_file.h"
#include "store/image_page.h"
#include "store/internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

bool fe_store_has_payload(const struct fe_store *s)
{
    return s->map || s->img;
}

static int map_memory(struct fe_store *s, struct fe_err *err)
{
    int fd = memfd_create("flashemu-medium", MFD_CLOEXEC);
    if (fd < 0)
        return fe_err_set(err, errno, "medium in memory: memfd_create: %s", strerror(errno));

    int r = 0;
    if (ftruncate(fd, (off_t)s->map_bytes) < 0) {
        r = fe_err_set(err, errno, "medium in memory: %llu bytes: %s",
                       (unsigned long long)s->map_bytes, strerror(errno));
    } else {
        void *map = mmap(NULL, s->map_bytes, PROT_READ | PROT_WRITE,
                         MAP_SHARED | MAP_NORESERVE, fd, 0);
        if (map == MAP_FAILED)
            r = fe_err_set(err, errno, "medium in memory: mapping %llu bytes: %s",
                           (unsigned long long)s->map_bytes, strerror(errno));
        else
            s->map = map;
    }
    close(fd); /* the mapping keeps the file */
    return r;
}

int fe_store_init_tables(struct fe_store *s, struct fe_err *err)
{
    uint64_t block_bytes = (uint64_t)s->page_bytes * s->pages_per_block;
    uint64_t n_blocks = s->n_pages / s->pages_per_block;

    s->n_warm_max =
        (uint32_t)fe_min_u64(fe_max_u64(FE_STORE_WARM_BYTES / block_bytes, 1), n_blocks);
    s->written = calloc(fe_div_up(s->n_pages, 64), 8);
    s->warm = calloc(s->n_warm_max + 1, sizeof *s->warm);
    s->is_warm = calloc(n_blocks, 1);
    if (!s->written || !s->warm || !s->is_warm)
        return fe_err_nomem(err, "tables of the medium's pages", s->n_pages / 8 + n_blocks);
    return 0;
}

int fe_store_create(struct fe_store **ret, uint64_t n_pages, uint32_t page_bytes,
                    uint32_t pages_per_block, bool payload, struct fe_err *err)
{
    assert(n_pages > 0 && page_bytes > 0 && pages_per_block > 0);
    assert(n_pages % pages_per_block == 0);
    struct fe_store *s = calloc(1, sizeof *s);
    if (!s)
        return fe_err_nomem(err, "store", sizeof *s);
    s->n_pages = n_pages;
    s->page_bytes = page_bytes;
    s->pages_per_block = pages_per_block;

    int r = 0;
    if (!fe_mul_ok(n_pages, page_bytes, &s->map_bytes) || s->map_bytes > INT64_MAX)
        r = fe_err_set(err, EOVERFLOW, "%llu pages of %u bytes are more than a file can hold",
                       (unsigned long long)n_pages, page_bytes);
    else if (payload)
        r = fe_store_init_tables(s, err);
    if (r == 0 && payload)
        r = map_memory(s, err);
    if (r < 0) {
        fe_store_destroy(s);
        return r;
    }
    *ret = s;
    return 0;
}

void fe_store_destroy(struct fe_store *s)
{
    if (!s)
        return;
    if (s->map)
        munmap(s->map, s->map_bytes);
    fe_image_destroy(s->img);
    free(s->written);
    free(s->warm);
    free(s->is_warm);
    free(s);
}

static bool is_written(const struct fe_store *s, fe_ppn ppn)
{
    return fe_bit(s->written, ppn);
}

static uint8_t *page_at(const struct fe_store *s, fe_ppn ppn)
{
    return s->map + (uint64_t)ppn * s->page_bytes;
}

int fe_store_read(const struct fe_store *s, fe_ppn ppn, uint32_t off, uint32_t len, void *buf)
{
    assert(off <= s->page_bytes && len <= s->page_bytes - off);
    if (s->img)
        return fe_image_read(s, ppn, off, len, buf);
    if (!buf || len == 0)
        return 0;
    if (!s->map || !is_written(s, ppn))
        memset(buf, 0, len);
    else
        memcpy(buf, page_at(s, ppn) + off, len);
    return 0;
}

/* A block is programmed from its first page on, so all of its memory is asked for then, with
 * one call instead of a page fault for each page.  Kernels before 5.14 refuse that, and the
 * faults come one by one. */
static void populate(struct fe_store *s, fe_peb peb)
{
    uint64_t block_bytes = (uint64_t)s->page_bytes * s->pages_per_block;
    (void)madvise(s->map + peb * block_bytes, block_bytes, MADV_POPULATE_WRITE);
}

/* A page that holds zeros only because nothing was ever put there stays unwritten, and takes
 * no memory. */
void fe_store_write(struct fe_store *s, fe_ppn ppn, fe_ppn base, uint32_t off, uint32_t len,
                    const void *data)
{
    assert(off <= s->page_bytes && len <= s->page_bytes - off);
    if (!s->map) {
        if (s->img)
            fe_image_write(s, ppn, base, off, len, data);
        return;
    }

    bool from_base = len < s->page_bytes && base != FE_PPN_NONE && is_written(s, base);
    if (!from_base && (!data || len == 0)) {
        assert(!is_written(s, ppn));
        return;
    }
    if (ppn % s->pages_per_block == 0 && !s->is_warm[ppn / s->pages_per_block])
        populate(s, ppn / s->pages_per_block);
    uint8_t *page = page_at(s, ppn);
    uint32_t end = off + len;
    if (from_base) {
        const uint8_t *src = page_at(s, base);
        memcpy(page, src, off);
        memcpy(page + end, src + end, s->page_bytes - end);
    } else {
        memset(page, 0, off);
        memset(page + end, 0, s->page_bytes - end);
    }
    if (data)
        memcpy(page + off, data, len);
    else
        memset(page + off, 0, len);
    fe_bit_put(s->written, ppn, true);
}

void fe_store_overwrite(struct fe_store *s, fe_ppn ppn, uint32_t off, uint32_t len,
                        const void *data)
{
    assert(off <= s->page_bytes && len <= s->page_bytes - off);
    if (!s->map) {
        if (s->img)
            fe_image_overwrite(s, ppn, off, len, data);
        return;
    }
    if (!is_written(s, ppn))
        fe_store_write(s, ppn, FE_PPN_NONE, off, len, data);
    else if (data)
        memcpy(page_at(s, ppn) + off, data, len);
    else
        memset(page_at(s, ppn) + off, 0, len);
}

bool fe_store_is_written(const struct fe_store *s, fe_ppn ppn)
{
    return fe_store_has_payload(s) && is_written(s, ppn);
}

void fe_store_forget(struct fe_store *s, fe_ppn first, uint32_t n)
{
    for (uint64_t p = first; fe_store_has_payload(s) && p < (uint64_t)first + n; p++) {
        fe_bit_put(s->written, p, false);
        if (s->img)
            fe_bit_put(s->img->lost, p, false);
    }
}

static void give_back(struct fe_store *s, fe_peb peb)
{
    uint64_t block_bytes = (uint64_t)s->page_bytes * s->pages_per_block;
    uint64_t first = (uint64_t)peb * s->pages_per_block;
    for (uint64_t p = first; p < first + s->pages_per_block; p++)
        if (is_written(s, (fe_ppn)p))
            return; /* in use again */
    if (s->img) {
        fe_image_give_back(s, peb);
        return;
    }
    /* A hole is a saving, not a promise: where the host refuses it, the bytes stay
     * and `written` still says that they read as zeros. */
    (void)madvise(s->map + peb * block_bytes, block_bytes, MADV_REMOVE);
}

void fe_store_discard(struct fe_store *s, fe_peb peb)
{
    if (!s->map && !s->img)
        return;
    uint64_t first = (uint64_t)peb * s->pages_per_block;
    bool had_data = false;
    for (uint64_t p = first; p < first + s->pages_per_block; p++) {
        had_data = had_data || is_written(s, (fe_ppn)p);
        fe_bit_put(s->written, p, false);
        if (s->img)
            fe_bit_put(s->img->lost, p, false);
    }
    if (!had_data || s->is_warm[peb])
        return;

    uint32_t cap = s->n_warm_max + 1;
    s->warm[(s->warm_head + s->n_warm++) % cap] = peb;
    s->is_warm[peb] = 1;
    if (s->n_warm > s->n_warm_max) {
        fe_peb oldest = s->warm[s->warm_head];
        s->warm_head = (s->warm_head + 1) % cap;
        s->n_warm--;
        s->is_warm[oldest] = 0;
        give_back(s, oldest);
    }
}
