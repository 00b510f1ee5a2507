/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Files for fuzz targets whose code under test wants a path, and a way to catch what the
 * code prints.  Errors of the host end the program: they are no findings, but a run with
 * them would say nothing.
 */
#ifndef FT_FUZZ_FILES_H
#define FT_FUZZ_FILES_H

#include "fuzz.h"

#include <unistd.h>

#define FT_PATH_MAX 64

/* The path of a file of this process alone, in memory where the machine allows it. */
static inline void ft_file_path(char path[static FT_PATH_MAX], const char *what)
{
    snprintf(path, FT_PATH_MAX, "%s/fe-fuzz-%ld-%s",
             access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp", (long)getpid(), what);
}

static inline void ft_file_write(const char *path, const void *data, size_t len)
{
    FILE *f = fopen(path, "wb");
    FT_MUST(f && fwrite(data, 1, len, f) == len && fclose(f) == 0, "%s: cannot be written", path);
}

/* Everything that is printed to *stream (stdout or stderr) from begin to end, as a string. */
struct ft_capture {
    FILE **stream, *before, *file;
    char *text; /* after the end; the caller's */
    size_t len;
};

static inline void ft_capture_begin(struct ft_capture *c, FILE **stream)
{
    *c = (struct ft_capture){.stream = stream, .before = *stream};
    c->file = open_memstream(&c->text, &c->len);
    FT_MUST(c->file, "no memory");
    *stream = c->file;
}

static inline void ft_capture_end(struct ft_capture *c)
{
    *c->stream = c->before;
    FT_MUST(fclose(c->file) == 0, "no memory");
}

/* Is it one line of text, as a message has to be? */
static inline int ft_is_line(const char *text, size_t len)
{
    return len > 1 && memchr(text, '\n', len) == text + len - 1 && !memchr(text, '\0', len);
}

#endif
