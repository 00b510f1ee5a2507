/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A file in which a write is a mark (flashemu-trace(5)), for the guests of tools/vm:
 *
 *     flashemu-mark FOLDER ADDRESS PORT      mounts FOLDER, and stays behind it
 *     flashemu-mark FOLDER COMMANDS          the same in a kernel that lives in the device's time
 *     echo TEXT >FOLDER/mark                 returns when the mark stands in the trace
 *
 * A mark is worth something only if whoever makes it waits for it, and a pipe or a terminal takes bytes
 * and says nothing.  A filesystem of FUSE makes the writer wait for its answer.  This one speaks with
 * the kernel directly, so it needs no library; ADDRESS and PORT lead to the server's control socket.
 * Without a network it is the folder COMMANDS of the host that has the order and the answer, and the
 * calendar that hears of them (vhost/spoken.h).  It may be unmounted afterwards.
 * Each line of a write is one mark.  A write fails with EINVAL if the server refuses the text, and with
 * EIO if nobody answers; nothing is written twice.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

enum { FILE_ID = 2, MOST = 128 << 10, FOREVER = 1 << 30 };

#define BELL "/sys/kernel/um-ext-time/bc-message"

static struct sockaddr_in server = {.sin_family = AF_INET};
static int commands = -1; /* the folder; -1: the server is behind an address */

/* --- the server --- */

static bool send_all(int fd, const char *p, size_t len)
{
    while (len > 0) {
        ssize_t n = send(fd, p, len, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        p += n;
        len -= (size_t)n;
    }
    return true;
}

/* The server's line, which begins with what it thinks of the order.  False if there is none. */
static bool receive_line(int fd, char *buf, size_t room)
{
    size_t len = 0;
    while (len + 1 < room) {
        ssize_t n = recv(fd, buf + len, room - 1 - len, 0);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        len += (size_t)n;
        buf[len] = '\0';
        if (strchr(buf, '\n'))
            return true;
    }
    return true; /* longer than anybody wants to know */
}

/* The text as a string of JSON.  6 bytes for each byte of it are enough. */
static char *put_json(char *to, const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c == '"' || c == '\\')
            *to++ = '\\';
        if (c < 0x20)
            to += sprintf(to, "\\u%04x", c);
        else
            *to++ = (char)c;
    }
    return to;
}

static bool ask_address(const char *order, size_t len, char *answer, size_t room)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool answered = fd >= 0 && connect(fd, (struct sockaddr *)&server, sizeof server) == 0 &&
                    send_all(fd, order, len) && receive_line(fd, answer, room);
    if (fd >= 0)
        close(fd);
    return answered;
}

