/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The translation layer: it decides where a logical page lies on the chip.
 *
 *     device     read, write, trim of one logical page
 *        |
 *     strategy   struct fe_ftl_ops; one of those that registry.h lists
 *        |
 *     medium     programs and erases pages and blocks, and notes each operation in the op list
 *
 * A strategy works on the medium only and knows no time.  What a strategy costs is what the medium
 * adds to the op list, plus the work of the controller alone, which the strategy adds itself with
 * fe_ops_busy().
 *
 * The device calls a strategy page by page, in the order of requests.  One caller at a time: no lock.
 */
#pragma once

#include "flashemu/err.h"
#include "flashemu/ftl_params.h"
#include "flashemu/stats.h"
#include "nand/medium.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>

/* The role of a page, as its strategy has written it into the page's OOB.  Power-on needs it to
 * tell complete merges and moves from interrupted ones.  Images contain these numbers, so they
 * never change. */
enum fe_tag {
    /* Pages that the host has written: */
    FE_TAG_DATA = 0,        /* in a data unit, or in a block for data */
    FE_TAG_LOG = 1,         /* in a log that one logical unit has for itself */
    FE_TAG_SHARED_LOG = 2,  /* in a log that all logical units share */
    FE_TAG_SLC = 3,         /* in the SLC cache */
    FE_TAG_COLD = 5,        /* in a block for pages that are seldom written */
    /* Copies: */
    FE_TAG_COPY = 4,        /* made by cleaning, or to complete a unit that the host has begun */
    FE_TAG_COLD_COPY = 6,   /* made by cleaning, in a block for pages that are seldom written */
    FE_TAG_STATIC = 7,        /* made by static wear levelling */
    FE_TAG_MERGE = 8,       /* in the new unit of a full merge, which counts when it is complete */
    FE_TAG_MERGE_END = 9,   /* the same; the last page, which makes the merge complete */
    /* What the strategy writes for itself: */
    FE_TAG_MAP = 10,        /* a page of the mapping table */
    FE_TAG_HEADER = 11,     /* the header of a block */
    FE_N_TAGS = 12
};

struct fe_ftl {
    const struct fe_ftl_ops *ops;
    struct fe_medium *medium; /* not owned */
    uint32_t n_lpns;          /* logical pages [0, n_lpns) */
    uint32_t trim_unit;       /* parts of a long trim begin at multiples of so many pages; 0: of one page */
    bool hears_idle;          /* ops->idled is called; set when the strategy is made */
    struct fe_mapping *map;   /* the newest copies (mapping.h), if kept in memory, or NULL; freed with it */
    struct fe_ftl_counters counters;
};

/* The step of `fetch` for a page that is read soon, after those of fe_device_fetch: what is known
 * of it. */
enum { FE_FETCH_PAGE = 3 };

struct fe_ftl_ops {
    const char *name, *summary;

    /* The strategy does not use the chip, only the number of its pages.  There are no operations,
     * and a profile needs no [nand]. */
    bool no_medium;

    /* The largest number of logical pages that this strategy can offer on this medium with these
     * parameters.  0 if the parameters contradict each other, with a message that names the
     * numbers which would work. */
    uint64_t (*max_lpns)(const struct fe_ftl_params *p, const struct fe_geometry *geo,
                         struct fe_err *err);

    /* How many good pebs, the first ones, belong to an enhanced area; 0 without one.  NULL: there
     * never is an area.  The parameters are good. */
    uint64_t (*enhanced_blocks)(const struct fe_ftl_params *p, const struct fe_geometry *geo);

    /* Bytes of the strategy's struct, which begins with struct fe_ftl. */
    size_t size;

    /* Makes a strategy of a struct that is all zeros behind its struct fe_ftl, on an erased medium,
     * with all pages unmapped.  n_lpns is in [1, max_lpns()].
     *
     * On a medium that has been used this is power-on: finds the mapping again from what is on the
     * chip, and brings everything else in order.  The cost of that is in the op list.  A second time
     * changes nothing.
     *
     * -ENOMEM, or -EINVAL or -EIO with a message, the last if the chip cannot be brought in order;
     * `fini` is called then, too. */
    int (*start)(struct fe_ftl *ftl, const struct fe_ftl_params *p, bool used, struct fe_err *err);

    /* Frees what the struct owns, and not the struct.  NULL: it owns nothing. */
    void (*fini)(struct fe_ftl *ftl);

    /* Whether the strategy could have programmed this page, which can be read: power-on asks for
     * each one before it does anything (fe_recover_check).  NULL: any page in the host's range. */
    bool (*may_hold)(const struct fe_ftl *ftl, fe_ppn ppn);
    bool uses_slc; /* some blocks may be in SLC mode */

    /* Reads bytes [off, off + len) of the page into buf[0, len).  An unmapped page reads as zeros
     * and needs no operation, except where the strategy has to read its table to know that (dftl).
     * buf may be NULL: then only the time counts.  The medium may bring the bytes at the end of the
     * request only, so a strategy neither looks at them nor changes them. */
    enum fe_status (*read)(struct fe_ftl *ftl, fe_lpn lpn, uint32_t off, uint32_t len, void *buf);

