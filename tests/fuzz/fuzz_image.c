/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The image loader: a good image is changed as the input says (bytes, sizes, fields of records, with
 * the checksum of the record put right again or not), then judged.  An image that is refused gets one
 * line and stays as it is.  One that is good is served: what is written to it is read again, also after
 * a restart, and the image stays good.
 *
 * A change that no checksum is put right for must never be read as data; but for what changes in
 * place, and so has a checksum only after a crash of the host or none: the cache's pages, and those
 * that are no flash.
 *
 * The first byte chooses the kind of device, the second what has become of the last run.  The good
 * images are made when they are needed first.
 */
#include "files.h"
#include "lib/image_kinds.h"

#include "flashemu/device.h"
#include "flashemu/faults.h"
#include "ftl/ftl.h"
#include "store/image.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_PAGES = 1024, PAGE_MAX = 8192, N_WRITES = 24, ANY = -1 };

enum end { CLOSED, KILLED, CRASHED, N_ENDS }; /* the last: killed, and then the host has crashed */

static struct {
    uint8_t *bytes;
    size_t len;
} good[FT_IMAGE_KINDS][2];

static char path[FT_PATH_MAX];
static struct fe_profile profile;
static bool exact;            /* whatever can be read is old or new */
static bool has_all_bytes;    /* no page lacks the bytes of its record: such a page cannot be copied */
static uint32_t n_pages, page_bytes;
static int known[MAX_PAGES];  /* what each byte of a page is, or ANY */
static uint8_t buf[PAGE_MAX];

static int open_device(struct fe_device **ret, struct fe_err *err)
{
    struct fe_store_file file = {.path = path};
    struct fe_device_options opt = {.seed = 1, .payload = true, .file = &file, .power_cuts = true};
    int r = fe_device_create(ret, &profile, &opt, err);
    if (r < 0)
        return r;
    page_bytes = fe_device_page_bytes(*ret);
    n_pages = (uint32_t)(fe_device_capacity(*ret) / page_bytes);
    FT_MUST(n_pages <= MAX_PAGES && page_bytes <= PAGE_MAX, "%u pages", n_pages);
    return 0;
}

static bool works(const struct fe_device *dev)
{
    return fe_device_condition(dev) >= FE_COND_WORN;
}

static enum fe_status submit(struct fe_device *dev, enum fe_req_type type, uint32_t lpn)
{
    struct fe_request req = {.type = type, .offset = (uint64_t)lpn * page_bytes, .len = page_bytes,
                             .buf = buf};
    struct fe_reply reply;
    FT_MUST(fe_device_submit(dev, fe_device_now(dev), &req, &reply) == 0, "refused");
    return reply.status;
}

/* Every page has one number in each of its bytes. */
static void read_all(struct fe_device *dev)
{
    for (uint32_t lpn = 0; lpn < n_pages; lpn++) {
        if (submit(dev, FE_REQ_READ, lpn) > FE_CORRECTED) {
            FT_MUST(known[lpn] == ANY || !works(dev), "page %u is lost", lpn);
            continue;
        }
        FT_MUST(known[lpn] == ANY || buf[0] == known[lpn], "page %u is %u instead of %d", lpn, buf[0],
                known[lpn]);
        for (uint32_t i = 1; (exact || known[lpn] != ANY) && i < page_bytes; i++)
            FT_MUST(buf[i] == buf[0], "page %u is neither old nor new", lpn);
    }
}

static void write_some(struct fe_device *dev, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        uint32_t lpn = i * 37 % n_pages;
        bool trims = profile.device.discard && i % 16 == 15;
        int value = trims ? 0 : (int)(uint8_t)(lpn + i / n_pages);
        memset(buf, value, page_bytes);
        enum fe_status st = submit(dev, trims ? FE_REQ_TRIM : FE_REQ_WRITE, lpn);
        known[lpn] = st == FE_OK ? value : ANY;
    }
}

static void forget(void)
{
    for (uint32_t i = 0; i < MAX_PAGES; i++)
        known[i] = ANY;
}

static void make_good(uint32_t kind, bool closed)
{
    struct fe_device *dev;
    struct fe_err err = {""};
    struct stat st;
    FT_MUST(open_device(&dev, &err) == 0, "%s", err.text);
    write_some(dev, 2 * n_pages + 5);
    FT_MUST(!closed || fe_device_close(dev, &err) == 0, "%s", err.text);
    fe_device_destroy(dev);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    FT_MUST(fd >= 0 && fstat(fd, &st) == 0, "%s", path);
    size_t len = good[kind][closed].len = (size_t)st.st_size;
    uint8_t *bytes = good[kind][closed].bytes = malloc(len);
    FT_MUST(bytes && read(fd, bytes, len) == st.st_size, "%s", path);
    close(fd);
    unlink(path);
}

/* ---- changes ---- */

enum record { HEADER, STATUS, LIFETIME, BLOCK, TRIM, ENTRY, OOB, N_RECORDS };

static void put_crc(uint8_t *record, uint64_t number, uint32_t bytes)
{
    uint32_t crc = fe_image_record_crc(number, record, bytes);
    memcpy(record + bytes - 4, &crc, 4);
}

