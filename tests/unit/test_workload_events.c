/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Traces of the kernel's block layer: all that blkparse prints, blktrace's own files, ftrace and perf,
 * biosnoop, and the log of dm-log-writes.
 */
#include "test_workload.h"

#include "workload/formats/event.h"

/* A file made of numbers in either byte order. */
struct bytes {
    uint8_t at[8192];
    size_t n;
    bool big;
};

static void add(struct bytes *b, uint64_t n, unsigned size)
{
    assert_true(b->n + size <= sizeof b->at);
    for (unsigned i = 0; i < size; i++)
        b->at[b->n + (b->big ? size - 1 - i : i)] = (uint8_t)(i < 8 ? n >> 8 * i : 0);
    b->n += size;
}

static struct loaded load_bytes(const struct bytes *b, const struct fe_trace_options *opt)
{
    return load_options((const char *)b->at, b->n, 1, opt);
}

/* --- blkparse --- */

#define EVENTS                                                                  \
    "  8,0    0        1     0.000001000  1234  Q   W 2048 + 8 [(null)]\n"      \
    "  8,0    0        2     0.000002000  1234  D   W 2048 + 8 [(null)]\n"      \
    "  8,0    0        3     0.000900000  1234  C   W 2048 + 8 [0]\n"           \
    "  8,0    1        1     0.001002000  1235  D   R 4096 + 16 [(null)]\n"
#define SUMMARY(dev)                                                            \
    "CPU0 (" dev "):\n Reads Queued:   2,  8KiB\t Writes Queued:   1,   4KiB\n" \
    "CPU1 (" dev "):\n Reads Queued:   2,  8KiB\t Writes Queued:   1,   4KiB\n" \
    "\nTotal (" dev "):\n IO unplugs:   0        \t Timer unplugs:           0\n" \
    "\nThroughput (R/W): 8000KiB/s / 4000KiB/s\nEvents (" dev "): 8 entries\n"  \
    "Skips: 0 forward (0 -   0.0%)\n"
#define INPUT "Input file sdz.blktrace.0 added\n"

/* blktrace 1.2.0 prints the line first on a terminal and last in a pipe. */
static void test_blkparse_with_all_that_it_prints(void **state)
{
    static const char *const texts[] = {
        EVENTS SUMMARY("sdz") INPUT,
        INPUT "Input file a b.blktrace.1 added\n" EVENTS SUMMARY("sdz"),
        EVENTS INPUT SUMMARY("sdz") SUMMARY("sdy") INPUT INPUT,
        EVENTS "dd (1234)\n Reads Queued:  1,  8KiB\n Web Content (12)\n Dispatch wait: 0\n"
            SUMMARY("sdz"),
    };
    (void)state;
    for (size_t i = 0; i < ft_array_len(texts); i++) {
        struct loaded l = load(texts[i]);
        assert_int_equal(l.result, 0);
        assert_ptr_equal(l.format, format_of("blkparse"));
        assert_int_equal(l.n, 2);
        check_rec(&l.rec[0], 2000, FE_REQ_WRITE, 1048576, 4096, false);
        assert_int_equal(l.rec[0].done_ns, 900000);
        assert_int_equal(l.rec[0].stream, 1234);
        check_rec(&l.rec[1], 1002000, FE_REQ_READ, 2097152, 8192, false);
        assert_int_equal(l.rec[1].done_ns, 0);
        assert_int_equal(l.skipped, 2);
    }
    check_bad(EVENTS "Input file sdz.blktrace.0\n", "t:5: ", "not an event");
}

