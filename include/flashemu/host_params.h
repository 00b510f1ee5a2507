/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The parameters of the parts between the host and the translation layer: sections [link]
 * and [cache] of a profile.
 *
 * The option table (src/profile/options.c) has the range, the default and the meaning of
 * every key.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum fe_link_type {
    FE_LINK_PARALLEL, FE_LINK_USB_FS, FE_LINK_USB_HS, FE_LINK_USB_SS, FE_LINK_UAS,
    FE_LINK_SD_DS, FE_LINK_SD_HS, FE_LINK_SD_UHS, FE_LINK_EMMC, FE_LINK_EMMC_CQ, FE_LINK_NONE,
    FE_LINK_SD_DDR50, FE_LINK_SD_A2, FE_LINK_EMMC_HS200, FE_LINK_EMMC_HS400, FE_N_LINK_TYPES
};

/* What becomes of commands that the host sends while others are in the device. */
enum fe_queue {
    FE_QUEUE_IN_ORDER,  /* their data cross the link in the order of the commands */
    FE_QUEUE_ANY_ORDER, /* data that are ready may go before data that wait for the flash */
    FE_QUEUE_OFF,       /* the host sends one command at a time, whatever queue_depth is */
    FE_QUEUE_IN_TURN,   /* a command begins when the one before has ended on the flash, too, unless
                           it continues that one */
    FE_N_QUEUES
};

#define FE_LINK_MAX_DEPTH 64

struct fe_link_params {
    uint32_t type;             /* enum fe_link_type; sets the defaults of the others */
    uint64_t bandwidth;        /* bytes a second; 0 = infinite */
    uint64_t command_overhead_ns;
    uint64_t max_transfer;     /* bytes a command; > 0 */
    uint32_t queue_depth;      /* commands in the device simultaneously; 1 .. FE_LINK_MAX_DEPTH */
    uint32_t queue;            /* enum fe_queue */
    uint64_t task_overhead_ns; /* time on the wire that a queued command takes before its data */
    uint64_t write_overhead_ns; /* more time on the wire for a write, with and without a queue */
    uint64_t read_buffer;      /* bytes of a read that are gathered before they are sent; 0: each
                                  page is sent when it has been read */
    uint64_t busy_poll_ns;     /* queue off: how long the host sleeps after it has asked for the
                                  first time whether a write has ended; 0: it is told */
    uint64_t busy_ask_ns;      /* with busy_poll_ns: how long each question takes */
    uint64_t busy_late_ppm;    /* share of each sleep by which it may be longer, at most */
    uint64_t turn_read;        /* a read command of more bytes begins when the one before has ended,
                                  even if it continues that one; 0: none does */
};

/* The commands that really can be in the device simultaneously. */
static inline uint32_t fe_link_depth(const struct fe_link_params *p)
{
    return p->queue == FE_QUEUE_OFF ? 1 : p->queue_depth;
}

enum fe_cache_mode { FE_CACHE_ON, FE_CACHE_OFF, FE_N_CACHE_MODES };

/* The device's write cache. */
struct fe_cache_params {
    uint32_t mode;         /* enum fe_cache_mode: off means that `size` counts as 0, and that
                              writes are answered when the flash has them */
    uint64_t size;         /* bytes; 0 = none */
    uint64_t write_behind; /* bytes of pages that can be on their way to the flash, and are answered
                              then if the mode is on; 0 = no such buffer */
    bool volatile_;        /* lost at a power cut; flush and FUA write it out */
    uint64_t reliable_ns;  /* additional time of a write with FUA */
    bool idle_flush;       /* written out when the host leaves the device alone */
};

/* Whether a write may be answered before a power cut can no longer take it. */
static inline bool fe_cache_is_volatile(const struct fe_cache_params *p)
{
    return p->mode == FE_CACHE_ON && p->volatile_ && (p->size > 0 || p->write_behind > 0);
}

/* Whether the device offers flush and FUA.  A device without a volatile cache does so for its
 * reliable writes: Linux sends FUA only to a device that also takes a flush. */
static inline bool fe_cache_offers_flush(const struct fe_cache_params *p)
{
    return fe_cache_is_volatile(p) || p->reliable_ns > 0;
}
