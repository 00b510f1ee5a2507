/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Some of the code that is fuzzed takes the path of a file, or prints to a stream.  This header
 * has files for the former, and catches what the latter prints.
 *
 * An error of the host ends the program.  Such an error is no finding, but a run that went on
 * after it would test nothing.
 */
#pragma once

#include "fuzz.h"

#include <unistd.h>

#define FT_PATH_MAX 64

/* Makes a path that no other process uses.  The file is in memory if the machine has /dev/shm.
 * what: a short name for the file. */
static inline void ft_file_path(char path[static FT_PATH_MAX], const char *what)
{
    snprintf(path, FT_PATH_MAX, "%s/fe-fuzz-%ld-%s",
             access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp", (long)getpid(), what);
}

/* Makes the file, or replaces what is in it. */
static inline void ft_file_write(const char *path, const void *data, size_t len)
{
    FILE *f = fopen(path, "wb");
    FT_MUST(f && fwrite(data, 1, len, f) == len && fclose(f) == 0, "%s: cannot be written", path);
}

/* Catches everything that is printed to *stream (stdout or stderr) between begin and end. */
struct ft_capture {
    FILE **stream, *before, *file;
    char *text; /* valid after the end; the caller frees it */
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

/* Returns whether the text is one line, as a message has to be. */
static inline int ft_is_line(const char *text, size_t len)
{
    return len > 1 && memchr(text, '\n', len) == text + len - 1 && !memchr(text, '\0', len);
}