static void test_blkparse_formats(void **state)
{
    static const char *const texts[] = {
        "  8,0    0        2     0.000002000  1234  D   W 2048 + 8\n",
        "0.000002000 1234 D W 2048 + 8\n",
        "8,0 0.000002000 1234 D WS 2048 + 8 dd\n",
        "0 2 0.000002000 8,0 1234 D W 2048 + 8 [dd]\n",
    };
    (void)state;
    for (size_t i = 0; i < ft_array_len(texts); i++) {
        struct loaded l = load(texts[i]);
        assert_int_equal(l.result, 0);
        assert_int_equal(l.n, 1);
        check_rec(&l.rec[0], 2000, FE_REQ_WRITE, 1048576, 4096, false);
        assert_int_equal(l.rec[0].stream, 1234);
    }
    check_bad(EVENTS "8,0 0.000002000 1234 D W 2048 8\n", "t:5: ", "SECTOR + COUNT");
    check_bad(EVENTS "8,0 1.000002000 dd D W 2048 + 8\n", "t:5: ", "not an event");
}

/* The kernel gives a flush without data the sector -1. */
static void test_flushes_without_data(void **state)
{
    struct loaded l = load("8,0 0 1 0.000000001 5 D FWS 18446744073709551615 + 0 [x]\n"
                           "8,0 0 1 0.000000002 5 D  FF 0 + 0 [x]\n"
                           "8,0 0 1 0.000000003 5 D  FN 0 + 0 [x]\n"
                           "8,0 0 1 0.000000004 5 C  FF 0 + 0 [0]\n");
    (void)state;
    assert_int_equal(l.result, 0);
    assert_int_equal(l.n, 3);
    for (int i = 0; i < 3; i++)
        check_rec(&l.rec[i], (uint64_t)i + 1, FE_REQ_FLUSH, 0, 0, false);
    assert_int_equal(l.rec[0].done_ns, 4);
    assert_int_equal(l.rec[1].done_ns, 0);
}

/* As the events of one processor stand behind those of another. */
static void test_events_are_put_in_order(void **state)
{
    struct loaded l = load("8,0 0 1 0.000000010 5 D W 8 + 8 [x]\n"
                           "8,0 0 2 0.000000030 5 D W 16 + 8 [x]\n"
                           "8,0 1 1 0.000000005 5 D R 24 + 8 [x]\n"
                           "8,0 1 2 0.000000020 5 D FWF 32 + 8 [x]\n"
                           "8,0 1 3 0.000000040 5 C R 24 + 8 [0]\n");
    static const uint64_t times[] = {5, 10, 20, 20, 30};
    static const uint64_t lines[] = {3, 1, 4, 4, 2};
    (void)state;
    assert_int_equal(l.result, 0);
    assert_int_equal(l.n, 5);
    for (int i = 0; i < 5; i++) {
        assert_int_equal(l.rec[i].time_ns, times[i]);
        assert_int_equal(l.rec[i].line, lines[i]);
    }
    assert_int_equal(l.rec[0].done_ns, 40);
    check_rec(&l.rec[2], 20, FE_REQ_FLUSH, 0, 0, false);
    check_rec(&l.rec[3], 20, FE_REQ_WRITE, 16384, 4096, true);
}

/* What waits for its completion is delivered in front of a mistake, and so is a wrong range, with its
 * own line. */
static void test_held_requests_come_before_a_mistake(void **state)
{
    (void)state;
    struct loaded l = load("8,0 0 1 0.000000010 5 D W 8 + 8 [x]\nmistake\n");
    assert_int_equal(l.n, 1);
    assert_int_equal(l.result, -EINVAL);
    assert_memory_equal(l.err.text, "t:2: not an event", 17);
    check_bad("8,0 0 1 0.000000010 5 D W 8 + 8 [x]\n"
              "8,0 0 1 0.000000011 5 D W 18014398509481983 + 8 [x]\n\n\n", "t:2: ", "2^63");
}

/* --- blktrace --- */

enum { QUEUE = 1, ISSUE = 7, COMPLETE = 8 };
enum { WRITE = 2, FLUSH = 4, PACKET = 512, NOTIFY = 1024, DISCARD = 8192, FUA = 32768 };

