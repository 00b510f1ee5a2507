/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What src/profile/parse.c needs of the library inih, which nobody has built for WebAssembly.
 *
 * The gate of the parser hands on only lines that every version of inih reads in the same way: a
 * section, KEY = VALUE or KEY: VALUE, or the continuation of a value, which begins with a blank.
 * So this is all of it.  What the two read is compared by the tests, with every shipped profile.
 */
#include "ini.h"

#include <stdbool.h>
#include <string.h>

enum { LINE_BYTES = 512 };

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* Ends the text at a ';' behind a blank, and takes the blanks from both ends. */
static char *strip(char *s, bool comments)
{
    for (size_t i = 1; comments && *s && s[i]; i++)
        if (s[i] == ';' && is_blank(s[i - 1]))
            s[i] = '\0';
    while (is_blank(*s))
        s++;
    size_t n = strlen(s);
    while (n > 0 && is_blank(s[n - 1]))
        s[--n] = '\0';
    return s;
}

static char *end_of_key(char *s)
{
    char *sep = strpbrk(s, "=:");

    return sep && sep > s ? sep : NULL;
}

int ini_parse_stream(ini_reader reader, void *stream, ini_handler handler, void *user)
{
    char line[LINE_BYTES], key[LINE_BYTES] = "";
    int bad = 0;

    for (int number = 1; reader(line, sizeof line, stream); number++) {
        bool continues = is_blank(*line) && *key;
        char *s = strip(line, true), *sep;
        bool good = true;
        if (*s == '\0' || *s == ';' || *s == '#')
            continue;
        if (continues) {
            good = handler(user, "", key, s);
        } else if (*s == '[') {
            *key = '\0';
        } else if ((sep = end_of_key(s))) {
            *sep = '\0';
            strcpy(key, strip(s, false));
            good = handler(user, "", key, strip(sep + 1, false));
        } else {
            good = false;
        }
        if (!good && bad == 0)
            bad = number;
    }
    return bad;
}
