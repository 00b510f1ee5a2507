/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Where the scripts of tools/vm and the plugin are that belong to this program, and which other
 * programs this machine has.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Finds the scripts: in the folder that $FLASHEMU_SCRIPTS names, above the program in a build tree,
 * or where they are installed.  In a build tree the plugin is next to the tool.  From now on
 * $FLASHEMU_PLUGIN names the plugin, for the scripts; *ret_plugin is its path, or NULL without
 * memory.  Returns whether the scripts are in `scripts`. */
bool scripts_find(char *scripts, size_t size, const char **ret_plugin);

/* Whether $PATH has a program of this name. */
bool scripts_in_path(const char *name);
