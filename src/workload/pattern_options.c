/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The option table of the patterns.  It has one row for each key, with its type, range, default
 * and sentence.  Parser, range check and help come from this table.  A kind of pattern only says
 * which keys it takes, and which defaults it has instead of the table's.  What kinds check of the
 * values is here as well.
 */
#include "workload/pattern_impl.h"

#include "base/guess.h"
#include "base/quantity.h"
#include "workload/number.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <string.h>

enum type { SIZE, COUNT, SIGNED, TIME, SHARE, DECIMAL, BOOL, CHOICE };

struct key {
    const char *name;
    enum type type;
    uint64_t min, max;    /* of the stored value; not for SIGNED, BOOL, CHOICE */
    const char *def;      /* NULL = worked out, see the sentence */
    const char *choices;  /* CHOICE: "a|b|c", stored as 0, 1, 2 */
    const char *help;
};

#define MAX_BYTES FE_TRACE_MAX_END

/* FE_PK_OP's choices are in the order of enum fe_req_type. */
static const struct key keys[FE_N_PATTERN_KEYS] = {
    [FE_PK_OP] = {"op", CHOICE, 0, 0, "read", "read|write|trim", "what the requests do"},
    [FE_PK_BS] = {"bs", SIZE, 1, 1u << 30, "4K", NULL, "bytes of a request"},
    [FE_PK_SIZE] = {"size", SIZE, 1, MAX_BYTES, NULL, NULL,
                    "bytes of the region; default: the rest of the device, or 1G"},
    [FE_PK_OFFSET] = {"offset", SIZE, 0, MAX_BYTES, "0", NULL, "where the region starts"},
    [FE_PK_COUNT] = {"count", COUNT, 1, UINT64_MAX, NULL, NULL,
                     "how many requests at most; default: size / bs, or to the pattern's end"},
    [FE_PK_SEED] = {"seed", COUNT, 0, UINT64_MAX, "1", NULL, "of all randomness"},
    [FE_PK_READS] = {"reads", SHARE, 0, 1000000, "0%", NULL,
                     "share of requests that are reads, whatever op says"},
    [FE_PK_FUA] = {"fua", BOOL, 0, 1, "no", NULL, "writes and trims carry FUA"},
    [FE_PK_FLUSH] = {"flush", COUNT, 0, UINT64_MAX, "0", NULL,
                     "a flush after that many writes (not in count); 0 = never"},
    [FE_PK_THINK] = {"think", TIME, 0, UINT64_MAX, "0", NULL,
                     "pause before each request in a closed loop"},
    [FE_PK_INTERVAL] = {"interval", TIME, 0, UINT64_MAX, "0", NULL,
                        "time between requests for a timed replay"},
    [FE_PK_THETA] = {"theta", DECIMAL, 0, 10000000, "0.99", NULL,
                     "block of rank k is k^theta times rarer than the first"},
    [FE_PK_SCATTER] = {"scatter", BOOL, 0, 1, "yes", NULL,
                       "spread the ranks over the region; no: rank is position"},
    [FE_PK_SHARE] = {"share", SHARE, 0, 1000000, "80%", NULL,
                     "of requests that go to the hot part"},
    [FE_PK_FRACTION] = {"fraction", SHARE, 1, 999999, "20%", NULL,
                        "of the region that is hot; it comes first"},
    [FE_PK_BASE] = {"base", CHOICE, 0, 0, "rw", "sr|rr|sw|rw",
                    "baseline: sequential or random, reads or writes"},
    [FE_PK_SHIFT] = {"shift", SIZE, 0, 1u << 30, "512", NULL,
                     "bytes that every request is shifted"},
    [FE_PK_PARTITIONS] = {"partitions", COUNT, 1, 1u << 20, "4", NULL,
                          "equal parts, written sequentially in turn"},
    [FE_PK_INCR] = {"incr", SIGNED, 0, 0, "-1", NULL,
                    "step in requests: -1 reverse, 0 in place, N with gaps"},
    [FE_PK_PARALLEL] = {"parallel", COUNT, 1, 1u << 16, "4", NULL,
                        "processes, each in its own part; also the depth"},
    [FE_PK_BASE2] = {"base2", CHOICE, 0, 0, "sr", "sr|rr|sw|rw",
                     "second baseline, in the second half"},
    [FE_PK_RATIO] = {"ratio", COUNT, 1, 1u << 20, "1", NULL, "requests of base for one of base2"},
    [FE_PK_PAUSE] = {"pause", TIME, 0, UINT64_MAX, "100ms", NULL, "pause in a closed loop"},
    [FE_PK_BURST] = {"burst", COUNT, 1, UINT64_MAX, "10", NULL, "requests between pauses"},
    [FE_PK_ERASESIZE] = {"erasesize", SIZE, 1, 1u << 30, "4M", NULL, "bytes of an allocation unit"},
    [FE_PK_OPEN_AU_NR] = {"open-au-nr", COUNT, 1, 65535, "2", NULL, "units written simultaneously"},
    [FE_PK_RANDOM] = {"random", BOOL, 0, 1, "no", NULL, "LFSR order inside a unit"},
    [FE_PK_FAT_NR] = {"fat-nr", COUNT, 1, 65535, "6", NULL, "units looked at"},
    [FE_PK_ORDER] = {"scatter-order", COUNT, 8, 16, "9", NULL, "2^N positions"},
    [FE_PK_SPAN] = {"scatter-span", COUNT, 1, 1024, "1", NULL, "blocks of a read"},
    [FE_PK_ROUNDS] = {"rounds", COUNT, 1, 1u << 20, "8", NULL, "flashbench's --count"},
    [FE_PK_CLUSTER] = {"cluster", SIZE, 512, 1u << 20, "32K", NULL, "bytes of a cluster"},
    [FE_PK_START] = {"start", SIZE, 0, MAX_BYTES, "4M", NULL, "where the partition starts"},
    [FE_PK_LAYOUT] = {"layout", CHOICE, 0, 0, "factory", "mkfs|packed|factory",
                      "mkfs.fat's, mkfs.fat -a's, or FATs that end at a multiple of align"},
    [FE_PK_ALIGN] = {"align", SIZE, 512, 1u << 30, "4M", NULL,
                     "factory: where the data area starts, a multiple on the device"},
    [FE_PK_SYNC] = {"sync", SIZE, 1, MAX_BYTES, NULL, NULL,
                    "bytes appended to a file between updates of FATs and directory; default: "
                    "the larger of cluster and bs"},
    [FE_PK_FILES] = {"files", COUNT, 1, 1024, "1", NULL, "files that grow in turn"},
    [FE_PK_META] = {"meta", SIZE, 1, 1u << 20, NULL, NULL,
                    "granularity of FAT and directory writes; default: a sector"},
    [FE_PK_FSINFO] = {"fsinfo", BOOL, 0, 1, "no", NULL, "write the FSInfo sector at each update"},
};

