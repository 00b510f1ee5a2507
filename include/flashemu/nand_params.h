/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The parameters of the chip: sections [nand] and [ecc] of a profile, and the keys of
 * [faults] that make a chip fail.
 *
 * The option table (src/profile/options.c) has the range, the default and the meaning of
 * every key.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* How many bits a memory cell holds: one, two, three; NOR cells hold one. */
enum fe_cell { FE_CELL_SLC, FE_CELL_MLC, FE_CELL_TLC, FE_CELL_NOR, FE_N_CELLS };

/* How much longer the operations of a block take at its device's endurance than when it was new,
 * in ppm.  The first three grow in proportion to the cycles.  `end` is for all three, and grows with
 * the 32nd power of the cycles: it is what the last tenth of a life costs in addition. */
struct fe_slowdown {
    uint64_t read_ppm, program_ppm, erase_ppm, end_ppm;
};

/* The shape of the chip and its times. */
struct fe_nand_params {
    uint32_t cell; /* enum fe_cell */
    uint32_t channels, dies_per_channel, planes_per_die, blocks_per_plane;
    uint32_t pages_per_block;
    uint32_t page_size, oob_size;     /* bytes */
    uint32_t page_parts;              /* programs that fill a page, a power of two; 0 as 1 */
    uint32_t program_unit;            /* bytes that one tPROG writes; 0 = a page */
    bool multiplane;                  /* the planes of a die work together, as one */
    bool cached;                      /* cache register: transfers overlap with tR and tPROG */
    bool copyback;                    /* a copy within a die does not cross the channel */
    uint64_t tR_ns[3], tPROG_ns[3];   /* for each bit of the cell; the others repeat the last */
    uint64_t tBERS_ns;
    uint64_t slc_tR_ns, slc_tPROG_ns; /* of blocks in SLC mode; 0 = as the first bit */
    uint64_t bus_rate;                /* bytes a second on a channel; 0 = unlimited */
    uint64_t command_ns;              /* command and address cycles of an operation */
    uint64_t endurance;               /* program and erase cycles; 0 = unlimited */
    uint64_t slc_endurance;           /* of blocks in SLC mode; 0 = as endurance */
    struct fe_slowdown worn;          /* how much longer its operations take when it is worn */
};

/* Rates of raw bit errors: errors in 10^12 bits, at most 5 x 10^11.  src/nand/ber.h has
 * the formula in which each of the four is one term. */
struct fe_ber_params {
    uint64_t fresh, worn, retention, disturb;
};

/* What the device does when a block fails and no spare block is left. */
enum fe_end_of_life {
    FE_EOL_READ_ONLY, /* nothing is written any more, everything can be read */
    FE_EOL_FULL,      /* the same, and the host is told that there is no space */
    FE_EOL_DEAD,      /* nothing is answered any more */
    FE_EOL_SLOW,      /* failed blocks stay in use, each operation on them is repeated */
    FE_EOL_SILENT,    /* failed blocks stay in use, and what is written there is lost */
    FE_N_EOLS
};

/* How the lives of blocks lie around the endurance of the device. */
enum fe_life_shape { FE_LIFE_UNIFORM, FE_LIFE_LOGNORMAL, FE_N_LIFE_SHAPES };

/* The rank of a device in the middle of its kind. */
#define FE_MEDIAN_PPM 500000

/* How the chip fails, and what the controller does against it. */
struct fe_wear_params {
    uint64_t factory_bad_ppm;  /* share of the chip blocks that are bad from the start */
    uint32_t spare_blocks;     /* chip blocks that can replace failed ones */
    uint32_t end_of_life;      /* enum fe_end_of_life */
    uint32_t slow_factor;      /* how often FE_EOL_SLOW does an operation on a failed block */
    uint64_t life_spread_ppm;  /* how far the life of a block can lie from the endurance; of
                                  FE_LIFE_LOGNORMAL the standard deviation of its logarithm */
    uint32_t life_shape;       /* enum fe_life_shape */
    uint64_t device_spread_ppm; /* standard deviation of the logarithm of a device's endurance */
    uint64_t kind_spread_ppm;  /* the same of the devices of its kind */
    uint64_t rank_ppm;         /* share of these that bear less than this one does at its median */
    uint32_t weak_block;       /* a chip block; counts only with weak_cycles */
    uint64_t weak_cycles;      /* cycles after which weak_block dies; 0: no block is weak */
    uint64_t program_fail_ppm, erase_fail_ppm; /* shares of operations that fail by chance */
    uint64_t fail_program, fail_erase;         /* program or erase number N fails; 0: none */
    struct fe_ber_params ber;
    uint32_t correctable_bits; /* in a codeword; 0: there is no code, errors go unnoticed */
    uint32_t codeword_size;    /* bytes, a power of two */
    uint32_t retry_bits;       /* wrong bits of a codeword for which the page is read once more;
                                  0: it never is */
    uint32_t refresh_bits;     /* with that many errors in a codeword the block is refreshed;
                                  0: never */
};
