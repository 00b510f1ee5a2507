/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Experiments that need a kernel.  Each of them is a step of tools/vm/story.sh.  The step runs in a
 * small virtual machine or, if this machine cannot have one, on this host with its own nbd client
 * or a loop device.
 *
 *     flashemu verify --> serve --> nbdkit with the plugin
 *                           '-----> run --> qemu: story.sh STEP  --,
 *             <------- "PROCEDURE figure=NUMBER KEY=NUMBER..." <---'
 *
 * Instead of qemu it may be User Mode Linux that runs the kernel.  The environment has the choice.  If
 * the kernel that lives in the time of the device has been built (tools/vm/timed), `serve` runs the step
 * there, with the kernel's timers at their real values.
 *
 * The clock is virtual, and the figures come from the device's statistics.  So the time that the
 * machine itself needs does not count, and nothing waits.  The server has only one thread, so
 * that requests stay in the kernel's order.
 *
 * With a dilation R the device waits R times as long as it would, and the figures are the times
 * that the guest measures, divided by R.  This way does not rely on the statistics.
 *
 * The scripts form a process group of their own.  If this program gets a signal, the whole group
 * gets SIGTERM, and the scripts' traps unmount, detach and remove whatever there is.
 */
#include "verify/kernel.h"

#include "base/num.h"
#include "rt/clock.h"
#include "scripts.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { KERNEL_TIMEOUT_S = 3600, STOP_TIMEOUT_S = 30, MAX_WORDS = 64 };

/* --- a child and its lines --- */

struct child {
    pid_t pid;
    int fd;
    char line[1024];
    size_t len;    /* of what has come of the line */
    bool complete; /* the line has been returned: the next call begins a new one */
};

/* Starts a program as the leader of a new process group.  Its standard output and standard error
 * can be read from c->fd. */
static int child_start(struct child *c, char *const argv[], struct fe_err *err)
{
    int fds[2], nothing;

    memset(c, 0, sizeof *c);
    if (pipe2(fds, O_CLOEXEC) < 0)
        return fe_err_set(err, errno, "pipe: %s", strerror(errno));
    c->pid = fork();
    if (c->pid == 0) {
        setpgid(0, 0);
        prctl(PR_SET_PDEATHSIG, SIGTERM);
        nothing = open("/dev/null", O_RDONLY);
        if (nothing < 0 || dup2(nothing, 0) < 0 || dup2(fds[1], 1) < 0 || dup2(fds[1], 2) < 0)
            _exit(127);
        execvp(argv[0], argv);
        dprintf(2, "%s: %s\n", argv[0], strerror(errno));
        _exit(127);
    }
    int why = errno;
    close(fds[1]);
    c->fd = fds[0];
    if (c->pid < 0) {
        close(fds[0]);
        return fe_err_set(err, why, "fork: %s", strerror(why));
    }
    setpgid(c->pid, c->pid); /* parent and child both do this: one of them comes first */
    return 0;
}

/* Reads a line.  1: it is in c->line; 0: nothing has come for that long; -1: there are no more
 * lines.  A half line is kept for the next call.  A line that is too long is returned in pieces, so
 * that the caller can look for a signal even if the child never ends its line. */
static int child_line(struct child *c, int timeout_ms)
{
    struct pollfd p = {.fd = c->fd, .events = POLLIN};

    if (c->complete)
        c->len = 0;
    c->complete = false;
    while (c->len < sizeof c->line - 1) {
        char ch;
        if (poll(&p, 1, timeout_ms) <= 0)
            return 0; /* also after a signal, of which the caller finds out */
        ssize_t got = read(c->fd, &ch, 1);
        if (got < 0 && errno == EINTR)
            return 0;
        if (got <= 0 && c->len == 0)
            return -1;
        if (got <= 0 || ch == '\n')
            break;
        c->line[c->len++] = ch;
    }
    c->line[c->len] = '\0';
    c->complete = true;
    return 1;
}

