/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A small image in a folder of its own, behind a host that can fail: for the tests of
 * stores in files.
 */
#pragma once

#include "lib/fault_io.h"
#include "lib/unit.h"

#include "store/image.h"
#include "store/image_extra.h"
#include "store/image_file.h"
#include "store/image_page.h"
#include "store/io.h"
#include "store/store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

enum { PAGE = 1024, PPB = 4, BLOCKS = 6, PAGES = PPB * BLOCKS, ENTRIES = 3 };

static const char profile[] = "[device]\nmodel = x\n";

static char folder[64], path[96];
static struct ft_io host;
static int next_fd;

static inline int setup(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/fe-image-XXXXXX");
    if (!mkdtemp(folder))
        return -1;
    snprintf(path, sizeof path, "%s/stick", folder);
    ft_io_init(&host);
    next_fd = ft_next_fd();
    return 0;
}

static inline int teardown(void **state)
{
    (void)state;
    ft_io_fini(&host);
    unlink(path);
    return ft_left_open(next_fd) ? -1 : rmdir(folder);
}

static inline struct fe_store_file file(bool sync)
{
    return (struct fe_store_file){.path = path, .sync = sync, .io = &host.io};
}

static inline int make(struct fe_store **ret, struct fe_err *err)
{
    struct fe_store_file f = file(true);
    struct fe_store_what what = {
        .n_pages = PAGES, .page_bytes = PAGE, .pages_per_block = PPB, .n_entries = ENTRIES,
        .capacity = 10 * PAGE, .seed = 7, .profile = profile, .profile_bytes = sizeof profile - 1,
    };
    int r = fe_store_image_create(ret, &f, &what, err);
    if (r == 0 && (r = fe_store_image_ready(*ret, err)) < 0)
        fe_store_destroy(*ret);
    return r;
}

static inline struct fe_store *made(void)
{
    struct fe_err err = {""};
    struct fe_store *s = NULL;
    if (make(&s, &err) < 0)
        fail_msg("%s", err.text);
    return s;
}

static inline struct fe_store *opened(void)
{
    struct fe_store_file f = file(true);
    struct fe_err err = {""};
    struct fe_store *s = NULL;
    if (fe_store_image_open(&s, &f, &err) < 0)
        fail_msg("%s", err.text);
    return s;
}

static inline void refused(int errnum, const char *part)
{
    struct fe_store_file f = file(true);
    struct fe_err err = {""};
    struct fe_store *s = NULL;
    int r = fe_store_image_open(&s, &f, &err);
    if (r != -errnum || !strstr(err.text, part))
        fail_msg("got %d '%s', expected %d '%s'", r, err.text, -errnum, part);
    assert_null(s);
}

static inline const uint8_t *bytes(uint8_t value)
{
    static uint8_t buf[PAGE];
    for (uint32_t i = 0; i < PAGE; i++)
        buf[i] = (uint8_t)(value + i);
    return buf;
}

static inline void program(struct fe_store *s, fe_ppn ppn, fe_lpn lpn, uint64_t seq, uint8_t value)
{
    fe_store_write(s, ppn, FE_PPN_NONE, 0, PAGE, bytes(value));
    fe_store_set_oob(s, ppn, &(struct fe_store_oob){seq, lpn, 3, FE_STORE_PROGRAMMED, 0});
}

static inline void erase(struct fe_store *s, fe_peb peb, uint32_t cycle)
{
    fe_store_set_block(s, peb, &(struct fe_store_block){.erase_count = cycle});
    fe_store_discard(s, peb);
}

static inline void assert_page(struct fe_store *s, fe_ppn ppn, uint8_t value)
{
    uint8_t buf[PAGE];
    assert_int_equal(fe_store_read(s, ppn, 0, PAGE, buf), 0);
    assert_memory_equal(buf, bytes(value), PAGE);
    assert_int_equal(fe_store_read(s, ppn, 100, 8, buf), 0);
    assert_memory_equal(buf, bytes(value) + 100, 8);
}

static inline void load(struct fe_store *s, fe_peb peb, struct fe_store_block *b,
                        struct fe_store_oob *p)
{
    struct fe_err err = {""};
    if (fe_store_load_block(s, peb, b, p, &err) < 0)
        fail_msg("%s", err.text);
}

static inline void load_all(struct fe_store *s)
{
    struct fe_store_block b;
    struct fe_store_oob p[PPB];
    for (fe_peb peb = 0; peb < BLOCKS; peb++)
        load(s, peb, &b, p);
}

static inline void write_file(const void *data, size_t len)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, data, len), (ssize_t)len);
    close(fd);
}

/* The status record that counts. */
static inline struct fe_image_status status(void)
{
    struct fe_image_status st[2];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    for (int i = 0; i < 2; i++)
        assert_int_equal(pread(fd, &st[i], sizeof st[i], FE_IMAGE_STATUS(i)), sizeof st[i]);
    close(fd);
    return st[st[1].generation > st[0].generation];
}
