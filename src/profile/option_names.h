/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The `name` functions of the option table: each returns the name of value i of its enum, or NULL
 * if there is no such value.
 */
#pragma once

#include <stdint.h>

const char *fe_name_cell(uint32_t i);
const char *fe_name_policy(uint32_t i);
const char *fe_name_hot_cold(uint32_t i);
const char *fe_name_wear(uint32_t i);
const char *fe_name_slc_mode(uint32_t i);
const char *fe_name_link(uint32_t i);
const char *fe_name_queue(uint32_t i);
const char *fe_name_cache_mode(uint32_t i);
const char *fe_name_ftl(uint32_t i);
const char *fe_name_beyond(uint32_t i);
const char *fe_name_end_of_life(uint32_t i);
const char *fe_name_life_shape(uint32_t i);
const char *fe_name_cut_sector(uint32_t i);
