/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The table of procedures, and the parser of "NAME [KEY=VALUE...]".
 *
 * A new procedure needs a row here and something that runs it: an entry of verify_experiments in
 * tools/flashemu, or a step of tools/vm/story.sh.  A test compares the three.
 *
 * The columns of the table are those of struct fe_procedure: name, experiment, quantity and place,
 * slow, override, help, arguments.  {{0}} means no arguments.  Rows with the same experiment stand
 * together, and a help text may say "the same" of the row above; keep that order.
 *
 * Names are part of the format of profiles.  A procedure that is renamed makes profiles of users
 * wrong, and images of them too, because an image stores the rows of [fidelity] as well.
 *
 * Not checked here: whether an argument suits the device, for example a region that is larger than
 * its capacity.  Only the experiment can find that out.
 */
#include "profile/procedures.h"

#include "base/num.h"

#include <errno.h>
#include <string.h>

/* "Little written before", as the sources say, is the past of a stick and not a parameter of it. */
#define FRESH  "device.used=0"
#define FILLED "device.used=1T" /* all of it */

#define CQ_OFF FE_WITHOUT_QUEUE

/* The same host with a link of DDR50, as a Raspberry Pi 4: the numbers of samsung-evoplus32g. */
#define DDR50                                                                                    \
    CQ_OFF " link.type=sd-ddr50 link.bandwidth=48MB/s link.busy_poll=0"

/* Quantity and place of most procedures: they measure a rate.  The others write out both. */
#define ON_KERNEL FE_RATE, FE_PLACE_KERNEL
#define ON_MODEL  FE_RATE, FE_PLACE_MODEL

#define FIO_ARGS                                                                               \
    {{"bs", FE_SIZE, 512, 1 << 25}, {"depth", FE_COUNT, 1, 64},                                \
     {"size", FE_SIZE, 1 << 20, UINT64_C(1) << 36}}
#define IOZONE_ARGS                                                                            \
    {{"bs", FE_SIZE, 512, 1 << 25}, {"size", FE_SIZE, 1 << 20, UINT64_C(1) << 36},             \
     {"think", FE_TIME, 0, FE_NS_PER_S}}
#define DD_ARGS {{"start", FE_TIME, 0, 60 * FE_NS_PER_S}}

