/* SPDX-License-Identifier: BSD-3-Clause */
#include "replay/judge.h"

#include "tool.h"

#include "base/num.h"
#include "base/quantity.h"
#include "obs/json_text.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Errors count less and less beyond this. */
#define KNEE 0.25

double judge_error(uint64_t recorded_ns, uint64_t replayed_ns, uint32_t n)
{
    uint64_t least_ns = (uint64_t)n * JUDGE_LEAST_NS;
    double off = fabs(log((double)fe_max_u64(replayed_ns, least_ns) /
                          (double)fe_max_u64(recorded_ns, least_ns)));

    return KNEE * log1p(off / KNEE);
}

/* When the host sends request number i: not in front of the one before it. */
static uint64_t arrival_of(const struct said *s, const uint64_t *done_ns, uint64_t last_ns)
{
    uint64_t behind_ns = s->cause == CONVERSATION_NO_CAUSE ? last_ns : done_ns[s->cause];

    return fe_max_u64(fe_time_add(behind_ns, s->pause_ns), last_ns);
}

static int refuse(const struct said *s, const struct fe_device *dev, struct fe_err *err)
{
    uint64_t capacity = fe_device_capacity(dev);

    if (s->request.len > capacity || s->request.offset > capacity - s->request.len)
        return fe_err_set(err, EINVAL, "line %" PRIu64 " of the trace: offset %" PRIu64 " + length %" PRIu64
                                       " is behind the capacity %" PRIu64, s->line, s->request.offset,
                          s->request.len, capacity);
    return fe_err_set(err, EINVAL, "line %" PRIu64 " of the trace: the device refuses this request",
                      s->line);
}

/* All requests; how long those of each block took together. */
static int replay_all(struct judgement *j, struct fe_device *dev, uint64_t *done_ns, uint64_t *blocks_ns,
                      struct fe_err *err)
{
    const struct conversation *c = j->of;
    bool trims = fe_device_profile(dev)->device.discard;
    uint64_t last_ns = fe_device_now(dev);

    for (uint32_t i = 0; i < c->n; i++) {
        const struct said *s = &c->said[i];
        struct fe_reply reply;
        if (s->request.type == FE_REQ_TRIM && !trims)
            return fe_err_set(err, EINVAL, "line %" PRIu64 " of the trace: trim, but the device offers "
                                           "none (device.discard)", s->line);
        if (fe_device_submit(dev, arrival_of(s, done_ns, last_ns), &s->request, &reply) < 0)
            return refuse(s, dev, err);
        last_ns = reply.arrival_ns;
        done_ns[i] = reply.complete_ns;
        blocks_ns[s->block] = fe_time_add(blocks_ns[s->block], reply.complete_ns - reply.arrival_ns);
        j->otherwise += s->failed != (reply.status != FE_OK && reply.status != FE_CORRECTED);
    }
    return 0;
}

/* The errors of the kinds, the score, and which kind is the worst. */
static void sum_up(struct judgement *j, const uint64_t *blocks_ns)
{
    const struct conversation *c = j->of;

    for (uint32_t b = 0; b < c->n_blocks; b++) {
        struct judged_kind *k = &j->kinds[c->blocks[b].kind];
        k->replayed_ns = fe_time_add(k->replayed_ns, blocks_ns[b]);
        k->error += judge_error(c->blocks[b].recorded_ns, blocks_ns[b], c->blocks[b].n);
    }
    for (uint32_t k = 0; k < c->n_kinds; k++) {
        j->kinds[k].error /= c->kinds[k].n_blocks;
        j->score += j->kinds[k].error / c->n_kinds;
        if (j->kinds[k].error > j->kinds[j->worst].error)
            j->worst = k;
    }
}

