/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The adapter between nbdkit and the server: callbacks that translate, and nothing else.
 *
 * Each error before the server serves is one line of nbdkit_error.  While the server serves, the
 * client hears of its own mistakes and of the conditions of the medium, as an errno.  The log gets
 * only the first failure of each kind, because a stick at its end of life refuses every write of a
 * run that may last for days.
 *
 * A request that does not consist of whole sectors fails with EINVAL.  `block_size` tells clients
 * what to do, but they may ignore it; a real stick has no command for such a request, either.  For
 * clients that ignore it there is nbdkit-blocksize-filter(1).
 */
#define NBDKIT_API_VERSION 2
#include <nbdkit-plugin.h>

#include "base/num.h"
#include "control.h"
#include "debug.h"
#include "nand/ops.h"
#include "params.h"
#include "reexec.h"
#include "server.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define THREAD_MODEL NBDKIT_THREAD_MODEL_PARALLEL
#define MAX_TRANSFER (32u * 1024 * 1024)

NBDKIT_DLL_PUBLIC int flashemu_debug_request;
NBDKIT_DLL_PUBLIC int flashemu_debug_nand;
NBDKIT_DLL_PUBLIC int flashemu_debug_control;

/* Set before the server serves, and constant until it ends. */
static struct fe_params params;
static struct fe_profile profile;
static bool have_profile;
static struct fe_server *server;
static struct fe_control *control;

/* A bit for each kind of failure that is in the log already. */
static atomic_uint reported;

void fe_debug(const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    nbdkit_vdebug(fmt, ap);
    va_end(ap);
}

/* What a callback returns before the server serves. */
static int answer(int r, const struct fe_err *err)
{
    if (r < 0)
        nbdkit_error("%s", err->text);
    return r < 0 ? -1 : 0;
}

static void report_notice(void)
{
    const char *notice = fe_server_take_notice(server);
    if (notice)
        nbdkit_error("note: %s", notice);
}

/* ---- start and end ---- */

static void flashemu_load(void)
{
    fe_params_init(&params);
}

static void flashemu_cleanup(void)
{
    struct fe_err err = {""};
    fe_control_destroy(control);
    control = NULL;
    if (server)
        answer(fe_server_close(server, &err), &err);
    fe_server_destroy(server);
    server = NULL;
}

/* If get_ready has failed, nbdkit calls this without calling cleanup first. */
static void flashemu_unload(void)
{
    flashemu_cleanup();
    if (have_profile)
        fe_profile_fini(&profile);
    have_profile = false;
    fe_params_fini(&params);
}

static int flashemu_config(const char *key, const char *value)
{
    struct fe_err err = {""};
    return answer(fe_params_set(&params, key, value, &err), &err);
}

static int flashemu_config_complete(void)
{
    struct fe_err err = {""};
    if (answer(fe_params_load_profile(&params, &profile, &err), &err) < 0)
        return -1;
    have_profile = true;
    if (!profile.device.discard && fe_reexec_with_nozero(&err) < 0)
        nbdkit_error("note: WRITE ZEROES will be offered, which this device has not: %s",
                     err.text);
    return 0;
}

static void debug_ops(void *ctx, const struct fe_op *ops, uint32_t n)
{
    static const char *const name[] = {
        [FE_OP_READ] = "read",       [FE_OP_PROG] = "prog", [FE_OP_ERASE] = "erase",
        [FE_OP_BARRIER] = "barrier", [FE_OP_BUSY] = "busy",
    };
    (void)ctx;
    for (uint32_t i = 0; i < n; i++)
        nbdkit_debug("nand: %s ppn %u die %u %llu..%llu ns", name[ops[i].kind], ops[i].ppn,
                     ops[i].die, (unsigned long long)ops[i].start_ns,
                     (unsigned long long)ops[i].end_ns);
}

static void no_signal(int sig)
{
    (void)sig;
}

/* If an image may not grow any more (RLIMIT_FSIZE), the write shall fail and the server shall go
 * on.  So the signal gets a handler.  It is not ignored, because a program that nbdkit starts
 * (--run) would inherit that. */
static void survive_file_limit(void)
{
    struct sigaction old, act = {.sa_handler = no_signal, .sa_flags = SA_RESTART};
    if (sigaction(SIGXFSZ, NULL, &old) == 0 && old.sa_handler == SIG_DFL)
        sigaction(SIGXFSZ, &act, NULL);
}

