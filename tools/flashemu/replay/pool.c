/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Each job is a fork of this process, so it starts with everything that was made before, and what
 * it changes is its own.  It writes to three files in memory, which this process reads when the job
 * has ended: a pipe would have to be read meanwhile.
 *
 *     jobs     0  1  2  3  4  5 ...
 *              |  |  |  |  +- not started yet
 *              |  |  +--+---- running
 *              |  +---------- ended before job 0, kept until job 0 has been handed over
 *              +------------- running: the next one to be handed over
 *
 * A job ends with this process, even after kill -9: the kernel sends it a signal then.
 */
#include "replay/pool.h"

#include "tool.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { OUTPUT, ERRORS, DATA, N_FILES };

struct job {
    pid_t pid; /* 0 = not started, or ended */
    int code;
    int fd[N_FILES]; /* open from the start of the job until it has been handed over */
};

struct pool {
    const struct pool_jobs *jobs;
    struct job *job;
    uint32_t n_started, n_running, n_done;
};

uint32_t pool_processors(void)
{
    cpu_set_t set;
    int n = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 0;

    return n > 0 ? (uint32_t)n : 1;
}

static void close_files(struct job *job)
{
    for (int i = 0; i < N_FILES; i++) {
        if (job->fd[i] >= 0)
            close(job->fd[i]);
        job->fd[i] = -1;
    }
}

/* What the new process does. */
static void run_job(const struct pool *p, uint32_t i, pid_t parent)
{
    const struct job *job = &p->job[i];

    int r = prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(TOOL_USAGE); /* the tool has been killed, and nobody waits for a message */
    if (r < 0 || dup2(job->fd[ERRORS], STDERR_FILENO) < 0 ||
        dup2(job->fd[OUTPUT], STDOUT_FILENO) < 0)
        _exit(tool_error("a process for a run: %s", strerror(errno)));
    FILE *data = fdopen(job->fd[DATA], "w");
    int code = data ? p->jobs->run(p->jobs->ctx, i, data) : tool_error("out of memory");
    if (fflush(stdout) != 0 || (data && fclose(data) != 0))
        code = tool_error("a result: %s", strerror(errno));
    _exit(code);
}

static int start_job(struct pool *p)
{
    uint32_t i = p->n_started;
    struct job *job = &p->job[i];
    pid_t self = getpid();

    if (p->jobs->prepare)
        p->jobs->prepare(p->jobs->ctx, i);
    for (int f = 0; f < N_FILES; f++) {
        job->fd[f] = memfd_create("flashemu-result", MFD_CLOEXEC);
        if (job->fd[f] < 0)
            return tool_error("a file in memory for a result: %s", strerror(errno));
    }
    pid_t pid = fflush(stdout) == 0 ? fork() : -1;
    if (pid == 0)
        run_job(p, i, self);
    if (pid < 0)
        return tool_error("a process for a run: %s", strerror(errno));
    job->pid = pid;
    p->n_started++;
    p->n_running++;
    return TOOL_OK;
}

/* Waits until some job has ended. */
static int wait_for_job(struct pool *p)
{
    int status;
    pid_t pid;

    while ((pid = waitpid(-1, &status, 0)) < 0)
        if (errno != EINTR)
            return tool_error("waiting for a run: %s", strerror(errno));
    for (uint32_t i = p->n_done; i < p->n_started; i++) {
        if (p->job[i].pid != pid)
            continue;
        p->job[i].pid = 0;
        p->job[i].code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
        p->n_running--;
    }
    return TOOL_OK;
}

/* The content of a file with a NUL behind it; NULL without memory or after an error. */
static char *read_all(int fd, size_t *ret_size)
{
    struct stat st;
    char *text = fstat(fd, &st) == 0 ? malloc((size_t)st.st_size + 1) : NULL;
    size_t have = 0;

    while (text && have < (size_t)st.st_size) {
        ssize_t n = pread(fd, text + have, (size_t)st.st_size - have, (off_t)have);
        if (n <= 0) {
            free(text);
            return NULL;
        }
        have += (size_t)n;
    }
    if (text)
        text[have] = '\0';
    *ret_size = have;
    return text;
}

static int hand_over(struct pool *p, bool *ret_goes_on)
{
    struct job *job = &p->job[p->n_done];
    struct pool_result result = {.code = job->code};
    int code = TOOL_OK;

    result.output = read_all(job->fd[OUTPUT], &result.n_output);
    result.errors = read_all(job->fd[ERRORS], &result.n_errors);
    result.data = read_all(job->fd[DATA], &result.n_data);
    close_files(job);
    if (result.output && result.errors && result.data)
        *ret_goes_on = p->jobs->done(p->jobs->ctx, p->n_done, &result);
    else
        code = tool_error("the result of a run: %s", strerror(errno));
    free(result.output);
    free(result.errors);
    free(result.data);
    p->n_done++;
    return code;
}

static void end_all(struct pool *p)
{
    for (uint32_t i = p->n_done; i < p->n_started; i++)
        if (p->job[i].pid > 0)
            kill(p->job[i].pid, SIGKILL);
    while (p->n_running > 0 && wait_for_job(p) == TOOL_OK)
        ;
    for (uint32_t i = p->n_done; i < p->jobs->n; i++)
        close_files(&p->job[i]);
}

int pool_run(const struct pool_jobs *jobs)
{
    struct pool p = {.jobs = jobs, .job = calloc(jobs->n, sizeof *p.job)};
    bool goes_on = true;
    int code = TOOL_OK;

    if (!p.job)
        return tool_error("out of memory");
    for (uint32_t i = 0; i < jobs->n; i++)
        for (int f = 0; f < N_FILES; f++)
            p.job[i].fd[f] = -1;
    while (code == TOOL_OK && goes_on && p.n_done < jobs->n) {
        if (p.n_done < p.n_started && p.job[p.n_done].pid == 0)
            code = hand_over(&p, &goes_on);
        else if (p.n_started < jobs->n && p.n_running < jobs->n_abreast)
            code = start_job(&p);
        else
            code = wait_for_job(&p);
    }
    end_all(&p);
    free(p.job);
    return code;
}
