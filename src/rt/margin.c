/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Why there is no histogram and no sorted window: every thread reads the margin and teaches it for
 * every request, and the machine's behaviour changes (a compiler starts, the neighbour of a guest
 * wakes up), so that the estimate must forget old values.  Stochastic approximation does all of
 * that with one multiplication.
 *
 * For the quantile q and a gain g, a value above the estimate multiplies it by 1 + g q, and any
 * other value multiplies it by 1 - g (1 - q).  The two balance when a share 1 - q of all values
 * lies above the estimate.  (With q = 99 % and g = 1/8 the share is 1.06 %, because the logarithms
 * of the two factors balance.)  As the steps are proportional, the time to converge depends on the
 * ratio to be covered and not on the unit.  The gain falls from 1/2 to 1/8 as the count grows: a
 * new thread learns within some tens of waits, and the estimate of an old one does not jitter.
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
    /* Rounded up, because a step of 0 would leave a small estimate where it is. */
    uint64_t step = fe_div_up(m->ns * share_ppm, PPM << gain_shift(m->n_learnt));

    m->ns = clamp(above ? m->ns + step : m->ns - fe_min_u64(step, m->ns), rule);
    m->n_learnt++;
}

void fe_margin_cut(struct fe_margin *m, const struct fe_margin_rule *rule)
{
    m->ns = clamp(m->ns - m->ns / 4, rule);
}