static int create_server(struct fe_err *err)
{
    struct fe_err why = {""};
    params.read_only = params.file && fe_reexec_is_read_only();
    if (params.file)
        survive_file_limit();
    int r = fe_server_create(&server, &params, &profile, &why);
    if (r < 0 && params.size && strncmp(why.text, "device.capacity=", 16) == 0)
        return fe_err_set(err, -r, "size=%.80s: %s", params.size, why.text); /* as the user said */
    /* Messages about an image begin with its path, or with at least so much of it. */
    bool on_file = params.file && strncmp(why.text, params.file, strnlen(params.file, 160)) == 0;
    if (r == -EINVAL && !on_file)
        return fe_profile_explain(params.profile, (const char *const *)params.overrides,
                                  params.n_overrides, why.text, err);
    if (r < 0 && params.file)
        return fe_err_set(err, -r, "%s%s%s", on_file ? "file=" : "", why.text,
                          r == -EIO ? "; flashemu fsck tells more" : "");
    return r < 0 ? fe_err_set(err, -r, "%s", why.text) : 0;
}

/* The device is created here and not later, so that errors reach the terminal. */
static int flashemu_get_ready(void)
{
    struct fe_err err = {""};
    int r = create_server(&err);
    if (r == 0 && params.control)
        r = fe_control_create(&control, server, params.control, &err);
    if (answer(r, &err) < 0)
        return -1;
    if (flashemu_debug_nand)
        fe_server_observe(server, debug_ops, NULL);
    nbdkit_debug("profile %s, waits by %s", profile.name, fe_server_delay_name(server));
    if (params.file)
        nbdkit_debug("image %s: opened in %llu us", params.file,
                     (unsigned long long)fe_server_open_ns(server) / 1000);
    char idle[256], unused[512];
    fe_params_idle(&params, idle, sizeof idle);
    if (idle[0])
        nbdkit_error("note: %s", idle);
    if (fe_profile_unused(&profile, unused, sizeof unused))
        nbdkit_error("note: %s", unused);
    const char *note = fe_server_crash_note(server);
    if (note)
        nbdkit_error("note: %s: %s", params.file, note);
    report_notice();
    return 0;
}

static int flashemu_after_fork(void)
{
    struct fe_err err = {""};
    int r = fe_server_start(server, &err);
    if (r == 0 && control)
        r = fe_control_start(control, nbdkit_shutdown, &err);
    return answer(r, &err);
}

static void flashemu_dump_plugin(void)
{
    static const struct {
        enum fe_delay_kind kind;
        const char *name;
    } kinds[] = {{FE_DELAY_IO_URING, "io_uring"}, {FE_DELAY_NANOSLEEP, "nanosleep"}};

    printf("flashemu_version=%s\n", FLASHEMU_VERSION);
    printf("flashemu_features=control image real-clock trace virtual-clock\n");
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        struct fe_delay_params p = {.kind = kinds[i].kind};
        struct fe_delay *d;
        if (fe_delay_create(&d, &p, NULL) == 0) { /* it works on this machine */
            printf("flashemu_delay=%s\n", kinds[i].name);
            fe_delay_destroy(d);
        }
    }
    for (const char *const *name = fe_profile_names; *name; name++)
        printf("flashemu_profile=%s\n", *name);
}

/* ---- what a client sees ---- */

/* A connection.  When its client vanishes, all its waiting requests end at the same time, and each
 * of them tries to answer.  nbdkit before 1.34 may abort then: the first answer fails and closes
 * the socket, and the second answer finds it closed (fixed by nbdkit's commit 9d82aa4f).  So the
 * requests leave one by one, with a pause in which nbdkit notices that the client is gone. */
struct connection {
    pthread_mutex_t leave_lock; /* held during the pause; protects n_left */
    unsigned n_left;
};

#define LEAVE_PAUSE_NS (10 * 1000 * 1000)

static void leave_one_by_one(struct connection *c)
{
    static const struct timespec pause = {.tv_nsec = LEAVE_PAUSE_NS};
    pthread_mutex_lock(&c->leave_lock);
    if (c->n_left++)
        nanosleep(&pause, NULL);
    pthread_mutex_unlock(&c->leave_lock);
}

static void *flashemu_open(int readonly)
{
    struct connection *c = calloc(1, sizeof *c);
    (void)readonly;
    if (!c) {
        nbdkit_error("out of memory: connection (%zu bytes)", sizeof *c);
        return NULL;
    }
    pthread_mutex_init(&c->leave_lock, NULL);
    return c;
}

static void flashemu_close(void *handle)
{
    struct connection *c = handle;
    pthread_mutex_destroy(&c->leave_lock);
    free(c);
}

static int64_t flashemu_get_size(void *handle)
{
    (void)handle;
    return (int64_t)fe_server_capacity(server);
}

/* nbdkit demands that the preferred size is a power of two of at least 512. */
static int flashemu_block_size(void *handle, uint32_t *minimum, uint32_t *preferred,
                               uint32_t *maximum)
{
    uint32_t page = fe_server_page_bytes(server);
    uint32_t size = 512;
    (void)handle;
    while (size < MAX_TRANSFER && (size < page || size < profile.device.sector_size))
        size *= 2;
    *minimum = profile.device.sector_size;
    *preferred = size;
    *maximum = MAX_TRANSFER;
    return 0;
}

