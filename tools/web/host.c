/* SPDX-License-Identifier: BSD-3-Clause
 *
 * There is no kernel behind a page in a browser: hints about memory do nothing.  No holes are
 * made in files and no file is locked, because no device here has an image.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/mman.h>

/* Debian builds clang's library of arithmetic with guards of the stack. */
uintptr_t __stack_chk_guard = 0x5ca1ab1e;
_Noreturn void __stack_chk_fail(void);

_Noreturn void __stack_chk_fail(void)
{
    abort();
}

int madvise(void *at, size_t bytes, int advice)
{
    (void)at;
    (void)bytes;
    (void)advice;
    return 0;
}

int fallocate(int fd, int mode, off_t off, off_t len)
{
    (void)fd;
    (void)mode;
    (void)off;
    (void)len;
    errno = ENOTSUP;
    return -1;
}

int flock(int fd, int operation)
{
    (void)fd;
    (void)operation;
    errno = ENOTSUP;
    return -1;
}
