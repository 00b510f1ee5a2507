/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What roff would take for something else: a backslash, a '-' that is a minus, and a '.' or '''
 * that begins a line.
 */
#include "base/roff.h"

void fe_roff_put(FILE *out, const char *text)
{
    if (*text == '.' || *text == '\'')
        fputs("\\&", out);
    for (; *text; text++) {
        if (*text == '\\')
            fputs("\\e", out);
        else if (*text == '-')
            fputs("\\-", out);
        else
            fputc(*text, out);
    }
}