const struct fe_procedure fe_procedures[] = {
    {"hdparm-t", "hdparm-t", ON_KERNEL, false, NULL,
     "hdparm -t on the raw device; MB are 2^20 bytes there", {{0}}},
    {"file-fat32-factory", "file-fat32-factory", ON_KERNEL, false, NULL,
     "partition at sector 63, FAT32 with 4 KiB clusters right behind; dd of 100 MB onto a file",
     {{0}}},
    {"file-ext4-aligned", "file-ext4-aligned", ON_KERNEL, false, NULL,
     "partition at sector 256, mke2fs -t ext4 -E stripe-width=32 -m 0, mounted as ext4 was "
     "then (noinit_itable, mb_optimize_scan=0); dd of 100 MB onto a file",
     {{0}}},
    {"file-ntfs64k-fresh", "file-ntfs64k-fresh", ON_KERNEL, false, FRESH,
     "partition at sector 256, NTFS with 64 KiB clusters, no -o sync; dd of 200 MB, little written "
     "before",
     {{0}}},
    {"file-ntfs64k-filled", "file-ntfs64k-filled", ON_KERNEL, false, FILLED,
     "the same on a stick that has been filled up, after 64 MB more", {{0}}},
    {"file-fat32-aligned", "file-fat32-aligned", ON_KERNEL, false, NULL,
     "partition at sector 256, FAT32 with 4 KiB clusters right behind; dd of 100 MB onto a file",
     {{0}}},

    {"copy-fat32-factory", "copy-fat32-factory", ON_KERNEL, true, NULL,
     "partition at 1.28 MB, FAT32 with 4 KiB clusters right behind; 4 files of 128 MiB", {{0}}},
    {"copy-fat32-aligned", "copy-fat32-aligned", ON_KERNEL, true, NULL,
     "partition at 4 MiB, FAT32 with 64 KiB clusters that begin at 4 MiB; the same files", {{0}}},

    {"hdparm-t-ext4", "half-ext4", ON_KERNEL, true, NULL,
     "hdparm -t on a partition with ext4 on the first half; MB are 2^20 bytes there", {{0}}},
    {"file-ext4", "half-ext4", ON_KERNEL, true, NULL,
     "the same partition mounted, dd of 100 MB onto a file", {{0}}},
    {"hdparm-t-xfs", "half-xfs", ON_KERNEL, true, NULL,
     "hdparm -t on a partition with xfs on the second half; MB are 2^20 bytes there", {{0}}},
    {"file-xfs", "half-xfs", ON_KERNEL, true, NULL,
     "the same partition mounted, dd of 100 MB onto a file", {{0}}},
    {"hdparm-t-f2fs", "half-f2fs", ON_KERNEL, true, NULL,
     "hdparm -t on a partition with f2fs; MB are 2^20 bytes there", {{0}}},
    {"file-f2fs", "half-f2fs", ON_KERNEL, true, NULL,
     "the same partition mounted, dd of 100 MB onto a file", {{0}}},

    {"hdtune-ntfs", "windows-ntfs", ON_KERNEL, true, NULL,
     "HD Tune's read test by fio: 64 KiB at 64 places of the raw device, formatted NTFS; the host "
     "takes 250 us between two requests (assumed, see hdtune.fio)", {{0}}},
    {"atto-read-ntfs", "windows-ntfs", ON_KERNEL, true, NULL,
     "ATTO by fio: file of 256 MB, six of its sizes from 0.5 KiB to 8 MiB, the largest over all of "
     "it, four requests in flight; the best rate", {{0}}},
    {"atto-write-ntfs", "windows-ntfs", ON_KERNEL, true, NULL,
     "the same, written; partition at 1 MiB, NTFS with 4 KiB clusters", {{0}}},
    {"hdtune-fat32", "windows-fat32", ON_KERNEL, true, NULL,
     "HD Tune's read test by fio: 64 KiB at 64 places of the raw device, formatted FAT32; the host "
     "takes 250 us between two requests (assumed, see hdtune.fio)", {{0}}},
    {"atto-read-fat32", "windows-fat32", ON_KERNEL, true, NULL,
     "ATTO by fio: file of 256 MB, six of its sizes from 0.5 KiB to 8 MiB, the largest over all of "
     "it, four requests in flight; the best rate", {{0}}},
    {"atto-write-fat32", "windows-fat32", ON_KERNEL, true, NULL,
     "the same, written; partition at 1 MiB, FAT32 with 4 KiB clusters right behind", {{0}}},
    {"hdtune-exfat", "windows-exfat", ON_KERNEL, true, NULL,
     "HD Tune's read test by fio: 64 KiB at 64 places of the raw device, formatted exFAT; the host "
     "takes 250 us between two requests (assumed, see hdtune.fio)", {{0}}},
    {"atto-read-exfat", "windows-exfat", ON_KERNEL, true, NULL,
     "ATTO by fio: file of 256 MB, six of its sizes from 0.5 KiB to 8 MiB, the largest over all of "
     "it, four requests in flight; the best rate", {{0}}},
    {"atto-write-exfat", "windows-exfat", ON_KERNEL, true, NULL,
     "the same, written; partition at 1 MiB, exFAT", {{0}}},

    {"fragments-fill", "fragments", ON_KERNEL, true, NULL,
     "FAT32 with 4 KiB clusters: files of 124 and 4 kB in turn until it is full; MB are 2^20 bytes "
     "there", {{0}}},
    {"fragments-write", "fragments", ON_KERNEL, true, NULL,
     "then the small files deleted, one file of 15.2 MB into their places", {{0}}},
    {"fragments-read-whole", "fragments", ON_KERNEL, true, NULL,
     "mounted again: 12.1 MB of the large files", {{0}}},
    {"fragments-read", "fragments", ON_KERNEL, true, NULL, "mounted again: the file in fragments",
     {{0}}},

    {"append-collections", "append", FE_COUNT, FE_PLACE_MODEL, false, NULL,
     "calls with a collection, of those that append 256 bytes to a file until a FAT12 disk is full",
     {{0}}},
    {"append-quiet", "append", FE_TIME, FE_PLACE_MODEL, false, NULL,
     "the mean of the other calls", {{0}}},
    {"append-quiet-share", "append", FE_SHARE, FE_PLACE_MODEL, false, NULL,
     "the share of the other calls that take less than below",
     {{"below", FE_TIME, 1, 1000000000000}}},
    {"append-collect", "append", FE_TIME, FE_PLACE_MODEL, false, NULL,
     "the mean of the calls with a collection, while the file grows from one share to another",
     {{"from", FE_SHARE, 0, 999999}, {"to", FE_SHARE, 1, 1000000}}},
    {"append-period", "append", FE_COUNT, FE_PLACE_MODEL, false, NULL,
     "calls for each collection, while the file grows from one share to another",
     {{"from", FE_SHARE, 0, 999999}, {"to", FE_SHARE, 1, 1000000}}},

    {"flashbench-linear", "flashbench", FE_SHARE, FE_PLACE_MODEL, false, NULL,
     "agreement of -O, 1 to 7 units and 4 MiB to 4 KiB, with the curves of the card: 100 % less "
     "the median error", {{0}}},
    {"flashbench-random", "flashbench", FE_SHARE, FE_PLACE_MODEL, false, NULL,
     "the same of -O --random", {{0}}},
    {"flashbench-find-fat", "flashbench", FE_SHARE, FE_PLACE_MODEL, false, NULL,
     "the same of -f, the first 8 units", {{0}}},
    {"flashbench-find-fat-unit", "flashbench", FE_SHARE, FE_PLACE_MODEL, false, NULL,
     "the same of one of them, from 0", {{"unit", FE_COUNT, 0, 7}}},
    {"flashbench-rate", "flashbench", ON_MODEL, false, NULL,
     "-O with one unit, written in order by bs, a power of two",
     {{"bs", FE_SIZE, 4096, 1 << 22}}},
    {"flashbench-open-linear", "flashbench", FE_COUNT, FE_PLACE_MODEL, false, NULL,
     "units that -O can have open before one more makes all of them slower by a fifth; 7 is no "
     "limit", {{0}}},
    {"flashbench-open-random", "flashbench", FE_COUNT, FE_PLACE_MODEL, false, NULL,
     "the same of -O --random", {{0}}},
    {"flashbench-align-pre", "flashbench", FE_TIME, FE_PLACE_MODEL, false, NULL,
     "a read of 1 KiB by -a, the median over alignments", {{0}}},
    {"flashbench-align-page", "flashbench", FE_TIME, FE_PLACE_MODEL, false, NULL,
     "its step at 16 KiB to 2 MiB, the median", {{0}}},
    {"flashbench-align-unit", "flashbench", FE_TIME, FE_PLACE_MODEL, false, NULL,
     "its step at 4 MiB and more, the median", {{0}}},

    {"run-read-delay", "runs", FE_COUNT, FE_PLACE_MODEL, false, NULL,
     "sectors read in order, one a request, up to and with the nth that takes long",
     {{"nth", FE_COUNT, 1, 1000}}},
    {"run-write-delay", "runs", FE_COUNT, FE_PLACE_MODEL, false, NULL,
     "the same, written", {{"nth", FE_COUNT, 1, 1000}}},

    {"seq-read", "seq", ON_MODEL, false, NULL,
     "a region read in order from the device's start, after it was written so",
     {{"bs", FE_SIZE, 512, 1 << 25}, {"size", FE_SIZE, 512, UINT64_C(1) << 40}}},
    {"seq-write", "seq", ON_MODEL, false, NULL,
     "a region written in order from the device's start",
     {{"bs", FE_SIZE, 512, 1 << 25}, {"size", FE_SIZE, 512, UINT64_C(1) << 40}}},

    {"fio-read", "fio", ON_MODEL, false, NULL,
     "fio, direct, on a file of this size: read in order with so many requests in flight",
     FIO_ARGS},
    {"fio-write", "fio", ON_MODEL, false, NULL,
     "the same file written in order",
     FIO_ARGS},
    {"fio-randread", "fio", ON_MODEL, false, NULL,
     "the same file read, each block once, in random order",
     FIO_ARGS},
    {"fio-randwrite", "fio", ON_MODEL, false, NULL,
     "the same file written in random order",
     FIO_ARGS},

    {"fio-read-cq-off", "fio", ON_MODEL, false, CQ_OFF,
     "fio, direct, on such a file read in order; neither queue nor cache",
     FIO_ARGS},
    {"fio-write-cq-off", "fio", ON_MODEL, false, CQ_OFF,
     "the same file written in order; neither queue nor cache",
     FIO_ARGS},
    {"fio-randread-cq-off", "fio", ON_MODEL, false, CQ_OFF,
     "the same file read, each block once, in random order; neither queue nor cache",
     FIO_ARGS},
    {"fio-randwrite-cq-off", "fio", ON_MODEL, false, CQ_OFF,
     "the same file written in random order; neither queue nor cache",
     FIO_ARGS},

    {"sniff-seq-write", "sniff", ON_MODEL, false, NULL,
     "the sniff test for application classes: file of 64 MiB written by 512 KiB, depth 4", {{0}}},
    {"sniff-rand-write", "sniff", FE_COUNT, FE_PLACE_MODEL, false, NULL,
     "its writes of 4 KiB in random order, in a second; 10 s at most", {{0}}},
    {"sniff-seq-read", "sniff", ON_MODEL, false, NULL,
     "its file read by 512 KiB", {{0}}},
    {"sniff-rand-read", "sniff", FE_COUNT, FE_PLACE_MODEL, false, NULL,
     "its reads of 4 KiB in random order, in a second", {{0}}},

    {"sniff-seq-write-cq-off", "sniff", ON_MODEL, false, CQ_OFF,
     "the sniff test for application classes: file of 64 MiB written by 512 KiB, depth 4; "
     "neither queue nor cache", {{0}}},
    {"sniff-rand-write-cq-off", "sniff", FE_COUNT, FE_PLACE_MODEL, false, CQ_OFF,
     "its writes of 4 KiB in random order, in a second; 10 s at most; neither queue nor cache",
     {{0}}},
    {"sniff-seq-read-cq-off", "sniff", ON_MODEL, false, CQ_OFF,
     "its file read by 512 KiB; neither queue nor cache", {{0}}},
    {"sniff-rand-read-cq-off", "sniff", FE_COUNT, FE_PLACE_MODEL, false, CQ_OFF,
     "its reads of 4 KiB in random order, in a second; neither queue nor cache", {{0}}},

    {"iozone-seq-write", "iozone", ON_MODEL, false, NULL,
     "iozone -e -I on a file of this size: written in order, with fsync in the time; think is the "
     "time of the host between an answer and the next request", IOZONE_ARGS},
    {"iozone-seq-read", "iozone", ON_MODEL, false, NULL,
     "the same file read in order", IOZONE_ARGS},
    {"iozone-rand-read", "iozone", ON_MODEL, false, NULL,
     "the same file read in random order", IOZONE_ARGS},
    {"iozone-rand-write", "iozone", ON_MODEL, false, NULL,
     "the same file written in random order, with fsync in the time", IOZONE_ARGS},
    {"dd-fsync", "dd", ON_MODEL, false, NULL,
     "dd bs=8k count=50k conv=fsync: a file of 410 MB, as the kernel joins it, with the fsync; "
     "start is the time before the kernel begins to write", DD_ARGS},

    {"read-ddr50", "dd", ON_MODEL, false, DDR50,
     "a link of DDR50, neither queue nor cache: 128 MiB of the raw device read in order, as hdparm "
     "-t does",
     {{0}}},
    {"dd-fsync-ddr50", "dd", ON_MODEL, false, DDR50, "then dd-fsync", DD_ARGS},
    {"iozone-rand-read-ddr50", "iozone", ON_MODEL, false, DDR50,
     "iozone-rand-read with a link of DDR50, neither queue nor cache", IOZONE_ARGS},
    {"iozone-rand-write-ddr50", "iozone", ON_MODEL, false, DDR50,
     "iozone-rand-write with it", IOZONE_ARGS},
};