static void add_event(struct bytes *b, uint64_t time, uint32_t what, uint32_t flags,
                      uint64_t sector, uint32_t bytes, uint16_t follow)
{
    add(b, 0x65617407, 4);
    add(b, 1, 4);
    add(b, time, 8);
    add(b, sector, 8);
    add(b, bytes, 4);
    add(b, what | flags << 16, 4);
    add(b, 77, 4);
    add(b, 8u << 20 | 16, 4);
    add(b, 3, 4);
    add(b, 0, 2);
    add(b, follow, 2);
    for (unsigned i = 0; i < follow; i++)
        add(b, 0x55, 1);
}

static struct bytes blktrace_file(bool big)
{
    struct bytes b = {.big = big};

    add_event(&b, 1, 0, NOTIFY, 0, 0, 16);
    add_event(&b, 1000, QUEUE, WRITE, 8, 4096, 0);
    add_event(&b, 1300, ISSUE, WRITE, 8, 4096, 3);
    add_event(&b, 1400, ISSUE, PACKET, 8, 36, 10);
    add_event(&b, 1500, ISSUE, 0, 24, 512, 0);
    add_event(&b, 1600, ISSUE, FLUSH | WRITE, 0, 0, 0);
    add_event(&b, 1700, ISSUE, FLUSH | WRITE | FUA, 32, 1024, 0);
    add_event(&b, 1800, ISSUE, DISCARD | WRITE, 64, 65536, 0);
    add_event(&b, 2400, COMPLETE, WRITE, 8, 4096, 0);
    return b;
}

static void test_blktrace_in_both_byte_orders(void **state)
{
    const struct fe_trace_options none = {0}, other = {.device = "8,0"}, own = {.device = "8,16"};
    (void)state;
    for (int big = 0; big < 2; big++) {
        struct bytes b = blktrace_file(big);
        struct loaded l = load_bytes(&b, &none);
        assert_int_equal(l.result, 0);
        assert_ptr_equal(l.format, format_of("blktrace"));
        assert_int_equal(l.n, 6);
        assert_int_equal(l.skipped, 4);
        check_rec(&l.rec[0], 300, FE_REQ_WRITE, 4096, 4096, false);
        assert_int_equal(l.rec[0].done_ns, 1400);
        assert_int_equal(l.rec[0].stream, 77);
        assert_int_equal(l.rec[0].line, 3);
        check_rec(&l.rec[1], 500, FE_REQ_READ, 12288, 512, false);
        check_rec(&l.rec[2], 600, FE_REQ_FLUSH, 0, 0, false);
        check_rec(&l.rec[3], 700, FE_REQ_FLUSH, 0, 0, false);
        check_rec(&l.rec[4], 700, FE_REQ_WRITE, 16384, 1024, true);
        check_rec(&l.rec[5], 800, FE_REQ_TRIM, 32768, 65536, false);
        assert_int_equal(load_bytes(&b, &own).n, 6);
        assert_int_equal(load_bytes(&b, &other).result, -EINVAL);
    }
}

static void test_blktrace_mistakes(void **state)
{
    const struct fe_trace_options none = {0}, g = {.event = 'G'};
    (void)state;
    struct bytes b = blktrace_file(false);
    for (size_t n = b.n - 1; n > b.n - 48; n--) {
        struct bytes cut = b;
        cut.n = n;
        struct loaded l = load_bytes(&cut, &none);
        assert_int_equal(l.n, 6);
        assert_non_null(strstr(l.err.text, "t:9: blktrace's file ends in the middle"));
    }
    b.n = 48 + 5; /* inside of what follows the first event */
    assert_non_null(strstr(load_bytes(&b, &none).err.text, "ends in the middle"));
    b = blktrace_file(false);
    b.at[0] = 8;
    assert_non_null(strstr(load_bytes(&b, &none).err.text, "t:1: version 8 of blktrace"));
    b = blktrace_file(false);
    b.at[48 + 16 + 1] = 0;
    assert_non_null(strstr(load_bytes(&b, &none).err.text, "t:2: an event of blktrace begins"));
    b = blktrace_file(false);
    assert_non_null(strstr(load_bytes(&b, &g).err.text, "blktrace's own file, without events of "
                                                        "kind G"));
}

