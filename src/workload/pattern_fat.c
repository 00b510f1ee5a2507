/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Files that grow on a FAT32 volume: what a camera or a logger does to a stick.
 *
 * There are `files` files, and each of them in turn gets bs more bytes.  Clusters are taken in
 * ascending order, so the clusters of files that grow simultaneously are interleaved.  After
 * every `sync` bytes of a file its metadata are written, as with a sync mount or an fsync:
 *
 *     1. the sectors of the first FAT whose entries have changed
 *     2. the same sectors of the second FAT
 *     3. the sector with the directory entry (size and time)
 *     4. FSInfo, if asked for
 *
 * So the data stream goes upwards, while a few sectors far below are rewritten again and again.
 * That decides how fast a translation layer with few open units is.
 *
 * The volume reaches from `start` to the end of size.  The pattern ends when the volume is full.
 * The root directory is cluster 2.  Its entry 0 is the label, and entry 1 + f is file f.
 */
#include "workload/pattern_impl.h"

#include "workload/fat32.h"

enum { MAX_FILES = 1024, DIR_ENTRY = 32, QUEUE = 8 };

struct file {
    uint64_t bytes;         /* appended so far */
    uint32_t last_cluster;  /* 0 = empty */
    uint32_t dirty_low, dirty_high; /* all clusters whose FAT entries have changed since the
                                       last metadata are between these two; 0 = none */
};

struct fat {
    struct fe_fat32 fs;
    uint32_t next_free, n_free;
    uint32_t turn; /* the file that grows next */
    struct {
        uint64_t offset, len;
    } queue[QUEUE]; /* writes of one append; queue_pos is the next to be handed out */
    uint32_t queue_pos, queue_len;
    uint32_t queue_file; /* the file of that append */
    struct file file[MAX_FILES];
};

static int fat_init(struct fe_pattern *p, struct fe_err *err)
{
    struct fat *s = p->state;
    uint64_t *v = p->o.v;
    int ret = fe_pattern_region(p, err);

    if (ret < 0)
        return ret;
    struct fe_fat32_params params = {
        .start = v[FE_PK_START],
        .end = v[FE_PK_SIZE],
        .sector = p->env.sector_size,
        .cluster = (uint32_t)v[FE_PK_CLUSTER],
        .align = v[FE_PK_ALIGN],
        .style = (enum fe_fat32_style)v[FE_PK_LAYOUT],
    };
    uint64_t bs = v[FE_PK_BS];
    if (!(p->o.given & FE_PK_BIT(SYNC)))
        v[FE_PK_SYNC] = fe_max_u64(bs, params.cluster);
    if (!(p->o.given & FE_PK_BIT(META)))
        v[FE_PK_META] = p->env.sector_size;
    if (!(p->o.given & FE_PK_BIT(COUNT)))
        v[FE_PK_COUNT] = 0;
    if (!fe_is_pow2(params.cluster) || !fe_is_pow2(v[FE_PK_META]) ||
        v[FE_PK_META] % p->env.sector_size != 0)
        return fe_pattern_bad(p, err, "cluster and meta must be powers of two, meta at least a "
                                      "sector");
    if ((bs % params.cluster != 0 && params.cluster % bs != 0) || v[FE_PK_SYNC] % bs != 0)
        return fe_pattern_bad(p, err, "bs must divide cluster or be a multiple of it, sync a "
                                      "multiple of bs");
    if ((1 + v[FE_PK_FILES]) * DIR_ENTRY > params.cluster)
        return fe_pattern_bad(p, err, "files=%llu do not fit one cluster of the directory",
                              (unsigned long long)v[FE_PK_FILES]);
    ret = fe_fat32_layout(&s->fs, &params, err);
    s->next_free = 3;
    s->n_free = s->fs.n_clusters - 1;
    return ret;
}

static void enqueue(struct fat *s, uint64_t offset, uint64_t len)
{
    s->queue[s->queue_len].offset = offset;
    s->queue[s->queue_len].len = len;
    s->queue_len++;
}

/* Enqueues [from, to), rounded to whole units of meta.  Rounding down may reach in front of the
 * partition, but not in front of the device.  Rounding up stops at the end of the device. */
