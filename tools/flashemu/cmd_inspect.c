/* SPDX-License-Identifier: BSD-3-Clause
 *
 * inspect: shows what is in an image, without recovering, repairing or changing anything.
 *
 * People count blocks and pages as the chip does, and as mark-bad and flip of flashemu ctl do.  The
 * translation layer counts slots (fe_peb, fe_ppn): a slot gets another chip block behind it when
 * its own goes bad.  So numbers are translated where they come in and where they are printed.
 *
 *     --block 5  -->  slot 5, or the slot behind which chip block 5 is now  -->  "peb": 5
 */
#include "tool.h"

#include "flashemu/device.h"
#include "ftl/ftl.h"
#include "nand/wear.h"
#include "obs/json_text.h"
#include "obs/stats_json.h"
#include "store/image.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char inspect_help[] =
    "usage: flashemu inspect IMAGE [--json] [--page PPN | --block PEB]\n\n"
    "Shows the contents of the image of a server's file=: the device, its chip, wear, bad\n"
    "blocks and mapping.  The image must not be in use, and is not changed.\n\n"
    "  --json        as JSON\n"
    "  --page PPN    one physical page: its OOB, whether it is the newest copy, its bytes\n"
    "  --block PEB   one erase block and the OOB of its pages\n\n"
    "PPN and PEB count as in flashemu ctl SOCKET flip and mark-bad.\n";

static const char *const state_names[] = {
    [FE_PAGE_ERASED] = "erased",
    [FE_PAGE_PROGRAMMED] = "programmed",
    [FE_PAGE_TORN] = "torn",
};

static void put(json_t *o, const char *key, json_t *value)
{
    json_object_set_new(o, key, value);
}

static void put_u64(json_t *o, const char *key, uint64_t value)
{
    put(o, key, fe_json_u64(value));
}

/* The newest copy of each logical page, as a slot's page; FE_PPN_NONE where there is none, or where
 * the page was trimmed. */
static fe_ppn *find_newest(const struct fe_medium *m, uint32_t n_lpns)
{
    fe_ppn *newest = malloc((size_t)n_lpns * sizeof *newest);
    for (uint32_t i = 0; newest && i < n_lpns; i++)
        newest[i] = FE_PPN_NONE;
    for (fe_ppn ppn = 0; newest && ppn < m->geo.n_ppns; ppn++) {
        if (fe_medium_state(m, ppn) != FE_PAGE_PROGRAMMED || fe_medium_lpn(m, ppn) >= n_lpns ||
            fe_medium_is_trimmed(m, fe_medium_lpn(m, ppn)) ||
            fe_medium_is_unstable(m, fe_peb_of(&m->geo, ppn)))
            continue;
        fe_ppn *p = &newest[fe_medium_lpn(m, ppn)];
        if (*p == FE_PPN_NONE || fe_medium_seq(m, *p) < fe_medium_seq(m, ppn))
            *p = ppn;
    }
    return newest;
}

/* Logical pages of the real capacity: a forged device claims more. */
static uint32_t n_lpns(struct fe_device *dev)
{
    uint64_t capacity = fe_store_image(fe_device_medium(dev)->store)->capacity;
    return (uint32_t)fe_div_up(capacity, fe_device_page_bytes(dev));
}

/* The number that people give to a slot's page. */
static fe_ppn chip_page(const struct fe_medium *m, fe_ppn ppn)
{
    uint32_t b = m->geo.pages_per_block;
    return fe_medium_chip_block(m, ppn / b) * b + ppn % b;
}

/* The way back. */
static fe_ppn slot_page(const struct fe_medium *m, fe_ppn chip_ppn)
{
    uint32_t b = m->geo.pages_per_block;
    return fe_chip_find_block(&m->chip, chip_ppn / b) * b + chip_ppn % b;
}

/* --- the whole image --- */

static json_t *geometry_json(const struct fe_medium *m)
{
    const struct fe_geometry *g = &m->geo;
    json_t *o = json_object();
    put_u64(o, "channels", g->n_channels);
    put_u64(o, "dies", g->n_dies);
    put_u64(o, "blocks", g->n_chip_blocks);
    put_u64(o, "spare_blocks", g->n_chip_blocks - g->n_pebs);
    put_u64(o, "pages_per_block", g->pages_per_block);
    put_u64(o, "page_bytes", g->page_bytes);
    put_u64(o, "oob_bytes", g->oob_bytes);
    return o;
}

static json_t *pages_json(const struct fe_medium *m)
{
    uint64_t n[3] = {0};
    for (fe_ppn ppn = 0; ppn < m->geo.n_ppns; ppn++)
        n[fe_medium_state(m, ppn)]++;
    json_t *o = json_object();
    for (int i = 0; i < 3; i++)
        put_u64(o, state_names[i], n[i]);
    return o;
}

