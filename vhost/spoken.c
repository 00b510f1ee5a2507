/* SPDX-License-Identifier: BSD-3-Clause */
#include "spoken.h"

#include "commands.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int fail(struct fe_err *err, const char *folder, const char *name)
{
    int r = errno;
    return fe_err_set(err, r, "%s/%s: %s", folder, name, strerror(r));
}

/* The first line of the command, without its newline; one that is too long has more bytes than a
 * command may have. */
static int read_command(int dir, const char *folder, char *ret, size_t *ret_len,
                        struct fe_err *err)
{
    size_t len = 0;
    ssize_t n = 1;
    int fd = openat(dir, "command", O_RDONLY | O_CLOEXEC | O_NOFOLLOW);

    if (fd < 0)
        return fail(err, folder, "command");
    while (len <= FE_CONTROL_LINE_MAX && n != 0) {
        n = read(fd, ret + len, FE_CONTROL_LINE_MAX + 1 - len);
        if (n < 0 && errno != EINTR)
            break;
        len += n > 0 ? (size_t)n : 0;
    }
    int r = n < 0 ? fail(err, folder, "command") : 0;
    close(fd);
    char *end = memchr(ret, '\n', len);
    *ret_len = end ? (size_t)(end - ret) : len;
    return r;
}

static int write_reply(int dir, const char *folder, const char *reply, struct fe_err *err)
{
    size_t left = strlen(reply);
    if (unlinkat(dir, "reply", 0) < 0 && errno != ENOENT)
        return fail(err, folder, "reply");
    int fd = openat(dir, "reply", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0)
        return fail(err, folder, "reply");
    while (left > 0) {
        ssize_t n = write(fd, reply, left);
        if (n < 0 && errno != EINTR)
            break;
        reply += n > 0 ? n : 0;
        left -= n > 0 ? (size_t)n : 0;
    }
    int r = left > 0 ? fail(err, folder, "reply") : 0;
    if (close(fd) < 0 && r == 0)
        r = fail(err, folder, "reply");
    return r;
}

/* NULL without memory. */
static char *carry_out(struct fe_server *s, const char *line, size_t len)
{
    struct fe_command_wish wish;
    if (len > FE_CONTROL_LINE_MAX)
        return fe_command_error("the command is too long");
    char *reply = fe_command_run(s, line, len, FE_BY_GUEST, &wish);
    if (wish.what == FE_WISH_NONE)
        return reply;
    free(reply);
    return fe_command_error("not for a guest: it has no connection, and its time ends with the server");
}

int fe_spoken_answer(struct fe_server *s, const char *folder, struct fe_err *err)
{
    size_t len = 0;
    char *line = malloc(FE_CONTROL_LINE_MAX + 1), *reply = NULL;
    int dir = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int r = 0;

    if (dir < 0)
        r = fail(err, folder, ".");
    else if (!line)
        r = fe_err_nomem(err, "a command of the guest", FE_CONTROL_LINE_MAX);
    if (r == 0)
        r = read_command(dir, folder, line, &len, err);
    if (r == 0 && !(reply = carry_out(s, line, len)))
        r = fe_err_nomem(err, "a command of the guest", FE_CONTROL_LINE_MAX);
    if (r == 0)
        r = write_reply(dir, folder, reply, err);
    free(reply);
    free(line);
    if (dir >= 0)
        close(dir);
    return r;
}
