/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the command line holds decides, so that the second start sees that it is the
 * second one.  Three things have to be put back that nbdkit has done by then:
 *
 * - Under socket activation it takes LISTEN_PID and LISTEN_FDS out of the environment and
 *   marks the sockets close-on-exec.  The kernel's copy in /proc/self/environ still has
 *   them; the process id stays the same, so they stay valid.
 * - For `-U -` it makes a folder for the socket, which the second start does again.  The
 *   first one, still empty, is looked for and its name handed on in the environment; the
 *   second start removes it.  It is looked for by name, owner, age and emptiness; if more
 *   than one fits (another server starting in the same milliseconds) none is touched.
 */
#include "reexec.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define FOLDER_VARIABLE "FLASHEMU_LEFT_FOLDER"
#define FOLDER_PATTERN "/tmp/nbdkit??????"
#define FIRST_ACTIVATION_FD 3
#define MAX_ACTIVATION_FDS 16 /* what nbdkit takes */

/* NUL-separated strings of a file in /proc. */
struct strings {
    char *text;
    char **item; /* ended by NULL */
    size_t n;
};

static void strings_fini(struct strings *s)
{
    free(s->text);
    free(s->item);
}

/* Reads the whole file and ends it with one more NUL; NULL with errno. */
static char *read_file(const char *path, size_t *ret_len)
{
    size_t size = 4096, len = 0;
    char *text = NULL;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return NULL;
    for (;;) {
        char *more = realloc(text, size + 1);
        ssize_t n = more ? read(fd, more + len, size - len) : -1;
        int errnum = more ? errno : ENOMEM;
        text = more ? more : text;
        if (n < 0) {
            free(text);
            close(fd);
            errno = errnum;
            return NULL;
        }
        len += (size_t)n;
        text[len] = '\0';
        if (n == 0)
            break;
        if (len == size)
            size *= 2;
    }
    close(fd);
    *ret_len = len;
    return text;
}

/* Leaves room for one more item and the NULL. */
static int strings_read(struct strings *s, const char *path)
{
    size_t len;
    *s = (struct strings){0};
    s->text = read_file(path, &len);
    if (!s->text)
        return -errno;
    for (size_t i = 0; i < len; i += strlen(s->text + i) + 1)
        s->n++;
    s->item = calloc(s->n + 2, sizeof *s->item);
    if (!s->item) {
        strings_fini(s);
        return -ENOMEM;
    }
    size_t n = 0;
    for (size_t i = 0; i < len; i += strlen(s->text + i) + 1)
        s->item[n++] = s->text + i;
    return 0;
}

static bool has_nozero(const struct strings *argv)
{
    for (size_t i = 1; i < argv->n; i++)
        if (strcmp(argv->item[i], "--filter=nozero") == 0 ||
            (strcmp(argv->item[i - 1], "--filter") == 0 && strcmp(argv->item[i], "nozero") == 0))
            return true;
    return false;
}

static bool ends_with(const char *text, const char *end)
{
    size_t a = strlen(text), b = strlen(end);
    return a >= b && strcmp(text + a - b, end) == 0;
}

/* `-U -` in its spellings, behind other one-letter options too. */
static bool has_random_socket(const struct strings *argv)
{
    for (size_t i = 1; i < argv->n; i++) {
        const char *a = argv->item[i], *next = i + 1 < argv->n ? argv->item[i + 1] : "";
        bool is_short = a[0] == '-' && a[1] != '-';
        if (strcmp(a, "--unix=-") == 0 || (is_short && ends_with(a, "U-")))
            return true;
        if (strcmp(next, "-") == 0 && (strcmp(a, "--unix") == 0 || (is_short && ends_with(a, "U"))))
            return true;
    }
    return false;
}

/* When this process was started, in s of CLOCK_REALTIME; 0 if that cannot be known. */
static double process_start(void)
{
    struct timespec real, boot;
    unsigned long long ticks = 0;
    size_t len;
    char *text = read_file("/proc/self/stat", &len);
    const char *p = text ? strrchr(text, ')') : NULL; /* the name may hold anything */
    /* starttime is field 22; the one after the name is the third */
    int n = p ? sscanf(p + 1, " %*c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s "
                              "%*s %*s %*s %llu", &ticks) : 0;
    free(text);
    clock_gettime(CLOCK_REALTIME, &real);
    clock_gettime(CLOCK_BOOTTIME, &boot);
    if (n != 1)
        return 0;
    double up = (double)boot.tv_sec + (double)boot.tv_nsec * 1e-9;
    double now = (double)real.tv_sec + (double)real.tv_nsec * 1e-9;
    return now - up + (double)ticks / (double)sysconf(_SC_CLK_TCK);
}

