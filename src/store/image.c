/* SPDX-License-Identifier: BSD-3-Clause
 *
 * An image as a file: making, opening, locking and closing it.
 *
 *   no file --create--> CREATING --ready--> READY --close--> READY, clean
 *                          |                  |  ^               |
 *                       killed: as no file    |  +-----open------+
 *                                             +-- killed: READY, not clean
 *
 * A kill of the server loses nothing, because the host's page cache has all that was written.
 * A crash of the host may lose any part of what was written since the last fdatasync
 * (image_crash.c).  Which of the two has happened is told by the host's boot id: the status
 * keeps the one under which the last server ran.
 */
#include "store/image.h"

#include "base/crc32c.h"
#include "base/num.h"
#include "store/image_check.h"
#include "store/image_crash.h"
#include "store/image_extra.h"
#include "store/image_file.h"
#include "store/internal.h"
#include "store/overlay.h"
#include "store/store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- opening ---- */

static void read_boot_id(uint8_t id[16])
{
    char text[40] = "";
    FILE *f = fopen("/proc/sys/kernel/random/boot_id", "re");
    memset(id, 0, 16);
    if (!f)
        return; /* no host is known: it counts as another one */
    if (fgets(text, sizeof text, f))
        for (unsigned i = 0, n = 0; text[i] && n < 32; i++) {
            const char *digits = "0123456789abcdef", *d = strchr(digits, text[i]);
            if (d) {
                id[n / 2] = (uint8_t)(id[n / 2] << 4 | (d - digits));
                n++;
            }
        }
    fclose(f);
}

static int init_tables(struct fe_store *s, struct fe_err *err)
{
    struct fe_image *g = s->img;
    uint64_t n = s->n_pages;
    int r = fe_warm_init(&s->warm, (uint64_t)s->page_bytes * s->pages_per_block,
                         (uint32_t)g->at.n_blocks, err);
    if (r < 0)
        return r;
    s->written = calloc(fe_div_up(n, 64), 8);
    g->blocks = calloc(g->at.n_blocks, sizeof *g->blocks);
    g->entries = calloc((uint64_t)g->what.n_entries * 2 + 1, sizeof *g->entries);
    g->entry_epoch = calloc((uint64_t)g->what.n_entries * 2 + 1, sizeof *g->entry_epoch);
    g->crc = calloc(n, sizeof *g->crc);
    g->raw = calloc(fe_div_up(n, 64), 8);
    g->lost = calloc(fe_div_up(n, 64), 8);
    g->trims = calloc(fe_div_up(n, 64), 8);
    g->page = malloc(s->page_bytes);
    g->records = malloc(FE_IMAGE_TRIMS_MAX * sizeof(struct fe_image_trim));
    if (!s->written || !g->blocks || !g->entries || !g->entry_epoch || !g->crc || !g->raw ||
        !g->lost || !g->trims || !g->page || !g->records)
        return fe_err_nomem(err, "tables of the image", n * 5);
    return 0;
}

static int adopt(struct fe_store *s, const struct fe_image_header *h, struct fe_err *err)
{
    struct fe_image *g = s->img;
    struct fe_err why = {""};
    if (fe_image_layout(&g->at, h, &why) < 0)
        return fe_err_set(err, EINVAL, "%.200s: %s", g->path, why.text);
    g->what = (struct fe_store_what){
        .n_pages = h->n_pages,
        .page_bytes = h->page_bytes,
        .pages_per_block = h->pages_per_block,
        .n_entries = h->n_entries,
        .capacity = h->capacity,
        .seed = h->seed,
        .profile_bytes = h->profile_bytes,
    };
    s->n_pages = h->n_pages;
    s->page_bytes = h->page_bytes;
    s->pages_per_block = h->pages_per_block;
    g->profile = malloc((size_t)h->profile_bytes + 1);
    g->what.profile = g->profile;
    if (!g->profile)
        return fe_err_nomem(err, "profile of the image", h->profile_bytes);
    g->profile[h->profile_bytes] = '\0';
    return 0;
}

