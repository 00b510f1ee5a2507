/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The writer finds what it has already by digest, in a table of open addressing.  So it needs 24
 * bytes of memory for each distinct block or list, and never reads the file.
 */
#include "workload/data.h"

#include "base/bytes.h"
#include "base/crc32c.h"
#include "base/num.h"
#include "base/table.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { HEADER = 12, FIRST_ROOM = 1024 };
enum { BLOCK = 0x6b636c62, LIST = 0x7473696c };

static const char first_line[] = FE_DATA_FIRST_LINE;

struct entry {
    struct fe_digest digest;
    uint64_t place; /* 0: this one is free */
};

struct fe_data_writer {
    FILE *file;
    const char *name;
    uint64_t end;           /* length of the file */
    struct entry *entries;
    size_t room, n;         /* room is a power of two */
    uint8_t *list;          /* of the write that is being added */
    size_t list_room;
    int broken;             /* negative errno of the first failure */
};

/* How much of [offset, offset + len) is in the first block. */
static size_t first_piece(uint64_t offset, uint64_t len)
{
    return (size_t)fe_min_u64(len, FE_DATA_BLOCK - offset % FE_DATA_BLOCK);
}

static uint64_t n_pieces(uint64_t offset, uint64_t len)
{
    return len ? (offset + len - 1) / FE_DATA_BLOCK - offset / FE_DATA_BLOCK + 1 : 0;
}

/* --- writing --- */

static int write_error(struct fe_data_writer *w, struct fe_err *err)
{
    if (!w->broken)
        w->broken = -(errno ? errno : EIO);
    return fe_err_set(err, -w->broken, "%s: %s", w->name, strerror(-w->broken));
}

static struct entry *find(const struct entry *entries, size_t room, struct fe_digest d)
{
    size_t i = d.a & (room - 1);
    while (entries[i].place && !fe_digest_same(entries[i].digest, d))
        i = (i + 1) & (room - 1);
    return (struct entry *)&entries[i];
}

/* The table is at most half full. */
static int grow(struct fe_data_writer *w, struct fe_err *err)
{
    size_t room = w->room ? 2 * w->room : FIRST_ROOM;
    struct entry *entries = calloc(room, sizeof *entries);
    if (!entries) {
        w->broken = -ENOMEM;
        return fe_err_nomem(err, w->name, room * sizeof *entries);
    }
    for (size_t i = 0; i < w->room; i++)
        if (w->entries[i].place)
            *find(entries, room, w->entries[i].digest) = w->entries[i];
    free(w->entries);
    w->entries = entries;
    w->room = room;
    return 0;
}

/* Writes the record unless the file has it.  *ret is its place. */
static int put_record(struct fe_data_writer *w, uint32_t kind, const void *data, size_t len,
                      uint64_t *ret, struct fe_err *err)
{
    struct fe_digest d = fe_digest_add_u64(fe_digest_of(data, len), kind);
    uint8_t head[HEADER];
    int r = 2 * (w->n + 1) > w->room ? grow(w, err) : 0;
    if (r < 0)
        return r;
    struct entry *e = find(w->entries, w->room, d);
    if (!e->place) {
        fe_bytes_put(head, 4, kind);
        fe_bytes_put(head + 4, 4, (uint32_t)len);
        fe_bytes_put(head + 8, 4, fe_crc32c(fe_crc32c(0, head, 8), data, len));
        errno = 0;
        if (fwrite(head, 1, HEADER, w->file) != HEADER || fwrite(data, 1, len, w->file) != len)
            return write_error(w, err);
        *e = (struct entry){d, w->end};
        w->end += HEADER + len;
        w->n++;
    }
    *ret = e->place;
    return 0;
}

