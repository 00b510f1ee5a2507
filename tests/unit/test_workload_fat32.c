/* SPDX-License-Identifier: BSD-3-Clause
 *
 * FAT32 geometry against cards as they were sold and volumes as mkfs.fat makes them, and
 * the appending pattern on top of it.
 */
#include "lib/unit.h"

#include "workload/fat32.h"
#include "workload/pattern.h"

#include <errno.h>

static struct fe_fat32 layout(uint64_t start, uint64_t end, uint32_t cluster,
                              enum fe_fat32_style style)
{
    const struct fe_fat32_params p = {
        .start = start, .end = end, .sector = 512, .cluster = cluster,
        .align = 4 << 20, .style = style,
    };
    struct fe_fat32 fs;
    struct fe_err err;
    fe_err_init(&err);
    if (fe_fat32_layout(&fs, &p, &err) != 0)
        fail_msg("%s", err.text);
    return fs;
}

/* Cards as they were bought: capacity, bytes of a FAT, offset of the first FAT.  All
 * start at 4 MiB with clusters of 32 KiB, and their data at 8 MiB. */
static void test_fat32_factory_layout_is_the_one_of_real_cards(void **state)
{
    static const struct {
        uint64_t capacity, fat_bytes, fat1;
    } cards[] = {
        {7742685184, 944640, 6499328},  {8035237888, 979968, 6428672},
        {7990149120, 974848, 6438912},  {3963617280, 483328, 7421952},
        {3991928832, 486400, 7415808},  {3980394496, 485376, 7417856},
        {8001683456, 975872, 6436864},  {8010072064, 976896, 6434816},
        {7948206080, 969728, 6449152},  {8068792320, 984064, 6420480},
        {7902068736, 964096, 6460416},  {16021192704, 1954816, 4478976},
        {3965190144, 483328, 7421952},  {3904897024, 476160, 7436288},
        {7969177600, 972288, 6444032},  {3985637376, 485888, 7416832},
    };
    (void)state;
    for (size_t i = 0; i < ft_array_len(cards); i++) {
        struct fe_fat32 fs = layout(4 << 20, cards[i].capacity, 32768, FE_FAT32_FACTORY);
        assert_int_equal(fs.data, 8 << 20);
        assert_int_equal(fs.fat_bytes, cards[i].fat_bytes);
        assert_int_equal(fs.fat[0], cards[i].fat1);
        assert_int_equal(fs.fat[1], cards[i].fat1 + cards[i].fat_bytes);
    }
}

/* mkfs.fat 4.2 -F 32 -s 64 on 64 MiB and on 1 GiB. */
static void test_fat32_mkfs_layout(void **state)
{
    struct fe_fat32 fs = layout(0, 64 << 20, 32768, FE_FAT32_MKFS);
    (void)state;
    assert_int_equal(fs.fat[0], 32768);
    assert_int_equal(fs.fat_bytes, 32768);
    assert_int_equal(fs.data, 98304);
    assert_int_equal(fs.n_clusters, 2045);
    fs = layout(0, 2097144u * UINT64_C(512), 32768, FE_FAT32_MKFS);
    assert_int_equal(fs.fat_bytes, 131072);
    assert_int_equal(fs.data, 294912);
    assert_int_equal(fs.n_clusters, 32758);
}

/* The FAT holds every cluster, and one unit less would not. */
static void test_fat32_fat_is_the_smallest_that_does(void **state)
{
    (void)state;
    for (int style = FE_FAT32_MKFS; style <= FE_FAT32_FACTORY; style++) {
        for (uint64_t size = 9 << 20; size < UINT64_C(1) << 40; size = size * 17 / 13 / 512 * 512) {
            for (uint32_t cluster = 4096; cluster <= 65536; cluster *= 4) {
                struct fe_fat32 fs = layout(1 << 20, size, cluster, (enum fe_fat32_style)style);
                uint64_t unit = style == FE_FAT32_MKFS ? cluster : 512, fewer;
                assert_true((fs.n_clusters + 2ull) * 4 <= fs.fat_bytes);
                assert_true(fs.data + (uint64_t)fs.n_clusters * cluster <= size);
                assert_true(fs.fat[0] >= (1 << 20) + 32 * 512);
                assert_int_equal(fs.fat[1] + fs.fat_bytes, fs.data);
                fewer = fs.fat_bytes - unit;
                if (style == FE_FAT32_PACKED)
                    assert_true((size - fs.data + 2 * unit) / cluster * 4 + 8 > fewer);
            }
        }
    }
}

