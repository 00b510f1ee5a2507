/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the control socket asks of the server: statistics, keys, faults, power and events.
 *
 * Each function takes the lock for as long as the device works, and tells the listeners afterwards
 * if the device may have done something.  What takes longer than a copy, such as building JSON,
 * comes after the unlocking.
 */
#include "server_internal.h"

#include "base/guess.h"
#include "base/quantity.h"
#include "flashemu/faults.h"
#include "obs/json_text.h"
#include "obs/health_json.h"
#include "obs/metrics.h"
#include "obs/stats_json.h"
#include "profile/options.h"
#include "rt/clock.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* The device's clock cannot be made to jump beyond this.  Completions are later than arrivals, and
 * there must be room for them. */
#define MAX_DEVICE_NS (UINT64_C(1) << 62)

/* A hang takes effect with the next request, before which the clock may jump to the limit
 * above.  Both together must fit the 63 bits that JSON has for a time. */
#define MAX_HANG_END_NS (MAX_DEVICE_NS / 2)

/* Sets stats[key] to value.  Takes over both, and returns stats; NULL without memory. */
static json_t *add(json_t *stats, const char *key, json_t *value)
{
    if (stats && json_object_set_new(stats, key, value) == 0)
        return stats;
    if (!stats)
        json_decref(value);
    json_decref(stats);
    return NULL;
}

static json_t *image_json(const struct fe_server *s)
{
    return json_pack("{s:s, s:I, s:O?}", "sync", s->sync ? "flush" : "none", "open_ns",
                     (json_int_t)s->open_ns, "path", json_object_get(s->origin, "image"));
}

static json_t *trace_json(const struct fe_server *s)
{
    struct fe_recorder_state trace;
    fe_recorder_get_state(s->recorder, &trace);
    return json_pack("{s:o, s:I, s:I, s:o}", "file", fe_json_text(s->trace, strlen(s->trace)),
                     "records", (json_int_t)trace.records, "lost", (json_int_t)trace.lost,
                     "ended", trace.ended ? fe_json_text(trace.ended, strlen(trace.ended))
                                          : json_null());
}

/* What `stats` and `metrics` print.  Free both parts after use; both are NULL without memory. */
struct numbers {
    struct fe_snapshot *device;
    struct fe_hist *lateness; /* 15 KiB */
    bool late;
};

static void free_numbers(struct numbers *n)
{
    fe_snapshot_destroy(n->device);
    free(n->lateness);
    *n = (struct numbers){0};
}

static struct numbers take_numbers(struct fe_server *s)
{
    struct numbers n = {fe_snapshot_create(s->dev), malloc(sizeof *n.lateness), false};
    if (!n.device || !n.lateness) {
        free_numbers(&n);
        return n;
    }
    lock(&s->lateness_lock);
    *n.lateness = s->lateness;
    n.late = s->late.is_late;
    unlock(&s->lateness_lock);

    /* Let the device do the idle work that it has had time for since the last request, as the
     * next arrival would, so that the statistics include it. */
    uint64_t now_ns = s->virtual_clock ? 0 : fe_clock_now_ns();
    lock_device(s);
    if (!s->virtual_clock && !s->in_trim)
        fe_device_idle(s->dev, fe_timemap_device(&s->map, now_ns));
    fe_snapshot_take(n.device, s->dev);
    unlock_and_tell(s, false);
    return n;
}

static const char *clock_name(const struct fe_server *s)
{
    return s->virtual_clock ? "virtual" : "real";
}

json_t *fe_server_stats(struct fe_server *s)
{
    struct numbers n = take_numbers(s);
    if (!n.device)
        return NULL;
    json_t *o = fe_stats_json(n.device, s->profile, clock_name(s), n.lateness, n.late);
    free_numbers(&n);
    if (s->image)
        o = add(o, "image", image_json(s));
    if (s->recorder)
        o = add(o, "trace", trace_json(s));
    if (o && json_object_update_missing(o, s->origin) == 0)
        return o;
    json_decref(o);
    return NULL;
}

/* What is seen of all blocks.  The arrays are NULL without memory; free both after use. */
struct seen {
    uint32_t n, pages; /* blocks of the chip, pages of each */
    struct fe_block_wear *blocks;
    uint16_t *valid;
    bool knows_valid;
};

/* Valid pages are counted for so many pages at a time.  Between two parts the lock is free for long
 * enough that a thread that waits for it wakes up. */
enum { PAGES_AT_A_TIME = 8192, BETWEEN_NS = 50000 };