const size_t fe_n_procedures = sizeof fe_procedures / sizeof fe_procedures[0];

/* A walk through the table: this runs once for each row of [fidelity]. */
const struct fe_procedure *fe_procedure_find(const char *name)
{
    for (size_t i = 0; i < fe_n_procedures; i++)
        if (strcmp(fe_procedures[i].name, name) == 0)
            return &fe_procedures[i];
    return NULL;
}

/* Copies the next word to buf.  Returns 1, 0 with an empty word at the end of the text, or -EINVAL
 * with message for a word that does not fit: no name is that long, and no sensible number. */
static int next_word(const char **text, char *buf, size_t size, struct fe_err *err)
{
    const char *s = *text + strspn(*text, " \t");
    size_t len = strcspn(s, " \t");

    *text = s + len;
    buf[0] = '\0';
    if (len >= size)
        return fe_err_set(err, EINVAL, "the word \"%.40s...\" is longer than %zu bytes", s,
                          size - 1);
    memcpy(buf, s, len);
    buf[len] = '\0';
    return len > 0;
}

/* The index of an argument in p->args, -1 if the procedure has none of that name. */
static int find_arg(const struct fe_procedure *p, const char *key)
{
    for (int i = 0; i < FE_MAX_PROCEDURE_ARGS && p->args[i].key; i++)
        if (strcmp(p->args[i].key, key) == 0)
            return i;
    return -1;
}

