/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Products are computed in 128 bits: 2^64 ns times a numerator below 10^14 fits.  A result that
 * does not fit 64 bits becomes the largest number.  With the smallest scale, 0.0001, device time
 * passes ten thousand times as fast as real time, and 64 bits last for 21 days.  That is why the
 * scale has a lower bound.
 */
#include "timemap.h"

#include "base/quantity.h"

#include <errno.h>
#include <string.h>

#define BILLION UINT64_C(1000000000) /* the unit in which FE_DECIMAL counts is 1 / BILLION */

/* Whether the scale is in the range that FE_SCALE_ALLOWED promises. */
static int in_range(struct fe_scale s)
{
    return s.num >= s.den / 10000 && s.num <= s.den * 10000;
}

int fe_scale_parse(const char *text, struct fe_scale *ret, struct fe_err *err)
{
    struct fe_scale s = {.den = BILLION};

    if (!fe_quantity_parse_span(FE_DECIMAL, text, strlen(text), &s.num) || !in_range(s))
        return fe_err_set(err, EINVAL, "must be " FE_SCALE_ALLOWED);
    while (s.den > 1 && s.num % 10 == 0) {
        s.num /= 10;
        s.den /= 10;
    }
    *ret = s;
    return 0;
}

void fe_scale_print(struct fe_scale s, char *buf, size_t len)
{
    fe_quantity_print(FE_DECIMAL, s.num * (BILLION / s.den), buf, len);
}

/* base + delta * mul / div, rounded up, but at most UINT64_MAX. */
static uint64_t add_scaled(uint64_t base, uint64_t delta, uint64_t mul, uint64_t div)
{
    unsigned __int128 x = (unsigned __int128)delta * mul;
    x = (x + div - 1) / div + base;
    return x > UINT64_MAX ? UINT64_MAX : (uint64_t)x;
}

uint64_t fe_timemap_device(const struct fe_timemap *m, uint64_t real_ns)
{
    uint64_t delta = real_ns > m->real0_ns ? real_ns - m->real0_ns : 0;
    return add_scaled(m->device0_ns, delta, m->scale.den, m->scale.num);
}

uint64_t fe_timemap_real(const struct fe_timemap *m, uint64_t device_ns)
{
    uint64_t delta = device_ns > m->device0_ns ? device_ns - m->device0_ns : 0;
    return add_scaled(m->real0_ns, delta, m->scale.num, m->scale.den);
}

void fe_timemap_rescale(struct fe_timemap *m, uint64_t real_ns, struct fe_scale scale)
{
    m->device0_ns = fe_timemap_device(m, real_ns);
    m->real0_ns = real_ns > m->real0_ns ? real_ns : m->real0_ns;
    m->scale = scale;
}