/* Finds the text among "a|b|c" and stores its index.  Returns false if it is not there. */
static bool find_choice(const char *choices, const char *text, size_t len, uint64_t *ret)
{
    uint64_t n = 0;

    for (const char *p = choices;; n++) {
        size_t word = strcspn(p, "|");
        if (word == len && memcmp(p, text, len) == 0) {
            *ret = n;
            return true;
        }
        if (p[word] == '\0')
            return false;
        p += word + 1;
    }
}

static bool parse_value(const struct key *k, const char *p, size_t len, uint64_t *ret)
{
    uint64_t v;
    int64_t n;

    switch (k->type) {
    case SIZE:
    case COUNT:
        return fe_quantity_parse_span(FE_SIZE, p, len, ret);
    case SIGNED:
        return fe_number_i64(p, len, &n) && n >= -(1 << 30) && n <= 1 << 30 &&
               (*ret = (uint64_t)n, true);
    case TIME:
        return fe_quantity_parse_span(FE_TIME, p, len, ret);
    case SHARE:
        return fe_quantity_parse_span(FE_SHARE, p, len, &v) && v <= 1000000 && (*ret = v, true);
    case DECIMAL:
        return fe_quantity_parse_span(FE_DECIMAL, p, len, &v) && v % 1000 == 0 &&
               (*ret = v / 1000, true); /* kept in millionths */
    case BOOL:
        return find_choice("no|yes", p, len, ret);
    case CHOICE:
        return find_choice(k->choices, p, len, ret);
    }
    return false;
}

