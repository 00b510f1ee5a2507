/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Records that no server has written.
 */
#include "store/image_check.h"

#include "store/internal.h"

#include <errno.h>

struct field {
    const char *name;
    uint64_t value;
    bool good;
};

/* The first field that is not good; `what` and the number name the record. */
static int refuse_first(const struct fe_image *g, const char *what, uint64_t number,
                        const struct field *f, size_t n, struct fe_err *err)
{
    for (size_t i = 0; i < n; i++)
        if (!f[i].good)
            return fe_err_set(err, EIO, "%.200s: the record of %s %llu cannot be: its %s is %llu",
                              g->path, what, (unsigned long long)number, f[i].name,
                              (unsigned long long)f[i].value);
    return 0;
}

#define REFUSE_FIRST(g, what, number, fields, err) \
    refuse_first(g, what, number, fields, sizeof(fields) / sizeof(fields)[0], err)

static struct field count(const char *name, uint64_t value)
{
    return (struct field){name, value, value < FE_IMAGE_COUNT_MAX};
}

int fe_image_check_status(const struct fe_image *g, const struct fe_image_status *r,
                          struct fe_err *err)
{
    const struct field fields[] = {
        count("generation", r->generation),
        count("synced_seq", r->synced_seq),
        {"clean", r->clean, r->clean <= 1},
        {"n_open_1", r->n_open_1, r->n_open_1 <= r->synced_seq + 1},
        {"control_bytes", r->control_bytes, r->control_bytes <= FE_IMAGE_CONTROL_BYTES},
    };
    return REFUSE_FIRST(g, "status", r->generation % 2, fields, err);
}

int fe_image_check_lifetime(const struct fe_image *g, uint32_t place,
                            const struct fe_image_lifetime *r, struct fe_err *err)
{
    const struct field fields[] = {
        {"generation", r->generation, r->generation > 0 && r->generation < FE_IMAGE_COUNT_MAX &&
                                      r->generation % 2 == place},
    };
    return REFUSE_FIRST(g, "the device's clock", place, fields, err);
}

int fe_image_check_block(const struct fe_image *g, fe_peb peb, const struct fe_image_block *r,
                         struct fe_err *err)
{
    const struct field fields[] = {
        {"erase_count", r->erase_count, r->erase_count < FE_IMAGE_CYCLES_MAX},
        {"kept_cycle", r->kept_cycle, r->kept_cycle <= r->erase_count},
        count("erase_seq", r->erase_seq),
    };
    return REFUSE_FIRST(g, "block", peb, fields, err);
}

int fe_image_check_trim(const struct fe_image *g, uint64_t lpn, uint64_t seq, struct fe_err *err)
{
    const struct field fields[] = {count("number", seq)};
    return REFUSE_FIRST(g, "the trim of page", lpn, fields, err);
}

/* A page has a number unless it is torn or no flash, and bytes have a checksum. */
int fe_image_check_oob(const struct fe_image *g, fe_ppn ppn, const struct fe_image_oob *r,
                       uint32_t erase_count, struct fe_err *err)
{
    bool programmed = r->state == FE_STORE_PROGRAMMED, raw = r->state == FE_STORE_RAW;
    const struct field fields[] = {
        {"cycle", r->cycle, r->cycle <= erase_count},
        {"seq", r->seq, r->seq < FE_IMAGE_COUNT_MAX && (r->seq > 0) == programmed},
        {"lpn", r->lpn, programmed || r->lpn == (raw ? ppn : FE_LPN_NONE)},
        {"zeros", r->zeros, r->zeros <= (raw ? 0 : 1)},
        {"data_crc", r->data_crc, !r->zeros || r->data_crc == 0},
    };
    return REFUSE_FIRST(g, "page", ppn, fields, err);
}

int fe_image_check_entry(const struct fe_image *g, uint32_t entry, const struct fe_image_entry *r,
                         struct fe_err *err)
{
    const struct field fields[] = {
        {"state", r->state, r->state >= FE_ENTRY_HELD && r->state <= FE_ENTRY_DROPPED},
        {"generation", r->generation, r->generation > 0 && r->generation < FE_IMAGE_COUNT_MAX},
        count("order", r->order),
        count("seq", r->seq),
        count("out_seq", r->out_seq),
    };
    return REFUSE_FIRST(g, "cache page", entry, fields, err);
}
