/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What fe_device_judge refuses, each with its own sentence.  A good image is made, one thing in it
 * is changed to what no server writes, and all checksums are made right again.
 *
 * test_damaged goes through all fields with hostile values, and asks only that whatever is served
 * is right.  There one check stands in for another.  Here each check has an image that breaks its
 * rule and, where that can be, no other rule.
 */
#include "lib/image_kinds.h"
#include "lib/unit.h"

#include "base/bytes.h"
#include "base/crc32c.h"
#include "flashemu/device.h"
#include "nand/chip_record.h"
#include "nand/state.h"
#include "store/image_check.h"
#include "store/image_format.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SECTOR = 512 };

static struct {
    char path[64];
    const char *kind;
    uint8_t *good, *bytes; /* the file as it was made, and as it is to be judged */
    size_t len;
    struct fe_image_header h;
    struct fe_image_layout at;
    uint32_t full, other; /* blocks with all pages programmed */
} b;

/* ---- records ---- */

static struct fe_image_block *block(uint32_t peb)
{
    return (struct fe_image_block *)(b.bytes + b.at.blocks) + peb;
}

static struct fe_image_oob *oob(uint32_t peb, uint32_t page)
{
    return (struct fe_image_oob *)(b.bytes + b.at.oob) + peb * b.h.pages_per_block + page;
}

static struct fe_image_status *status(void)
{
    struct fe_image_status *one = (struct fe_image_status *)(b.bytes + FE_IMAGE_STATUS(0)),
                           *two = (struct fe_image_status *)(b.bytes + FE_IMAGE_STATUS(1));
    return one->generation > two->generation ? one : two;
}

static struct fe_image_lifetime *life(void)
{
    struct fe_image_lifetime *one = (struct fe_image_lifetime *)(b.bytes + FE_IMAGE_LIFETIME(0)),
                             *two = (struct fe_image_lifetime *)(b.bytes + FE_IMAGE_LIFETIME(1));
    return one->generation > two->generation ? one : two;
}

static struct fe_chip_journal *journal(void)
{
    return (struct fe_chip_journal *)status()->control;
}

static bool is_programmed(uint32_t peb, uint32_t page)
{
    const struct fe_image_oob *o = oob(peb, page);
    return o->state == FE_STORE_PROGRAMMED && o->cycle == block(peb)->erase_count;
}

static void seal(uint64_t number, void *record, uint32_t bytes)
{
    if (fe_bytes_are_zeros(record, bytes))
        return;
    uint32_t crc = fe_image_record_crc(number, record, bytes);
    memcpy((uint8_t *)record + bytes - sizeof crc, &crc, sizeof crc);
}

static void seal_all(void)
{
    for (uint32_t i = 0; i < b.at.n_blocks; i++)
        seal(i, block(i), sizeof(struct fe_image_block));
    for (uint32_t i = 0; i < b.h.n_pages; i++)
        seal(i, oob(0, i), sizeof(struct fe_image_oob));
    seal(0, status(), sizeof(struct fe_image_status));
    seal((uint64_t)((uint8_t *)life() - b.bytes) / FE_IMAGE_ALIGN - 1, life(),
         sizeof(struct fe_image_lifetime));
}

/* ---- images ---- */

static void read_good(void)
{
    struct fe_err err = {""};
    int fd = open(b.path, O_RDONLY | O_CLOEXEC);
    b.len = (size_t)lseek(fd, 0, SEEK_END);
    free(b.good);
    free(b.bytes);
    b.good = malloc(b.len);
    b.bytes = malloc(b.len);
    assert_true(fd >= 0 && b.good && b.bytes);
    assert_int_equal(pread(fd, b.good, b.len, 0), (ssize_t)b.len);
    close(fd);
    memcpy(&b.h, b.good, sizeof b.h);
    memcpy(b.bytes, b.good, b.len);
    assert_int_equal(fe_image_layout(&b.at, &b.h, &err), 0);
}

/* Chooses the blocks that are changed: the first and the last one that are full. */
static void choose_blocks(void)
{
    uint32_t n = 0;
    for (uint32_t peb = 0; peb < b.at.n_blocks; peb++) {
        if (!is_programmed(peb, b.h.pages_per_block - 1))
            continue;
        b.full = n++ ? b.full : peb;
        b.other = peb;
    }
    assert_true(n >= 2);
}