int judge(struct judgement *j, const struct conversation *c, struct fe_device *dev, struct fe_err *err)
{
    uint64_t capacity = fe_device_capacity(dev);

    *j = (struct judgement){.of = c};
    if (c->capacity && c->capacity != capacity)
        return fe_err_set(err, EINVAL, "the trace is of a device of %" PRIu64 " bytes, and this one has "
                                       "%" PRIu64, c->capacity, capacity);
    uint64_t *done_ns = calloc(c->n, sizeof *done_ns), *blocks_ns = calloc(c->n_blocks, sizeof *blocks_ns);
    j->kinds = calloc(c->n_kinds, sizeof *j->kinds);
    int code = done_ns && blocks_ns && j->kinds
                   ? replay_all(j, dev, done_ns, blocks_ns, err)
                   : fe_err_nomem(err, "the times of a conversation", (c->n + c->n_blocks) * sizeof *done_ns);
    if (code == 0)
        sum_up(j, blocks_ns);
    free(done_ns);
    free(blocks_ns);
    return code;
}

void judge_fini(struct judgement *j)
{
    free(j->kinds);
    j->kinds = NULL;
}

/* --- what is said --- */

int judge_print(const struct judgement *j, const char *profile)
{
    const struct conversation *c = j->of;
    char name[SAID_KIND_NAME], recorded[FE_ROUNDED_MAX], replayed[FE_ROUNDED_MAX];

    printf("%s: %u requests in %u blocks\n", profile, c->n, c->n_blocks);
    printf("  %-44s %8s %7s %12s %12s %7s %7s\n", "kind", "requests", "blocks", "recorded", "replayed",
           "ratio", "error");
    for (uint32_t k = 0; k < c->n_kinds; k++) {
        const struct said_kind *s = &c->kinds[k];
        uint64_t ns = j->kinds[k].replayed_ns;
        printf("  %-44s %8u %7u %12s %12s %7.3f %7.3f\n", said_kind_name(s, name), s->n, s->n_blocks,
               fe_time_text((double)s->recorded_ns, recorded), fe_time_text((double)ns, replayed),
               (double)fe_max_u64(ns, 1) / (double)fe_max_u64(s->recorded_ns, 1), j->kinds[k].error);
    }
    if (j->kinds[j->worst].error > 0)
        printf("\n%-10s %s, %.3f\n", "worst", said_kind_name(&c->kinds[j->worst], name),
               j->kinds[j->worst].error);
    else
        printf("\n%-10s none is off\n", "worst");
    if (j->otherwise)
        printf("%-10s %u requests failed on one of the two devices only\n", "otherwise", j->otherwise);
    printf("%-10s %.4f, and 0 is as recorded\n", "score", j->score);
    return tool_finish(TOOL_OK);
}

static json_t *kind_json(const struct said_kind *s, const struct judged_kind *k)
{
    static const char *const ops[] = {
        [FE_REQ_READ] = "read", [FE_REQ_WRITE] = "write", [FE_REQ_TRIM] = "trim",
        [FE_REQ_FLUSH] = "flush",
    };
    char name[SAID_KIND_NAME];

    return json_pack("{s:s, s:s, s:b, s:[o, o], s:[i, i], s:i, s:i, s:o, s:o, s:f}", "kind",
                     said_kind_name(s, name), "op", ops[s->type], "in_order", s->in_order, "bytes",
                     fe_json_u64(s->least), fe_json_u64(s->most), "in_flight", (int)s->shallow,
                     (int)s->deep, "requests", (int)s->n, "blocks", (int)s->n_blocks, "recorded_ns",
                     fe_json_u64(s->recorded_ns), "replayed_ns", fe_json_u64(k->replayed_ns), "error",
                     k->error);
}

json_t *judge_json(const struct judgement *j, const char *profile)
{
    const struct conversation *c = j->of;
    char name[SAID_KIND_NAME];
    json_t *kinds = json_array();

    for (uint32_t k = 0; kinds && k < c->n_kinds; k++)
        json_array_append_new(kinds, kind_json(&c->kinds[k], &j->kinds[k]));
    return json_pack("{s:o, s:I, s:I, s:f, s:{s:s, s:f}, s:I, s:o}", "profile",
                     fe_json_text(profile, strlen(profile)), "requests", (json_int_t)c->n, "blocks",
                     (json_int_t)c->n_blocks, "score", j->score, "worst", "kind",
                     said_kind_name(&c->kinds[j->worst], name), "error", j->kinds[j->worst].error,
                     "otherwise", (json_int_t)j->otherwise, "kinds", kinds);
}
