/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The fields of an image's records that test_damaged changes: where each lies in its record, how
 * long it is, and beyond which value no image is good.
 */
#pragma once

#include "store/image_check.h"
#include "store/image_format.h"

#include <stddef.h>
#include <stdint.h>

#define FIELD(type, member) {#member, offsetof(struct type, member), \
                             sizeof(((struct type *)0)->member), 0}

/* A number that no device reaches. */
#define COUNT(type, member) {#member, offsetof(struct type, member), 8, FE_IMAGE_COUNT_MAX - 1}

struct field {
    const char *name;
    size_t off, size;
    uint64_t max; /* what is more must be refused; 0: it depends */
};

static const struct field header_fields[] = {
    FIELD(fe_image_header, version), {"state", 20, 4, FE_IMAGE_READY},
    FIELD(fe_image_header, n_pages), FIELD(fe_image_header, capacity),
    FIELD(fe_image_header, seed), FIELD(fe_image_header, page_bytes),
    FIELD(fe_image_header, pages_per_block), FIELD(fe_image_header, n_entries),
    FIELD(fe_image_header, profile_bytes), FIELD(fe_image_header, profile_crc)};
static const struct field status_fields[] = {
    COUNT(fe_image_status, generation), COUNT(fe_image_status, synced_seq),
    FIELD(fe_image_status, n_open_1), FIELD(fe_image_status, boot_id), FIELD(fe_image_status, clean),
    FIELD(fe_image_status, control_bytes), {"control", 40, 4, 0}, {"control.off", 44, 1, 0},
    {"control.dead", 45, 1, 0}, {"control.since", 48, 8, 0}, {"control.until", 56, 8, 0},
    {"control.n", 64, 8, 0}, {"control.n_stale", 72, 8, 0}};
static const struct field lifetime_fields[] = {
    COUNT(fe_image_lifetime, generation), {"clock", 8, 8, 0}, {"last cut", 16, 8, 0}, {"writes", 24, 8, 0},
    {"programs", 32, 8, 0}, {"erases", 40, 8, 0}, {"number 5", 48, 8, 0},
    FIELD(fe_image_lifetime, reserved)};
static const struct field block_fields[] = {
    COUNT(fe_image_block, erase_seq), FIELD(fe_image_block, erase_count),
    FIELD(fe_image_block, kept_cycle), FIELD(fe_image_block, flags),
    FIELD(fe_image_block, kept_flags), {"difference", 24, 4, 0}, {"chip block", 28, 4, 0},
    {"reads", 32, 4, 0}, {"since", 36, 4, 0}, {"since high", 40, 4, 0}, {"extra 5", 44, 4, 0}};
static const struct field trim_fields[] = {
    FIELD(fe_image_trim, seq), FIELD(fe_image_trim, reserved)};
static const struct field entry_fields[] = {
    COUNT(fe_image_entry, generation), COUNT(fe_image_entry, order),
    FIELD(fe_image_entry, sectors), COUNT(fe_image_entry, seq), COUNT(fe_image_entry, out_seq),
    FIELD(fe_image_entry, lpn), FIELD(fe_image_entry, state), FIELD(fe_image_entry, data_crc)};
static const struct field oob_fields[] = {
    COUNT(fe_image_oob, seq), FIELD(fe_image_oob, lpn), FIELD(fe_image_oob, cycle),
    FIELD(fe_image_oob, data_crc), FIELD(fe_image_oob, tag), FIELD(fe_image_oob, state),
    FIELD(fe_image_oob, zeros), FIELD(fe_image_oob, mode), FIELD(fe_image_oob, reserved)};

enum { HEADER, STATUS, LIFETIME, BLOCK, TRIM, ENTRY, OOB, N_RECORDS };

static const struct {
    const char *name;
    const struct field *fields;
    uint32_t n_fields, bytes;
} records[] = {
#define RECORD(name, type) \
    {#name, name##_fields, sizeof name##_fields / sizeof name##_fields[0], sizeof(struct type)}
    RECORD(header, fe_image_header), RECORD(status, fe_image_status),
    RECORD(lifetime, fe_image_lifetime), RECORD(block, fe_image_block), RECORD(trim, fe_image_trim),
    RECORD(entry, fe_image_entry), RECORD(oob, fe_image_oob),
};
