/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The translation layer: where a logical page lies on the chip.
 *
 * Every strategy is one file with one struct fe_ftl_ops, listed in registry.h.
 * A strategy works on the medium only; it knows no time.  What it costs is what the
 * medium writes to the op list, plus fe_ops_busy() for work of the controller alone.
 *
 * Called by the device, page by page and in order of arrival; no lock.
 */
#ifndef FE_FTL_FTL_H
#define FE_FTL_FTL_H

#include "flashemu/err.h"
#include "flashemu/ftl_params.h"
#include "nand/medium.h"

#include <stdbool.h>
#include <stdint.h>

/* What a page is to its strategy: the tag in its OOB, by which power-on finds its way. */
enum fe_tag {
    FE_TAG_DATA,       /* the host's, where a data unit or a block of data has it */
    FE_TAG_LOG,        /* the host's, in a log of one logical unit */
    FE_TAG_SHARED_LOG, /* the host's, in a log of all logical units */
    FE_TAG_SLC,        /* the host's, in the SLC cache */
    FE_TAG_COPY,       /* moved: by cleaning, or into a unit that has pages of the host */
    FE_TAG_COLD,       /* the host's, in a block for cold pages */
    FE_TAG_COLD_COPY,  /* moved to one */
    FE_TAG_REST,       /* moved by static wear levelling */
    FE_TAG_MERGE,      /* in a unit that a full merge fills; it is of use when that is whole */
    FE_TAG_MERGE_END,  /* the last page of a full merge */
    FE_TAG_MAP,        /* a page of the mapping table */
    FE_TAG_HEADER,     /* of a block */
    FE_N_TAGS
};

/* Counted by the strategy; host writes and NAND operations are counted elsewhere. */
struct fe_ftl_counters {
    uint64_t gc_runs;
    uint64_t pages_copied;    /* by whatever moves pages: cleaning, merges, folds, levelling */
    uint64_t slc_folds;       /* blocks of the SLC cache that were emptied */
    uint64_t wear_moves;      /* blocks that static wear levelling moved */
    uint64_t merges_switch, merges_partial, merges_full;
    uint64_t map_hits, map_misses;  /* mappings that dftl found in its cache, and not */
    uint64_t map_reads, map_writes; /* of translation pages, but for copies */
    uint64_t map_evictions;         /* those writes that an entry caused by leaving */
};

struct fe_ftl {
    const struct fe_ftl_ops *ops;
    struct fe_medium *medium; /* not owned */
    uint32_t n_lpns;          /* logical pages [0, n_lpns) */
    struct fe_ftl_counters counters;
};

struct fe_ftl_ops {
    const char *name, *summary;

    /* It does without the chip but for the number of its pages: no operations, no [nand]
     * needed. */
    bool no_medium;

    /* How many logical pages this strategy can offer at most on this medium with
     * these parameters.  0 with a message, naming the numbers that would work, if
     * they contradict each other. */
    uint64_t (*max_lpns)(const struct fe_ftl_params *p, const struct fe_geometry *geo,
                         struct fe_err *err);

    /* All pages unmapped on an erased medium.  n_lpns in [1, max_lpns()].  The medium
     * must outlive the strategy.  -ENOMEM, or -EINVAL with a message. */
    int (*create)(struct fe_ftl **ret, const struct fe_ftl_params *p, struct fe_medium *m,
                  uint32_t n_lpns, struct fe_err *err);
    void (*destroy)(struct fe_ftl *ftl);

    /* Instead of create, on a medium that has been used: finds the mapping again from what
     * is on it, as at power-on, and brings the rest in order.  What that costs is in the
     * op list.  Doing it again changes nothing.  -ENOMEM, -EINVAL, or -EIO with a message if
     * that cannot be done. */
    int (*recover)(struct fe_ftl **ret, const struct fe_ftl_params *p, struct fe_medium *m,
                   uint32_t n_lpns, struct fe_err *err);

    /* buf[0, len) = bytes [off, off + len) of the page.  An unmapped page gives zeros
     * and no operation but what finding that out costs (dftl reads its table).  buf may be
     * NULL (time only). */
    enum fe_status (*read)(struct fe_ftl *ftl, fe_lpn lpn, uint32_t off, uint32_t len, void *buf);

    /* Bytes [off, off + len) of the page become data (zeros if NULL); len > 0. */
    enum fe_status (*write)(struct fe_ftl *ftl, fe_lpn lpn, uint32_t off, uint32_t len,
                            const void *data);

    /* Pages [first, first + n) read as zeros from now on.  NULL: no TRIM. */
    enum fe_status (*trim)(struct fe_ftl *ftl, fe_lpn first, uint32_t n);

    /* A host command of reads or writes over bytes [offset, offset + len) begins.  May be
     * NULL. */
    void (*begin_command)(struct fe_ftl *ftl, bool write, uint64_t offset, uint64_t len);

    /* The host's write command has ended: what the strategy must finish by then.  May be NULL. */
    enum fe_status (*end_command)(struct fe_ftl *ftl);

    /* One step of work that can wait; false if there was nothing to do.  May be NULL. */
    bool (*idle)(struct fe_ftl *ftl);

    /* Takes the delays that are its own from *p, for commands from now on.  May be NULL. */
    void (*set_delays)(struct fe_ftl *ftl, const struct fe_ftl_params *p);

    /* Erase blocks that hold nothing and can be written. */
    uint32_t (*free_blocks)(const struct fe_ftl *ftl);

    /* Every invariant; 0, or -EIO with what is wrong.  May cost O(pages). */
    int (*check)(const struct fe_ftl *ftl, struct fe_err *err);
};

/* How those above call a strategy: at the end of the medium's life nothing that could
 * program or erase is asked of it any more, nor its invariants, since a step of it may have
 * ended half done.  Reading stays possible; after the next power-on from the reader of
 * read_only.h, which has no more ops than that. */
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

/* All strategies, ended by NULL; fe_ftl_params.type is an index here. */
extern const struct fe_ftl_ops *const fe_ftl_registry[];

/* The index of a name in the registry, or -1. */
int fe_ftl_find(const char *name);

#endif
