/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Finishing a profile: keys without effect, missing keys, and defaults that follow from other keys.
 *
 * Some defaults depend on another key, so they are only known after the last line and the last
 * override.  For example, `link.type=usb-hs` on the command line also sets the other numbers of
 * that link, except those that the file gives.  No derived value is hidden: `show` prints it, and
 * loading the output of `show` gives the same profile.
 *
 *     keys of file and overrides
 *       --> report_unused, fe_drop_unused   keys without effect go back to their defaults
 *       --> report_missing                  required keys
 *       --> fe_derive                       defaults that follow from other keys
 *       --> fe_check                        rules between keys
 *       --> fe_times_close                  one time for each bit of the cell
 *
 * The order matters.  Unused keys go first: nothing may be derived from a value without effect.
 * Checks come after the defaults, since a given key can contradict a derived one.  The times stay
 * open until the end, because the checks count them.
 *
 * Only keys that were not given are derived (given[] of the profile).  So fe_derive can run again
 * after a key was changed, which fe_profile_set does.
 *
 * The numbers of the links below are what such a link achieves, not what it is called.
 * Sources: [S] seen, [D] derived from something seen, [R] recalled, [A] assumed here.
 */
#include "profile/parse.h"

#include "base/num.h"
#include "ftl/pages/area.h"
#include "ftl/ftl.h"
#include "nand/wear.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

struct link_defaults {
    uint64_t bandwidth, command_overhead_ns, max_transfer;
    uint32_t queue_depth;
    uint64_t task_overhead_ns;
};

/* A bandwidth of 0 is no limit: the link itself takes no time to transfer data. */
static const struct link_defaults links[FE_N_LINK_TYPES] = {
    /* A chip on the processor's own bus: only nand.bus_rate and nand.command take time. */
    [FE_LINK_PARALLEL] = {0, 0, UINT64_C(32) << 20, 1, 0},
    /* 19 packets of 64 B in a frame of 1 ms [R].  A command has three phases (CBW, data,
     * CSW), each at least one transaction; a frame for the two besides the data [A].
     * Linux usb-storage: max_sectors 240 [S: scsiglue.c]. */
    [FE_LINK_USB_FS] = {1216000, FE_NS_PER_MS, 120 << 10, 1, 0},
    /* About 10 packets of 512 B in a microframe of 125 us [D] of 13 possible ones; 30 to
     * 42 MB/s are seen [S: electronics.stackexchange 24700].  2 to 3 microframes a
     * command [D].  max_sectors as above. */
    [FE_LINK_USB_HS] = {41000000, 300 * FE_NS_PER_US, 120 << 10, 1, 0},
    /* 5 Gbit/s in 8b/10b are 500 MB/s, less protocol [A].  No microframes: 50 us for the
     * two phases [A].  Linux on USB 3: max_sectors 2048 [S: linux-usb msg72999]. */
    [FE_LINK_USB_SS] = {400000000, 50 * FE_NS_PER_US, 1 << 20, 1, 0},
    /* The same wire; commands travel in streams next to the data [A]. */
    [FE_LINK_UAS] = {400000000, 20 * FE_NS_PER_US, 1 << 20, 32, 0},
    /* 25 MHz on 4 bits [R].  Command, response and the host's work: 100 us [A]; 512 KiB
     * is the largest request of common host controllers [A]. */
    [FE_LINK_SD_DS] = {12500000, 100 * FE_NS_PER_US, 512 << 10, 1, 0},
    /* 50 MHz on 4 bits: 25 MB/s [S: panasonic.net]. */
    [FE_LINK_SD_HS] = {25000000, 100 * FE_NS_PER_US, 512 << 10, 1, 0},
    /* SDR104: 104 MB/s [S: panasonic.net]. */
    [FE_LINK_SD_UHS] = {104000000, 100 * FE_NS_PER_US, 512 << 10, 1, 0},
    /* 52 MHz on 8 bits [R]; soldered on, half the overhead of a card [A]. */
    [FE_LINK_EMMC] = {52000000, 50 * FE_NS_PER_US, 512 << 10, 1, 0},
    /* HS400: 200 MHz on 8 bits, both edges; eMMC 5.1 queues 32 commands [R: JESD84-B51], whose
     * overhead hides behind the data of others [A]. */
    [FE_LINK_EMMC_CQ] = {400000000, 20 * FE_NS_PER_US, 512 << 10, 32, 0},
    [FE_LINK_NONE] = {0, 0, UINT64_C(32) << 20, 1, 0},
    /* 50 MHz on 4 bits, both edges: 50 MB/s [S: panasonic.net].  Eight cards read 43.7 to 43.9
     * MB/s with hdparm -t on a Raspberry Pi 4 [S: modern_cards, pidramble.com]; 2 MiB are four
     * commands there, so 46 MB/s and the overhead below [D]. */
    [FE_LINK_SD_DDR50] = {46000000, 100 * FE_NS_PER_US, 512 << 10, 1, 0},
    /* SDR104 with the command queue of class A2, 32 tasks [R: SD 6.0].  A Raspberry Pi 5 reads 93.1
     * MB/s of the 104 at most, and reads of 4 KiB take 59 us more than their data with the queue
     * and 116 without [D: modern_cards, Raspberry Pi 32 GB].  Commands of 1280 KiB, which is Linux's
     * largest request by default: CARDS.md says why [D: eight cards of that host]. */
    [FE_LINK_SD_A2] = {94100000, 20 * FE_NS_PER_US, 1280 << 10, 32, 59 * FE_NS_PER_US},
    /* 200 MHz on 8 bits, one edge: 200 MB/s [R: JESD84-B50]; 167 MB/s are read with commands of 512
     * KiB, and 4 KiB in 167 us [S: modern_cards, SiliconGo]: 172 MB/s and the overhead [D]. */
    [FE_LINK_EMMC_HS200] = {172000000, 50 * FE_NS_PER_US, 512 << 10, 1, 0},
    /* As emmc-cq without a queue. */
    [FE_LINK_EMMC_HS400] = {400000000, 50 * FE_NS_PER_US, 512 << 10, 1, 0},
};

