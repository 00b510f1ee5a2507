/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the files of the adapter have in common; none of them is needed for it.
 */
#include "adapter.h"
#include "debug.h"
#include "notes.h"

NBDKIT_DLL_PUBLIC int flashemu_debug_request;
NBDKIT_DLL_PUBLIC int flashemu_debug_nand;
NBDKIT_DLL_PUBLIC int flashemu_debug_control;

struct adapter adapter;

void fe_debug(const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    nbdkit_vdebug(fmt, ap);
    va_end(ap);
}

void fe_adapter_report_notice(struct fe_server *s)
{
    const char *notice = fe_server_take_notice(s);
    if (notice)
        fe_note("%s", notice);
}