/* Every sector is written, one request a page, then power is cut and comes back. */
static void make_good(const char *kind)
{
    struct fe_profile p;
    struct fe_err err = {""};
    struct fe_store_file file = {.path = b.path};
    struct fe_device_options opt = {.seed = 1, .payload = true, .file = &file, .power_cuts = true};
    struct fe_device *dev;
    uint32_t i = 0;
    uint64_t ready_ns;
    while (strcmp(ft_image_kinds[i].name, kind) != 0)
        i++;
    assert_int_equal(ft_image_profile(&p, i, &err), 0);
    unlink(b.path);
    assert_int_equal(fe_device_create(&dev, &p, &opt, &err), 0);
    uint32_t bytes = fe_device_page_bytes(dev);
    uint8_t *data = calloc(1, bytes);
    for (uint64_t at = 0; at + bytes <= fe_device_capacity(dev); at += bytes) {
        struct fe_request req = {.type = FE_REQ_WRITE, .offset = at, .len = bytes, .buf = data};
        struct fe_reply reply;
        memset(data, (int)(at / bytes) + 1, bytes);
        assert_int_equal(fe_device_submit(dev, fe_device_now(dev), &req, &reply), 0);
        assert_int_equal(reply.status, FE_OK);
    }
    free(data);
    assert_int_equal(fe_device_cut_power(dev, fe_device_now(dev), &err), 0);
    assert_int_equal(fe_device_power_on(dev, fe_device_now(dev), &ready_ns, &err), 0);
    assert_int_equal(fe_device_close(dev, &err), 0);
    fe_device_destroy(dev);
    b.kind = kind;
    read_good();
    choose_blocks();
}

static int judge(struct fe_err *err)
{
    struct fe_store_file file = {.path = b.path};
    int fd = open(b.path, O_WRONLY | O_TRUNC | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, b.bytes, b.len), (ssize_t)b.len);
    close(fd);
    return fe_device_judge(&file, err);
}

/* ---- changes ---- */

static void page_of_a_later_cycle(void)
{
    oob(b.full, 0)->cycle = block(b.full)->erase_count + 1;
}

static void page_without_a_number(void)
{
    oob(b.full, 0)->seq = 0;
}

static void page_of_zeros_with_a_checksum(void)
{
    oob(b.full, 0)->zeros = 1;
    oob(b.full, 0)->data_crc = 7;
}

/* Two pages are the same program; in each block the numbers still grow. */
static void number_twice(void)
{
    uint32_t last = b.h.pages_per_block - 1;
    if (oob(b.full, last)->seq < oob(b.other, last)->seq)
        oob(b.full, last)->seq = oob(b.other, last)->seq;
    else
        oob(b.other, last)->seq = oob(b.full, last)->seq;
}

/* The same, long before the newest program. */
static void old_number_twice(void)
{
    uint32_t last = b.h.pages_per_block - 1;
    number_twice();
    for (uint32_t peb = 0; peb < b.at.n_blocks; peb++)
        if (peb != b.full && peb != b.other && is_programmed(peb, last)) {
            oob(peb, last)->seq += 1000000;
            return;
        }
    fail_msg("no third block");
}

static void numbers_that_fall(void)
{
    uint64_t first = oob(b.full, 0)->seq;
    oob(b.full, 0)->seq = oob(b.full, 1)->seq;
    oob(b.full, 1)->seq = first;
}

static void page_beyond_the_last(void)
{
    oob(b.full, 0)->lpn = (uint32_t)(b.h.capacity / b.h.page_bytes);
}

static void page_with_an_unknown_tag(void)
{
    oob(b.full, 0)->tag = 12;
}

static void page_with_the_tag_of_another_strategy(void)
{
    oob(b.full, 0)->tag = 1; /* a log's */
}

static void torn_page_without_its_tag(void)
{
    *oob(b.full, 0) = (struct fe_image_oob){
        .lpn = UINT32_MAX, .cycle = block(b.full)->erase_count, .state = FE_STORE_TORN};
}

static void page_that_counts_as_torn(void)
{
    oob(b.full, 0)->tag = FE_TAG_TORN;
}

static void page_lost_twice(void)
{
    oob(b.full, 0)->tag |= FE_CHIP_TAG_LOST | FE_CHIP_TAG_SILENT;
}

static void page_of_no_mode(void)
{
    oob(b.full, 0)->mode = 1;
}

static void block_of_a_later_time(void)
{
    block(b.full)->extra[FE_CHIP_EXTRA_SINCE] = UINT32_MAX;
    block(b.full)->extra[FE_CHIP_EXTRA_SINCE + 1] = UINT32_MAX;
}

