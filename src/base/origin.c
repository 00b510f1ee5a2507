/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The text of an origin.  It goes into lines of traces, so nothing in it may begin a new line.
 */
#include "base/origin.h"

#include <stdio.h>
#include <string.h>

const char fe_version[] = FLASHEMU_VERSION;

const char *const fe_origin_names[FE_N_ORIGIN_KEYS] = {
    [FE_ORIGIN_VERSION] = "version",     [FE_ORIGIN_COMMAND] = "command",
    [FE_ORIGIN_PROFILE] = "profile",     [FE_ORIGIN_OVERRIDES] = "overrides",
    [FE_ORIGIN_IMAGE] = "image",         [FE_ORIGIN_SEED] = "seed",
    [FE_ORIGIN_DATA] = "data",         [FE_ORIGIN_CAPACITY] = "capacity",
};

/* Appends text at buf[n] and returns the new length, which may be more than fits. */
static size_t append(char *buf, size_t len, size_t n, const char *text)
{
    return n + (size_t)snprintf(n < len ? buf + n : NULL, n < len ? len - n : 0, "%s", text);
}

bool fe_origin_text(const struct fe_origin *o, enum fe_origin_key key, char *buf, size_t len)
{
    const char *const texts[FE_N_ORIGIN_KEYS] = {
        [FE_ORIGIN_VERSION] = o->version, [FE_ORIGIN_COMMAND] = o->command,
        [FE_ORIGIN_PROFILE] = o->profile, [FE_ORIGIN_IMAGE] = o->image,
        [FE_ORIGIN_DATA] = o->data,
    };
    char number[24] = "";
    size_t n = 0;

    buf[0] = '\0';
    if (key == FE_ORIGIN_SEED && o->has_seed)
        snprintf(number, sizeof number, "%llu", (unsigned long long)o->seed);
    if (key == FE_ORIGIN_CAPACITY && o->capacity)
        snprintf(number, sizeof number, "%llu", (unsigned long long)o->capacity);
    n = append(buf, len, n, texts[key] ? texts[key] : number);
    for (uint32_t i = 0; key == FE_ORIGIN_OVERRIDES && i < o->n_overrides; i++) {
        n = append(buf, len, n, i ? " " : "");
        n = append(buf, len, n, o->overrides[i]);
    }
    if (n >= len && len > 3)
        memcpy(buf + len - 4, "...", 4);
    for (char *c = buf; *c; c++)
        if ((unsigned char)*c < 0x20 || *c == 0x7f)
            *c = '?';
    return n > 0;
}
