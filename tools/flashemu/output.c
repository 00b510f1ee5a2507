/* SPDX-License-Identifier: BSD-3-Clause
 *
 * An output is written to a temporary file in the folder of its target.  At success it takes the
 * target's place by rename(), which the kernel does in one step.  So other programs see either the
 * old file or the whole new one:
 *
 *     open      target (old)   .flashemu-Xa81Qz (empty)
 *     write     target (old)   .flashemu-Xa81Qz (half)      failure, signal: unlink
 *     fsync     target (old)   .flashemu-Xa81Qz (whole)
 *     rename    target (new)
 *
 * fsync comes before rename, because a filesystem may otherwise store the new name before the
 * data, and a crash of the machine would then leave an empty file.
 *
 * The new file gets the mode of the old one, and its owner if the user may set that.  A hard link
 * to the old file keeps the old content.
 *
 * Signals: the names of the temporary files stand in a table that the handler walks.  Signals are
 * blocked while a file and its entry in the table do not agree.  SIGKILL and a power failure leave
 * the temporary file.
 */
#include "output.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_LINKS = 40 }; /* as many as Linux follows */

/* The temporary files, and the targets that they will replace. */
static struct {
    char *volatile temporary; /* NULL = free slot */
    const char *target;
} slots[OUTPUT_MAX];

static const int deadly[] = {SIGHUP, SIGINT, SIGQUIT, SIGPIPE, SIGTERM, SIGXFSZ};

enum { N_DEADLY = sizeof deadly / sizeof *deadly };

/* Removes what is not whole, and lets the signal end the program as it would have without the
 * handler. */
static void remove_and_die(int signal_number)
{
    for (int i = 0; i < OUTPUT_MAX; i++)
        if (slots[i].temporary)
            unlink(slots[i].temporary);
    raise(signal_number); /* SA_RESETHAND: takes effect when the handler returns */
}

/* A signal that the program ignores (nohup) stays ignored. */
static void catch_signals(void)
{
    struct sigaction action = {.sa_handler = remove_and_die, .sa_flags = (int)SA_RESETHAND}, old;

    for (int i = 0; i < N_DEADLY; i++)
        if (sigaction(deadly[i], NULL, &old) == 0 && old.sa_handler == SIG_DFL)
            sigaction(deadly[i], &action, NULL);
}

static void block_signals(sigset_t *old)
{
    sigset_t set;

    sigemptyset(&set);
    for (int i = 0; i < N_DEADLY; i++)
        sigaddset(&set, deadly[i]);
    sigprocmask(SIG_BLOCK, &set, old);
}

static int host_error(const char *name, int errnum, struct fe_err *err)
{
    return fe_err_set(err, errnum, "%.200s: %s", name, strerror(errnum));
}

/* --- which file --- */

/* A path without its last component: the length of "FOLDER/", 0 if there is no '/'. */
static int folder_len(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? (int)(slash - path) + 1 : 0;
}

/* Follows symbolic links to the file that an open() would create or replace.  The caller frees
 * *ret.  realpath() will not do, because the file need not exist. */
static int follow_links(const char *path, char **ret, struct fe_err *err)
{
    char link[4096], *at = strdup(path);

    for (int i = 0; at && i < MAX_LINKS; i++) {
        ssize_t n = readlink(at, link, sizeof link - 1);
        if (n < 0 && errno != EINVAL && errno != ENOENT) {
            free(at);
            return host_error(path, errno, err);
        }
        if (n < 0) {
            *ret = at;
            return 0;
        }
        link[n] = '\0';
        char *next;
        if (asprintf(&next, "%.*s%s", link[0] == '/' ? 0 : folder_len(at), at, link) < 0)
            next = NULL;
        free(at);
        at = next;
    }
    if (!at)
        return fe_err_nomem(err, "name of a file", strlen(path));
    free(at);
    return host_error(path, ELOOP, err);
}

