/* SPDX-License-Identifier: BSD-3-Clause
 *
 * verify --class: which classes of the SD specification a profile would be granted.
 *
 *   A1, A2        random requests of 4 KiB a second, and 10 MB/s in order
 *   C, U, V       the slowest of some allocation units (AU) that are written in order, in pieces of
 *                 a recording unit, while the host updates a FAT between two of them
 *
 * The host of A2 uses queue and cache as the profile has them, with the queue full.  All others
 * send one command at a time, and no cache is on.
 *
 * Sources: SD Physical Layer Specification 4.10 for AUs, recording units, the time of a write and
 * of FAT updates; the rates of the classes are what their names say.  Recalled: 1500 and 500, 4000
 * and 2000 requests a second, in 256 MiB.
 *
 * Not modelled: AUs that hold files already (classes 2 to 6 allow the card to move them), and the
 * share of suspended and resumed recordings of the video classes.
 */
#include "tool.h"
#include "verify/plan.h"

#include "base/num.h"

#include <errno.h>
#include <stdio.h>

#define MB      UINT64_C(1000000)
#define KIB(x)  (UINT64_C(x) << 10)
#define MIB(x)  (UINT64_C(x) << 20)
#define MS(x)   (UINT64_C(x) * 1000000)
#define SECONDS MS(1000)

enum { N_AUS = 8 };

struct class {
    const char *name;
    uint64_t rate;               /* bytes a second that it promises */
    uint64_t unit;               /* recording unit; 0: an application class */
    uint64_t reads, writes;      /* random requests a second of an application class */
    bool queued;                 /* the host uses queue and cache */
};

/* Families of classes, each from the slowest on. */
static const struct class classes[] = {
    {"A1", 10 * MB, 0, 1500, 500, false},
    {"A2", 10 * MB, 0, 4000, 2000, true},
    {"C2", 2 * MB, KIB(32), 0, 0, false},
    {"C4", 4 * MB, KIB(32), 0, 0, false},
    {"C6", 6 * MB, KIB(64), 0, 0, false},
    {"C10", 10 * MB, KIB(512), 0, 0, false},
    {"U1", 10 * MB, KIB(512), 0, 0, false},
    {"U3", 30 * MB, KIB(512), 0, 0, false},
    {"V6", 6 * MB, KIB(512), 0, 0, false},
    {"V10", 10 * MB, KIB(512), 0, 0, false},
    {"V30", 30 * MB, KIB(512), 0, 0, false},
    {"V60", 60 * MB, KIB(512), 0, 0, false},
    {"V90", 90 * MB, KIB(512), 0, 0, false},
};

/* The largest AU that a card of this capacity may have. */
static uint64_t au_of(uint64_t capacity)
{
    return capacity <= MIB(64)      ? KIB(512)
           : capacity <= MIB(256)   ? MIB(1)
           : capacity <= MIB(512)   ? MIB(2)
           : capacity <= MIB(32768) ? MIB(4)
                                    : MIB(64);
}

/* What a recording came to. */
struct recording {
    uint64_t rate;      /* of the slowest AU, bytes a second */
    uint64_t longest;   /* write of a recording unit, ns */
    uint64_t fat, fats; /* the longest update of the FAT, and all of them, ns */
};

/* 16 KiB of each of two FATs, and 4 KiB of a directory, in the first two AUs. */
static int update_fat(struct fe_device *dev, uint64_t au, struct recording *rec,
                      struct fe_err *err)
{
    const uint64_t at[] = {au + 16384, au + au / 2, au / 2};
    uint64_t start = fe_device_now(dev);

    for (size_t i = 0; i < sizeof at / sizeof at[0]; i++) {
        int r = verify_request(dev, FE_REQ_WRITE, at[i] / 4096 * 4096, i < 2 ? 16384 : 4096, NULL,
                               err);
        if (r < 0)
            return r;
    }
    uint64_t ns = fe_device_now(dev) - start;
    rec->fat = fe_max_u64(rec->fat, ns);
    rec->fats += ns;
    return 0;
}

