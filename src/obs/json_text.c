/* SPDX-License-Identifier: BSD-3-Clause
 *
 * jansson refuses text that is not UTF-8, and reports a lack of memory in the same way.  So a
 * refusal leads to a second attempt with ASCII, which fails only without memory.
 */
#include "obs/json_text.h"

#include <stdlib.h>

json_t *fe_json_text(const char *text, size_t len)
{
    json_t *ret = json_stringn(text, len);

    if (ret)
        return ret;
    char *ascii = malloc(len + 1);
    for (size_t i = 0; ascii && i < len; i++)
        ascii[i] = (unsigned char)text[i] < 0x80 ? text[i] : '?';
    ret = ascii ? json_stringn(ascii, len) : NULL;
    free(ascii);
    return ret;
}
