/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The chip alive: one request at a time, with every operation that it brings about; the state of all
 * blocks; and power that fails and comes back.
 *
 * Somebody observes the device here, so a merge is no sum of times but all its reads and programs.
 * What they cost is the same.
 */
#include "core.h"

#include "flashemu/map.h"
#include "nand/medium_read.h"
#include "nand/ops.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Operations of one request that are told one by one; a merge of a large unit has more. */
enum { MOST_OPS = 600, FACTS = 4 };

static struct source source;
static struct fe_trace_options trace_options;
static struct fe_pattern_env env;
static struct fe_op ops[MOST_OPS];
static uint32_t n_ops, n_left_out;
static uint32_t *blocks; /* FACTS for each chip block; NULL: nobody looks at the chip */

void web_chip_end(void)
{
    source_close(&source);
    free(blocks);
    blocks = NULL;
}

/* 0, or -EINVAL with an answer: the device was replaced, or there was none. */
static int check_looked_at(void)
{
    struct fe_err err = {""};

    return blocks ? 0 : web_answer_error(-EINVAL, (fe_err_set(&err, EINVAL, "the chip is gone"), &err));
}

static void watch(void *ctx, const struct fe_op *batch, uint32_t n)
{
    (void)ctx;
    for (uint32_t i = 0; i < n; i++)
        if (batch[i].kind == FE_OP_BARRIER)
            continue;
        else if (n_ops < MOST_OPS)
            ops[n_ops++] = batch[i];
        else
            n_left_out++;
}

static json_t *op_json(const struct fe_op *op)
{
    static const char *const kinds[] = {
        [FE_OP_READ] = "read", [FE_OP_PROG] = "program", [FE_OP_ERASE] = "erase",
        [FE_OP_BUSY] = "busy", [FE_OP_SERIES] = "run",
    };
    const struct fe_medium *m = fe_device_medium(web_device);
    json_int_t block = -1, page = -1;

    if (op->ppn != FE_PPN_NONE) {
        fe_peb peb = fe_peb_of(&m->geo, op->ppn);
        block = fe_medium_chip_block(m, peb);
        page = op->ppn - peb * m->geo.pages_per_block;
    }
    return json_pack("{s:s, s:I, s:I, s:I, s:I}", "kind", kinds[op->kind], "block", block, "page",
                     page, "start", (json_int_t)op->start_ns, "end", (json_int_t)op->end_ns);
}

static json_t *ops_json(void)
{
    json_t *list = json_array();

    for (uint32_t i = 0; i < n_ops; i++)
        json_array_append_new(list, op_json(&ops[i]));
    return list;
}

/* Looks at the present device, and takes its requests from a trace, a pattern or a recording.  The
 * one before it ends. */
int WEB_EXPORT(web_chip_begin)(const char *trace)
{
    struct fe_err err = {""};
    static char name[512]; /* the source keeps it */

    web_chip_end();
    snprintf(name, sizeof name, "%s", trace);
    web_source_options(&trace_options, &env);
    int code = source_open(&source, name, &trace_options, &env,
                           fe_device_profile(web_device)->link.max_transfer, &err);
    if (code < 0)
        return web_answer_error(code, &err);
    blocks = calloc((size_t)fe_device_blocks(web_device) * FACTS, sizeof *blocks);
    if (!blocks)
        return web_answer_error(-ENOMEM, (fe_err_nomem(&err, "blocks", 0), &err));
    fe_device_observe(web_device, watch, NULL);
    return web_answer_json(json_pack("{s:I, s:I}", "blocks",
                                     (json_int_t)fe_device_blocks(web_device), "pages",
                                     (json_int_t)fe_device_block_pages(web_device)));
}