/* The file once more, for fe_store_sync_run; image_file.c says why.  0 or a negative errno. */
static int open_for_run(struct fe_image *g)
{
    struct stat a, b;
    g->run_fd = open(g->path, O_RDWR | O_CLOEXEC | O_NONBLOCK);
    if (g->run_fd < 0 || fstat(g->fd, &a) < 0 || fstat(g->run_fd, &b) < 0)
        return -errno;
    return a.st_dev == b.st_dev && a.st_ino == b.st_ino ? 0 : -ESTALE;
}

static void refuse_open(const char *path, int flags, bool read_only, int r, struct fe_err *err)
{
    if (r == -EISDIR)
        fe_err_set(err, EISDIR, "%.200s: is a directory, not an image", path);
    else
        fe_err_set(err, -r, "%.200s: cannot be %s: %s", path,
                   flags & O_CREAT ? "made" : read_only ? "opened" : "opened for writing",
                   strerror(-r));
}

/* The store is the caller's, or is ended because something has failed.  Returns r. */
static int hand_over(struct fe_store **ret, struct fe_store *s, int r)
{
    if (r < 0)
        fe_store_destroy(s);
    else
        *ret = s;
    return r;
}

/* A store with an image that has a path and the lock on its file, and nothing else. */
static int start(struct fe_store **ret, const struct fe_store_file *f, int flags,
                 struct fe_err *err)
{
    struct fe_store *s = calloc(1, sizeof *s);
    struct fe_image *g = calloc(1, sizeof *g);
    char *path = strdup(f->path);
    if (!s || !g || !path) {
        free(s);
        free(g);
        free(path);
        return fe_err_nomem(err, "image", sizeof *s + sizeof *g);
    }
    s->img = g;
    g->io = f->io ? f->io : &fe_io_host;
    g->path = path;
    g->sync = f->sync;
    g->read_only = f->read_only;
    g->intact = f->intact;
    g->epoch = 1;
    g->final_seq = UINT64_MAX;
    g->run_fd = -1;
    g->fd = open(path, flags | (f->read_only ? O_RDONLY : O_RDWR) | O_CLOEXEC | O_NONBLOCK, 0666);
    int r = g->fd < 0 ? -errno : 0;
    /* Whether it is there decides what to do next, and is no error yet. */
    if (r < 0 && r != (flags & O_CREAT ? -EEXIST : -ENOENT))
        refuse_open(path, flags, f->read_only, r, err);
    g->created = r == 0 && (flags & O_CREAT);
    g->creating = g->created; /* until it is known better, for the removal */
    if (r == 0 && flock(g->fd, (f->read_only ? LOCK_SH : LOCK_EX) | LOCK_NB) < 0) {
        r = errno == EWOULDBLOCK ? -EBUSY : -errno;
        g->created = false; /* whoever has the lock has the file */
        fe_err_set(err, -r, "%.200s: %s", path,
                   r == -EBUSY ? "is in use by another flashemu server or tool" : strerror(-r));
    }
    if (r == 0 && g->sync && !g->read_only && (r = open_for_run(g)) < 0)
        fe_err_set(err, -r, "%.200s: cannot be opened a second time: %s", path, strerror(-r));
    if (r == 0 && g->read_only && (r = fe_overlay_create(&g->overlay, g->io, err)) == 0)
        g->io = fe_overlay_io(g->overlay);
    return hand_over(ret, s, r);
}

static bool is_status(const struct fe_image_status *st)
{
    return st->crc == fe_image_record_crc(0, st, sizeof *st);
}

/* -ENOENT: the making of the image was interrupted, and nothing in it has ever been answered.  -EIO
 * if its status says that it was served, for then it must not be made anew. */
static int check_unserved(struct fe_image *g, uint64_t size, struct fe_err *err)
{
    struct fe_image_status st;
    for (int i = 0; i < 2; i++) {
        int r = size < FE_IMAGE_STATUS(i) + sizeof st
                    ? -ENOENT
                    : fe_image_get(g, &st, sizeof st, FE_IMAGE_STATUS(i), "its status", err);
        if (r < 0)
            return r;
        if (is_status(&st) && st.generation >= FE_IMAGE_SERVED)
            return fe_err_set(err, EIO,
                              "%.200s: its header says that its making was interrupted, its status "
                              "that it has been served", g->path);
    }
    return -ENOENT;
}

