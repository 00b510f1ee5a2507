/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Out of memory by count, as sqlite tests it.  For n = 0, 1, 2 ... a device is created while the
 * first n requests for memory succeed and the next one fails, until the creation needs no more
 * than n of them.  Each time the result must be -ENOMEM and a message, nothing may be left
 * allocated, and *ret must be unchanged.  All of this is done twice: once only that one request
 * fails, and once all later ones fail, too.
 *
 * The same is done for
 *
 *   - the calls that ask the host for the medium's memory;
 *   - power-on after a cut: if it fails, power stays off, and the next power-on must find what the
 *     first one would have found.  A device whose record of the operations under way
 *     (nand/undo.h) cannot grow must not lose anything that was promised;
 *   - images: a new one, and one that a kill has left, with power on, with power off, and at the
 *     end of the device's life.  The next attempt must make the image, or open it with everything
 *     that was in it.
 *
 * The option --wrap of the linker puts the functions below in front of those of the C library.
 */
#include "lib/ftl_params.h"

#include "flashemu/device.h"
#include "flashemu/faults.h"
#include "ftl/ftl.h"
#include "nand/wear.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SECTOR = 512, N_PAGES = 300 };

static long countdown = -1;   /* requests that will still succeed; -1: all */
static bool all_after;        /* requests after the failing one fail, too */
static bool hit;              /* a request has failed */
static long n_alive;          /* allocations that nobody has freed */
static int host_call_fails;   /* which call of mmap, from 1 on; 0: none */
static int n_mapped;          /* calls of mmap so far */

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t size);
char *__real_strdup(const char *s);
char *__real_strndup(const char *s, size_t n);
void __real_free(void *p);
FILE *__real_open_memstream(char **buf, size_t *len);
void *__real_mmap64(void *addr, size_t len, int prot, int flags, int fd, off_t off);
void *__real_mmap(void *addr, size_t len, int prot, int flags, int fd, off_t off);

void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t size);
char *__wrap_strdup(const char *s);
char *__wrap_strndup(const char *s, size_t n);
void __wrap_free(void *p);
FILE *__wrap_open_memstream(char **buf, size_t *len);
void *__wrap_mmap(void *addr, size_t len, int prot, int flags, int fd, off_t off);
void *__wrap_mmap64(void *addr, size_t len, int prot, int flags, int fd, off_t off);

static bool fails(void)
{
    if (countdown < 0)
        return false;
    if (countdown == 0) {
        hit = true;
        errno = ENOMEM;
        if (!all_after)
            countdown = -1;
        return true;
    }
    countdown--;
    return false;
}

static void *alive(void *p)
{
    n_alive += p != NULL;
    return p;
}

void *__wrap_malloc(size_t size)
{
    return fails() ? NULL : alive(__real_malloc(size));
}

void *__wrap_calloc(size_t n, size_t size)
{
    return fails() ? NULL : alive(__real_calloc(n, size));
}

void *__wrap_realloc(void *p, size_t size)
{
    if (fails())
        return NULL;
    void *q = __real_realloc(p, size);
    n_alive += !p && q;
    return q;
}

char *__wrap_strdup(const char *s)
{
    return fails() ? NULL : alive(__real_strdup(s));
}

char *__wrap_strndup(const char *s, size_t n)
{
    return fails() ? NULL : alive(__real_strndup(s, n));
}

void __wrap_free(void *p)
{
    n_alive -= p != NULL;
    __real_free(p);
}

/* The C library allocates the buffer, and whoever opens the stream frees it. */
FILE *__wrap_open_memstream(char **buf, size_t *len)
{
    return fails() ? NULL : alive(__real_open_memstream(buf, len));
}

static bool host_fails(int which)
{
    if (host_call_fails == which)
        errno = ENOMEM;
    return host_call_fails == which;
}

void *__wrap_mmap(void *addr, size_t len, int prot, int flags, int fd, off_t off)
{
    return host_fails(++n_mapped) ? MAP_FAILED : __real_mmap(addr, len, prot, flags, fd, off);
}

void *__wrap_mmap64(void *addr, size_t len, int prot, int flags, int fd, off_t off)
{
    return host_fails(++n_mapped) ? MAP_FAILED : __real_mmap64(addr, len, prot, flags, fd, off);
}

static struct fe_profile_note notes[] = {
    {.key = (char[]){"nand.tR"}, .value = (char[]){"a datasheet"}, .line = 7},
    {.key = (char[]){"nand.tPROG"}, .value = (char[]){"a guess"}, .line = 8},
};

