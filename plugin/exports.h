/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Which device a connection gets.
 *
 *     exports=same   all connections share one device, whatever export they name
 *     exports=own    each export name has a device of its own, made when a client first names it
 *                    and kept until the server ends; the name "" has the one of the start
 *
 * All devices have the same profile and the same seed, so that each member of a class finds the same
 * stick.  Not each connection has a device: a client may open several connections, and comes back for
 * what it has written.
 */
#pragma once

#include "flashemu/err.h"
#include "server.h"

/* Besides the device of the start. */
enum { FE_EXPORTS_MAX = 64 };

/* The device of an export; any thread may call this.  It stays until fe_exports_end.  Negative errno
 * with message: those of fe_server_create and fe_server_start, and -EMFILE if there are
 * FE_EXPORTS_MAX names already. */
int fe_exports_find(struct fe_server **ret, const char *name, struct fe_err *err);

/* Ends all devices but the one of the start.  There may be no connections. */
void fe_exports_end(void);