/* --- ftrace and perf --- */

static void test_ftrace(void **state)
{
    struct loaded l = load(
        "# tracer: nop\n#\n"
        "   jbd2/mmcblk0p2-89    [000] d..2   474.223046: block_rq_issue: 179,0 WFS 4096 () 4717976 "
        "+ 8 [jbd2/mmcblk0p2-]\n"
        "   <idle>-0     [000] ..s2   474.492701: block_rq_complete: 179,0 WFS () 4717976 + 8 [0]\n"
        "   a b-7 ( 7) [001] d..2. 475.024721: block_rq_issue: 179,0 RM 4096 () 7380712 + 8 "
        "none,0,0 [a b]\n"
        "   sh-9 [001] d... 475.024722: sched_switch: prev_comm=sh\n"
        "   udevd-9 [001] d... 475.024723: block_rq_issue: 179,0 N 36 (12 00 00 24) 0 + 0 [udevd]\n"
        "   k-9 [001] d... 475.024724: block_rq_issue: 179,0 FF 0 () 18446744073709551615 + 0 [k]\n"
        "   k-9 [001] d... 475.024726: block_rq_issue: 179,0 DS 4096 () 8 + 8 [k]\n");
    (void)state;
    assert_int_equal(l.result, 0);
    assert_ptr_equal(l.format, format_of("ftrace"));
    assert_int_equal(l.n, 5);
    assert_int_equal(l.skipped, 3);
    check_rec(&l.rec[0], 0, FE_REQ_FLUSH, 0, 0, false); /* of the commit */
    check_rec(&l.rec[1], 0, FE_REQ_WRITE, 4717976ull * 512, 4096, true);
    assert_int_equal(l.rec[1].done_ns, 269655000);
    assert_int_equal(l.rec[1].stream, 89);
    check_rec(&l.rec[2], 801675000, FE_REQ_READ, 7380712ull * 512, 4096, false);
    check_rec(&l.rec[3], 801678000, FE_REQ_FLUSH, 0, 0, false);
    check_rec(&l.rec[4], 801680000, FE_REQ_TRIM, 4096, 4096, false);
}

/* The flush of a commit is there once: as a request of its own, or because a journal wrote with FUA.
 * O_DSYNC writes with FUA and without a flush. */
static void test_flush_of_a_commit(void **state)
{
#define ISSUE(task, seconds, what) "  " task " [000] d..2 " seconds ": block_rq_issue: 179,0 " what "\n"
    struct loaded l = load(
        ISSUE("jbd2/a-89", "1.000001", "FF 0 () 0 + 0 [j]")
        ISSUE("jbd2/a-89", "1.000002", "WFS 4096 () 8 + 8 [j]")
        ISSUE("jbd2/a-89", "1.000003", "WFS 4096 () 16 + 8 [j]")
        ISSUE("dd-90", "1.000004", "WFS 4096 () 24 + 8 [d]")
        ISSUE("mmcqd/0-91", "1.000005", "FWFS 4096 () 32 + 8 [m]")
        ISSUE("mmcqd/0-91", "1.000006", "WFS 4096 () 40 + 8 [m]")
        ISSUE("jbd2/a-89", "1.000007", "WS 4096 () 48 + 8 [j]"));
    static const bool flush[] = {true, false, true, false, false, true, false, true, false, false};
    static const uint64_t us[] = {0, 1, 2, 2, 3, 4, 4, 5, 5, 6};

    (void)state;
    assert_int_equal(l.result, 0);
    assert_int_equal(l.n, 10);
    for (size_t i = 0, sector = 8; i < 10; i++) {
        if (flush[i]) {
            check_rec(&l.rec[i], 1000 * us[i], FE_REQ_FLUSH, 0, 0, false);
        } else {
            check_rec(&l.rec[i], 1000 * us[i], FE_REQ_WRITE, 512 * sector, 4096, sector < 48);
            sector += 8;
        }
    }
#undef ISSUE
}

