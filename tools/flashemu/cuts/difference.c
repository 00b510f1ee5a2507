/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A state is told as the ranges in which it differs from what the host has written: most states differ
 * in a few sectors, so a pipe carries thousands of them in a second.
 */
#include "cuts/walk_impl.h"

#include "base/bytes.h"
#include "base/table.h"

#include <string.h>
#include <unistd.h>

void cuts_give_up(const char *why)
{
    fprintf(stderr, "flashemu: cuts: a cut was given up: %s\n", why);
    _exit(3);
}

static void out_of_memory(void)
{
    cuts_give_up("out of memory");
}

static void add_bytes(struct cuts_difference *d, const uint8_t *p, size_t len)
{
    d->bytes = fe_table_grow(d->bytes, d->n_bytes + len, &d->bytes_room, 1);
    if (!d->bytes)
        out_of_memory();
    memcpy(d->bytes + d->n_bytes, p, len);
    d->n_bytes += len;
}

static void add_sector(struct cuts_difference *d, uint64_t offset, const uint8_t *p, uint32_t len,
                       int kind)
{
    struct cuts_range *last = d->n ? &d->ranges[d->n - 1] : NULL;
    if (last && (int)last->kind == kind && last->offset + last->len == offset) {
        last->len += len;
    } else {
        d->ranges = fe_table_grow(d->ranges, d->n + 1, &d->room, sizeof *d->ranges);
        if (!d->ranges)
            out_of_memory();
        d->ranges[d->n++] = (struct cuts_range){.offset = offset, .len = len};
        d->ranges[d->n - 1].kind = (unsigned)kind;
    }
    if (kind == CUTS_DATA)
        add_bytes(d, p, len);
}

void cuts_difference_note(const struct cuts_view *v, struct cuts_difference *d, uint64_t offset,
                          const uint8_t *p, bool reads)
{
    uint32_t size = v->sector_size;
    uint64_t s = offset / size;
    struct fe_digest is = {0, 0};
    int kind = CUTS_ZEROS;
    if (!reads) {
        is = cuts_unreadable;
        kind = CUTS_UNREADABLE;
    } else if (!fe_bytes_are_zeros(p, size)) {
        is = fe_digest_of(p, size);
        kind = CUTS_DATA;
    }
    if (fe_digest_same(is, v->sectors[s]))
        return;
    d->sum = cuts_view_differ(v, d->sum, s, is);
    add_sector(d, offset, p, size, kind);
}

uint32_t cuts_marks_reached(const struct cuts_walk *w, uint64_t at_ns)
{
    uint32_t n = 0;
    while (n < w->n_marks && w->marks[n] <= at_ns)
        n++;
    return n;
}

void cuts_tell(struct cuts_walk *w, const struct cuts_found *f, const struct cuts_difference *d)
{
    const uint8_t *p = d ? d->bytes : NULL;
    bool good = fwrite(f, sizeof *f, 1, w->out) == 1;
    for (size_t i = 0; d && i < d->n && good; i++) {
        const struct cuts_range *r = &d->ranges[i];
        size_t len = r->kind == CUTS_DATA ? (size_t)r->len : 0;
        good = fwrite(r, sizeof *r, 1, w->out) == 1;
        if (len > 0) { /* where no range has bytes there are none to point to */
            good = good && fwrite(p, 1, len, w->out) == len;
            p += len;
        }
    }
    if (!good || fflush(w->out) != 0)
        _exit(3); /* nobody listens any more */
}
