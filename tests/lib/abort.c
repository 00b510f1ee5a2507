/* SPDX-License-Identifier: BSD-3-Clause */
#include "lib/abort.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

bool ft_aborts(void (*fn)(void *ctx), void *ctx)
{
    fflush(NULL);
    pid_t pid = fork();
    if (pid < 0) {
        perror("fork");
        exit(1);
    }
    if (pid == 0) {
        int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
        if (null >= 0)
            dup2(null, STDERR_FILENO);
        setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
        signal(SIGABRT, SIG_DFL);
        fn(ctx);
        _exit(0);
    }
    int status = 0;
    if (waitpid(pid, &status, 0) != pid) {
        perror("waitpid");
        exit(1);
    }
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
}
