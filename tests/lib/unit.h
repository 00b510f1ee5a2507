/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What every unit test with cmocka includes, in the order that cmocka requires.
 */
#ifndef FT_UNIT_H
#define FT_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#define ft_array_len(a) (sizeof(a) / sizeof *(a))

#endif