/* Usual figures of datasheets of 2005 to 2012: SLC 100 000, MLC 10 000 to 3000 with the
 * shrinking cell, NOR 100 000; TLC a third to a tenth of MLC. */
static const uint64_t cell_endurance[FE_N_CELLS] = {
    [FE_CELL_SLC] = 100000, [FE_CELL_MLC] = 5000, [FE_CELL_TLC] = 1000, [FE_CELL_NOR] = 100000,
};

/* The computed number of blocks does not include the blocks that a strategy keeps open or in
 * reserve.  grow_until_it_fits adds up to this many until the strategy accepts the capacity. */
#define MAX_EXTRA_BLOCKS 4096

/* Whether the key was chosen by somebody, and so must not be derived. */
static bool given(const struct fe_profile *p, enum fe_section s, const char *key)
{
    return p->given[fe_option_in(s, key) - fe_options];
}

static void derive_link(struct fe_profile *p)
{
    const struct link_defaults *d = &links[p->link.type];

    if (!given(p, FE_SEC_LINK, "bandwidth"))
        p->link.bandwidth = d->bandwidth;
    if (!given(p, FE_SEC_LINK, "command_overhead"))
        p->link.command_overhead_ns = d->command_overhead_ns;
    if (!given(p, FE_SEC_LINK, "max_transfer"))
        p->link.max_transfer = d->max_transfer;
    if (!given(p, FE_SEC_LINK, "queue_depth"))
        p->link.queue_depth = d->queue_depth;
    if (!given(p, FE_SEC_LINK, "task_overhead"))
        p->link.task_overhead_ns = d->task_overhead_ns;
}

/* One bit in 512 bytes is what SLC asks for, 8 what MLC of 2010 did, 24 in 1024 what came
 * after it (datasheets of Hynix, Micron, Samsung). */
static void derive_ecc(struct fe_wear_params *w, const struct fe_profile *p)
{
    static const uint32_t bits[FE_N_CELLS] = {
        [FE_CELL_SLC] = 1, [FE_CELL_MLC] = 8, [FE_CELL_TLC] = 24, [FE_CELL_NOR] = 0,
    };
    if (!given(p, FE_SEC_ECC, "correctable_bits"))
        w->correctable_bits = bits[p->nand.cell];
    if (!given(p, FE_SEC_ECC, "codeword_size"))
        w->codeword_size = p->nand.cell == FE_CELL_TLC ? 1024 : 512;
    if (!given(p, FE_SEC_ECC, "refresh_bits"))
        w->refresh_bits = (3 * w->correctable_bits + 3) / 4;
}

/* Only the strategy knows how many blocks it keeps for itself, so the strategy is asked.  If it
 * accepts no number of blocks, something else is wrong; building the device will say what.
 *
 * The search goes up one by one from the computed number, so no block is added in vain.  Errors of
 * the strategy are not wanted here: each call only asks whether this number is enough. */
