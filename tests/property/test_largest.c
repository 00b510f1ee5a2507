/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Every key at the largest value that it takes: no sum or product of times and sizes wraps.
 *
 * For each strategy each number of the option table is set to its maximum, alone, together with
 * each other number of the same section, and all times at the same time.  The profile is either refused,
 * with a message, or its canonical form reads back as the same.  If the device is small enough for
 * this machine, it is built and gets some requests.  Its clock then never runs backwards, and it
 * stays in the range that JSON can hold.
 *
 * Sizes are compared with wider arithmetic: a chip never has less than the capacity that it offers.
 */
#include "lib/rand.h"

#include "base/quantity.h"
#include "flashemu/device.h"
#include "ftl/ftl.h"
#include "profile/options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { REQUESTS = 40, MAX_OVERRIDES = FE_MAX_OPTIONS, TEXT = 96 };

/* Devices with more pages are not built. */
#define MOST_PAGES 70000u

#define CHECK(cond, what)                                                                  \
    do {                                                                                   \
        if (!(cond)) {                                                                     \
            fprintf(stderr, "%s: %s: %s\n", fe_ftl_registry[the_type]->name, what, #cond); \
            exit(1);                                                                       \
        }                                                                                  \
    } while (0)

static uint32_t the_type; /* index of the strategy */
static unsigned n_parsed, n_built;

static bool is_time(const struct fe_option *o)
{
    return o->type == FE_OPT_TIME || o->type == FE_OPT_TIMES;
}

static bool is_number(const struct fe_option *o)
{
    return o->type <= FE_OPT_SHARE && o->max > 0;
}

/* "SECTION.KEY=MAXIMUM" */
static void set_largest(const struct fe_option *o, char text[static TEXT])
{
    static const enum fe_quantity quantities[] = {
        [FE_OPT_U32] = FE_COUNT, [FE_OPT_U64] = FE_COUNT, [FE_OPT_SIZE32] = FE_SIZE,
        [FE_OPT_SIZE] = FE_SIZE, [FE_OPT_TIME] = FE_TIME, [FE_OPT_TIMES] = FE_TIME,
        [FE_OPT_RATE] = FE_RATE, [FE_OPT_SHARE] = FE_SHARE};
    char value[TEXT / 2];
    fe_quantity_print(quantities[o->type], o->max, value, sizeof value);
    snprintf(text, TEXT, "%s.%s=%s", fe_section_name(o->section), o->key, value);
}

static void run_requests(struct fe_device *dev, const char *what)
{
    uint64_t sector = fe_device_profile(dev)->device.sector_size;
    uint64_t sectors = fe_device_capacity(dev) / sector, now_ns = 0;
    struct ft_rand r = {.seed = 7};

    for (unsigned i = 0; i < REQUESTS; i++) {
        struct fe_request req = {.type = i % 8 == 7 ? FE_REQ_FLUSH : i % 3 ? FE_REQ_WRITE
                                                                           : FE_REQ_READ};
        struct fe_reply reply;
        if (req.type != FE_REQ_FLUSH) {
            req.offset = i % 5 ? ft_below(&r, sectors) * sector : (sectors - 1) * sector;
            req.len = sector;
        }
        CHECK(fe_device_submit(dev, now_ns, &req, &reply) == 0, what);
        CHECK(reply.complete_ns >= reply.arrival_ns && reply.arrival_ns >= now_ns, what);
        CHECK(reply.complete_ns <= INT64_MAX && fe_device_now(dev) >= reply.complete_ns, what);
        now_ns = reply.complete_ns;
    }
}

static void build(const struct fe_profile *p, const char *what)
{
    const struct fe_device_options opt = {.seed = 1};
    const struct fe_nand_params *n = &p->nand;
    unsigned __int128 blocks = (unsigned __int128)n->blocks_per_plane * n->planes_per_die *
                               n->dies_per_channel * n->channels;
    unsigned __int128 pages = blocks * n->pages_per_block;
    struct fe_device *dev;
    struct fe_err err = {""};

    if (pages > MOST_PAGES)
        return;
    int r = fe_device_create(&dev, p, &opt, &err);
    if (r < 0) {
        CHECK((r == -EINVAL || r == -EOVERFLOW || r == -ENOSPC) && err.text[0], what);
        return;
    }
    n_built++;
    uint64_t kept = p->device.capacity ? p->device.capacity : fe_device_capacity(dev);
    CHECK(fe_ftl_registry[the_type]->no_medium || pages * n->page_size >= kept, what);
    run_requests(dev, what);
    fe_device_destroy(dev);
}

static char *print(const struct fe_profile *p)
{
    char *text = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&text, &size);
    if (!f || fe_profile_print(p, f, NULL) < 0 || fclose(f) != 0)
        abort();
    return text;
}

static void try(const char *const *overrides, uint32_t n)
{
    static const char base[] =
        "[device]\ncapacity = 1M\n[nand]\ncell = slc\npages_per_block = 16\npage_size = 2K\n"
        "tR = 25us\ntPROG = 200us\ntBERS = 2ms\n[ftl]\n";
    char text[sizeof base + 200];
    struct fe_profile p, again;
    struct fe_err err = {""};
    const char *what = n == 0 ? "nothing" : overrides[n - 1];
    const char *unit = fe_option_is_used(fe_option_find("ftl.unit_size"), the_type)
                           ? "unit_size = 64K\n" : "";

    snprintf(text, sizeof text, "%stype = %s\n%s", base, fe_ftl_registry[the_type]->name, unit);
    int r = fe_profile_parse(&p, "x.ini", text, strlen(text), overrides, n, &err);
    if (r < 0) {
        CHECK(r == -EINVAL && err.text[0], what);
        return;
    }
    n_parsed++;
    char *printed = print(&p);
    CHECK(fe_profile_parse(&again, "x.ini", printed, strlen(printed), NULL, 0, &err) == 0,
          err.text);
    char *twice = print(&again);
    CHECK(strcmp(printed, twice) == 0, what);
    build(&p, what);
    free(printed);
    free(twice);
    fe_profile_fini(&p);
    fe_profile_fini(&again);
}

int main(void)
{
    static char texts[MAX_OVERRIDES][TEXT];
    const char *all[MAX_OVERRIDES];

    for (the_type = 0; fe_ftl_registry[the_type]; the_type++) {
        uint32_t n_times = 0;
        try(NULL, 0);
        for (uint32_t i = 0; i < fe_n_options; i++) {
            const struct fe_option *o = &fe_options[i];
            if (!is_number(o) || !fe_option_is_used(o, the_type))
                continue;
            set_largest(o, texts[i]);
            try((const char *const[]){texts[i]}, 1);
            for (uint32_t k = 0; k < i; k++)
                if (texts[k][0] && fe_options[k].section == o->section)
                    try((const char *const[]){texts[k], texts[i]}, 2);
            if (is_time(o))
                all[n_times++] = texts[i];
        }
        try(all, n_times);
        memset(texts, 0, sizeof texts);
    }
    printf("%u profiles, %u devices\n", n_parsed, n_built);
    return n_built > 1000 ? 0 : 1;
}
