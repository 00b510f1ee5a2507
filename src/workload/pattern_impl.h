/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Inside the patterns: the option values that a kind of pattern gets, and what it has to
 * provide.  Each family of kinds has a file of its own, pattern_FAMILY.c, which defines an array
 * of kinds.
 */
#pragma once

#include "base/num.h"
#include "base/rng.h"
#include "workload/pattern.h"

#include <stdbool.h>
#include <stddef.h>

/* Index of an option in the table of pattern_options.c. */
enum fe_pattern_key {
    /* common */
    FE_PK_OP,
    FE_PK_BS,
    FE_PK_SIZE,
    FE_PK_OFFSET,
    FE_PK_COUNT,
    FE_PK_SEED,
    FE_PK_READS,
    FE_PK_FUA,
    FE_PK_FLUSH,
    FE_PK_THINK,
    FE_PK_INTERVAL,
    /* zipf, hotcold */
    FE_PK_THETA,
    FE_PK_SCATTER,
    FE_PK_SHARE,
    FE_PK_FRACTION,
    /* uflip */
    FE_PK_BASE,
    FE_PK_SHIFT,
    FE_PK_PARTITIONS,
    FE_PK_INCR,
    FE_PK_PARALLEL,
    FE_PK_BASE2,
    FE_PK_RATIO,
    FE_PK_PAUSE,
    FE_PK_BURST,
    /* flashbench */
    FE_PK_ERASESIZE,
    FE_PK_OPEN_AU_NR,
    FE_PK_RANDOM,
    FE_PK_FAT_NR,
    FE_PK_ORDER,
    FE_PK_SPAN,
    FE_PK_ROUNDS,
    /* fat-append */
    FE_PK_CLUSTER,
    FE_PK_START,
    FE_PK_LAYOUT,
    FE_PK_ALIGN,
    FE_PK_SYNC,
    FE_PK_FILES,
    FE_PK_META,
    FE_PK_FSINFO,
    FE_N_PATTERN_KEYS
};

#define FE_PK_BIT(key) (UINT64_C(1) << (FE_PK_##key))

/* Options that every pattern has. */
#define FE_PK_COMMON                                                                        \
    (FE_PK_BIT(SIZE) | FE_PK_BIT(COUNT) | FE_PK_BIT(SEED) | FE_PK_BIT(FUA) | FE_PK_BIT(FLUSH) | \
     FE_PK_BIT(THINK) | FE_PK_BIT(INTERVAL))

/* Values of the options with choices, in the order of the table. */
enum { FE_BASE_SR, FE_BASE_RR, FE_BASE_SW, FE_BASE_RW };
enum { FE_LAYOUT_MKFS, FE_LAYOUT_PACKED, FE_LAYOUT_FACTORY };

struct fe_pattern_values {
    uint64_t v[FE_N_PATTERN_KEYS]; /* shares and theta in ppm, INCR as int64_t, BOOL 0 1 */
    uint64_t given;                /* one bit for each key that the user gave */
};

struct fe_pattern_kind {
    const char *name, *help;
    uint64_t keys;        /* one bit for each option that it takes */
    const char *defaults; /* "KEY=VALUE,..."; replace the table's.  NULL = there are none */
    size_t state_size;    /* bytes of zeroed memory that p->state points to */

    /* Checks the options and prepares the state.  0, or a negative errno with message. */
    int (*init)(struct fe_pattern *p, struct fe_err *err);

    /* Fills type, offset and len of record i, and if need be think_ns, stream and depth.  The
     * record is zero before.  Returns false at the end of the pattern.  i counts up from 0. */
    bool (*next)(struct fe_pattern *p, uint64_t i, struct fe_trace_rec *rec);
};

extern const struct fe_pattern_kind fe_pattern_basic[], fe_pattern_uflip[],
    fe_pattern_flashbench[], fe_pattern_fat[]; /* each ends with a kind without a name */

struct fe_pattern {
    const struct fe_pattern_kind *kind;
    struct fe_pattern_env env;
    struct fe_pattern_values o;
    void *state;
    uint64_t n_blocks; /* of bs in size; set by fe_pattern_region */
    uint64_t i, n_records, time_ns;
    uint64_t writes_since_flush;
    bool flush_due, ended;
};

/* The i-th kind in the order of the help; NULL after the last one. */
const struct fe_pattern_kind *fe_pattern_kind_at(unsigned i);

/* --- pattern_options.c --- */

/* Reads "KEY=VALUE" into o.  -EINVAL with message. */
int fe_pattern_set(const struct fe_pattern_kind *kind, struct fe_pattern_values *o,
                   const char *text, size_t len, struct fe_err *err);

/* Sets the table's defaults, and then those of the kind.  No key counts as given. */
void fe_pattern_set_defaults(const struct fe_pattern_kind *kind, struct fe_pattern_values *o);

/* Prints the options that a kind has. */
void fe_pattern_keys_help(FILE *out, const struct fe_pattern_kind *kind);

/* --- for kinds --- */

/* Fails with "pattern NAME: message", -EINVAL. */
int fe_pattern_bad(const struct fe_pattern *p, struct fe_err *err, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Settles size, offset and n_blocks.  The region must be inside the capacity, consist of whole
 * sectors, and have at least one block.  If count was not given, it becomes n_blocks.  -EINVAL
 * with message. */
int fe_pattern_region(struct fe_pattern *p, struct fe_err *err);

/* 64 random bits that belong to record i.  `draw` numbers the draws of one record. */
static inline uint64_t fe_pattern_draw(const struct fe_pattern *p, uint64_t i, uint64_t draw)
{
    return fe_rng(p->o.v[FE_PK_SEED], FE_RNG_WORKLOAD, i, draw);
}

/* Lets record i go to this block of the region.  The options `op` and `reads` say whether it is
 * a read, a write or a trim. */
static inline void fe_pattern_block(const struct fe_pattern *p, uint64_t i, uint64_t block,
                                    struct fe_trace_rec *rec)
{
    uint64_t reads = p->o.v[FE_PK_READS];
    bool read = reads > 0 && fe_rng_below(fe_pattern_draw(p, i, UINT64_MAX), 1000000) < reads;

    rec->type = (uint8_t)(read ? FE_REQ_READ : p->o.v[FE_PK_OP]);
    rec->offset = p->o.v[FE_PK_OFFSET] + block * p->o.v[FE_PK_BS];
    rec->len = p->o.v[FE_PK_BS];
}
