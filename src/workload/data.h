/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The bytes that the writes of a trace wrote, in a file beside the trace.
 *
 *     trace     0 write 8192 8192 data=36        17000 write 0 4096 data=4240
 *                                    |                             |
 *     data      # flashemu data 1    v                             v
 *               block block  list(block, block)  block  list(block)
 *
 * A write is cut at the multiples of FE_DATA_BLOCK of the device.  Each distinct block is in the file
 * once, and a block of zeros never.  A list names the blocks of a write; equal lists are there once,
 * too.  `data=` is the place of the list.  The file has one line of text, and then records without
 * anything between them:
 *
 *     u32 kind     0x6b636c62 "blck" or 0x7473696c "list"
 *     u32 length   of what follows
 *     u32 check    CRC-32C of the kind, the length and what follows
 *     bytes        of a block; of a list, a u64 for each block: its place in the file, 0: zeros
 *
 * All numbers are little endian.  Whatever a place names must be a record of the right kind and length
 * with the right check, so a file that belongs to another trace is found out.
 *
 * Thread rule: one caller at a time for each writer or reader.
 */
#pragma once

#include "base/digest.h"
#include "flashemu/err.h"

#include <stdint.h>
#include <stdio.h>

enum { FE_DATA_BLOCK = 4096 };

#define FE_DATA_FIRST_LINE "# flashemu data 1\n"

struct fe_data_writer;

/* Begins a file.  The caller keeps file and name, for messages.  The host's error or -ENOMEM with
 * message. */
int fe_data_writer_open(struct fe_data_writer **ret, FILE *file, const char *name,
                        struct fe_err *err);

/* Adds what was written at that offset of a device; buf NULL: zeros.  *ret_ref, which is not 0, is
 * what the trace says.  After an error every further call returns the same error. */
int fe_data_put(struct fe_data_writer *w, uint64_t offset, uint64_t len, const void *buf,
                uint64_t *ret_ref, struct fe_err *err);

/* Hands to the file what is buffered; to be called before the trace that names it is written. */
int fe_data_flush(struct fe_data_writer *w, struct fe_err *err);

/* Flushes and frees; err may be NULL. */
int fe_data_writer_close(struct fe_data_writer *w, struct fe_err *err);

struct fe_data_reader;

/* Opens the file of that name.  -EINVAL with message if it is no such file. */
int fe_data_reader_open(struct fe_data_reader **ret, const char *path, struct fe_err *err);

/* What a trace calls the file with its data: the name alone if both are in one folder, so that they can
 * be moved together.  And opens the file that a trace calls so; if it is gone, the message names both. */
const char *fe_data_name_beside(const char *trace, const char *data);
int fe_data_open_beside(struct fe_data_reader **ret, const char *trace, const char *name,
                        struct fe_err *err);
void fe_data_reader_close(struct fe_data_reader *r);

/* Reads what a write of that range wrote into buf[0, len).  -EINVAL with message if the file does
 * not have it. */
int fe_data_get(struct fe_data_reader *r, uint64_t ref, uint64_t offset, uint64_t len, void *buf,
                struct fe_err *err);
