/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The part of jansson's interface with which src/obs builds its objects, and that prints them as
 * jansson does; ../json.c has what is behind it.  Nobody has built jansson for WebAssembly.
 *
 * A function that makes a value returns NULL without memory, and one that takes a value takes it
 * over in any case.
 */
#pragma once

#include <stddef.h>
#include <stdio.h>

typedef struct json json_t;
typedef long long json_int_t;

#define JSON_INTEGER_FORMAT "lld"
#define JSON_REAL_PRECISION(digits) (digits)

json_t *json_object(void);
json_t *json_array(void);
json_t *json_string(const char *text);
json_t *json_stringn(const char *text, size_t len);
json_t *json_integer(json_int_t n);
json_t *json_real(double x);
json_t *json_boolean(int value);
json_t *json_null(void);

/* "{s:I, s:b, s:s, s:o}": an object of integers, truth values, texts and other values. */
json_t *json_pack(const char *format, ...);

int json_object_set_new(json_t *object, const char *key, json_t *value);
json_t *json_object_get(const json_t *object, const char *key); /* still the object's */
int json_array_append_new(json_t *array, json_t *value);

int json_is_integer(const json_t *value);
int json_is_string(const json_t *value);
json_int_t json_integer_value(const json_t *value);
const char *json_string_value(const json_t *value);
size_t json_string_length(const json_t *value);

void json_decref(json_t *value); /* a value has one owner: this frees it */

/* Prints the value in one line, real numbers with so many digits.  Returns 0, or -1. */
int json_dumpf(const json_t *value, FILE *out, size_t digits);