static void enqueue_meta(const struct fe_pattern *p, struct fat *s, uint64_t from, uint64_t to)
{
    uint64_t meta = p->o.v[FE_PK_META];

    from = from / meta * meta;
    to = fe_min_u64(fe_div_up(to, meta) * meta, p->o.v[FE_PK_SIZE]);
    enqueue(s, from, to - from);
}

static void mark_dirty(struct file *f, uint32_t cluster)
{
    if (f->dirty_low == 0 || cluster < f->dirty_low)
        f->dirty_low = cluster;
    if (cluster > f->dirty_high)
        f->dirty_high = cluster;
}

/* Enqueues the data of one append.  Returns false if the volume is full. */
static bool append_data(const struct fe_pattern *p, struct fat *s, struct file *f)
{
    uint64_t bs = p->o.v[FE_PK_BS], within = f->bytes % s->fs.cluster;
    uint32_t n_new = within ? 0 : (uint32_t)fe_div_up(bs, s->fs.cluster);

    if (n_new > s->n_free)
        return false;
    if (n_new > 0) {
        if (f->last_cluster)
            mark_dirty(f, f->last_cluster); /* its entry now points at the first new cluster */
        mark_dirty(f, s->next_free);
        mark_dirty(f, s->next_free + n_new - 1);
        enqueue(s, fe_fat32_cluster(&s->fs, s->next_free), bs);
        f->last_cluster = s->next_free + n_new - 1;
        s->next_free += n_new;
        s->n_free -= n_new;
    } else {
        enqueue(s, fe_fat32_cluster(&s->fs, f->last_cluster) + within, bs);
    }
    f->bytes += bs;
    return true;
}

/* Enqueues the metadata of a file. */
static void append_metadata(const struct fe_pattern *p, struct fat *s, uint32_t index)
{
    struct file *f = &s->file[index];
    uint64_t entry = fe_fat32_cluster(&s->fs, 2) + (1 + (uint64_t)index) * DIR_ENTRY;

    for (int i = 0; i < 2 && f->dirty_low; i++)
        enqueue_meta(p, s, fe_fat32_entry(&s->fs, i, f->dirty_low),
                     fe_fat32_entry(&s->fs, i, f->dirty_high) + 4);
    f->dirty_low = f->dirty_high = 0;
    enqueue_meta(p, s, entry, entry + DIR_ENTRY);
    if (p->o.v[FE_PK_FSINFO]) {
        uint64_t fsinfo = p->o.v[FE_PK_START] + p->env.sector_size;
        enqueue_meta(p, s, fsinfo, fsinfo + p->env.sector_size);
    }
}

static bool fat_next(struct fe_pattern *p, uint64_t i, struct fe_trace_rec *rec)
{
    struct fat *s = p->state;

    (void)i;
    if (s->queue_pos == s->queue_len) {
        s->queue_pos = s->queue_len = 0;
        s->queue_file = s->turn;
        if (!append_data(p, s, &s->file[s->turn]))
            return false;
        if (s->file[s->turn].bytes % p->o.v[FE_PK_SYNC] == 0)
            append_metadata(p, s, s->turn);
        s->turn = (uint32_t)((s->turn + 1) % p->o.v[FE_PK_FILES]);
    }
    rec->type = FE_REQ_WRITE;
    rec->offset = s->queue[s->queue_pos].offset;
    rec->len = s->queue[s->queue_pos].len;
    rec->stream = s->queue_file + 1;
    s->queue_pos++;
    return true;
}

const struct fe_pattern_kind fe_pattern_fat[] = {
    {
        .name = "fat-append",
        .help = "files that grow on a FAT32 volume, with FAT and directory updates",
        .keys = FE_PK_COMMON | FE_PK_BIT(BS) | FE_PK_BIT(CLUSTER) | FE_PK_BIT(START) |
                FE_PK_BIT(LAYOUT) | FE_PK_BIT(ALIGN) | FE_PK_BIT(SYNC) | FE_PK_BIT(FILES) |
                FE_PK_BIT(META) | FE_PK_BIT(FSINFO),
        .defaults = "bs=32K",
        .state_size = sizeof(struct fat),
        .init = fat_init,
        .next = fat_next,
    },
    {0},
};
