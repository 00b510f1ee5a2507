/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A request of the host reads many pages, and the model works between any two of them.  If each
 * page is copied when its turn has come, a long run of memory is copied in small pieces, and the
 * bytes of a page that lies elsewhere have to be asked for in the middle of other work.  So the
 * model goes first and puts down what is to be copied; the copies are made together when it has
 * finished:
 *
 *     pages of the request     0    1    2    3    4    5
 *     their frames            [7]  [8]  [9]  [3]  [5]  [6]
 *     pieces                  [7    8    9]  [3]  [5    6]
 *
 * Frames that follow each other, for pages that follow each other, are one piece.  A device that
 * was written in order reads as one copy, which is what memory is best at.  Pages that lie anywhere
 * are pieces of their own; while one is copied, the processor already gets the one after next:
 *
 *     copied                  [ 0 ]  [ 1 ]  [ 2 ]  [ 3 ]
 *     asked for               [ 2 ]  [ 3 ]  [ 4 ]  [ 5 ]
 *
 * One, two or three pieces ahead were equally quick when that was measured.
 */
#include "store/copy_list.h"

#include "base/fetch.h"

#include <string.h>

enum { AHEAD = 2, FIRST = 16, LINE = 64 };

/* Asks for the beginning of a piece.  The processor sees soon enough that it is read from there to
 * its end, and fetches the rest itself. */
static void ask_for(const struct fe_piece *p)
{
    for (size_t at = 0; at < FIRST * LINE && at < p->len; at += LINE)
        fe_fetch(p->from + at);
}

void fe_copy_list_copy(struct fe_copy_list *g)
{
    for (uint32_t i = 0; i < g->n; i++) {
        if (i + AHEAD < g->n)
            ask_for(&g->pieces[i + AHEAD]);
        memcpy(g->pieces[i].to, g->pieces[i].from, g->pieces[i].len);
    }
    g->n = 0;
}

void fe_copy_list_add(struct fe_copy_list *g, void *to, const uint8_t *from, size_t len)
{
    struct fe_piece *last = g->n > 0 ? &g->pieces[g->n - 1] : NULL;
    if (last && last->to + last->len == (uint8_t *)to && last->from + last->len == from) {
        last->len += len;
        return;
    }
    if (g->n == FE_COPY_LIST_PIECES)
        fe_copy_list_copy(g);
    g->pieces[g->n++] = (struct fe_piece){to, from, len};
}
