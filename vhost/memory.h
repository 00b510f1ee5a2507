/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The guest's memory: the regions that it shares, and where an address of the guest lies here.
 *
 * The guest speaks of two kinds of addresses: of its memory, in descriptors, and of the process that
 * runs it, where it says where its rings are.
 */
#pragma once

#include "flashemu/err.h"

#include <stdint.h>

#define FE_REGIONS_MAX 8 /* what a guest may send */

/* As the message has it. */
struct fe_region_wire {
    uint64_t guest_addr, size, user_addr, mmap_offset;
};

struct fe_memory {
    uint32_t n;
    struct fe_region {
        struct fe_region_wire at;
        uint8_t *map; /* of the file from its start on, at.size + at.mmap_offset bytes */
    } regions[FE_REGIONS_MAX];
};

/* Replaces the regions by n others, and closes the descriptors in any case.  A negative errno with
 * message; there are no regions then. */
int fe_memory_set(struct fe_memory *m, const struct fe_region_wire *at, const int *fds, uint32_t n,
                  struct fe_err *err);
void fe_memory_drop(struct fe_memory *m);

/* The byte at an address of the guest's memory, and in *len, which is what is wanted, how many bytes
 * follow it here.  NULL: the guest has no such memory. */
void *fe_memory_at(const struct fe_memory *m, uint64_t addr, uint64_t *len);

/* The same for an address of the process that runs the guest; all of len must be there. */
void *fe_memory_user(const struct fe_memory *m, uint64_t addr, uint64_t len);
