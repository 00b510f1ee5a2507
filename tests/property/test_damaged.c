/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Images with one field changed and the checksum of its record right again.
 *
 * For each kind of device a good image is made.  A case changes one field of one record of it to a
 * value that a server could never, or could well, have written there.  Then one of two things
 * happens, and nothing else:
 *
 *     refused    fe_device_judge says what is wrong, in one line, and the file stays as it is
 *     served     all data that the change does not concern are right; so are 300 writes after that,
 *                also after a restart, and the image is still good
 *
 * What a change concerns are the logical pages that the record names, before or after it: for a
 * block, those of all records of its pages.  A page whose checksum of bytes was changed cannot be
 * copied, which ends the writing (image_page.c); only reads are looked at then.
 *
 * Each case runs in a process of its own, so that one that crashes does not hide the others.
 *
 *     test_damaged [KIND:CASE...]     reruns cases, in this process
 */
#include "lib/rand.h"

#include "base/crc32c.h"
#include "flashemu/device.h"
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

enum { SECTOR = 512, MAX_SECTORS = 4096, WRITES = 300, MAX_KEYS = 12 };

static const char base[] =
    "[device]\nsector_size = 512\n[nand]\ncell = mlc\nchannels = 1\ndies_per_channel = 2\n"
    "planes_per_die = 1\nblocks_per_plane = 24\npages_per_block = 8\npage_size = 2K\n"
    "tR = 25us\ntPROG = 200us\ntBERS = 1500us\nendurance = 1000\n[link]\ntype = none\n";

/* The strategy, and other keys. */
static const struct kind {
    const char *name;
    const char *keys[MAX_KEYS];
} kinds[] = {
    {"page", {"ftl.type=page", "ftl.op=40%", "device.discard=yes"}},
    {"page-cache", {"ftl.type=page", "ftl.op=40%", "cache.size=8K", "faults.spare_blocks=4",
                    "faults.factory_bad=4%", "ftl.wear_levelling=static"}},
    {"page-kept", {"ftl.type=page", "ftl.op=40%", "cache.size=12K", "cache.volatile=no"}},
    {"page-area", {"ftl.type=page", "ftl.op=40%", "ftl.enhanced_start=8K",
                   "ftl.enhanced_size=24K", "device.discard=yes"}},
    {"page-static", {"ftl.type=page", "ftl.op=60%", "ftl.slc_mode=static", "ftl.slc_blocks=4"}},
    {"page-dynamic", {"ftl.type=page", "ftl.op=60%", "ftl.slc_mode=dynamic", "nand.cell=tlc",
                      "ftl.hot_cold=two-pool"}},
    {"page-planes", {"ftl.type=page", "ftl.op=40%", "nand.planes_per_die=2",
                     "nand.multiplane=yes"}},
    {"page-parts", {"ftl.type=page", "ftl.op=60%", "nand.page_parts=4", "nand.page_size=8K"}},
    {"dftl", {"ftl.type=dftl", "ftl.op=60%", "device.discard=yes", "cache.size=8K"}},
    {"norlog", {"ftl.type=norlog", "ftl.op=60%", "nand.cell=nor", "nand.page_size=512",
                "nand.pages_per_block=16", "device.discard=yes", "faults.spare_blocks=2"}},
    {"block", {"ftl.type=block", "ftl.op=20%", "ftl.unit_size=32K", "faults.spare_blocks=2"}},
    {"bast", {"ftl.type=bast", "ftl.op=40%", "ftl.unit_size=32K", "ftl.log_blocks=3"}},
    {"fast", {"ftl.type=fast", "ftl.op=40%", "ftl.unit_size=32K", "ftl.log_blocks=3",
              "cache.size=8K"}},
    {"segment", {"ftl.type=segment", "ftl.op=60%", "ftl.unit_size=32K", "ftl.open_linear=2",
                 "ftl.open_random=1", "faults.rber_retention=1"}},
    {"segment-small", {"ftl.type=segment", "ftl.op=90%", "ftl.unit_size=32K",
                       "ftl.open_linear=1", "ftl.open_random=1", "ftl.small_log=2",
                       "ftl.small_write=2K", "nand.page_parts=2", "nand.page_size=4K"}},
    {"step", {"ftl.type=step", "ftl.op=40%"}},
};

enum { N_KINDS = sizeof kinds / sizeof kinds[0] };

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
    struct sector sectors[MAX_SECTORS];
    struct ft_rand rand;
} b;

static char told[400]; /* what the present case does */
static bool is_worn;   /* by the present change: the life of the device may end */

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
    struct fe_store_file file = {.path = b.path};
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
    int errnum;
    return !fe_device_failure(dev, &errnum) && fe_device_has_power(dev);
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