static void test_perf_and_trace_cmd(void **state)
{
    struct loaded l = load(
        " jbd2/x-   128 [001]   474.223046123: block:block_rq_issue: 179,0 WS 4096 () 8 + 8 [j]\n"
        " kworker/0:1H 77/78 [001] 474.223046125: block:block_rq_issue: 179,0 R 4096 () 16 + 8 [j]\n");
    (void)state;
    assert_int_equal(l.result, 0);
    assert_int_equal(l.n, 2);
    check_rec(&l.rec[0], 0, FE_REQ_WRITE, 4096, 4096, false);
    assert_int_equal(l.rec[0].stream, 128);
    check_rec(&l.rec[1], 2, FE_REQ_READ, 8192, 4096, false);
    assert_int_equal(l.rec[1].stream, 78);
    l = load("cpus=4\n dd-5 [002] 12.000001: block_rq_issue:       8,0 W 512 () 8 + 1 [dd]\n");
    assert_int_equal(l.result, 0);
    check_rec(&l.rec[0], 0, FE_REQ_WRITE, 4096, 512, false);
}

static void test_ftrace_events_by_letter(void **state)
{
    const char text[] = "a-1 [000] d 1.000001: block_bio_queue: 8,0 W 8 + 8 [a]\n"
                        "a-1 [000] d 1.000002: block_getrq: 8,0 W 16 + 8 [a]\n"
                        "a-1 [000] d 1.000003: block_rq_insert: 8,0 W 4096 () 24 + 8 [a]\n"
                        "a-1 [000] d 1.000004: block_rq_complete: 8,0 W () 32 + 8 [0]\n";
    static const char letters[] = "QGIC";
    (void)state;
    for (unsigned i = 0; i < 4; i++) {
        const struct fe_trace_options opt = {.event = letters[i]};
        struct loaded l = load_options(text, sizeof text - 1, 1, &opt);
        assert_int_equal(l.n, 1);
        assert_int_equal(l.rec[0].offset, 4096 * (i + 1));
    }
    check_bad(text, "t: ", "no events of kind D");
    check_bad("a-1 [000] d 1.000001: block_rq_issue: 8,0 W 4096 () 8 + [a]\n", "t:1: ",
              "SECTOR + COUNT");
    check_bad("a-1 [000] d 1.000001: block_rq_issue: 8,0 X 4096 () 8 + 8 [a]\n", "t:1: ", "RWBS");
    check_bad("a-1 [000] d 1.000001: block_rq_issue: sda W 4096 () 8 + 8 [a]\n", "t:1: ",
              "MAJ,MIN");
    check_bad("# tracer: nop\nnonsense\n", "t:2: ", "not an event");
    check_bad("a-1 [000] d 1.000001: block_rq_issue: 8,0 W 4096 () 8 + 8 [a]\n"
              "a-1 [000] d 1.000001: block_rq_issue: 8,1 W 4096 () 8 + 8 [a]\n", "t:2: ",
              "second device 8,1");
}

/* --- biosnoop --- */

static void test_biosnoop(void **state)
{
    struct loaded l = load(
        "TIME(s)     COMM           PID    DISK     T SECTOR     BYTES  LAT(ms)\n"
        "0.000000    jbd2/mmcblk0p2 128    mmcblk0  W 4717976    4096      3.21\n"
        "0.012000    Web Content    901    mmcblk0  R 8192       16384     0.91\n"
        "0.013000    slow           902    mmcblk0  R 16         512      15.00\n"
        "0.014000                   903    mmcblk0  R 16         0         0.00\n");
    (void)state;
    assert_int_equal(l.result, 0);
    assert_ptr_equal(l.format, format_of("biosnoop"));
    assert_int_equal(l.n, 3);
    assert_int_equal(l.skipped, 1);
    check_rec(&l.rec[0], 0, FE_REQ_WRITE, 4717976ull * 512, 4096, false);
    assert_int_equal(l.rec[0].done_ns, 3210000);
    assert_int_equal(l.rec[0].stream, 128);
    /* began 1.21 ms before the first one ended; lines come in order of ends */
    check_rec(&l.rec[1], 1210000, FE_REQ_READ, 8192, 512, false);
    assert_int_equal(l.rec[1].done_ns, 16210000);
    check_rec(&l.rec[2], 14300000, FE_REQ_READ, 4194304, 16384, false);
    assert_int_equal(l.rec[2].stream, 901);
}