/* With `rich` the profile has everything that a device can have: a cache, notes, all options. */
static struct fe_profile make_profile(uint32_t type, bool rich)
{
    struct fe_profile p = {.name = "oom"};
    p.device.sector_size = 512;
    p.device.used = 64 * 512;
    p.nand = (struct fe_nand_params){.cell = rich ? FE_CELL_TLC : FE_CELL_SLC, .channels = 2,
                                     .dies_per_channel = 1, .planes_per_die = 1,
                                     .blocks_per_plane = 40, .pages_per_block = 12,
                                     .page_size = 512, .endurance = 1000};
    p.ftl = ft_ftl_params(type, 6144);
    p.ftl.clean.gc_d = 4;
    p.ftl.clean.wl_threshold = 4;
    p.ftl.segment.open_linear = 2;
    p.ftl.segment.open_random = 2;
    p.ftl.unit.copy_buffer = 2;
    p.ftl.dftl.map_cache = 256;
    if (rich) {
        p.ftl.clean.gc_policy = FE_GC_D_CHOICES;
        p.ftl.page.hot_cold = FE_HOT_COLD_TWO_POOL;
        p.ftl.clean.wear_levelling = FE_WEAR_STATIC;
        p.ftl.page.slc_mode = FE_SLC_STATIC;
        p.ftl.page.slc_blocks = 4;
        p.ftl.page.enhanced_start = 8 * SECTOR;
        p.ftl.page.enhanced_size = 20 * SECTOR;
        p.ftl.segment.small_log = 2;
        p.ftl.segment.small_write = 4096;
        p.ftl.log.fast_sequential = true;
        p.cache.size = 16 * 512;
        p.device.claimed_capacity = 8 * N_PAGES * SECTOR;
        p.device.beyond = FE_BEYOND_DROP;
        p.device.beyond_cache = 5 * SECTOR;
        p.provenance = notes;
        p.n_provenance = 2;
        p.fidelity = notes;
        p.n_fidelity = 1;
    }
    p.device.capacity = N_PAGES * SECTOR;
    p.link.max_transfer = 1 << 20;
    p.link.queue_depth = 1;
    return p;
}

static int complain(const char *strategy, long n, const char *what, const struct fe_err *err)
{
    fprintf(stderr, "%s, %ld allocations%s: %s: %s\n", strategy, n,
            all_after ? ", none after" : "", what, err->text);
    return 1;
}

/* Returns the number of failures for a profile.  *ret_n: how many requests for memory a device
 * makes. */
static int run(const struct fe_profile *p, long *ret_n)
{
    const char *name = fe_ftl_registry[p->ftl.type]->name;
    struct fe_device_options opt = {.seed = 1, .payload = true};
    for (long n = 0;; n++) {
        struct fe_device *dev = NULL;
        struct fe_err err;
        long before = n_alive;
        fe_err_init(&err);
        hit = false;
        countdown = n;
        int r = fe_device_create(&dev, p, &opt, &err);
        countdown = -1;
        if (r == 0) {
            fe_device_destroy(dev);
            *ret_n = n;
            if (n_alive != before)
                return complain(name, n, "leak after success", &err);
            return hit ? complain(name, n, "success although memory failed", &err) : 0;
        }
        if (r != -ENOMEM)
            return complain(name, n, "not -ENOMEM", &err);
        if (strncmp(err.text, "out of memory: ", 15) != 0)
            return complain(name, n, "no proper message", &err);
        if (dev)
            return complain(name, n, "a device all the same", &err);
        if (n_alive != before)
            return complain(name, n, "leak", &err);
    }
}

static int n_descriptors(void)
{
    int n = 0;
    for (int fd = 0; fd < 256; fd++)
        n += lseek(fd, 0, SEEK_CUR) != -1 || errno != EBADF;
    return n;
}

/* Lets the calls that ask the host for the medium's memory fail.  The number of failures. */
static int run_host_calls(const struct fe_profile *p)
{
    struct fe_device_options opt = {.seed = 1, .payload = true};
    int failed = 0;
    for (int which = 1; which <= 2; which++) {
        struct fe_device *dev = NULL;
        struct fe_err err;
        long before = n_alive;
        int descriptors = n_descriptors();
        fe_err_init(&err);
        host_call_fails = which;
        n_mapped = 0;
        int r = fe_device_create(&dev, p, &opt, &err);
        host_call_fails = 0;
        if (r != -ENOMEM || dev || n_alive != before || n_descriptors() != descriptors ||
            strncmp(err.text, "medium in memory: ", 18) != 0) {
            fprintf(stderr, "mmap %d: %d, %ld allocations left: %s\n", which, r,
                    n_alive - before, err.text);
            failed++;
        }
    }
    return failed;
}

