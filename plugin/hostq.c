/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A list of waiting threads.  Each of them has its own condition variable, so that handing over a
 * queue slot wakes up only the thread that gets it.  The slot passes directly from the request
 * that leaves to the request that enters, so that no other request can take it in between.
 */
#include "hostq.h"

#include <assert.h>
#include <stddef.h>

struct fe_hostq_entry {
    struct fe_hostq_entry *next;
    const struct fe_request *req;
    uint32_t overtaken; /* by how many younger requests */
    pthread_cond_t turn;
    bool is_in;
};

void fe_hostq_init(struct fe_hostq *q, uint32_t slots)
{
    *q = (struct fe_hostq){.slots = slots};
    q->last = &q->first;
}

static void let_in(struct fe_hostq *q, const struct fe_request *req)
{
    q->next_type = req->type;
    q->next_offset = req->offset + req->len;
}

bool fe_hostq_enter(struct fe_hostq *q, pthread_mutex_t *lock, const struct fe_request *req)
{
    if (q->in_device < q->slots) {
        q->in_device++;
        let_in(q, req);
        return false;
    }
    struct fe_hostq_entry e = {.req = req, .turn = PTHREAD_COND_INITIALIZER};
    *q->last = &e;
    q->last = &e.next;
    while (!e.is_in)
        pthread_cond_wait(&e.turn, lock);
    pthread_cond_destroy(&e.turn);
    return true;
}

/* The link to a request that begins at offset; NULL if there is none. */
static struct fe_hostq_entry **find_from(struct fe_hostq *q, enum fe_req_type type, uint64_t offset)
{
    for (struct fe_hostq_entry **at = &q->first; *at; at = &(*at)->next)
        if ((*at)->req->type == type && (*at)->req->offset == offset)
            return at;
    return NULL;
}

/* The link to a request that ends where req begins; NULL if there is none. */
static struct fe_hostq_entry **find_before(struct fe_hostq *q, const struct fe_request *req)
{
    for (struct fe_hostq_entry **at = &q->first; *at; at = &(*at)->next)
        if ((*at)->req->type == req->type && (*at)->req->len > 0 &&
            (*at)->req->offset + (*at)->req->len == req->offset)
            return at;
    return NULL;
}

/* The link to the entry that goes next; the queue must not be empty. */
static struct fe_hostq_entry **choose(struct fe_hostq *q)
{
    struct fe_hostq_entry **at = &q->first, **better;
    if ((*at)->overtaken >= FE_HOSTQ_BATCH)
        return at;
    better = find_from(q, q->next_type, q->next_offset);
    if (better)
        return better;
    while ((better = find_before(q, (*at)->req)) != NULL) /* offsets decrease, so it ends */
        at = better;
    return at;
}

void fe_hostq_leave(struct fe_hostq *q)
{
    assert(q->in_device > 0);
    if (!q->first) {
        q->in_device--;
        return;
    }
    struct fe_hostq_entry **at = choose(q), *e = *at;
    for (struct fe_hostq_entry *older = q->first; older != e; older = older->next)
        older->overtaken++;
    *at = e->next;
    if (q->last == &e->next)
        q->last = at;
    let_in(q, e->req);
    e->is_in = true;
    pthread_cond_signal(&e->turn);
}