static void test_biosnoop_of_two_disks(void **state)
{
    static const char text[] = "1.000000 dd 7 sda W 8  4096 1.00\n"
                               "2.000000 dd 8 sdb R 24 512  2.00\n"
                               "4.000000 dd 9 sda R 40 1024 3.00\n";
    const struct fe_trace_options none = {0}, other = {.device = "sdb"};
    (void)state;
    struct loaded l = load_options(text, sizeof text - 1, 7, &other);
    assert_int_equal(l.result, 0);
    assert_int_equal(l.n, 1);
    assert_int_equal(l.skipped, 2);
    check_rec(&l.rec[0], 0, FE_REQ_READ, 24 * 512, 512, false);
    assert_int_equal(load_options(text, sizeof text - 1, 7, &none).result, -EINVAL);
}

static void test_biosnoop_columns(void **state)
{
    (void)state;
    struct loaded l = load(
        "TIME(s) COMM PID DISK T SECTOR BYTES QUE(ms) LAT(ms)\n"
        "1.000000 a 1 sda FWFS 8 4096 9.000 1.500\n"
        "2.000000 a 1 sda DS 16 8192 9.000 1.000\n"
        "TIME(s) COMM PID DISK T SECTOR BYTES QUE(ms) LAT(ms)\n"
        "3.000000 a 1 sda FF 0 0 9.000 1.000\n");
    assert_int_equal(l.result, 0);
    assert_int_equal(l.n, 4);
    check_rec(&l.rec[0], 0, FE_REQ_FLUSH, 0, 0, false);
    check_rec(&l.rec[1], 0, FE_REQ_WRITE, 4096, 4096, true);
    assert_int_equal(l.rec[1].done_ns, 1500000);
    check_rec(&l.rec[2], 1000500000, FE_REQ_TRIM, 8192, 8192, false);
    check_rec(&l.rec[3], 2000500000, FE_REQ_FLUSH, 0, 0, false);
    l = load("1.0 a 1 sda W 8 4096 9.0 1.5\n1.1 b c 1 sda R 8 512 9.0 0.5\n"); /* no header */
    assert_int_equal(l.n, 2);
    check_rec(&l.rec[1], 101000000, FE_REQ_READ, 4096, 512, false);
    check_bad("1.0 a 1 sda W 8 4096 1.5\n1.0 a 1 sdb W 8 4096 1.5\n", "t:2: ", "second device sdb");
    check_bad("1.0 a 1 sda W 8 4096 1.5\n1.0 a 1 sda X 8 4096 1.5\n", "t:2: ", "T (R, W or RWBS)");
    check_bad("1.0 a 1 sda W 8 4096 1.5\nlost 3 events\n", "t:2: ", "expected TIME(s)");
}

/* --- dm-log-writes --- */

static void add_super(struct bytes *b, uint64_t entries, uint32_t sector)
{
    add(b, 0x6a736677736872, 8);
    add(b, 1, 8);
    add(b, entries, 8);
    add(b, sector, 4);
    add(b, 0, sector - 28);
}

static void add_entry(struct bytes *b, uint64_t sector, uint64_t n, uint64_t flags, uint32_t size)
{
    add(b, sector, 8);
    add(b, n, 8);
    add(b, flags, 8);
    add(b, 0, 8);
    add(b, 0, size - 32);
    for (uint64_t i = 0; i < (flags & 4 ? 0 : n * size); i++)
        add(b, 0x55, 1);
}

