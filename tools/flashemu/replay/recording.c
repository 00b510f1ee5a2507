/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The filesystem's requests hardly depend on where its partition starts, so a replay moves them:
 *
 *     recorded   |table|    |=== partition ===|          |scan|
 *     replayed   |table|        |=== partition ===|            |scan|     a larger device
 *
 * A partition exists from its table on.  What wiped the device before knew nothing of the start, so
 * these writes stay where they are, even if the recorded partition begins in the middle of them:
 *
 *     recorded   |== wipe ==|                               |wipe|
 *     replayed   |== wipe ==|                                  |wipe|     a larger device
 *
 * sfdisk also reads, before it writes the table, where the partition will be.  Reads leave nothing
 * behind on a device, so all of them move as if the table were there.
 *
 * mkfs.exfat looks at the start: it puts the FAT at a multiple of 1 MiB (its option -b) on the
 * device, and the clusters behind the FAT at one, too.  So everything from the FAT on moves by such
 * multiples, and the boot sectors in front of it move with the partition.  So does the end of the
 * partition, where the kernel looks for other tables; a full exFAT would need more care.
 *
 *     recorded   |table|    |boot   |=== FAT, clusters ===|  |
 *     replayed   |table|        |boot        |=== FAT, clusters ===|  |
 *
 * The length of requests is nothing that a replay could change: where a kernel cuts them depends on
 * how the filesystem handed them over, and how far it reads ahead depends on the limit.  So there
 * is a file for each limit that hosts have.
 */
#include "replay/recording.h"

#include "base/num.h"
#include "base/quantity.h"
#include "gzfile.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SECTOR = 512 };
enum { EXFAT_BOOT = 24 * SECTOR, EXFAT_ALIGN = 1 << 20 };
enum { MAX_PACE = 10000, BILLION = 1000000000 };

static const char prefix[] = "rec:", limit_key[] = "# limit: ";

/* Windows up to 7, Linux with a USB reader, Linux with a slot for cards.  "" is the file of no
 * folder, which says its limit itself. */
static const struct {
    const char *folder;
    uint64_t bytes;
} limits[] = {{"", 0}, {"64K/", 64 << 10}, {"120K/", 120 << 10}, {"512K/", 512 << 10}};

bool recording_is(const char *arg)
{
    return strncmp(arg, prefix, sizeof prefix - 1) == 0;
}

/* --- which file --- */

/* What is behind limit_key in a comment; -EINVAL if it is no number. */
static int take_limit(const char *line, uint64_t *ret)
{
    return sscanf(line + sizeof limit_key - 1, "%" SCNu64, ret) == 1 ? 0 : -EINVAL;
}

/* The limit in the first comments of a file; 0 if there is none. */
static uint64_t read_limit(const char *path)
{
    char line[1024];
    uint64_t bytes = 0;
    bool compressed;
    FILE *file;

    if (gzfile_open(&file, &compressed, path, NULL) < 0)
        return 0; /* whoever opens it again says why */
    while (fgets(line, sizeof line, file) && *line == '#')
        if (strncmp(line, limit_key, sizeof limit_key - 1) == 0 && take_limit(line, &bytes) < 0)
            bytes = 0;
    fclose(file);
    return bytes;
}

/* Whether a limit is nearer to that of the device than another one, by ratio, or as near and
 * larger.  A limit of 0 is not known. */
static bool is_nearer(uint64_t limit, uint64_t other, uint64_t device)
{
    if (device == 0 || limit == 0 || other == 0)
        return device > 0 && limit > 0;
    double a = (double)fe_max_u64(limit, device) / (double)fe_min_u64(limit, device);
    double b = (double)fe_max_u64(other, device) / (double)fe_min_u64(other, device);
    return a < b || (a <= b && limit > other);
}

/* Tries FOLDER/NAME.trace.gz and FOLDER/LIMIT/NAME.trace.gz, and chooses the nearest limit; without
 * a device, the first of them. */
static bool try_folder(struct recording *r, const char *folder, size_t len, const char *name,
                       uint64_t max_transfer)
{
    uint64_t chosen = 0;
    char path[sizeof r->path];
    bool found = false;

    for (size_t i = 0; len > 0 && i < sizeof limits / sizeof *limits; i++) {
        int n = snprintf(path, sizeof path, "%.*s/%s%s.trace.gz", (int)len, folder,
                         limits[i].folder, name);
        if (n >= (int)sizeof path || !gzfile_exists(path))
            continue;
        uint64_t bytes = limits[i].bytes ? limits[i].bytes : max_transfer ? read_limit(path) : 0;
        if (!found || is_nearer(bytes, chosen, max_transfer)) {
            found = true;
            chosen = bytes;
            memcpy(r->path, path, (size_t)n + 1);
        }
    }
    return found;
}

