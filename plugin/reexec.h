/* SPDX-License-Identifier: BSD-3-Clause
 *
 * nbdkit's command line: what it says that nbdkit does not tell, and starting nbdkit again with a
 * filter, so that users need not know about the filter.
 *
 * nbdkit offers WRITE ZEROES to every client that may write, whatever a plugin says: if the
 * plugin cannot zero, nbdkit writes the zeros itself (nbdkit-plugin(3), .can_zero).  A stick
 * has no such command.  Only nbdkit-nozero-filter(1) stops nbdkit from offering it, and a plugin
 * cannot add a filter to the server that has loaded it.  So the server executes itself again with
 * `--filter=nozero` in front of its arguments.  nbdkit's own vddk plugin does the same for its
 * library path.
 */
#ifndef FLASHEMU_PLUGIN_REEXEC_H
#define FLASHEMU_PLUGIN_REEXEC_H

#include "flashemu/err.h"

#include <stdbool.h>

/* Whether nbdkit was started with -r.  nbdkit tells this to a plugin only when a client comes, so
 * the command line is read.  An argument of another option that looks like -r counts, too. */
bool fe_reexec_is_read_only(void);

/* To be called by config_complete, before anything is opened, locked or started.
 *
 * Returns 0 if the command line names the filter already, because the user or this function has
 * put it there.  Otherwise executes nbdkit again and does not return: process id, descriptors
 * and arguments stay, and the filter is added.  Returns a negative errno with the reason if that
 * is not possible; the server may go on without the filter.
 *
 * For `-U -` nbdkit has made a folder for its socket by then.  The second start makes another one;
 * the first one stays behind, empty. */
int fe_reexec_with_nozero(struct fe_err *err);

#endif
