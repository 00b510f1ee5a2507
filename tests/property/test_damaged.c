/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Images with one field changed and the checksum of its record right again.
 *
 * For each kind of device a good image is made, and left as by the end of a server, by a kill or by a
 * crash of the host.  A case changes one field of one record of it to a
 * value that a server could never, or could well, have written there.  Each field of each sort of
 * record gets each hostile value, on some kind of device; other cases are drawn.  Then one of two
 * things happens, and nothing else:
 *
 *     refused    fe_device_judge says what is wrong, in one line, and the file stays as it is
 *     served     all data that the change does not concern are right; so are 300 writes after that,
 *                also after a restart, and the image is still good
 *
 * What a change concerns are the logical pages that the record names, before or after it: for a
 * block, those of all records of its pages, or of its unit if the strategy erases units.  A page
 * whose checksum of bytes was changed cannot be copied, which ends the writing (image_page.c); only
 * reads are looked at then.
 *
 * Each case runs in a process of its own, so that one that crashes does not hide the others.
 *
 *     test_damaged [--part K/N | KIND:CASE...]     cases that are named run in this process
 */
#include "lib/cases.h"
#include "lib/image_kinds.h"
#include "lib/other_host.h"
#include "lib/rand.h"

#include "damaged_fields.h"

#include "base/bytes.h"
#include "base/crc32c.h"
#include "flashemu/device.h"
#include "store/image_check.h"
#include "store/image_format.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SECTOR = 512, MAX_SECTORS = 4096, WRITES = 300 };

struct sector {
    uint32_t version; /* what it holds: 0 is zeros */
    bool any;         /* concerned by the change: anything */
};

static struct {
    struct fe_profile profile;
    char path[64];
    uint8_t *good; /* the file */
    size_t len;
    struct fe_image_header h;
    struct fe_image_layout at;
    uint32_t n_sectors, page_bytes, version;
    bool sync; /* of the server */
    bool has_units, has_cache[FT_IMAGE_KINDS];
    struct sector sectors[MAX_SECTORS];
    struct ft_rand rand;
} b;

static char told[400]; /* what the present case does */
static bool must_refuse;
static bool is_worn;   /* by the present change: the life of the device may end */

static bool has_key(uint32_t kind, const char *key)
{
    for (int i = 0; ft_image_kinds[kind].keys[i]; i++)
        if (strncmp(ft_image_kinds[kind].keys[i], key, strlen(key)) == 0)
            return true;
    return false;
}

static void fail(const char *fmt, ...) __attribute__((format(printf, 1, 2), noreturn));

static void fail(const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    printf("FAILED %s: ", told);
    vprintf(fmt, ap);
    puts("");
    fflush(stdout);
    va_end(ap);
    _exit(1);
}

/* ---- the device ---- */

static struct fe_device *open_device(void)
{
    struct fe_device *dev;
    struct fe_err err = {""};
    struct fe_store_file file = {.path = b.path, .sync = b.sync};
    struct fe_device_options opt = {.seed = 1, .payload = true, .file = &file, .power_cuts = true};
    int r = fe_device_judge(&file, &err);
    if (r == 0 || r == -ENOENT)
        r = fe_device_create(&dev, &b.profile, &opt, &err);
    if (r < 0)
        fail("no device (%d): %s", r, err.text);
    return dev;
}

static void fill(uint8_t *buf, uint32_t sector, uint32_t version)
{
    memset(buf, (int)(version * 31 + sector), SECTOR);
    memcpy(buf, &version, sizeof version);
    memcpy(buf + 4, &sector, sizeof sector);
    if (version == 0)
        memset(buf, 0, SECTOR);
}

static enum fe_status submit(struct fe_device *dev, enum fe_req_type type, uint32_t first,
                             uint32_t n, uint8_t *buf)
{
    struct fe_request req = {.type = type, .offset = (uint64_t)first * SECTOR,
                             .len = (uint64_t)n * SECTOR, .buf = buf};
    struct fe_reply reply;
    if (fe_device_submit(dev, fe_device_now(dev), &req, &reply) < 0)
        fail("a request of %u sectors at %u is refused", n, first);
    return reply.status;
}

