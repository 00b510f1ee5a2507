/* SPDX-License-Identifier: BSD-3-Clause */
#include "cmdline.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CMDLINE "/proc/self/cmdline" /* arguments, each ended by NUL */

void fe_cmdline_text(char *buf, size_t size)
{
    FILE *f = fopen(CMDLINE, "re");
    size_t n = f ? fread(buf, 1, size - 1, f) : 0;

    if (f)
        fclose(f);
    while (n > 0 && buf[n - 1] == '\0')
        n--;
    for (size_t i = 0; i < n; i++)
        if (buf[i] == '\0')
            buf[i] = ' ';
    buf[n] = '\0';
}

/* -r, also among other letters as in -fr, and --readonly or --read-only, which may be cut short. */
static bool is_r(const char *arg)
{
    size_t len = strlen(arg);
    if (strncmp(arg, "--", 2) == 0)
        return len > 3 && (strncmp("--readonly", arg, len) == 0 ||
                           strncmp("--read-only", arg, len) == 0);
    for (size_t i = 1; arg[0] == '-' && i < len && !strchr("DegiPptuU", arg[i]); i++)
        if (arg[i] == 'r')
            return true;
    return false; /* the letters above take the rest of the argument */
}

bool fe_cmdline_is_read_only(void)
{
    FILE *f = fopen(CMDLINE, "re");
    char *arg = NULL;
    size_t size = 0;
    bool found = false, is_program = true;

    if (!f)
        return false;
    for (; !found && getdelim(&arg, &size, '\0', f) >= 0; is_program = false)
        found = !is_program && is_r(arg);
    free(arg);
    fclose(f);
    return found;
}