static int record_au(struct fe_device *dev, uint64_t offset, uint64_t au, uint64_t unit,
                     struct recording *rec, struct fe_err *err)
{
    uint64_t start = fe_device_now(dev);

    for (uint64_t at = 0; at < au; at += unit) {
        uint64_t ns;
        int r = verify_request(dev, FE_REQ_WRITE, offset + at, unit, &ns, err);
        if (r < 0)
            return r;
        rec->longest = fe_max_u64(rec->longest, ns);
    }
    rec->rate = fe_min_u64(rec->rate, verify_rate(au, fe_device_now(dev) - start));
    return 0;
}

static int record(struct fe_device *dev, uint64_t unit, struct recording *rec, struct fe_err *err)
{
    uint64_t au = au_of(fe_device_capacity(dev)), first = fe_device_capacity(dev) / au / 2;
    int r = 0;

    *rec = (struct recording){.rate = UINT64_MAX};
    if (first + N_AUS > fe_device_capacity(dev) / au)
        return fe_err_set(err, EINVAL,
                          "--class: a recording needs %d allocation units of %llu bytes in the "
                          "second half of the device, which has %llu bytes",
                          N_AUS, (unsigned long long)au,
                          (unsigned long long)fe_device_capacity(dev));
    for (uint64_t i = 0; i < N_AUS && r == 0; i++) {
        r = record_au(dev, (first + i) * au, au, unit, rec, err);
        if (r == 0)
            r = update_fat(dev, au, rec, err);
    }
    return r;
}

/* What a class was judged by, and the reason if it is not granted. */
struct verdict {
    const struct class *class;
    uint64_t rate, reads, writes;
    char why[160]; /* empty: granted */
};

static int judge_speed(struct fe_device *dev, struct verdict *v, struct fe_err *err)
{
    const struct class *c = v->class;
    bool large = fe_device_capacity(dev) > MIB(32768);
    uint64_t limit = large ? MS(500) : MS(250);
    struct recording rec;

    int r = record(dev, c->unit, &rec, err);
    v->rate = rec.rate;
    if (r < 0)
        return r;
    if (rec.rate < c->rate)
        snprintf(v->why, sizeof v->why, "the slowest unit is written at %.2f MB/s",
                 (double)rec.rate / 1e6);
    else if (rec.longest > limit)
        snprintf(v->why, sizeof v->why, "one write takes %.0f ms, %.0f are allowed",
                 (double)rec.longest / 1e6, (double)limit / 1e6);
    else if (rec.fat > MS(750) || rec.fats > N_AUS * MS(100))
        snprintf(v->why, sizeof v->why,
                 "updates of the FAT take %.0f ms in the mean and %.0f at most, 100 and 750 are "
                 "allowed",
                 (double)rec.fats / N_AUS / 1e6, (double)rec.fat / 1e6);
    return 0;
}

/* Random requests a second in 256 MiB, for 10 s at most. */
static int judge_random(struct fe_device *dev, const struct fe_profile *p, enum fe_req_type type,
                        uint64_t *ret, struct fe_err *err)
{
    struct verify_load load = {
        .type = type, .bs = 4096, .depth = fe_link_depth(&p->link), .random = true, .seed = 1,
        .size = fe_min_u64(MIB(256), fe_device_capacity(dev)), .limit_ns = 10 * SECONDS};
    struct verify_done done;

    verify_pause(dev, SECONDS);
    int r = verify_load(dev, &load, &done, err);
    *ret = fe_muldiv(done.requests, SECONDS, fe_max_u64(done.ns, 1));
    return r;
}

static int judge_application(struct fe_device *dev, const struct fe_profile *p, struct verdict *v,
                             struct fe_err *err)
{
    const struct class *c = v->class;
    struct verify_load load = {.type = FE_REQ_WRITE, .bs = KIB(512),
                               .depth = fe_link_depth(&p->link),
                               .size = fe_min_u64(MIB(256), fe_device_capacity(dev))};
    struct verify_done done;

