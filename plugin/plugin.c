/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The adapter between nbdkit and the server: how the server starts and ends, and what a client is
 * told about the device.  Callbacks translate, and do nothing else.
 *
 * Each error before the server serves is one line of nbdkit_error.
 */
#include "adapter.h"
#include "cmdline.h"
#include "control.h"
#include "debug.h"
#include "exports.h"
#include "nand/ops.h"
#include "notes.h"
#include "offers.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#define THREAD_MODEL NBDKIT_THREAD_MODEL_PARALLEL

static bool have_profile;
static struct fe_control *control;

/* What a callback returns before the server serves. */
static int answer(int r, const struct fe_err *err)
{
    if (r < 0)
        nbdkit_error("%s", err->text);
    return r < 0 ? -1 : 0;
}

/* ---- start and end ---- */

static void flashemu_load(void)
{
    fe_notes_init();
    fe_params_init(&adapter.params);
}

static void flashemu_cleanup(void)
{
    struct fe_err err = {""};
    fe_control_stop(control);
    fe_exports_end();
    if (adapter.server)
        answer(fe_server_close(adapter.server, &err), &err);
    fe_control_destroy(control);
    control = NULL;
    fe_server_destroy(adapter.server);
    adapter.server = NULL;
}

/* If get_ready has failed, nbdkit calls this without calling cleanup first. */
static void flashemu_unload(void)
{
    flashemu_cleanup();
    if (have_profile)
        fe_profile_fini(&adapter.profile);
    have_profile = false;
    fe_params_fini(&adapter.params);
}

static int flashemu_config(const char *key, const char *value)
{
    struct fe_err err = {""};
    return answer(fe_params_set(&adapter.params, key, value, &err), &err);
}

static int flashemu_config_complete(void)
{
    struct fe_err err = {""};
    if (answer(fe_params_load_profile(&adapter.params, &adapter.profile, &err), &err) < 0)
        return -1;
    have_profile = true;
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
    struct fe_params *params = &adapter.params;
    struct fe_err why = {""};
    params->read_only = params->file && fe_cmdline_is_read_only();
    if (params->file)
        survive_file_limit();
    int r = fe_server_create(&adapter.server, params, &adapter.profile, &why);
    if (r < 0 && params->size && strncmp(why.text, "device.capacity=", 16) == 0)
        return fe_err_set(err, -r, "size=%.80s: %s", params->size, why.text); /* as the user said */
    /* Messages about an image begin with its path, or with at least so much of it. */
    bool on_file = params->file && strncmp(why.text, params->file, strnlen(params->file, 160)) == 0;
    if (r == -EINVAL && !on_file)
        return fe_profile_explain(params->profile, (const char *const *)params->overrides,
                                  params->n_overrides, why.text, err);
    if (r < 0 && params->file)
        return fe_err_set(err, -r, "%s%s%s", on_file ? "file=" : "", why.text,
                          r == -EIO ? "; flashemu fsck tells more" : "");
    return r < 0 ? fe_err_set(err, -r, "%s", why.text) : 0;
}

/* The device is created here and not later, so that errors reach the terminal. */
static int flashemu_get_ready(void)
{
    struct fe_err err = {""};
    int r = create_server(&err);
    if (r == 0 && adapter.params.control)
        r = fe_control_create(&control, adapter.server, adapter.params.control, &err);
    if (answer(r, &err) < 0)
        return -1;
    if (flashemu_debug_nand)
        fe_server_observe(adapter.server, debug_ops, NULL);
    nbdkit_debug("profile %s, waits by %s", adapter.profile.name,
                 fe_server_delay_name(adapter.server));
    if (adapter.params.file)
        nbdkit_debug("image %s: opened in %llu us", adapter.params.file,
                     (unsigned long long)fe_server_open_ns(adapter.server) / 1000);
    char idle[256], remark[512];
    fe_params_idle(&adapter.params, idle, sizeof idle);
    if (idle[0])
        fe_note("%s", idle);
    if (fe_profile_unused(&adapter.profile, remark, sizeof remark))
        fe_note("%s", remark);
    if (fe_profile_renamed(&adapter.profile, remark, sizeof remark))
        fe_note("%s", remark);
    const char *note = fe_server_image_note(adapter.server);
    if (note)
        fe_note("%s: %s", adapter.params.file, note);
    fe_adapter_report_notice(adapter.server);
    return 0;
}

static int flashemu_after_fork(void)
{
    struct fe_err err = {""};
    fe_notes_after_fork();
    int r = fe_server_start(adapter.server, &err);
    if (r == 0 && control)
        r = fe_control_start(control, nbdkit_shutdown, &err);
    return answer(r, &err);
}

