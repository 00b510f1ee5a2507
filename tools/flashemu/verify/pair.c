/* SPDX-License-Identifier: BSD-3-Clause */
#include "verify/pair.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

struct verify_pair verify_pair(double published, double measured, const char *unit)
{
    struct verify_pair pair;
    char own[FE_ROUNDED_MAX];
    int decimals = fe_decimals(published, 3);

    snprintf(own, sizeof own, "%.4g", published);
    const char *point = strchr(own, '.');
    int given = point && !strchr(own, 'e') ? (int)strlen(point + 1) : 0;
    decimals = given > decimals ? given : decimals;
    if (measured > 0 && fe_decimals(measured, 2) > decimals)
        decimals = fe_decimals(measured, 2);
    if (strcmp(unit, "count") == 0 && floor(published) == published)
        decimals = 0;
    snprintf(pair.published, sizeof pair.published, "%.*f", decimals, published);
    snprintf(pair.measured, sizeof pair.measured, "%.*f", decimals, measured);
    return pair;
}