/* Whether a flush has any effect, or a write with FUA costs more than another one. */
static int needs_flush(void)
{
    return params.file || fe_cache_offers_flush(&profile.cache);
}

static int flashemu_can_flush(void *handle)
{
    (void)handle;
    return needs_flush();
}

static int flashemu_can_fua(void *handle)
{
    (void)handle;
    return needs_flush() ? NBDKIT_FUA_NATIVE : NBDKIT_FUA_NONE;
}

/* With -r nothing may be written to an image.  nbdkit sees to that itself, unless the plugin has
 * mistaken another argument for -r. */
static int flashemu_can_write(void *handle)
{
    (void)handle;
    return !params.read_only;
}

/* Whether there is TRIM.  Zeroing is done by TRIM, because a trimmed range reads as zeros. */
static int flashemu_can_trim(void *handle)
{
    (void)handle;
    return profile.device.discard;
}

static int flashemu_is_rotational(void *handle)
{
    (void)handle;
    return profile.device.rotational;
}

/* All connections have the same device. */
static int flashemu_can_multi_conn(void *handle)
{
    (void)handle;
    return 1;
}

static int flashemu_can_extents(void *handle)
{
    (void)handle;
    return 0;
}

/* ---- requests ---- */

/* nbdkit polls for its own end and the client's: with a time of 0 it looks, and does not sleep. */
static int coarse_sleep(void *ctx, uint64_t ns)
{
    (void)ctx;
    return nbdkit_nanosleep((unsigned)(ns / FE_NS_PER_S), (unsigned)(ns % FE_NS_PER_S));
}

static int errno_of(enum fe_status status)
{
    switch (status) {
    case FE_OK:
    case FE_CORRECTED:
        return 0;
    case FE_NO_SPACE:
        return ENOSPC;
    case FE_READ_ONLY:
        return EROFS;
    case FE_GONE:
        return ESHUTDOWN; /* the only error of the protocol that means this */
    case FE_NO_POWER:
    case FE_UNCORRECTABLE:
    case FE_PROG_FAILED:
    case FE_ERASE_FAILED:
    case FE_HOST_FAILED:
        break;
    }
    return EIO;
}

static const char *const req_names[FE_N_REQ_TYPES] = {
    [FE_REQ_READ] = "read",
    [FE_REQ_WRITE] = "write",
    [FE_REQ_TRIM] = "trim",
    [FE_REQ_FLUSH] = "flush",
};

/* Tells the client about a failure, and the log if it is the first one of this kind. */
static int fail(const struct fe_request *req, int errnum, unsigned kind, const char *why)
{
    unsigned bit = 1u << kind;
    bool is_new = !(atomic_load_explicit(&reported, memory_order_relaxed) & bit) &&
                  !(atomic_fetch_or(&reported, bit) & bit);
    if (is_new)
        nbdkit_error("%s of %llu bytes at %llu: %s (the next ones are not logged)",
                     req_names[req->type], (unsigned long long)req->len,
                     (unsigned long long)req->offset, why);
    nbdkit_set_error(errnum);
    return -1;
}

static const char *status_text(enum fe_status status)
{
    switch (status) {
    case FE_UNCORRECTABLE:
        return "uncorrectable";
    case FE_NO_SPACE:
        return "no good block is left";
    case FE_READ_ONLY:
        return "end of life, read only";
    case FE_GONE:
        return "the device is disconnected";
    case FE_NO_POWER:
        return "the device has no power";
    default:
        return "the chip failed";
    }
}

/* The kinds of failure are the statuses of a request, and these. */
enum { KIND_INVALID = 16, KIND_SHUTDOWN = 17 };

/* The host's file has failed.  The message is the image's own.  The client gets the host's errno if
 * the client can make use of it, otherwise EIO. */
static int fail_host(const struct fe_request *req)
{
    int errnum = EIO;
    const char *why = fe_server_failure(server, &errnum);
    return fail(req, errnum == ENOSPC ? ENOSPC : EIO, FE_HOST_FAILED, why ? why : "unknown");
}

static int submit(struct connection *c, const struct fe_request *req)
{
    struct fe_outcome out;
    int r = fe_server_submit(server, req, coarse_sleep, NULL, &out);

    if (r == -EINVAL)
        return fail(req, EINVAL, KIND_INVALID, "not whole sectors inside the device");
    if (r < 0) {
        leave_one_by_one(c);
        return fail(req, -r, KIND_SHUTDOWN, "wait ended early");
    }
    report_notice();
    if (flashemu_debug_request)
        nbdkit_debug("request: %s offset %llu len %llu%s arrival %llu complete %llu status %d "
                     "late %llu ns",
                     req_names[req->type], (unsigned long long)req->offset,
                     (unsigned long long)req->len, req->fua ? " fua" : "",
                     (unsigned long long)out.reply.arrival_ns,
                     (unsigned long long)out.reply.complete_ns, out.reply.status,
                     (unsigned long long)out.lateness_ns);
    if (out.reply.status == FE_HOST_FAILED)
        return fail_host(req);
    int errnum = errno_of(out.reply.status);
    return errnum ? fail(req, errnum, out.reply.status, status_text(out.reply.status)) : 0;
}