/* With clock=virtual a request arrives when the one before it has been answered, so requests of a
 * connection have an order, and nothing is gained by threads that could break it.  And then a client
 * that dies takes no server with it: before 1.34 nbdkit ends by an assertion if the client of a
 * connection dies while several threads answer (nbdkit-flashemu-plugin(1), POWER CUTS). */
static int flashemu_thread_model(void)
{
    return adapter.params.virtual_clock ? NBDKIT_THREAD_MODEL_SERIALIZE_REQUESTS
                                        : NBDKIT_THREAD_MODEL_PARALLEL;
}

static void flashemu_dump_plugin(void)
{
    static const struct {
        enum fe_delay_kind kind;
        const char *name;
    } kinds[] = {{FE_DELAY_IO_URING, "io_uring"}, {FE_DELAY_NANOSLEEP, "nanosleep"}};

    printf("flashemu_version=%s\n", FLASHEMU_VERSION);
    printf("flashemu_features=control image marks real-clock trace trace-data virtual-clock\n");
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

static int64_t flashemu_get_size(void *handle)
{
    (void)handle;
    return (int64_t)fe_server_capacity(adapter.server);
}

/* nbdkit demands that the preferred size is a power of two of at least 512. */
static int flashemu_block_size(void *handle, uint32_t *minimum, uint32_t *preferred,
                               uint32_t *maximum)
{
    uint32_t page = fe_server_page_bytes(adapter.server);
    uint32_t size = 512;
    (void)handle;
    while (size < FE_MAX_TRANSFER && (size < page || size < adapter.profile.device.sector_size))
        size *= 2;
    *minimum = adapter.profile.device.sector_size;
    *preferred = size;
    *maximum = FE_MAX_TRANSFER;
    return 0;
}

static bool needs_flush(void)
{
    return fe_offers_flush(&adapter.params, &adapter.profile);
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
    return !adapter.params.read_only;
}

static int flashemu_can_trim(void *handle)
{
    (void)handle;
    return adapter.profile.device.discard;
}

/* nbdkit offers WRITE ZEROES in any case.  Fast zero is offered in any case, too: a client that
 * asks for it learns at once where it is not fast. */
static int flashemu_can_zero(void *handle)
{
    (void)handle;
    return 1;
}

static int flashemu_can_cache(void *handle)
{
    (void)handle;
    return NBDKIT_CACHE_NATIVE;
}

static int flashemu_is_rotational(void *handle)
{
    (void)handle;
    return adapter.profile.device.rotational;
}

/* All connections of an export have the same device. */
static int flashemu_can_multi_conn(void *handle)
{
    (void)handle;
    return 1;
}

static int flashemu_can_extents(void *handle)
{
    (void)handle;
    return !adapter.params.no_extents;
}

/* What the device is, and from which profile. */
static const char *flashemu_export_description(void *handle)
{
    const char *model = adapter.profile.device.model;
    (void)handle;
    return nbdkit_printf_intern("flashemu %s: %s", adapter.profile.name, model);
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
    "trace=FILE                  Record every request and its completion (none).\n"         \
    "trace-data=FILE             With trace: the bytes that were written (none).\n"         \
    "extents=auto|no             Tell what was never written or trimmed (auto).\n"          \
    "flush=auto|always           Offer flush where nothing needs it, too (auto).\n"        \
    "exports=same|own            All exports are one device, or each name its own (same)."

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
    .thread_model = flashemu_thread_model,
    .get_ready = flashemu_get_ready,
    .after_fork = flashemu_after_fork,
    .cleanup = flashemu_cleanup,
    .dump_plugin = flashemu_dump_plugin,

    .open = fe_requests_open,
    .close = fe_requests_close,
    .get_size = flashemu_get_size,
    .export_description = flashemu_export_description,
    .block_size = flashemu_block_size,
    .can_write = flashemu_can_write,
    .can_flush = flashemu_can_flush,
    .can_fua = flashemu_can_fua,
    .can_trim = flashemu_can_trim,
    .can_zero = flashemu_can_zero,
    .can_fast_zero = flashemu_can_zero,
    .can_cache = flashemu_can_cache,
    .is_rotational = flashemu_is_rotational,
    .can_multi_conn = flashemu_can_multi_conn,
    .can_extents = flashemu_can_extents,

    .pread = fe_requests_pread,
    .pwrite = fe_requests_pwrite,
    .flush = fe_requests_flush,
    .trim = fe_requests_trim,
    .zero = fe_requests_zero,
    .cache = fe_requests_cache,
    .extents = fe_requests_extents,
};

/* nbdkit's macro defines it without a prototype, and clang warns about that. */
NBDKIT_DLL_PUBLIC struct nbdkit_plugin *plugin_init(void);
NBDKIT_REGISTER_PLUGIN(plugin)
