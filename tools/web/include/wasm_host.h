/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What WebAssembly's C library lacks of a host, in one place; the compiler reads this in front of
 * each file, and ../host.c has the functions.
 */
#pragma once

#include <sys/types.h>

/* Only readers of traces use this one, for a file that ends too early; no call of WASI has it. */
#define ENODATA 200

#define MADV_POPULATE_WRITE 23
#define FALLOC_FL_KEEP_SIZE 1
#define FALLOC_FL_PUNCH_HOLE 2

int fallocate(int fd, int mode, off_t off, off_t len);