/* Waits for the end of the child.  Returns its exit code, or 128 + signal. */
static int child_wait(struct child *c)
{
    int status = 0;

    while (waitpid(c->pid, &status, 0) < 0 && errno == EINTR)
        ;
    close(c->fd);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static uint64_t seconds_now(void)
{
    return fe_clock_now_ns() / FE_NS_PER_S;
}

/* Lets the scripts clean up, and kills them if they take too long. */
static void child_stop(struct child *c)
{
    uint64_t until = seconds_now() + STOP_TIMEOUT_S;

    kill(-c->pid, SIGTERM);
    while (seconds_now() < until)
        if (child_line(c, 200) < 0)
            return;
    kill(-c->pid, SIGKILL);
}

/* --- what this machine has --- */

static bool can(const struct verify_kernel *k, const char *script, const char *what, char *why,
                size_t size)
{
    char path[600];
    char *argv[] = {path, (char *)"--check", NULL};
    struct child c;

    snprintf(path, sizeof path, "%s/%s", k->scripts, script);
    snprintf(why, size, "%s", what);
    if (child_start(&c, argv, NULL) < 0)
        return false;
    for (int r; (r = child_line(&c, 1000)) >= 0;) {
        if (r > 0)
            snprintf(why, size, "%s: %.120s", what, c.line);
        if (verify_stopped()) {
            child_stop(&c);
            break;
        }
    }
    return child_wait(&c) == 0;
}

static bool vm_can(const struct verify_kernel *k, char *why, size_t size)
{
    return can(k, "prepare", "no virtual machine", why, size);
}

/* Its programs are those of the virtual machine. */
static bool timed_can(const struct verify_kernel *k, char *why, size_t size)
{
    if (!k->dilate)
        return can(k, "timed/kernel", "no kernel in the device's time", why, size) &&
               vm_can(k, why, size);
    snprintf(why, size, "--dilate: a kernel in the device's time has no other");
    return false;
}

/* Which engine the environment wants; auto leaves the choice. */
static const char *wanted_engine(void)
{
    const char *engine = getenv("FLASHEMU_VM_ENGINE");
    return engine && engine[0] ? engine : "auto";
}

static enum verify_way host_can(char *why, size_t size)
{
    if (geteuid() != 0)
        snprintf(why, size, "not root, which it takes to attach and mount on this host");
    else if (access("/sys/module/nbd", F_OK) == 0 && scripts_in_path("nbd-client"))
        return VERIFY_WAY_NBD;
    else if (scripts_in_path("nbdfuse") && scripts_in_path("losetup") && access("/dev/loop-control", F_OK) == 0)
        return VERIFY_WAY_LOOP;
    else
        snprintf(why, size, "neither nbd (module and nbd-client) nor nbdfuse and losetup here");
    return VERIFY_WAY_NONE;
}

static enum verify_way choose(struct verify_kernel *k, const char *wish)
{
    bool timed_is_wanted = strcmp(wish, "auto") == 0 && strcmp(wanted_engine(), "timed") == 0;
    bool automatic = strcmp(wish, "auto") == 0 && !timed_is_wanted;
    char timed[160] = "", vm[160] = "", host[100] = "";
    enum verify_way way = VERIFY_WAY_NONE;

    if (strcmp(wish, "timed") == 0 || timed_is_wanted ||
        (automatic && strcmp(wanted_engine(), "auto") == 0))
        way = timed_can(k, timed, sizeof timed) ? VERIFY_WAY_TIMED : VERIFY_WAY_NONE;
    if (way == VERIFY_WAY_NONE && (automatic || strcmp(wish, "vm") == 0))
        way = vm_can(k, vm, sizeof vm) ? VERIFY_WAY_VM : VERIFY_WAY_NONE;
    if (way == VERIFY_WAY_NONE && (automatic || strcmp(wish, "host") == 0))
        way = host_can(host, sizeof host);
    const char *first = automatic || vm[0] ? vm : timed;
    snprintf(k->why, sizeof k->why, "%.120s%s%.70s", first, first[0] && host[0] ? "; " : "", host);
    return way;
}

bool verify_kernel_init(struct verify_kernel *k, const char *wish)
{
    const char *plugin = NULL;

    k->way = VERIFY_WAY_NONE;
    if (strcmp(wish, "none") == 0) {
        snprintf(k->why, sizeof k->why, "--kernel none");
        return true;
    }
    if (strcmp(wish, "auto") != 0 && strcmp(wish, "timed") != 0 && strcmp(wish, "vm") != 0 &&
        strcmp(wish, "host") != 0)
        return false;
    if (!scripts_find(k->scripts, sizeof k->scripts, &plugin)) {
        snprintf(k->why, sizeof k->why, "no scripts in %.120s ($FLASHEMU_SCRIPTS)", k->scripts);
    } else if (!plugin) {
        snprintf(k->why, sizeof k->why, "%s", strerror(ENOMEM));
    } else if (access(plugin, R_OK) != 0) {
        snprintf(k->why, sizeof k->why, "no plugin %.120s ($FLASHEMU_PLUGIN)", plugin);
    } else if (!scripts_in_path("nbdkit")) {
        snprintf(k->why, sizeof k->why, "no nbdkit");
    } else {
        k->way = choose(k, wish);
    }
    return true;
}

/* --- a step --- */

struct words {
    char *argv[MAX_WORDS + 1];
    int n;
    bool nomem;
};

__attribute__((format(printf, 2, 3))) static void add_word(struct words *w, const char *fmt, ...)
{
    va_list ap;

    if (w->n == MAX_WORDS)
        w->nomem = true;
    if (w->nomem)
        return;
    va_start(ap, fmt);
    w->nomem = vasprintf(&w->argv[w->n], fmt, ap) < 0;
    va_end(ap);
    w->argv[w->nomem ? w->n : ++w->n] = NULL;
}

/* The files that story.sh needs in its folder. */
static const char *const job_files[] = {"hdtune.fio", "atto.fio", NULL};

static void make_words(struct words *w, const struct verify_kernel *k, const struct verify_run *run)
{
    bool vm = k->way == VERIFY_WAY_VM || k->way == VERIFY_WAY_TIMED;

    if (k->way == VERIFY_WAY_TIMED || (vm && strcmp(wanted_engine(), "timed") == 0)) {
        add_word(w, "env");
        add_word(w, "FLASHEMU_VM_ENGINE=%s", k->way == VERIFY_WAY_TIMED ? "timed" : "auto");
    }
    if (!vm) {
        add_word(w, "env");
        add_word(w, "FLASHEMU_THREADS=%s", k->dilate ? "16" : "1");
        add_word(w, "DILATE=%" PRIu64, k->dilate);
    }
    add_word(w, "%s/%s", k->scripts, vm ? "serve" : "on-host");
    if (vm) {
        add_word(w, "--threads");
        add_word(w, k->dilate ? "16" : "1");
        add_word(w, "--timeout");
        add_word(w, "%d", KERNEL_TIMEOUT_S);
        add_word(w, "--env");
        add_word(w, "DILATE=%" PRIu64, k->dilate);
        if (strstr(run->procedure->experiment, "exfat")) { /* not every kernel has it */
            add_word(w, "--needs");
            add_word(w, "exfat");
        }
        for (int i = 0; job_files[i]; i++) {
            add_word(w, "--file");
            add_word(w, "%s/%s:/vm/script/%s", k->scripts, job_files[i], job_files[i]);
        }
        add_word(w, "--");
    } else {
        add_word(w, k->way == VERIFY_WAY_NBD ? "nbd" : "loop");
    }
    add_word(w, "profile=%s", k->profile);
    if (k->dilate)
        add_word(w, "time-scale=%" PRIu64, k->dilate);
    else
        add_word(w, "clock=virtual");
    add_word(w, "seed=%" PRIu64, run->seed);
    for (uint32_t i = 0; i < k->n_overrides; i++)
        add_word(w, "%s", k->overrides[i]);
    if (run->procedure->override)
        add_word(w, "%s", run->procedure->override);
    add_word(w, "--");
    add_word(w, "%s/story.sh", k->scripts);
    add_word(w, "%s", run->procedure->experiment);
}

bool verify_take_line(struct verify_run *run, char *line)
{
    char *save = NULL, name[64];
    bool taken = false;

    snprintf(name, sizeof name, "%.*s", (int)strcspn(line, " "), line);
    if (!fe_procedure_find(name))
        return false;
    strtok_r(line, " ", &save);
    for (char *word; (word = strtok_r(NULL, " ", &save)) != NULL;) {
        char *eq = strchr(word, '='), *end, key[80];
        if (!eq)
            continue;
        *eq = '\0';
        errno = 0;
        double value = strtod(eq + 1, &end);
        if (end == eq + 1 || *end != '\0' || errno != 0 || !(value >= 0 && value < 1e18))
            continue;
        if (strcmp(word, "figure") == 0) {
            verify_put(run, name, (uint64_t)(value + 0.5));
            taken = true;
        } else {
            snprintf(key, sizeof key, "%s.%s", name, word);
            verify_detail(run, key, value);
        }
    }
    return taken;
}

/* Reads all lines.  The last line that was not a figure is in `last`: it may be a message. */
static void read_figures(struct child *c, const struct verify_kernel *k, struct verify_run *run,
                         char *last, size_t size)
{
    uint64_t started = seconds_now();

    for (;;) {
        int r = child_line(c, 500);
        if (verify_stopped()) {
            child_stop(c);
            return;
        }
        if (r < 0)
            return;
        if (r > 0 && k->verbose)
            fprintf(stderr, "%s\n", c->line);
        if (r > 0 && strncmp(c->line, "kernel ", 7) == 0) {
            for (size_t i = 0; i < run->n_rows; i++)
                snprintf(run->rows[i]->kernel, sizeof run->rows[i]->kernel, "%.63s", c->line + 7);
        } else if (r > 0 && !verify_take_line(run, c->line) && c->line[0]) {
            snprintf(last, size, "%.140s", c->line);
        }
        if (k->progress)
            fprintf(stderr, "\r%s: %s, %" PRIu64 " s\033[K", run->profile->name,
                    run->procedure->experiment, seconds_now() - started);
    }
}

int verify_kernel_run(const struct verify_kernel *k, struct verify_run *run, struct fe_err *err)
{
    struct words words = {0};
    char last[150] = "no message";
    struct child c;

    make_words(&words, k, run);
    int r = words.nomem ? fe_err_set(err, E2BIG, "too many changes of the profile for a server")
                        : child_start(&c, words.argv, err);
    for (int i = 0; i < words.n; i++)
        free(words.argv[i]);
    if (r < 0)
        return r;
    read_figures(&c, k, run, last, sizeof last);
    int code = child_wait(&c);
    if (verify_stopped())
        return fe_err_set(err, ECANCELED, "interrupted");
    return code == 0 ? 0 : fe_err_set(err, EIO, "story.sh %s: exit code %d, %s",
                                      run->procedure->experiment, code, last);
}
