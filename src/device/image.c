/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A device in an image: which image it may be, and what an adapter asks of one.
 *
 * The store knows files and syncs, but not what a profile is.  So the comparison is here:
 *
 *     file there?  -- no -->  make it, with profile, capacity and seed of this device
 *          | yes
 *          v
 *     good?          -- no -->  -EIO, naming the record: nothing is written to it
 *          | yes                (fe_device_judge)
 *          v
 *     profile fits?  -- no -->  -EINVAL, naming the first key and both values
 *          | yes
 *          v
 *     numbers fit?   -- no -->  -EINVAL, naming the number
 *          | yes
 *          v
 *     the image's seed becomes the device's
 *
 * The image keeps the whole canonical profile that it was made with.  A device fits if every
 * key that says how the chip's state is to be read has the same text on both sides: the keys
 * of the chip and of the strategy.  Delays are not compared: they may change while a device
 * runs, so they may change between two runs.
 *
 * Images of different versions have different keys.  A key that the image's text lacks has
 * its default there.  A key that the strategy does not use is not compared; version 0.1.0 wrote
 * those keys, too.
 *
 * A sync has three steps, because the disk may take long and other requests must go on meanwhile:
 *
 *     with the lock      fe_device_sync_begin    notes how far the image has been written
 *     without the lock   fe_device_sync_run      fdatasync; reads nothing that others change
 *     with the lock      fe_device_sync_end      writes down that this much is safe
 *
 * Requests that come between begin and end belong to the next sync, which begins after this one
 * has ended.  A request that needs a sync is answered only after `end`.
 */
#include "device/internal.h"

#include "profile/old_keys.h"
#include "store/image.h"
#include "store/image_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NO_IMAGE "%.200s: there is no image, or none whose making was finished"

/* The canonical text of a profile, with every key.  The caller frees *ret; it is not to be freed
 * after an error. */
static int print_profile(const struct fe_profile *p, char **ret, size_t *ret_len,
                         struct fe_err *err)
{
    FILE *out = open_memstream(ret, ret_len);
    if (!out)
        return fe_err_nomem(err, "text of the profile", 1);
    int r = fe_profile_print(p, out, err);
    if ((fclose(out) != 0 || !*ret) && r == 0) /* its last step makes the text as long as needed */
        r = fe_err_nomem(err, "text of the profile", *ret_len);
    if (r < 0)
        free(*ret);
    return r;
}

/* Whether two devices with different values of this option could not share an image.  An option
 * that changes what the chip's pages and records mean belongs here; an option that only changes how
 * long something takes, or how the host is treated, does not.  After adding an option here, the
 * device refuses images that it accepted before. */
static bool is_part_of_image(const struct fe_option *o)
{
    switch (o->section) {
    case FE_SEC_NAND:
    case FE_SEC_FTL:
        return !o->live;
    case FE_SEC_DEVICE:
        return strcmp(o->key, "sector_size") == 0;
    case FE_SEC_CACHE:
        return strcmp(o->key, "size") == 0;
    case FE_SEC_FAULTS:
        return strcmp(o->key, "factory_bad") == 0 || strcmp(o->key, "spare_blocks") == 0;
    default:
        return false;
    }
}

/* Copies the value of a key in a canonical text to buf; false if the key is not there.  This is no
 * parser: canonical text has one form, "[section]" and "key = value" alone on their lines.  Keys
 * that this version does not know do no harm. */
static bool find_value(const char *text, enum fe_section s, const char *name, char *buf,
                       size_t size)
{
    char section[32], key[64];
    const char *section_name = fe_section_name(s);
    bool inside = false;
    snprintf(section, sizeof section, "[%s]", section_name);
    snprintf(key, sizeof key, "%s =", name);
    for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n') {
        size_t len = strcspn(line, "\n");
        if (line[0] == '[') {
            inside = len == strlen(section) && memcmp(line, section, len) == 0;
        } else if (inside && strncmp(line, key, strlen(key)) == 0) {
            const char *value = line + strlen(key);
            value += *value == ' ';
            snprintf(buf, size, "%.*s", (int)(line + len - value), value);
            return true;
        }
    }
    return false;
}

/* Whether the heir of a key that went is this option or a detail of it.  Behind the key there is
 * the end or a ':'. */
static bool is_heir(const struct fe_option *o, const struct fe_old_key *old)
{
    const char *section = fe_section_name(o->section), *heir = old->heir;
    size_t n = strlen(section), len = strlen(o->key);
    return heir && strncmp(heir, section, n) == 0 && heir[n] == '.' &&
           strncmp(heir + n + 1, o->key, len) == 0 && strchr(":", heir[n + 1 + len]);
}

/* What the image has: the value of the key, and then that of a key that went, whose heir it is. */
static void value_of_image(const struct fe_profile *ours, const struct fe_option *o,
                           const char *text, char *buf)
{
    struct fe_profile theirs = *ours;
    const struct fe_option *heir;

    fe_option_reset(o, &theirs);
    if (find_value(text, o->section, o->key, buf, FE_VALUE_MAX) &&
        fe_option_parse(o, buf, &theirs, NULL) < 0)
        return; /* written by another version, so it differs */
    for (const struct fe_old_key *old = fe_old_keys; old < fe_old_keys + fe_n_old_keys; old++)
        if (is_heir(o, old) &&
            find_value(text, old->section, old->key, buf, FE_VALUE_MAX) &&
            fe_old_key_read(old, buf, &heir, NULL) == 0 && heir)
            fe_option_parse(heir, buf, &theirs, NULL);
    fe_option_print(o, &theirs, buf, FE_VALUE_MAX);
}