static void grow_until_it_fits(struct fe_profile *p, uint64_t max)
{
    const struct fe_ftl_ops *ops = fe_ftl_registry[p->ftl.type];
    struct fe_nand_params nand = p->nand;
    struct fe_geometry geo;

    for (uint32_t extra = 0; ops->max_lpns && extra <= MAX_EXTRA_BLOCKS; extra++) {
        if (p->nand.blocks_per_plane + extra > max)
            return;
        nand.blocks_per_plane = p->nand.blocks_per_plane + extra;
        if (fe_geometry_init(&geo, &nand, NULL) < 0)
            return;
        if (fe_geometry_reserve(&geo, fe_wear_reserve(&p->wear, &geo), NULL) < 0)
            continue;
        uint64_t lpns = ops->max_lpns(&p->ftl, &geo, NULL);
        if (lpns >= fe_div_up(p->device.capacity, geo.page_bytes)) {
            p->nand.blocks_per_plane = nand.blocks_per_plane;
            return;
        }
    }
}

/* A strategy without a medium needs only pages that bytes can be kept in, and any shape of the chip
 * is good enough for that. */
static bool has_medium(const struct fe_profile *p)
{
    return !fe_ftl_registry[p->ftl.type]->no_medium;
}

/* Any shape does; these are usual values. */
static void derive_shape(struct fe_profile *p)
{
    if (!given(p, FE_SEC_NAND, "page_size"))
        p->nand.page_size = 4096;
    if (!given(p, FE_SEC_NAND, "pages_per_block"))
        p->nand.pages_per_block = 64;
}

/* The blocks of each plane, so that the chip holds the capacity and the over-provisioning.  `row`
 * is the size of one block on every plane of the chip.  It must not be 0, which is why this may
 * only run if the geometry is good. */
static int derive_blocks(struct fe_profile *p, struct fe_err *why)
{
    uint64_t max = fe_option_in(FE_SEC_NAND, "blocks_per_plane")->max;
    uint64_t row = (uint64_t)p->nand.page_size * p->nand.pages_per_block * p->nand.planes_per_die *
                   p->nand.dies_per_channel * p->nand.channels;
    uint64_t op_ppm = has_medium(p) ? p->ftl.op_ppm : 0;
    uint64_t held = p->device.capacity +
                    fe_area_extra_bytes(&p->ftl, p->nand.cell, p->nand.pages_per_block);
    uint64_t raw = fe_muldiv_up(held, 1000000 + op_ppm, 1000000);

    if (given(p, FE_SEC_NAND, "blocks_per_plane"))
        return 0;
    if (p->device.capacity == 0)
        return fe_err_set(why, EINVAL, "auto needs nand.blocks_per_plane, from which it follows");
    if (fe_div_up(raw, row) > max)
        return fe_err_set(why, EINVAL,
                          "needs %" PRIu64 " blocks on each plane of such a chip, %" PRIu64
                          " are the most",
                          fe_div_up(raw, row), max);
    p->nand.blocks_per_plane = (uint32_t)fe_div_up(raw, row);
    grow_until_it_fits(p, max);
    return 0;
}

int fe_derive(struct fe_profile *p, bool chip_is_known, struct fe_err *why)
{
    derive_link(p);
    derive_ecc(&p->wear, p);
    if (!has_medium(p))
        derive_shape(p);
    if (!given(p, FE_SEC_NAND, "endurance"))
        p->nand.endurance = cell_endurance[p->nand.cell];
    if (!given(p, FE_SEC_NAND, "oob_size"))
        p->nand.oob_size = p->nand.cell == FE_CELL_NOR ? 0 : p->nand.page_size / 32;
    return chip_is_known ? derive_blocks(p, why) : 0;
}

/* unused[] only ever gains keys: a key of the file stays noted when the strategy changes again.  A
 * key that was given its default is not noted, because nothing is lost. */
void fe_drop_unused(struct fe_profile *p)
{
    char had[FE_VALUE_MAX], def[FE_VALUE_MAX];

    for (uint32_t i = 0; i < fe_n_options; i++) {
        const struct fe_option *o = &fe_options[i];
        if (fe_option_is_used(o, p->ftl.type))
            continue;
        fe_option_print(o, p, had, sizeof had);
        fe_option_reset(o, p);
        fe_option_print(o, p, def, sizeof def);
        p->unused[i] |= p->given[i] && strcmp(had, def) != 0;
        p->given[i] = false;
    }
}

