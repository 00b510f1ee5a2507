/* SPDX-License-Identifier: BSD-3-Clause
 *
 * For LD_PRELOAD: the n-th call of a kind fails.
 *
 *     FAIL_KIND=memory|host   allocations, or calls of the host's files
 *     FAIL_NTH=N              counts from 1
 *     FAIL_ERRNO=E            of host calls
 *     FAIL_FD=FD              gets one byte when the call has failed
 *
 * Calls that the C library makes inside itself are not seen, except allocations.  So the writes of
 * stdio need another way: the tests limit the size of files.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static long left[2] = {-1, -1}; /* calls until the failing one; of memory, of the host */
static int error_number, report_fd = -1;

enum { MEMORY, HOST };

__attribute__((constructor)) static void begin(void)
{
    const char *kind = getenv("FAIL_KIND"), *nth = getenv("FAIL_NTH");
    const char *number = getenv("FAIL_ERRNO"), *fd = getenv("FAIL_FD");

    report_fd = fd ? atoi(fd) : -1;
    error_number = number ? atoi(number) : EIO;
    if (kind && nth)
        left[strcmp(kind, "host") == 0 ? HOST : MEMORY] = atol(nth);
}

static bool fails(int kind)
{
    if (left[kind] < 0 || --left[kind] != 0)
        return false;
    left[kind] = -1;
    ssize_t written = write(report_fd, "x", 1);
    (void)written;
    errno = kind == MEMORY ? ENOMEM : error_number;
    return true;
}

#define REAL(name)                                                   \
    static __typeof__(name) *real;                                   \
    if (!real)                                                       \
        real = (__typeof__(name) *)(void *)dlsym(RTLD_NEXT, #name)

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t n, size_t size);
extern void *__libc_realloc(void *p, size_t size);

void *malloc(size_t size)
{
    return fails(MEMORY) ? NULL : __libc_malloc(size);
}

void *calloc(size_t n, size_t size)
{
    return fails(MEMORY) ? NULL : __libc_calloc(n, size);
}

void *realloc(void *p, size_t size)
{
    return fails(MEMORY) ? NULL : __libc_realloc(p, size);
}

FILE *fopen(const char *path, const char *mode)
{
    REAL(fopen);
    return fails(HOST) ? NULL : real(path, mode);
}

FILE *fdopen(int fd, const char *mode)
{
    REAL(fdopen);
    return fails(HOST) ? NULL : real(fd, mode);
}

int fclose(FILE *f)
{
    REAL(fclose);
    bool failed = fails(HOST);
    int errnum = errno, r = real(f);
    if (!failed)
        return r;
    errno = errnum;
    return EOF;
}

int open(const char *path, int flags, ...)
{
    REAL(open);
    va_list ap;
    va_start(ap, flags);
    mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(ap, mode_t) : 0;
    va_end(ap);
    return fails(HOST) ? -1 : real(path, flags, mode);
}

int mkostemp(char *template, int flags)
{
    REAL(mkostemp);
    return fails(HOST) ? -1 : real(template, flags);
}

int rename(const char *from, const char *to)
{
    REAL(rename);
    return fails(HOST) ? -1 : real(from, to);
}

int fsync(int fd)
{
    REAL(fsync);
    return fails(HOST) ? -1 : real(fd);
}

int fchmod(int fd, mode_t mode)
{
    REAL(fchmod);
    return fails(HOST) ? -1 : real(fd, mode);
}

ssize_t read(int fd, void *buf, size_t len)
{
    REAL(read);
    return fails(HOST) ? -1 : real(fd, buf, len);
}

ssize_t pread(int fd, void *buf, size_t len, off_t offset)
{
    REAL(pread);
    return fails(HOST) ? -1 : real(fd, buf, len, offset);
}

int fstat(int fd, struct stat *st)
{
    REAL(fstat);
    return fails(HOST) ? -1 : real(fd, st);
}

void *mmap(void *at, size_t len, int prot, int flags, int fd, off_t offset)
{
    REAL(mmap);
    return fails(HOST) ? MAP_FAILED : real(at, len, prot, flags, fd, offset);
}

int fflush(FILE *f)
{
    REAL(fflush);
    return fails(HOST) ? EOF : real(f);
}
