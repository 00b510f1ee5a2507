/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Text and numbers of 64 bits in JSON.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The len bytes at text as a JSON string: a new reference, or NULL without memory.
 *
 * A JSON string must be UTF-8.  A file name need not be, and a message that was cut may end in
 * the middle of a character.  If the text is not UTF-8, each byte from 0x80 on becomes '?'. */
json_t *fe_json_text(const char *text, size_t len);

/* n as JSON: a new reference, or NULL without memory.  An integer of jansson is signed, so what is
 * above 2^63 - 1 is a string of its decimal digits. */
json_t *fe_json_u64(uint64_t n);

/* The number that fe_json_u64() has made.  False if o is anything else, or NULL. */
bool fe_json_to_u64(const json_t *o, uint64_t *ret);