/* ---- power ---- */

static char image_path[64];
static const struct fe_store_file image_file = {.path = image_path};

/* What memory fails for: nothing, a power-on, or the record of what is under way, in memory or in
 * an image. */
enum trial { TRIAL_NONE, TRIAL_POWER_ON, TRIAL_UNDO, TRIAL_UNDO_IMAGE };

static enum fe_status submit(struct fe_device *dev, enum fe_req_type type, uint64_t at,
                             uint64_t page, uint8_t *buf, uint64_t *ret_end)
{
    struct fe_request req = {.type = type, .buf = buf};
    struct fe_reply reply;
    if (type != FE_REQ_FLUSH) {
        req.offset = page * SECTOR;
        req.len = SECTOR;
    }
    if (fe_device_submit(dev, at, &req, &reply) < 0)
        abort();
    *ret_end = reply.complete_ns;
    return reply.status;
}

/* Writes all pages and flushes.  Then writes some of them again, and power fails meanwhile. */
static bool work_and_cut(struct fe_device *dev, enum trial trial, struct fe_err *err)
{
    uint8_t buf[SECTOR];
    uint64_t now = 0, end = 0;
    bool good = true;
    for (uint64_t i = 0; i < 2 * N_PAGES && good; i++) {
        uint64_t page = i < N_PAGES ? i : i * 7 % N_PAGES;
        memset(buf, (int)(1 + page % 100), sizeof buf);
        good = submit(dev, FE_REQ_WRITE, now, page, buf, &now) == FE_OK;
    }
    good = good && submit(dev, FE_REQ_FLUSH, now, 0, NULL, &now) == FE_OK;
    if (trial == TRIAL_UNDO || trial == TRIAL_UNDO_IMAGE)
        countdown = 0;
    for (uint64_t i = 0; i < N_PAGES && good; i++) {
        uint64_t page = i * 11 % (N_PAGES / 2);
        memset(buf, (int)(101 + page % 100), sizeof buf);
        good = submit(dev, FE_REQ_WRITE, now, page, buf, &end) == FE_OK;
    }
    int r = fe_device_cut_power(dev, now + (end - now) / 3, err);
    countdown = -1;
    return good && r == 0;
}

/* Reads all pages.  ret[page]: the byte that fills the page.  False with err if a page is neither
 * old nor new; with `any` every byte is allowed. */
static bool read_pages(struct fe_device *dev, uint8_t *ret, bool any, struct fe_err *err)
{
    uint8_t buf[SECTOR];
    uint64_t now = fe_device_now(dev);
    bool good = fe_device_check(dev, err) == 0;
    for (uint64_t page = 0; page < N_PAGES && good; page++) {
        good = submit(dev, FE_REQ_READ, now, page, buf, &now) == FE_OK &&
               memcmp(buf, buf + 1, sizeof buf - 1) == 0;
        ret[page] = buf[0];
        good = good && (any || buf[0] == 1 + page % 100 ||
                        (page < N_PAGES / 2 && buf[0] == 101 + page % 100));
        if (!good)
            fe_err_set(err, EIO, "page %u reads as %u", (unsigned)page, buf[0]);
    }
    return good;
}

/* Makes a device, cuts power and powers on, while memory fails for the trial after n requests.
 * ret: what is on the device in the end.  Returns what went wrong, or NULL. */
static const char *try_power(const struct fe_profile *p, enum trial trial, long n, uint8_t *ret,
                             struct fe_err *err)
{
    struct fe_device_options opt = {.seed = 1, .payload = true, .power_cuts = true,
                                    .file = trial == TRIAL_UNDO_IMAGE ? &image_file : NULL};
    struct fe_device *dev = NULL;
    uint8_t buf[SECTOR];
    uint64_t ready;
    const char *wrong = NULL;
    if (fe_device_create(&dev, p, &opt, err) < 0)
        return "no device";
    hit = false;
    int r = 0;
    if (!work_and_cut(dev, trial, err))
        wrong = "workload";
    if (!wrong) {
        countdown = trial == TRIAL_POWER_ON ? n : -1;
        r = fe_device_power_on(dev, fe_device_now(dev), &ready, err);
        countdown = -1;
    }
    if (r < 0 && (r != -ENOMEM || strncmp(err->text, "out of memory: ", 15) != 0 || !hit))
        wrong = "power-on";
    else if (r < 0 && (fe_device_has_power(dev) ||
                       submit(dev, FE_REQ_READ, 0, 0, buf, &ready) != FE_NO_POWER))
        wrong = "power although power-on failed";
    if (!wrong && r < 0 && fe_device_power_on(dev, fe_device_now(dev), &ready, err) < 0)
        wrong = "second power-on";
    if (!wrong && !read_pages(dev, ret, p->power.stale_ppm || p->power.map_lost_ppm, err))
        wrong = "contents";
    fe_device_destroy(dev);
    return wrong;
}

