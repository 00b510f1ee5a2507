/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Whether two chips are in the same state, for tests that do one thing in two ways.
 */
#pragma once

#include "lib/rig.h"
#include "lib/unit.h"

/* Two arrays of n entries are the same. */
#define FT_ASSERT_SAME(a, b, n) assert_memory_equal(a, b, (n) * sizeof *(a))

/* The blocks, the OOB of all pages, what is in the register, and what the chip has counted. */
static inline void ft_assert_same_chip(const struct ft_rig *x, const struct ft_rig *y)
{
    const struct fe_medium *m = x->medium, *n = y->medium;
    const struct fe_geometry *geo = &x->geo;
    FT_ASSERT_SAME(m->chip.pebs, n->chip.pebs, geo->n_pebs);
    FT_ASSERT_SAME(m->chip.oob_lpn, n->chip.oob_lpn, geo->n_ppns);
    FT_ASSERT_SAME(m->chip.oob_seq, n->chip.oob_seq, geo->n_ppns);
    FT_ASSERT_SAME(m->chip.oob_tag, n->chip.oob_tag, geo->n_ppns);
    assert_int_equal(m->chip.seq, n->chip.seq);
    assert_int_equal(m->in_register, n->in_register);
    assert_int_equal(m->register_read, n->register_read);
    assert_memory_equal(&m->counters, &n->counters, sizeof m->counters);
}