static void test_fat32_refuses_what_has_no_room(void **state)
{
    struct fe_fat32_params p = {
        .start = 4 << 20, .end = 8 << 20, .sector = 512, .cluster = 32768, .align = 4 << 20,
        .style = FE_FAT32_FACTORY,
    };
    struct fe_fat32 fs;
    struct fe_err err;
    (void)state;
    fe_err_init(&err);
    assert_int_equal(fe_fat32_layout(&fs, &p, &err), -EINVAL);
    p.end = p.start;
    assert_int_equal(fe_fat32_layout(&fs, &p, NULL), -EINVAL);
    p.end = UINT64_C(1) << 47;
    p.cluster = 512;
    assert_int_equal(fe_fat32_layout(&fs, &p, NULL), -EINVAL); /* too many clusters */
    p.end = 1 << 30;
    p.cluster = 1000;
    assert_int_equal(fe_fat32_layout(&fs, &p, NULL), -EINVAL);
}

/* --- the pattern --- */

static uint32_t records(const char *spec, uint64_t capacity, struct fe_trace_rec *recs,
                        uint32_t max)
{
    const struct fe_pattern_env env = {.capacity = capacity};
    struct fe_pattern *p;
    struct fe_err err;
    fe_err_init(&err);
    if (fe_pattern_create(&p, spec, NULL, 0, &env, &err) != 0)
        fail_msg("%s", err.text);
    uint32_t n = fe_pattern_next(p, recs, max);
    fe_pattern_destroy(p);
    return n;
}

static void check_write(const struct fe_trace_rec *r, uint64_t offset, uint64_t len)
{
    assert_int_equal(r->type, FE_REQ_WRITE);
    assert_int_equal(r->offset, offset);
    assert_int_equal(r->len, len);
}

#define CAPACITY UINT64_C(3980394496)
#define FAT1     UINT64_C(7417856)
#define FAT2     (FAT1 + 485376)
#define DATA     UINT64_C(8388608)

static void test_fat_append_one_file(void **state)
{
    struct fe_trace_rec r[16];
    (void)state;
    assert_int_equal(records("fat-append,bs=16K,count=10,fsinfo=yes", CAPACITY, r, 16), 10);
    check_write(&r[0], DATA + 32768, 16384); /* cluster 3: the directory has cluster 2 */
    check_write(&r[1], DATA + 32768 + 16384, 16384);
    check_write(&r[2], FAT1, 512); /* the entry of cluster 3 */
    check_write(&r[3], FAT2, 512);
    check_write(&r[4], DATA, 512); /* the directory entry */
    check_write(&r[5], (4 << 20) + 512, 512); /* FSInfo */
    check_write(&r[6], DATA + 2 * 32768, 16384);
}

static void test_fat_append_without_a_partition_table(void **state)
{
    struct fe_trace_rec r[2];
    (void)state;
    assert_int_equal(records("fat-append,bs=16K,start=0,count=2", CAPACITY, r, 2), 2);
    check_write(&r[0], (4 << 20) + 32768, 16384); /* the data area still starts at 4M */
}

static void test_fat_append_crosses_sectors_of_the_fat(void **state)
{
    static struct fe_trace_rec r[1000];
    (void)state;
    /* 4 records an append of one cluster; cluster 128 is the first of FAT sector 1, and
     * cluster 127's entry in sector 0 changes with it. */
    assert_int_equal(records("fat-append,count=1000", CAPACITY, r, 1000), 1000);
    uint32_t at = (127 - 3) * 4;
    check_write(&r[at + 1], FAT1, 512);
    check_write(&r[at + 5], FAT1, 1024);
    check_write(&r[at + 6], FAT2, 1024);
    check_write(&r[at + 9], FAT1 + 512, 512);
}