static void read_all(struct fe_device *dev, const char *when)
{
    uint8_t got[SECTOR], want[SECTOR];
    for (uint32_t s = 0; s < b.n_sectors; s++) {
        enum fe_status st = submit(dev, FE_REQ_READ, s, 1, got);
        if (b.sectors[s].any)
            continue;
        fill(want, s, b.sectors[s].version);
        if (st > FE_CORRECTED || memcmp(got, want, SECTOR) != 0) {
            uint32_t version;
            memcpy(&version, got, sizeof version);
            fail("%s: sector %u has status %d, version %u instead of %u", when, s, st, version,
                 b.sectors[s].version);
        }
    }
}

/* Writes at random; pages that the change concerns as a whole. */
static void write_some(struct fe_device *dev, uint32_t n_writes)
{
    uint32_t in_page = b.page_bytes / SECTOR;
    uint8_t *buf = malloc(b.page_bytes);
    for (uint32_t i = 0; i < n_writes; i++) {
        uint32_t first = (uint32_t)ft_below(&b.rand, b.n_sectors), n = 1;
        bool whole = b.sectors[first].any || ft_chance(&b.rand, 50);
        if (whole) {
            first -= first % in_page;
            n = in_page <= b.n_sectors - first ? in_page : b.n_sectors - first;
        }
        bool trim = b.profile.device.discard && ft_chance(&b.rand, 5);
        b.version++;
        for (uint32_t s = 0; s < n; s++) {
            uint32_t version = trim ? 0 : b.version;
            fill(buf + s * SECTOR, first + s, version);
            b.sectors[first + s] = (struct sector){version, trim && n % in_page};
        }
        enum fe_status st = submit(dev, trim ? FE_REQ_TRIM : FE_REQ_WRITE, first, n, buf);
        bool ends = st != FE_OK && st != FE_UNCORRECTABLE; /* of its life */
        if (ends && !is_worn)
            fail("write %u: status %d", i, st);
        for (uint32_t s = 0; ends && s < n; s++)
            b.sectors[first + s].any = true;
        if (ends)
            break;
    }
    free(buf);
}

static bool can_write(struct fe_device *dev)
{
    return fe_device_failure(dev, NULL) == 0 && fe_device_has_power(dev);
}

/* ---- files ---- */

static uint8_t *read_file(size_t *ret_len)
{
    int fd = open(b.path, O_RDONLY | O_CLOEXEC);
    off_t len = lseek(fd, 0, SEEK_END);
    uint8_t *bytes = malloc((size_t)len + 1);
    if (fd < 0 || !bytes || pread(fd, bytes, (size_t)len, 0) != len)
        fail("%s cannot be read", b.path);
    close(fd);
    *ret_len = (size_t)len;
    return bytes;
}

static void write_file(const uint8_t *bytes, size_t len)
{
    int fd = open(b.path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0 || write(fd, bytes, len) != (ssize_t)len || close(fd) < 0)
        fail("%s cannot be written", b.path);
}

/* After all that was written is on the flash, so that no power cut takes it back. */
static void sync_device(struct fe_device *dev)
{
    fe_device_idle(dev, fe_device_now(dev) + UINT64_C(1000000000));
    struct fe_store_sync sync = fe_device_sync_begin(dev);
    if (fe_device_sync_end(dev, sync, fe_device_sync_run(dev)) < 0)
        fail("no sync");
}

/* The good image of a kind.  A third of them was left by a server that has ended, a third as by a kill, and
 * a third by a crash of the host after a sync. */
static void make_good(uint32_t kind)
{
    struct fe_err err = {""};
    snprintf(told, sizeof told, "making %s", ft_image_kinds[kind].name);
    if (ft_image_profile(&b.profile, kind, &err) < 0)
        fail("%s", err.text);
    enum { CLOSED, KILLED, CRASHED } end = kind % 3;
    b.has_units = has_key(kind, "ftl.unit_size");
    b.sync = end == CRASHED;
    unlink(b.path);
    struct fe_device *dev = open_device();
    b.n_sectors = (uint32_t)(fe_device_capacity(dev) / SECTOR);
    b.page_bytes = fe_device_page_bytes(dev);
    b.version = 0;
    memset(b.sectors, 0, sizeof b.sectors);
    if (b.n_sectors > MAX_SECTORS)
        fail("%u sectors", b.n_sectors);
    b.rand = (struct ft_rand){.seed = kind};
    write_some(dev, b.n_sectors + 200);
    if (end == CLOSED && fe_device_close(dev, &err) < 0)
        fail("%s", err.text);
    if (end == CRASHED)
        sync_device(dev);
    fe_device_destroy(dev);
    if (end == CRASHED)
        ft_pretend_another_host(b.path);
    free(b.good);
    b.good = read_file(&b.len);
    memcpy(&b.h, b.good, sizeof b.h);
    if (fe_image_layout(&b.at, &b.h, &err) < 0)
        fail("%s", err.text);
}