/* What may follow KEY=, in words. */
static const char *expected(const struct key *k)
{
    static const char *const words[] = {
        [SIZE] = "a size such as 512, 4K or 1MB", [COUNT] = "a whole number, 1000 or 10M",
        [SIGNED] = "a whole number from -2^30 to 2^30", [TIME] = "a time such as 100us",
        [SHARE] = "a share from 0% to 100%", [DECIMAL] = "a number such as 0.99",
        [BOOL] = "yes or no",
    };
    return k->type == CHOICE ? k->choices : words[k->type];
}

static int unknown_option(const struct fe_pattern_kind *kind, const char *text, size_t len,
                          struct fe_err *err)
{
    struct fe_guess guess = FE_GUESS_NONE;

    for (unsigned i = 0; i < FE_N_PATTERN_KEYS; i++)
        if (kind->keys >> i & 1)
            fe_guess_try(&guess, text, len, keys[i].name);
    return fe_err_set(err, EINVAL, "pattern %s has no option '%.*s'; %s%s%sflashemu gen %s --options "
                                   "lists them", kind->name, len > 80 ? 80 : (int)len, text,
                      guess.name ? "did you mean " : "", guess.name ? guess.name : "",
                      guess.name ? "? " : "", kind->name);
}

/* `text` is KEY=VALUE, or KEY alone. */
static int unknown_value(const struct fe_pattern_kind *kind, const struct key *k, const char *text,
                         size_t len, struct fe_err *err)
{
    char guess[FE_GUESS_MAX] = "";
    size_t key = strlen(k->name) + 1;

    if (len > key && (k->type == CHOICE || k->type == BOOL))
        fe_guess_word(text + key, len - key, k->type == CHOICE ? k->choices : "no yes", guess);
    return fe_err_set(err, EINVAL, "pattern %s: %.*s: %sexpected %s=%s", kind->name,
                      len > 80 ? 80 : (int)len, text, guess, k->name, expected(k));
}

int fe_pattern_set(const struct fe_pattern_kind *kind, struct fe_pattern_values *o,
                   const char *text, size_t len, struct fe_err *err)
{
    const char *eq = memchr(text, '=', len);
    size_t key_len = eq ? (size_t)(eq - text) : len;
    int shown = len > 80 ? 80 : (int)len;
    uint64_t value;
    unsigned i;

    for (i = 0; i < FE_N_PATTERN_KEYS; i++)
        if (strlen(keys[i].name) == key_len && memcmp(keys[i].name, text, key_len) == 0)
            break;
    if (i == FE_N_PATTERN_KEYS || !(kind->keys >> i & 1))
        return unknown_option(kind, text, key_len, err);
    const struct key *k = &keys[i];
    if (!eq || !parse_value(k, eq + 1, len - key_len - 1, &value))
        return unknown_value(kind, k, text, len, err);
    bool ranged = k->type != SIGNED && k->type != BOOL && k->type != CHOICE;
    if (ranged && (value < k->min || value > k->max))
        return fe_err_set(err, EINVAL, "pattern %s: %.*s: allowed is %llu to %llu%s", kind->name,
                          shown, text, (unsigned long long)k->min, (unsigned long long)k->max,
                          k->type == SHARE || k->type == DECIMAL ? " millionths" : "");
    if (o->given >> i & 1)
        return fe_err_set(err, EINVAL, "pattern %s: option %s is given twice", kind->name,
                          k->name);
    o->given |= UINT64_C(1) << i;
    o->v[i] = value;
    return 0;
}

void fe_pattern_set_defaults(const struct fe_pattern_kind *kind, struct fe_pattern_values *o)
{
    int ret = 0;

    memset(o, 0, sizeof *o);
    for (unsigned i = 0; i < FE_N_PATTERN_KEYS; i++)
        if (keys[i].def && !parse_value(&keys[i], keys[i].def, strlen(keys[i].def), &o->v[i]))
            ret = -EINVAL;
    for (const char *p = kind->defaults; p && *p; p += strspn(p, ",")) {
        size_t len = strcspn(p, ",");
        ret |= fe_pattern_set(kind, o, p, len, NULL);
        p += len;
    }
    assert(ret == 0); /* the tables are wrong */
    (void)ret;
    o->given = 0;
}