/* The good image of a kind; every other one was left as by a kill. */
static void make_good(uint32_t kind)
{
    struct fe_err err = {""};
    uint32_t n_keys = 0;
    while (kinds[kind].keys[n_keys])
        n_keys++;
    snprintf(told, sizeof told, "making %s", kinds[kind].name);
    if (fe_profile_parse(&b.profile, "damaged.ini", base, sizeof base - 1, kinds[kind].keys, n_keys,
                         &err) < 0)
        fail("%s", err.text);
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
    if (kind % 2 == 0 && fe_device_close(dev, &err) < 0)
        fail("%s", err.text);
    fe_device_destroy(dev);
    free(b.good);
    b.good = read_file(&b.len);
    memcpy(&b.h, b.good, sizeof b.h);
    if (fe_image_layout(&b.at, &b.h, &err) < 0)
        fail("%s", err.text);
}

/* ---- changes ---- */

#define FIELD(type, member) {#member, offsetof(struct type, member), \
                             sizeof(((struct type *)0)->member)}

struct field {
    const char *name;
    size_t off, size;
};

static const struct field header[] = {
    FIELD(fe_image_header, version), FIELD(fe_image_header, state),
    FIELD(fe_image_header, n_pages), FIELD(fe_image_header, capacity),
    FIELD(fe_image_header, seed), FIELD(fe_image_header, page_bytes),
    FIELD(fe_image_header, pages_per_block), FIELD(fe_image_header, n_entries),
    FIELD(fe_image_header, profile_bytes), FIELD(fe_image_header, profile_crc)};
static const struct field status[] = {
    FIELD(fe_image_status, generation), FIELD(fe_image_status, synced_seq),
    FIELD(fe_image_status, n_open_1), FIELD(fe_image_status, boot_id), FIELD(fe_image_status, clean),
    FIELD(fe_image_status, control_bytes), {"control", 40, 4}, {"control.off", 44, 1},
    {"control.dead", 45, 1}, {"control.since", 48, 8}, {"control.until", 56, 8},
    {"control.n", 64, 8}, {"control.n_stale", 72, 8}};
static const struct field block[] = {
    FIELD(fe_image_block, erase_seq), FIELD(fe_image_block, erase_count),
    FIELD(fe_image_block, kept_cycle), FIELD(fe_image_block, flags),
    FIELD(fe_image_block, kept_flags), {"difference", 24, 4}, {"chip block", 28, 4},
    {"reads", 32, 4}, {"since", 36, 4}, {"since high", 40, 4}, {"extra 5", 44, 4}};
static const struct field trim[] = {
    FIELD(fe_image_trim, seq), FIELD(fe_image_trim, reserved)};
static const struct field entry[] = {
    FIELD(fe_image_entry, generation), FIELD(fe_image_entry, order),
    FIELD(fe_image_entry, sectors), FIELD(fe_image_entry, seq), FIELD(fe_image_entry, out_seq),
    FIELD(fe_image_entry, lpn), FIELD(fe_image_entry, state), FIELD(fe_image_entry, data_crc)};
static const struct field oob[] = {
    FIELD(fe_image_oob, seq), FIELD(fe_image_oob, lpn), FIELD(fe_image_oob, cycle),
    FIELD(fe_image_oob, data_crc), FIELD(fe_image_oob, tag), FIELD(fe_image_oob, state),
    FIELD(fe_image_oob, zeros), FIELD(fe_image_oob, mode), FIELD(fe_image_oob, reserved)};

enum { HEADER, STATUS, BLOCK, TRIM, ENTRY, OOB, N_RECORDS };

