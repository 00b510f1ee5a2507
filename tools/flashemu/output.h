/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A file that a command writes: it appears whole or not at all.
 *
 * Thread rule: one thread of a command calls this, and no other one takes signals.  The module keeps a list of open outputs, and handles the
 * signals that end a program, so that an interrupted command leaves no temporary file.
 */
#pragma once

#include "flashemu/err.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum { OUTPUT_MAX = 4 }; /* outputs that are open at the same time */

/* All zeros means that none is open.  All members except name and file are private. */
struct output {
    const char *name; /* for messages */
    FILE *file;
    char *target;     /* the file to replace; NULL = written directly */
    uint32_t slot;    /* where the name of the temporary file is kept */
};

/* --force of the commands that write files: replaces whatever is there, except inputs and what a
 * server has in use. */
extern bool output_force;

/* Bytes of the image that the command writes: a file of this size is taken for one that was made
 * before, because nothing in an image says whose it is.  0 = it writes none. */
extern uint64_t output_image_bytes;

/* Opens an output.  The caller keeps path; NULL and "-" are standard output.  A regular file, or
 * one that does not exist yet, is first written under another name in the same folder.  Anything
 * else (a terminal, a FIFO, a device) is written directly.  A symbolic link stays, and the file
 * to which it points is replaced.
 *
 * inputs are the n names of files that the command reads; NULL, names that do not exist and
 * "gen:..." are passed over, and "-" is standard input.  An output that is one of these files, or
 * that another open output writes, is refused.  So is one that would replace a file which flashemu has
 * not made, unless output_force is set: a trace, page or picture of flashemu says so at its beginning,
 * and an empty file is nobody's.  A file that a server has locked, because it is its trace or its image, is
 * refused in any case.
 *
 * Returns 0, or a negative errno with message. */
int output_open(struct output *o, const char *path, const char *const *inputs, uint32_t n,
                struct fe_err *err);

/* Closes the output.  r is the result of the command so far: if it is 0, the data go to the disk
 * and the file takes its place.  Otherwise, and after a failure, what has been written is removed,
 * and a file that was there before stays as it was.
 *
 * Returns r, or a negative errno with message.  Standard output stays open until tool_finish.  Does
 * nothing if no output is open. */
int output_close(struct output *o, int r, struct fe_err *err);
