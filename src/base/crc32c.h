/* SPDX-License-Identifier: BSD-3-Clause
 *
 * CRC-32C (Castagnoli), the checksum of everything in an image.
 *
 * Bits are reflected; the initial value and the final inversion are all ones.  So the checksum of
 * "123456789" is 0xe3069283.  The implementation uses the processor's instruction (SSE 4.2) where
 * there is one, and a small table elsewhere; both give the same result.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Extends a checksum: crc is the checksum of the bytes before data[0, len), 0 if there are none.
 * Returns the checksum of all of them. */
uint32_t fe_crc32c(uint32_t crc, const void *data, size_t len);

/* The same computed with the table, so that tests can compare the two. */
uint32_t fe_crc32c_table(uint32_t crc, const void *data, size_t len);
