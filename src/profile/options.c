/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The table itself; option_find.c finds a row of it.  The rows of [faults] are in
 * options_faults.inc, which stands in the table in their place.
 *
 * Ranges are wide: they stop what is a slip of the pen (a page of 3 bytes, a time in
 * seconds instead of microseconds) and what the arithmetic below cannot carry.  Whether
 * the parts fit together is checked in check.c and by the device.
 *
 * There are four kinds of default:
 *   - a text;
 *   - none: the key is required;
 *   - derived from another key: `derived` says how in words, and settle.c computes it;
 *   - 0 under another name (`zero`), for example "unlimited".
 *
 * A row names in `used_by` the strategies that use the key.  With `on_chip` these are all that
 * work on a chip, whatever their names.  A row with neither does not depend on the strategy.
 * tests/property/test_used_by.c changes every key under every strategy and compares what the
 * device does with what the row says.
 *
 * Rows of one section stand together, because everything that prints the table begins a new
 * section when the section of the row changes.  Within [ftl] they are grouped as the structs of
 * flashemu/ftl_params.h.
 */
#include "profile/options.h"

#include "ftl/blocks/victim.h"
#include "ftl/registry.h"

#define KIB(x) (UINT64_C(x) << 10)
#define MIB(x) (UINT64_C(x) << 20)
#define GIB(x) (UINT64_C(x) << 30)
#define TIB(x) (UINT64_C(x) << 40)
#define SEC(x) (UINT64_C(x) * 1000000000)

#define FIELD(f) .offset = offsetof(struct fe_profile, f)
#define BY_LINK  "by link.type"
#define MAX_RBER UINT64_C(100000000000)
/* For used_by: the strategies that map units of erase blocks. */
#define IN_UNITS "segment block bast fast"

/* The names of values that are one of a few words, as profiles write them.  NULL stands behind the
 * last one. */
static const char *const cell_names[FE_N_CELLS + 1] = {
    [FE_CELL_SLC] = "slc", [FE_CELL_MLC] = "mlc", [FE_CELL_TLC] = "tlc", [FE_CELL_NOR] = "nor",
};
static const char *const hot_cold_names[FE_N_HOT_COLDS + 1] = {
    [FE_HOT_COLD_OFF] = "off", [FE_HOT_COLD_GC] = "gc", [FE_HOT_COLD_TWO_POOL] = "two-pool",
};
static const char *const wear_names[FE_N_WEAR_LEVELLINGS + 1] = {
    [FE_WEAR_OFF] = "off", [FE_WEAR_DYNAMIC] = "dynamic", [FE_WEAR_STATIC] = "static",
};
static const char *const slc_mode_names[FE_N_SLC_MODES + 1] = {
    [FE_SLC_OFF] = "off", [FE_SLC_STATIC] = "static", [FE_SLC_DYNAMIC] = "dynamic",
};
static const char *const link_names[FE_N_LINK_TYPES + 1] = {
    [FE_LINK_PARALLEL] = "parallel", [FE_LINK_USB_FS] = "usb-fs", [FE_LINK_USB_HS] = "usb-hs",
    [FE_LINK_USB_SS] = "usb-ss",     [FE_LINK_UAS] = "uas",       [FE_LINK_SD_DS] = "sd-ds",
    [FE_LINK_SD_HS] = "sd-hs",       [FE_LINK_SD_UHS] = "sd-uhs", [FE_LINK_EMMC] = "emmc",
    [FE_LINK_EMMC_CQ] = "emmc-cq",   [FE_LINK_NONE] = "none",
    [FE_LINK_SD_DDR50] = "sd-ddr50", [FE_LINK_SD_A2] = "sd-a2",
    [FE_LINK_EMMC_HS200] = "emmc-hs200", [FE_LINK_EMMC_HS400] = "emmc-hs400",
};
static const char *const queue_names[FE_N_QUEUES + 1] = {
    [FE_QUEUE_IN_ORDER] = "in-order", [FE_QUEUE_ANY_ORDER] = "any-order",
    [FE_QUEUE_OFF] = "off", [FE_QUEUE_IN_TURN] = "in-turn",
};
static const char *const cache_mode_names[FE_N_CACHE_MODES + 1] = {
    [FE_CACHE_ON] = "on", [FE_CACHE_OFF] = "off",
};
static const char *const beyond_names[FE_N_BEYONDS + 1] = {
    [FE_BEYOND_WRAP] = "wrap", [FE_BEYOND_DROP] = "drop",
    [FE_BEYOND_MODULE] = "module",
};
static const char *const end_of_life_names[FE_N_EOLS + 1] = {
    [FE_EOL_READ_ONLY] = "read-only", [FE_EOL_FULL] = "full", [FE_EOL_DEAD] = "dead",
    [FE_EOL_SLOW] = "slow", [FE_EOL_SILENT] = "silent",
};
static const char *const life_shape_names[FE_N_LIFE_SHAPES + 1] = {
    [FE_LIFE_UNIFORM] = "uniform", [FE_LIFE_LOGNORMAL] = "lognormal",
};
static const char *const cut_sector_names[FE_N_CUT_SECTORS + 1] = {
    [FE_CUT_SECTOR_WHOLE] = "whole", [FE_CUT_SECTOR_TORN] = "torn",
    [FE_CUT_SECTOR_GARBAGE] = "garbage", [FE_CUT_SECTOR_UNREADABLE] = "unreadable",
    [FE_CUT_SECTOR_ANY] = "any",
};
#define NAME(strategy) #strategy,
static const char *const ftl_names[] = {FE_FTL_STRATEGIES(NAME) NULL};
#undef NAME

