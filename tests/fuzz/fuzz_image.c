/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The image loader: a good image is changed as the input says (bytes, sizes, records with
 * their checksums put right again), then opened.  That gives a device or a message; a
 * device reads, writes and closes without a crash.  A change that no checksum is put right
 * for must never be read as data; but for what changes in place, and so has a checksum only
 * after a crash of the host or none: the cache's pages, and those that are no flash.
 *
 * The good images, one for each strategy, are made at the first call.
 */
#include "files.h"
#include "small.h"

#include "base/crc32c.h"
#include "flashemu/device.h"
#include "ftl/ftl.h"
#include "store/image.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    PAGE = FT_SMALL_PAGE,
    PPB = FT_SMALL_PPB,
    BLOCKS = FT_SMALL_BLOCKS,
    LPNS = FT_SMALL_LPNS,
    MAX_TYPES = 16
};

static struct {
    uint8_t *bytes;
    size_t len;
} good[MAX_TYPES];

static char path[FT_PATH_MAX];
static bool exact; /* whatever can be read is old or new */

static int open_device(struct fe_device **ret, uint32_t type, struct fe_err *err)
{
    struct fe_profile p = ft_small_profile(type);
    struct fe_store_file file = {.path = path};
    struct fe_device_options opt = {.seed = 1, .payload = true, .file = &file};
    return fe_device_create(ret, &p, &opt, err);
}

/* Every page has the number of a page in each of its bytes. */
static void request(struct fe_device *dev, enum fe_req_type type, uint32_t lpn, uint8_t *buf)
{
    struct fe_request req = {.type = type, .offset = (uint64_t)lpn * PAGE, .len = PAGE, .buf = buf};
    struct fe_reply reply;
    FT_MUST(fe_device_submit(dev, fe_device_now(dev), &req, &reply) == 0, "refused");
    if (type != FE_REQ_READ || reply.status > FE_CORRECTED)
        return;
    for (uint32_t i = 1; exact && i < PAGE; i++)
        FT_MUST(buf[i] == buf[0], "page %u is neither old nor new", lpn);
}

static void use_device(struct fe_device *dev, uint32_t n)
{
    uint8_t buf[PAGE];
    struct fe_err err = {""};
    for (uint32_t i = 0; i < LPNS; i++)
        request(dev, FE_REQ_READ, i, buf);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t lpn = i * 37 % LPNS;
        memset(buf, (int)lpn, sizeof buf);
        request(dev, FE_REQ_WRITE, lpn, buf);
    }
    (void)fe_device_close(dev, &err);
}

static void make_good(uint32_t type)
{
    struct fe_device *dev;
    struct fe_err err = {""};
    struct stat st;
    if (!path[0])
        ft_file_path(path, "image");
    FT_MUST(open_device(&dev, type, &err) == 0, "%s", err.text);
    use_device(dev, 3 * LPNS + 5);
    fe_device_destroy(dev);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    FT_MUST(fd >= 0 && fstat(fd, &st) == 0, "%s", path);
    good[type].len = (size_t)st.st_size;
    good[type].bytes = malloc(good[type].len);
    FT_MUST(good[type].bytes && read(fd, good[type].bytes, good[type].len) == st.st_size, "%s",
            path);
    close(fd);
    unlink(path);
}

/* The record of the wanted kind that is chosen by n, and its checksum put right or not. */
static void change_record(uint8_t *image, const struct fe_image_layout *at, struct ft_bytes *b)
{
    uint8_t kind = ft_u8(b);
    uint32_t n = ft_u16(b), size = 0, off = ft_u8(b), value = ft_u32(b);
    uint64_t from = 0, number = 0;
    switch (kind & 7) {
    case 0:
        size = sizeof(struct fe_image_header);
        break;
    case 1:
        size = sizeof(struct fe_image_status);
        from = FE_IMAGE_STATUS(n % 2);
        break;
    case 2:
    case 3:
        size = sizeof(struct fe_image_block);
        number = n % BLOCKS;
        from = at->blocks + number * size;
        break;
    case 4:
        size = sizeof(struct fe_image_entry);
        number = n % 4;
        from = at->entries + number * size;
        break;
    default:
        size = sizeof(struct fe_image_oob);
        number = n % (BLOCKS * PPB);
        from = at->oob + number * size;
        break;
    }
    off = off % (size / 4) * 4;
    exact = exact && !(kind & 8);
    memcpy(image + from + off, &value, 4);
    if (kind & 8) {
        uint32_t crc = fe_image_record_crc(number, image + from, size);
        memcpy(image + from + size - 4, &crc, 4);
    }
}

static size_t change(uint8_t *image, size_t len, const struct fe_image_layout *at,
                     struct ft_bytes *b)
{
    for (int i = 0; i < 32 && b->p < b->end; i++) {
        uint8_t what = ft_u8(b);
        if (what < 8) {
            len = ft_u32(b) % (len + 1);
        } else if (what < 64 && len > 0) {
            uint64_t where = ft_u32(b) % len;
            exact = exact && (where < at->cache || where >= at->oob);
            image[where] ^= what;
        } else if (len == (size_t)at->end) {
            change_record(image, at, b);
        }
    }
    return len;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ft_bytes b = {data, data + size};
    struct fe_image_layout at;
    struct fe_image_header h;
    struct fe_device *dev = NULL;
    struct fe_err err = {""};
    uint32_t n_types = 0;
    while (fe_ftl_registry[n_types])
        n_types++;
    uint32_t type = ft_u8(&b) % n_types;
    FT_MUST(n_types <= MAX_TYPES, "more strategies than that");
    if (!good[type].bytes)
        make_good(type);

    uint8_t *image = malloc(good[type].len);
    FT_MUST(image, "no memory");
    memcpy(image, good[type].bytes, good[type].len);
    memcpy(&h, image, sizeof h);
    FT_MUST(fe_image_layout(&at, &h, &err) == 0, "%s", err.text);
    exact = !fe_ftl_registry[type]->no_medium;
    size_t len = change(image, good[type].len, &at, &b);
    ft_file_write(path, image, len);
    int r = open_device(&dev, type, &err);
    if (r < 0) {
        FT_MUST(err.text[0] && !strchr(err.text, '\n'), "result %d, message '%s'", r, err.text);
    } else {
        use_device(dev, 20);
        fe_device_destroy(dev);
    }
    unlink(path);
    free(image);
    return 0;
}