/* True if this process may have made the folder: ours, without a socket yet, and not
 * older than the process, but for the steps of the clocks. */
static bool may_be_ours(const char *path, double start)
{
    char socket[sizeof FOLDER_PATTERN + sizeof "/socket"];
    struct stat st, st_socket;
    snprintf(socket, sizeof socket, "%s/socket", path);
    return lstat(path, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == geteuid() &&
           (st.st_mode & 07777) == 0700 && lstat(socket, &st_socket) < 0 &&
           (double)st.st_ctim.tv_sec + (double)st.st_ctim.tv_nsec * 1e-9 > start - 0.02;
}

/* Its name goes into the environment, for the second start. */
static void hand_on_folder(void)
{
    double start = process_start();
    const char *only = NULL;
    size_t n = 0;
    glob_t g;
    if (start <= 0 || glob(FOLDER_PATTERN, GLOB_NOSORT, NULL, &g) != 0)
        return;
    for (size_t i = 0; i < g.gl_pathc; i++)
        if (may_be_ours(g.gl_pathv[i], start)) {
            only = g.gl_pathv[i];
            n++;
        }
    if (n == 1)
        (void)!setenv(FOLDER_VARIABLE, only, 1); /* else an empty folder stays */
    globfree(&g);
}

/* rmdir removes nothing but an empty folder. */
static void remove_left_folder(void)
{
    const char *folder = getenv(FOLDER_VARIABLE);
    if (folder && strlen(folder) == strlen(FOLDER_PATTERN) &&
        strncmp(folder, FOLDER_PATTERN, strcspn(FOLDER_PATTERN, "?")) == 0)
        (void)!rmdir(folder);
    unsetenv(FOLDER_VARIABLE);
}

/* Gives the activation's variables and descriptors to the next start. */
static int restore_activation(void)
{
    struct strings env;
    const char *pid = NULL, *fds = NULL, *names = NULL;
    int r = strings_read(&env, "/proc/self/environ");
    if (r < 0)
        return r;
    for (size_t i = 0; i < env.n; i++) {
        if (strncmp(env.item[i], "LISTEN_PID=", 11) == 0)
            pid = env.item[i] + 11;
        else if (strncmp(env.item[i], "LISTEN_FDS=", 11) == 0)
            fds = env.item[i] + 11;
        else if (strncmp(env.item[i], "LISTEN_FDNAMES=", 15) == 0)
            names = env.item[i] + 15;
    }
    if (pid && fds && strtol(pid, NULL, 10) == getpid()) {
        if (setenv("LISTEN_PID", pid, 1) < 0 || setenv("LISTEN_FDS", fds, 1) < 0 ||
            (names && setenv("LISTEN_FDNAMES", names, 1) < 0))
            r = -ENOMEM;
        for (long i = 0; i < strtol(fds, NULL, 10) && i < MAX_ACTIVATION_FDS; i++)
            fcntl(FIRST_ACTIVATION_FD + (int)i, F_SETFD, 0);
    }
    strings_fini(&env);
    return r;
}

int fe_reexec_with_nozero(struct fe_err *err)
{
    static char filter[] = "--filter=nozero";
    struct strings argv;

    int r = strings_read(&argv, "/proc/self/cmdline");
    if (r < 0)
        return fe_err_set(err, -r, "/proc/self/cmdline: %s", strerror(-r));
    if (has_nozero(&argv) || argv.n == 0) {
        remove_left_folder();
        strings_fini(&argv);
        return 0;
    }
    if (access(FLASHEMU_NOZERO_FILTER, R_OK) < 0) {
        strings_fini(&argv);
        return fe_err_set(err, ENOENT, "%s: %s", FLASHEMU_NOZERO_FILTER, strerror(ENOENT));
    }
    memmove(argv.item + 2, argv.item + 1, argv.n * sizeof *argv.item);
    argv.item[1] = filter;
    argv.n++;
    if (has_random_socket(&argv))
        hand_on_folder();
    r = restore_activation();
    if (r == 0) {
        fflush(NULL);
        execv("/proc/self/exe", argv.item);
        r = -errno;
    }
    unsetenv(FOLDER_VARIABLE);
    unsetenv("LISTEN_PID");
    unsetenv("LISTEN_FDS");
    unsetenv("LISTEN_FDNAMES");
    strings_fini(&argv);
    return fe_err_set(err, -r, "cannot start again with --filter=nozero (it can be given): %s",
                      strerror(-r));
}
