/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a device offers to its client, and how its failures are called, whatever the protocol is that
 * they speak.
 */
#pragma once

#include "flashemu/profile.h"
#include "flashemu/types.h"
#include "params.h"

/* The largest read or write that clients are told of. */
#define FE_MAX_TRANSFER (32u * 1024 * 1024)

/* Whether a flush has any effect, or a write with FUA costs more than another one; or whether the
 * user wants flushes all the same. */
static inline bool fe_offers_flush(const struct fe_params *params, const struct fe_profile *profile)
{
    return params->always_flush || params->file || fe_cache_offers_flush(&profile->cache);
}

/* Whether a trim can stand for zeros, for a client that allows it: the device has it, and no power cut
 * undoes it, because what was zeroed and flushed must stay zeros. */
static inline bool fe_zeroes_by_trim(const struct fe_profile *profile)
{
    return profile->device.discard && !profile->ftl.trim_lost;
}

/* Why a request has failed, in words. */
static inline const char *fe_status_text(enum fe_status status)
{
    switch (status) {
    case FE_UNCORRECTABLE:
        return "uncorrectable";
    case FE_NO_SPACE:
        return "no good block is left";
    case FE_READ_ONLY:
        return "end of life, read only";
    case FE_GONE:
        return "the device is disconnected";
    case FE_NO_POWER:
        return "the device has no power";
    default:
        return "the chip failed";
    }
}