static struct bytes log_file(void)
{
    struct bytes b = {.big = false};

    add_super(&b, 5, 512);
    add_entry(&b, 8, 2, 16, 512);  /* metadata */
    add_entry(&b, 0, 0, 1, 512);   /* a flush alone */
    add_entry(&b, 100, 64, 4, 512);
    add_entry(&b, 0, 0, 8, 512);   /* a mark */
    add_entry(&b, 12, 1, 3, 512);  /* flush, then FUA */
    return b;
}

static void test_dm_log_writes(void **state)
{
    const struct fe_trace_options none = {0};
    struct bytes b = log_file();
    (void)state;
    add(&b, 0x77, 200); /* what was there before the log */
    struct loaded l = load_bytes(&b, &none);
    assert_int_equal(l.result, 0);
    assert_ptr_equal(l.format, format_of("dm-log-writes"));
    assert_int_equal(l.n, 5);
    assert_int_equal(l.skipped, 1);
    check_rec(&l.rec[0], 0, FE_REQ_WRITE, 4096, 1024, false);
    check_rec(&l.rec[1], 0, FE_REQ_FLUSH, 0, 0, false);
    check_rec(&l.rec[2], 0, FE_REQ_TRIM, 51200, 32768, false);
    check_rec(&l.rec[3], 0, FE_REQ_FLUSH, 0, 0, false);
    check_rec(&l.rec[4], 0, FE_REQ_WRITE, 6144, 512, true);
    assert_int_equal(l.rec[4].line, 5);
}

/* A log of one mark, whose text is so long. */
static struct bytes log_of_mark(const char *text, uint64_t len)
{
    struct bytes b = {.big = false};
    add_super(&b, 2, 512);
    add(&b, 0, 8);
    add(&b, 0, 8);
    add(&b, 8, 8);
    add(&b, len, 8);
    for (uint64_t i = 0; i < 480; i++)
        add(&b, i < strlen(text) ? (uint8_t)text[i] : i < len ? 'm' : 0x5a, 1);
    add_entry(&b, 8, 2, 0, 512);
    return b;
}

static void test_dm_log_writes_marks(void **state)
{
    const struct fe_trace_options opt = {.marks = true};
    struct bytes b = log_of_mark("fsync 7", 7);
    struct fe_trace_reader *r;
    struct fe_trace_rec rec;
    FILE *f = fmemopen(b.at, b.n, "r");
    (void)state;
    assert_int_equal(fe_trace_reader_open(&r, f, "t", &opt, NULL), 0);
    assert_int_equal(fe_trace_read(r, &rec, 1, NULL), 1);
    assert_int_equal(rec.type, FE_TRACE_MARK);
    assert_string_equal(rec.mark, "fsync 7"); /* and not what is behind it in the sector */
    assert_int_equal(fe_trace_read(r, &rec, 1, NULL), 1);
    check_rec(&rec, 0, FE_REQ_WRITE, 4096, 1024, false);
    assert_int_equal(fe_trace_read(r, &rec, 1, NULL), 0);
    fe_trace_reader_close(r);
    fclose(f);
    b = log_of_mark("", 400);
    assert_int_equal(load_bytes(&b, &opt).n, 2);
    static const struct {
        uint64_t len;
        const char *text, *told;
    } wrong[] = {{0, "", "a mark is 1 to 400 bytes"}, {3, "a\nb", "control characters"},
                 {401, "", "t:1: a mark of 401 bytes; at most 400"},
                 {481, "", "t:1: a mark of 481 bytes does not fit its sector"},
                 {UINT64_MAX, "", "does not fit its sector"}};
    for (size_t i = 0; i < ft_array_len(wrong); i++) {
        b = log_of_mark(wrong[i].text, wrong[i].len);
        struct loaded l = load_bytes(&b, &opt);
        if (l.result != -EINVAL || !strstr(l.err.text, wrong[i].told))
            fail_msg("'%s' is not '%s'", l.err.text, wrong[i].told);
        assert_int_equal(load_bytes(&b, &(struct fe_trace_options){.marks = false}).skipped, 1);
    }
}

