/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The names of values that are one of a few words, as profiles write them.
 */
#include "profile/option_names.h"

#include "flashemu/profile.h"
#include "ftl/blocks/victim.h"
#include "ftl/ftl.h"

#include <stddef.h>

const char *fe_name_cell(uint32_t i)
{
    static const char *const names[FE_N_CELLS] = {
        [FE_CELL_SLC] = "slc", [FE_CELL_MLC] = "mlc", [FE_CELL_TLC] = "tlc", [FE_CELL_NOR] = "nor",
    };
    return i < FE_N_CELLS ? names[i] : NULL;
}

const char *fe_name_policy(uint32_t i)
{
    return fe_gc_policy_name(i);
}

const char *fe_name_hot_cold(uint32_t i)
{
    static const char *const names[FE_N_HOT_COLDS] = {
        [FE_HOT_COLD_OFF] = "off", [FE_HOT_COLD_GC] = "gc", [FE_HOT_COLD_TWO_POOL] = "two-pool",
    };
    return i < FE_N_HOT_COLDS ? names[i] : NULL;
}

const char *fe_name_wear(uint32_t i)
{
    static const char *const names[FE_N_WEAR_LEVELLINGS] = {
        [FE_WEAR_OFF] = "off", [FE_WEAR_DYNAMIC] = "dynamic", [FE_WEAR_STATIC] = "static",
    };
    return i < FE_N_WEAR_LEVELLINGS ? names[i] : NULL;
}

const char *fe_name_slc_mode(uint32_t i)
{
    static const char *const names[FE_N_SLC_MODES] = {
        [FE_SLC_OFF] = "off", [FE_SLC_STATIC] = "static", [FE_SLC_DYNAMIC] = "dynamic",
    };
    return i < FE_N_SLC_MODES ? names[i] : NULL;
}

const char *fe_name_link(uint32_t i)
{
    static const char *const names[FE_N_LINK_TYPES] = {
        [FE_LINK_PARALLEL] = "parallel", [FE_LINK_USB_FS] = "usb-fs", [FE_LINK_USB_HS] = "usb-hs",
        [FE_LINK_USB_SS] = "usb-ss",     [FE_LINK_UAS] = "uas",       [FE_LINK_SD_DS] = "sd-ds",
        [FE_LINK_SD_HS] = "sd-hs",       [FE_LINK_SD_UHS] = "sd-uhs", [FE_LINK_EMMC] = "emmc",
        [FE_LINK_EMMC_CQ] = "emmc-cq",   [FE_LINK_NONE] = "none",
        [FE_LINK_SD_DDR50] = "sd-ddr50", [FE_LINK_SD_A2] = "sd-a2",
        [FE_LINK_EMMC_HS200] = "emmc-hs200", [FE_LINK_EMMC_HS400] = "emmc-hs400",
    };
    return i < FE_N_LINK_TYPES ? names[i] : NULL;
}

const char *fe_name_queue(uint32_t i)
{
    static const char *const names[FE_N_QUEUES] = {
        [FE_QUEUE_IN_ORDER] = "in-order", [FE_QUEUE_ANY_ORDER] = "any-order",
        [FE_QUEUE_OFF] = "off", [FE_QUEUE_IN_TURN] = "in-turn",
    };
    return i < FE_N_QUEUES ? names[i] : NULL;
}

const char *fe_name_cache_mode(uint32_t i)
{
    static const char *const names[FE_N_CACHE_MODES] = {
        [FE_CACHE_ON] = "on", [FE_CACHE_OFF] = "off",
    };
    return i < FE_N_CACHE_MODES ? names[i] : NULL;
}

/* The registry is the list of strategies; it is walked, since i may lie behind its end. */
const char *fe_name_ftl(uint32_t i)
{
    for (uint32_t k = 0; fe_ftl_registry[k]; k++)
        if (k == i)
            return fe_ftl_registry[k]->name;
    return NULL;
}

const char *fe_name_beyond(uint32_t i)
{
    static const char *const names[FE_N_BEYONDS] = {
        [FE_BEYOND_WRAP] = "wrap", [FE_BEYOND_DROP] = "drop",
        [FE_BEYOND_MODULE] = "module",
    };
    return i < FE_N_BEYONDS ? names[i] : NULL;
}

const char *fe_name_end_of_life(uint32_t i)
{
    static const char *const names[FE_N_EOLS] = {
        [FE_EOL_READ_ONLY] = "read-only", [FE_EOL_FULL] = "full", [FE_EOL_DEAD] = "dead",
        [FE_EOL_SLOW] = "slow", [FE_EOL_SILENT] = "silent",
    };
    return i < FE_N_EOLS ? names[i] : NULL;
}

const char *fe_name_life_shape(uint32_t i)
{
    static const char *const names[FE_N_LIFE_SHAPES] = {
        [FE_LIFE_UNIFORM] = "uniform", [FE_LIFE_LOGNORMAL] = "lognormal",
    };
    return i < FE_N_LIFE_SHAPES ? names[i] : NULL;
}

const char *fe_name_cut_sector(uint32_t i)
{
    static const char *const names[FE_N_CUT_SECTORS] = {
        [FE_CUT_SECTOR_WHOLE] = "whole", [FE_CUT_SECTOR_TORN] = "torn",
        [FE_CUT_SECTOR_GARBAGE] = "garbage", [FE_CUT_SECTOR_UNREADABLE] = "unreadable",
        [FE_CUT_SECTOR_ANY] = "any",
    };
    return i < FE_N_CUT_SECTORS ? names[i] : NULL;
}
