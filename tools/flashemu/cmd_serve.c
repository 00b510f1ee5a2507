/* SPDX-License-Identifier: BSD-3-Clause
 *
 * serve: a device that is there until you stop it.
 *
 *     flashemu serve --- pipe ---> stick ---> nbdkit with the plugin
 *       (waits for signals)          '------> nbdfuse, a loop device, or a small machine
 *
 * The script tools/vm/stick does the work and undoes it.  It is in a session of its own, and it ends
 * when nobody holds the other end of the pipe any more.  So it makes no difference whether this
 * program ends by Ctrl-C, with its terminal, or by kill -9.  This program in turn ends with the one
 * that started it.
 *
 * Mistakes in the profile and its changes are found here, before anything is started.
 */
#include "scripts.h"
#include "tool.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static const char serve_help[] =
    "usage: flashemu serve [OPTION...] PROFILE [KEY=VALUE...]\n\n"
    "Serves the device and prints what to type; Ctrl-C ends it, and undoes all that was done.\n"
    "KEY=VALUE changes a key of the profile, or is a parameter of the server such as\n"
    "file=stick.img, which keeps the device (nbdkit flashemu --help lists them).\n\n"
    "  --mount DIR      the device as a file in this folder, by fuse: without root\n"
    "  --attach         as a block device of this machine; needs root\n"
    "  --vm             in a small virtual machine, with a shell there: without root\n"
    "  --port N         at this port of all addresses, for other machines; without these\n"
    "                   four there is a Unix socket\n"
    "  --each-client    each export name (nbd://HOST/NAME) has a device of its own\n\n"
    "It ends with the program that started it, also if that is killed.\n";

struct serve {
    const char *mount, *port;
    bool attach, vm, each;
    const char *way; /* what the script is told, */
    char *place;     /* and where; allocated */
    char scripts[512];
};

static int choose_way(struct serve *s, const char *profile)
{
    int n = (s->mount != NULL) + (s->port != NULL) + s->attach + s->vm;
    uint64_t port;

    if (n > 1)
        return tool_error("serve: --mount, --attach, --vm and --port: one of them at a time");
    if (s->each && n > 0 && !s->port)
        return tool_error("serve: --each-client is for clients elsewhere: without --mount, --attach "
                          "and --vm");
    if (s->port && !tool_number("serve: --port", s->port, 1, 65535, &port))
        return TOOL_USAGE;
    if (s->mount && s->mount[0] == '\0')
        return tool_error("serve: --mount needs a folder");
    s->way = s->mount    ? "mount"
             : s->port   ? "port"
             : s->attach ? "attach"
             : s->vm     ? "vm"
                         : "none";
    const char *name = strrchr(profile, '/') ? strrchr(profile, '/') + 1 : profile;
    size_t len = strlen(name) - (strlen(name) > 4 && strcmp(name + strlen(name) - 4, ".ini") == 0
                                 ? 4 : 0);
    int r = s->mount ? asprintf(&s->place, "%s/%.*s", s->mount, (int)len, name)
                     : asprintf(&s->place, "%s", s->port ? s->port : "");
    if (r < 0) {
        s->place = NULL;
        return tool_error("out of memory");
    }
    return TOOL_OK;
}

/* Says in one line what to type instead. */
static int need_root(int argc, char **argv)
{
    char exe[512];
    ssize_t len = readlink("/proc/self/exe", exe, sizeof exe - 1);

    if (geteuid() == 0)
        return TOOL_OK;
    exe[len > 0 ? len : 0] = '\0';
    fprintf(stderr, "flashemu: serve: --attach needs root: sudo %s serve --attach", exe);
    for (int i = 1; i < argc; i++)
        fprintf(stderr, " %s", argv[i]);
    fputc('\n', stderr);
    return TOOL_USAGE;
}

/* Whether the profile and its changes make sense.  Parameters of the server are its own business. */
static int check_profile(int argc, char **argv)
{
    const char **overrides = calloc((size_t)argc, sizeof *overrides);
    struct fe_profile profile;
    struct fe_err err = {""};
    uint32_t n = 0;

    if (!overrides)
        return tool_error("out of memory");
    int code = TOOL_OK;
    for (int i = 2; i < argc && code == TOOL_OK; i++) {
        const char *eq = strchr(argv[i], '=');
        if (!eq || eq == argv[i])
            code = tool_error("serve: %s: is not KEY=VALUE", argv[i]);
        else if (memchr(argv[i], '.', (size_t)(eq - argv[i])))
            overrides[n++] = argv[i];
    }
    if (code == TOOL_OK && fe_profile_load(&profile, argv[1], overrides, n, &err) < 0)
        code = tool_fail(&err);
    else if (code == TOOL_OK)
        fe_profile_fini(&profile);
    free(overrides);
    return code;
}