static bool try_list(struct recording *r, const char *list, const char *name,
                     uint64_t max_transfer)
{
    while (list && *list) {
        size_t len = strcspn(list, ":");
        if (try_folder(r, list, len, name, max_transfer))
            return true;
        list += len + (list[len] == ':');
    }
    return false;
}

static bool try_user(struct recording *r, const char *name, uint64_t max_transfer)
{
    const char *data = getenv("XDG_DATA_HOME"), *home = getenv("HOME");
    char folder[400];
    int n = data && *data ? snprintf(folder, sizeof folder, "%s/flashemu/recordings", data)
                          : snprintf(folder, sizeof folder, "%s/.local/share/flashemu/recordings",
                                     home ? home : "");

    return n < (int)sizeof folder && try_folder(r, folder, strlen(folder), name, max_transfer);
}

/* In a build tree, the sources are above the program. */
static bool try_sources(struct recording *r, const char *name, uint64_t max_transfer)
{
    char exe[400];
    ssize_t len = readlink("/proc/self/exe", exe, sizeof exe - 32);

    exe[len > 0 ? len : 0] = '\0';
    for (int up = 0; up < 5 && strrchr(exe, '/'); up++) {
        char *slash = strrchr(exe, '/');
        strcpy(slash, "/tools/lab/recordings");
        if (try_folder(r, exe, strlen(exe), name, max_transfer))
            return true;
        *slash = '\0';
    }
    return false;
}

static int find_file(struct recording *r, const char *name, uint64_t max_transfer,
                     struct fe_err *err)
{
    if (strchr(name, '/')) {
        if (snprintf(r->path, sizeof r->path, "%s", name) < (int)sizeof r->path)
            return 0;
        return fe_err_set(err, ENAMETOOLONG, "%.100s: %s", name, strerror(ENAMETOOLONG));
    }
    for (const char *p = name; *p; p++)
        if (!isalnum((unsigned char)*p) && !strchr("-_.", *p))
            return fe_err_set(err, EINVAL, "rec:%.100s: allowed: a path, or a name of letters, "
                                           "digits and - _ .", name);
    if (*name && (try_list(r, getenv("FLASHEMU_RECORDINGS"), name, max_transfer) ||
                  try_user(r, name, max_transfer) || try_sources(r, name, max_transfer) ||
                  try_folder(r, FLASHEMU_RECORDINGS_DIR, strlen(FLASHEMU_RECORDINGS_DIR), name,
                             max_transfer)))
        return 0;
    return fe_err_set(err, ENOENT, "rec:%.100s: there is no such recording; flashemu-lab list "
                                   "--recordings shows them", name);
}

/* --- what is in it --- */

static int take_phase(struct recording *r, const char *text)
{
    struct recording_phase *p = &r->phases[r->n_phases];
    uint64_t before = r->n_phases ? p[-1].end : 0;

    if (r->n_phases == RECORDING_MAX_PHASES ||
        sscanf(text, "%31s %" SCNu64 " %" SCNu64, p->name, &p->end, &p->bytes) != 3 ||
        p->end < before)
        return -EINVAL;
    r->n_phases++;
    return 0;
}

/* Takes the option -b from the command that has made an exFAT. */
static void take_mkfs(struct recording *r, const char *text)
{
    const char *option = strstr(text, " -b ");
    uint64_t bytes;

    r->align = EXFAT_ALIGN;
    if (option && fe_quantity_parse_span(FE_SIZE, option + 4, strcspn(option + 4, " \n"), &bytes) &&
        bytes >= SECTOR && bytes < FE_TRACE_MAX_END && bytes % SECTOR == 0)
        r->align = bytes;
}

