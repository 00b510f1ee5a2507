/* SPDX-License-Identifier: BSD-3-Clause
 *
 * CRC-32C (Castagnoli), the checksum of everything in an image.
 *
 * Reflected, initial value and final inversion of all ones, so that "123456789" gives
 * 0xe3069283.  It takes the processor's instruction where there is one (SSE 4.2), a
 * small table elsewhere; both give the same.
 */
#ifndef FE_BASE_CRC32C_H
#define FE_BASE_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/* The checksum of data[0, len) after what `crc` is the checksum of; 0 to start. */
uint32_t fe_crc32c(uint32_t crc, const void *data, size_t len);

/* The same by the table, for tests. */
uint32_t fe_crc32c_table(uint32_t crc, const void *data, size_t len);

#endif
