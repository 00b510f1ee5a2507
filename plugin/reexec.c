/* SPDX-License-Identifier: BSD-3-Clause
 *
 *     nbdkit [-r ...] flashemu KEY=VALUE...                       first start
 *     nbdkit --filter=nozero [-r ...] flashemu KEY=VALUE...       second start
 *
 * The command line decides whether this is the second start, because it is all that both starts
 * see.  It is read from /proc, as nbdkit does not show it to plugins.
 *
 * Under socket activation (systemd, libnbd) nbdkit has already removed LISTEN_PID and LISTEN_FDS
 * from its environment and has marked the sockets close-on-exec.  Both must be undone for the
 * second start.  The kernel's copy of the environment in /proc/self/environ still has the
 * variables, and they stay valid because the process id does not change.
 */
#include "reexec.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FIRST_ACTIVATION_FD 3
#define MAX_ACTIVATION_FDS 16 /* what nbdkit takes */

/* The variables of socket activation, in this order. */
enum { PID, FDS, NAMES, N_VARIABLES };
static const char *const variables[N_VARIABLES] = {"LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"};

/* The NUL-separated strings of a file in /proc. */
struct strings {
    char **item;
    size_t n;
};

static void strings_fini(struct strings *s)
{
    for (size_t i = 0; i < s->n; i++)
        free(s->item[i]);
    free(s->item);
}

/* Adds the file's next string; 0 at its end. */
static int strings_read_one(struct strings *s, FILE *f)
{
    char **item = reallocarray(s->item, s->n + 1, sizeof *item);
    size_t size = 0;

    if (!item)
        return -ENOMEM;
    s->item = item;
    item[s->n] = NULL;
    if (getdelim(&item[s->n], &size, '\0', f) >= 0) {
        s->n++;
        return 1;
    }
    free(item[s->n]);
    return feof(f) ? 0 : -errno;
}

static int strings_read(struct strings *s, const char *path)
{
    FILE *f = fopen(path, "re");
    int r = f ? 1 : -errno;

    *s = (struct strings){0};
    while (r > 0)
        r = strings_read_one(s, f);
    if (f)
        fclose(f);
    if (r < 0)
        strings_fini(s);
    return r;
}

static bool has_nozero(const struct strings *argv)
{
    for (size_t i = 1; i < argv->n; i++)
        if (strcmp(argv->item[i], "--filter=nozero") == 0 ||
            (strcmp(argv->item[i - 1], "--filter") == 0 && strcmp(argv->item[i], "nozero") == 0))
            return true;
    return false;
}

/* -r, also among other letters as in -fr, and --readonly or --read-only, which may be cut short. */
static bool is_r(const char *arg)
{
    size_t len = strlen(arg);
    if (strncmp(arg, "--", 2) == 0)
        return len > 3 && (strncmp("--readonly", arg, len) == 0 ||
                           strncmp("--read-only", arg, len) == 0);
    for (size_t i = 1; arg[0] == '-' && i < len && !strchr("DegiPptuU", arg[i]); i++)
        if (arg[i] == 'r')
            return true;
    return false; /* the letters above take the rest of the argument */
}

bool fe_reexec_is_read_only(void)
{
    struct strings argv;
    bool found = false;
    if (strings_read(&argv, "/proc/self/cmdline") < 0)
        return false;
    for (size_t i = 1; i < argv.n; i++)
        found = found || is_r(argv.item[i]);
    strings_fini(&argv);
    return found;
}

/* Gives the activation's variables and descriptors to the next start. */
static int restore_activation(void)
{
    struct strings env;
    const char *value[N_VARIABLES] = {NULL};
    int r = strings_read(&env, "/proc/self/environ");
    if (r < 0)
        return r;
    for (size_t i = 0; i < env.n; i++)
        for (int v = 0; v < N_VARIABLES; v++) {
            size_t len = strlen(variables[v]);
            if (strncmp(env.item[i], variables[v], len) == 0 && env.item[i][len] == '=')
                value[v] = env.item[i] + len + 1;
        }
    if (value[PID] && value[FDS] && strtol(value[PID], NULL, 10) == getpid()) {
        for (int v = 0; v < N_VARIABLES; v++)
            if (value[v] && setenv(variables[v], value[v], 1) < 0)
                r = -ENOMEM;
        for (long i = 0; i < strtol(value[FDS], NULL, 10) && i < MAX_ACTIVATION_FDS; i++)
            fcntl(FIRST_ACTIVATION_FD + (int)i, F_SETFD, 0);
    }
    strings_fini(&env);
    return r;
}

/* Executes this process's program again, with the filter.  The program's path comes first,
 * because the kernel names a process after the file that it executes, and people look for
 * "nbdkit" and not for "exe".  Returns the reason if that failed. */
static int execute(const struct strings *argv)
{
    static char filter[] = "--filter=nozero";
    char path[PATH_MAX];
    char **again = calloc(argv->n + 2, sizeof *again);
    if (!again)
        return -ENOMEM;
    again[0] = argv->item[0];
    again[1] = filter;
    memcpy(again + 2, argv->item + 1, (argv->n - 1) * sizeof *again);
    fflush(NULL);
    ssize_t len = readlink("/proc/self/exe", path, sizeof path - 1);
    if (len > 0) {
        path[len] = '\0';
        execv(path, again);
    }
    execv("/proc/self/exe", again); /* another file may have its path by now */
    int r = -errno;
    free(again);
    return r;
}

int fe_reexec_with_nozero(struct fe_err *err)
{
    struct strings argv;

    int r = strings_read(&argv, "/proc/self/cmdline");
    if (r < 0)
        return fe_err_set(err, -r, "/proc/self/cmdline: %s", strerror(-r));
    if (argv.n == 0 || has_nozero(&argv)) {
        strings_fini(&argv);
        return 0;
    }
    if (access(FLASHEMU_NOZERO_FILTER, R_OK) < 0) {
        strings_fini(&argv);
        return fe_err_set(err, ENOENT, "%s: %s", FLASHEMU_NOZERO_FILTER, strerror(ENOENT));
    }
    r = restore_activation();
    if (r == 0)
        r = execute(&argv);
    for (int v = 0; v < N_VARIABLES; v++)
        unsetenv(variables[v]);
    strings_fini(&argv);
    return fe_err_set(err, -r, "cannot start again with --filter=nozero (it can be given): %s",
                      strerror(-r));
}
