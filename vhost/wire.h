/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Sockets to a guest, on which a program of one thread waits, and which end when the program shall.
 *
 * Signals come only while something waits here: fe_wire_init blocks them otherwise.  So none is lost
 * between a look at the flag and a wait.
 */
#pragma once

#include "flashemu/err.h"

#include <poll.h>
#include <stddef.h>
#include <stdint.h>

/* SIGTERM, SIGINT and SIGHUP end every wait from now on; to be called before there are threads. */
int fe_wire_init(struct fe_err *err);

/* Waits until one of the descriptors has news, at most until timeout_ns have passed (UINT64_MAX: for
 * ever).  As poll; -EINTR if the program shall end. */
int fe_wire_wait(struct pollfd *fds, uint32_t n, uint64_t timeout_ns);

/* Reads len bytes, however late they come.  Descriptors that come with them go to fds, at most
 * *n_fds, which becomes their number; NULL: there must be none.  0; -ECONNRESET at the end of the
 * connection, -EINTR as above, or the system's error. */
int fe_wire_read(int fd, void *buf, size_t len, int *fds, uint32_t *n_fds);

/* Writes len bytes, and hands over n_fds descriptors with them. */
int fe_wire_write(int fd, const void *buf, size_t len, const int *fds, uint32_t n_fds);