static void test_fat_append_rare_sync_and_large_requests(void **state)
{
    struct fe_trace_rec r[16];
    (void)state;
    assert_int_equal(records("fat-append,bs=128K,sync=256K,meta=4K,count=5", CAPACITY, r, 16), 5);
    check_write(&r[0], DATA + 32768, 131072);
    check_write(&r[1], DATA + 5 * 32768, 131072);
    check_write(&r[2], FAT1 / 4096 * 4096, 4096);
    check_write(&r[4], DATA, 4096);
}

/* The entries of 256 clusters lie in three sectors of each FAT, the first of which has the entry of
 * the first cluster. */
static void test_fat_append_of_many_clusters(void **state)
{
    struct fe_trace_rec r[16];
    (void)state;
    assert_int_equal(records("fat-append,bs=1M,cluster=4K,sync=1M,meta=512,count=8", CAPACITY, r, 16),
                     8);
    for (uint32_t i = 0; i < 8; i += 4) {
        assert_int_equal(r[i].len, 1 << 20);
        assert_int_equal(r[i + 1].len, 1536);
        assert_int_equal(r[i + 2].len, 1536);
        assert_int_equal(r[i + 3].len, 512);
        assert_int_equal(r[i + 2].offset - r[i + 1].offset, r[2].offset - r[1].offset);
    }
    assert_int_equal(r[5].offset - r[1].offset, 1024); /* entries 3 to 258, then 259 to 514 */
}

static void test_fat_append_several_files_lie_interleaved(void **state)
{
    struct fe_trace_rec r[32];
    (void)state;
    assert_int_equal(records("fat-append,files=20,count=32", CAPACITY, r, 32), 32);
    for (uint32_t i = 0; i < 8; i++) {
        check_write(&r[4 * i], DATA + (1 + i) * UINT64_C(32768), 32768);
        assert_int_equal(r[4 * i].stream, i + 1);
        check_write(&r[4 * i + 3], DATA, 512);
    }
    /* Entry 16, of file 15, is the first of the directory's second sector. */
    static struct fe_trace_rec more[80];
    assert_int_equal(records("fat-append,files=20,count=80", CAPACITY, more, 80), 80);
    check_write(&more[4 * 14 + 3], DATA, 512);
    check_write(&more[4 * 15 + 3], DATA + 512, 512);
}

static void test_fat_append_ends_when_the_volume_is_full(void **state)
{
    static struct fe_trace_rec r[100000];
    uint64_t data = 0, last = 0;
    (void)state;
    uint32_t n = records("fat-append,layout=packed,start=1M", 64 << 20, r, 100000);
    struct fe_fat32 fs = layout(1 << 20, 64 << 20, 32768, FE_FAT32_PACKED);
    for (uint32_t i = 0; i < n; i++)
        if (r[i].len == 32768) {
            data++;
            last = r[i].offset;
        }
    assert_int_equal(data, fs.n_clusters - 1);
    assert_int_equal(last, fe_fat32_cluster(&fs, fs.n_clusters + 1));
    assert_true(last + 32768 <= 64 << 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fat32_factory_layout_is_the_one_of_real_cards),
        cmocka_unit_test(test_fat32_mkfs_layout),
        cmocka_unit_test(test_fat32_fat_is_the_smallest_that_does),
        cmocka_unit_test(test_fat32_refuses_what_has_no_room),
        cmocka_unit_test(test_fat_append_one_file),
        cmocka_unit_test(test_fat_append_without_a_partition_table),
        cmocka_unit_test(test_fat_append_crosses_sectors_of_the_fat),
        cmocka_unit_test(test_fat_append_rare_sync_and_large_requests),
        cmocka_unit_test(test_fat_append_of_many_clusters),
        cmocka_unit_test(test_fat_append_several_files_lie_interleaved),
        cmocka_unit_test(test_fat_append_ends_when_the_volume_is_full),
    };
    return cmocka_run_group_tests_name("workload_fat32", tests, NULL, NULL);
}