int fe_data_writer_open(struct fe_data_writer **ret, FILE *file, const char *name,
                        struct fe_err *err)
{
    struct fe_data_writer *w = calloc(1, sizeof *w);
    if (!w)
        return fe_err_nomem(err, name, sizeof *w);
    w->file = file;
    w->name = name;
    w->end = sizeof first_line - 1;
    errno = 0;
    if (fwrite(first_line, 1, w->end, file) != w->end || fflush(file) != 0) {
        int r = write_error(w, err);
        free(w);
        return r;
    }
    *ret = w;
    return 0;
}

static int make_room_for_list(struct fe_data_writer *w, uint64_t bytes, struct fe_err *err)
{
    uint8_t *list = fe_table_grow(w->list, bytes, &w->list_room, 1);
    if (!list) {
        w->broken = -ENOMEM;
        return fe_err_nomem(err, w->name, bytes);
    }
    w->list = list;
    return 0;
}

int fe_data_put(struct fe_data_writer *w, uint64_t offset, uint64_t len, const void *buf,
                uint64_t *ret_ref, struct fe_err *err)
{
    uint64_t n = n_pieces(offset, len), done = 0;
    int r = w->broken ? write_error(w, err) : make_room_for_list(w, 8 * n, err);
    for (uint64_t i = 0; i < n && r == 0; i++) {
        size_t piece = first_piece(offset + done, len - done);
        const uint8_t *p = buf ? (const uint8_t *)buf + done : NULL;
        uint64_t place = 0;
        if (p && !fe_bytes_are_zeros(p, piece))
            r = put_record(w, BLOCK, p, piece, &place, err);
        fe_bytes_put(w->list + 8 * i, 8, place);
        done += piece;
    }
    return r == 0 ? put_record(w, LIST, w->list, (size_t)(8 * n), ret_ref, err) : r;
}

int fe_data_flush(struct fe_data_writer *w, struct fe_err *err)
{
    errno = 0;
    return w->broken || fflush(w->file) != 0 ? write_error(w, err) : 0;
}

int fe_data_writer_close(struct fe_data_writer *w, struct fe_err *err)
{
    if (!w)
        return 0;
    int r = fe_data_flush(w, err);
    free(w->entries);
    free(w->list);
    free(w);
    return r;
}

/* --- reading --- */

struct fe_data_reader {
    int fd;
    char *name;
    uint64_t size;
    uint8_t *list;
    size_t list_room;
};

static int bad(const struct fe_data_reader *r, struct fe_err *err, uint64_t ref, const char *why)
{
    return fe_err_set(err, EINVAL, "%s: data=%llu: %s", r->name, (unsigned long long)ref, why);
}

static int read_at(const struct fe_data_reader *r, uint64_t at, void *buf, size_t len,
                   struct fe_err *err)
{
    for (size_t done = 0; done < len;) {
        ssize_t n = pread(r->fd, (uint8_t *)buf + done, len - done, (off_t)(at + done));
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 ? fe_err_set(err, errno, "%s: %s", r->name, strerror(errno))
                         : bad(r, err, at, "the file ends there");
        done += (size_t)n;
    }
    return 0;
}

int fe_data_reader_open(struct fe_data_reader **ret, const char *path, struct fe_err *err)
{
    char line[sizeof first_line] = "";
    struct fe_data_reader *r = calloc(1, sizeof *r);
    if (!r || !(r->name = strdup(path))) {
        free(r);
        return fe_err_nomem(err, path, sizeof *r);
    }
    struct stat st;
    int code = 0;
    r->fd = open(path, O_RDONLY | O_CLOEXEC);
    if (r->fd < 0 || fstat(r->fd, &st) < 0)
        code = fe_err_set(err, errno, "%s: %s", path, strerror(errno));
    else if (!S_ISREG(st.st_mode) || st.st_size < (off_t)sizeof first_line - 1)
        code = fe_err_set(err, EINVAL, "%s: is not the data of a trace; allowed: what trace-data= "
                          "has written", path);
    else
        code = read_at(r, 0, line, sizeof first_line - 1, err);
    if (code == 0 && strcmp(line, first_line) != 0)
        code = fe_err_set(err, EINVAL, "%s: does not begin with '# flashemu data 1'", path);
    if (code < 0) {
        fe_data_reader_close(r);
        return code;
    }
    r->size = (uint64_t)st.st_size;
    *ret = r;
    return 0;
}