static int find_programs(struct serve *s)
{
    const char *plugin;

    if (!scripts_in_path("nbdkit"))
        return tool_error("serve: there is no nbdkit here (package nbdkit)");
    if (!scripts_find(s->scripts, sizeof s->scripts, &plugin))
        return tool_error("serve: no scripts in %.200s ($FLASHEMU_SCRIPTS)", s->scripts);
    if (!plugin)
        return tool_error("out of memory");
    if (access(plugin, R_OK) != 0)
        return tool_error("serve: no plugin %.200s ($FLASHEMU_PLUGIN)", plugin);
    return TOOL_OK;
}

/* The command line of the script; the caller frees it, but not its words. */
static char **script_words(const struct serve *s, int argc, char **argv, char *script, char *profile)
{
    char **words = calloc((size_t)argc + 5, sizeof *words);
    int n = 0;

    if (!words)
        return NULL;
    words[n++] = script;
    words[n++] = (char *)s->way;
    words[n++] = s->place;
    words[n++] = profile;
    for (int i = 2; i < argc; i++)
        words[n++] = argv[i];
    if (s->each)
        words[n++] = (char *)"exports=own";
    return words;
}

static void become_script(char **words, int lifeline)
{
    sigset_t none;

    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    if (setsid() < 0 || (lifeline == 3 ? fcntl(3, F_SETFD, 0) : dup2(lifeline, 3)) < 0)
        _exit(127);
    execv(words[0], words);
    dprintf(2, "flashemu: serve: %s: %s\n", words[0], strerror(errno));
    _exit(TOOL_USAGE);
}

/* Waits until the script has ended, and after a signal lets it end.  Returns its exit code. */
static int wait_for_script(pid_t pid, int lifeline, const sigset_t *signals)
{
    int status = 0, sig;

    while (waitpid(pid, &status, WNOHANG) == 0)
        if (sigwait(signals, &sig) == 0 && sig != SIGCHLD && lifeline >= 0) {
            close(lifeline);
            lifeline = -1;
        }
    if (lifeline >= 0)
        close(lifeline);
    return WIFEXITED(status) ? WEXITSTATUS(status) : TOOL_USAGE;
}

static int run_script(char **words)
{
    sigset_t signals;
    int fds[2];

    sigemptyset(&signals);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGHUP);
    sigaddset(&signals, SIGCHLD);
    if (sigprocmask(SIG_BLOCK, &signals, NULL) < 0 || prctl(PR_SET_PDEATHSIG, SIGTERM) < 0)
        return tool_error("serve: %s", strerror(errno));
    if (pipe2(fds, O_CLOEXEC) < 0)
        return tool_error("serve: pipe: %s", strerror(errno));
    pid_t pid = fork();
    if (pid == 0)
        become_script(words, fds[0]);
    int why = errno;
    close(fds[0]);
    if (pid < 0) {
        close(fds[1]);
        return tool_error("serve: fork: %s", strerror(why));
    }
    return wait_for_script(pid, fds[1], &signals);
}

static int serve(struct serve *s, int argc, char **argv)
{
    char *script = NULL, *profile = NULL, **words = NULL;
    int code = find_programs(s);

    if (code != TOOL_OK)
        return code;
    if (asprintf(&script, "%s/stick", s->scripts) < 0)
        script = NULL;
    if (asprintf(&profile, "profile=%s", argv[1]) < 0)
        profile = NULL;
    if (script && profile)
        words = script_words(s, argc, argv, script, profile);
    code = words ? run_script(words) : tool_error("out of memory");
    free(words);
    free(profile);
    free(script);
    return code;
}

int cmd_serve(int argc, char **argv)
{
    struct serve s = {0};
    const struct tool_option options[] = {
        {.name = "mount=FILE", .value = &s.mount}, {.name = "attach", .flag = &s.attach},
        {.name = "vm", .flag = &s.vm},             {.name = "port=N", .value = &s.port},
        {.name = "each-client", .flag = &s.each},  {0},
    };
    const struct tool_args args = {.options = options, .help = serve_help};
    int code;

    if (!tool_parse(&args, &argc, argv, &code))
        return code;
    if (argc < 2)
        return tool_error("serve: usage: flashemu serve PROFILE [KEY=VALUE...]");
    code = choose_way(&s, argv[1]);
    if (code == TOOL_OK)
        code = check_profile(argc, argv);
    if (code == TOOL_OK && s.attach)
        code = need_root(argc, argv);
    if (code == TOOL_OK)
        code = serve(&s, argc, argv);
    free(s.place);
    return code;
}