/* Compares one key as text, because the text is what a user sees in the message and what does not
 * depend on how this version stores the value.  -EINVAL with both values if they differ. */
static int compare_key(const struct fe_device *dev, const struct fe_option *o, const char *path,
                       const struct fe_store_what *what, struct fe_err *err)
{
    char ours[FE_VALUE_MAX], theirs[FE_VALUE_MAX];
    fe_option_print(o, &dev->profile, ours, sizeof ours);
    value_of_image(&dev->profile, o, what->profile, theirs);
    if (strcmp(ours, theirs) == 0)
        return 0;
    return fe_err_set(err, EINVAL,
                      "%.160s: does not fit: the image has %s.%s = %.40s, the profile %.40s", path,
                      fe_section_name(o->section), o->key, theirs, ours);
}

/* Compares all keys that matter.  The strategy comes first, because it decides which other keys
 * there are. */
static int compare_profiles(const struct fe_device *dev, const char *path,
                            const struct fe_store_what *what, struct fe_err *err)
{
    int r = compare_key(dev, fe_option_in(FE_SEC_FTL, "type"), path, what, err);
    for (uint32_t i = 0; r == 0 && i < fe_n_options; i++)
        if (is_part_of_image(&fe_options[i]) && !fe_option_is_detail(&fe_options[i]) &&
            fe_option_is_used(&fe_options[i], dev->profile.ftl.type))
            r = compare_key(dev, &fe_options[i], path, what, err);
    return r;
}

/* Compares profile first and numbers second, since a different key often explains the number.  The
 * numbers catch what comes from several keys, such as the size of a device.  A seed that was not
 * given is no difference: the image's seed is used. */
static int compare(const struct fe_device *dev, const struct fe_device_options *opt,
                   const struct fe_store_what *want, struct fe_err *err)
{
    const struct fe_store_what *has = fe_store_image(dev->store);
    const char *path = opt->file->path;
    int r = compare_profiles(dev, path, has, err);
    if (r < 0)
        return r;
    const struct {
        const char *name;
        uint64_t has, wants;
    } numbers[] = {
        {"a device of bytes", has->capacity, want->capacity},
        {"pages", has->n_pages, want->n_pages},
        {"bytes a page", has->page_bytes, want->page_bytes},
        {"pages a block", has->pages_per_block, want->pages_per_block},
        {"cache pages", has->n_entries, want->n_entries},
        {"the seed", has->seed, opt->seed_given ? want->seed : has->seed},
    };
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        if (numbers[i].has != numbers[i].wants)
            return fe_err_set(err, EINVAL,
                              "%.160s: does not fit: the image has %s %llu, the server %llu",
                              path, numbers[i].name, (unsigned long long)numbers[i].has,
                              (unsigned long long)numbers[i].wants);
    return 0;
}

/* -ENOENT also means a file whose making was interrupted; such a file is made again.  A device that
 * only reads its image never makes one. */
int fe_device_open_image(struct fe_device *dev, const struct fe_device_options *opt,
                         const struct fe_geometry *geo, bool *ret_new, struct fe_err *err)
{
    char *text;
    size_t len;
    int r = print_profile(&dev->profile, &text, &len, err);
    if (r < 0)
        return r;
    struct fe_store_what want = {
        .n_pages = (uint64_t)geo->n_chip_blocks * geo->pages_per_block,
        .page_bytes = geo->page_bytes,
        .pages_per_block = geo->pages_per_block,
        .n_entries = fe_cache_pages(&dev->profile.cache, geo->page_bytes),
        .capacity = dev->capacity,
        .seed = opt->seed,
        .profile = text,
        .profile_bytes = (uint32_t)len,
    };
    r = fe_store_image_open(&dev->store, opt->file, err);
    *ret_new = r == -ENOENT && !opt->file->read_only;
    if (r == -ENOENT && !*ret_new)
        fe_err_set(err, ENOENT, NO_IMAGE, opt->file->path);
    else if (*ret_new)
        r = fe_store_image_create(&dev->store, opt->file, &want, err);
    else if (r == 0)
        r = compare(dev, opt, &want, err);
    if (r == 0)
        dev->profile.ftl.seed = fe_store_image(dev->store)->seed;
    free(text);
    return r;
}

/* The image is closed again, because the device that is built from the profile opens the image
 * itself. */
int fe_device_image_profile(struct fe_profile *ret, const struct fe_store_file *file,
                            struct fe_err *err)
{
    struct fe_store *s;
    int r = fe_store_image_open(&s, file, err);
    if (r == -ENOENT)
        return fe_err_set(err, ENOENT, NO_IMAGE, file->path);
    if (r < 0)
        return r;
    const struct fe_store_what *what = fe_store_image(s);
    r = fe_profile_parse_stored(ret, file->path, what->profile, what->profile_bytes, err);
    fe_store_destroy(s);
    return r;
}

struct fe_medium *fe_device_medium(struct fe_device *dev)
{
    return dev->medium;
}

int fe_device_close(struct fe_device *dev, struct fe_err *err)
{
    fe_chip_end_run(&dev->medium->chip, fe_device_now(dev));
    return fe_store_image_close(dev->store, err);
}

struct fe_store_sync fe_device_sync_begin(struct fe_device *dev)
{
    return fe_store_sync_begin(dev->store);
}

int fe_device_sync_run(const struct fe_device *dev)
{
    return fe_store_sync_run(dev->store);
}

int fe_device_sync_end(struct fe_device *dev, struct fe_store_sync sync, int result)
{
    return fe_store_sync_end(dev->store, sync, result);
}

const char *fe_device_image_note(const struct fe_device *dev)
{
    return fe_store_image_note(dev->store);
}
