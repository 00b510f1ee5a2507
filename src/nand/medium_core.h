/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a medium consists of.  It is here in full for the sake of the inlines of nand/medium_read.h,
 * which say what everybody may know of the chip's state.
 *
 * The layers above read geo, ops, store, counters, copyback, eol and never_cut, and ask whether there is
 * an undo or a read_hook.  What they do with chip, wear and undo, they do by the functions of
 * nand/chip.h, wear.h and undo.h; the device also reads from wear how many blocks have failed and what
 * endurance was drawn, and from the undo how many operations a cut could take back.  The device alone
 * sets anything: now_ns, and when it is built never_cut,
 * brings_back and copies_late, and undo->recovering at power-on.  All the others belong to the files
 * of this folder:
 *
 *     medium.c     the chip's rules, and what each operation changes
 *     undo.c       takes operations back when power is cut
 *     wear.c       what the controller does about failures
 *     bbm.c        puts another chip block behind a peb
 *     failures.c   which operations fail and which bits are wrong
 *     issue.h      the op list: what operations cost
 *     chip.c       the state that outlives a run, with chip_lifetime.c and chip_load.c
 *
 * Each file uses only files further down.
 */
#pragma once

#include "nand/chip.h"
#include "nand/ops.h"

#include <stddef.h>

/* Since the medium was made; an image does not keep them. */
struct fe_nand_counters {
    uint64_t page_reads, page_programs, block_erases; /* of single planes */
    uint64_t bytes_programmed;                        /* data, without OOB */
    uint64_t ecc_corrected, ecc_uncorrectable;        /* codewords read */
    uint64_t program_failures, erase_failures;
    uint64_t refreshed, retired;                      /* blocks, because of bits that flipped */
};

struct fe_wear;
struct fe_undo;

struct fe_medium {
    struct fe_geometry geo;
    uint64_t tR_ns[3], tPROG_ns[3], tBERS_ns; /* of a whole page, of a block */
    uint64_t slc_tR_ns, slc_tPROG_ns;
    struct fe_slowdown worn;   /* how much longer they take in worn blocks */
    bool slows;                /* any of that is not 0 */
    bool copyback;
    bool one_by_one;           /* one die, which does nothing at the same time, takes the data of a
                                  program once and is as fast in all blocks: see nand/series.h */
    bool read_hook, prog_hook; /* reads and programs have to ask `wear` */
    bool never_cut;            /* power is never cut, and there is no image: the controller need
                                  not find again on the chip what it knows.  Known from the start,
                                  while `undo` comes when the device has been built */
    bool brings_back;          /* cuts may bring back what was replaced long ago, or what the host
                                  has trimmed; known from the start */
    bool copies_late;          /* the owner settles the store when a request ends, and nobody looks
                                  at bytes that were read before that */
    bool eol;                  /* end of life: no program and no erase any more */
    uint8_t *page_bit;         /* per page of a block: index in tR_ns and tPROG_ns */
    fe_ppn in_register;        /* with parts: the page that was programmed or read last, or
                                  FE_PPN_NONE if the next operation begins a page anyway */
    bool register_read;        /* it was read */
    struct fe_oplist *ops;     /* not owned */
    struct fe_store *store;    /* not owned */
    struct fe_chip chip;       /* changed by the functions of nand/chip.h only */
    struct fe_wear *wear;      /* how the chip fails (nand/wear.h); NULL: never */
    struct fe_undo *undo;      /* nand/undo.h; NULL: power is never cut */
    uint64_t now_ns;           /* device time, set by the owner: the age of data counts from it */
    uint64_t emptying_since;   /* number of the last program when the emptying of the present
                                  victim began, for the journal of a power cut */
    struct fe_nand_counters counters;
};