/* Complains about the keys that the strategy does not use.  Who gives such a key expects an
 * effect.  Only who overrides ftl.type does not mean the keys of the file that belong to
 * the file's own strategy; fe_profile_unused names them.
 *
 * The text in an image is read leniently (stored): version 0.1.0 printed every key of the table, so
 * there a key without effect was not anybody's choice. */
static void report_unused(struct fe_parse *ps)
{
    const struct fe_option *type = fe_option_in(FE_SEC_FTL, "type");
    bool own_type = !ps->given[type - fe_options].override;
    char why[160];

    for (uint32_t i = 0; i < fe_n_options; i++) {
        const struct fe_given *g = &ps->given[i];
        if (!g->good || fe_option_is_used(&fe_options[i], ps->p->ftl.type))
            continue;
        if (g->override || (own_type && !ps->stored)) {
            fe_option_why_unused(&fe_options[i], ps->p->ftl.type, why, sizeof why);
            fe_parse_blame(ps, &fe_options[i], why);
        }
    }
}

/* The line of the message is the header of the section to which the key belongs, or the last line
 * of the file if there is no such section. */
static void report_missing(struct fe_parse *ps, const struct fe_option *o)
{
    unsigned line = ps->section_line[o->section];
    char allowed[256];

    if (line == 0)
        line = ps->line ? ps->line : 1;
    fe_option_allowed(o, allowed, sizeof allowed);
    fe_parse_complain(ps, line, "%s.%s is missing%s; allowed: %s", fe_section_name(o->section),
                      o->key, o->derived ? " (it follows if device.capacity is given)" : "",
                      allowed);
}

/* Whether the file is of another format, in which no key can be missing. */
static bool is_no_profile(const struct fe_parse *ps)
{
    for (int s = 0; s < FE_N_SECTIONS; s++)
        if (ps->section_line[s])
            return false;
    return ps->others.n > FE_CROWD_SHOWN || ps->strays.n > FE_CROWD_SHOWN ||
           ps->bytes.n > FE_CROWD_SHOWN;
}

/* Whether the key must be given in this profile. */
static bool is_required(const struct fe_profile *p, const struct fe_option *o)
{
    return fe_option_required(o) && (o->section != FE_SEC_NAND || has_medium(p));
}

/* Whether the option has a value that can be compared with others.  A key that is missing or whose
 * value was refused has been reported already. */
static bool usable(const struct fe_parse *ps, const struct fe_option *o)
{
    const struct fe_given *g = &ps->given[o - fe_options];
    return g->given ? g->good : !is_required(ps->p, o);
}

/* Takes complaints of fe_check.  A rule between two keys is only broken if both have usable values;
 * otherwise the complaint would be a consequence of a mistake that is in the list already. */
static void complain(void *ctx, const struct fe_option *o, const struct fe_option *other,
                     const char *why)
{
    if (usable(ctx, o) && usable(ctx, other))
        fe_parse_blame(ctx, o, why);
}

/* If ftl.type is wrong or missing, nobody knows which keys have an effect.  Then none are refused
 * or dropped, and the mistake about ftl.type is enough. */
void fe_settle(struct fe_parse *ps)
{
    const struct fe_option *blocks = fe_option_in(FE_SEC_NAND, "blocks_per_plane");
    const struct fe_option *capacity = fe_option_in(FE_SEC_DEVICE, "capacity");
    struct fe_profile *p = ps->p;
    struct fe_err why;

    if (ps->given[fe_option_in(FE_SEC_FTL, "type") - fe_options].good) {
        report_unused(ps);
        fe_drop_unused(p);
    }
    const bool foreign = is_no_profile(ps);
    for (uint32_t i = 0; i < fe_n_options; i++)
        if (!foreign && is_required(p, &fe_options[i]) && !ps->given[i].given)
            report_missing(ps, &fe_options[i]);
    if (!foreign && !ps->given[blocks - fe_options].given && usable(ps, capacity) && p->device.capacity == 0)
        report_missing(ps, blocks);

    /* After a mistake the parameters may not describe any chip, so no blocks are derived then. */
    fe_err_init(&why);
    if (fe_derive(p, ps->mistakes->n == 0, &why) < 0)
        fe_parse_blame(ps, capacity, why.text);
    fe_check(p, complain, ps);
    fe_times_close(&p->nand);
}
