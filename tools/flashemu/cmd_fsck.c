/* SPDX-License-Identifier: BSD-3-Clause
 *
 * fsck: checks whether an image is intact.
 *
 *   device    the judgement of everybody who opens an image (fe_device_judge): the records can be
 *             those of the device, and its strategy finds its mapping.  A server would say the same,
 *             and refuse the image.
 *   records   all other damaged records of blocks and pages
 *   pages     each page has the bytes that were written.  A server answers EIO for one that has not,
 *             when the host reads it.
 *
 * This happens in memory; the image is not changed.
 */
#include "tool.h"

#include "flashemu/device.h"
#include "obs/json_text.h"
#include "store/image.h"
#include "store/image_page.h"
#include "store/store.h"

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
    json_t *note;     /* --json: on the crash of a host, or a spare copy that is damaged; or NULL */
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

/* Records and pages, block by block; `said` was said already. */
static int check_store(struct fsck *f, const char *said)
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
            if (strcmp(err.text, said) != 0)
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

/* What a server would say.  *ret_said is the message, or empty. */
static int judge(struct fsck *f, const char *path, struct fe_err *ret_said)
{
    int r = fe_device_judge(&(struct fe_store_file){.path = path}, ret_said);
    if (r == -ENOMEM)
        return tool_fail(ret_said);
    if (r < 0)
        wrong(f, 1, ret_said->text);
    return TOOL_OK;
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
    const char *note = fe_store_image_note(f->store);
    if (note && !f->messages) {
        printf("note: %s\n", note);
    } else if (note) {
        f->note = fe_json_text(note, strlen(note));
        f->no_memory = !f->note;
    }
    struct fe_err said = {""};
    int code = judge(f, path, &said);
    if (code == TOOL_OK)
        code = check_store(f, said.text);
    fe_store_destroy(f->store);
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
