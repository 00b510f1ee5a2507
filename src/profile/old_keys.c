/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The table of keys that went; old_keys.h says what they still mean.
 */
#include "profile/old_keys.h"

#include <errno.h>
#include <string.h>

/* The row that a key had which no heir has.  A value is parsed into a profile that is thrown away, so
 * any field of the right type will do. */
#define ROW(...) &(const struct fe_option){__VA_ARGS__}
#define ANY_U32 .offset = offsetof(struct fe_profile, nand.channels)
#define ANY_U64 .offset = offsetof(struct fe_profile, device.capacity)
#define ANY_BOOL .offset = offsetof(struct fe_profile, device.discard)
#define MAX_SIZE .max = UINT64_C(1) << 30

const struct fe_old_key fe_old_keys[] = {
    {FE_SEC_FTL, "direct_read",
     ROW(.type = FE_OPT_SIZE, ANY_U64, .min = 512, MAX_SIZE, .multiple = 512, .zero = "page", .def = "page"),
     .also = "4K", .why = "a command that reads up to 4K begins no stream on any card"},
    {FE_SEC_FTL, "slc_write",
     ROW(.type = FE_OPT_SIZE, ANY_U64, .min = 512, MAX_SIZE, .zero = "any", .def = "any"),
     .heir = "ftl.slc_run"},
    {FE_SEC_FTL, "gather_page",
     ROW(.type = FE_OPT_TIME, ANY_U64, .max = UINT64_C(10000000000), .def = "0"),
     .why = "gathering a group takes no more than its copies on any card; ftl.copy_page is their time"},
    {FE_SEC_NAND, "program_passes", ROW(.type = FE_OPT_U32, ANY_U32, .min = 1, .max = 4, .def = "1"),
     .why = "the data of a page cross the channel once; nand.tPROG is the sum of all passes"},
    {FE_SEC_LINK, "packed", ROW(.type = FE_OPT_U32, ANY_U32, .min = 1, .max = 64, .def = "1"),
     .why = "no host packs writes any more, and no figure was measured with it"},
    {FE_SEC_STEP, "block_size",
     ROW(.type = FE_OPT_SIZE, ANY_U64, .min = 512, MAX_SIZE, .multiple = 512, .def = "512"),
     .why = "a block of the step model is a sector of 512 bytes"},
    {FE_SEC_STEP, "streams", ROW(.type = FE_OPT_U32, ANY_U32, .max = 1024, .def = "1"),
     .why = "the stick that was measured knows one run of reads, and one of writes"},
    {FE_SEC_STEP, "read_step",
     ROW(.type = FE_OPT_TIME, ANY_U64, .max = UINT64_C(10000000000), .def = "0"),
     .why = "between its delays, the stick that was measured reads on for nothing"},
    {FE_SEC_STEP, "read_payback", ROW(.type = FE_OPT_BOOL, ANY_BOOL, .def = "no"),
     .why = "the stick that was measured pays back in runs of writes, not in those of reads"},
    {FE_SEC_STEP, "write_payback", ROW(.type = FE_OPT_BOOL, ANY_BOOL, .def = "yes"),
     .why = "the stick that was measured pays back in runs of writes"},

    /* What is a detail of another key now. */
    {FE_SEC_DEVICE, "beyond_module", .heir = "device.beyond:reach"},
    {FE_SEC_DEVICE, "beyond_cache", .heir = "device.beyond:cache"},
    {FE_SEC_NAND, "worn_read", .heir = "nand.worn:read"},
    {FE_SEC_NAND, "worn_program", .heir = "nand.worn:program"},
    {FE_SEC_NAND, "worn_erase", .heir = "nand.worn:erase"},
    {FE_SEC_NAND, "worn_end", .heir = "nand.worn:end"},
    {FE_SEC_FTL, "wl_threshold", .heir = "ftl.wear_levelling:threshold"},
    {FE_SEC_FTL, "enhanced_start", .heir = "ftl.enhanced_size:start"},
    {FE_SEC_FTL, "zone_start", .heir = "ftl.zone_units:start"},
    {FE_SEC_FTL, "scattered_stay", .heir = "ftl.scattered_policy:stay"},
    {FE_SEC_FTL, "scattered_hot", .heir = "ftl.scattered_policy:fewest"},
    {FE_SEC_STEP, "read_first", .heir = "step.read_spike:first"},
    {FE_SEC_STEP, "read_limit", .heir = "step.read_spike:limit"},
    {FE_SEC_STEP, "write_first", .heir = "step.write_spike:first"},
    {FE_SEC_STEP, "write_period", .heir = "step.write_spike:period"},
    {FE_SEC_FAULTS, "life_shape", .heir = "faults.life_spread:shape"},
    {FE_SEC_FAULTS, "weak_cycles", .heir = "faults.weak_block:cycles"},
    {FE_SEC_FAULTS, "program_fail", .heir = "faults.fail:program"},
    {FE_SEC_FAULTS, "erase_fail", .heir = "faults.fail:erase"},
    {FE_SEC_FAULTS, "device_spread", .heir = "faults.life_spread:device"},
    {FE_SEC_FAULTS, "cut_dead", .heir = "faults.power_cut:dead"},
    {FE_SEC_FAULTS, "fail_program", .heir = "faults.fail:program_number"},
    {FE_SEC_FAULTS, "fail_erase", .heir = "faults.fail:erase_number"},
    {FE_SEC_FAULTS, "hang_request", .heir = "faults.hang:request"},
    {FE_SEC_FAULTS, "disconnect_request", .heir = "faults.disconnect:request"},
    {FE_SEC_FAULTS, "rber_fresh", .heir = "faults.rber:fresh"},
    {FE_SEC_FAULTS, "rber_worn", .heir = "faults.rber:worn"},
    {FE_SEC_FAULTS, "rber_retention", .heir = "faults.rber:retention"},
    {FE_SEC_FAULTS, "rber_disturb", .heir = "faults.rber:disturb"},
    {FE_SEC_FAULTS, "power_cut_writes", .heir = "faults.power_cut:writes"},
    {FE_SEC_FAULTS, "power_cut_time", .heir = "faults.power_cut:time"},
    {FE_SEC_FAULTS, "cut_partner", .heir = "faults.cut:partner"},
    {FE_SEC_FAULTS, "cut_map_lost", .heir = "faults.cut:map_lost"},
    {FE_SEC_FAULTS, "cut_stale", .heir = "faults.cut:stale"},
};