/* The header, if the file has one of this version.  -ENOENT if its making was interrupted. */
static int read_header(struct fe_image *g, struct fe_image_header *h, uint64_t *ret_size,
                       struct fe_err *err)
{
    struct stat st;
    if (fstat(g->fd, &st) < 0)
        return fe_err_set(err, errno, "%.200s: %s", g->path, strerror(errno));
    if (!S_ISREG(st.st_mode))
        return fe_err_set(err, S_ISDIR(st.st_mode) ? EISDIR : EINVAL, "%.200s: %s", g->path,
                          S_ISDIR(st.st_mode) ? "is a directory, not an image"
                                              : "is not a regular file");
    *ret_size = (uint64_t)st.st_size;
    if (st.st_size == 0)
        return fe_err_set(err, EINVAL,
                          "%.200s: is empty, not an image; remove it to have one made", g->path);
    if (st.st_size < (off_t)sizeof *h)
        return fe_err_set(err, EINVAL, "%.200s: is not an image: only %lld bytes", g->path,
                          (long long)st.st_size);
    int r = fe_image_get(g, h, sizeof *h, 0, "its header", err);
    if (r < 0)
        return r;
    if (memcmp(h->magic, FE_IMAGE_MAGIC, sizeof h->magic) != 0)
        return fe_err_set(err, EINVAL, "%.200s: is not an image: it does not begin with \"%.14s\"",
                          g->path, FE_IMAGE_MAGIC);
    if (h->version == 0 || h->version > FE_IMAGE_VERSION)
        return fe_err_set(err, EINVAL,
                          "%.200s: is an image of format %u, this flashemu knows formats 1 to %u",
                          g->path, h->version, FE_IMAGE_VERSION);
    if (h->crc != fe_image_record_crc(0, h, sizeof *h))
        return fe_err_set(err, EIO, "%.200s: its header is damaged (checksum)", g->path);
    if (h->state != FE_IMAGE_CREATING && h->state != FE_IMAGE_READY)
        return fe_err_set(err, EIO, "%.200s: its header says state %u, which there is not", g->path,
                          h->state);
    return h->state == FE_IMAGE_READY ? 0 : check_unserved(g, *ret_size, err);
}

static int read_status(struct fe_image *g, struct fe_err *err)
{
    struct fe_image_status st[2];
    bool valid[2];
    for (int i = 0; i < 2; i++) {
        int r = fe_image_get(g, &st[i], sizeof st[i], FE_IMAGE_STATUS(i), "its status", err);
        if (r < 0)
            return r;
        valid[i] = is_status(&st[i]);
        r = valid[i] ? fe_image_check_status(g, &st[i], err) : 0;
        if (r < 0)
            return r;
    }
    for (int i = 0; i < 2; i++)
        g->is_status_damaged |= !valid[i] && !fe_bytes_are_zeros(&st[i], sizeof st[i]);
    if (!valid[0] && !valid[1])
        return fe_err_set(err, EIO, "%.200s: both copies of its status are damaged (checksum)",
                          g->path);
    int best = !valid[0] || (valid[1] && st[1].generation > st[0].generation);
    g->status = st[best];
    g->seq = g->status.synced_seq;
    return 0;
}

static int open_parts(struct fe_store *s, struct fe_err *err)
{
    struct fe_image *g = s->img;
    struct fe_image_header h;
    uint64_t size;
    int r = read_header(g, &h, &size, err);
    if (r == 0)
        r = adopt(s, &h, err);
    if (r < 0)
        return r;
    if (size != g->at.end)
        return fe_err_set(err, EIO, "%.200s: has %llu bytes, its header says %llu: %s", g->path,
                          (unsigned long long)size, (unsigned long long)g->at.end,
                          size < g->at.end ? "truncated" : "something was appended");
    r = fe_image_get(g, g->profile, h.profile_bytes, g->at.profile, "its profile", err);
    if (r == 0 && fe_crc32c(0, g->profile, h.profile_bytes) != h.profile_crc)
        r = fe_err_set(err, EIO, "%.200s: its profile is damaged (checksum)", g->path);
    if (r == 0)
        r = read_status(g, err);
    if (r == 0)
        r = init_tables(s, err);
    return r;
}

