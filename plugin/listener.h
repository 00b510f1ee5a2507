/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A listening Unix socket in the file system.  There is no moment in which other users could
 * connect to it, and it is removed at the end if it is still ours.
 */
#pragma once

#include "flashemu/err.h"

#include <sys/types.h>

struct fe_listener {
    int fd;     /* non-blocking, close-on-exec; -1 when closed */
    char *path; /* absolute, so that it survives a change of directory */
    dev_t dev;  /* which file was made, to see at the end whether path is still ours */
    ino_t ino;
};

#define FE_LISTENER_CLOSED ((struct fe_listener){.fd = -1})

/* Makes the socket at path with mode 0600 and listens on it.  Changes the process's umask for a
 * moment, so no other thread may run.  Replaces a socket file on which nobody listens.  Errors,
 * each with a message "KEY=PATH: ..." with the parameter's name: -EADDRINUSE if somebody listens there, -EEXIST if path
 * is not a socket, -ENAMETOOLONG, or the error of the system. */
int fe_listener_open(struct fe_listener *l, const char *key, const char *path, struct fe_err *err);

/* Closes the socket and removes its file, unless path is another file by now. */
void fe_listener_close(struct fe_listener *l);