static struct seen look_at_blocks(struct fe_server *s)
{
    struct seen seen = {.n = fe_device_blocks(s->dev), .pages = fe_device_block_pages(s->dev)};
    uint32_t step = seen.pages < PAGES_AT_A_TIME ? PAGES_AT_A_TIME / seen.pages : 1;
    seen.blocks = calloc(seen.n ? seen.n : 1, sizeof *seen.blocks);
    seen.valid = calloc(seen.n ? seen.n : 1, sizeof *seen.valid);
    if (!seen.blocks || !seen.valid)
        return seen;
    lock_device(s);
    fe_device_get_blocks(s->dev, seen.blocks);
    seen.knows_valid = fe_device_knows_valid(s->dev);
    unlock(&s->lock);
    for (uint32_t at = 0; at < seen.n && seen.knows_valid; at += step) {
        if (at > 0)
            (void)clock_nanosleep(CLOCK_MONOTONIC, 0, &(struct timespec){.tv_nsec = BETWEEN_NS},
                                  NULL);
        lock_device(s);
        seen.knows_valid = fe_device_knows_valid(s->dev);
        if (seen.knows_valid)
            fe_device_get_valid(s->dev, at, seen.n - at < step ? seen.n - at : step, seen.valid);
        unlock(&s->lock);
    }
    return seen;
}

/* The numbers of the cell that consists of blocks [from, to): in percent, how full the good ones
 * are.  What was written to a block after the first look at it does not count as valid. */
static int put_cell(json_t *map, const struct seen *seen, uint32_t from, uint32_t to)
{
    uint64_t filled = 0, valid = 0, erases = 0, good = 0;
    uint32_t cycles = 0, bad = 0;
    for (uint32_t i = from; i < to; i++) {
        const struct fe_block_wear *block = &seen->blocks[i];
        bool is_bad = block->state == FE_BLOCK_FACTORY_BAD || block->state == FE_BLOCK_GROWN_BAD;
        bad += is_bad;
        good += !is_bad;
        filled += is_bad ? 0 : block->programmed;
        valid += is_bad ? 0
                 : seen->valid[i] < block->programmed ? seen->valid[i] : block->programmed;
        erases += block->cycles;
        cycles = block->cycles > cycles ? block->cycles : cycles;
    }
    uint64_t pages = good ? good * seen->pages : 1;
    const struct {
        const char *key;
        uint64_t value;
    } numbers[] = {{"filled", filled * 100 / pages}, {"erases", erases}, {"cycles", cycles},
                   {"bad", bad}, {"valid", valid * 100 / pages}};
    int r = 0;
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        json_t *array = json_object_get(map, numbers[i].key);
        if (json_is_array(array)) /* null: not known */
            r |= json_array_append_new(array, json_integer((json_int_t)numbers[i].value));
    }
    return r;
}

json_t *fe_server_map(struct fe_server *s, uint32_t n)
{
    struct seen seen = look_at_blocks(s);
    uint32_t per_cell = (uint32_t)fe_div_up(seen.n, n);
    json_t *map = json_pack("{s:I, s:I, s:[], s:[], s:[], s:[], s:o}", "blocks",
                            (json_int_t)seen.n, "blocks_per_cell", (json_int_t)per_cell, "filled",
                            "erases", "cycles", "bad", "valid",
                            seen.knows_valid ? json_array() : json_null());
    int r = seen.blocks && seen.valid && map ? 0 : -1;
    for (uint32_t i = 0; i < seen.n && r == 0; i += per_cell)
        r = put_cell(map, &seen, i, seen.n - i < per_cell ? seen.n : i + per_cell);
    free(seen.blocks);
    free(seen.valid);
    if (r == 0)
        return map;
    json_decref(map);
    return NULL;
}

json_t *fe_server_health(struct fe_server *s)
{
    struct numbers n = take_numbers(s);
    json_t *health = NULL;
    if (n.device) {
        struct fe_health h;
        fe_snapshot_health(n.device, &h);
        health = fe_health_json(&h);
    }
    free_numbers(&n);
    return health;
}

char *fe_server_metrics(struct fe_server *s)
{
    struct numbers n = take_numbers(s);
    char *text = n.device ? fe_metrics_text(n.device, s->origin, clock_name(s), n.lateness, n.late)
                          : NULL;
    free_numbers(&n);
    return text;
}

void fe_server_reset_stats(struct fe_server *s)
{
    lock_to_change(s);
    fe_device_reset_stats(s->dev);
    unlock(&s->lock);

    lock(&s->lateness_lock);
    fe_hist_reset(&s->lateness);
    fe_late_reset(&s->late);
    unlock(&s->lateness_lock);
}