    int r = verify_load(dev, &load, &done, err);
    v->rate = r == 0 ? verify_load_rate(&load, &done) : 0;
    if (r == 0)
        r = judge_random(dev, p, FE_REQ_READ, &v->reads, err);
    if (r == 0)
        r = judge_random(dev, p, FE_REQ_WRITE, &v->writes, err);
    if (r < 0)
        return r;
    if (c->queued && fe_link_depth(&p->link) == 1)
        snprintf(v->why, sizeof v->why, "there is no command queue");
    else if (v->rate < c->rate)
        snprintf(v->why, sizeof v->why, "writes in order at %.2f MB/s", (double)v->rate / 1e6);
    else if (v->reads < c->reads)
        snprintf(v->why, sizeof v->why, "%llu random reads a second, %llu are needed",
                 (unsigned long long)v->reads, (unsigned long long)c->reads);
    else if (v->writes < c->writes)
        snprintf(v->why, sizeof v->why, "%llu random writes a second, %llu are needed",
                 (unsigned long long)v->writes, (unsigned long long)c->writes);
    return 0;
}

/* A device of its own for each class. */
static int judge(const struct fe_profile *profile, uint64_t seed, struct verdict *v,
                 struct fe_err *err)
{
    struct verify_run run = {.profile = profile, .seed = seed};
    struct fe_profile p;
    struct fe_device *dev;

    int r = fe_profile_copy(&p, profile, err);
    if (r < 0)
        return r;
    run.profile = &p;
    if (!v->class->queued) {
        p.link.queue = FE_QUEUE_OFF;
        p.cache.mode = FE_CACHE_OFF;
    }
    r = verify_device(&run, &dev, err);
    if (r == 0) {
        r = v->class->unit ? judge_speed(dev, v, err) : judge_application(dev, &p, v, err);
        fe_device_destroy(dev);
    }
    fe_profile_fini(&p);
    return r;
}

static void print_verdict(const struct verdict *v)
{
    char numbers[96];

    snprintf(numbers, sizeof numbers, "%.1f MB/s", (double)v->rate / 1e6);
    if (!v->class->unit)
        fe_text_add(numbers, sizeof numbers, ", %llu random reads and %llu writes a second",
                    (unsigned long long)v->reads, (unsigned long long)v->writes);
    printf("  %-4s %-11s  %s\n", v->class->name, v->why[0] ? "not granted" : "granted",
           v->why[0] ? v->why : numbers);
}

static json_t *verdict_json(const struct verdict *v)
{
    json_t *o = json_pack("{s:s, s:b, s:s?, s:f}", "class", v->class->name, "granted",
                          v->why[0] == '\0', "reason", v->why[0] ? v->why : NULL, "mb_per_s",
                          (double)v->rate / 1e6);
    if (o && !v->class->unit) {
        json_object_set_new(o, "random_reads_per_s", json_integer((json_int_t)v->reads));
        json_object_set_new(o, "random_writes_per_s", json_integer((json_int_t)v->writes));
    }
    return o;
}

enum { N_CLASSES = sizeof classes / sizeof classes[0] };

/* Each class is judged by itself, so a card can be granted a class and not a slower one. */
int verify_classes(const struct fe_profile *profile, uint64_t seed, json_t *ret,
                   struct fe_err *err)
{
    struct verdict v[N_CLASSES];

    for (size_t i = 0; i < N_CLASSES; i++) {
        v[i] = (struct verdict){.class = &classes[i]};
        int r = judge(profile, seed, &v[i], err);
        if (r < 0)
            return r;
    }
    if (!ret) {
        printf("%s: %s\n", profile->name, profile->device.model);
        for (size_t i = 0; i < N_CLASSES; i++)
            print_verdict(&v[i]);
        return 0;
    }
    json_t *list = json_array();
    for (size_t i = 0; i < N_CLASSES; i++)
        if (json_array_append_new(list, verdict_json(&v[i])) < 0) {
            json_decref(list);
            return fe_err_nomem(err, "verdicts", sizeof v);
        }
    return json_object_set_new(ret, "classes", list) == 0
               ? 0 : fe_err_nomem(err, "verdicts", sizeof v);
}
