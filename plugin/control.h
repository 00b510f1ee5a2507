/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The control socket: one thread that serves all its clients.
 *
 * A client sends lines and gets one line in reply to each, in order.  No client can delay another
 * client or make the server grow:
 *
 *   - The thread reads from a client only after the kernel has taken the client's last reply.
 *   - A client's turn consists of one command.
 *   - A line has at most FE_CONTROL_LINE_MAX bytes.  The reply to a longer line is an error, and
 *     then the connection ends.
 *   - If there are FE_CONTROL_CLIENTS clients, the next one gets one line with an error, and its
 *     connection ends.  It gets that line even if it has sent a request already.
 */
#pragma once

#include "flashemu/err.h"
#include "server.h"

#define FE_CONTROL_CLIENTS 64

struct fe_control;

/* Makes the socket (plugin/listener.h) and everything that the thread needs.  The thread itself
 * must be started after the fork.  Negative errno with message. */
int fe_control_create(struct fe_control **ret, struct fe_server *s, const char *path,
                      struct fe_err *err);

/* Starts the thread.  When a client asks for the end of the server, the thread calls quit() as
 * soon as that client has its reply.  -EAGAIN with message. */
int fe_control_start(struct fe_control *c, void (*quit)(void), struct fe_err *err);

/* Ends the thread: no command is carried out any more.  Connections stay as they are.  NULL is
 * allowed, and a thread that has ended. */
void fe_control_stop(struct fe_control *c);

/* Stops, ends all connections and removes the socket.  Whoever asked for the end of the server sees
 * by that that its image and its trace are complete, so fe_server_close comes before.  NULL is
 * allowed. */
void fe_control_destroy(struct fe_control *c);