const char *fe_data_name_beside(const char *trace, const char *data)
{
    const char *slash = strrchr(trace, '/'), *data_slash = strrchr(data, '/');
    size_t len = slash ? (size_t)(slash - trace) : 0;
    size_t data_len = data_slash ? (size_t)(data_slash - data) : 0;
    bool together = !slash == !data_slash && len == data_len && memcmp(trace, data, len) == 0;
    return together && data_slash ? data_slash + 1 : data;
}

int fe_data_open_beside(struct fe_data_reader **ret, const char *trace, const char *name,
                        struct fe_err *err)
{
    const char *slash = strrchr(trace, '/');
    int folder = slash && !strchr(name, '/') ? (int)(slash - trace + 1) : 0;
    char *path = NULL;
    if (asprintf(&path, "%.*s%s", folder, trace, name) < 0)
        return fe_err_nomem(err, "name", strlen(name));
    struct fe_err why = {""};
    int r = fe_data_reader_open(ret, path, &why);
    if (r == -ENOENT)
        r = fe_err_set(err, ENOENT, "%s; what %.200s has written is in this file, so put it there", why.text,
                       trace);
    else if (r < 0)
        r = fe_err_set(err, -r, "%s", why.text);
    free(path);
    return r;
}

void fe_data_reader_close(struct fe_data_reader *r)
{
    if (!r)
        return;
    if (r->fd >= 0)
        close(r->fd);
    free(r->name);
    free(r->list);
    free(r);
}

/* Reads the record at that place, which must be of this kind and length. */
static int get_record(const struct fe_data_reader *r, uint64_t ref, uint64_t at, uint32_t kind,
                      void *buf, uint64_t len, struct fe_err *err)
{
    uint8_t head[HEADER];
    if (at < sizeof first_line - 1 || at > r->size || r->size - at < HEADER ||
        r->size - at - HEADER < len)
        return bad(r, err, ref, "the file ends before that");
    int code = read_at(r, at, head, HEADER, err);
    if (code == 0 && (fe_bytes_get(head, 4, false) != kind || fe_bytes_get(head + 4, 4, false) != len))
        return bad(r, err, ref, "the file has nothing there that this request could have written");
    if (code == 0)
        code = read_at(r, at + HEADER, buf, (size_t)len, err);
    if (code == 0 && fe_bytes_get(head + 8, 4, false) != fe_crc32c(fe_crc32c(0, head, 8), buf, (size_t)len))
        return bad(r, err, ref, "is damaged");
    return code;
}

int fe_data_get(struct fe_data_reader *r, uint64_t ref, uint64_t offset, uint64_t len, void *buf,
                struct fe_err *err)
{
    uint64_t n = n_pieces(offset, len), done = 0;
    if (8 * n > r->size)
        return bad(r, err, ref, "the file ends before that");
    uint8_t *list = fe_table_grow(r->list, 8 * n, &r->list_room, 1);
    if (!list)
        return fe_err_nomem(err, r->name, 8 * n);
    r->list = list;
    int code = get_record(r, ref, ref, LIST, r->list, 8 * n, err);
    for (uint64_t i = 0; i < n && code == 0; i++) {
        size_t piece = first_piece(offset + done, len - done);
        uint64_t at = fe_bytes_get(r->list + 8 * i, 8, false);
        if (at)
            code = get_record(r, ref, at, BLOCK, (uint8_t *)buf + done, piece, err);
        else
            memset((uint8_t *)buf + done, 0, piece);
        done += piece;
    }
    return code;
}
