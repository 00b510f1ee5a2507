/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A draw turns the distribution round: P(0) = (1-p)^n, P(k+1) = P(k) (n-k)/(k+1) p/(1-p),
 * added up until the sum passes u.  P(0) of a bad page is far below 2^-64, therefore the
 * terms are kept with an exponent:
 *
 *     value = m x 2^-(64 + e)        m in [2^63, 2^64)
 *
 * Not modelled: that errors of a page come in groups (they are more spread in reality than
 * independent ones), and that the parity bits can be wrong too.
 */
#include "nand/ber.h"

#include "base/powers.h"

#define PER_UNIT UINT64_C(1000000000000)

/* rate x 2^log, at most FE_BER_MAX. */
static uint64_t times_power(uint64_t rate, int64_t log)
{
    uint64_t v = fe_times_exp2(rate, log);
    return v < FE_BER_MAX ? v : FE_BER_MAX;
}

/* y log2(a / b) in hundredths of y: exponents are given so. */
static int64_t log_of_power(uint64_t a, uint64_t b, int64_t hundredths)
{
    return hundredths * (fe_log2_fine(a) - fe_log2_fine(b)) / 100;
}

static uint64_t rate_of(uint64_t per_unit)
{
    unsigned __int128 r = ((unsigned __int128)per_unit << 64) / PER_UNIT;
    return r < FE_BER_MAX ? (uint64_t)r : FE_BER_MAX;
}

uint64_t fe_ber_rate(const struct fe_ber_params *p, uint64_t cycles, uint64_t endurance,
                     uint64_t age_ns, uint64_t reads)
{
    uint64_t rate = rate_of(p->fresh); /* four times 2^63 need 128 bits */
    unsigned __int128 sum = rate;
    if (cycles > 0 && endurance > 0) {
        if (p->worn)
            sum += times_power(rate_of(p->worn), log_of_power(cycles, endurance, 205));
        if (p->retention && age_ns > 0)
            sum += times_power(rate_of(p->retention), log_of_power(cycles, endurance, 14) +
                                                          log_of_power(age_ns, FE_BER_YEAR_NS, 54));
        if (p->disturb && reads > 0)
            sum += times_power(rate_of(p->disturb), log_of_power(cycles, endurance, 33) +
                                                        log_of_power(reads, FE_BER_READS, 171));
    }
    return sum < FE_BER_MAX ? (uint64_t)sum : FE_BER_MAX;
}

/* m x 2^-(64 + e), m in [2^63, 2^64); nothing here is 0. */
struct tiny {
    uint64_t m;
    int64_t e;
};

static struct tiny normal(unsigned __int128 m, int64_t e)
{
    uint64_t high = (uint64_t)(m >> 64);
    int zeros = high ? __builtin_clzll(high) : 64 + __builtin_clzll((uint64_t)m);
    return (struct tiny){(uint64_t)(m << zeros >> 64), e + zeros - 64};
}

static struct tiny product(struct tiny a, struct tiny b)
{
    return normal((unsigned __int128)a.m * b.m, a.e + b.e + 64);
}

static struct tiny power(struct tiny base, uint32_t n)
{
    struct tiny r = {UINT64_C(1) << 63, -1}; /* 1 */
    for (; n; n >>= 1) {
        if (n & 1)
            r = product(r, base);
        base = product(base, base);
    }
    return r;
}

/* Rounded down to 2^-64; a value of 1 or more counts as just below it. */
static uint64_t as_rate(struct tiny x)
{
    return x.e < 0 ? UINT64_MAX : x.e < 64 ? x.m >> x.e : 0;
}

uint32_t fe_ber_draw(uint64_t u, uint32_t n_bits, uint64_t rate, uint32_t max)
{
    if (rate == 0 || n_bits == 0)
        return 0;
    struct tiny p = normal(rate, 0), not_p = normal(UINT64_MAX - rate + 1, 0);
    struct tiny odds = normal(((unsigned __int128)p.m << 63) / not_p.m, p.e - not_p.e - 1);
    struct tiny term = power(not_p, n_bits);
    uint64_t sum = as_rate(term);
    uint32_t k = 0;
    while (u >= sum && k < max && k < n_bits) {
        term = normal((unsigned __int128)term.m * (n_bits - k) / (k + 1), term.e);
        term = product(term, odds);
        k++;
        /* Behind the middle the terms only shrink: what rounding has lost is all that is
         * left. */
        if (as_rate(term) == 0 && (unsigned __int128)n_bits * rate >> 64 < k)
            break;
        uint64_t next = sum + as_rate(term);
        sum = next < sum ? UINT64_MAX : next;
        if (sum == UINT64_MAX)
            break;
    }
    return k;
}
