/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Experiments of `verify` that need a kernel: one that lives in the time of the device, a virtual
 * machine, or this machine's own with an nbd module or a loop device.
 */
#pragma once

#include "verify/verify.h"

enum verify_way {
    VERIFY_WAY_NONE, VERIFY_WAY_TIMED, VERIFY_WAY_VM, VERIFY_WAY_NBD, VERIFY_WAY_LOOP
};

struct verify_kernel {
    enum verify_way way;
    char why[200];       /* VERIFY_WAY_NONE: what is missing */
    char scripts[512];   /* the folder with serve, on-host and story.sh */
    uint64_t dilate;     /* 0: virtual clock, figures of the device's statistics; otherwise R */
    const char *profile; /* its name, as the user wrote it */
    const char *const *overrides;
    uint32_t n_overrides;
    bool progress, verbose;
};

/* What wish may be, with blanks between the words. */
#define VERIFY_KERNELS "auto timed vm host none"

/* Finds the scripts, and finds out what this machine can do; k->dilate says what it must.  The result is
 * false if the wish is none of the words. */
bool verify_kernel_init(struct verify_kernel *k, const char *wish);

/* Runs the experiment as a step of story.sh, which gives the rows their figures.  Returns 0,
 * -ECANCELED, or another negative errno; with message.  Leaves nothing behind that it started. */
int verify_kernel_run(const struct verify_kernel *k, struct verify_run *run, struct fe_err *err);

/* Takes the figure and the details from a line of story.sh, "PROCEDURE figure=NUMBER
 * KEY=NUMBER...", and cuts the line into words.  Returns whether there was a figure. */
bool verify_take_line(struct verify_run *run, char *line);