/* One comment; -EINVAL if it is damaged. */
static int take_comment(struct recording *r, const char *line)
{
    static const char mkfs[] = "# mkfs: mkfs.exfat", capacity[] = "# capacity: ",
                      partition[] = "# partition: ", phase[] = "# phase: ",
                      offers[] = "# offers: flush fua", think[] = "# think: ";
    uint64_t limit;

    if (strncmp(line, capacity, sizeof capacity - 1) == 0)
        return sscanf(line + sizeof capacity - 1, "%" SCNu64, &r->capacity) == 1 ? 0 : -EINVAL;
    if (strncmp(line, partition, sizeof partition - 1) == 0)
        return sscanf(line + sizeof partition - 1, "%" SCNu64 " %" SCNu64, &r->start,
                      &r->sectors) == 2 ? 0 : -EINVAL;
    if (strncmp(line, phase, sizeof phase - 1) == 0)
        return take_phase(r, line + sizeof phase - 1);
    if (strncmp(line, limit_key, sizeof limit_key - 1) == 0)
        return take_limit(line, &limit);
    if (strncmp(line, offers, sizeof offers - 1) == 0)
        r->flushes = true;
    if (strncmp(line, think, sizeof think - 1) == 0)
        r->thinks = true;
    if (strncmp(line, mkfs, sizeof mkfs - 1) == 0)
        take_mkfs(r, line + sizeof mkfs - 1);
    return 0;
}

static bool is_sane(const struct recording *r)
{
    uint64_t all = r->capacity / SECTOR;

    return r->n_phases > 0 && r->capacity < FE_TRACE_MAX_END && r->sectors > 0 &&
           r->sectors <= all && r->start <= all - r->sectors;
}

/* Whether a line of a trace is a write that begins at sector 0. */
static bool writes_table(const char *line)
{
    uint64_t offset, length;

    return sscanf(line, "%*u write %" SCNu64 " %" SCNu64, &offset, &length) == 2 && offset == 0 &&
           length > 0;
}

/* Finds the last write of the table in the first phase.  line has its first request. */
static void find_table(struct recording *r, FILE *file, char *line, int size)
{
    for (uint64_t n = 1; r->start > 0 && n <= r->phases[0].end; n++) {
        if (writes_table(line))
            r->table = n;
        if (!fgets(line, size, file))
            return; /* whoever reads the requests says that they are too few */
    }
}

static int read_beginning(struct recording *r, struct fe_err *err)
{
    char line[1024] = "";
    bool compressed;
    FILE *file;
    int code = gzfile_open(&file, &compressed, r->path, err);

    if (code < 0)
        return code;
    while (code == 0 && fgets(line, sizeof line, file) && *line == '#')
        code = take_comment(r, line);
    if (code == 0 && is_sane(r))
        find_table(r, file, line, sizeof line);
    if (ferror(file))
        code = fe_err_set(err, EIO, "%.200s: is damaged", r->path);
    else if (code < 0 || !is_sane(r))
        code = fe_err_set(err, EINVAL, "%.200s: is not a recording: its first comments lack a "
                                       "capacity, a partition or phases", r->path);
    fclose(file);
    return code;
}

/* --- what the user wants of it --- */

static int set_start(struct recording *r, const char *value, struct fe_err *err)
{
    char *end;
    uint64_t bytes;

    errno = 0;
    r->new_start = strtoull(value, &end, 10);
    if (isdigit((unsigned char)*value) && !*end && !errno)
        return 0;
    if (!fe_quantity_parse_span(FE_SIZE, value, strlen(value), &bytes) || bytes % SECTOR)
        return fe_err_set(err, EINVAL, "start=%.80s: allowed: a sector, or a size in whole sectors "
                                       "with its unit (4M)", value);
    r->new_start = bytes / SECTOR;
    return 0;
}

static int set_measure(struct recording *r, const char *value, struct fe_err *err)
{
    char names[300] = "";

    for (uint32_t i = 0; i < r->n_phases; i++) {
        if (strcmp(r->phases[i].name, value) == 0) {
            r->first = i ? r->phases[i - 1].end : 0;
            r->last = r->phases[i].end;
            r->bytes = r->phases[i].bytes;
            return 0;
        }
        fe_text_add(names, sizeof names, "%s%s", i ? ", " : "", r->phases[i].name);
    }
    return fe_err_set(err, EINVAL, "measure=%.80s: this recording has the phases %s", value, names);
}

static int set_pace(struct recording *r, const char *value, struct fe_err *err)
{
    if (!fe_quantity_parse_span(FE_DECIMAL, value, strlen(value), &r->pace) ||
        r->pace > (uint64_t)MAX_PACE * BILLION)
        return fe_err_set(err, EINVAL, "pace=%.80s: allowed: a decimal number from 0 to %d", value,
                          MAX_PACE);
    if (r->pace > 0 && !r->thinks)
        return fe_err_set(err, EINVAL, "pace=%.80s: %.200s was recorded without the host's think "
                                       "times; make it again: flashemu-lab record", value, r->path);
    return 0;
}

