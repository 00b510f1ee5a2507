/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The two kinds of store behind one interface: in memory (frames.c) or in an image
 * (image_page.c).  Without payload there is neither, and nothing is kept.
 *
 * What discarding means differs.  In memory a page gives up its frame.  In an image the bytes stay
 * in the file until the block has left the ring of warm blocks (warm.h), and `written` says that
 * they are read as zeros all the same.
 *
 * A read in memory may be put on a list, to be copied later (copy_list.c).  What it will copy from is a
 * frame, and writing, copying or putting aside pages leaves a frame alone that has a name.  So what
 * is on the list is copied before a name is given up or a frame overwritten; nothing else in here has
 * to see to it.
 */
#include "store/store.h"

#include "base/num.h"
#include "store/frames.h"
#include "store/image_file.h"
#include "store/image_page.h"
#include "store/internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

bool fe_store_has_payload(const struct fe_store *s)
{
    return s->frames || s->img;
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

    uint64_t bytes;
    int r = 0;
    if (!fe_mul_ok(n_pages, page_bytes, &bytes) || bytes > INT64_MAX)
        r = fe_err_set(err, EOVERFLOW, "%llu pages of %u bytes are more than a file can hold",
                       (unsigned long long)n_pages, page_bytes);
    else if (payload)
        r = fe_frames_create(&s->frames, n_pages, page_bytes, err);
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
    fe_frames_destroy(s->frames);
    fe_image_destroy(s->img);
    free(s->written);
    fe_warm_fini(&s->warm);
    free(s);
}

int fe_store_read(const struct fe_store *s, fe_ppn ppn, uint32_t off, uint32_t len, void *buf)
{
    assert(off <= s->page_bytes && len <= s->page_bytes - off);
    if (s->img)
        return fe_image_read(s, ppn, off, len, buf);
    if (!buf || len == 0)
        return 0;
    const uint8_t *bytes = s->frames ? fe_frames_at(s->frames, ppn) : NULL;
    if (bytes)
        memcpy(buf, bytes + off, len);
    else
        memset(buf, 0, len);
    return 0;
}

int fe_store_read_later(struct fe_store *s, fe_ppn ppn, uint32_t off, uint32_t len, void *buf)
{
    assert(off <= s->page_bytes && len <= s->page_bytes - off);
    const uint8_t *bytes = s->frames && buf ? fe_frames_at(s->frames, ppn) : NULL;
    if (!bytes)
        return fe_store_read(s, ppn, off, len, buf);
    fe_copy_list_add(&s->copies, buf, bytes + off, len);
    return 0;
}

void fe_store_settle(struct fe_store *s)
{
    fe_copy_list_settle(&s->copies);
}

void fe_store_write(struct fe_store *s, fe_ppn ppn, fe_ppn base, uint32_t off, uint32_t len,
                    const void *data)
{
    assert(off <= s->page_bytes && len <= s->page_bytes - off);
    if (s->frames)
        fe_frames_write(s->frames, ppn, base, off, len, data);
    else if (s->img)
        fe_image_write(s, ppn, base, off, len, data);
}

void *fe_store_lend(struct fe_store *s, const void *data)
{
    return s->frames ? fe_frames_lend(s->frames, data) : NULL;
}

bool fe_store_take_back(struct fe_store *s, const void *data)
{
    return s->frames && fe_frames_take_back(s->frames, data);
}

void fe_store_overwrite(struct fe_store *s, fe_ppn ppn, uint32_t off, uint32_t len,
                        const void *data)
{
    assert(off <= s->page_bytes && len <= s->page_bytes - off);
    fe_store_settle(s);
    if (s->frames)
        fe_frames_overwrite(s->frames, ppn, off, len, data);
    else if (s->img)
        fe_image_overwrite(s, ppn, off, len, data);
}

static int copy_aside(struct fe_store *s, fe_ppn ppn, struct fe_aside *ret)
{
    ret->copy = malloc(s->page_bytes);
    if (!ret->copy)
        return -ENOMEM;
    (void)fe_store_read(s, ppn, 0, s->page_bytes, ret->copy); /* zeros do not fit the checksum, either */
    ret->crc = s->img->crc[ppn];
    fe_store_forget(s, ppn, 1);
    return 0;
}

int fe_store_put_aside(struct fe_store *s, fe_ppn ppn, struct fe_aside *ret)
{
    *ret = (struct fe_aside){0};
    if (!fe_store_is_written(s, ppn))
        return 0;
    return s->frames ? fe_frames_put_aside(s->frames, ppn, &ret->name) : copy_aside(s, ppn, ret);
}

void fe_store_put_back(struct fe_store *s, fe_ppn ppn, struct fe_aside *aside)
{
    if (aside->name)
        fe_frames_put_back(s->frames, ppn, aside->name);
    if (aside->copy) {
        fe_store_write(s, ppn, FE_PPN_NONE, 0, s->page_bytes, aside->copy);
        s->img->crc[ppn] = aside->crc;
    }
    free(aside->copy);
    *aside = (struct fe_aside){0};
}

void fe_store_drop_aside(struct fe_store *s, struct fe_aside *aside)
{
    fe_store_settle(s);
    if (aside->name)
        fe_frames_drop_aside(s->frames, aside->name);
    free(aside->copy);
    *aside = (struct fe_aside){0};
}

bool fe_store_is_written(const struct fe_store *s, fe_ppn ppn)
{
    return s->frames ? fe_frames_at(s->frames, ppn) != NULL : s->img && fe_bit(s->written, ppn);
}

void fe_store_fetch(const struct fe_store *s, fe_ppn first, uint32_t n)
{
    if (s->frames)
        fe_frames_fetch(s->frames, first, n);
}

void fe_store_forget(struct fe_store *s, fe_ppn first, uint32_t n)
{
    fe_store_settle(s);
    if (s->frames)
        fe_frames_forget(s->frames, first, n);
    for (uint64_t p = first; s->img && p < (uint64_t)first + n; p++) {
        fe_bit_put(s->written, p, false);
        fe_bit_put(s->img->lost, p, false);
    }
}

static bool has_written_pages(const struct fe_store *s, fe_peb peb)
{
    uint64_t first = (uint64_t)peb * s->pages_per_block;
    for (uint64_t p = first; p < first + s->pages_per_block; p++)
        if (fe_bit(s->written, p))
            return true;
    return false;
}

void fe_store_discard(struct fe_store *s, fe_peb peb)
{
    bool has_bytes = s->img && has_written_pages(s, peb);
    fe_store_forget(s, peb * s->pages_per_block, s->pages_per_block);
    if (!has_bytes)
        return;
    fe_peb oldest = fe_warm_add(&s->warm, peb);
    if (oldest != FE_WARM_NONE && !has_written_pages(s, oldest))
        fe_image_give_back(s, oldest);
}