/* The other copy has everything, so the image is whole. */
static void note_damaged_copy(struct fe_image *g)
{
    fe_text_add(g->note, sizeof g->note,
                "%sone of the two copies of its status or clock is damaged (checksum); the image "
                "is whole, the other copy is used", g->note[0] ? "; " : "");
}

int fe_store_image_open(struct fe_store **ret, const struct fe_store_file *f, struct fe_err *err)
{
    struct fe_store *s;
    uint8_t boot_id[16];
    int r = start(&s, f, 0, err);
    if (r < 0)
        return r;
    r = open_parts(s, err);
    struct fe_image *g = s->img;
    g->was_clean = g->status.clean;
    read_boot_id(boot_id);
    bool same_host = memcmp(boot_id, g->status.boot_id, 16) == 0 &&
                     !fe_bytes_are_zeros(boot_id, 16);
    if (r == 0 && !g->status.clean && !same_host)
        r = fe_image_mend(s, err);
    if (r == 0)
        r = fe_image_load_lifetime(g, !g->was_clean && !same_host, err);
    if (r == 0 && g->is_status_damaged)
        note_damaged_copy(g);
    if (r == 0 && !g->read_only) {
        memcpy(g->status.boot_id, boot_id, 16);
        g->status.clean = 0;
        fe_image_write_status(g);
        fe_image_sync_now(s); /* before anything changes: from now on it is not clean */
        r = fe_store_failure(s, err);
    }
    return hand_over(ret, s, r);
}

/* ---- making one ---- */

static struct fe_image_header header_of(const struct fe_store_what *what)
{
    return (struct fe_image_header){
        .version = FE_IMAGE_VERSION,
        .n_pages = what->n_pages,
        .capacity = what->capacity,
        .seed = what->seed,
        .page_bytes = what->page_bytes,
        .pages_per_block = what->pages_per_block,
        .n_entries = what->n_entries,
        .profile_bytes = what->profile_bytes,
    };
}

static int write_header(struct fe_store *s, enum fe_image_state state, struct fe_err *err)
{
    struct fe_image *g = s->img;
    struct fe_image_header h = header_of(&g->what);
    h.state = state;
    h.profile_crc = fe_crc32c(0, g->profile, g->what.profile_bytes);
    memcpy(h.magic, FE_IMAGE_MAGIC, sizeof h.magic);
    h.crc = fe_image_record_crc(0, &h, sizeof h);
    fe_image_put(g, &h, sizeof h, 0, "writing its header");
    return fe_store_failure(s, err);
}

static int create_parts(struct fe_store *s, const struct fe_store_what *what, struct fe_err *err)
{
    struct fe_image *g = s->img;
    struct fe_image_header old, h = header_of(what);
    uint64_t size;
    int r = 0;
    if (!g->created) {
        r = read_header(g, &old, &size, err);
        if (r != -ENOENT)
            return r < 0 ? r : fe_err_set(err, EEXIST, "%.200s: is there already", g->path);
    }
    g->creating = true;
    r = adopt(s, &h, err);
    if (r == 0)
        r = init_tables(s, err);
    if (r < 0)
        return r;
    memcpy(g->profile, what->profile, what->profile_bytes);
    g->oob_of_new = calloc(s->n_pages, sizeof *g->oob_of_new);
    if (!g->oob_of_new)
        return fe_err_nomem(err, "OOB of a new image", s->n_pages * sizeof *g->oob_of_new);
    r = fe_io_truncate(g->io, g->fd, 0);
    if (r < 0)
        return fe_err_set(err, -r, "%.200s: emptying it: %s", g->path, strerror(-r));
    r = write_header(s, FE_IMAGE_CREATING, err);
    if (r < 0)
        return r;
    r = fe_io_truncate(g->io, g->fd, (off_t)g->at.end);
    if (r < 0)
        return fe_err_set(err, -r, "%.200s: making it %llu bytes long: %s", g->path,
                          (unsigned long long)g->at.end, strerror(-r));
    fe_image_put(g, g->profile, g->what.profile_bytes, g->at.profile, "writing its profile");
    read_boot_id(g->status.boot_id);
    g->status.n_open_1 = g->sync ? 1 : 0;
    fe_image_write_status(g);
    return fe_store_failure(s, err);
}

