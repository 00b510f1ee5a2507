/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The calendar of a guest's time (linux/um_timetravel.h): the guest asks when it may go on, and the
 * calendar says what time it is then.
 *
 *     the guest                          the calendar
 *     START, GET, GET_TOD                the time, and the date
 *     UPDATE T                           it is T; before the guest kicks the device
 *     REQUEST T, WAIT                    later: FREE_UNTIL F, RUN T: it is T, and until F nobody asks
 *     BROADCAST N                        a number, which is heard at once
 *
 * Every message is acknowledged, and who waits for an acknowledgement answers what comes meanwhile.
 * So both sides know what the other has seen when time goes on.
 *
 * The guest's clock begins at 0 with its connection.  Device time is `base_ns` more.
 */
#pragma once

#include "flashemu/err.h"

#include <stdbool.h>
#include <stdint.h>

#define FE_CALENDAR_NEVER UINT64_MAX

struct fe_calendar {
    int fd;           /* -1: nobody lives in this time */
    uint64_t base_ns; /* the device's time at the guest's time 0 */
    uint64_t date_ns; /* the date then, since 1970 */
    uint64_t now_ns;  /* the guest's, as are the next two */
    uint64_t want_ns; /* when it wants to run next; FE_CALENDAR_NEVER: it needs to be called */
    uint64_t free_until_ns; /* it runs until then without asking */
    bool waiting;     /* it stands still until it is called, or runs */
    uint32_t seq;
    int (*hear)(void *ctx, uint64_t number, struct fe_err *err); /* of BROADCAST */
    void *ctx;
};

/* All functions return 0, or a negative errno with message: then the guest has to go. */

/* A guest has connected. */
void fe_calendar_open(struct fe_calendar *c, int fd, uint64_t base_ns, uint64_t date_ns);
void fe_calendar_close(struct fe_calendar *c);

/* Reads and answers one message. */
int fe_calendar_serve(struct fe_calendar *c, struct fe_err *err);

/* The waiting guest runs from the time on that it wants, and until `due_ns` of its own time, when the
 * device has an answer, it need not ask. */
int fe_calendar_run(struct fe_calendar *c, uint64_t due_ns, struct fe_err *err);

/* The running guest must not pass due_ns without asking, because the device will have an answer. */
int fe_calendar_limit(struct fe_calendar *c, uint64_t due_ns, struct fe_err *err);

/* It is now_ns of the guest's time, at which it will be called while it waits. */
void fe_calendar_pass(struct fe_calendar *c, uint64_t now_ns);
