/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Memory for large tables, such as those that have one entry for each page of the chip, which are
 * read at random places; and for tables that grow.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Returns n zeroed entries, or NULL as calloc does.  The caller ends the table with free().
 *
 * Large tables ask for the host's huge pages.  Without them, looking up a random entry of a table
 * of many megabytes waits as long for the address translation as for the entry itself. */
void *fe_table_alloc(size_t n, size_t entry_size);

/* A table with room for `need` entries; it has room for *room now, and begins as NULL and 0.  Returns it,
 * maybe moved and with more than twice the room, which *room says then; or NULL, and it is as it was.
 * New entries are not zeroed. */
void *fe_table_grow(void *table, uint64_t need, size_t *room, size_t entry_size);

/* Returns `bytes` zeros, page-aligned, or NULL with errno.  They may be more than the host has,
 * because only what is written takes memory.  Large ones ask for huge pages, and begin at one.  The
 * caller ends them with fe_table_unmap and the same `bytes`; NULL is allowed there. */
void *fe_table_map(size_t bytes);
void fe_table_unmap(void *table, size_t bytes);