/* ---- changes ---- */

/* Where record n of a sort is, and how many there are. */
static uint64_t place(int sort, uint64_t n)
{
    const uint64_t from[] = {0, FE_IMAGE_STATUS(0), FE_IMAGE_LIFETIME(0), b.at.blocks, b.at.trims,
                             b.at.entries, b.at.oob};
    bool apart = sort == STATUS || sort == LIFETIME;
    return from[sort] + n * (apart ? FE_IMAGE_ALIGN : records[sort].bytes);
}

static uint64_t number_of(int sort)
{
    const uint64_t n[] = {1, 2, 2, b.at.n_blocks, b.h.n_pages, b.h.n_entries * 2ull, b.h.n_pages};
    return n[sort];
}

static void concerns(uint64_t lpn)
{
    uint64_t in_page = b.page_bytes / SECTOR;
    for (uint64_t s = lpn * in_page; lpn < b.n_sectors && s < (lpn + 1) * in_page; s++)
        if (s < b.n_sectors)
            b.sectors[s].any = true;
}

/* Pages that are erased together: of a block, or of the unit of blocks that it belongs to.  A block
 * whose erase was interrupted says that nothing in its unit is needed any more (unit_recover.c). */
static uint64_t unit_pages(void)
{
    uint64_t unit = b.has_units ? b.profile.ftl.unit.unit_size / b.h.page_bytes : 0;
    return unit > b.h.pages_per_block ? unit : b.h.pages_per_block;
}

/* The logical pages that the record names. */
static void note_concerned(int sort, uint64_t n, const uint8_t *record)
{
    struct fe_image_oob o;
    struct fe_image_entry e;
    if (sort == OOB) {
        memcpy(&o, record, sizeof o);
        concerns(o.lpn);
    } else if (sort == ENTRY) {
        memcpy(&e, record, sizeof e);
        concerns(e.lpn);
        memcpy(&e, b.good + place(ENTRY, n ^ 1), sizeof e);
        concerns(e.lpn);
    } else if (sort == TRIM) {
        concerns(n);
    }
    uint64_t unit = unit_pages(), first = n * b.h.pages_per_block / unit * unit;
    for (uint64_t i = first; sort == BLOCK && i < first + unit && i < b.h.n_pages; i++) {
        memcpy(&o, b.good + place(OOB, i), sizeof o);
        concerns(o.lpn);
    }
}

enum { N_HOSTILE = 35 };

/* old: what is there; other: what is in the same field of another record. */
static uint64_t hostile(uint32_t which, uint64_t old, uint64_t other)
{
    const uint64_t values[] = {
        0, 1, 2, 3, 4, 8, 16, 63, 64, 128, 255, old + 1, old - 1, old ^ 1, old + 2, old * 2,
        old + 64, other, UINT32_MAX, UINT32_MAX - 1, INT32_MAX, UINT64_C(1) << 31,
        UINT64_C(1) << 32, UINT64_C(1) << 48, INT64_MAX, UINT64_MAX, UINT64_MAX - 1,
        UINT64_C(1) << 63, UINT64_C(1) << 62, b.h.n_pages, b.h.n_pages - 1, b.at.n_blocks,
        b.at.n_blocks + 1, b.n_sectors, b.h.capacity / b.page_bytes};
    _Static_assert(sizeof values / sizeof values[0] == N_HOSTILE, "values");
    return values[which];
}

/* A record that was written, if a few looks find one. */
static uint64_t choose(int sort)
{
    uint64_t n = 0;
    for (int look = 0; look < 8; look++) {
        n = ft_below(&b.rand, number_of(sort));
        if (!fe_bytes_are_zeros(b.good + place(sort, n), records[sort].bytes))
            break;
    }
    return n;
}

/* A field of a sort of record, and the value it gets. */
struct choice {
    int sort;
    uint32_t field, value;
};

static uint32_t n_pairs(int sort)
{
    return records[sort].n_fields * N_HOSTILE;
}

static uint32_t n_all_pairs(void)
{
    uint32_t n = 0;
    for (int sort = 0; sort < N_RECORDS; sort++)
        n += n_pairs(sort);
    return n;
}

