/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The control socket: one thread that serves all its clients.
 *
 * A client sends lines and gets one line for each, in order.  No client can hold up
 * another or grow the server: each is read from only when its last reply has been taken
 * by the kernel, a turn is one command, a line has at most FE_CONTROL_LINE_MAX bytes
 * (a longer one is answered with an error and the end of the connection), and beyond
 * FE_CONTROL_CLIENTS a new one is told so and closed.
 */
#ifndef FLASHEMU_PLUGIN_CONTROL_H
#define FLASHEMU_PLUGIN_CONTROL_H

#include "flashemu/err.h"
#include "server.h"

#define FE_CONTROL_CLIENTS 64

struct fe_control;

/* Makes the socket (plugin/listener.h) and what the thread needs, not the thread: it
 * is for after the fork.  Errors with message. */
int fe_control_create(struct fe_control **ret, struct fe_server *s, const char *path,
                      struct fe_err *err);

/* Starts the thread.  quit() is called by it, once its client has the reply, when a
 * client asks for the end of the server.  -EAGAIN with message. */
int fe_control_start(struct fe_control *c, void (*quit)(void), struct fe_err *err);

/* Ends the thread and the connections, removes the socket.  NULL is fine. */
void fe_control_destroy(struct fe_control *c);

#endif
