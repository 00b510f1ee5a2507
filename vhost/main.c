/* SPDX-License-Identifier: BSD-3-Clause
 *
 * flashemu-vhost: the device for a virtual machine that has it as a disk of its own, and for a kernel
 * that lives in its time.
 *
 *     nbdkit plugin   one of many clients, over NBD          plugin/   --\
 *     this program    one guest, over vhost-user             vhost/    ---+-- fe_server -- device
 *
 * Why there are two.  A guest has two clocks to live by.  In real time it waits as long as the device
 * takes, and that is as slow as the device.  With a virtual clock nobody waits, but the guest's own
 * timers (write-back after 5 and 30 s, commits of a journal, sleeps of programs) count the seconds of
 * this machine and not the device's.  Here the guest's clock is the device's.  A User Mode Linux that
 * is started with time-travel=ext:SOCKET has no clock, but asks a calendar; and this program is both,
 * calendar and disk:
 *
 *     the kernel computes           no time passes
 *     it has a request              the request arrives now; the device names its completion
 *     it has nothing to do          its time moves to its next timer, or to the next completion
 *
 * Nothing sleeps, so an hour passes in as many seconds as there is work in it; and nothing depends on
 * the speed of this machine, so a second run is like the first to the nanosecond.
 *
 * For that each side must know what the other has seen before time goes on.  Kicks and calls are
 * messages on the control connection, which are acknowledged, and time goes on only while the kernel
 * waits (calendar.h, front.c).
 *
 *     main.c      what the user has said
 *     front.c     the loop
 *     calendar.c  the time of a guest
 *     user.c      the connection of a guest
 *     blk.c       its requests
 *     ring.c      where it puts them
 *     memory.c    its memory
 *     wire.c      sockets
 *     spoken.c    its commands
 */
#include "control.h"
#include "front.h"
#include "offers.h"
#include "spoken.h"

#include "base/quantity.h"
#include "wire.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DATE_DEFAULT UINT64_C(1767225600) /* the year 2026 begins */
#define DATE_MAX UINT64_C(4102444800)     /* 2100: with the device's 146 years it fits */
#define NS_PER_S UINT64_C(1000000000)

static const char usage[] =
    "usage: flashemu-vhost PROFILE socket=PATH [time=PATH] [PARAMETER=VALUE...]\n"
    "Serves an emulated flash device as a vhost-user block device.\n"
    "\n"
    "  socket=PATH   where the guest connects: QEMU's vhost-user-blk-pci, User Mode Linux's\n"
    "                virtio_uml.device=PATH:2\n"
    "  time=PATH     where a User Mode Linux gets its time: time-travel=ext:PATH\n"
    "  date=SECONDS  with time: the date of the device's time 0, since 1970 (1767225600)\n"
    "  commands=DIR  with time: where the guest has commands carried out and answered\n"
    "  queues=N      of the device, 1 to 16 (1)\n"
    "\n"
    "The other parameters are those of nbdkit-flashemu-plugin(1), except for delay, spin, extents\n"
    "and exports.\n";

/* What belongs to this program only. */
struct arguments {
    struct fe_params params;
    const char *socket, *time, *date, *commands, *queues;
    uint64_t date_s, n_queues;
    bool real_clock; /* clock=real was given */
};

static int set_once(const char **ret, const char *key, const char *value, struct fe_err *err)
{
    if (*ret)
        return fe_err_set(err, EINVAL, "%s=%.80s: given twice, allowed once", key, value);
    if (value[0] == '\0')
        return fe_err_set(err, EINVAL, "%s=: must not be empty", key);
    *ret = value;
    return 0;
}

static int set_number(const char *key, const char *text, uint64_t min, uint64_t max,
                      uint64_t *ret, struct fe_err *err)
{
    struct fe_err why = {""};
    if (!text)
        return 0;
    if (fe_quantity_parse(FE_COUNT, text, ret, &why) < 0 || *ret < min || *ret > max)
        return fe_err_set(err, EINVAL, "%s=%.80s: allowed: a whole number from %llu to %llu", key,
                          text, (unsigned long long)min, (unsigned long long)max);
    return 0;
}

static int take_argument(struct arguments *a, const char *key, const char *value,
                         struct fe_err *err)
{
    static const char *const not_here[] = {"delay", "spin", "extents", "exports"};
    const struct {
        const char *key, **value;
    } own[] = {{"socket", &a->socket}, {"time", &a->time}, {"date", &a->date},
               {"commands", &a->commands}, {"queues", &a->queues}};

    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++)
        if (strcmp(key, own[i].key) == 0)
            return set_once(own[i].value, key, value, err);
    for (size_t i = 0; i < sizeof not_here / sizeof not_here[0]; i++)
        if (strcmp(key, not_here[i]) == 0)
            return fe_err_set(err, EINVAL, "%s=%.80s: is for nbdkit's server only", key, value);
    a->real_clock = a->real_clock || (strcmp(key, "clock") == 0 && strcmp(value, "real") == 0);
    return fe_params_set(&a->params, key, value, err);
}