static bool same_file(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* Refuses a target that is one of the inputs.  Only regular files are compared: a terminal may be
 * read and written at the same time. */
static int check_inputs(const struct stat *target, const char *name, const char *const *inputs,
                        uint32_t n, struct fe_err *err)
{
    struct stat st;

    for (uint32_t i = 0; i < n; i++) {
        if (!inputs[i] || strncmp(inputs[i], "gen:", 4) == 0)
            continue;
        int r = strcmp(inputs[i], "-") == 0 ? fstat(STDIN_FILENO, &st) : stat(inputs[i], &st);
        if (r == 0 && S_ISREG(st.st_mode) && same_file(&st, target))
            return fe_err_set(err, EINVAL,
                              "%.100s: is also the input '%.100s'; the output must be another file",
                              name, inputs[i]);
    }
    return 0;
}

/* The stat() of a file's folder; false if that fails. */
static bool stat_folder(const char *path, struct stat *ret)
{
    char *folder;
    if (asprintf(&folder, "%.*s.", folder_len(path), path) < 0)
        return false;
    bool ok = stat(folder, ret) == 0;
    free(folder);
    return ok;
}

static int check_outputs(const char *target, const char *name, struct fe_err *err)
{
    struct stat a, b;

    for (int i = 0; i < OUTPUT_MAX; i++) {
        const char *other = slots[i].target;
        if (slots[i].temporary && strcmp(other + folder_len(other),
                                         target + folder_len(target)) == 0 &&
            stat_folder(other, &a) && stat_folder(target, &b) && same_file(&a, &b))
            return fe_err_set(err, EINVAL, "%.200s: two outputs cannot be the same file", name);
    }
    return 0;
}

/* --- what may be replaced --- */

bool output_force;
uint64_t output_image_bytes;

/* How a file begins that flashemu has made, and what stands in its first part. */
static const struct {
    const char *begins, *has;
} made[] = {
    {"# flashemu ", ""},                     /* traces, and their data */
    {"<!DOCTYPE html>", "<meta name=\"generator\" content=\"flashemu "}, /* report */
    {"<svg ", "<!-- flashemu"},              /* pictures */
    {"fio version ", "/dev/flashemu add\n"}, /* a trace for fio */
    {"{\"id\":\"", "\"unreadable\":"},       /* states of cuts */
};

enum { FIRST_PART = 4096 };

static bool is_made(const char *text)
{
    for (size_t i = 0; i < sizeof made / sizeof *made; i++)
        if (strncmp(text, made[i].begins, strlen(made[i].begins)) == 0 && strstr(text, made[i].has))
            return true;
    return false;
}

/* -EEXIST with message unless the file is empty or is flashemu's.  One that cannot be read is not. */
static int check_old(const char *path, struct fe_err *err)
{
    char text[FIRST_PART + 1];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : pread(fd, text, FIRST_PART, 0);

    if (fd >= 0)
        close(fd);
    text[n < 0 ? 0 : n] = '\0';
    if (n == 0 || (n > 0 && is_made(text)))
        return 0;
    return fe_err_set(err, EEXIST, "%.200s: is there, and is not what flashemu has made; take another "
                                   "name, or --force to replace it", path);
}

/* -EBUSY with message if a server has the file as its trace or its image: it locks both.  It would go on
 * writing to a file without a name. */
static int check_unused(const char *path, struct fe_err *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    bool in_use = fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK;

    if (fd >= 0)
        close(fd);
    return in_use ? fe_err_set(err, EBUSY, "%.200s: is in use by another flashemu server or tool",
                               path) : 0;
}

/* --- opening --- */

/* Gives the new file the mode and the owner of the old one.  Only root may set the owner. */
static int take_mode(int fd, const struct stat *old)
{
    mode_t mask = umask(0);
    umask(mask);
    if (old && (old->st_uid != geteuid() || old->st_gid != getegid()) &&
        fchown(fd, old->st_uid, old->st_gid) < 0 && errno != EPERM)
        return -errno;
    return fchmod(fd, old ? old->st_mode & 0777 : 0666 & ~mask) < 0 ? -errno : 0;
}

/* Creates the temporary file next to o->target and notes its name in the slot. */
static int make_temporary(struct output *o, const struct stat *old, struct fe_err *err)
{
    char *name;
    sigset_t signals;
    int fd, r = 0;

    if (asprintf(&name, "%.*s.flashemu-XXXXXX", folder_len(o->target), o->target) < 0)
        return fe_err_nomem(err, "name of a file", strlen(o->target));
    block_signals(&signals);
    fd = mkostemp(name, O_CLOEXEC);
    if (fd >= 0) {
        slots[o->slot].target = o->target;
        slots[o->slot].temporary = name;
        r = take_mode(fd, old);
        o->file = r == 0 ? fdopen(fd, "w") : NULL;
    }
    if (!o->file) {
        int errnum = r < 0 ? -r : errno;
        r = fe_err_set(err, errnum, "%.200s: %s%s", o->name, strerror(errnum),
                       fd < 0 && errnum == EACCES ? ": no file can be created in its folder" : "");
        if (fd >= 0) {
            close(fd);
            unlink(name);
        }
        slots[o->slot].temporary = NULL;
        free(name);
    }
    sigprocmask(SIG_SETMASK, &signals, NULL);
    return r;
}

static int open_replacement(struct output *o, const char *path, const struct stat *old,
                            struct fe_err *err)
{
    for (o->slot = 0; o->slot < OUTPUT_MAX && slots[o->slot].temporary; o->slot++)
        ;
    if (o->slot == OUTPUT_MAX)
        return fe_err_set(err, EMFILE, "%.200s: more than %d outputs", path, OUTPUT_MAX);
    /* rename() would replace a file that its owner has protected. */
    if (old && faccessat(AT_FDCWD, path, W_OK, AT_EACCESS) < 0)
        return host_error(path, errno, err);
    bool may_be_image = old && output_image_bytes && (uint64_t)old->st_size == output_image_bytes;
    int r = old && !output_force && !may_be_image ? check_old(path, err) : 0;
    if (r == 0 && old)
        r = check_unused(path, err);
    if (r == 0)
        r = follow_links(path, &o->target, err);
    if (r == 0)
        r = check_outputs(o->target, path, err);
    if (r == 0) {
        catch_signals();
        r = make_temporary(o, old, err);
    }
    if (r < 0) {
        free(o->target);
        o->target = NULL;
    }
    return r;
}

int output_open(struct output *o, const char *path, const char *const *inputs, uint32_t n,
                struct fe_err *err)
{
    bool to_stdout = !path || strcmp(path, "-") == 0;
    struct stat st, out;

    *o = (struct output){.name = to_stdout ? "standard output" : path};
    bool exists = (to_stdout ? fstat(STDOUT_FILENO, &st) : stat(path, &st)) == 0;
    if (!exists && !to_stdout && errno != ENOENT)
        return host_error(path, errno, err);
    if (exists && S_ISREG(st.st_mode)) {
        int r = check_inputs(&st, o->name, inputs, n, err);
        if (r < 0)
            return r;
    }
    /* /dev/stdout may be a regular file, which the shell has opened and perhaps filled before. */
    if (to_stdout || (exists && fstat(STDOUT_FILENO, &out) == 0 && same_file(&st, &out))) {
        o->file = stdout;
        return 0;
    }
    if (!exists || S_ISREG(st.st_mode))
        return open_replacement(o, path, exists ? &st : NULL, err);
    o->file = fopen(path, "we");
    return o->file ? 0 : host_error(path, errno, err);
}

/* --- closing --- */

/* Writes what is buffered and closes the file.  Returns 0 or a negative errno. */
static int finish_file(struct output *o)
{
    int r = 0;

    errno = 0;
    if (fflush(o->file) != 0 || ferror(o->file))
        r = errno ? -errno : -EIO; /* nobody has kept the errno of an earlier write */
    else if (o->target && fsync(fileno(o->file)) < 0)
        r = -errno;
    if (fclose(o->file) != 0 && r == 0)
        r = -errno;
    return r;
}

/* Moves the temporary file to its target if r is 0, and removes it otherwise. */
static int settle(struct output *o, int r)
{
    char *temporary = slots[o->slot].temporary;
    sigset_t signals;

    block_signals(&signals);
    if (r == 0 && rename(temporary, o->target) < 0)
        r = -errno;
    if (r < 0)
        unlink(temporary);
    slots[o->slot].temporary = NULL;
    sigprocmask(SIG_SETMASK, &signals, NULL);
    free(temporary);
    free(o->target);
    return r;
}

int output_close(struct output *o, int r, struct fe_err *err)
{
    if (!o->file || o->file == stdout)
        return r;
    int written = finish_file(o);
    if (r == 0)
        r = written;
    if (o->target)
        r = settle(o, r);
    if (r < 0)
        host_error(o->name, -r, err); /* the first message stays */
    *o = (struct output){0};
    return r;
}
