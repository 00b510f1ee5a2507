/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The digest of a state is a sum over its sectors, so a state that differs from the view in a few
 * sectors costs a few additions, whatever the size of the device.  Each sector's digest is mixed with
 * its number first: otherwise two sectors that change places would be the same.
 */
#include "cuts/cuts.h"

#include "base/bytes.h"
#include "base/num.h"

#include <stdlib.h>
#include <string.h>

const struct fe_digest cuts_unreadable = {1, 1};

int cuts_view_init(struct cuts_view *v, const struct fe_device *dev, struct fe_err *err)
{
    *v = (struct cuts_view){.capacity = fe_device_capacity(dev),
                            .sector_size = fe_device_profile(dev)->device.sector_size};
    v->n_sectors = v->capacity / v->sector_size;
    uint64_t bytes;
    if (fe_mul_ok(v->n_sectors, sizeof *v->sectors, &bytes) && bytes <= SIZE_MAX)
        v->sectors = calloc((size_t)v->n_sectors, sizeof *v->sectors);
    return v->sectors ? 0 : fe_err_nomem(err, "digests of sectors", v->n_sectors * 16);
}

void cuts_view_fini(struct cuts_view *v)
{
    free(v->sectors);
    v->sectors = NULL;
}

static struct fe_digest share(uint64_t sector, struct fe_digest d)
{
    if (!d.a && !d.b)
        return d;
    return (struct fe_digest){fe_mix64(d.a + fe_mix64(sector + 1)),
                              fe_mix64(d.b ^ fe_mix64(~sector))};
}

struct fe_digest cuts_view_differ(const struct cuts_view *v, struct fe_digest sum, uint64_t sector,
                                  struct fe_digest is)
{
    struct fe_digest was = share(sector, v->sectors[sector]), now = share(sector, is);
    return (struct fe_digest){sum.a - was.a + now.a, sum.b - was.b + now.b};
}

void cuts_view_put(struct cuts_view *v, uint64_t offset, uint64_t len, const void *buf)
{
    const uint8_t *p = buf;
    for (uint64_t done = 0; done < len; done += v->sector_size) {
        uint64_t s = (offset + done) / v->sector_size;
        bool zeros = !p || fe_bytes_are_zeros(p + done, v->sector_size);
        struct fe_digest d = zeros ? (struct fe_digest){0, 0} : fe_digest_of(p + done, v->sector_size);
        v->sum = cuts_view_differ(v, v->sum, s, d);
        v->sectors[s] = d;
    }
}