static int check(struct arguments *a, struct fe_err *err)
{
    a->date_s = DATE_DEFAULT;
    a->n_queues = 1;
    if (!a->socket)
        return fe_err_set(err, EINVAL, "socket=PATH is required");
    if ((a->date || a->commands) && !a->time)
        return fe_err_set(err, EINVAL, "%s=%.80s: needs time=PATH", a->date ? "date" : "commands",
                          a->date ? a->date : a->commands);
    if (a->time && a->real_clock)
        return fe_err_set(err, EINVAL, "clock=real: with time=PATH the clock is the guest's");
    if (a->time)
        a->params.virtual_clock = true;
    int r = set_number("date", a->date, 0, DATE_MAX, &a->date_s, err);
    return r < 0 ? r : set_number("queues", a->queues, 1, FE_QUEUES_MAX, &a->n_queues, err);
}

/* The first argument may be the profile's name alone. */
static int parse(struct arguments *a, int argc, char **argv, struct fe_err *err)
{
    for (int i = 1; i < argc; i++) {
        char *equals = strchr(argv[i], '=');
        const char *key = argv[i], *value = equals ? equals + 1 : argv[i];
        if (equals)
            *equals = '\0';
        else if (i == 1)
            key = "profile";
        else
            return fe_err_set(err, EINVAL, "%.80s: not PARAMETER=VALUE", argv[i]);
        int r = take_argument(a, key, value, err);
        if (equals)
            *equals = '=';
        if (r < 0)
            return r;
    }
    return check(a, err);
}

/* The guest has said a number: that there is a command for it, or a mark. */
static int hear(void *ctx, uint64_t number, struct fe_err *err)
{
    struct fe_front *f = ctx;
    char text[32];
    uint64_t now_ns, mark;

    fe_server_pass(f->blk.server, f->calendar.base_ns + f->calendar.now_ns);
    if (f->commands)
        return fe_spoken_answer(f->blk.server, f->commands, err);
    if (!f->blk.params->trace)
        return 0;
    snprintf(text, sizeof text, "%llu", (unsigned long long)number);
    return fe_server_mark(f->blk.server, text, FE_BY_GUEST, &now_ns, &mark, err);
}

static void quit(void)
{
    kill(getpid(), SIGTERM);
}

static int serve(const struct arguments *a, const struct fe_profile *profile,
                 struct fe_server *server, struct fe_control **ret_control, struct fe_err *err)
{
    struct fe_front f = {
        .blk = {.server = server, .params = &a->params, .profile = profile,
                .n_queues = (uint32_t)a->n_queues},
        .calendar = {.fd = -1, .hear = hear},
        .device = FE_LISTENER_CLOSED, .time = FE_LISTENER_CLOSED,
        .date_ns = a->date_s * NS_PER_S,
        .commands = a->commands,
    };
    f.calendar.ctx = &f;
    fe_user_init(&f.user, &f.blk, &f.calendar);
    int r = fe_listener_open(&f.device, "socket", a->socket, err);
    if (r == 0 && a->time)
        r = fe_listener_open(&f.time, "time", a->time, err);
    if (r == 0 && a->params.control)
        r = fe_control_create(ret_control, server, a->params.control, err);
    if (r == 0)
        r = fe_server_start(server, err);
    if (r == 0 && *ret_control)
        r = fe_control_start(*ret_control, quit, err);
    if (r == 0)
        r = fe_front_serve(&f, err);
    fe_control_stop(*ret_control);
    fe_listener_close(&f.time);
    fe_listener_close(&f.device);
    return r;
}

static int run(const struct arguments *a, const struct fe_profile *profile, struct fe_err *err)
{
    struct fe_server *server = NULL;
    struct fe_control *control = NULL;
    char idle[256], unused[512];

    fe_params_idle(&a->params, idle, sizeof idle);
    if (idle[0])
        fprintf(stderr, "flashemu-vhost: note: %s\n", idle);
    if (fe_profile_unused(profile, unused, sizeof unused))
        fprintf(stderr, "flashemu-vhost: note: %s\n", unused);
    int r = fe_wire_init(err);
    if (r == 0)
        r = fe_server_create(&server, &a->params, profile, err);
    if (r < 0)
        return r;
    const char *note = fe_server_image_note(server);
    if (note)
        fprintf(stderr, "flashemu-vhost: note: %s: %s\n", a->params.file, note);
    r = serve(a, profile, server, &control, err);
    int closed = fe_server_close(server, r < 0 ? NULL : err);
    fe_control_destroy(control);
    fe_server_destroy(server);
    return r < 0 ? r : closed;
}

int main(int argc, char **argv)
{
    struct arguments a = {.socket = NULL};
    struct fe_profile profile;
    struct fe_err err = {""};

    if (argc == 2 && strcmp(argv[1], "--help") == 0) {
        fputs(usage, stdout);
        return 0;
    }
    if (argc < 2) {
        fputs(usage, stderr);
        return 2;
    }
    fe_params_init(&a.params);
    int r = parse(&a, argc, argv, &err);
    if (r == 0 && (r = fe_params_load_profile(&a.params, &profile, &err)) == 0) {
        r = run(&a, &profile, &err);
        fe_profile_fini(&profile);
    }
    fe_params_fini(&a.params);
    if (r < 0)
        fprintf(stderr, "flashemu-vhost: %s\n", err.text);
    return r < 0 ? 2 : 0;
}
