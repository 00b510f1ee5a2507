/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Files that people take for traces and that cannot be read, each with the command that makes a trace
 * of it.  They are told by their first bytes, as file(1) does.
 */
#include "workload/formats/foreign.h"

#include "workload/number.h"

#define DECOMPRESS(what, command) \
    "compressed by " what "; decompress it first: " command " FILE | flashemu replay PROFILE -"

static const struct {
    const char *magic;
    size_t n;
    const char *what;
} files[] = {
#define MAGIC(bytes) bytes, sizeof bytes - 1
    {MAGIC("\xfd" "7zXZ\0"), DECOMPRESS("xz", "xz -dc")},
    {MAGIC("\x28\xb5\x2f\xfd"), DECOMPRESS("zstd", "zstd -dc")},
    {MAGIC("BZh"), DECOMPRESS("bzip2", "bzip2 -dc")},
    {MAGIC("\x1f\x8b"), DECOMPRESS("gzip", "gzip -dc")},
    {MAGIC("\x04\x22\x4d\x18"), DECOMPRESS("lz4", "lz4 -dc")},
    {MAGIC("LZIP"), DECOMPRESS("lzip", "lzip -dc")},
    {MAGIC("\x5d\0\0"), DECOMPRESS("lzma", "xz --format=lzma -dc")},
    {MAGIC("PK\x03\x04"), "a zip archive: unzip -p FILE | flashemu replay PROFILE -"},
    {MAGIC("7z\xbc\xaf\x27\x1c"), "a 7-Zip archive: 7z x -so FILE | flashemu replay PROFILE -"},
    {MAGIC("PERFILE2"), "perf's own file: perf script -i FILE | flashemu replay PROFILE -"},
    {MAGIC("\x17\x08\x44tracing"), "trace-cmd's own file: trace-cmd report FILE | flashemu replay PROFILE -"},
    {MAGIC("\xff\xfe"), "UTF-16 text: iconv -f UTF-16 -t UTF-8 FILE | flashemu replay PROFILE -"},
    {MAGIC("\xfe\xff"), "UTF-16 text: iconv -f UTF-16 -t UTF-8 FILE | flashemu replay PROFILE -"},
#undef MAGIC
};

const char *fe_trace_foreign_bytes(const uint8_t *p, size_t n)
{
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        if (n >= files[i].n && memcmp(p, files[i].magic, files[i].n) == 0)
            return files[i].what;
    return NULL;
}

/* Whether s holds SECONDS.NNNNNNNNN, as blkparse prints times. */
static bool has_blkparse_time(struct fe_span s)
{
    const char *dot = memchr(s.p, '.', s.len);
    uint64_t n;

    return dot && dot > s.p && s.len - (size_t)(dot - s.p) > 9 && dot[-1] >= '0' &&
           dot[-1] <= '9' && fe_number_u64(dot + 1, 9, &n);
}

const char *fe_trace_foreign_line(struct fe_span line)
{
    static const char fio1[] = "fio version ", iosnoop[] = "COMM ";
    struct fe_span word = fe_span_word(&line);

    if (word.len == 3 && memcmp(word.p, fio1, 3) == 0)
        return "an iolog of fio whose version is not known (known trace formats: iolog of version "
               "2 and 3)";
    if (word.len == 4 && memcmp(word.p, iosnoop, 4) == 0 && fe_span_is(fe_span_word(&line), "PID"))
        return "iosnoop without times: biosnoop, or iosnoop -t with awk, see flashemu-trace(5)";
    for (int i = 0; i < 16 && word.len > 0; i++, word = fe_span_word(&line))
        if (has_blkparse_time(word))
            return "looks like blkparse -f, but there is no TIME ... ACTION RWBS SECTOR + COUNT; "
                   "blkparse without -f is read";
    return NULL;
}
