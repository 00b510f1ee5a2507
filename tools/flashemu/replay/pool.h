/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Jobs in processes of their own, several at a time, whose results come in the order of the jobs.
 *
 * Thread rule: commands have one thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* What a job has left.  The texts end with a NUL. */
struct pool_result {
    int code;     /* its exit code; 128 + the number of the signal that ended it */
    char *output; /* of its standard output */
    char *errors; /* of its standard error */
    char *data;   /* what it wrote to the file that `run` was given */
    size_t n_output, n_errors, n_data;
};

struct pool_jobs {
    uint32_t n;         /* jobs */
    uint32_t n_abreast; /* how many run simultaneously; > 0 */

    /* In this process, in front of job i: the job will have what was made here.  May be NULL. */
    void (*prepare)(void *ctx, uint32_t i);
    /* Job i, in a process of its own.  Returns its exit code.  `data` is closed by the caller. */
    int (*run)(void *ctx, uint32_t i, FILE *data);
    /* In this process, in the order of the jobs.  *result is valid during the call only.  Returns
     * whether to go on; otherwise the jobs that run are ended. */
    bool (*done)(void *ctx, uint32_t i, const struct pool_result *result);
    void *ctx;
};

/* How many processors this process may use. */
uint32_t pool_processors(void);

/* Returns an exit code: TOOL_OK if all jobs were run or `done` has ended them, whatever their codes
 * are; otherwise TOOL_USAGE after a message.  No process is left, also if this one is killed. */
int pool_run(const struct pool_jobs *jobs);
