/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Messages are formatted here and nowhere else, so that all of them are bounded and have one line.
 */
#include "flashemu/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int fe_err_set(struct fe_err *err, int errnum, const char *fmt, ...)
{
    if (!err || err->text[0])
        return -errnum;

    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(err->text, sizeof err->text, fmt, ap);
    va_end(ap);

    if (n < 0)
        snprintf(err->text, sizeof err->text, "error %d (its message could not be formatted)",
                 errnum);
    else if ((size_t)n >= sizeof err->text)
        memcpy(err->text + sizeof err->text - 4, "...", 4);

    for (char *p = err->text; *p; p++)
        if ((unsigned char)*p < 0x20 || *p == 0x7f)
            *p = '?';
    return -errnum;
}

void fe_text_add(char *buf, size_t len, const char *fmt, ...)
{
    size_t at = strlen(buf);
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(buf + at, len - at, fmt, ap);
    va_end(ap);
}

int fe_err_nomem(struct fe_err *err, const char *what, unsigned long long bytes)
{
    return fe_err_set(err, ENOMEM, "out of memory: %s (%llu bytes)", what, bytes);
}