/* A row can be added, and its help can change.  But images hold keys and values as text: if a range
 * becomes narrower, the profile of an older image is refused.  A key that is renamed or removed moves
 * to old_keys.c.  An image without a new key gets its default, so the default must keep the old
 * behaviour. */
const struct fe_option fe_options[] = {
    {FE_SEC_DEVICE, "model", FE_OPT_STRING, FIELD(device.model), .def = "",
     .help = "What the device is, in a few words."},
    {FE_SEC_DEVICE, "capacity", FE_OPT_SIZE, FIELD(device.capacity), .min = 512, .max = TIB(16),
     .multiple = 512, .zero = "auto", .def = "auto",
     .help = "Capacity in bytes that the host sees; auto derives it from the chip and ftl.op."},
    {FE_SEC_DEVICE, "claimed_capacity", FE_OPT_SIZE, FIELD(device.claimed_capacity), .min = 512,
     .max = TIB(16), .multiple = 512, .zero = "capacity", .def = "capacity",
     .help = "Capacity that a forged device claims to have, while it really has device.capacity."},
    {FE_SEC_DEVICE, "beyond", FE_OPT_ENUM, FIELD(device.beyond), .names = beyond_names,
     .def = "wrap", .n_details = 2,
     .help = "What a forged device does with sectors beyond its real capacity: it starts again at "
             "the first sector (wrap), forgets writes and reads zeros (drop; f3probe: limbo), or "
             "lacks address lines: it starts again where they end, and forgets what lies "
             "in between (module; f3probe: chain, or wraparound if nothing does)."},
    {FE_SEC_DEVICE, "beyond:reach", FE_OPT_SIZE, FIELD(device.beyond_module), .min = KIB(4),
     .max = TIB(16), .pow2 = true, .zero = "auto", .def = "auto",
     .help = "Bytes that the address lines of a module reach; auto is the smallest "
             "power of two that holds its real capacity."},
    {FE_SEC_DEVICE, "beyond:cache", FE_OPT_SIZE, FIELD(device.beyond_cache), .max = GIB(1),
     .def = "0",
     .help = "Bytes written last to sectors that a forged device forgets, which still read back "
             "until later ones push them out or power is cut; real ones keep 1 to 128 MiB."},
    {FE_SEC_DEVICE, "sector_size", FE_OPT_SIZE32, FIELD(device.sector_size), .min = 512,
     .max = KIB(4), .pow2 = true, .def = "512",
     .help = "The host's unit: every request consists of whole sectors."},
    {FE_SEC_DEVICE, "rotational", FE_OPT_BOOL, FIELD(device.rotational), .def = "no",
     .help = "Whether the device says that it is a rotating disk, as Linux assumes of USB sticks."},
    {FE_SEC_DEVICE, "discard", FE_OPT_BOOL, FIELD(device.discard), .def = "no",
     .help = "Whether the device offers TRIM."},
    {FE_SEC_DEVICE, "used", FE_OPT_SIZE, FIELD(device.used), .max = TIB(16), .def = "0",
     .help = "Bytes, counted from the first sector, that have been written once before the device "
             "starts; more than the capacity means all of it."},

    {FE_SEC_NAND, "cell", FE_OPT_ENUM, FIELD(nand.cell), .names = cell_names, .on_chip = true,
     .help = "The kind of memory cell: one bit (slc), two bits (mlc) or three bits (tlc) in each "
             "cell, or NOR flash (nor)."},
    {FE_SEC_NAND, "channels", FE_OPT_U32, FIELD(nand.channels), .min = 1, .max = 64, .def = "1",
     .help = "Buses between the controller and the chips; all of them transfer data at the same "
             "time."},
    {FE_SEC_NAND, "dies_per_channel", FE_OPT_U32, FIELD(nand.dies_per_channel), .min = 1, .max = 64,
     .def = "1",
     .help = "Dies (ONFI: LUNs) on each channel; all of them read, program and erase at the same "
             "time."},
    {FE_SEC_NAND, "planes_per_die", FE_OPT_U32, FIELD(nand.planes_per_die), .min = 1, .max = 16,
     .def = "1",
     .help = "Planes in each die."},
    {FE_SEC_NAND, "blocks_per_plane", FE_OPT_U32, FIELD(nand.blocks_per_plane), .min = 1,
     .max = UINT64_C(1) << 28, .derived = "the fewest that hold device.capacity with ftl.op",
     .help = "Erase blocks in each plane; must be given unless device.capacity is given."},
    {FE_SEC_NAND, "pages_per_block", FE_OPT_U32, FIELD(nand.pages_per_block), .min = 1, .max = 8192,
     .help = "Pages in an erase block."},
    {FE_SEC_NAND, "page_size", FE_OPT_SIZE32, FIELD(nand.page_size), .min = 512, .max = KIB(64),
     .multiple = 512,
     .help = "Data bytes in a page; a page is read or programmed as a whole."},
    {FE_SEC_NAND, "page_parts", FE_OPT_U32, FIELD(nand.page_parts), .min = 1, .max = 64,
     .pow2 = true, .def = "1",
     .help = "Programs that may fill a page, part by part (NOP in data sheets).  Strategies work "
             "with parts as if they were pages, so that a page can hold several small writes."},
    {FE_SEC_NAND, "oob_size", FE_OPT_SIZE32, FIELD(nand.oob_size), .max = KIB(8),
     .derived = "page_size / 32, none with nor", .on_chip = true,
     .help = "Out-of-band bytes next to the data of a page; they cross the bus together with the "
             "data."},
    {FE_SEC_NAND, "program_unit", FE_OPT_SIZE32, FIELD(nand.program_unit), .min = 1, .max = KIB(64),
     .zero = "page", .def = "page", .on_chip = true,
     .help = "Bytes that one tPROG writes, such as the write buffer of NOR flash; a page takes as "
             "many tPROG as it needs."},
    {FE_SEC_NAND, "multiplane", FE_OPT_BOOL, FIELD(nand.multiplane), .def = "no",
     .help = "Whether the planes of a die are read, programmed and erased together, as one."},
    {FE_SEC_NAND, "cached", FE_OPT_BOOL, FIELD(nand.cached), .def = "no", .on_chip = true,
     .help = "Whether a cache register lets transfers overlap with reads and programs of the die."},
    {FE_SEC_NAND, "copyback", FE_OPT_BOOL, FIELD(nand.copyback), .def = "no", .on_chip = true,
     .help = "Whether a copy within a die stays in the die's register instead of crossing the "
             "channel."},
    {FE_SEC_NAND, "tR", FE_OPT_TIMES, FIELD(nand.tR_ns), .max = SEC(10), .live = true,
     .on_chip = true,
     .help = "Time to read a page from the cells, for each bit of the cell."},
    {FE_SEC_NAND, "tPROG", FE_OPT_TIMES, FIELD(nand.tPROG_ns), .max = SEC(10), .live = true,
     .on_chip = true,
     .help = "Time to program a page, for each bit of the cell."},
    {FE_SEC_NAND, "tBERS", FE_OPT_TIME, FIELD(nand.tBERS_ns), .max = SEC(100), .live = true,
     .on_chip = true,
     .help = "Time to erase a block."},
    {FE_SEC_NAND, "slc_tR", FE_OPT_TIME, FIELD(nand.slc_tR_ns), .max = SEC(10), .zero = "auto",
     .def = "auto", .used_by = "page",
     .help = "Time to read a page of a block in SLC mode; auto is the time of the first bit."},
    {FE_SEC_NAND, "slc_tPROG", FE_OPT_TIME, FIELD(nand.slc_tPROG_ns), .max = SEC(10),
     .zero = "auto", .def = "auto", .used_by = "page",
     .help = "Time to program a page of a block in SLC mode; auto is the time of the first bit."},
    {FE_SEC_NAND, "bus_rate", FE_OPT_RATE, FIELD(nand.bus_rate), .min = 1000, .max = SEC(1000),
     .zero = "unlimited", .def = "unlimited", .on_chip = true,
     .help = "The rate at which data cross a channel; 1 MT/s is 1 MB/s."},
    {FE_SEC_NAND, "command", FE_OPT_TIME, FIELD(nand.command_ns), .max = SEC(1), .def = "0",
     .on_chip = true,
     .help = "Time that the command and the address of an operation take on the channel."},
    {FE_SEC_NAND, "endurance", FE_OPT_U64, FIELD(nand.endurance), .min = 1,
     .max = UINT64_C(1000000000), .zero = "unlimited",
     .derived = "by nand.cell: slc 100000, mlc 5000, tlc 1000, nor 100000", .on_chip = true,
     .help = "Program and erase cycles that a block is built for."},
    {FE_SEC_NAND, "slc_endurance", FE_OPT_U64, FIELD(nand.slc_endurance), .min = 1,
     .max = UINT64_C(1000000000), .zero = "auto", .def = "auto", .used_by = "page",
     .help = "Cycles that a block in SLC mode is built for; auto is nand.endurance."},

    {FE_SEC_NAND, "worn", FE_OPT_DETAILS, .def = "none", .live = true, .on_chip = true,
     .n_details = 4,
     .help = "How much longer a worn block takes than a new one."},
    {FE_SEC_NAND, "worn:read", FE_OPT_SHARE, FIELD(nand.worn.read_ppm), .max = 100000000,
     .def = "0%", .live = true, .on_chip = true,
     .help = "How much longer a read takes at nand.endurance cycles of its block than in a new one; "
             "in proportion to the cycles before that, and no more after it."},
    {FE_SEC_NAND, "worn:program", FE_OPT_SHARE, FIELD(nand.worn.program_ppm), .max = 100000000,
     .def = "0%", .live = true, .on_chip = true, .help = "The same for a program."},
    {FE_SEC_NAND, "worn:erase", FE_OPT_SHARE, FIELD(nand.worn.erase_ppm), .max = 100000000,
     .def = "0%", .live = true, .on_chip = true, .help = "The same for an erase."},
    {FE_SEC_NAND, "worn:end", FE_OPT_SHARE, FIELD(nand.worn.end_ppm), .max = 100000000,
     .def = "0%", .live = true, .on_chip = true,
     .help = "How much longer all three take in addition at nand.endurance cycles; it grows with "
             "the 32nd power of the cycles, so it is what the last tenth of a life costs."},

    {FE_SEC_FTL, "type", FE_OPT_ENUM, FIELD(ftl.type), .names = ftl_names,
     .help = "The strategy of the translation layer; 'flashemu help page' describes page."},
    {FE_SEC_FTL, "op", FE_OPT_SHARE, FIELD(ftl.op_ppm), .max = 10000000, .def = "7%",
     .help = "Over-provisioning, (physical - logical) / logical: gives the capacity if that is "
             "auto."},
    {FE_SEC_FTL, "trim_lost", FE_OPT_BOOL, FIELD(ftl.trim_lost), .def = "no",
     .used_by = "page norlog dftl",
     .help = "Whether a power cut can bring trimmed sectors back; if not, the controller logs "
             "each TRIM."},

    /* How full blocks are cleaned, and how blocks are levelled. */
    {FE_SEC_FTL, "gc_policy", FE_OPT_ENUM, FIELD(ftl.clean.gc_policy), .names = fe_gc_policy_names,
     .def = "greedy", .used_by = "page norlog",
     .help = "How the next block to clean is chosen; norlog has neither random nor d-choices."},
    {FE_SEC_FTL, "gc_d", FE_OPT_U32, FIELD(ftl.clean.gc_d), .min = 1, .max = 65536, .def = "10",
     .used_by = "page",
     .help = "Number of random blocks that gc_policy=d-choices compares."},
    {FE_SEC_FTL, "gc_reserve", FE_OPT_U32, FIELD(ftl.clean.gc_reserve), .min = 1, .max = 65536,
     .def = "2", .used_by = "page norlog dftl",
     .help = "Number of free blocks below which a write cleans first; raised to the least that "
             "the strategy needs."},
    {FE_SEC_FTL, "idle_free", FE_OPT_U32, FIELD(ftl.clean.idle_free), .max = UINT64_C(1) << 28,
     .def = "0", .used_by = "page norlog",
     .help = "Number of free blocks up to which the device cleans in idle time."},
    {FE_SEC_FTL, "wear_levelling", FE_OPT_ENUM, FIELD(ftl.clean.wear_levelling),
     .names = wear_names, .def = "dynamic", .used_by = "page norlog", .n_details = 1,
     .help = "Whether data go to the least worn free block (dynamic), and cold data are moved as "
             "well (static)."},
    {FE_SEC_FTL, "wear_levelling:threshold", FE_OPT_U32, FIELD(ftl.clean.wl_threshold), .max = 1000000,
     .def = "50", .used_by = "page norlog",
     .help = "Difference in erases between blocks that static wear levelling tolerates."},

    /* Where the page strategy puts pages. */
    {FE_SEC_FTL, "hot_cold", FE_OPT_ENUM, FIELD(ftl.page.hot_cold), .names = hot_cold_names,
     .def = "off", .used_by = "page",
     .help = "Which pages are kept in blocks of their own: those that cleaning moves (gc), or "
             "those that are written often (two-pool)."},
    {FE_SEC_FTL, "slc_mode", FE_OPT_ENUM, FIELD(ftl.page.slc_mode), .names = slc_mode_names,
     .def = "off", .used_by = "page",
     .help = "Whether host pages first go to blocks in SLC mode: blocks set aside for that "
             "(static), or any free blocks (dynamic)."},
    {FE_SEC_FTL, "slc_blocks", FE_OPT_U32, FIELD(ftl.page.slc_blocks), .max = UINT64_C(1) << 28,
     .def = "0", .used_by = "page",
     .help = "Number of blocks in the SLC cache: exactly so many if it is static, at most so many "
             "if it is dynamic, where 0 means no limit."},
    {FE_SEC_FTL, "slc_run", FE_OPT_SIZE, FIELD(ftl.page.slc_run), .min = 512, .max = MIB(1024),
     .zero = "never", .def = "never", .used_by = "page",
     .help = "Bytes of a run that go to the SLC cache.  What the host writes in order beyond them "
             "goes past the cache, to the other blocks."},
    {FE_SEC_FTL, "slc_pause", FE_OPT_BOOL, FIELD(ftl.page.slc_pause), .def = "no",
     .used_by = "page",
     .help = "Whether a run (slc_run) also ends when the device has nothing left to do, so that "
             "the next write begins a new one."},
    {FE_SEC_FTL, "slc_dies", FE_OPT_U32, FIELD(ftl.page.slc_dies), .min = 1, .max = 65536,
     .zero = "all", .def = "all", .used_by = "page",
     .help = "Number of dies that the SLC cache fills in turn."},
    {FE_SEC_FTL, "slc_gather", FE_OPT_SIZE, FIELD(ftl.page.slc_gather), .min = 512,
     .max = MIB(1024), .zero = "page", .def = "page", .used_by = "page",
     .help = "How many bytes are programmed past the SLC cache in one go, aligned to their own size.  "
             "The pages of a run wait in the cache until the run has brought all of these bytes.  A "
             "command that brings all of them goes past the cache at once."},
    {FE_SEC_FTL, "enhanced_size", FE_OPT_SIZE, FIELD(ftl.page.enhanced_size), .min = 512,
     .max = TIB(16), .multiple = 512, .zero = "none", .def = "none", .used_by = "page",
     .n_details = 1,
     .help = "Bytes of the enhanced area, a range of an eMMC in SLC mode: two (mlc) or three (tlc) "
             "bytes of the chip for each.  A multiple of the flash page."},
    {FE_SEC_FTL, "enhanced_size:start", FE_OPT_SIZE, FIELD(ftl.page.enhanced_start), .max = TIB(16),
     .multiple = 512, .def = "0", .used_by = "page",
     .help = "Where the enhanced area begins; a multiple of the flash page."},

    /* Which parts of the map the controller holds. */
    {FE_SEC_FTL, "map_region", FE_OPT_SIZE, FIELD(ftl.region.map_region), .min = 512,
     .max = MIB(1024), .multiple = 512, .def = "4M", .used_by = "page segment",
     .help = "Bytes of a region, whose map the controller fetches as a whole."},
    {FE_SEC_FTL, "map_held", FE_OPT_U32, FIELD(ftl.region.map_held), .min = 1, .max = 256,
     .def = "1", .used_by = "page segment",
     .help = "Number of regions whose map the controller holds, the latest ones: so many for "
             "writes, and so many for reads."},
    {FE_SEC_FTL, "map_switch", FE_OPT_TIME, FIELD(ftl.region.map_switch_ns), .max = SEC(10),
     .def = "0", .used_by = "page segment",
     .help = "Additional time for a write to a region that is not held, unless it continues the "
             "previous write."},
    {FE_SEC_FTL, "map_read", FE_OPT_TIME, FIELD(ftl.region.map_read_ns), .max = SEC(10), .def = "0",
     .used_by = "page segment",
     .help = "Additional time for a read from a region that is not held, unless it continues the "
             "previous read."},
    {FE_SEC_FTL, "stream_read", FE_OPT_TIME, FIELD(ftl.region.stream_read_ns), .max = SEC(10),
     .def = "0", .used_by = "page segment",
     .help = "Additional time for a command that reads more than 4K and does not begin where the "
             "read before has ended."},

    /* What a command costs that ends inside a page. */
    {FE_SEC_FTL, "part_write", FE_OPT_TIME, FIELD(ftl.part.part_write_ns), .max = SEC(10),
     .def = "0", .used_by = "page segment",
     .help = "Additional time for each page of which a command writes only a part."},
    {FE_SEC_FTL, "rest_write", FE_OPT_TIME, FIELD(ftl.part.rest_write_ns), .max = SEC(10),
     .def = "0", .used_by = "page segment",
     .help = "Time to write a whole page again.  A command that writes a part of a page takes a "
             "share of this time: that of the page's bytes that the command does not write."},
    {FE_SEC_FTL, "tail_write", FE_OPT_TIME, FIELD(ftl.part.tail_write_ns), .max = SEC(10),
     .def = "0", .used_by = "page segment",
     .help = "Additional time for a command that writes more than a page, and more than "
             "ftl.tail_align, and does not end at a multiple of ftl.tail_align."},
    {FE_SEC_FTL, "tail_align", FE_OPT_SIZE, FIELD(ftl.part.tail_align), .min = 512,
     .max = MIB(1024), .multiple = 512, .zero = "page", .def = "page", .used_by = "page segment",
     .help = "Where long writes may end without ftl.tail_write."},
    {FE_SEC_FTL, "rest_read", FE_OPT_TIME, FIELD(ftl.part.rest_read_ns), .max = SEC(10),
     .def = "0", .used_by = "page segment",
     .help = "Time to fetch ftl.rest_align bytes.  A command that ends in front of a multiple of "
             "them also fetches what lies up to that multiple, for a share of this time, unless "
             "the read before has fetched it."},
    {FE_SEC_FTL, "rest_align", FE_OPT_SIZE, FIELD(ftl.part.rest_align), .min = 512,
     .max = MIB(1024), .multiple = 512, .zero = "page", .def = "page", .used_by = "page segment",
     .help = "Reads fetch up to a multiple of so many bytes (ftl.rest_read)."},

    /* The mapping cache of dftl. */
    {FE_SEC_FTL, "map_cache", FE_OPT_SIZE, FIELD(ftl.dftl.map_cache), .min = 8, .max = MIB(1024),
     .def = "64K", .used_by = "dftl",
     .help = "Bytes of the mapping cache; each entry takes 8."},

    /* Units of erase blocks, and how a merge fills one. */
    {FE_SEC_FTL, "unit_size", FE_OPT_SIZE, FIELD(ftl.unit.unit_size), .min = 512, .max = MIB(1024),
     .multiple = 512, .def = "4M", .used_by = IN_UNITS,
     .help = "Bytes of an allocation unit (segment) or of a mapped block (block, bast, fast)."},
    {FE_SEC_FTL, "copy_buffer", FE_OPT_U32, FIELD(ftl.unit.copy_buffer), .min = 1, .max = 65536,
     .def = "16", .used_by = IN_UNITS,
     .help = "Number of pages that a merge holds in the controller's memory at a time."},
    {FE_SEC_FTL, "copy_page", FE_OPT_TIME, FIELD(ftl.unit.copy_page_ns), .max = SEC(10),
     .def = "0", .used_by = IN_UNITS,
     .help = "Additional time for each page that a merge copies: the controller's own work."},
    {FE_SEC_FTL, "gap_fill", FE_OPT_U32, FIELD(ftl.unit.gap_fill), .max = 65536, .def = "0",
     .used_by = "segment bast fast",
     .help = "Number of pages that a write may skip in a unit that is written in order; skipped "
             "pages are copied."},
    {FE_SEC_FTL, "switch_merge", FE_OPT_BOOL, FIELD(ftl.unit.switch_merge), .def = "yes",
     .used_by = "segment bast fast",
     .help = "Whether a log that was written in order becomes the data unit without a copy."},

    /* Log blocks. */
    {FE_SEC_FTL, "log_blocks", FE_OPT_U32, FIELD(ftl.log.log_blocks), .min = 1, .max = 65536,
     .def = "8", .used_by = "bast fast",
     .help = "Number of log blocks."},
    {FE_SEC_FTL, "fast_sequential", FE_OPT_BOOL, FIELD(ftl.log.fast_sequential), .def = "yes",
     .used_by = "fast",
     .help = "Whether one log block takes sequential writes only."},

    /* Open units, the log for small writes, and groups of units. */
    {FE_SEC_FTL, "open_linear", FE_OPT_U32, FIELD(ftl.segment.open_linear), .max = 1024, .def = "1",
     .used_by = "segment",
     .help = "Number of allocation units that can be open for writes in ascending order."},
    {FE_SEC_FTL, "open_random", FE_OPT_U32, FIELD(ftl.segment.open_random), .max = 1024, .def = "0",
     .used_by = "segment",
     .help = "Number of allocation units that can be open for writes in any order."},
    {FE_SEC_FTL, "open_units", FE_OPT_U32, FIELD(ftl.segment.open_units), .max = 1024,
     .zero = "unlimited", .def = "unlimited", .used_by = "segment",
     .help = "Number of allocation units that can be open at the same time, in order and in any "
             "order together."},
    {FE_SEC_FTL, "random_log", FE_OPT_SIZE, FIELD(ftl.segment.random_log), .max = MIB(1024),
     .zero = "unit_size", .def = "unit_size", .used_by = "segment",
     .help = "Bytes that an allocation unit open for writing in any order takes before it is "
             "merged."},
    {FE_SEC_FTL, "random_record", FE_OPT_SIZE, FIELD(ftl.segment.random_record), .max = MIB(16),
     .def = "0", .used_by = "segment",
     .help = "A unit that is open in any order keeps a record of each command: a page for the head, "
             "then the data, padded to a multiple of so many bytes; 0: no records."},
    {FE_SEC_FTL, "small_log", FE_OPT_U32, FIELD(ftl.segment.small_log), .max = 1024, .def = "0",
     .used_by = "segment",
     .help = "Number of allocation units that log small writes page by page; 0 means no such log."},
    {FE_SEC_FTL, "small_write", FE_OPT_SIZE, FIELD(ftl.segment.small_write), .max = MIB(1024),
     .def = "0", .used_by = "segment",
     .help = "Bytes of the largest write command that goes to the small log."},
    {FE_SEC_FTL, "small_pace", FE_OPT_U32, FIELD(ftl.segment.small_pace), .max = 65536,
     .zero = "at-once", .def = "at-once", .used_by = "segment",
     .help = "Number of pages that the oldest unit of the small log gives up with each page that "
             "the log takes, so that it is empty in time; at-once means all of them when the log is "
             "full, which may make one write wait for hundreds of merges.  Needs small_log >= 2."},
    {FE_SEC_FTL, "small_join", FE_OPT_BOOL, FIELD(ftl.segment.small_join), .def = "no",
     .used_by = "segment",
     .help = "Whether a small write that reaches the end of a page takes the whole page from the "
             "small log to its linear unit."},
    {FE_SEC_FTL, "zone_units", FE_OPT_U32, FIELD(ftl.segment.zone_units), .max = 65536, .def = "0",
     .used_by = "segment", .n_details = 1,
     .help = "Number of allocation units in a zone whose writes all go to the small log; 0 means "
             "no zone."},
    {FE_SEC_FTL, "zone_units:start", FE_OPT_U32, FIELD(ftl.segment.zone_start), .max = 65536,
     .def = "0", .used_by = "segment",
     .help = "The first allocation unit of the zone."},
    {FE_SEC_FTL, "group_units", FE_OPT_U32, FIELD(ftl.segment.group_units), .min = 1, .max = 1024,
     .def = "1", .used_by = "segment",
     .help = "Number of neighbouring units that form a group; only one unit of a group is open at "
             "a time."},
    {FE_SEC_FTL, "scattered", FE_OPT_U32, FIELD(ftl.segment.scattered), .max = 1024,
     .zero = "unlimited", .def = "unlimited", .used_by = "segment",
     .help = "Number of replaced units that may lie apart from their group; one more, and the "
             "group of the oldest one is copied to one place."},
    {FE_SEC_FTL, "scattered_policy", FE_OPT_DETAILS, .def = "oldest", .used_by = "segment",
     .n_details = 2,
     .help = "Whose group is gathered when one unit more would be scattered: that of the oldest, or "
             "not so if it was written lately (stay), or the one with the fewest writes (fewest)."},
    {FE_SEC_FTL, "scattered_policy:stay", FE_OPT_U32, FIELD(ftl.segment.scattered_stay), .max = 1024,
     .def = "0", .used_by = "segment",
     .help = "Number of replaced units for which a group stays after its last one.  Meanwhile the "
             "group that finds no room is gathered itself."},
    {FE_SEC_FTL, "scattered_policy:fewest", FE_OPT_U32, FIELD(ftl.segment.scattered_hot), .max = 1024,
     .def = "0", .used_by = "segment",
     .help = "With stay: up to how many commands of each group are counted.  A group that "
             "finds no room takes the place of the group with the fewest commands since it was "
             "gathered, if it has more itself.  With 0 none are counted."},
    {FE_SEC_FTL, "group_switch", FE_OPT_BOOL, FIELD(ftl.segment.group_switch), .def = "no",
     .used_by = "segment",
     .help = "Whether a group needs no copy if its units were replaced one directly after the "
             "other, first to last."},
    {FE_SEC_FTL, "unit_read", FE_OPT_TIME, FIELD(ftl.segment.unit_read_ns), .max = SEC(10),
     .def = "0", .live = true, .used_by = "segment",
     .help = "Additional time for a command that reads on into another allocation unit."},
    {FE_SEC_FTL, "end_read", FE_OPT_TIME, FIELD(ftl.segment.end_read_ns), .max = SEC(10),
     .def = "0", .used_by = "segment",
     .help = "Additional time for a command that reads up to the end of an allocation unit, as if "
             "the controller looked for what comes next."},

    {FE_SEC_CACHE, "size", FE_OPT_SIZE, FIELD(cache.size), .max = MIB(1024), .zero = "none",
     .def = "none",
     .help = "Bytes of the device's write cache."},
    {FE_SEC_CACHE, "mode", FE_OPT_ENUM, FIELD(cache.mode), .names = cache_mode_names, .def = "on",
     .help = "Whether the host has turned the cache on; if not, cache.size counts as none, and a "
             "write is answered when the flash has it."},
    {FE_SEC_CACHE, "write_behind", FE_OPT_SIZE, FIELD(cache.write_behind), .max = MIB(1024),
     .zero = "none", .def = "none",
     .help = "Bytes of pages that may be on their way to the flash; a write is answered when its "
             "data are in that buffer.  With none a write is answered when the flash has it, and "
             "its data never wait."},
    {FE_SEC_CACHE, "volatile", FE_OPT_BOOL, FIELD(cache.volatile_), .def = "yes",
     .help = "Whether a power cut loses what the cache holds; flush and FUA write it to the "
             "flash, unless the device lies (faults.lie=flush-ignored, flush-late)."},
    {FE_SEC_CACHE, "reliable_write", FE_OPT_TIME, FIELD(cache.reliable_ns), .max = SEC(10),
     .def = "0",
     .help = "Additional time of the controller for a write with FUA, which Linux sends to an eMMC "
             "as a reliable write: it is answered when the flash has it, and a power cut leaves "
             "each of its pages old or new."},
    {FE_SEC_CACHE, "idle_flush", FE_OPT_BOOL, FIELD(cache.idle_flush), .def = "yes",
     .help = "Whether the cache is written to the flash while the host leaves the device alone."},

    {FE_SEC_LINK, "type", FE_OPT_ENUM, FIELD(link.type), .names = link_names, .def = "none",
     .help = "The link to the host; it sets the defaults of the other keys of [link]."},
    {FE_SEC_LINK, "bandwidth", FE_OPT_RATE, FIELD(link.bandwidth), .min = 1000, .max = SEC(1000),
     .zero = "unlimited", .derived = BY_LINK, .live = true,
     .help = "The rate at which data cross the link."},
    {FE_SEC_LINK, "command_overhead", FE_OPT_TIME, FIELD(link.command_overhead_ns), .max = SEC(10),
     .derived = BY_LINK, .live = true,
     .help = "Time that each command takes on the link before its data."},
    {FE_SEC_LINK, "max_transfer", FE_OPT_SIZE, FIELD(link.max_transfer), .min = 512,
     .max = MIB(1024), .multiple = 512, .derived = BY_LINK,
     .help = "Bytes of the largest command; a larger request is cut into commands from its start "
             "on."},
    {FE_SEC_LINK, "queue_depth", FE_OPT_U32, FIELD(link.queue_depth), .min = 1,
     .max = FE_LINK_MAX_DEPTH, .derived = BY_LINK,
     .help = "Number of commands that can be in the device simultaneously."},
    {FE_SEC_LINK, "queue", FE_OPT_ENUM, FIELD(link.queue), .names = queue_names, .def = "in-order",
     .help = "How the host uses queue_depth: data cross the link in the order of the commands "
             "(in-order), data that are ready go first (any-order), a command that does not "
             "continue the one before waits for its end, and the overhead of a write begins only "
             "then (in-turn), or the host sends one command at a time (off)."},
    {FE_SEC_LINK, "task_overhead", FE_OPT_TIME, FIELD(link.task_overhead_ns), .max = SEC(10),
     .derived = BY_LINK, .live = true,
     .help = "Time that a command of the queue occupies the link besides its data; none with "
             "queue=off."},
    {FE_SEC_LINK, "write_overhead", FE_OPT_TIME, FIELD(link.write_overhead_ns), .max = SEC(10),
     .def = "0", .live = true,
     .help = "Time that each write occupies the link besides its data, with and without a queue."},
    {FE_SEC_LINK, "read_buffer", FE_OPT_SIZE, FIELD(link.read_buffer), .max = MIB(1024),
     .zero = "none", .def = "none",
     .help = "Bytes of a read that the device has before it sends the first of them; with none "
             "each page is sent when it has been read."},
    {FE_SEC_LINK, "busy_poll", FE_OPT_TIME, FIELD(link.busy_poll_ns), .max = SEC(10), .def = "0",
     .live = true,
     .help = "With queue=off, the host asks after the data of a write whether it has ended.  If "
             "not, the host sleeps for this time and asks again; each further sleep is twice as "
             "long.  0 means that the device tells the host."},
    {FE_SEC_LINK, "busy_ask", FE_OPT_TIME, FIELD(link.busy_ask_ns), .max = SEC(10), .def = "0",
     .live = true, .help = "With busy_poll: time that each of the host's questions takes."},
    {FE_SEC_LINK, "busy_late", FE_OPT_SHARE, FIELD(link.busy_late_ppm), .max = 1000000, .def = "0%",
     .live = true,
     .help = "Share by which each sleep of busy_poll may be longer; drawn.  Linux allows 100%."},
    {FE_SEC_LINK, "turn_read", FE_OPT_SIZE, FIELD(link.turn_read), .max = MIB(1024),
     .zero = "none", .def = "none",
     .help = "Bytes of the largest read that may overlap with the one before.  A longer one "
             "begins when the command before it has ended, even if it continues that one."},

    {FE_SEC_ECC, "correctable_bits", FE_OPT_U32, FIELD(wear.correctable_bits), .min = 1,
     .max = 4096, .zero = "none", .derived = "by nand.cell: slc 1, mlc 8, tlc 24, nor none",
     .on_chip = true,
     .help = "Number of wrong bits in a codeword that are corrected; without a code, wrong bits "
             "go unnoticed."},
    {FE_SEC_ECC, "codeword_size", FE_OPT_SIZE32, FIELD(wear.codeword_size), .min = 256,
     .max = KIB(64), .pow2 = true, .derived = "1K with tlc, else 512", .on_chip = true,
     .help = "Data bytes of a codeword."},
    {FE_SEC_ECC, "retry_bits", FE_OPT_U32, FIELD(wear.retry_bits), .min = 1, .max = 4096,
     .zero = "never", .def = "never", .on_chip = true,
     .help = "Number of wrong bits in a codeword for which the page is sensed once more, with other "
             "voltages; twice as many, and it is sensed twice more.  So reads of worn blocks and of "
             "old data take longer."},
    {FE_SEC_ECC, "refresh_bits", FE_OPT_U32, FIELD(wear.refresh_bits), .min = 1, .max = 4096,
     .zero = "never", .derived = "three quarters of correctable_bits, rounded up", .on_chip = true,
     .help = "Number of corrected bits in a codeword from which on its block is copied to a spare "
             "block."},

#include "profile/options_faults.inc"

    {FE_SEC_STEP, "read_random", FE_OPT_TIME, FIELD(ftl.step.read.random_ns), .max = SEC(10),
     .def = "0", .live = true, .used_by = "step",
     .help = "Time of a block that is read elsewhere than at the end of a run of reads."},
    {FE_SEC_STEP, "read_spike", FE_OPT_TIME, FIELD(ftl.step.read.spike_ns), .max = SEC(10),
     .def = "0", .live = true, .used_by = "step", .n_details = 2,
     .help = "Additional time whenever a run of reads reaches a threshold."},
    {FE_SEC_STEP, "read_spike:first", FE_OPT_U32, FIELD(ftl.step.read.first), .min = 2,
     .max = UINT64_C(1) << 28, .zero = "never", .def = "32", .live = true, .used_by = "step",
     .help = "Length of a run of reads, in blocks, at its first threshold."},
    {FE_SEC_STEP, "read_spike:limit", FE_OPT_U32, FIELD(ftl.step.read.again), .min = 1,
     .max = UINT64_C(1) << 28, .zero = "never", .def = "256", .live = true, .used_by = "step",
     .help = "Largest distance between two thresholds of reads, in blocks; the distance doubles "
             "up to it."},
    {FE_SEC_STEP, "write_random", FE_OPT_TIME, FIELD(ftl.step.write.random_ns), .max = SEC(10),
     .def = "0", .live = true, .used_by = "step",
     .help = "Time of a block that is written elsewhere than at the end of a run of writes."},
    {FE_SEC_STEP, "write_step", FE_OPT_TIME, FIELD(ftl.step.write.step_ns), .max = SEC(10),
     .def = "0", .live = true, .used_by = "step",
     .help = "Time of each block that continues a run of writes."},
    {FE_SEC_STEP, "write_spike", FE_OPT_TIME, FIELD(ftl.step.write.spike_ns), .max = SEC(10),
     .def = "0", .live = true, .used_by = "step", .n_details = 2,
     .help = "Additional time whenever a run of writes reaches a threshold."},
    {FE_SEC_STEP, "write_spike:first", FE_OPT_U32, FIELD(ftl.step.write.first), .min = 2,
     .max = UINT64_C(1) << 28, .zero = "never", .def = "195", .live = true, .used_by = "step",
     .help = "Length of a run of writes, in blocks, at its first threshold."},
    {FE_SEC_STEP, "write_spike:period", FE_OPT_U32, FIELD(ftl.step.write.again), .min = 1,
     .max = UINT64_C(1) << 28, .zero = "never", .def = "256", .live = true, .used_by = "step",
     .help = "Distance between two thresholds of writes, in blocks."},
};

const uint32_t fe_n_options = sizeof fe_options / sizeof fe_options[0];
_Static_assert(sizeof fe_options / sizeof fe_options[0] <= FE_MAX_OPTIONS,
               "struct fe_profile has room for them");
