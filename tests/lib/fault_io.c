/* SPDX-License-Identifier: BSD-3-Clause */
#include "lib/fault_io.h"

#include "base/num.h"
#include "base/rng.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SECTOR 512u

/* What one sector was before one write. */
struct ft_undo {
    struct ft_undo *older;
    uint64_t sector;
    uint8_t old[SECTOR];
};

static void must(bool ok)
{
    if (!ok)
        abort();
}

static bool is_change(enum ft_call call)
{
    return call == FT_PWRITE || call == FT_FDATASYNC || call == FT_PUNCH;
}

static bool fails(struct ft_io *f, enum ft_call call)
{
    f->n[call]++;
    if (is_change(call) && f->changes_left == 0) {
        errno = EIO;
        return true;
    }
    if (is_change(call) && f->changes_left != UINT64_MAX)
        f->changes_left--;
    if (f->fail_at == 0 || call != f->fail_call || f->n[call] < f->fail_at ||
        (f->n[call] > f->fail_at && !f->fail_on))
        return false;
    errno = f->fail_errno;
    return true;
}

static size_t shorten(const struct ft_io *f, size_t len)
{
    return f->longest && len > f->longest ? f->longest : len;
}

static ssize_t fault_pread(void *ctx, int fd, void *buf, size_t len, off_t off)
{
    struct ft_io *f = ctx;
    return fails(f, FT_PREAD) ? -1 : pread(fd, buf, shorten(f, len), off);
}

static void remember(struct ft_io *f, int fd, uint64_t from, uint64_t to)
{
    for (uint64_t sector = from / SECTOR; sector * SECTOR < to; sector++) {
        struct ft_undo *u = calloc(1, sizeof *u);
        must(u != NULL);
        u->sector = sector;
        u->older = f->undo;
        f->undo = u;
        must(pread(fd, u->old, SECTOR, (off_t)(sector * SECTOR)) >= 0);
    }
}

static void forget(struct ft_io *f)
{
    while (f->undo) {
        struct ft_undo *u = f->undo;
        f->undo = u->older;
        free(u);
    }
}

static ssize_t fault_pwrite(void *ctx, int fd, const void *buf, size_t len, off_t off)
{
    struct ft_io *f = ctx;
    if (fails(f, FT_PWRITE))
        return -1;
    len = shorten(f, len);
    if (f->log)
        remember(f, fd, (uint64_t)off, (uint64_t)off + len);
    return pwrite(fd, buf, len, off);
}

static int fault_fdatasync(void *ctx, int fd)
{
    struct ft_io *f = ctx;
    if (fails(f, FT_FDATASYNC))
        return -1;
    if (f->lost) {
        must(fd < FT_MAX_FD);
        errno = EIO;
        if (!f->told[fd]) {
            f->told[fd] = true;
            return -1;
        }
    } /* a test reads the page cache, so nothing has to reach a disk */
    forget(f);
    return 0;
}

static int fault_ftruncate(void *ctx, int fd, off_t len)
{
    return fails(ctx, FT_FTRUNCATE) ? -1 : ftruncate(fd, len);
}

/* A hole may reach the disk immediately, so a crash does not bring back what was there. */
static int fault_punch(void *ctx, int fd, off_t off, off_t len)
{
    return fails(ctx, FT_PUNCH) ? -1 : fe_io_host.punch(NULL, fd, off, len);
}

void ft_io_init(struct ft_io *f)
{
    *f = (struct ft_io){.changes_left = UINT64_MAX, .io = {
                            .ctx = f,
                            .pread = fault_pread,
                            .pwrite = fault_pwrite,
                            .fdatasync = fault_fdatasync,
                            .ftruncate = fault_ftruncate,
                            .punch = fault_punch,
                        }};
}

void ft_io_fini(struct ft_io *f)
{
    forget(f);
}

static int compare(const void *a, const void *b)
{
    const struct ft_undo *x = *(struct ft_undo *const *)a, *y = *(struct ft_undo *const *)b;
    return x->sector < y->sector ? -1 : x->sector > y->sector;
}

void ft_io_crash(struct ft_io *f, const char *path, uint64_t seed)
{
    size_t n = 0;
    for (struct ft_undo *u = f->undo; u; u = u->older)
        n++;
    struct ft_undo **all = calloc(n + 1, sizeof *all);
    int fd = open(path, O_RDWR | O_CLOEXEC);
    must(all != NULL && fd >= 0);
    n = 0;
    for (struct ft_undo *u = f->undo; u; u = u->older)
        all[n++] = u;
    qsort(all, n, sizeof *all, compare);
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i; end < n && all[end]->sector == all[i]->sector; end++)
            ;
        uint64_t k = fe_rng_below(fe_rng(seed, FE_RNG_TEST, all[i]->sector, n), end - i + 1);
        if (k < end - i)
            must(pwrite(fd, all[i + k]->old, SECTOR, (off_t)(all[i]->sector * SECTOR)) == SECTOR);
    }
    close(fd);
    free(all);
    forget(f);
}

void ft_flip_byte(const char *path, int64_t offset)
{
    uint8_t byte = 0;
    int fd = open(path, O_RDWR | O_CLOEXEC);
    must(fd >= 0);
    off_t at = lseek(fd, offset, offset < 0 ? SEEK_END : SEEK_SET);
    must(at >= 0 && pread(fd, &byte, 1, at) == 1);
    byte ^= 0x10;
    must(pwrite(fd, &byte, 1, at) == 1);
    close(fd);
}