const uint32_t fe_n_old_keys = sizeof fe_old_keys / sizeof fe_old_keys[0];
_Static_assert(sizeof fe_old_keys / sizeof fe_old_keys[0] <= FE_MAX_OLD_KEYS,
               "struct fe_profile has room for them");

const struct fe_old_key *fe_old_key_in(enum fe_section s, const char *key)
{
    for (uint32_t i = 0; i < fe_n_old_keys; i++)
        if (fe_old_keys[i].section == s && strcmp(fe_old_keys[i].key, key) == 0)
            return &fe_old_keys[i];
    return NULL;
}

const struct fe_old_key *fe_old_key_find(const char *full_key)
{
    const char *key;
    enum fe_section s = fe_section_of(full_key, &key);
    return fe_old_key_in(s, key);
}

const struct fe_option *fe_option_or_heir(const char *full_key)
{
    const struct fe_option *o = fe_option_find(full_key);
    const struct fe_old_key *old = o ? NULL : fe_old_key_find(full_key);
    return old && old->heir ? fe_option_find(old->heir) : o;
}

/* Type, range and default of the key: its own, or those of its heir. */
static const struct fe_option *row_of(const struct fe_old_key *old)
{
    return old->was ? old->was : fe_option_find(old->heir);
}

/* Whether the value is `also`, in whatever way it is written. */
static bool is_also(const struct fe_old_key *old, const char *text)
{
    struct fe_option other = *row_of(old);
    other.def = old->also;
    return old->also && fe_option_is_default(&other, text);
}

int fe_old_key_read(const struct fe_old_key *old, const char *text,
                    const struct fe_option **ret_heir, struct fe_err *err)
{
    const struct fe_option *row = row_of(old);
    struct fe_profile given = {.device.capacity = 0};

    *ret_heir = NULL;
    if (fe_option_is_default(row, text) || is_also(old, text))
        return 0;
    if (!old->heir)
        return fe_err_set(err, EINVAL, "there is no such key any more: %s; allowed: %s%s%s",
                          old->why, row->def, old->also ? ", " : "", old->also ? old->also : "");
    int r = fe_option_parse(row, text, &given, err);
    if (r == 0)
        *ret_heir = fe_option_find(old->heir);
    return r;
}