/* The request and everything that it has brought about. */
static json_t *step_json(const struct fe_request *req, const struct fe_reply *reply,
                         const struct fe_tally *was)
{
    static const char *const types[] = {[FE_REQ_READ] = "read", [FE_REQ_WRITE] = "write",
                                        [FE_REQ_TRIM] = "trim", [FE_REQ_FLUSH] = "flush"};
    struct fe_tally is;

    fe_device_get_tally(web_device, &is);
    return json_pack("{s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:b, s:o}",
        "type", types[req->type], "offset", (json_int_t)req->offset, "length",
        (json_int_t)req->len, "arrival", (json_int_t)reply->arrival_ns, "done",
        (json_int_t)reply->complete_ns, "status", (json_int_t)reply->status, "programmed",
        (json_int_t)(is.bytes_programmed - was->bytes_programmed), "collections",
        (json_int_t)(is.gc_runs - was->gc_runs), "switched",
        (json_int_t)(is.merges_switch - was->merges_switch), "partial",
        (json_int_t)(is.merges_partial - was->merges_partial), "full",
        (json_int_t)(is.merges_full - was->merges_full), "left_out", (json_int_t)n_left_out,
        "power", is.is_on, "ops", ops_json());
}

/* Sends the next request to the device.  Trims that it does not offer, and what lies behind its end,
 * are passed over.  The answer is null behind the last request. */
int WEB_EXPORT(web_chip_step)(void)
{
    const uint64_t capacity = fe_device_capacity(web_device);
    struct fe_trace_rec rec;
    struct fe_err err = {""};
    struct fe_tally was;
    struct fe_reply reply;
    int n = check_looked_at();

    if (n < 0)
        return n;
    do
        n = source_read(&source, &rec, 1, &err);
    while (n > 0 && (rec.len > capacity || rec.offset > capacity - rec.len ||
                     (rec.type == FE_REQ_TRIM && !fe_device_profile(web_device)->device.discard)));
    if (n <= 0)
        return n < 0 ? web_answer_error(n, &err) : web_answer_json(json_null());
    const struct fe_request req = {.type = (enum fe_req_type)rec.type, .fua = rec.fua,
                                   .offset = rec.offset, .len = rec.len};
    n_ops = n_left_out = 0;
    fe_device_get_tally(web_device, &was);
    n = fe_device_submit(web_device, fe_device_now(web_device), &req, &reply);
    if (n < 0)
        return web_answer_error(n, (fe_err_set(&err, -n, "the device refuses this request"), &err));
    return web_answer_json(step_json(&req, &reply, &was));
}

/* FACTS numbers for each chip block: pages programmed, pages valid, erases, state (enum of map.h). */
const uint32_t *WEB_EXPORT(web_chip_blocks)(void)
{
    if (!blocks)
        return NULL;
    const uint32_t n = fe_device_blocks(web_device);
    struct fe_block_wear *wear = calloc(n, sizeof *wear);
    uint16_t *valid = calloc(n, sizeof *valid);

    if (wear && valid) {
        fe_device_get_blocks(web_device, wear);
        if (fe_device_knows_valid(web_device))
            fe_device_get_valid(web_device, 0, n, valid);
        for (uint32_t i = 0; i < n; i++) {
            blocks[FACTS * i] = wear[i].programmed;
            blocks[FACTS * i + 1] = valid[i];
            blocks[FACTS * i + 2] = wear[i].cycles;
            blocks[FACTS * i + 3] = (uint32_t)wear[i].state;
        }
    }
    free(wear);
    free(valid);
    return wear && valid ? blocks : NULL;
}

/* Cuts power at a time of the device, or when the last request arrived if that is later. */
int WEB_EXPORT(web_chip_cut)(double at_ns)
{
    struct fe_err err = {""};
    int code = check_looked_at();

    if (code < 0)
        return code;
    code = fe_device_cut_power(web_device, (uint64_t)at_ns, &err);
    return code < 0 ? web_answer_error(code, &err)
                    : web_answer_json(json_pack("{s:I}", "now",
                                                (json_int_t)fe_device_now(web_device)));
}

/* Power comes back.  The answer says how long the device needs for finding its mapping, and how. */
int WEB_EXPORT(web_chip_power_on)(void)
{
    struct fe_err err = {""};
    uint64_t now, ready;
    int code = check_looked_at();

    if (code < 0)
        return code;
    n_ops = n_left_out = 0;
    now = fe_device_now(web_device);
    code = fe_device_power_on(web_device, now, &ready, &err);
    if (code < 0)
        return web_answer_error(code, &err);
    return web_answer_json(json_pack("{s:I, s:I, s:I, s:o}", "now", (json_int_t)now, "ready",
                                     (json_int_t)ready, "left_out", (json_int_t)n_left_out, "ops",
                                     ops_json()));
}
