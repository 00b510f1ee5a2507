/* SPDX-License-Identifier: BSD-3-Clause
 *
 * fsck: checks whether an image is intact.  There are four passes.  A pass runs only if the passes
 * before it have left it something meaningful to check:
 *
 *   records   each record of a block, a page or a trim has the right checksum, and pages are in
 *             order
 *   pages     each page has the bytes that were written
 *   chip      the records describe a state in which the chip can be
 *   device    the strategy finds its mapping in this state, and all its invariants hold.  This
 *             happens in memory; the image is not changed.
 */
#include "tool.h"

#include "flashemu/device.h"
#include "nand/medium.h"
#include "obs/json_text.h"
#include "store/image.h"
#include "store/image_extra.h"
#include "store/image_page.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char fsck_help[] =
    "usage: flashemu fsck IMAGE [--json]\n\n"
    "Checks the image of a server's file=: every record, the bytes of every page, and whether\n"
    "the device that they describe is consistent.  The image must not be in use, and is not\n"
    "changed.  Exit code 0; or 1, and a line for each thing that is wrong.\n\n"
    "  --json        as JSON\n";

#define MESSAGES_MAX 20 /* of one kind */

struct fsck {
    struct fe_store *store;
    uint64_t n_pages, n_wrong;
    json_t *messages; /* --json: what is wrong; otherwise NULL: messages are printed */
    json_t *note;     /* --json: what was lost in a crash; NULL if there was none */
    bool no_memory;   /* there was no memory for one of these */
};

static void wrong(struct fsck *f, uint64_t n_of_kind, const char *text)
{
    f->n_wrong++;
    if (n_of_kind > MESSAGES_MAX + 1)
        return;
    if (n_of_kind > MESSAGES_MAX)
        text = "... and more of these";
    if (!f->messages)
        puts(text);
    else if (json_array_append_new(f->messages, fe_json_text(text, strlen(text))) < 0)
        f->no_memory = true;
}

static void check_bytes(struct fsck *f, fe_ppn ppn, void *buf, uint32_t len, uint64_t *n_bad)
{
    char text[80];
    f->n_pages++;
    if (fe_store_read(f->store, ppn, 0, len, buf) == 0)
        return;
    snprintf(text, sizeof text, "page %u: its bytes cannot be read, or are not those written",
             ppn);
    wrong(f, ++*n_bad, text);
}

/* Records and pages, block by block. */
static int check_store(struct fsck *f)
{
    const struct fe_store_what *what = fe_store_image(f->store);
    uint32_t n = what->pages_per_block;
    struct fe_store_oob *pages = calloc(n, sizeof *pages);
    void *buf = malloc(what->page_bytes);
    uint64_t bad_records = 0, bad_bytes = 0;
    if (!pages || !buf) {
        free(pages);
        free(buf);
        return tool_error("out of memory");
    }
    for (fe_peb peb = 0; peb < what->n_pages / n; peb++) {
        struct fe_store_block block;
        struct fe_err err = {""};
        if (fe_store_load_block(f->store, peb, &block, pages, &err) < 0) {
            wrong(f, ++bad_records, err.text);
            continue;
        }
        for (uint32_t i = 0; i < n; i++)
            if (pages[i].state == FE_STORE_PROGRAMMED || pages[i].state == FE_STORE_RAW)
                check_bytes(f, peb * n + i, buf, what->page_bytes, &bad_bytes);
    }
    free(pages);
    free(buf);
    return TOOL_OK;
}

static int check_trims(struct fsck *f)
{
    uint64_t *words = calloc(fe_store_image(f->store)->n_pages / 64 + 1, sizeof *words);
    struct fe_err err = {""};
    int r = words ? fe_store_load_trims(f->store, words, &err) : -ENOMEM;
    free(words);
    if (r == -ENOMEM)
        return tool_error("out of memory");
    if (r < 0)
        wrong(f, 1, err.text);
    return TOOL_OK;
}

