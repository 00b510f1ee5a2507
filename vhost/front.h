/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The loop of one thread: who connects, what guests ask for, and when they get their answers.
 */
#pragma once

#include "flashemu/profile.h"
#include "listener.h"
#include "user.h"

struct fe_front {
    struct fe_blk blk;
    struct fe_user user;
    struct fe_calendar calendar;
    struct fe_listener device, time; /* where guests connect; `time` is closed without a calendar */
    uint64_t date_ns;                /* at the device's time 0, since 1970 */
    const char *commands;            /* the folder of the guest's commands (vhost/spoken.h), or NULL */
};

/* Serves one guest after another until the program shall end: 0.  A negative errno, with message, if
 * the host fails. */
int fe_front_serve(struct fe_front *f, struct fe_err *err);
