/* SPDX-License-Identifier: BSD-3-Clause
 *
 * zlib reads the file, and fopencookie makes a FILE of it, because that is what all readers of
 * traces take.  A file that is not compressed is an ordinary FILE.
 */
#include "gzfile.h"

#include "workload/trace.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

static ssize_t read_content(void *cookie, char *buf, size_t size)
{
    int n = gzread(cookie, buf, (unsigned)(size < 1U << 30 ? size : 1U << 30));
    int status;

    gzerror(cookie, &status);
    if (n >= 0 && (n > 0 || status == Z_OK || status == Z_STREAM_END))
        return n;
    errno = status == Z_BUF_ERROR    ? FE_TRACE_CUT_OFF
            : status == Z_DATA_ERROR ? FE_TRACE_DAMAGED
                                     : EIO;
    return -1;
}

static int close_content(void *cookie)
{
    return gzclose_r(cookie) == Z_OK ? 0 : -1;
}

bool gzfile_exists(const char *path)
{
    return access(path, R_OK) == 0;
}

int gzfile_open(FILE **ret, bool *compressed, const char *path, struct fe_err *err)
{
    const cookie_io_functions_t functions = {.read = read_content, .close = close_content};
    FILE *file = fopen(path, "re");
    gzFile content;

    if (!file)
        return fe_err_set(err, errno, "%s: %s", path, strerror(errno));
    int first = getc(file), second = first == 0x1f ? getc(file) : EOF;
    *compressed = second == 0x8b;
    *ret = file;
    if (!*compressed) {
        /* a pipe cannot be rewound, and one character can always be given back */
        if (first != EOF && second == EOF)
            ungetc(first, file);
        else if (first != EOF)
            rewind(file);
        return 0;
    }
    fclose(file);
    *ret = NULL;
    content = gzopen(path, "re");
    if (!content)
        return fe_err_set(err, ENOMEM, "%s: cannot be decompressed", path);
    *ret = fopencookie(content, "r", functions);
    if (!*ret) {
        gzclose_r(content);
        return fe_err_nomem(err, path, 0);
    }
    return 0;
}
