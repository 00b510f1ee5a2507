/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Commands of a guest that shares its time, for which no time passes.
 *
 * The guest has no network, whose answers would come when this machine has time.  It has a folder of
 * the host, and its calendar:
 *
 *     the guest                     this program
 *     writes FOLDER/command
 *     BROADCAST                     carries the command out, as of the control socket
 *                                   writes FOLDER/reply, and acknowledges
 *     reads FOLDER/reply
 *
 * A reply is always a new file, so that a guest does not take what it has read before for it.
 */
#pragma once

#include "flashemu/err.h"
#include "server.h"

/* Carries out the command in this folder.  A command that fails has a reply that says so.  0, or a
 * negative errno with message if the files cannot be read or written. */
int fe_spoken_answer(struct fe_server *s, const char *folder, struct fe_err *err);
