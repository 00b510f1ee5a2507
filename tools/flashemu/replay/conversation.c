/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One pass over the trace.  Requests in flight are a heap, with the earliest completion on top: what has
 * completed by the time of a request is taken off it, and the last of that is its cause.
 */
#include "replay/conversation.h"

#include "replay/source.h"

#include "base/num.h"
#include "base/quantity.h"
#include "base/table.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 1024, SIZES = 65, DEPTHS = 33 };

/* What is known of a kind while the trace is read. */
struct filling {
    uint32_t kind;  /* number + 1; 0 = there is none yet */
    uint32_t n;     /* requests of its last block */
    uint32_t last;  /* the number of its last request */
    uint32_t block; /* the number of its last block */
};

struct loading {
    struct conversation *c;
    const char *path;
    struct filling (*kinds)[2][SIZES][DEPTHS]; /* of each type: by order, size and depth */
    uint64_t *done_ns;                         /* of each request */
    uint32_t *flying;                          /* the heap */
    uint32_t n_flying;
    size_t room, block_room, kind_room;
    uint64_t last_ns;                          /* arrival of the request before */
    uint32_t cause;                            /* the last one that has completed */
    uint64_t ends[FE_N_REQ_TYPES];             /* of the last request of each type; 0 = none */
    bool took_time;
};

/* --- the host's rule --- */

static bool is_earlier(const struct loading *l, uint32_t a, uint32_t b)
{
    return l->done_ns[a] < l->done_ns[b] || (l->done_ns[a] == l->done_ns[b] && a < b);
}

static void fly(struct loading *l, uint32_t one)
{
    uint32_t i = l->n_flying++;

    for (; i > 0 && is_earlier(l, one, l->flying[(i - 1) / 2]); i = (i - 1) / 2)
        l->flying[i] = l->flying[(i - 1) / 2];
    l->flying[i] = one;
}

/* Takes the earliest completion off the heap. */
static uint32_t land(struct loading *l)
{
    uint32_t first = l->flying[0], one = l->flying[--l->n_flying], i = 0;

    for (;;) {
        uint32_t child = 2 * i + 1;
        if (child >= l->n_flying)
            break;
        if (child + 1 < l->n_flying && is_earlier(l, l->flying[child + 1], l->flying[child]))
            child++;
        if (!is_earlier(l, l->flying[child], one))
            break;
        l->flying[i] = l->flying[child];
        i = child;
    }
    l->flying[i] = one;
    return first;
}

/* The cause of request number i and the pause behind it. */
static void follow(struct loading *l, uint32_t i, uint64_t time_ns)
{
    struct said *s = &l->c->said[i];

    while (l->n_flying > 0 && l->done_ns[l->flying[0]] <= time_ns)
        l->cause = land(l);
    s->cause = l->cause;
    s->pause_ns = time_ns - (s->cause == CONVERSATION_NO_CAUSE ? l->last_ns : l->done_ns[s->cause]);
    l->last_ns = time_ns;
}

/* --- kinds and blocks --- */

/* Whether a request begins where the one of its operation before it has ended. */
static bool is_in_order(struct loading *l, const struct fe_request *r)
{
    bool in_order = r->len > 0 && l->ends[r->type] > 0 && l->ends[r->type] == r->offset;

    l->ends[r->type] = r->offset + r->len;
    return in_order;
}

static int add_kind(struct loading *l, struct filling *f, const struct fe_request *r, bool in_order,
                    struct fe_err *err)
{
    struct conversation *c = l->c;
    struct said_kind *kinds = fe_table_grow(c->kinds, c->n_kinds + 1, &l->kind_room, sizeof *kinds);

    if (!kinds)
        return fe_err_nomem(err, "kinds of requests", c->n_kinds * sizeof *kinds);
    c->kinds = kinds;
    kinds[c->n_kinds] = (struct said_kind){.type = (uint8_t)r->type, .in_order = in_order,
                                           .least = UINT64_MAX, .shallow = UINT32_MAX};
    f->kind = ++c->n_kinds;
    f->n = CONVERSATION_BLOCK; /* its first request begins a block */
    return 0;
}

