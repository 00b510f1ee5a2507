/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A forged device tells the host of more sectors than it has.  Where those beyond really are, and
 * what becomes of the lost ones.
 *
 *     wrap      |0 . . . . capacity|0 . . . . capacity|0 . . .       at % capacity
 *     drop      |0 . . . . capacity|lost . . . . . . . . . . .
 *     module    |0 . . . . capacity|lost|0 . . . . capacity|lost|     at % module
 *
 * `module` is what a controller does whose upper address lines lead nowhere, so it is a power of
 * two.  f3probe calls such a device "wraparound" if no sector is lost, "chain" if there are some
 * between the capacity and the module, and "limbo" if no address comes round, as with `drop`.
 *
 * Lost sectors read as zeros.  But many forgers keep what was written to them last in a buffer, so
 * that a host which writes a little and looks again finds its data.  This buffer is a ring of
 * sectors (ring.h), which a power cut empties.
 *
 * Not modelled: a buffer that keeps less of scattered sectors than of those in order, or that
 * survives without power.
 */
#pragma once

#include "base/num.h"
#include "device/ring.h"
#include "flashemu/err.h"
#include "flashemu/profile.h"

struct fe_forged {
    uint64_t capacity; /* bytes that there are */
    uint64_t period;   /* after so many bytes addresses come round; UINT64_MAX: they never do */
    uint64_t direct;   /* below this a byte is where the host says: the smaller one of the two */

    uint32_t sector_size;
    struct fe_ring kept; /* lost sectors that read back nevertheless */
};

#define FE_NOWHERE UINT64_MAX

/* The sectors of a device with so many bytes.  Without `payload` nobody wants their data, and none
 * are kept.  -ENOMEM, and -EINVAL if device.beyond:cache is given and no sector is lost; with
 * message, and *f needs no fini then. */
int fe_forged_init(struct fe_forged *f, const struct fe_device_params *p, uint64_t capacity,
                   bool payload, struct fe_err *err);
void fe_forged_fini(struct fe_forged *f);

/* Where a sector is that is not where the host says; see fe_forged_place. */
uint64_t fe_forged_place_beyond(const struct fe_forged *f, uint64_t at, uint64_t *len);

/* Where the bytes from `at` on really are; FE_NOWHERE if they are lost.  *len is the number of
 * bytes wanted, and is reduced to what follows there in one piece, or is lost in one piece. */
static inline uint64_t fe_forged_place(const struct fe_forged *f, uint64_t at, uint64_t *len)
{
    if (at >= f->direct)
        return fe_forged_place_beyond(f, at, len);
    *len = fe_min_u64(*len, f->direct - at);
    return at;
}

/* The host writes `len` bytes, whole sectors, that are lost; buf NULL means zeros. */
void fe_forged_keep(struct fe_forged *f, uint64_t at, uint32_t len, const void *buf);

/* What the host reads where bytes are lost: those that were kept, and zeros. */
void fe_forged_look(const struct fe_forged *f, uint64_t at, uint32_t len, void *buf);

/* Nothing is kept of `len` bytes from `at` on any more; they read as zeros. */
void fe_forged_forget(struct fe_forged *f, uint64_t at, uint64_t len);
