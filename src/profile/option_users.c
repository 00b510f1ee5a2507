/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Which strategies use an option, as its row in the table says.
 */
#include "ftl/ftl.h"
#include "profile/options.h"

#include <stdio.h>
#include <string.h>

/* Compares whole words of used_by: a strategy's name may be a part of another one's.  used_by takes
 * precedence over on_chip. */
bool fe_option_is_used(const struct fe_option *o, uint32_t ftl_type)
{
    const char *name = fe_ftl_registry[ftl_type]->name, *at = o->used_by;
    size_t len = strlen(name);
    if (!at)
        return !o->on_chip || !fe_ftl_registry[ftl_type]->no_medium;
    for (; *at; at += strcspn(at, " "), at += *at == ' ')
        if (strcspn(at, " ") == len && memcmp(at, name, len) == 0)
            return true;
    return false;
}

void fe_option_users(const struct fe_option *o, char *buf, size_t len)
{
    buf[0] = '\0';
    for (uint32_t i = 0; fe_ftl_registry[i]; i++)
        if (fe_option_is_used(o, i))
            fe_text_add(buf, len, "%s%s", buf[0] ? " " : "", fe_ftl_registry[i]->name);
}

void fe_option_why_unused(const struct fe_option *o, uint32_t ftl_type, char *buf, size_t len)
{
    char users[128];
    fe_option_users(o, users, sizeof users);
    snprintf(buf, len, "has no effect with ftl.type=%s; used by: %s",
             fe_ftl_registry[ftl_type]->name, users);
}