static int add_block(struct loading *l, struct filling *f, struct fe_err *err)
{
    struct conversation *c = l->c;
    struct said_block *blocks = fe_table_grow(c->blocks, c->n_blocks + 1, &l->block_room, sizeof *blocks);

    if (!blocks)
        return fe_err_nomem(err, "blocks of requests", c->n_blocks * sizeof *blocks);
    c->blocks = blocks;
    blocks[c->n_blocks] = (struct said_block){.kind = f->kind - 1};
    c->kinds[f->kind - 1].n_blocks++;
    f->block = c->n_blocks++;
    f->n = 0;
    return 0;
}

/* Puts request number i into its kind, and into the last block of that or a new one. */
static int sort(struct loading *l, uint32_t i, uint32_t depth, struct fe_err *err)
{
    struct conversation *c = l->c;
    struct said *s = &c->said[i];
    const struct fe_request *r = &s->request;
    bool in_order = is_in_order(l, r);
    struct filling *f = &l->kinds[r->type][in_order][r->len ? fe_log2(r->len) + 1 : 0][fe_log2(depth)];
    int code = f->kind ? 0 : add_kind(l, f, r, in_order, err);

    if (code == 0 && (f->n == CONVERSATION_BLOCK || i - f->last > CONVERSATION_BLOCK))
        code = add_block(l, f, err);
    if (code < 0)
        return code;
    struct said_kind *k = &c->kinds[f->kind - 1];
    s->block = f->block;
    f->n++;
    f->last = i;
    k->n++;
    k->least = fe_min_u64(k->least, r->len);
    k->most = fe_max_u64(k->most, r->len);
    k->shallow = depth < k->shallow ? depth : k->shallow;
    k->deep = depth > k->deep ? depth : k->deep;
    k->recorded_ns = fe_time_add(k->recorded_ns, s->took_ns);
    c->blocks[s->block].n++;
    c->blocks[s->block].recorded_ns = fe_time_add(c->blocks[s->block].recorded_ns, s->took_ns);
    return 0;
}

/* --- the trace --- */

static bool is_failure(uint8_t status)
{
    return status != FE_OK && status != FE_CORRECTED;
}

/* Room for one more request. */
static int make_room(struct loading *l, struct fe_err *err)
{
    struct conversation *c = l->c;
    size_t room[] = {l->room, l->room, l->room};

    if (c->n == UINT32_MAX / 4)
        return fe_err_set(err, EINVAL, "is one of more than %u requests", c->n);
    struct said *said = fe_table_grow(c->said, c->n + 1, &room[0], sizeof *said);
    c->said = said ? said : c->said;
    uint64_t *done_ns = fe_table_grow(l->done_ns, c->n + 1, &room[1], sizeof *done_ns);
    l->done_ns = done_ns ? done_ns : l->done_ns;
    uint32_t *flying = fe_table_grow(l->flying, c->n + 1, &room[2], sizeof *flying);
    l->flying = flying ? flying : l->flying;
    if (!said || !done_ns || !flying)
        return fe_err_nomem(err, "a conversation", c->n * sizeof *said);
    l->room = room[0];
    return 0;
}

static int add(struct loading *l, const struct fe_trace_rec *rec, struct fe_err *err)
{
    struct conversation *c = l->c;

    if (rec->type == FE_TRACE_MARK)
        return 0;
    if (rec->done_ns < rec->time_ns)
        return fe_err_set(err, EINVAL, "has no completion; allowed: a trace with the times of a device, "
                                       "as from trace=FILE of a server, replay --record or flashemu-lab "
                                       "probe");
    int code = make_room(l, err);
    if (code < 0)
        return code;
    uint64_t time_ns = fe_max_u64(rec->time_ns, l->last_ns); /* a device takes them in turn */
    uint32_t i = c->n++;
    c->said[i] = (struct said){
        .request = {.type = (enum fe_req_type)rec->type, .fua = rec->fua, .offset = rec->offset,
                    .len = rec->len},
        .took_ns = rec->done_ns - rec->time_ns, .line = rec->line, .failed = is_failure(rec->status),
    };
    follow(l, i, time_ns);
    l->done_ns[i] = rec->done_ns;
    l->took_time |= rec->done_ns > rec->time_ns;
    fly(l, i);
    return sort(l, i, l->n_flying, err);
}