/* The default of a key for this kind, as text.  buf holds the text if the kind has a default of
 * its own. */
static const char *default_text(const struct fe_pattern_kind *kind, const struct key *k,
                                char *buf, size_t size)
{
    size_t name = strlen(k->name);

    for (const char *p = kind->defaults; p && *p; p += strspn(p, ",")) {
        size_t len = strcspn(p, ",");
        if (len > name && len - name <= size && memcmp(p, k->name, name) == 0 && p[name] == '=') {
            memcpy(buf, p + name + 1, len - name - 1);
            buf[len - name - 1] = '\0';
            return buf;
        }
        p += len;
    }
    return k->def ? k->def : "";
}

void fe_pattern_keys_help(FILE *out, const struct fe_pattern_kind *kind)
{
    char buf[32], head[64];

    for (unsigned i = 0; i < FE_N_PATTERN_KEYS; i++) {
        if (!(kind->keys >> i & 1))
            continue;
        const char *def = default_text(kind, &keys[i], buf, sizeof buf);
        snprintf(head, sizeof head, "%s=%s", keys[i].name, def);
        fprintf(out, "  %-20s %s%s%s%s\n", head, keys[i].help, keys[i].choices ? " (" : "",
                keys[i].choices ? keys[i].choices : "", keys[i].choices ? ")" : "");
    }
}

/* ---- for kinds ---- */

int fe_pattern_bad(const struct fe_pattern *p, struct fe_err *err, const char *fmt, ...)
{
    char text[256];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    return fe_err_set(err, EINVAL, "pattern %s: %s", p->kind->name, text);
}

static int must_be_sectors(const struct fe_pattern *p, enum fe_pattern_key key,
                           struct fe_err *err)
{
    if (p->o.v[key] % p->env.sector_size == 0)
        return 0;
    return fe_pattern_bad(p, err, "%s=%llu must be a multiple of the sector size %u",
                          keys[key].name, (unsigned long long)p->o.v[key],
                          p->env.sector_size);
}

int fe_pattern_region(struct fe_pattern *p, struct fe_err *err)
{
    uint64_t *v = p->o.v, capacity = p->env.capacity, end;
    int ret = 0;

    if (capacity && v[FE_PK_OFFSET] >= capacity)
        return fe_pattern_bad(p, err, "offset=%llu is not below the capacity %llu",
                              (unsigned long long)v[FE_PK_OFFSET], (unsigned long long)capacity);
    if (!(p->o.given & FE_PK_BIT(SIZE)))
        v[FE_PK_SIZE] = capacity ? capacity - v[FE_PK_OFFSET] : UINT64_C(1) << 30;
    if (__builtin_add_overflow(v[FE_PK_OFFSET], v[FE_PK_SIZE], &end) ||
        end > (capacity ? capacity : FE_TRACE_MAX_END))
        return fe_pattern_bad(p, err, "offset=%llu and size=%llu end behind the capacity %llu",
                              (unsigned long long)v[FE_PK_OFFSET],
                              (unsigned long long)v[FE_PK_SIZE],
                              (unsigned long long)(capacity ? capacity : FE_TRACE_MAX_END));
    static const enum fe_pattern_key sizes[] = {FE_PK_OFFSET, FE_PK_SIZE, FE_PK_BS};
    for (unsigned i = 0; ret == 0 && i < sizeof sizes / sizeof *sizes; i++)
        ret = must_be_sectors(p, sizes[i], err);
    if (ret < 0)
        return ret;
    p->n_blocks = v[FE_PK_SIZE] / v[FE_PK_BS];
    if (p->n_blocks == 0)
        return fe_pattern_bad(p, err, "bs=%llu is larger than size=%llu",
                              (unsigned long long)v[FE_PK_BS], (unsigned long long)v[FE_PK_SIZE]);
    if (!(p->o.given & FE_PK_BIT(COUNT)))
        v[FE_PK_COUNT] = p->n_blocks;
    return 0;
}
