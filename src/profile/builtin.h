/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The shipped profiles, which are part of the program.  tools/embed.py writes the definitions
 * while flashemu is built.
 *
 *     profiles/NAME.ini --> tools/embed.py --> builtin.c: fe_builtins[], fe_profile_names[]
 *
 * The texts are the files, byte for byte.  A shipped profile is parsed by the same code as a file
 * of the user each time it is loaded; nothing is parsed during the build.  The folder profiles/ is
 * the only place to add a profile: the build finds a new file by itself.
 */
#pragma once

#include <stddef.h>

/* One shipped profile.  text need not end in NUL; len is what counts. */
struct fe_builtin {
    const char *file_name; /* "ideal.ini" */
    const char *text;
    size_t len;
};

/* Sorted by file name.  The last entry has a NULL file_name and only ends the list. */
extern const struct fe_builtin fe_builtins[];