static int set_option(struct recording *r, const char *word, struct fe_err *err)
{
    if (strncmp(word, "start=", 6) == 0)
        return set_start(r, word + 6, err);
    if (strncmp(word, "measure=", 8) == 0)
        return set_measure(r, word + 8, err);
    if (strncmp(word, "pace=", 5) == 0)
        return set_pace(r, word + 5, err);
    return fe_err_set(err, EINVAL, "'%.80s': a recording takes start=SECTOR, measure=PHASE and "
                                   "pace=R", word);
}

/* Where the FAT of an exFAT that starts at this sector is on the device, in sectors. */
static uint64_t fat_of(const struct recording *r, uint64_t start)
{
    return fe_div_up(start * SECTOR + EXFAT_BOOT, r->align) * (r->align / SECTOR);
}

/* Checks that the partition is inside a device of this capacity. */
static int place(struct recording *r, uint64_t capacity, struct fe_err *err)
{
    uint64_t all = (capacity ? capacity : r->capacity) / SECTOR;

    if (r->sectors > all || r->new_start > all - r->sectors)
        return fe_err_set(err, EINVAL, "start=%" PRIu64 ": the recorded partition has %" PRIu64
                                       " sectors, and the device has %" PRIu64, r->new_start,
                          r->sectors, all);
    if (r->new_start == 0 && r->start > 0)
        return fe_err_set(err, EINVAL, "start=0: there is the partition table; allowed: 1 to %"
                                       PRIu64, all - r->sectors);
    r->shift = ((int64_t)r->new_start - (int64_t)r->start) * SECTOR;
    r->tail_shift = ((int64_t)all - (int64_t)(r->capacity / SECTOR)) * SECTOR;
    if (r->align) {
        uint64_t fat = fat_of(r, r->start), end = 2 * r->align / SECTOR;
        r->fat = fat - r->start;
        r->fat_end = r->sectors > r->fat + end ? r->sectors - end : r->fat;
        r->fat_shift = ((int64_t)fat_of(r, r->new_start) - (int64_t)fat) * SECTOR;
    }
    return 0;
}

int recording_find(struct recording *ret, const char *arg, uint64_t capacity,
                   uint64_t max_transfer, struct fe_err *err)
{
    char text[700];
    char *rest = text;

    *ret = (struct recording){.n_phases = 0};
    arg += sizeof prefix - 1;
    if (snprintf(text, sizeof text, "%s", arg) >= (int)sizeof text)
        return fe_err_set(err, EINVAL, "rec:%.80s: is too long", arg);
    int code = find_file(ret, strsep(&rest, ","), max_transfer, err);
    if (code == 0)
        code = read_beginning(ret, err);
    if (code < 0)
        return code;
    ret->new_start = ret->start;
    ret->last = ret->phases[ret->n_phases - 1].end;
    for (uint32_t i = 0; i < ret->n_phases; i++)
        ret->bytes += ret->phases[i].bytes;
    while (rest && code == 0)
        code = set_option(ret, strsep(&rest, ","), err);
    return code == 0 ? place(ret, capacity, err) : code;
}

void recording_move(const struct recording *r, uint64_t number, struct fe_trace_rec *rec)
{
    uint64_t sector = rec->offset / SECTOR, inside = sector - r->start;
    bool wipes = number < r->table && rec->type != FE_REQ_READ;
    int64_t shift = r->shift;

    if (rec->think_ns > 0) { /* a host that thinks has nothing ready, however fast it is */
        uint64_t think_ns = fe_min_u64(rec->think_ns, UINT64_MAX / MAX_PACE);
        rec->think_ns = fe_max_u64(fe_muldiv(think_ns, r->pace, BILLION), r->pace > 0);
    }
    if (rec->type == FE_REQ_FLUSH || rec->type == FE_TRACE_MARK)
        return;
    if (wipes ? rec->offset < r->capacity / 2 : sector < r->start)
        shift = 0;
    else if (wipes || inside >= r->sectors)
        shift = r->tail_shift;
    else if (inside >= r->fat && inside < r->fat_end)
        shift = r->fat_shift;
    rec->offset += (uint64_t)shift;
}
