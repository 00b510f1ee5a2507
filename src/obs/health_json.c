/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The names of the two reports are those that people know: of EXT_CSD as `mmc extcsd read` prints
 * them, and of CMD56 as sdmon does.
 */
#include "obs/health_json.h"

/* NULL for "without limit". */
static json_t *limit(uint64_t cycles)
{
    return cycles ? json_integer((json_int_t)cycles) : json_null();
}

static double percent(double part, uint64_t whole)
{
    return whole ? 100 * part / (double)whole : 0;
}

static json_t *emmc_json(const struct fe_health *h)
{
    return json_pack("{s:I, s:s, s:I, s:I}", "pre_eol_info", (json_int_t)h->pre_eol,
                     "pre_eol", fe_pre_eol_name(h->pre_eol), "life_time_est_typ_a",
                     (json_int_t)h->life_a, "life_time_est_typ_b", (json_int_t)h->life_b);
}

/* The registers count blocks that the host's data can be in, of either sort. */
static json_t *sd_json(const struct fe_health *h)
{
    const struct fe_wear_stats *a = &h->slc.cycles, *b = &h->others.cycles;
    uint64_t bad = h->bad_factory + h->bad_grown, n = h->slc.blocks + h->others.blocks;
    double sum = a->mean * (double)h->slc.blocks + b->mean * (double)h->others.blocks;
    double mean = n ? sum / (double)n : 0;
    uint64_t min = h->slc.blocks && (!h->others.blocks || a->min < b->min) ? a->min : b->min;
    json_t *o = json_pack(
        "{s:I, s:I, s:I, s:f, s:I, s:I, s:I, s:I, s:I, s:I, s:I}",
        "spare_blocks", (json_int_t)h->spare, "initial_bad_blocks", (json_int_t)h->bad_factory,
        "later_bad_blocks", (json_int_t)h->bad_grown,
        "good_block_pct", percent((double)(h->blocks - bad), h->blocks),
        "total_erase_count", (json_int_t)h->total_erases, "average_erase_count", (json_int_t)mean,
        "min_erase_count", (json_int_t)min,
        "max_erase_count", (json_int_t)(a->max > b->max ? a->max : b->max),
        "power_up_count", (json_int_t)h->power_ups, "abnormal_power_off_count",
        (json_int_t)h->cuts, "refresh_count", (json_int_t)h->refreshed);
    json_t *life = h->others.endurance ? json_real(percent(mean, h->others.endurance)) : json_null();
    if (o && json_object_set_new(o, "life_used_pct", life) == 0)
        return o;
    json_decref(o);
    return NULL;
}

static json_t *cells_json(const struct fe_health_cells *c)
{
    return json_pack("{s:I, s:I, s:f, s:I, s:f, s:o, s:o}", "blocks", (json_int_t)c->blocks,
                     "min", (json_int_t)c->cycles.min, "mean", c->cycles.mean, "max",
                     (json_int_t)c->cycles.max, "stddev", c->cycles.stddev, "rated_endurance",
                     limit(c->endurance), "endurance", limit(c->own));
}

static json_t *truth_json(const struct fe_health *h)
{
    const char *reason = fe_condition_reason(h->condition);
    return json_pack("{s:o, s:o, s:I, s:I, s:I, s:I, s:I, s:s, s:o}", "slc", cells_json(&h->slc),
                     "cells", cells_json(&h->others), "reserve_blocks", (json_int_t)h->reserve,
                     "spare_blocks", (json_int_t)h->spare, "bad_factory",
                     (json_int_t)h->bad_factory, "bad_grown", (json_int_t)h->bad_grown,
                     "retired_blocks", (json_int_t)h->retired, "state",
                     fe_condition_state(h->condition), "reason",
                     reason ? json_string(reason) : json_null());
}

json_t *fe_health_json(const struct fe_health *h)
{
    return json_pack("{s:o, s:o, s:o}", "emmc", emmc_json(h), "sd", sd_json(h), "truth",
                     truth_json(h));
}