/* Cases with the lower numbers go through all fields and values; the others draw. */
static struct choice choose_change(uint32_t number)
{
    int sort = 0;
    if (number < n_all_pairs()) {
        for (; number >= n_pairs(sort); sort++)
            number -= n_pairs(sort);
        return (struct choice){sort, number / N_HOSTILE, number % N_HOSTILE};
    }
    sort = (int)ft_below(&b.rand, N_RECORDS + 3);
    sort = sort < N_RECORDS ? sort : sort == N_RECORDS ? BLOCK : OOB;
    return (struct choice){sort, (uint32_t)ft_below(&b.rand, records[sort].n_fields),
                           (uint32_t)ft_below(&b.rand, N_HOSTILE)};
}

/* Whether this kind of device is one of the `rounds` kinds that try this field and value: all that
 * have such a record take turns. */
static bool is_its_turn(uint32_t kind, uint32_t number, uint32_t rounds)
{
    bool needs_cache = choose_change(number).sort == ENTRY;
    uint32_t n = 0, rank = 0;
    for (uint32_t k = 0; k < FT_IMAGE_KINDS; k++) {
        rank += k < kind && (b.has_cache[k] || !needs_cache);
        n += b.has_cache[k] || !needs_cache;
    }
    return (b.has_cache[kind] || !needs_cache) && (rank + n - number % n) % n < rounds;
}

/* Makes the change in image; false if there is no such record.  *ret_only_reads: only the checksum of
 * bytes was changed. */
static bool change(uint8_t *image, uint32_t number_of_case, bool *ret_only_reads)
{
    const struct choice choice = choose_change(number_of_case);
    int sort = choice.sort;
    if (number_of(sort) == 0)
        return false;
    const struct field *f = &records[sort].fields[choice.field];
    uint64_t n = choose(sort), old = 0, other = 0, value;
    uint8_t *record = image + place(sort, n);
    size_t size = f->size > 8 ? 8 : f->size;
    memcpy(&old, record + f->off, size);
    memcpy(&other, image + place(sort, choose(sort)) + f->off, size);
    value = hostile(choice.value, old, other);
    size_t used = strlen(told);
    snprintf(told + used, sizeof told - used, " (%s %llu, %s from %llx to %llx)",
             records[sort].name, (unsigned long long)n, f->name, (unsigned long long)old,
             (unsigned long long)value);
    note_concerned(sort, n, record);
    memcpy(record + f->off, &value, size);
    note_concerned(sort, n, record);
    uint64_t number = sort == HEADER || sort == STATUS ? 0 : n;
    uint32_t crc = fe_image_record_crc(number, record, records[sort].bytes);
    memcpy(record + records[sort].bytes - 4, &crc, 4);
    is_worn = sort == BLOCK;
    must_refuse = f->max && (size < 8 ? (uint32_t)value : value) > f->max;
    *ret_only_reads = sort == OOB && (strcmp(f->name, "data_crc") == 0 ||
                                      strcmp(f->name, "zeros") == 0);
    return true;
}

/* ---- a case ---- */

static void serve(bool only_reads)
{
    struct fe_err err = {""};
    struct fe_device *dev = open_device();
    if (fe_device_check(dev, &err) < 0)
        fail("served: %s", err.text);
    read_all(dev, "served");
    if (only_reads) {
        fe_device_destroy(dev);
        return;
    }
    for (int run = 0; run < 2; run++) {
        if (can_write(dev))
            write_some(dev, WRITES);
        read_all(dev, "written");
        if (fe_device_check(dev, &err) < 0)
            fail("written: %s", err.text);
        if (run == 0 && fe_device_close(dev, &err) < 0)
            fail("closed: %s", err.text);
        fe_device_destroy(dev);
        dev = open_device();
        read_all(dev, "opened again");
    }
    fe_device_destroy(dev);
}