static void block_with_too_many_cycles(void)
{
    block(b.full)->extra[FE_CHIP_EXTRA_DIFFERENCE] = block(b.full)->erase_count + 1;
}

/* One less would be possible. */
static void block_at_the_limit_of_cycles(void)
{
    block(b.full)->extra[FE_CHIP_EXTRA_DIFFERENCE] = block(b.full)->erase_count - UINT32_C(4000000000);
}

static void block_that_is_another(void)
{
    block(b.full)->extra[FE_CHIP_EXTRA_BLOCK] = b.other + 1;
}

static void block_that_the_chip_has_not(void)
{
    block(b.full)->extra[FE_CHIP_EXTRA_BLOCK] = (uint32_t)b.at.n_blocks + 1;
}

static void block_with_an_unknown_mark(void)
{
    block(b.full)->flags |= FE_MARK_REFRESH;
}

static void block_with_an_unknown_kept_mark(void)
{
    block(b.full)->kept_flags |= FE_MARK_REFRESH;
}

static void bad_block_in_use(void)
{
    block(b.full)->flags |= FE_MARK_GROWN_BAD;
}

static void spare_block_in_slc_mode(void)
{
    block((uint32_t)b.at.n_blocks - 1)->flags = FE_MARK_SLC;
    block((uint32_t)b.at.n_blocks - 1)->erase_count = 1;
}

static void full_block_in_slc_mode(void)
{
    block(b.full)->flags |= FE_MARK_SLC;
}

static void block_kept_from_a_later_cycle(void)
{
    block(b.full)->kept_cycle = block(b.full)->erase_count + 1;
}

static void clock_behind_the_end_of_time(void)
{
    life()->numbers[FE_CHIP_LIFETIME_CLOCK] = UINT64_MAX;
}

static void cut_after_the_clock(void)
{
    life()->numbers[FE_CHIP_LIFETIME_LAST_CUT] = life()->numbers[FE_CHIP_LIFETIME_CLOCK] + 1;
}

static void writes_without_end(void)
{
    life()->numbers[FE_CHIP_LIFETIME_WRITES] = FE_IMAGE_COUNT_MAX;
}

static void erases_without_end(void)
{
    life()->numbers[FE_CHIP_LIFETIME_ERASES] = FE_IMAGE_COUNT_MAX;
}

static void number_that_nobody_has_without_end(void)
{
    life()->numbers[FE_IMAGE_LIFETIME_NUMBERS - 1] = FE_IMAGE_COUNT_MAX;
}

static void journal_of_another_length(void)
{
    status()->control_bytes--;
}

static void journal_of_a_block_that_there_is_not(void)
{
    journal()->interrupted = (uint32_t)b.at.n_blocks;
}

static void journal_off_and_more(void)
{
    journal()->is_off = 2;
}

static void journal_dead_and_on(void)
{
    journal()->is_dead = 1;
}

static void journal_stale_before_it_was_cut(void)
{
    journal()->n_stale = journal()->n + 1;
}

static void journal_of_cuts_without_end(void)
{
    journal()->n = FE_IMAGE_COUNT_MAX;
}

static void journal_that_ends_before_it_begins(void)
{
    journal()->since = journal()->until + 1;
}

static void journal_of_programs_without_end(void)
{
    journal()->until = FE_IMAGE_COUNT_MAX;
}

/* norlog's first pages of a block are its header */
static void header_that_is_a_page(void)
{
    oob(b.full, 0)->lpn = 5;
}

static void page_that_is_a_header(void)
{
    oob(b.full, b.h.pages_per_block - 1)->tag = 11;
}

static void change_header(uint32_t offset)
{
    uint8_t *page = b.bytes + b.at.pages +
                    (uint64_t)b.full * b.h.pages_per_block * b.h.page_bytes;
    page[offset] ^= 1;
    oob(b.full, 0)->data_crc = fe_crc32c(0, page, b.h.page_bytes);
}

static void header_without_its_magic(void)
{
    change_header(0);
}

static void header_of_another_program(void)
{
    change_header(8);
}

struct case_ {
    const char *kind;
    void (*change)(void);
    const char *says; /* part of the message */
};

