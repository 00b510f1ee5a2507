/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The parameters of the parts between the host and the translation layer: sections [link]
 * and [cache] of a profile.
 *
 * The option table (src/profile/options.c) has the range, the default and the meaning of
 * every key.
 */
#ifndef FLASHEMU_HOST_PARAMS_H
#define FLASHEMU_HOST_PARAMS_H

#include <stdbool.h>
#include <stdint.h>

enum fe_link_type {
    FE_LINK_PARALLEL, FE_LINK_USB_FS, FE_LINK_USB_HS, FE_LINK_USB_SS, FE_LINK_UAS,
    FE_LINK_SD_DS, FE_LINK_SD_HS, FE_LINK_SD_UHS, FE_LINK_EMMC, FE_LINK_EMMC_CQ, FE_LINK_NONE,
    FE_N_LINK_TYPES
};

#define FE_LINK_MAX_DEPTH 64

struct fe_link_params {
    uint32_t type;             /* enum fe_link_type; sets the defaults of the others */
    uint64_t bandwidth;        /* bytes a second; 0 = infinite */
    uint64_t command_overhead_ns;
    uint64_t max_transfer;     /* bytes a command; > 0 */
    uint32_t queue_depth;      /* commands in the device simultaneously; 1 .. FE_LINK_MAX_DEPTH */
};

/* The device's write cache. */
struct fe_cache_params {
    uint64_t size;   /* bytes; 0 = none */
    bool volatile_;  /* lost at a power cut; flush and FUA write it out */
    bool idle_flush; /* written out when the host leaves the device alone */
};

#endif