/* What is what: a byte with the sort, a bit for the checksum, and the width of the change. */
static void change_record(uint8_t *image, const struct fe_image_layout *at,
                          const struct fe_image_header *h, struct ft_bytes *b)
{
    uint8_t what = ft_u8(b), off = 0;
    uint32_t n = ft_u16(b);
    bool repairs = what & 8;
    uint64_t value;
    const struct {
        uint64_t from, step, n;
        uint32_t bytes;
    } records[] = {
        {0, 0, 1, sizeof(struct fe_image_header)},
        {FE_IMAGE_STATUS(0), FE_IMAGE_ALIGN, 2, sizeof(struct fe_image_status)},
        {FE_IMAGE_LIFETIME(0), FE_IMAGE_ALIGN, 2, sizeof(struct fe_image_lifetime)},
        {at->blocks, 64, at->n_blocks, sizeof(struct fe_image_block)},
        {at->trims, 16, h->n_pages, sizeof(struct fe_image_trim)},
        {at->entries, 64, h->n_entries * UINT64_C(2), sizeof(struct fe_image_entry)},
        {at->oob, 32, h->n_pages, sizeof(struct fe_image_oob)},
    }, *r = &records[(what & 7) % N_RECORDS];
    off = ft_u8(b);
    value = ft_u32(b);
    if (r->n == 0)
        return;
    uint64_t number = n % r->n;
    uint8_t *record = image + r->from + number * r->step;
    uint32_t width = what & 16 ? (what & 32 ? 1 : 8) : 4;
    value = what & 64 ? ~value : value;
    memcpy(record + off % (r->bytes - (repairs ? 4 : 0) - width + 1), &value, width);
    if (repairs)
        put_crc(record, r->from < FE_IMAGE_STATUS(2) && r->bytes != sizeof(struct fe_image_lifetime)
                            ? 0 : number, r->bytes);
    exact = exact && !repairs;
    has_all_bytes = has_all_bytes && !(repairs && r->bytes == sizeof(struct fe_image_oob));
}

static size_t change(uint8_t *image, size_t len, const struct fe_image_layout *at,
                     const struct fe_image_header *h, struct ft_bytes *b)
{
    for (int i = 0; i < 32 && b->p < b->end; i++) {
        uint8_t what = ft_u8(b);
        if (what < 4) {
            len = ft_u32(b) % (len + 1);
        } else if (what < 32 && len > 0) {
            uint64_t where = ft_u32(b) % len;
            exact = exact && (where < at->cache || where >= at->oob);
            has_all_bytes = has_all_bytes && where < at->pages;
            image[where] ^= what;
        } else if (len == (size_t)at->end) {
            change_record(image, at, h, b);
        }
    }
    return len;
}

/* Both copies of the status name another boot of the host. */
static void crash_host(uint8_t *image)
{
    for (int i = 0; i < 2; i++) {
        uint8_t *st = image + FE_IMAGE_STATUS(i);
        st[offsetof(struct fe_image_status, boot_id)] ^= 1;
        put_crc(st, 0, sizeof(struct fe_image_status));
    }
}

/* ---- an input ---- */

static void must_be(const uint8_t *image, size_t len)
{
    uint8_t part[65536];
    ssize_t n;
    size_t at = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    FT_MUST(fd >= 0, "%s", path);
    for (; (n = read(fd, part, sizeof part)) > 0; at += (size_t)n)
        FT_MUST(at + (size_t)n <= len && memcmp(part, image + at, (size_t)n) == 0,
                "the judgement has changed the file");
    FT_MUST(n == 0 && at == len, "the judgement has changed the length of the file");
    close(fd);
}

static int judge(struct fe_err *err)
{
    struct fe_store_file file = {.path = path};
    int r = fe_device_judge(&file, err);
    FT_MUST(r == 0 || (err->text[0] && !strchr(err->text, '\n')), "result %d, message '%s'", r,
            err->text);
    return r;
}

/* Twice: the second time after a restart, of a device that was closed or killed. */
static void serve(bool closes)
{
    forget();
    for (int run = 0; run < 2; run++) {
        struct fe_device *dev;
        struct fe_err err = {""};
        FT_MUST(open_device(&dev, &err) == 0, "judged as good, then: %s", err.text);
        read_all(dev);
        write_some(dev, run == 0 ? N_WRITES : n_pages);
        read_all(dev);
        bool worked = works(dev);
        FT_MUST(!worked || fe_device_check(dev, &err) == 0, "%s", err.text);
        FT_MUST(!closes || fe_device_close(dev, &err) == 0 || !worked, "%s", err.text);
        fe_device_destroy(dev);
        if (!worked)
            return;
        int r = judge(&err);
        FT_MUST(r == 0 || !has_all_bytes, "served, then: %s", err.text);
        if (r < 0)
            return;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ft_bytes b = {data, data + size};
    struct fe_image_layout at;
    struct fe_image_header h;
    struct fe_err err = {""};
    uint32_t kind = ft_u8(&b) % FT_IMAGE_KINDS;
    enum end end = ft_u8(&b) % N_ENDS;
    if (!path[0])
        ft_file_path(path, "image");
    FT_MUST(ft_image_profile(&profile, kind, &err) == 0, "%s", err.text);
    if (!good[kind][end == CLOSED].bytes)
        make_good(kind, end == CLOSED);

    size_t len = good[kind][end == CLOSED].len;
    uint8_t *image = malloc(len);
    FT_MUST(image, "no memory");
    memcpy(image, good[kind][end == CLOSED].bytes, len);
    memcpy(&h, image, sizeof h);
    FT_MUST(fe_image_layout(&at, &h, &err) == 0, "%s", err.text);
    exact = !fe_ftl_registry[profile.ftl.type]->no_medium;
    has_all_bytes = true;
    if (end == CRASHED)
        crash_host(image);
    len = change(image, len, &at, &h, &b);
    ft_file_write(path, image, len);
    int r = judge(&err);
    must_be(image, len);
    free(image);
    if (r == 0)
        serve(size % 2);
    unlink(path);
    fe_profile_fini(&profile);
    return 0;
}
