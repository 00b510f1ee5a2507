/* SPDX-License-Identifier: BSD-3-Clause
 *
 * nbdkit does not say whether it has gone into the background.  It has, if standard error has
 * become /dev/null since the plugin was loaded.  A user who gave it /dev/null from the start wants
 * no notes.
 */
#include "notes.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <syslog.h>
#include <unistd.h>

static bool was_null, to_syslog; /* constant while the server serves */

static bool stderr_is_null(void)
{
    struct stat st;
    return fstat(STDERR_FILENO, &st) == 0 && S_ISCHR(st.st_mode) && st.st_rdev == makedev(1, 3);
}

void fe_notes_init(void)
{
    was_null = stderr_is_null();
}

void fe_notes_after_fork(void)
{
    to_syslog = !was_null && stderr_is_null();
}

void fe_note(const char *fmt, ...)
{
    char text[1024];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    if (to_syslog)
        syslog(LOG_DAEMON | LOG_NOTICE, "flashemu: note: %s", text);
    else
        fprintf(stderr, "nbdkit: flashemu: note: %s\n", text);
}
