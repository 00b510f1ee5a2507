/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Fetching early what a large table will be asked for.
 */
#pragma once

/* Asks for the cache line at p, which will be read or written soon.  Nothing happens if p is no
 * address.  The empty statement counts as an effect: without it gcc 12 takes a function that only
 * fetches for one that does nothing, and drops its calls. */
static inline void fe_fetch(const void *p)
{
    __builtin_prefetch(p, 1);
    __asm__ volatile("");
}
