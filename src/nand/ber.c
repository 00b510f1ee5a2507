/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Powers go through the logarithm: x^y = 2^(y log2 x), log2 by squaring (one bit of the
 * result for each square), 2^f as a product of the numbers 2^(2^-i) for the bits of f.
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

#define FRACTION 24 /* bits of a logarithm behind the point */
#define PER_UNIT UINT64_C(1000000000000)

/* log2(x) with FRACTION bits behind the point; x > 0. */
static int64_t log2_of(uint64_t x)
{
    unsigned whole = 63u - (unsigned)__builtin_clzll(x);
    uint64_t m = x << (63 - whole); /* [1, 2) with 63 bits behind the point */
    int64_t r = whole;
    for (int i = 0; i < FRACTION; i++) {
        unsigned __int128 square = (unsigned __int128)m * m >> 63;
        bool two = square >> 64;
        m = (uint64_t)(square >> two);
        r = 2 * r + two;
    }
    return r;
}

/* 2^(2^-i), i = 1, 2 ..., with 63 bits behind the point. */
static const uint64_t root_of_two[FRACTION] = {
    UINT64_C(0xb504f333f9de6484), UINT64_C(0x9837f0518db8a96f), UINT64_C(0x8b95c1e3ea8bd6e6),
    UINT64_C(0x85aac367cc487b14), UINT64_C(0x82cd8698ac2ba1d7), UINT64_C(0x8164d1f3bc030773),
    UINT64_C(0x80b1ed4fd999ab6c), UINT64_C(0x8058d7d2d5e5f6b0), UINT64_C(0x802c6436d0e04f50),
    UINT64_C(0x8016302f17467628), UINT64_C(0x800b179c82028fd0), UINT64_C(0x80058baf7fee3b5d),
    UINT64_C(0x8002c5d00fdcfcb6), UINT64_C(0x800162e61bed4a48), UINT64_C(0x8000b17292f702a3),
    UINT64_C(0x800058b92abbae02), UINT64_C(0x80002c5c8dade4d7), UINT64_C(0x8000162e44eaf636),
    UINT64_C(0x80000b1721fa7c18), UINT64_C(0x8000058b90de7e4c), UINT64_C(0x800002c5c8678f36),
    UINT64_C(0x80000162e431db9f), UINT64_C(0x800000b1721872d0), UINT64_C(0x80000058b90c1aa8),
};

/* rate x 2^log, at most FE_BER_MAX. */
static uint64_t times_power(uint64_t rate, int64_t log)
{
    int64_t whole = log >> FRACTION; /* rounded down */
    uint64_t m = UINT64_C(1) << 63;
    for (int i = 0; i < FRACTION; i++)
        if (log >> (FRACTION - 1 - i) & 1)
            m = (uint64_t)((unsigned __int128)m * root_of_two[i] >> 63);
    if (whole < -126 || rate == 0)
        return 0;
    unsigned __int128 v = (unsigned __int128)rate * m >> 63; /* below 2^64 */
    if (whole < 0)
        return (uint64_t)(v >> -whole);
    if (whole > 62 || v >> (63 - whole))
        return FE_BER_MAX;
    return (uint64_t)(v << whole);
}

/* y log2(a / b) in hundredths of y: exponents are given so. */
static int64_t log_of_power(uint64_t a, uint64_t b, int64_t hundredths)
{
    return hundredths * (log2_of(a) - log2_of(b)) / 100;
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