static bool write_file(int folder, const char *name, const char *text, size_t len)
{
    int fd = openat(folder, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    bool written = fd >= 0 && write(fd, text, len) == (ssize_t)len;
    if (fd >= 0 && close(fd) < 0)
        written = false;
    return written;
}

static bool ask_folder(const char *order, size_t len, char *answer, size_t room)
{
    if (!write_file(commands, "command", order, len) || !write_file(AT_FDCWD, BELL, "1\n", 2))
        return false;
    int fd = openat(commands, "reply", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, answer, room - 1);
    if (fd >= 0)
        close(fd);
    answer[n > 0 ? n : 0] = '\0';
    return n > 0;
}

/* 0 if the mark stands in the trace, or an errno. */
static int mark(const char *text, size_t len)
{
    char answer[4096] = "", *order = malloc(6 * len + 64), *end = order;
    if (!order)
        return ENOMEM;
    end = put_json(stpcpy(end, "{\"cmd\":\"mark\",\"args\":[\""), text, len);
    end = stpcpy(end, "\"]}\n");
    bool answered = (commands < 0 ? ask_address : ask_folder)(order, (size_t)(end - order), answer,
                                                              sizeof answer);
    free(order);
    return !answered ? EIO : strstr(answer, "\"ok\":true") ? 0 : EINVAL;
}

/* A mark for each line of a write. */
static int mark_lines(const char *p, size_t len)
{
    const char *end = p + len;
    int r = EINVAL;
    while (p < end) {
        const char *newline = memchr(p, '\n', (size_t)(end - p)), *stop = newline ? newline : end;
        r = mark(p, (size_t)(stop - p));
        if (r != 0)
            return r;
        p = stop + 1;
    }
    return r;
}

/* --- the kernel --- */

static void answer(int fuse, const struct fuse_in_header *in, int err, const void *body, size_t len)
{
    struct fuse_out_header out = {.len = (uint32_t)(sizeof out + (err ? 0 : len)), .error = -err,
                                  .unique = in->unique};
    const struct iovec parts[] = {{&out, sizeof out}, {(void *)body, err ? 0 : len}};
    /* A request that was interrupted has nobody who waits for its answer. */
    if (writev(fuse, parts, 2) < 0 && errno != ENOENT && errno != EINTR)
        exit(1);
}

static struct fuse_attr attributes(uint64_t id)
{
    mode_t mode = id == FILE_ID ? S_IFREG | 0222 : S_IFDIR | 0555;
    return (struct fuse_attr){.ino = id, .mode = mode, .nlink = 1, .blksize = 4096};
}

static void look_up(int fuse, const struct fuse_in_header *in, const char *name)
{
    struct fuse_entry_out out = {.nodeid = FILE_ID, .entry_valid = FOREVER, .attr_valid = FOREVER,
                                 .attr = attributes(FILE_ID)};
    bool is_there = in->nodeid == FUSE_ROOT_ID && strcmp(name, "mark") == 0;
    answer(fuse, in, is_there ? 0 : ENOENT, &out, sizeof out);
}

static void list(int fuse, const struct fuse_in_header *in, const struct fuse_read_in *read_in)
{
    char buf[FUSE_DIRENT_ALIGN(FUSE_NAME_OFFSET + 4)] = "";
    struct fuse_dirent entry = {.ino = FILE_ID, .off = 1, .namelen = 4, .type = S_IFREG >> 12};
    memcpy(buf, &entry, FUSE_NAME_OFFSET);
    memcpy(buf + FUSE_NAME_OFFSET, "mark", 4);
    answer(fuse, in, 0, buf, read_in->offset == 0 ? sizeof buf : 0);
}

static void begin(int fuse, const struct fuse_in_header *in, const struct fuse_init_in *init)
{
    struct fuse_init_out out = {.major = FUSE_KERNEL_VERSION, .minor = FUSE_KERNEL_MINOR_VERSION,
                                .max_readahead = init->max_readahead,
                                .flags = init->flags & FUSE_BIG_WRITES, .max_write = MOST - 4096};
    answer(fuse, in, 0, &out, sizeof out);
}

static void serve_one(int fuse, const struct fuse_in_header *in)
{
    const void *body = in + 1;
    const struct fuse_write_in *w = body;
    struct fuse_open_out opened = {.open_flags = FOPEN_DIRECT_IO};
    struct fuse_attr_out attr = {.attr_valid = FOREVER, .attr = attributes(in->nodeid)};
    switch (in->opcode) {
    case FUSE_INIT:
        begin(fuse, in, body);
        break;
    case FUSE_LOOKUP:
        look_up(fuse, in, body);
        break;
    case FUSE_GETATTR:
    case FUSE_SETATTR: /* the shell makes it empty first, which it is */
        answer(fuse, in, 0, &attr, sizeof attr);
        break;
    case FUSE_OPEN:
    case FUSE_OPENDIR:
        answer(fuse, in, 0, &opened, sizeof opened);
        break;
    case FUSE_READDIR:
        list(fuse, in, body);
        break;
    case FUSE_WRITE: {
        struct fuse_write_out out = {.size = w->size};
        answer(fuse, in, mark_lines((const char *)(w + 1), w->size), &out, sizeof out);
        break;
    }
    case FUSE_READ:
    case FUSE_FLUSH:
    case FUSE_RELEASE:
    case FUSE_RELEASEDIR:
        answer(fuse, in, 0, NULL, 0);
        break;
    case FUSE_FORGET:
    case FUSE_BATCH_FORGET:
        break; /* nobody waits for an answer */
    case FUSE_DESTROY:
        exit(0);
    default:
        answer(fuse, in, ENOSYS, NULL, 0);
    }
}

static int serve(int fuse)
{
    static _Alignas(8) char request[MOST + 4096];
    for (;;) {
        ssize_t n = read(fuse, request, sizeof request);
        if (n >= (ssize_t)sizeof(struct fuse_in_header))
            serve_one(fuse, (const struct fuse_in_header *)request);
        else if (n >= 0 || (errno != EINTR && errno != ENOENT && errno != EAGAIN))
            return n < 0 && errno == ENODEV ? 0 : 1; /* it was unmounted */
    }
}

static int fail(const char *what)
{
    fprintf(stderr, "flashemu-mark: %s: %s\n", what, strerror(errno));
    return 1;
}

/* Whether the words say where the server is. */
static bool find_server(int argc, char **argv)
{
    if (argc == 3) {
        commands = open(argv[2], O_PATH | O_DIRECTORY | O_CLOEXEC);
        return commands >= 0;
    }
    unsigned long port = argc == 4 ? strtoul(argv[3], NULL, 10) : 0;
    server.sin_port = htons((uint16_t)port);
    return port >= 1 && port <= 65535 && inet_pton(AF_INET, argv[2], &server.sin_addr) == 1;
}

int main(int argc, char **argv)
{
    char options[64];
    if (!find_server(argc, argv)) {
        if (argc == 3)
            return fail(argv[2]);
        fputs("usage: flashemu-mark FOLDER ADDRESS PORT | FOLDER COMMANDS\n", stderr);
        return 2;
    }
    int fuse = open("/dev/fuse", O_RDWR | O_CLOEXEC);
    if (fuse < 0)
        return fail("/dev/fuse");
    snprintf(options, sizeof options, "fd=%d,rootmode=40000,user_id=0,group_id=0,allow_other", fuse);
    if (mount("flashemu-mark", argv[1], "fuse", MS_NOSUID | MS_NODEV | MS_NOEXEC, options) < 0)
        return fail(argv[1]);
    if (daemon(0, 0) < 0)
        return fail("daemon");
    return serve(fuse);
}