    /* Where the newest copy of a page is, FE_PPN_NONE if it is unmapped; without a chip, the page of
     * the store.  A look from outside, which costs nothing and changes nothing. */
    fe_ppn (*locate)(const struct fe_ftl *ftl, fe_lpn lpn);

    /* Makes bytes [off, off + len) of the page `data`, or zeros if data is NULL; len > 0. */
    enum fe_status (*write)(struct fe_ftl *ftl, fe_lpn lpn, uint32_t off, uint32_t len,
                            const void *data);

    /* On a new strategy of which exactly the pages [0, first) have been written, in order: does
     * what `write` does with pages first, first + 1 and so on of [first, end), whole and without
     * data, for as many of them as can be done at once; operations are left out.  Returns how many.
     * If it returns 0, the caller writes page `first`, and may ask again.  May be NULL. */
    fe_lpn (*fill)(struct fe_ftl *ftl, fe_lpn first, fe_lpn end);

    /* Pages [first, first + n) read as zeros from now on.  NULL: there is no TRIM. */
    enum fe_status (*trim)(struct fe_ftl *ftl, fe_lpn first, uint32_t n);

    /* A hint, which changes nothing: the page will be written or read soon; as fe_device_fetch.
     * NULL: there is no large table. */
    void (*fetch)(const struct fe_ftl *ftl, fe_lpn lpn, uint32_t step);

    /* Says that a command of the host begins which reads or writes bytes [offset, offset + len).
     * May be NULL. */
    void (*begin_command)(struct fe_ftl *ftl, bool write, uint64_t offset, uint64_t len);

    /* Says that the device has done all that it was asked before the command that begins next.
     * Finding that out takes time before each command, so only a strategy that has set
     * ftl->hears_idle is told.  NULL in the others. */
    void (*idled)(struct fe_ftl *ftl);

    /* Says that the host's write command has ended; the strategy finishes what must not wait any
     * longer.  May be NULL. */
    enum fe_status (*end_command)(struct fe_ftl *ftl);

    /* Does one step of work that could wait until now; false if there was nothing to do.  May be
     * NULL. */
    bool (*idle)(struct fe_ftl *ftl);

    /* Takes the strategy's own delays from *p, for commands from now on.  May be NULL. */
    void (*set_delays)(struct fe_ftl *ftl, const struct fe_ftl_params *p);

    /* The number of erase blocks that hold nothing and can be written.  NULL: never any. */
    uint32_t (*free_blocks)(const struct fe_ftl *ftl);

    /* How many pages of this block hold what a later read, or the strategy itself, needs: the
     * newest copies of logical pages, and pages of the mapping table.  NULL: the strategy has no
     * table on the chip and does not count; the device looks each page up with `locate`. */
    uint32_t (*valid_pages)(const struct fe_ftl *ftl, fe_peb peb);

    /* Checks every invariant.  0, -EIO with a message, or -ENOMEM.  May cost O(pages). */
    int (*check)(const struct fe_ftl *ftl, struct fe_err *err);
};

/* The layers above call a strategy through the functions below.  At the end of the medium's life
 * (eol) nothing that could program or erase may be called any more.  `check` may not be called
 * either, because the strategy may have stopped in the middle of a step.  Reading stays possible.
 * After the next power-on the reader of read_only.h takes the strategy's place; it has only the
 * ops that are still needed. */
static inline enum fe_status fe_ftl_write(struct fe_ftl *f, fe_lpn lpn, uint32_t off, uint32_t len,
                                          const void *data)
{
    return f->medium->eol ? FE_READ_ONLY : f->ops->write(f, lpn, off, len, data);
}

static inline enum fe_status fe_ftl_trim(struct fe_ftl *f, fe_lpn first, uint32_t n)
{
    return f->medium->eol ? FE_READ_ONLY : f->ops->trim(f, first, n);
}

static inline enum fe_status fe_ftl_end_command(struct fe_ftl *f)
{
    return f->medium->eol || !f->ops->end_command ? FE_OK : f->ops->end_command(f);
}

static inline bool fe_ftl_idle(struct fe_ftl *f)
{
    return !f->medium->eol && f->ops->idle && f->ops->idle(f);
}

/* What max_lpns returns with a message. */
#define fe_no_pages(err, ...) (fe_err_set(err, EINVAL, __VA_ARGS__), 0)

/* All strategies, ended by NULL.  fe_ftl_params.type is an index in this array. */
extern const struct fe_ftl_ops *const fe_ftl_registry[];

/* The index of a name in the registry, or -1. */
int fe_ftl_find(const char *name);

/* A strategy on a medium that must outlive it; `start` says how it can fail.  *ret: on success only. */
int fe_ftl_create(struct fe_ftl **ret, const struct fe_ftl_ops *ops, const struct fe_ftl_params *p,
                  struct fe_medium *m, uint32_t n_lpns, bool used, struct fe_err *err);
void fe_ftl_destroy(struct fe_ftl *ftl);
