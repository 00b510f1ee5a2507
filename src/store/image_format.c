/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Places and checksums of an image's parts.
 */
#include "store/image_format.h"

#include "base/crc32c.h"
#include "base/num.h"

#include <errno.h>
#include <string.h>

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "images are little-endian, and their records are read and written as they are in memory"
#endif

#define PROFILE_MAX (1u << 20)
#define PAGE_MAX (1u << 20)

static uint64_t align(uint64_t x)
{
    return fe_div_up(x, FE_IMAGE_ALIGN) * FE_IMAGE_ALIGN;
}

int fe_image_layout(struct fe_image_layout *ret, const struct fe_image_header *h,
                    struct fe_err *err)
{
    if (h->n_pages == 0 || h->n_pages >= UINT32_MAX || h->pages_per_block == 0 ||
        h->n_pages % h->pages_per_block || h->page_bytes == 0 || h->page_bytes > PAGE_MAX ||
        h->profile_bytes > PROFILE_MAX || h->n_entries > 1u << 24)
        return fe_err_set(err, EINVAL,
                          "its header has an impossible geometry: %llu pages of %u bytes in "
                          "blocks of %u, %u cache pages",
                          (unsigned long long)h->n_pages, h->page_bytes, h->pages_per_block,
                          h->n_entries);
    ret->n_blocks = h->n_pages / h->pages_per_block;
    ret->profile = FE_IMAGE_STATUS(2);
    ret->blocks = ret->profile + align(h->profile_bytes);
    ret->trims = ret->blocks + align(ret->n_blocks * sizeof(struct fe_image_block));
    ret->trim_bytes = h->version == 1 ? 8 : sizeof(struct fe_image_trim);
    ret->entries = ret->trims + align(h->n_pages * ret->trim_bytes);
    ret->cache = ret->entries + align((uint64_t)h->n_entries * 2 * sizeof(struct fe_image_entry));
    ret->oob = ret->cache + align((uint64_t)h->n_entries * 2 * h->page_bytes);
    ret->pages = ret->oob + align(h->n_pages * sizeof(struct fe_image_oob));
    ret->end = ret->pages + h->n_pages * h->page_bytes; /* below 2^32 x 2^20 and some */
    return 0;
}

uint32_t fe_image_record_crc(uint64_t number, const void *record, uint32_t bytes)
{
    return fe_crc32c(fe_crc32c(0, &number, sizeof number), record, bytes - 4);
}

bool fe_image_oob_is_valid(const struct fe_image_oob *r, fe_ppn ppn)
{
    return r->crc == fe_image_record_crc(ppn, r, sizeof *r) && r->state > FE_STORE_ERASED &&
           r->state <= FE_STORE_RAW;
}
