/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A listening Unix socket in the file system: made without a moment in which others
 * could connect to it, and removed at the end if it is still ours.
 */
#ifndef FLASHEMU_PLUGIN_LISTENER_H
#define FLASHEMU_PLUGIN_LISTENER_H

#include "flashemu/err.h"

#include <sys/types.h>

struct fe_listener {
    int fd;     /* non-blocking, close-on-exec; -1 when closed */
    char *path; /* absolute, so that it survives a change of directory */
    dev_t dev;  /* the file that was made */
    ino_t ino;
};

#define FE_LISTENER_CLOSED ((struct fe_listener){.fd = -1})

/* Binds and listens at path, mode 0600.  Changes the process's umask for a moment: no
 * other thread may run.  A socket file that nobody listens on is replaced.  -EADDRINUSE
 * if somebody does, -EEXIST if the path is no socket, -ENAMETOOLONG, or what the system
 * says; each with "control=PATH: ...". */
int fe_listener_open(struct fe_listener *l, const char *path, struct fe_err *err);

/* Closes it and removes the file, unless that is another one by now. */
void fe_listener_close(struct fe_listener *l);

#endif
