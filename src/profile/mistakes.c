/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The list grows by doubling, and it is sorted only when it is printed.
 *
 *     found by:  the gate, a value, fe_settle, ...        printed:  line 3, line 3, line 7, end
 *                line 7, line 3, end, line 3    --sort-->
 *
 * Mistakes of one line keep the order in which they were found (seq), because qsort alone does not
 * promise that.  When memory runs out while the list grows, `nomem` is set, and the caller reports
 * that instead of an incomplete list.
 *
 * The functions do not look for duplicates.  Whoever adds a mistake makes sure that no mistake is
 * reported twice; see usable() in settle.c.
 */
#include "profile/mistakes.h"

#include "base/table.h"

#include <stdlib.h>
#include <string.h>

void fe_mistakes_init(struct fe_mistakes *m, bool all)
{
    memset(m, 0, sizeof *m);
    m->all = all;
}

/* Without `all` there is a count but no list, hence the condition of the loop. */
void fe_mistakes_fini(struct fe_mistakes *m)
{
    for (uint32_t i = 0; m->all && i < m->n; i++)
        free(m->list[i].text);
    free(m->list);
    memset(m, 0, sizeof *m);
}

/* n also counts without `all`: callers ask whether there was any mistake. */
void fe_mistakes_add(struct fe_mistakes *m, unsigned line, const struct fe_err *text)
{
    if (m->nomem)
        return;
    if (m->n == 0 || line < m->first_line) {
        m->first = *text;
        m->first_line = line;
    }
    if (m->all) {
        struct fe_mistake *list = fe_table_grow(m->list, m->n + 1, &m->n_max, sizeof *list);
        char *copy = list ? strdup(text->text) : NULL;
        m->list = list ? list : m->list;
        m->nomem = !copy;
        if (!copy)
            return;
        m->list[m->n] = (struct fe_mistake){.line = line, .seq = m->n, .text = copy};
    }
    m->n++;
}

/* Compares two struct fe_mistake for qsort.  No two have the same seq. */
static int by_line(const void *a, const void *b)
{
    const struct fe_mistake *x = a, *y = b;
    if (x->line != y->line)
        return x->line < y->line ? -1 : 1;
    return x->seq < y->seq ? -1 : x->seq > y->seq;
}

void fe_mistakes_print(struct fe_mistakes *m, FILE *out)
{
    if (m->n > 1)
        qsort(m->list, m->n, sizeof *m->list, by_line);
    for (uint32_t i = 0; i < m->n; i++)
        fprintf(out, "%s\n", m->list[i].text);
}