/* Returns the number of failures of all power-ons for a profile.  *ret_n: how many there were. */
static int run_power(const struct fe_profile *p, long *ret_n)
{
    const char *name = fe_ftl_registry[p->ftl.type]->name, *wrong;
    uint8_t want[N_PAGES], got[N_PAGES];
    struct fe_err err = {""};
    long before = n_alive;
    bool any_hit = true;
    wrong = try_power(p, TRIAL_NONE, 0, want, &err);
    for (*ret_n = 0; !wrong && any_hit; ++*ret_n) {
        wrong = try_power(p, TRIAL_POWER_ON, *ret_n, got, &err);
        any_hit = hit;
        if (!wrong && memcmp(want, got, sizeof want) != 0)
            wrong = "power-on after one that failed finds other data";
    }
    if (!wrong)
        wrong = try_power(p, TRIAL_UNDO, 0, got, &err);
    if (!wrong && all_after && !hit && !fe_ftl_registry[p->ftl.type]->no_medium)
        wrong = "nothing under way has asked for memory";
    unlink(image_path);
    if (!wrong)
        wrong = try_power(p, TRIAL_UNDO_IMAGE, 0, got, &err);
    unlink(image_path);
    if (!wrong && n_alive != before)
        wrong = "leak";
    return wrong ? complain(name, *ret_n, wrong, &err) : 0;
}

/* faults: 0 none, 1 pages come back stale, 2 the mapping is lost. */
static int run_powers(uint32_t type, int rich, int faults)
{
    struct fe_profile p = make_profile(type, rich);
    struct fe_geometry geo;
    long n = 0;
    fe_geometry_init(&geo, &p.nand, NULL);
    if (!fe_ftl_registry[type]->max_lpns(&p.ftl, &geo, NULL))
        p.ftl.clean.gc_policy = FE_GC_FIFO;
    p.cache.volatile_ = true;
    p.link.queue_depth = 4;
    p.power.stale_ppm = faults == 1 ? 300000 : 0;
    p.power.map_lost_ppm = faults == 2 ? 1000000 : 0;
    for (int i = 0; i < 3; i++) {
        p.nand.tR_ns[i] = 25000;
        p.nand.tPROG_ns[i] = 300000;
    }
    p.nand.tBERS_ns = 1500000;
    int failed = run_power(&p, &n);
    printf("%s%s, faults %d: %ld power-ons\n", fe_ftl_registry[type]->name,
           rich ? " with everything" : "", faults, n);
    /* Two are left with the step model, which keeps its runs in itself. */
    return failed + (n < 2 ? complain("too few", n, "is the wrapper in place?",
                                      &(struct fe_err){""}) : 0);
}

/* ---- images ---- */

enum image { IMAGE_NEW, IMAGE_ON, IMAGE_OFF, IMAGE_AT_END, N_IMAGES };

static struct fe_device_options image_options(void)
{
    return (struct fe_device_options){
        .seed = 1, .payload = true, .power_cuts = true, .file = &image_file};
}

/* Leaves the image of a device that has worked and whose server was killed. */
static const char *leave_image(const struct fe_profile *p, enum image what, struct fe_err *err)
{
    struct fe_device_options opt = image_options();
    struct fe_device *dev = NULL;
    uint64_t ready;
    const char *wrong = NULL;
    unlink(image_file.path);
    if (what == IMAGE_NEW)
        return NULL;
    if (fe_device_create(&dev, p, &opt, err) < 0)
        return "no device";
    if (!work_and_cut(dev, TRIAL_NONE, err))
        wrong = "workload";
    else if (what != IMAGE_OFF && fe_device_power_on(dev, fe_device_now(dev), &ready, err) < 0)
        wrong = "power-on";
    else if (what == IMAGE_AT_END &&
             fe_device_mark_bad(dev, fe_device_now(dev), 3, err) < 0)
        wrong = "mark-bad";
    fe_device_destroy(dev);
    return wrong;
}

