/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Whether a record with the right checksum can have been written by a server.  Only what the record
 * alone tells is asked here: nand/chip_load.c compares records with the chip, and ftl/recover.c
 * what they say of pages with the strategy.
 */
#pragma once

#include "store/image_format.h"

struct fe_image;

/* No counter gets here in the life of a device.  So one that is read from an image is smaller, and
 * one that goes on from there never overflows. */
#define FE_IMAGE_COUNT_MAX UINT64_C(1000000000000000000)
#define FE_IMAGE_CYCLES_MAX UINT32_C(4000000000)

/* 0, or -EIO with a message that names the record, the field and its value. */
int fe_image_check_status(const struct fe_image *g, const struct fe_image_status *r,
                          struct fe_err *err);
/* place: 0 or 1, of the two that are written in turn. */
int fe_image_check_lifetime(const struct fe_image *g, uint32_t place,
                            const struct fe_image_lifetime *r, struct fe_err *err);
int fe_image_check_block(const struct fe_image *g, fe_peb peb, const struct fe_image_block *r,
                         struct fe_err *err);
int fe_image_check_trim(const struct fe_image *g, uint64_t lpn, uint64_t seq, struct fe_err *err);
/* erase_count: of the page's block. */
int fe_image_check_oob(const struct fe_image *g, fe_ppn ppn, const struct fe_image_oob *r,
                       uint32_t erase_count, struct fe_err *err);
int fe_image_check_entry(const struct fe_image *g, uint32_t entry, const struct fe_image_entry *r,
                         struct fe_err *err);