/* What the trace says of its device. */
static void take_origin(struct conversation *c, const struct source *s)
{
    struct source_origin o;

    if (!source_origin(s, &o))
        return;
    c->has_seed = o.origin.has_seed;
    c->seed = o.origin.seed;
    c->capacity = o.origin.capacity;
}

static int read_all(struct loading *l, struct source *s, struct fe_err *err)
{
    struct fe_trace_rec recs[BATCH];
    struct fe_err why;
    char where[256];
    int n, code = 0;

    fe_err_init(&why);
    while (code == 0 && (n = source_read(s, recs, BATCH, err)) != 0) {
        if (n < 0)
            return n;
        for (int i = 0; i < n && code == 0; i++)
            if ((code = add(l, &recs[i], &why)) < 0)
                fe_err_set(err, -code, "%s: %s", source_where(s, &recs[i], where, sizeof where),
                           why.text);
    }
    if (code < 0)
        return code;
    if (source_missing(s))
        return fe_err_set(err, EINVAL, "%.200s: %s", s->name, source_missing(s));
    if (l->c->n == 0 || !l->took_time)
        return fe_err_set(err, EINVAL, "%.200s: %s", s->name,
                          l->c->n ? "no request took any time; allowed: a trace with the times of a device"
                                  : "has no requests");
    take_origin(l->c, s);
    return 0;
}

int conversation_load(struct conversation *c, const char *path, const struct fe_trace_options *options,
                      struct fe_err *err)
{
    static const struct fe_pattern_env none;
    struct loading l = {.c = c, .path = path, .cause = CONVERSATION_NO_CAUSE};
    struct source source = {0};

    *c = (struct conversation){0};
    if (strncmp(path, "gen:", 4) == 0 || recording_is(path))
        return fe_err_set(err, EINVAL, "%.200s: has no times of a device; allowed: a trace that has",
                          path);
    l.kinds = calloc(FE_N_REQ_TYPES, sizeof *l.kinds);
    if (!l.kinds)
        return fe_err_nomem(err, "kinds of requests", FE_N_REQ_TYPES * sizeof *l.kinds);
    int code = source_open(&source, path, options, &none, 0, err);
    if (code == 0)
        code = read_all(&l, &source, err);
    source_close(&source);
    free(l.kinds);
    free(l.done_ns);
    free(l.flying);
    return code;
}

void conversation_fini(struct conversation *c)
{
    free(c->said);
    free(c->blocks);
    free(c->kinds);
    *c = (struct conversation){0};
}

const char *said_kind_name(const struct said_kind *k, char buf[SAID_KIND_NAME])
{
    static const char *const ops[] = {
        [FE_REQ_READ] = "reads", [FE_REQ_WRITE] = "writes", [FE_REQ_TRIM] = "trims",
        [FE_REQ_FLUSH] = "flushes",
    };
    char least[FE_ROUNDED_MAX], most[FE_ROUNDED_MAX];

    snprintf(buf, SAID_KIND_NAME, "%s", ops[k->type]);
    if (k->most > 0)
        fe_text_add(buf, SAID_KIND_NAME, " %s by %s", k->in_order ? "in order" : "apart",
                    fe_size_text((double)k->least, least));
    if (k->most > k->least)
        fe_text_add(buf, SAID_KIND_NAME, " to %s", fe_size_text((double)k->most, most));
    if (k->deep > 1)
        fe_text_add(buf, SAID_KIND_NAME, k->shallow < k->deep ? ", %u to %u in flight"
                                                              : ", %u in flight",
                    k->shallow, k->deep);
    return buf;
}