static void test_dm_log_writes_with_large_sectors(void **state)
{
    const struct fe_trace_options none = {0};
    struct bytes b = {.big = false};
    (void)state;
    add_super(&b, 2, 1024);
    add_entry(&b, 3, 0, 4 | 1, 1024);
    add_entry(&b, 3, 7, 4, 1024);
    struct loaded l = load_bytes(&b, &none);
    assert_int_equal(l.result, 0);
    assert_int_equal(l.n, 2);
    check_rec(&l.rec[1], 0, FE_REQ_TRIM, 3072, 7168, false);
}

static void test_dm_log_writes_mistakes(void **state)
{
    const struct fe_trace_options none = {0};
    const struct bytes good = log_file();
    (void)state;
    for (size_t n = 8; n < good.n; n += 8) {
        struct bytes b = good;
        b.n = n;
        struct loaded l = load_bytes(&b, &none);
        assert_int_equal(l.result, -EINVAL);
        assert_true(strstr(l.err.text, "ends before its last entry") ||
                    strstr(l.err.text, "does not begin"));
    }
    static const struct {
        size_t at;
        uint8_t value;
        const char *told;
    } cases[] = {
        {8, 2, "version 2"},
        {24, 1, "sector size 513"},
        {512 + 16, 32, "t:1: flags 0x20"},
        {512 + 7, 0xff, "t:1: sector or number"},
        {512 + 15, 0x7f, "t:1: sector or number"},
    };
    for (size_t i = 0; i < ft_array_len(cases); i++) {
        struct bytes b = good;
        b.at[cases[i].at] = cases[i].value;
        struct loaded l = load_bytes(&b, &none);
        if (l.result != -EINVAL || !strstr(l.err.text, cases[i].told))
            fail_msg("'%s' is not '%s'", l.err.text, cases[i].told);
    }
}

/* --- iolog --- */

/* The device gets no flush from it. */
static void test_iolog_passes_over_sync_file_range(void **state)
{
    struct loaded l = load("fio version 3 iolog\n0 g add\n0 g open\n5 g write 0 4096\n"
                           "6 g sync_file_range 0 0\n7 g write 4096 512\n");
    (void)state;
    assert_int_equal(l.result, 0);
    assert_int_equal(l.n, 2);
    assert_int_equal(l.skipped, 1);
    check_rec(&l.rec[1], 7000, FE_REQ_WRITE, 4096, 512, false);
    check_bad("fio version 3 iolog\n6 g sync_file_range 0 0\n", "t:2: ", "not added and opened");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_blkparse_with_all_that_it_prints),
        cmocka_unit_test(test_blkparse_formats),
        cmocka_unit_test(test_flushes_without_data),
        cmocka_unit_test(test_events_are_put_in_order),
        cmocka_unit_test(test_held_requests_come_before_a_mistake),
        cmocka_unit_test(test_blktrace_in_both_byte_orders),
        cmocka_unit_test(test_blktrace_mistakes),
        cmocka_unit_test(test_ftrace),
        cmocka_unit_test(test_flush_of_a_commit),
        cmocka_unit_test(test_perf_and_trace_cmd),
        cmocka_unit_test(test_ftrace_events_by_letter),
        cmocka_unit_test(test_biosnoop),
        cmocka_unit_test(test_biosnoop_of_two_disks),
        cmocka_unit_test(test_biosnoop_columns),
        cmocka_unit_test(test_dm_log_writes),
        cmocka_unit_test(test_dm_log_writes_marks),
        cmocka_unit_test(test_dm_log_writes_with_large_sectors),
        cmocka_unit_test(test_dm_log_writes_mistakes),
        cmocka_unit_test(test_iolog_passes_over_sync_file_range),
    };
    return cmocka_run_group_tests_name("workload_events", tests, NULL, NULL);
}