static json_t *mapping_json(struct fe_device *dev, const struct fe_medium *m)
{
    uint32_t n = n_lpns(dev);
    fe_ppn *newest = find_newest(m, n);
    uint64_t mapped = 0, data = 0, other = 0, trimmed = 0;
    json_t *o = newest ? json_object() : NULL;
    for (uint32_t i = 0; newest && i < n; i++)
        mapped += newest[i] != FE_PPN_NONE;
    for (fe_ppn ppn = 0; ppn < m->geo.n_ppns; ppn++)
        if (fe_medium_state(m, ppn) == FE_PAGE_PROGRAMMED)
            *(fe_medium_lpn(m, ppn) < n ? &data : &other) += 1;
    for (uint32_t i = 0; i < n; i++)
        trimmed += fe_medium_is_trimmed(m, i);
    put_u64(o, "logical_pages", n);
    put_u64(o, "with_a_copy", mapped);
    put_u64(o, "older_copies", data - mapped);
    put_u64(o, "trimmed", trimmed);
    put_u64(o, "other_pages", other);
    free(newest);
    return o;
}

static json_t *image_json(struct fe_device *dev)
{
    const struct fe_medium *m = fe_device_medium(dev);
    const struct fe_store_what *what = fe_store_image(m->store);
    const struct fe_profile *p = fe_device_profile(dev);
    const char *note = fe_device_image_note(dev);
    struct fe_stats s;
    uint64_t unstable = 0;
    fe_device_get_stats(dev, &s);
    for (fe_peb peb = 0; peb < m->geo.n_pebs; peb++)
        unstable += fe_medium_is_unstable(m, peb);

    json_t *o = json_object();
    put(o, "model", fe_json_text(p->device.model, strlen(p->device.model)));
    put(o, "ftl", json_string(fe_ftl_registry[p->ftl.type]->name));
    put_u64(o, "capacity", what->capacity);
    put_u64(o, "claimed_capacity", fe_device_capacity(dev));
    put_u64(o, "seed", what->seed);
    put(o, "clean", json_boolean(fe_store_is_clean(m->store)));
    put(o, "note", note ? fe_json_text(note, strlen(note)) : json_null());
    put(o, "geometry", geometry_json(m));
    put(o, "pages", pages_json(m));
    put(o, "mapping", mapping_json(dev, m));
    put(o, "wear", fe_wear_json(&s));
    put(o, "bad_blocks", json_pack("{s:I, s:I}", "factory", (json_int_t)s.bad_factory, "grown",
                                   (json_int_t)s.bad_grown));
    put_u64(o, "unstable_blocks", unstable);
    put_u64(o, "programs", fe_medium_last_seq(m));
    if (json_object_get(o, "mapping")) /* it needs more memory than the JSON */
        return o;
    json_decref(o);
    return NULL;
}

/* --- one block, one page --- */

static json_t *page_json(const struct fe_medium *m, fe_ppn ppn)
{
    enum fe_page_state state = fe_medium_state(m, ppn);
    json_t *o = json_object();
    put_u64(o, "ppn", chip_page(m, ppn));
    put(o, "state", json_string(state_names[state]));
    if (state != FE_PAGE_PROGRAMMED)
        return o;
    fe_lpn lpn = fe_medium_lpn(m, ppn);
    put(o, "lpn", lpn == FE_LPN_NONE ? json_null() : json_integer(lpn));
    put_u64(o, "seq", fe_medium_seq(m, ppn));
    put_u64(o, "tag", fe_medium_tag(m, ppn));
    return o;
}

static json_t *block_json(const struct fe_medium *m, fe_peb peb)
{
    const struct fe_peb_info *b = fe_medium_block(m, peb);
    json_t *o = json_object(), *pages = json_array();
    put_u64(o, "peb", fe_medium_chip_block(m, peb));
    put_u64(o, "slot", peb);
    put_u64(o, "erase_count", b->erase_count);
    put(o, "factory_bad", json_boolean(!!(b->marks & FE_MARK_FACTORY_BAD)));
    put(o, "grown_bad", json_boolean(!!(b->marks & FE_MARK_GROWN_BAD)));
    put(o, "slc", json_boolean(!!(b->marks & FE_MARK_SLC)));
    put(o, "unstable", json_boolean(!!(b->marks & FE_MARK_UNSTABLE)));
    for (uint32_t i = 0; i < b->next_page; i++)
        json_array_append_new(pages, page_json(m, peb * m->geo.pages_per_block + i));
    put(o, "pages", pages);
    return o;
}

