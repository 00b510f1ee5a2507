/* SPDX-License-Identifier: BSD-3-Clause */
#include "scripts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool executable(const char *folder, const char *name)
{
    char path[700];
    int n = snprintf(path, sizeof path, "%s/%s", folder, name);

    return n < (int)sizeof path && access(path, X_OK) == 0;
}

/* The plugin that the environment names.  If it names none, path is used from now on.  NULL without
 * memory. */
static const char *plugin_or(const char *path)
{
    return setenv("FLASHEMU_PLUGIN", path, 0) < 0 ? NULL : getenv("FLASHEMU_PLUGIN");
}

bool scripts_find(char *scripts, size_t size, const char **ret_plugin)
{
    const char *named = getenv("FLASHEMU_SCRIPTS");
    char exe[512], plugin[600];
    ssize_t len = readlink("/proc/self/exe", exe, sizeof exe - 1);

    exe[len > 0 ? len : 0] = '\0';
    snprintf(scripts, size, "%s", named ? named : FLASHEMU_SCRIPTS);
    for (int up = 0; !named && up < 5 && strrchr(exe, '/'); up++) {
        *strrchr(exe, '/') = '\0';
        snprintf(plugin, sizeof plugin, "%s/plugin/nbdkit-flashemu-plugin.so", exe);
        if (access(plugin, R_OK) == 0 && !plugin_or(plugin))
            break;
        if (snprintf(plugin, sizeof plugin, "%s/tools/vm", exe) < (int)size &&
            executable(plugin, "serve")) {
            memcpy(scripts, plugin, strlen(plugin) + 1);
            break;
        }
    }
    *ret_plugin = plugin_or(FLASHEMU_PLUGIN_PATH);
    return executable(scripts, "serve") && executable(scripts, "on-host");
}

bool scripts_in_path(const char *name)
{
    const char *path = getenv("PATH");
    char folder[512];

    for (path = path ? path : "/usr/bin:/bin"; *path; path += *path == ':') {
        size_t len = strcspn(path, ":");
        snprintf(folder, sizeof folder, "%.*s", (int)len, path);
        if (len > 0 && executable(folder, name))
            return true;
        path += len;
    }
    return false;
}
