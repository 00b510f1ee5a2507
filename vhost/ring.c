/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The rules for the order of memory accesses are those of the standard: what was described is read
 * after the index that offers it, and an index that gives something back is written after it.
 */
#include "ring.h"

#include <errno.h>
#include <stddef.h>

static uint16_t load(const uint16_t *p)
{
    return __atomic_load_n(p, __ATOMIC_ACQUIRE);
}

/* Adds the memory of one descriptor, which may lie in several regions. */
static int add_pieces(const struct fe_memory *m, const struct vring_desc *d, struct fe_chain *c,
                      struct fe_err *err)
{
    bool in = d->flags & VRING_DESC_F_WRITE;

    if (!in && c->n_in)
        return fe_err_set(err, EINVAL, "the guest's ring: what is read follows what is written");
    for (uint64_t done = 0; done < d->len;) {
        uint64_t len = d->len - done;
        void *at = d->addr > UINT64_MAX - done ? NULL : fe_memory_at(m, d->addr + done, &len);
        if (!at)
            return fe_err_set(err, EINVAL, "the guest's ring: no memory at %#llx",
                              (unsigned long long)(d->addr + done));
        if (c->n_out + c->n_in == FE_PIECES_MAX)
            return fe_err_set(err, EINVAL, "the guest's ring: more than %d pieces in a request",
                              FE_PIECES_MAX);
        c->pieces[c->n_out + c->n_in] = (struct iovec){at, len};
        c->n_out += !in;
        c->n_in += in;
        done += len;
    }
    return 0;
}

/* Follows a chain through a table of n descriptors, and once into a table that one of them names. */
static int follow(const struct fe_memory *m, const struct vring_desc *table, uint32_t n, uint16_t i,
                  bool nested, struct fe_chain *c, struct fe_err *err)
{
    for (uint32_t steps = 0; steps < n; steps++) {
        if (i >= n)
            return fe_err_set(err, EINVAL, "the guest's ring: descriptor %u of %u", i, n);
        struct vring_desc d = *(const volatile struct vring_desc *)&table[i];
        int r;
        if (d.flags & VRING_DESC_F_INDIRECT) {
            uint64_t len = d.len;
            void *inner = fe_memory_at(m, d.addr, &len);
            if (nested || (d.flags & VRING_DESC_F_NEXT) || !inner || len != d.len || len == 0 ||
                len % sizeof d || len / sizeof d > UINT16_MAX || d.addr % 16)
                return fe_err_set(err, EINVAL, "the guest's ring: a wrong indirect table");
            return follow(m, inner, (uint32_t)(len / sizeof d), 0, true, c, err);
        }
        r = add_pieces(m, &d, c, err);
        if (r < 0 || !(d.flags & VRING_DESC_F_NEXT))
            return r;
        i = d.next;
    }
    return fe_err_set(err, EINVAL, "the guest's ring: a chain without an end");
}

int fe_ring_take(struct fe_ring *r, const struct fe_memory *m, struct fe_chain *ret,
                 struct fe_err *err)
{
    uint16_t waiting = (uint16_t)(load(&r->avail->idx) - r->next);

    if (waiting == 0)
        return 0;
    if (waiting > r->num)
        return fe_err_set(err, EINVAL, "the guest's ring: %u chains in %u places", waiting, r->num);
    ret->head = load(&r->avail->ring[r->next++ % r->num]);
    ret->n_out = ret->n_in = 0;
    int done = follow(m, r->desc, r->num, ret->head, false, ret, err);
    return done < 0 ? done : 1;
}

void fe_ring_give(struct fe_ring *r, uint16_t head, uint32_t written)
{
    struct vring_used_elem *e = &r->used->ring[r->used_idx++ % r->num];
    e->id = head;
    e->len = written;
    __atomic_store_n(&r->used->idx, r->used_idx, __ATOMIC_RELEASE);
    r->must_call = true;
}

bool fe_ring_wants_call(struct fe_ring *r)
{
    bool must = r->must_call;
    r->must_call = false;
    __atomic_thread_fence(__ATOMIC_SEQ_CST); /* the index before the guest's flag */
    return must && !(load(&r->avail->flags) & VRING_AVAIL_F_NO_INTERRUPT);
}
