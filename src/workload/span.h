/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Pieces of a line, and the text of a line that is written.
 *
 * Pure; any thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* A piece of a line.  It has no NUL at its end, and stays valid until the next line. */
struct fe_span {
    const char *p;
    size_t len;
};

static inline bool fe_span_is(struct fe_span s, const char *word)
{
    return s.len == strlen(word) && memcmp(s.p, word, s.len) == 0;
}

static inline bool fe_span_begins(struct fe_span s, const char *text)
{
    size_t len = strlen(text);
    return s.len >= len && memcmp(s.p, text, len) == 0;
}

/* How many characters of s a message shows. */
static inline int fe_span_shown(struct fe_span s)
{
    return s.len > 80 ? 80 : (int)s.len;
}

/* Takes the next word off the front of *rest.  Blanks and tabs separate words.  The word is
 * empty at the end. */
static inline struct fe_span fe_span_word(struct fe_span *rest)
{
    const char *p = rest->p, *end = rest->p + rest->len;

    while (p < end && (*p == ' ' || *p == '\t'))
        p++;
    const char *word = p;
    while (p < end && *p != ' ' && *p != '\t')
        p++;
    *rest = (struct fe_span){p, (size_t)(end - p)};
    return (struct fe_span){word, (size_t)(p - word)};
}

/* Puts text at p; returns its end. */
static inline char *fe_put_text(char *p, const char *text)
{
    size_t len = strlen(text);
    memcpy(p, text, len);
    return p + len;
}
