/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What roff would take for something else: a backslash, a '-' that is a minus, and a '.' or '''
 * that begins a line.  A sentence begins a line of its own, as roff wants it.
 */
#include "base/roff.h"

#include <stdbool.h>
#include <string.h>

void fe_roff_put(FILE *out, const char *text)
{
    bool begins = true;

    for (; *text; text++) {
        if (begins && (*text == '.' || *text == '\''))
            fputs("\\&", out);
        begins = strncmp(text, ".  ", 3) == 0;
        if (begins) {
            fputs(".\n", out);
            text += 2;
        } else if (*text == '\\') {
            fputs("\\e", out);
        } else if (*text == '-') {
            fputs("\\-", out);
        } else {
            fputc(*text, out);
        }
    }
}
