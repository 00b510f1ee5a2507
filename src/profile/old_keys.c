/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The table of keys that went; old_keys.h says what they still mean.
 */
#include "profile/old_keys.h"

#include "profile/option_names.h"

#include <errno.h>
#include <string.h>

#define KIB(x) (UINT64_C(x) << 10)
#define MIB(x) (UINT64_C(x) << 20)
#define GIB(x) (UINT64_C(x) << 30)
#define TIB(x) (UINT64_C(x) << 40)
#define SEC(x) (UINT64_C(x) * 1000000000)

/* A value is parsed into a profile that is thrown away, so any field of the right type will do. */
#define ANY_U32 .offset = offsetof(struct fe_profile, nand.channels)
#define ANY_U64 .offset = offsetof(struct fe_profile, device.capacity)
#define ANY_BOOL .offset = offsetof(struct fe_profile, device.discard)
#define FROM_ONE .min = 1, .max = UINT64_C(1) << 62, .zero = "never", .def = "never"

const struct fe_old_key fe_old_keys[] = {
    {{FE_SEC_FTL, "direct_read", FE_OPT_SIZE, ANY_U64, .min = 512, .max = MIB(1024),
      .multiple = 512, .zero = "page", .def = "page"},
     .also = "4K", .why = "a command that reads up to 4K begins no stream on any card"},
    {{FE_SEC_FTL, "slc_write", FE_OPT_SIZE, ANY_U64, .min = 512, .max = MIB(1024), .zero = "any",
      .def = "any"}, .heir = "ftl.slc_run"},
    {{FE_SEC_NAND, "program_passes", FE_OPT_U32, ANY_U32, .min = 1, .max = 4, .def = "1"},
     .why = "the data of a page cross the channel once; nand.tPROG is the sum of all passes"},
    {{FE_SEC_LINK, "packed", FE_OPT_U32, ANY_U32, .min = 1, .max = 64, .def = "1"},
     .why = "no host packs writes any more, and no figure was measured with it"},
    {{FE_SEC_STEP, "block_size", FE_OPT_SIZE, ANY_U64, .min = 512, .max = MIB(1024), .multiple = 512,
      .def = "512"}, .why = "a block of the step model is a sector of 512 bytes"},
    {{FE_SEC_STEP, "streams", FE_OPT_U32, ANY_U32, .max = 1024, .def = "1"},
     .why = "the stick that was measured knows one run of reads, and one of writes"},
    {{FE_SEC_STEP, "read_payback", FE_OPT_BOOL, ANY_BOOL, .def = "no"},
     .why = "the stick that was measured pays back in runs of writes, not in those of reads"},
    {{FE_SEC_STEP, "write_payback", FE_OPT_BOOL, ANY_BOOL, .def = "yes"},
     .why = "the stick that was measured pays back in runs of writes"},

    /* What is a detail of another key now. */
    {{FE_SEC_DEVICE, "beyond_module", FE_OPT_SIZE, ANY_U64, .min = KIB(4), .max = TIB(16), .pow2 = true,
      .zero = "auto", .def = "auto"},
     .heir = "device.beyond:reach"},
    {{FE_SEC_DEVICE, "beyond_cache", FE_OPT_SIZE, ANY_U64, .max = GIB(1), .def = "0"},
     .heir = "device.beyond:cache"},
    {{FE_SEC_NAND, "worn_read", FE_OPT_SHARE, ANY_U64, .max = 100000000, .def = "0%"},
     .heir = "nand.worn:read"},
    {{FE_SEC_NAND, "worn_program", FE_OPT_SHARE, ANY_U64, .max = 100000000, .def = "0%"},
     .heir = "nand.worn:program"},
    {{FE_SEC_NAND, "worn_erase", FE_OPT_SHARE, ANY_U64, .max = 100000000, .def = "0%"},
     .heir = "nand.worn:erase"},
    {{FE_SEC_NAND, "worn_end", FE_OPT_SHARE, ANY_U64, .max = 100000000, .def = "0%"},
     .heir = "nand.worn:end"},
    {{FE_SEC_FTL, "wl_threshold", FE_OPT_U32, ANY_U32, .max = 1000000, .def = "50"},
     .heir = "ftl.wear_levelling:threshold"},
    {{FE_SEC_FTL, "enhanced_start", FE_OPT_SIZE, ANY_U64, .max = TIB(16), .multiple = 512, .def = "0"},
     .heir = "ftl.enhanced_size:start"},
    {{FE_SEC_FTL, "zone_start", FE_OPT_U32, ANY_U32, .max = 65536, .def = "0"},
     .heir = "ftl.zone_units:start"},
    {{FE_SEC_FTL, "scattered_stay", FE_OPT_U32, ANY_U32, .max = 1024, .def = "0"},
     .heir = "ftl.scattered_policy:stay"},
    {{FE_SEC_FTL, "scattered_hot", FE_OPT_U32, ANY_U32, .max = 1024, .def = "0"},
     .heir = "ftl.scattered_policy:fewest"},
    {{FE_SEC_STEP, "read_first", FE_OPT_U32, ANY_U32, .min = 2, .max = UINT64_C(1) << 28, .zero = "never",
      .def = "32"},
     .heir = "step.read_spike:first"},
    {{FE_SEC_STEP, "read_limit", FE_OPT_U32, ANY_U32, .min = 1, .max = UINT64_C(1) << 28, .zero = "never",
      .def = "256"},
     .heir = "step.read_spike:limit"},
    {{FE_SEC_STEP, "write_first", FE_OPT_U32, ANY_U32, .min = 2, .max = UINT64_C(1) << 28,
      .zero = "never", .def = "195"},
     .heir = "step.write_spike:first"},
    {{FE_SEC_STEP, "write_period", FE_OPT_U32, ANY_U32, .min = 1, .max = UINT64_C(1) << 28,
      .zero = "never", .def = "256"},
     .heir = "step.write_spike:period"},
    {{FE_SEC_FAULTS, "life_shape", FE_OPT_ENUM, ANY_U32, .name = fe_name_life_shape, .def = "uniform"},
     .heir = "faults.life_spread:shape"},
    {{FE_SEC_FAULTS, "weak_cycles", FE_OPT_U64, ANY_U64, .min = 1, .max = UINT64_C(1000000000),
      .zero = "never", .def = "never"},
     .heir = "faults.weak_block:cycles"},
    {{FE_SEC_FAULTS, "program_fail", FE_OPT_SHARE, ANY_U64, .max = 1000000, .def = "0%"},
     .heir = "faults.fail:program"},
    {{FE_SEC_FAULTS, "erase_fail", FE_OPT_SHARE, ANY_U64, .max = 1000000, .def = "0%"},
     .heir = "faults.fail:erase"},
    {{FE_SEC_FAULTS, "device_spread", FE_OPT_SHARE, ANY_U64, .max = 3000000, .def = "0%"},
     .heir = "faults.life_spread:device"},
    {{FE_SEC_FAULTS, "cut_dead", FE_OPT_SHARE, ANY_U64, .max = 1000000, .def = "0%"},
     .heir = "faults.power_cut:dead"},
    {{FE_SEC_FAULTS, "fail_program", FE_OPT_U64, ANY_U64, FROM_ONE},
     .heir = "faults.fail:program_number"},
    {{FE_SEC_FAULTS, "fail_erase", FE_OPT_U64, ANY_U64, FROM_ONE},
     .heir = "faults.fail:erase_number"},
    {{FE_SEC_FAULTS, "hang_request", FE_OPT_U64, ANY_U64, FROM_ONE},
     .heir = "faults.hang:request"},
    {{FE_SEC_FAULTS, "disconnect_request", FE_OPT_U64, ANY_U64, FROM_ONE},
     .heir = "faults.disconnect:request"},
    {{FE_SEC_FAULTS, "rber_fresh", FE_OPT_U64, ANY_U64, .max = UINT64_C(100000000000), .def = "0"},
     .heir = "faults.rber:fresh"},
    {{FE_SEC_FAULTS, "rber_worn", FE_OPT_U64, ANY_U64, .max = UINT64_C(100000000000), .def = "0"},
     .heir = "faults.rber:worn"},
    {{FE_SEC_FAULTS, "rber_retention", FE_OPT_U64, ANY_U64, .max = UINT64_C(100000000000), .def = "0"},
     .heir = "faults.rber:retention"},
    {{FE_SEC_FAULTS, "rber_disturb", FE_OPT_U64, ANY_U64, .max = UINT64_C(100000000000), .def = "0"},
     .heir = "faults.rber:disturb"},
    {{FE_SEC_FAULTS, "power_cut_writes", FE_OPT_U64, ANY_U64, FROM_ONE},
     .heir = "faults.power_cut:writes"},
    {{FE_SEC_FAULTS, "power_cut_time", FE_OPT_TIME, ANY_U64, .min = 1, .max = UINT64_MAX / 2,
      .zero = "never", .def = "never"},
     .heir = "faults.power_cut:time"},
    {{FE_SEC_FAULTS, "cut_partner", FE_OPT_SHARE, ANY_U64, .max = 1000000, .def = "0%"},
     .heir = "faults.cut:partner"},
    {{FE_SEC_FAULTS, "cut_map_lost", FE_OPT_SHARE, ANY_U64, .max = 1000000, .def = "0%"},
     .heir = "faults.cut:map_lost"},
    {{FE_SEC_FAULTS, "cut_stale", FE_OPT_SHARE, ANY_U64, .max = 1000000, .def = "0%"},
     .heir = "faults.cut:stale"},
};

