/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Runs every property over many cases.  model.c and twins.c say what the properties are.
 *
 *     test_property [--long] [--part K/N] [SEED:GEOMETRY:STRATEGY...]
 *
 * A failing case prints its id.  With ids as arguments only these cases run.
 */
#include "property/property.h"

static const char *run_case(const struct ft_case *c)
{
    const char *wrong = ft_property_model(c);
    return wrong ? wrong : ft_property_twins(c);
}

int main(int argc, char **argv)
{
    return ft_cases_main(argc, argv, 24, 2, run_case);
}