/* Checks that no two programs of the chip have the same number. */
static int check_numbers(struct fsck *f, const struct fe_medium *m)
{
    uint64_t *seq = malloc((size_t)m->geo.n_ppns * sizeof *seq), n = 0, twice = 0;
    char text[80];
    if (!seq)
        return tool_error("out of memory");
    for (fe_ppn ppn = 0; ppn < m->geo.n_ppns; ppn++)
        if (fe_medium_state(m, ppn) == FE_PAGE_PROGRAMMED)
            seq[n++] = fe_medium_seq(m, ppn);
    qsort(seq, n, sizeof *seq, tool_compare_u64);
    for (uint64_t i = 1; i < n; i++)
        if (seq[i] == seq[i - 1]) {
            snprintf(text, sizeof text, "two pages are program number %" PRIu64, seq[i]);
            wrong(f, ++twice, text);
        }
    free(seq);
    return TOOL_OK;
}

static int check_device(struct fsck *f, const char *path)
{
    struct fe_err err = {""};
    struct fe_device *dev;
    int code = TOOL_OK, r = fe_device_look(&dev, path, false, &err);
    if (r == 0) {
        code = check_numbers(f, fe_device_medium(dev));
        fe_device_destroy(dev);
        r = fe_device_look(&dev, path, true, &err);
    }
    if (r == 0) {
        r = fe_device_check(dev, &err);
        fe_device_destroy(dev);
    }
    if (r == -ENOMEM)
        return tool_fail(&err);
    if (r < 0)
        wrong(f, 1, err.text);
    return code;
}

/* Runs all passes.  Returns an exit code; TOOL_USAGE if there is no answer. */
static int check_image(struct fsck *f, const char *path)
{
    struct fe_store_file file = {.path = path, .read_only = true};
    struct fe_err err = {""};

    int r = fe_store_image_open(&f->store, &file, &err);
    if (r == -ENOENT)
        return tool_error("%s: there is no image, or none whose making was finished", path);
    if (r == -EIO) {
        wrong(f, 1, err.text); /* it is an image, but damaged */
        return TOOL_NO;
    }
    if (r < 0)
        return tool_fail(&err);
    const char *note = fe_store_crash_note(f->store);
    if (note && !f->messages) {
        printf("note: %s\n", note);
    } else if (note) {
        f->note = fe_json_text(note, strlen(note));
        f->no_memory = !f->note;
    }
    int code = check_store(f);
    if (code == TOOL_OK && f->n_wrong == 0)
        code = check_trims(f);
    bool is_status_damaged = fe_store_is_status_damaged(f->store);
    fe_store_destroy(f->store);
    if (code == TOOL_OK && f->n_wrong == 0)
        code = check_device(f, path);
    if (is_status_damaged)
        wrong(f, 1, "one of the two copies of its status or clock is damaged (checksum); the other is used");
    return code == TOOL_OK && f->n_wrong ? TOOL_NO : code;
}

static int print_json(const struct fsck *f, const char *path, const char *verdict)
{
    const struct fe_origin origin = tool_origin();

    return tool_print_result(json_pack("{s:o, s:s, s:I, s:I, s:O, s:o}", "image",
                                       fe_json_text(path, strlen(path)), "verdict", verdict,
                                       "pages", (json_int_t)f->n_pages, "wrong",
                                       (json_int_t)f->n_wrong, "messages", f->messages, "note",
                                       f->note ? json_incref(f->note) : json_null()), &origin);
}

int cmd_fsck(int argc, char **argv)
{
    bool json = false;
    const struct tool_option options[] = {{"json", 0, &json, NULL}, {0}};
    const struct tool_args args = {.options = options, .help = fsck_help};
    struct fsck f = {0};
    int code;

    if (!tool_parse(&args, &argc, argv, &code))
        return code;
    if (argc != 2)
        return tool_error("fsck: expected one IMAGE");
    if (json && !(f.messages = json_array()))
        return tool_error("out of memory");
    code = check_image(&f, argv[1]);
    if (f.no_memory)
        code = tool_error("out of memory");
    if (code != TOOL_USAGE) {
        const char *verdict = code == TOOL_OK ? "clean" : "damaged";
        int printed = TOOL_OK;
        if (json)
            printed = print_json(&f, argv[1], verdict);
        else
            printf("%s: %" PRIu64 " pages, %s\n", argv[1], f.n_pages, verdict);
        code = printed == TOOL_OK ? tool_finish(code) : printed;
    }
    json_decref(f.messages);
    json_decref(f.note);
    return code;
}