int fe_store_image_create(struct fe_store **ret, const struct fe_store_file *f,
                          const struct fe_store_what *what, struct fe_err *err)
{
    struct fe_store *s;
    assert(!f->read_only);
    int r = start(&s, f, O_CREAT | O_EXCL, err);
    if (r == -EEXIST)
        r = start(&s, f, 0, err);
    if (r == -ENOENT)
        fe_err_set(err, ENOENT, "%.200s: is a symbolic link to a file that does not exist",
                   f->path);
    if (r < 0)
        return r;
    return hand_over(ret, s, create_parts(s, what, err));
}

/* The name of a new file is on the disk when its folder is. */
static int sync_folder(const struct fe_image *g)
{
    const char *slash = strrchr(g->path, '/');
    char *folder = slash ? strndup(g->path, slash == g->path ? 1 : (size_t)(slash - g->path))
                         : strdup(".");
    if (!folder)
        return -ENOMEM;
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int r = fd < 0 || fsync(fd) < 0 ? -errno : 0;
    if (fd >= 0)
        close(fd);
    free(folder);
    return r == -EINVAL || r == -EACCES ? 0 : r; /* folders that cannot be synced, or read */
}

/* What the new image holds so far; blocks that hold nothing stay holes. */
static void write_oob_of_new(struct fe_store *s)
{
    struct fe_image *g = s->img;
    uint32_t n = s->pages_per_block, bytes = n * (uint32_t)sizeof *g->oob_of_new;
    for (uint64_t first = 0; first < s->n_pages; first += n)
        if (!fe_bytes_are_zeros(&g->oob_of_new[first], bytes))
            fe_image_put(g, &g->oob_of_new[first], bytes, g->at.oob + first * sizeof *g->oob_of_new,
                         "writing its OOB");
    free(g->oob_of_new);
    g->oob_of_new = NULL;
}

int fe_store_image_ready(struct fe_store *s, struct fe_err *err)
{
    struct fe_image *g = s->img;
    assert(g && g->creating && g->oob_of_new);
    write_oob_of_new(s);
    fe_image_sync_now(s);
    int r = fe_store_failure(s, err);
    if (r == 0)
        r = write_header(s, FE_IMAGE_READY, err);
    if (r == 0) {
        fe_image_sync_now(s);
        g->status.generation = FE_IMAGE_SERVED;
        fe_image_write_status(g);
        r = fe_store_failure(s, err);
    }
    if (r < 0)
        return r;
    r = g->sync ? sync_folder(g) : 0;
    if (r < 0)
        return fe_err_set(err, -r, "%.200s: syncing its folder: %s", g->path, strerror(-r));
    g->creating = false;
    return 0;
}

/* ---- the end ---- */

int fe_store_image_close(struct fe_store *s, struct fe_err *err)
{
    struct fe_image *g = s->img;
    if (!g || g->read_only)
        return 0;
    fe_image_sync_now(s);
    g->status.clean = 1;
    fe_image_write_status(g);
    fe_image_sync_now(s);
    return fe_store_failure(s, err);
}

const struct fe_store_what *fe_store_image(const struct fe_store *s)
{
    return s->img ? &s->img->what : NULL;
}

/* What was loaded is on the disk since the opening.  Power-on may program a block that was erased
 * before, and so destroy what an older status needs: unless a close has synced all, the status that says
 * more is synced first.  The one in memory may say it already, and the disk have another one.  A run
 * without `sync` has ended without that, and its programs have no order until the status says where the
 * order begins. */
void fe_store_loaded(struct fe_store *s)
{
    struct fe_image *g = s->img;
    bool is_told = g->was_clean && g->status.n_open_1;
    if (g->sync)
        g->status.synced_seq = fe_max_u64(g->status.synced_seq, g->seq);
    g->status.n_open_1 = g->sync ? 1 : 0;
    g->status_epoch = g->epoch;
    fe_image_write_status(g);
    if (g->sync && !is_told)
        fe_image_sync_now(s);
}

uint64_t fe_store_last_seq(const struct fe_store *s)
{
    return s->img ? s->img->seq : 0;
}

bool fe_store_is_clean(const struct fe_store *s)
{
    return s->img && s->img->status.clean;
}

const char *fe_store_image_note(const struct fe_store *s)
{
    return s->img && s->img->note[0] ? s->img->note : NULL;
}
