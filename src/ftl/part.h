/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What it costs that a command begins or ends inside a page.
 *
 * The strategies program a whole page for it, with what the page held before.  Some controllers
 * need longer than that: they read the old page into a buffer of its own, or close the buffer that
 * the next command would have filled.
 *
 *     pages       |-------|-------|-------|
 *     a command       [===============]          two parts: twice the time
 *     a command   [===============]              none
 */
#ifndef FE_FTL_PART_H
#define FE_FTL_PART_H

#include "nand/medium.h"

/* Says that the host writes `len` bytes of a page.  The time goes to the op list, as a barrier. */
static inline void fe_part_write(struct fe_medium *m, uint64_t ns, uint32_t len)
{
    if (ns && len < m->geo.page_bytes)
        fe_ops_busy(m->ops, ns);
}

#endif
