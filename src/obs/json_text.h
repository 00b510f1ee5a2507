/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Text as a JSON string.
 */
#ifndef FE_OBS_JSON_TEXT_H
#define FE_OBS_JSON_TEXT_H

#include <jansson.h>
#include <stddef.h>

/* The len bytes at text as a JSON string: a new reference, or NULL without memory.
 *
 * A JSON string must be UTF-8.  A file name need not be, and a message that was cut may end in
 * the middle of a character.  If the text is not UTF-8, each byte from 0x80 on becomes '?'. */
json_t *fe_json_text(const char *text, size_t len);

#endif