static int flashemu_pread(void *handle, void *buf, uint32_t count, uint64_t offset,
                          uint32_t flags)
{
    struct fe_request req = {.type = FE_REQ_READ, .offset = offset, .len = count, .buf = buf};
    (void)flags;
    return submit(handle, &req);
}

/* Casting const away is fine, because the device does not change the buffer of a write. */
static int flashemu_pwrite(void *handle, const void *buf, uint32_t count, uint64_t offset,
                           uint32_t flags)
{
    struct fe_request req = {
        .type = FE_REQ_WRITE,
        .fua = flags & NBDKIT_FLAG_FUA,
        .offset = offset,
        .len = count,
        .buf = (void *)buf,
    };
    return submit(handle, &req);
}

static int flashemu_flush(void *handle, uint32_t flags)
{
    struct fe_request req = {.type = FE_REQ_FLUSH};
    (void)flags;
    return submit(handle, &req);
}

static int flashemu_trim(void *handle, uint32_t count, uint64_t offset, uint32_t flags)
{
    struct fe_request req = {
        .type = FE_REQ_TRIM,
        .fua = flags & NBDKIT_FLAG_FUA,
        .offset = offset,
        .len = count,
    };
    return submit(handle, &req);
}

/* A client that forbids a hole wants its space to stay allocated.  A flash device allocates nothing
 * for a range: unmapping is its way of zeroing, and it is always fast. */
static int flashemu_zero(void *handle, uint32_t count, uint64_t offset, uint32_t flags)
{
    return flashemu_trim(handle, count, offset, flags);
}

#define HELP                                                                               \
    "profile=NAME|PATH           (required) A shipped profile, or an INI file.\n"          \
    "SECTION.KEY=VALUE           Override one key of the profile.\n"                       \
    "size=SIZE                   Capacity seen by the host (default: the profile's).\n"    \
    "clock=real|virtual          Wait for each completion, or never wait (real).\n"    \
    "time-scale=R                With clock=real: wait R times as long (1).\n"             \
    "transport-overhead=TIME     Subtract this from every wait (0).\n"                     \
    "delay=auto|io_uring|nanosleep  How to wait (auto).\n"                                 \
    "spin=auto|off|TIME          Spin this long before the deadline (auto).\n"             \
    "seed=N                      All randomness (1).\n"                                    \
    "file=PATH                   Keep the medium in this image (in memory).\n"              \
    "sync=flush|none             With file: whether flushed data survive the host (flush).\n" \
    "control=SOCKET              Unix socket for `flashemu ctl` (none).\n"                  \
    "trace=FILE                  Record every request and its completion (none)."

static struct nbdkit_plugin plugin = {
    .name = "flashemu",
    .longname = "flashemu: cheap flash devices, emulated",
    .version = FLASHEMU_VERSION,
    .description = "A flash stick as a block device: erase blocks, translation layer, delays, "
                   "wear.",
    .magic_config_key = "profile",
    .config_help = HELP,
    .errno_is_preserved = 0,

    .load = flashemu_load,
    .unload = flashemu_unload,
    .config = flashemu_config,
    .config_complete = flashemu_config_complete,
    .get_ready = flashemu_get_ready,
    .after_fork = flashemu_after_fork,
    .cleanup = flashemu_cleanup,
    .dump_plugin = flashemu_dump_plugin,

    .open = flashemu_open,
    .close = flashemu_close,
    .get_size = flashemu_get_size,
    .block_size = flashemu_block_size,
    .can_write = flashemu_can_write,
    .can_flush = flashemu_can_flush,
    .can_fua = flashemu_can_fua,
    .can_trim = flashemu_can_trim,
    .can_zero = flashemu_can_trim,
    .can_fast_zero = flashemu_can_trim,
    .is_rotational = flashemu_is_rotational,
    .can_multi_conn = flashemu_can_multi_conn,
    .can_extents = flashemu_can_extents,

    .pread = flashemu_pread,
    .pwrite = flashemu_pwrite,
    .flush = flashemu_flush,
    .trim = flashemu_trim,
    .zero = flashemu_zero,
};

/* nbdkit's macro defines it without a prototype, and clang warns about that. */
NBDKIT_DLL_PUBLIC struct nbdkit_plugin *plugin_init(void);
NBDKIT_REGISTER_PLUGIN(plugin)