static const struct {
    const char *name;
    const struct field *fields;
    uint32_t n_fields, bytes;
} records[] = {
#define RECORD(fields, type) \
    {#fields, fields, sizeof fields / sizeof fields[0], sizeof(struct type)}
    RECORD(header, fe_image_header), RECORD(status, fe_image_status),
    RECORD(block, fe_image_block), RECORD(trim, fe_image_trim),
    RECORD(entry, fe_image_entry), RECORD(oob, fe_image_oob),
};

/* Where record n of a sort is, and how many there are. */
static uint64_t place(int sort, uint64_t n)
{
    const uint64_t from[] = {0, FE_IMAGE_STATUS(0), b.at.blocks, b.at.trims, b.at.entries,
                             b.at.oob};
    return from[sort] + n * (sort == STATUS ? FE_IMAGE_ALIGN : records[sort].bytes);
}

static uint64_t number_of(int sort)
{
    const uint64_t n[] = {1, 2, b.at.n_blocks, b.h.n_pages, b.h.n_entries * 2ull, b.h.n_pages};
    return n[sort];
}

static void concerns(uint64_t lpn)
{
    uint64_t in_page = b.page_bytes / SECTOR;
    for (uint64_t s = lpn * in_page; lpn < b.n_sectors && s < (lpn + 1) * in_page; s++)
        if (s < b.n_sectors)
            b.sectors[s].any = true;
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
    for (uint64_t i = 0; sort == BLOCK && i < b.h.pages_per_block; i++) {
        memcpy(&o, b.good + place(OOB, n * b.h.pages_per_block + i), sizeof o);
        concerns(o.lpn);
    }
}

static uint64_t hostile(uint64_t old, uint64_t other)
{
    const uint64_t values[] = {
        0, 1, 2, 3, 4, 8, 16, 63, 64, 128, 255, old + 1, old - 1, old ^ 1, old + 2, old * 2,
        old + 64, other, other, other, other, UINT32_MAX, UINT32_MAX - 1, INT32_MAX,
        UINT64_C(1) << 31, UINT64_C(1) << 32, UINT64_C(1) << 48, INT64_MAX, UINT64_MAX,
        UINT64_MAX - 1, UINT64_C(1) << 63, UINT64_C(1) << 62, b.h.n_pages, b.h.n_pages - 1,
        b.at.n_blocks, b.at.n_blocks + 1, b.n_sectors, b.h.capacity / b.page_bytes};
    return values[ft_below(&b.rand, sizeof values / sizeof values[0])];
}

/* A record that was written, if a few looks find one. */
static uint64_t choose(int sort)
{
    uint64_t n = 0;
    for (int look = 0; look < 8; look++) {
        n = ft_below(&b.rand, number_of(sort));
        if (!fe_image_is_zeros(b.good + place(sort, n), records[sort].bytes))
            break;
    }
    return n;
}

/* Makes the change of this case in image; false if there is none to make.  *ret_only_reads: only
 * the checksum of bytes was changed. */
static bool change(uint8_t *image, bool *ret_only_reads)
{
    int sort = (int)ft_below(&b.rand, N_RECORDS + 3);
    sort = sort < N_RECORDS ? sort : sort == N_RECORDS ? BLOCK : OOB;
    if (number_of(sort) == 0)
        return false;
    const struct field *f = &records[sort].fields[ft_below(&b.rand, records[sort].n_fields)];
    uint64_t n = choose(sort), old = 0, other = 0, value;
    uint8_t *record = image + place(sort, n);
    size_t size = f->size > 8 ? 8 : f->size;
    memcpy(&old, record + f->off, size);
    memcpy(&other, image + place(sort, choose(sort)) + f->off, size);
    value = hostile(old, other);
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
    struct fe_store_file file = {.path = b.path};
    uint8_t *image = malloc(b.len);
    bool only_reads = false;
    size_t len;
    snprintf(told, sizeof told, "%s:%u", kinds[kind].name, number);
    b.rand = (struct ft_rand){.seed = kind * UINT64_C(1000003) + number + 100};
    memcpy(image, b.good, b.len);
    if (!change(image, &only_reads)) {
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
    printf("FAILED %s:%u: ended with %s %d\n", kinds[kind].name, number,
           WIFSIGNALED(st) ? "signal" : "exit code", WIFSIGNALED(st) ? WTERMSIG(st)
                                                                     : WEXITSTATUS(st));
    return 1;
}

static int run_named(const char *name)
{
    const char *colon = strchr(name, ':');
    for (uint32_t kind = 0; kind < N_KINDS && colon; kind++)
        if (strlen(kinds[kind].name) == (size_t)(colon - name) &&
            memcmp(kinds[kind].name, name, (size_t)(colon - name)) == 0) {
            make_good(kind);
            bool served = run_case(kind, (uint32_t)strtoul(colon + 1, NULL, 10));
            printf("%s: %s\n", told, served ? "served" : "refused");
            return 0;
        }
    printf("%s: no such case\n", name);
    return 2;
}

int main(int argc, char **argv)
{
    uint32_t n_cases = getenv("FLASHEMU_LONG") ? 1000 : 120, n_failed = 0, n_served = 0;
    int code = 0;
    setvbuf(stdout, NULL, _IOLBF, 0);
    snprintf(b.path, sizeof b.path, "%s/fe-damaged-%d", access("/dev/shm", W_OK) == 0 ? "/dev/shm"
                                                                                    : "/tmp",
             (int)getpid());
    for (int i = 1; i < argc && code == 0; i++)
        code = run_named(argv[i]);
    for (uint32_t kind = 0; kind < N_KINDS && argc == 1; kind++) {
        make_good(kind);
        for (uint32_t i = 0; i < n_cases; i++) {
            int r = run_apart(kind, i);
            n_failed += r == 1;
            n_served += r == 2;
        }
    }
    unlink(b.path);
    free(b.good);
    if (argc == 1)
        printf("%u cases, %u served, %u failed\n", N_KINDS * n_cases, n_served, n_failed);
    return n_failed ? 1 : code;
}