/* One word "KEY=VALUE" into its entry of arg; the entry of given remembers that, to find an
 * argument that is missing or given twice.  Changes `word`. */
static int parse_arg(const struct fe_procedure *p, char *word, uint64_t *arg, bool *given,
                     struct fe_err *err)
{
    char *eq = strchr(word, '=');
    struct fe_err why;
    uint64_t value;

    if (eq)
        *eq = '\0';
    int i = find_arg(p, word);
    if (!eq || i < 0)
        return fe_err_set(err, EINVAL, "procedure %s has no argument %.40s%s", p->name, word,
                          eq ? "" : " (KEY=VALUE)");
    if (given[i])
        return fe_err_set(err, EINVAL, "%s is given twice", word);
    fe_err_init(&why);
    if (fe_quantity_parse(p->args[i].quantity, eq + 1, &value, &why) < 0)
        return fe_err_set(err, EINVAL, "%s=%.40s %s", word, eq + 1, why.text);
    if (value < p->args[i].min || value > p->args[i].max) {
        char min[FE_VALUE_MAX], max[FE_VALUE_MAX];
        fe_quantity_print(p->args[i].quantity, p->args[i].min, min, sizeof min);
        fe_quantity_print(p->args[i].quantity, p->args[i].max, max, sizeof max);
        return fe_err_set(err, EINVAL, "%s=%.40s is out of range; allowed: %s to %s", word, eq + 1,
                          min, max);
    }
    given[i] = true;
    arg[i] = value;
    return 0;
}