/* The image as it was left.  It is put back before each opening. */
struct left {
    uint8_t *bytes; /* NULL: there was none */
    size_t size;
};

static bool read_left(struct left *ret)
{
    struct stat st;
    int fd = open(image_path, O_RDONLY | O_CLOEXEC);
    *ret = (struct left){NULL, 0};
    if (fd < 0)
        return errno == ENOENT;
    bool ok = fstat(fd, &st) == 0 && (ret->bytes = malloc((size_t)st.st_size)) &&
              pread(fd, ret->bytes, (size_t)st.st_size, 0) == st.st_size;
    ret->size = ok ? (size_t)st.st_size : 0;
    close(fd);
    return ok;
}

static bool put_back(const struct left *left)
{
    if (unlink(image_path) < 0 && errno != ENOENT)
        return false;
    if (!left->bytes)
        return true;
    int fd = open(image_path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    bool ok = fd >= 0 && pwrite(fd, left->bytes, left->size, 0) == (ssize_t)left->size;
    return fd >= 0 && close(fd) == 0 && ok;
}

static const char *try_image(const struct fe_profile *p, enum image what, long n,
                             struct fe_err *err)
{
    struct fe_device_options opt = image_options();
    struct fe_device *dev = NULL;
    uint8_t got[N_PAGES];
    const char *wrong = NULL;
    hit = false;
    countdown = n;
    int r = fe_device_create(&dev, p, &opt, err);
    countdown = -1;
    if (r < 0 && (r != -ENOMEM || !strstr(err->text, "out of memory") || dev || !hit))
        return "opening";
    if (r < 0)
        fe_err_init(err);
    if (r < 0 && fe_device_create(&dev, p, &opt, err) < 0)
        return "opening again";
    if (what != IMAGE_NEW && !read_pages(dev, got, false, err))
        wrong = "contents";
    fe_device_destroy(dev);
    return wrong;
}

static int run_images(const struct fe_profile *profile)
{
    struct fe_profile p = *profile;
    const char *name = fe_ftl_registry[p.ftl.type]->name, *wrong = NULL;
    struct fe_err err = {""};
    long n = 0, total = 0;
    p.wear.codeword_size = SECTOR;
    for (int what = 0; what < N_IMAGES && !wrong; what++) {
        struct left left = {NULL, 0};
        wrong = leave_image(&p, (enum image)what, &err);
        if (!wrong && !read_left(&left))
            wrong = "the image cannot be read";
        long before = n_alive;
        hit = true;
        for (n = 0; hit && !wrong; n++) {
            wrong = put_back(&left) ? try_image(&p, (enum image)what, n, &err)
                                    : "the image cannot be put back";
            if (!wrong && n_alive != before)
                wrong = "leak";
        }
        free(left.bytes);
        total += n;
        if (!wrong && n < 10)
            wrong = "is the wrapper in place?";
    }
    unlink(image_file.path);
    printf("%s: %ld openings of images\n", name, total);
    return wrong ? complain(name, n, wrong, &err) : 0;
}

/* The image is in memory if possible, because it is made a few thousand times. */
static void name_image(void)
{
    snprintf(image_path, sizeof image_path, "%s/fe-oom-%ld",
             access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp", (long)getpid());
}

int main(void)
{
    int failed = 0;
    name_image();
    for (uint32_t type = 0; fe_ftl_registry[type]; type++)
        for (int rich = 0; rich < 2; rich++)
            for (int after = 0; after < 2; after++) {
                struct fe_profile p = make_profile(type, rich);
                struct fe_geometry geo;
                long n = 0;
                fe_geometry_init(&geo, &p.nand, NULL);
                if (!fe_ftl_registry[type]->max_lpns(&p.ftl, &geo, NULL))
                    p.ftl.clean.gc_policy = FE_GC_FIFO; /* it refuses policies that draw */
                all_after = after;
                failed += run(&p, &n);
                printf("%s%s: %ld allocations\n", fe_ftl_registry[type]->name,
                       rich ? " with everything" : "", n);
                for (int faults = 0; faults < 3; faults++)
                    failed += run_powers(type, rich, faults);
                failed += rich ? run_images(&p) : 0;
                if (n < 5)
                    failed += complain("too few", n, "is the wrapper in place?",
                                       &(struct fe_err){""});
            }
    struct fe_profile p = make_profile(0, true);
    failed += run_host_calls(&p);
    return failed ? 1 : 0;
}