/* Whether the image was served. */
static bool run_case(uint32_t kind, uint32_t number)
{
    struct fe_err err = {""};
    struct fe_store_file file = {.path = b.path, .sync = b.sync};
    uint8_t *image = malloc(b.len);
    bool only_reads = false;
    size_t len;
    snprintf(told, sizeof told, "%s:%u", ft_image_kinds[kind].name, number);
    b.rand = (struct ft_rand){.seed = kind * UINT64_C(1000003) + number + 100};
    memcpy(image, b.good, b.len);
    if (!change(image, number, &only_reads)) {
        free(image);
        return false;
    }
    write_file(image, b.len);
    int r = fe_device_judge(&file, &err);
    uint8_t *after = read_file(&len);
    if (len != b.len || memcmp(after, image, len) != 0)
        fail("the file was changed");
    free(after);
    free(image);
    if (r == 0 && must_refuse)
        fail("is served");
    if (r < 0 && r != -EIO && r != -EINVAL)
        fail("judged %d: %s", r, err.text);
    if (r < 0 && (!err.text[0] || strchr(err.text, '\n')))
        fail("no message: '%s'", err.text);
    if (getenv("VERBOSE"))
        printf("%s: %s\n", told, r < 0 ? err.text : "served");
    if (r == 0)
        serve(only_reads);
    return r == 0;
}

/* 0 refused, 2 served, 1 failed. */
static int run_apart(uint32_t kind, uint32_t number)
{
    fflush(stdout);
    pid_t pid = fork();
    int st = 0;
    if (pid == 0) {
        alarm(60);
        int code = run_case(kind, number) ? 2 : 0;
        fflush(stdout);
        _exit(code);
    }
    while (waitpid(pid, &st, 0) < 0 && errno == EINTR)
        ;
    if (WIFEXITED(st) && (WEXITSTATUS(st) == 0 || WEXITSTATUS(st) == 2))
        return WEXITSTATUS(st);
    printf("FAILED %s:%u: ended with %s %d\n", ft_image_kinds[kind].name, number,
           WIFSIGNALED(st) ? "signal" : "exit code", WIFSIGNALED(st) ? WTERMSIG(st)
                                                                     : WEXITSTATUS(st));
    return 1;
}

static int run_named(const char *name)
{
    const char *colon = strchr(name, ':');
    for (uint32_t kind = 0; kind < FT_IMAGE_KINDS && colon; kind++)
        if (strlen(ft_image_kinds[kind].name) == (size_t)(colon - name) &&
            memcmp(ft_image_kinds[kind].name, name, (size_t)(colon - name)) == 0) {
            make_good(kind);
            bool served = run_case(kind, (uint32_t)strtoul(colon + 1, NULL, 10));
            printf("%s: %s\n", told, served ? "served" : "refused");
            return 0;
        }
    printf("%s: no such case\n", name);
    return 2;
}

/* Every parts-th case, from the part-th on.  Returns how many of them failed. */
static uint32_t run_part(uint32_t part, uint32_t parts)
{
    bool is_long = getenv("FLASHEMU_LONG");
    uint32_t rounds = is_long ? 4 : 1, n_drawn = is_long ? 300 : 24, pairs = n_all_pairs();
    uint32_t n_cases = 0, n_failed = 0, n_served = 0, n_turns = 0;
    for (uint32_t kind = 0; kind < FT_IMAGE_KINDS; kind++) {
        make_good(kind);
        for (uint32_t i = 0; i < pairs + n_drawn; i++) {
            if ((i < pairs && !is_its_turn(kind, i, rounds)) || n_turns++ % parts != part - 1)
                continue;
            int r = run_apart(kind, i);
            n_cases++;
            n_failed += r == 1;
            n_served += r == 2;
        }
    }
    printf("%u cases, %u served, %u failed\n", n_cases, n_served, n_failed);
    return n_failed;
}

int main(int argc, char **argv)
{
    uint32_t part = 1, parts = 1, n_failed = 0;
    int code = 0, first = 1;
    setvbuf(stdout, NULL, _IOLBF, 0);
    snprintf(b.path, sizeof b.path, "%s/fe-damaged-%d", access("/dev/shm", W_OK) == 0 ? "/dev/shm"
                                                                                    : "/tmp",
             (int)getpid());
    for (uint32_t kind = 0; kind < FT_IMAGE_KINDS; kind++)
        b.has_cache[kind] = has_key(kind, "cache.size");
    if (argc == 3 && strcmp(argv[1], "--part") == 0) {
        first = 3;
        if (!ft_part_parse(argv[2], &part, &parts)) {
            fprintf(stderr, "usage: %s [--part K/N | KIND:CASE...]\n", argv[0]);
            return 2;
        }
    }
    for (int i = first; i < argc && code == 0; i++)
        code = run_named(argv[i]);
    if (first == argc)
        n_failed = run_part(part, parts);
    unlink(b.path);
    free(b.good);
    return n_failed ? 1 : code;
}
