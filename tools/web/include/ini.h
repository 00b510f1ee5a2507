/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The part of inih's interface that src/profile/parse.c uses; ../ini.c has what is behind it.
 */
#pragma once

typedef int (*ini_handler)(void *user, const char *section, const char *key, const char *value);
typedef char *(*ini_reader)(char *line, int size, void *stream);

/* Reads lines until `reader` returns NULL, and hands each key to `handler`.  Returns 0, or the
 * number of the first line that is neither a section nor a pair. */
int ini_parse_stream(ini_reader reader, void *stream, ini_handler handler, void *user);