static json_t *one_page_json(struct fe_device *dev, const struct fe_medium *m, fe_ppn ppn)
{
    uint32_t len = m->geo.page_bytes, n = n_lpns(dev);
    uint8_t *buf = malloc(len);
    char *hex = malloc(2 * (size_t)len + 1);
    fe_ppn *newest = find_newest(m, n);
    json_t *o = buf && hex && newest ? page_json(m, ppn) : NULL;
    if (o && fe_medium_state(m, ppn) == FE_PAGE_PROGRAMMED) {
        fe_lpn lpn = fe_medium_lpn(m, ppn);
        put(o, "newest", lpn < n ? json_boolean(newest[lpn] == ppn) : json_null());
        if (fe_store_read(m->store, ppn, 0, len, buf) < 0) {
            put(o, "data", json_null());
        } else {
            for (uint32_t i = 0; i < len; i++)
                snprintf(hex + 2 * i, 3, "%02x", buf[i]);
            put(o, "data", json_string(hex));
        }
    }
    free(newest);
    free(hex);
    free(buf);
    return o;
}

/* --- text --- */

/* Prints the members of an object as lines "a.b VALUE", and each object of an array as one line. */
static void print_text(const json_t *o, const char *prefix)
{
    const char *key;
    json_t *v;
    json_object_foreach((json_t *)o, key, v) {
        char name[80];
        snprintf(name, sizeof name, "%s%s%s", prefix, prefix[0] ? "." : "", key);
        if (json_is_object(v)) {
            print_text(v, name);
        } else if (json_is_array(v)) {
            for (size_t i = 0; i < json_array_size(v); i++) {
                const char *k;
                json_t *x;
                const char *gap = "";
                json_object_foreach(json_array_get(v, i), k, x) {
                    char *text = json_dumps(x, JSON_ENCODE_ANY);
                    const char *shown = json_is_string(x) ? json_string_value(x) : text;
                    printf("%s%s %s", gap, k, shown ? shown : "");
                    gap = "  ";
                    free(text);
                }
                putchar('\n');
            }
        } else if (json_is_string(v)) {
            printf("%-24s %s\n", name, json_string_value(v));
        } else {
            char *text = json_dumps(v, JSON_ENCODE_ANY | JSON_REAL_PRECISION(6));
            printf("%-24s %s\n", name, json_is_null(v) ? "none" : text ? text : "");
            free(text);
        }
    }
}

static int print_object(struct fe_device *dev, const char *path, json_t *o)
{
    struct fe_origin origin = tool_origin();

    origin.profile = fe_device_profile(dev)->name;
    origin.image = path;
    origin.seed = fe_store_image(fe_device_medium(dev)->store)->seed;
    origin.has_seed = true;
    return tool_print_result(o, &origin);
}

int cmd_inspect(int argc, char **argv)
{
    bool as_json = false;
    const char *page = NULL, *block = NULL;
    const struct tool_option options[] = {
        {"json", 0, &as_json, NULL}, {"page", 0, NULL, &page}, {"block", 0, NULL, &block}, {0}};
    const struct tool_args args = {.options = options, .help = inspect_help};
    struct fe_err err = {""};
    struct fe_device *dev;
    uint64_t number = 0;
    int code;

    if (!tool_parse(&args, &argc, argv, &code))
        return code;
    if (argc != 2)
        return tool_error("inspect: expected one IMAGE");
    if (page && block)
        return tool_error("inspect: --page and --block: one of them");
    if (fe_device_judge(&(struct fe_store_file){.path = argv[1]}, &err) < 0 ||
        fe_device_look(&dev, argv[1], false, &err) < 0)
        return tool_fail(&err);
    const struct fe_medium *m = fe_device_medium(dev);
    uint64_t n_pages = (uint64_t)m->geo.n_chip_blocks * m->geo.pages_per_block;
    json_t *o = NULL;
    code = TOOL_OK;
    if (page && !tool_number("--page", page, 0, n_pages - 1, &number))
        code = TOOL_USAGE;
    else if (block && !tool_number("--block", block, 0, m->geo.n_chip_blocks - 1, &number))
        code = TOOL_USAGE;
    else
        o = page    ? one_page_json(dev, m, slot_page(m, (fe_ppn)number))
            : block ? block_json(m, fe_chip_find_block(&m->chip, (fe_chip_block)number))
                    : image_json(dev);
    if (code == TOOL_OK && (as_json || !o)) {
        code = print_object(dev, argv[1], o);
    } else if (code == TOOL_OK) {
        if (!tool_json_incomplete())
            print_text(o, "");
        json_decref(o);
        code = tool_json_incomplete() ? tool_error("out of memory") : tool_finish(TOOL_OK);
    }
    fe_device_destroy(dev);
    return code;
}
