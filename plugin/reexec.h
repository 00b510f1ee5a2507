/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Starting nbdkit again with a filter that the user did not have to know of.
 *
 * nbdkit offers WRITE ZEROES to every client that may write, whatever a plugin says: one
 * without zeroing of its own gets the zeros as writes (nbdkit-plugin(3), .can_zero).
 * Only nbdkit-nozero-filter(1) keeps it from being offered, and a plugin cannot add a
 * filter to the server that has loaded it.  So, as nbdkit's own vddk plugin does for its
 * library path, the server is executed again with `--filter=nozero` in front.
 */
#ifndef FLASHEMU_PLUGIN_REEXEC_H
#define FLASHEMU_PLUGIN_REEXEC_H

#include "flashemu/err.h"

/* For config_complete: nothing may have been opened, locked or started yet.  Does not
 * return if it starts nbdkit again: same process, same descriptors, same arguments and
 * one more.  Returns 0 if the command line has the filter already (the user's or ours),
 * else a negative errno with the reason: the server may go on without. */
int fe_reexec_with_nozero(struct fe_err *err);

#endif
