/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A list of files, in which a name is searched from one end: there are some hundred, and each is
 * opened once for a run.  Besides, this is what the tool's gzfile.c and blktracefile.c are on a
 * machine with a file system.
 */
#include "files.h"

#include "blktracefile.h"
#include "gzfile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static struct file {
    struct file *next;
    char *name, *content;
    size_t len;
} *files;

static struct file *find(const char *name)
{
    struct file *f = files;

    while (f && strcmp(f->name, name) != 0)
        f = f->next;
    return f;
}

int web_files_keep(const char *name, char *content, size_t len)
{
    struct file *f = find(name);

    if (f) {
        free(f->content);
    } else {
        f = calloc(1, sizeof *f);
        if (!f || !(f->name = strdup(name))) {
            free(f);
            return -ENOMEM;
        }
        f->next = files;
        files = f;
    }
    f->content = content;
    f->len = len;
    return 0;
}

const char *web_files_find(const char *name, size_t *ret_len)
{
    const struct file *f = find(name);

    *ret_len = f ? f->len : 0;
    return f ? f->content : NULL;
}

bool gzfile_exists(const char *path)
{
    return find(path) != NULL;
}

int gzfile_open(FILE **ret, bool *compressed, const char *path, struct fe_err *err)
{
    struct file *f = find(path);

    *compressed = true; /* there is no length on a disk that would say how much is done */
    if (!f)
        return fe_err_set(err, ENOENT, "%s: there is no such file in this page", path);
    if (f->len == 0)
        return fe_err_set(err, EINVAL, "%s: is empty", path);
    *ret = fmemopen(f->content, f->len, "r");
    return *ret ? 0 : fe_err_nomem(err, path, 0);
}

int blktracefile_open(FILE **ret, const char *path, struct fe_err *err)
{
    (void)path;
    (void)err;
    *ret = NULL; /* blktrace's files of several processors are no one file that can be dropped */
    return 0;
}