/* Of the server if there is no dot, otherwise of the profile. */
static int no_such_key(const char *key, const char *allowed, struct fe_err *err)
{
    char guess[FE_GUESS_MAX], hint[160];

    if (strchr(key, '.')) {
        fe_option_hint(FE_N_SECTIONS, key, hint, sizeof hint);
        return fe_err_set(err, ENOENT, "%.80s: no such key%s", key, hint);
    }
    fe_guess_word(key, strlen(key), allowed, guess);
    return fe_err_set(err, ENOENT, "%.80s: no such key; %sallowed: %s, SECTION.KEY", key, guess,
                      allowed);
}

static int set_server_key(struct fe_server *s, const char *key, const char *value, bool *ret_found,
                          struct fe_err *err)
{
    struct fe_err why = {""};
    struct fe_scale scale;
    uint64_t overhead_ns;
    int r = 0;

    *ret_found = true;
    if (fe_name_is(key, "time-scale")) {
        r = fe_scale_parse(value, &scale, &why);
        if (r == 0) {
            uint64_t now_ns = fe_clock_now_ns();
            lock_to_change(s);
            fe_timemap_rescale(&s->map, now_ns, scale);
            unlock(&s->lock);
        }
    } else if (fe_name_is(key, "transport-overhead")) {
        r = fe_params_parse_overhead(value, &overhead_ns, &why);
        if (r == 0) {
            lock_device(s);
            s->overhead_ns = overhead_ns;
            unlock(&s->lock);
        }
    } else {
        *ret_found = false;
    }
    return r < 0 ? fe_err_set(err, -r, "%s=%.80s: %s", key, value, why.text) : 0;
}

int fe_server_set(struct fe_server *s, const char *key, const char *value, struct fe_err *err)
{
    bool found;
    int r = set_server_key(s, key, value, &found, err);
    if (found)
        return r;
    if (!strchr(key, '.'))
        return no_such_key(key, "time-scale, transport-overhead", err);
    lock_to_change(s);
    r = fe_device_set(s->dev, key, value, err);
    unlock(&s->lock);
    return r;
}

int fe_server_get(struct fe_server *s, const char *key, char *buf, size_t len,
                  struct fe_err *err)
{
    bool found = true;

    lock_device(s);
    if (fe_name_is(key, "time-scale"))
        fe_scale_print(s->map.scale, buf, len);
    else if (fe_name_is(key, "transport-overhead"))
        fe_quantity_print(FE_TIME, s->overhead_ns, buf, len);
    else if (strcmp(key, "clock") == 0)
        snprintf(buf, len, "%s", clock_name(s));
    else
        found = fe_profile_get(fe_device_profile(s->dev), key, buf, len);
    unlock(&s->lock);
    return found ? 0 : no_such_key(key, "time-scale, transport-overhead, clock", err);
}

/* The present in device time. */
static uint64_t now_locked(const struct fe_server *s, uint64_t real_ns)
{
    return s->virtual_clock ? s->virtual_now_ns : fe_timemap_device(&s->map, real_ns);
}

int fe_server_cut_power(struct fe_server *s, uint64_t in_ns, uint64_t writes, uint64_t *ret_now_ns,
                        struct fe_err *err)
{
    lock_to_change(s);
    /* The clock is read under the lock.  A request that was answered while this thread waited for
     * the lock ended before the cut, so the cut must not have a time before its completion. */
    uint64_t now_ns = now_locked(s, fe_clock_now_ns());
    int r;
    if (writes)
        r = fe_device_plan_cut(s->dev, FE_NEVER, writes, err);
    else if (in_ns)
        r = fe_device_plan_cut(s->dev, now_ns + in_ns, 0, err);
    else
        r = fe_device_cut_power(s->dev, now_ns, err);
    *ret_now_ns = fe_device_now(s->dev);
    unlock_and_tell(s, false);
    return r;
}

int fe_server_power_on(struct fe_server *s, uint64_t *ret_ready_ns, struct fe_err *err)
{
    uint64_t real_ns = fe_clock_now_ns();
    lock_to_change(s);
    uint64_t now_ns = now_locked(s, real_ns);
    fe_device_idle(s->dev, now_ns); /* a planned power cut may be due by now */
    int r = fe_device_power_on(s->dev, now_ns, ret_ready_ns, err);
    if (r == 0)
        s->virtual_now_ns = fe_max_u64(s->virtual_now_ns, *ret_ready_ns);
    unlock_and_tell(s, false);
    return r;
}

int fe_server_mark(struct fe_server *s, const char *text, enum fe_said_by by, uint64_t *now_ns,
                   uint64_t *ret_mark, struct fe_err *err)
{
    if (!s->recorder)
        return fe_err_set(err, EINVAL, "this server writes no trace; trace=FILE records one");
    if (!fe_trace_mark_ok(text, strlen(text)))
        return fe_err_set(err, EINVAL, "must be 1 to %d bytes without control characters, and without "
                          "a blank at its ends", FE_TRACE_MARK_MAX);
    lock_to_change(s);
    *now_ns = now_locked(s, fe_clock_now_ns()); /* what was answered before is over by then */
    int r = fe_recorder_add_mark(s->recorder, *now_ns, text, ret_mark, err);
    unlock(&s->lock);
    if (r == 0 && by == FE_BY_CLIENT)
        fe_recorder_hurry(s->recorder, *ret_mark);
    else if (r == 0)
        fe_recorder_finish(s->recorder, *ret_mark, FE_OK);
    return r;
}

