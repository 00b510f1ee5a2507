/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Memory for tables that have an entry per page of the chip and are read all over the
 * place.
 */
#ifndef FE_BASE_TABLE_H
#define FE_BASE_TABLE_H

#include <stddef.h>

/* n zeroed entries, or NULL as calloc says; ended by free().  Large tables ask for the
 * host's huge pages: looking up random entries of a table of many megabytes otherwise waits
 * for address translation as long as for the entry itself. */
void *fe_table_alloc(size_t n, size_t entry_size);

#endif
