/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The shipped profiles, which are part of the program.  tools/embed.py writes the definitions
 * while flashemu is built.
 */
#ifndef FE_PROFILE_BUILTIN_H
#define FE_PROFILE_BUILTIN_H

#include <stddef.h>

struct fe_builtin {
    const char *file_name; /* "ideal.ini" */
    const char *text;
    size_t len;
};

/* Sorted, ended by a NULL name. */
extern const struct fe_builtin fe_builtins[];

#endif