/* No argument has a default that one has to look up: a row of [fidelity] says how a figure was
 * measured.  A row that does not say that the host takes time means that it takes none. */
int fe_procedure_parse(const char *text, const struct fe_procedure **ret,
                       uint64_t arg[FE_MAX_PROCEDURE_ARGS], struct fe_err *err)
{
    bool given[FE_MAX_PROCEDURE_ARGS] = {false};
    char word[64];

    memset(arg, 0, FE_MAX_PROCEDURE_ARGS * sizeof *arg);
    int r = next_word(&text, word, sizeof word, err);
    if (r < 0)
        return r;
    const struct fe_procedure *p = fe_procedure_find(word);
    if (!p)
        return fe_err_set(err, EINVAL,
                          "unknown procedure \"%.40s\"; flashemu verify --list names them", word);
    while ((r = next_word(&text, word, sizeof word, err)) > 0)
        if ((r = parse_arg(p, word, arg, given, err)) < 0)
            break;
    if (r < 0)
        return r;
    for (int i = 0; i < FE_MAX_PROCEDURE_ARGS && p->args[i].key; i++)
        if (!given[i] && !fe_procedure_arg_is_optional(&p->args[i]))
            return fe_err_set(err, EINVAL, "procedure %s needs %s=", p->name, p->args[i].key);
    *ret = p;
    return 0;
}
