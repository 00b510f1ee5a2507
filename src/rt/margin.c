/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Why not a histogram or a sorted window: the margin is read and taught once for
 * every request, by every thread, and what the machine does changes (a compiler
 * starts, a guest's neighbour wakes up), so the estimate must forget.  Stochastic
 * approximation does all of it with one multiplication.
 *
 * For the quantile q and a gain g, a value above the estimate raises it by the
 * factor 1 + g q, any other lowers it by the factor 1 - g (1 - q).  The two balance
 * when a share 1 - q of the values lies above (1.06 % for q = 99 % and g = 1/8: the
 * steps are factors, so the balance is that of their logarithms).  Steps in
 * proportion make the time to converge depend on the ratio to be covered and not on
 * the unit.  The gain falls from 1/2 to 1/8 as the count grows: a new thread learns
 * within some tens of waits, and an old one does not jitter.
 */
#include "rt/margin.h"

#include "base/num.h"

#define PPM UINT64_C(1000000)

/* The gain is 2^-shift. */
static unsigned gain_shift(uint64_t n_learnt)
{
    if (n_learnt < 64)
        return 1;
    return n_learnt < 512 ? 2 : 3;
}

static uint64_t clamp(uint64_t ns, const struct fe_margin_rule *rule)
{
    return fe_min_u64(fe_max_u64(ns, rule->min_ns), rule->max_ns);
}

void fe_margin_init(struct fe_margin *m, const struct fe_margin_rule *rule,
                    uint64_t start_ns, uint64_t n_learnt)
{
    assert(rule->quantile_ppm > 0 && rule->quantile_ppm < PPM);
    assert(rule->min_ns > 0 && rule->min_ns <= rule->max_ns && rule->max_ns >> 40 == 0);
    m->ns = clamp(start_ns, rule);
    m->n_learnt = n_learnt;
}

void fe_margin_learn(struct fe_margin *m, const struct fe_margin_rule *rule,
                     uint64_t value_ns)
{
    bool above = value_ns > m->ns;
    uint64_t share_ppm = above ? rule->quantile_ppm : PPM - rule->quantile_ppm;
    /* Rounded up: a step of nothing would leave a small estimate where it is. */
    uint64_t step = fe_div_up(m->ns * share_ppm, PPM << gain_shift(m->n_learnt));

    m->ns = clamp(above ? m->ns + step : m->ns - fe_min_u64(step, m->ns), rule);
    m->n_learnt++;
}

void fe_margin_cut(struct fe_margin *m, const struct fe_margin_rule *rule)
{
    m->ns = clamp(m->ns - m->ns / 4, rule);
}