static const struct case_ cases[] = {
    {"page", page_of_a_later_cycle, "cannot be: its cycle is "},
    {"page", page_without_a_number, "cannot be: its seq is 0"},
    {"page", page_of_zeros_with_a_checksum, "cannot be: its data_crc is 7"},
    {"page", number_twice, "has two pages that are program number "},
    {"page", old_number_twice, "has two pages that are program number "},
    {"page", numbers_that_fall, "has pages whose numbers do not grow"},
    {"page", page_beyond_the_last, "with tag 0: ftl.type=page writes none there"},
    {"page", page_with_an_unknown_tag, "with tag 12: ftl.type=page writes none there"},
    {"norlog", page_with_the_tag_of_another_strategy, "with tag 1: ftl.type=norlog writes none"},
    {"page", torn_page_without_its_tag, "has a torn page that is not marked as one"},
    {"page", page_that_counts_as_torn, "has a programmed page that counts as torn"},
    {"page", page_lost_twice, "has a page that is lost in two ways"},
    {"page", page_of_no_mode, "has a page of a mode that there is not"},
    {"page", block_of_a_later_time, "has data from behind the end of time"},
    {"page", block_with_too_many_cycles, "has more cycles behind it than a block can have"},
    {"page", block_at_the_limit_of_cycles, "has more cycles behind it than a block can have"},
    {"page", block_that_is_another, "is another block of the chip, which has no reserve"},
    {"page-cache", block_that_is_another, "is the same block of the chip as another one"},
    {"page-cache", block_that_the_chip_has_not, "is a block that the chip does not have"},
    {"page", block_with_an_unknown_mark, "has flags that this version does not know"},
    {"page", block_with_an_unknown_kept_mark, "has flags that this version does not know"},
    {"page", bad_block_in_use, "is bad, but none of those that were set aside"},
    {"page-cache", spare_block_in_slc_mode, "is a spare or bad, and has the marks of one in use"},
    {"page-static", full_block_in_slc_mode, "is in SLC mode and holds more than that allows"},
    {"page", block_kept_from_a_later_cycle, "cannot be: its kept_cycle is "},
    {"page", clock_behind_the_end_of_time, "its counter 0 at 18446744073709551615: that cannot be"},
    {"page", cut_after_the_clock, "its counter 1 at "},
    {"page", writes_without_end, "its counter 2 at "},
    {"page", erases_without_end, "its counter 4 at "},
    {"page", number_that_nobody_has_without_end, "its counter 5 at "},
    {"page", journal_of_another_length, "journal of a power cut has "},
    {"page", journal_of_a_block_that_there_is_not, "and names block 48"},
    {"page", journal_off_and_more, "journal of a power cut has "},
    {"page", journal_dead_and_on, "journal of a power cut has "},
    {"page", journal_stale_before_it_was_cut, "counts 1 cuts, pages of cut 2 came back stale"},
    {"page", journal_of_cuts_without_end, "journal of a power cut counts "},
    {"page", journal_that_ends_before_it_begins, "journal of a power cut counts 1 cuts"},
    {"page", journal_of_programs_without_end, "journal of a power cut counts 1 cuts"},
    {"norlog", header_that_is_a_page, "is logical page 5 with tag 11: ftl.type=norlog writes none"},
    {"norlog", page_that_is_a_header, "with tag 11: ftl.type=norlog writes none there"},
    {"norlog", header_without_its_magic, "its header says "},
    {"norlog", header_of_another_program, "its header says "},
};

static void test_judged_each_in_its_own_words(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct case_ *c = &cases[i];
        struct fe_err err = {""}; /* keeps the first message */
        if (!b.kind || strcmp(b.kind, c->kind) != 0)
            make_good(c->kind);
        memcpy(b.bytes, b.good, b.len);
        seal_all(); /* changes nothing */
        assert_memory_equal(b.bytes, b.good, b.len);
        assert_int_equal(judge(&err), 0);
        c->change();
        seal_all();
        int r = judge(&err);
        if (r != -EIO || !strstr(err.text, c->says))
            fail_msg("case %zu of %s: %d, \"%s\" and not \"%s\"", i, c->kind, r,
                     r < 0 ? err.text : "", c->says);
    }
}

static int setup(void **state)
{
    (void)state;
    snprintf(b.path, sizeof b.path, "/tmp/fe-judged-XXXXXX");
    int fd = mkstemp(b.path);
    return fd < 0 || close(fd) < 0 ? -1 : 0;
}

static int teardown(void **state)
{
    (void)state;
    free(b.good);
    free(b.bytes);
    return unlink(b.path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_judged_each_in_its_own_words, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