bool fe_server_knows_mark(struct fe_server *s, uint64_t mark, int *ret, struct fe_err *err)
{
    return fe_recorder_is_known(s->recorder, mark, ret, err);
}

int fe_server_idle(struct fe_server *s, uint64_t ns, uint64_t *ret_now_ns, struct fe_err *err)
{
    uint64_t real_ns = fe_clock_now_ns(), from;
    int r = 0;

    lock_to_change(s);
    if (s->virtual_clock) {
        from = fe_max_u64(s->virtual_now_ns, fe_device_now(s->dev));
    } else {
        fe_timemap_rescale(&s->map, real_ns, s->map.scale);
        from = s->map.device0_ns;
    }
    if (ns > MAX_DEVICE_NS || from > MAX_DEVICE_NS - ns) {
        r = fe_err_set(err, EOVERFLOW, "the device's clock would pass 146 years");
    } else {
        s->virtual_now_ns = s->map.device0_ns = from + ns;
        fe_device_idle(s->dev, from + ns);
    }
    *ret_now_ns = fe_device_now(s->dev);
    unlock_and_tell(s, false);
    return r;
}

/* With the lock held. */
static uint64_t present_ns(const struct fe_server *s)
{
    return s->virtual_clock ? fe_max_u64(s->virtual_now_ns, fe_device_now(s->dev))
                            : fe_timemap_device(&s->map, fe_clock_now_ns());
}

int fe_server_mark_bad(struct fe_server *s, fe_peb peb, enum fe_condition *ret_after,
                       struct fe_err *err)
{
    lock_to_change(s);
    int r = fe_device_mark_bad(s->dev, present_ns(s), peb, err);
    *ret_after = fe_device_condition(s->dev);
    unlock_and_tell(s, r == 0);
    return r;
}

int fe_server_flip(struct fe_server *s, fe_ppn ppn, uint32_t bits, struct fe_err *err)
{
    lock_to_change(s);
    fe_device_idle(s->dev, present_ns(s)); /* a planned power cut may be due by now */
    int r = fe_device_flip(s->dev, ppn, bits, err);
    unlock_and_tell(s, false);
    return r;
}

int fe_server_set_cycles(struct fe_server *s, fe_peb peb, uint32_t cycles, struct fe_err *err)
{
    lock_to_change(s);
    fe_device_idle(s->dev, present_ns(s)); /* a planned power cut may be due by now */
    int r = fe_device_set_cycles(s->dev, peb, cycles, err);
    unlock_and_tell(s, false);
    return r;
}

int fe_server_hang(struct fe_server *s, uint64_t ns, struct fe_err *err)
{
    int r = 0;
    lock_to_change(s);
    if (ns > MAX_HANG_END_NS || present_ns(s) > MAX_HANG_END_NS - ns)
        r = fe_err_set(err, EOVERFLOW, "hang: the device's clock would pass 73 years");
    else
        fe_device_hang(s->dev, ns);
    unlock(&s->lock);
    return r;
}

void fe_server_disconnect(struct fe_server *s, uint64_t ns)
{
    lock_to_change(s);
    fe_device_disconnect(s->dev, ns ? present_ns(s) + ns : UINT64_MAX);
    unlock_and_tell(s, false);
}

void fe_server_connect(struct fe_server *s)
{
    lock_to_change(s);
    fe_device_disconnect(s->dev, 0);
    unlock_and_tell(s, false);
}

int fe_server_listen(struct fe_server *s, uint64_t *ret_next, struct fe_err *err)
{
    lock_device(s);
    int r = fe_events_listen(&s->events, s->dev, ret_next, err);
    unlock(&s->lock);
    return r;
}

void fe_server_unlisten(struct fe_server *s)
{
    lock_device(s);
    fe_events_unlisten(&s->events);
    unlock(&s->lock);
}

int fe_server_events_fd(const struct fe_server *s)
{
    return s->events.wake_fd;
}

uint32_t fe_server_take_events(struct fe_server *s, uint64_t *next, struct fe_event *ret,
                               uint32_t max, uint64_t *ret_dropped)
{
    lock_device(s);
    uint32_t n = fe_events_take(&s->events, next, ret, max, ret_dropped);
    unlock(&s->lock);
    return n;
}
