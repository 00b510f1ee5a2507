/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What every unit test with cmocka includes, in the order that cmocka requires.
 */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ft_array_len(a) (sizeof(a) / sizeof *(a))

/* The descriptor that the next file gets. */
static inline int ft_next_fd(void)
{
    int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (fd >= 0)
        close(fd);
    return fd;
}

/* 1, and a message, if a file is open that was not when ft_next_fd() returned `before`. */
static inline int ft_left_open(int before)
{
    bool left = ft_next_fd() != before;
    if (left)
        print_error("descriptor %d is left open\n", before);
    return left;
}