const uint32_t fe_n_old_keys = sizeof fe_old_keys / sizeof fe_old_keys[0];
_Static_assert(sizeof fe_old_keys / sizeof fe_old_keys[0] <= FE_MAX_OLD_KEYS,
               "struct fe_profile has room for them");

const struct fe_old_key *fe_old_key_in(enum fe_section s, const char *key)
{
    for (uint32_t i = 0; i < fe_n_old_keys; i++)
        if (fe_old_keys[i].was.section == s && strcmp(fe_old_keys[i].was.key, key) == 0)
            return &fe_old_keys[i];
    return NULL;
}

const struct fe_old_key *fe_old_key_find(const char *full_key)
{
    const char *dot = strchr(full_key, '.');
    if (!dot)
        return NULL;
    enum fe_section s = fe_section_find(full_key, (size_t)(dot - full_key));
    return s == FE_N_SECTIONS ? NULL : fe_old_key_in(s, dot + 1);
}

const struct fe_option *fe_option_or_heir(const char *full_key)
{
    const struct fe_option *o = fe_option_find(full_key);
    const struct fe_old_key *old = o ? NULL : fe_old_key_find(full_key);
    return old && old->heir ? fe_option_find(old->heir) : o;
}

/* Whether the value is `also`, in whatever way it is written. */
static bool is_also(const struct fe_old_key *old, const char *text)
{
    struct fe_option other = old->was;
    other.def = old->also;
    return fe_option_is_default(&other, text);
}

int fe_old_key_read(const struct fe_old_key *old, const char *text,
                    const struct fe_option **ret_heir, const char **ret_value, struct fe_err *err)
{
    struct fe_profile given = {.device.capacity = 0};

    *ret_heir = NULL;
    *ret_value = old->as ? old->as : text;
    if (fe_option_is_default(&old->was, text) || is_also(old, text))
        return 0;
    if (!old->heir)
        return fe_err_set(err, EINVAL, "there is no such key any more: %s; allowed: %s%s%s",
                          old->why, old->was.def, old->also ? ", " : "",
                          old->also ? old->also : "");
    int r = fe_option_parse(&old->was, text, &given, err);
    if (r == 0)
        *ret_heir = fe_option_find(old->heir);
    return r;
}
