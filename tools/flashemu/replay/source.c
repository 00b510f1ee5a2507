/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A source is a trace reader or a pattern; exactly one of the two pointers is set.
 */
#include "replay/source.h"

#include "base/num.h"
#include "base/table.h"
#include "blktracefile.h"
#include "gzfile.h"
#include "tool.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static int open_file(struct source *s, const char *arg, struct fe_err *err)
{
    struct stat st;
    bool compressed;

    if (strcmp(arg, "-") == 0) {
        s->file = stdin;
        s->name = "standard input";
        return 0;
    }
    int code = blktracefile_open(&s->file, arg, err);
    if (code < 0 || s->file)
        return code;
    if (!gzfile_exists(arg) && stat(arg, &st) < 0 && errno == ENOENT)
        return fe_err_set(err, ENOENT, "%s: %s; allowed: a file, - for standard input, gen:PATTERN "
                          "or rec:RECORDING", arg, strerror(ENOENT));
    code = gzfile_open(&s->file, &compressed, arg, err);
    if (code < 0)
        return code;
    if (!compressed && fstat(fileno(s->file), &st) == 0 && S_ISREG(st.st_mode))
        s->total = (uint64_t)st.st_size;
    return 0;
}

int source_choose(struct fe_trace_options *ret, const char *format, const char *event,
                  struct fe_err *err)
{
    if (event && (strlen(event) != 1 || *event == ' ' || !strchr(SOURCE_EVENTS, *event)))
        return fe_err_set(err, EINVAL, "event '%.80s': allowed are " SOURCE_EVENTS, event);
    ret->event = event ? *event : 0;
    return format ? fe_trace_format_find(&ret->format, format, err) : 0;
}

static int open_recording(struct source *s, const char *arg, uint64_t capacity,
                          uint64_t max_transfer, struct fe_err *err)
{
    s->recording = malloc(sizeof *s->recording);
    if (!s->recording)
        return fe_err_nomem(err, "a recording", sizeof *s->recording);
    int code = recording_find(s->recording, arg, capacity, max_transfer, err);
    return code == 0 ? open_file(s, s->recording->path, err) : code;
}

int source_open(struct source *s, const char *arg, const struct fe_trace_options *options,
                const struct fe_pattern_env *env, uint64_t max_transfer, struct fe_err *err)
{
    int ret;

    *s = (struct source){.name = arg};
    if (strncmp(arg, "gen:", 4) == 0) {
        ret = fe_pattern_create(&s->pattern, arg + 4, NULL, 0, env, err);
        if (ret == 0 && fe_pattern_count(s->pattern) != UINT64_MAX)
            s->total = fe_pattern_count(s->pattern);
        return ret;
    }
    ret = recording_is(arg) ? open_recording(s, arg, env->capacity, max_transfer, err)
                            : open_file(s, arg, err);
    if (ret == 0)
        ret = fe_trace_reader_open(&s->reader, s->file, s->name, options, err);
    if (ret < 0)
        source_close(s);
    return ret;
}

void source_close(struct source *s)
{
    fe_trace_reader_close(s->reader);
    fe_pattern_destroy(s->pattern);
    free(s->recording);
    free(s->kept);
    if (s->file && s->file != stdin)
        fclose(s->file);
    *s = (struct source){0};
}

const char *source_missing(const struct source *s)
{
    return s->reader && fe_trace_is_cut(s->reader) ? SOURCE_CUT : NULL;
}

void source_report_rest(const struct source *s)
{
    uint64_t skipped = s->reader ? fe_trace_skipped(s->reader) : 0;

    if (tool_is_quiet())
        return;
    if (skipped > 0)
        tool_error("note: %.200s: %" PRIu64 " events were not the requests asked for", s->name, skipped);
    if (source_missing(s))
        tool_error("note: %.200s: %s", s->name, source_missing(s));
}

/* Reads up to the next border of a recording, and moves the records. */
static int read_recording(struct source *s, struct fe_trace_rec *recs, uint32_t max,
                          struct fe_err *err)
{
    const struct recording *r = s->recording;
    uint64_t border = s->n_read < r->first ? r->first : r->last;
    int n = 0;

    if (s->n_read < border)
        n = fe_trace_read(s->reader, recs, border - s->n_read < max ? (uint32_t)(border - s->n_read)
                                                                    : max, err);
    if (n == 0 && s->n_read < border)
        return fe_err_set(err, EINVAL, "%s: the recording ends after %" PRIu64 " of %" PRIu64
                                       " requests", s->name, s->n_read, r->last);
    for (int i = 0; i < n; i++)
        recording_move(r, s->n_read + (uint64_t)i, &recs[i]);
    return n;
}

bool source_counts_now(const struct source *s)
{
    return s->recording && s->n_read > 0 && s->n_read == s->recording->first;
}

/* Keeps n records of a trace behind those that are kept; 0 of them are its end. */
static int keep(struct source *s, const struct fe_trace_rec *recs, uint32_t n, struct fe_err *err)
{
    s->whole = n == 0;
    if (s->recording && s->n_read < s->recording->first)
        return 0;
    if (s->n_kept + n > SOURCE_KEPT) {
        s->keeps = false;
        return 0;
    }
    struct fe_trace_rec *grown = fe_table_grow(s->kept, s->n_kept + n, &s->room, sizeof *grown);
    if (!grown)
        return fe_err_nomem(err, "the records of a trace", (s->n_kept + n) * sizeof *grown);
    s->kept = grown;
    for (uint32_t i = 0; i < n; i++)
        s->kept[s->n_kept++] = recs[i];
    return 0;
}

bool source_again(struct source *s)
{
    if (!s->keeps || !s->whole)
        return false;
    s->again = true;
    s->next = 0;
    s->n_read = s->recording ? s->recording->first : 0;
    return true;
}

static int read_kept(struct source *s, struct fe_trace_rec *recs, uint32_t max)
{
    uint32_t n = (uint32_t)fe_min_u64(max, s->n_kept - s->next);

    for (uint32_t i = 0; i < n; i++)
        recs[i] = s->kept[s->next++];
    return (int)n;
}

int source_read(struct source *s, struct fe_trace_rec *recs, uint32_t max, struct fe_err *err)
{
    int n;

    if (s->again) {
        n = read_kept(s, recs, max);
    } else if (s->pattern) {
        n = (int)fe_pattern_next(s->pattern, recs, max);
        s->done += (uint64_t)n;
    } else {
        n = s->recording ? read_recording(s, recs, max, err)
                         : fe_trace_read(s->reader, recs, max, err);
        s->done = fe_trace_consumed(s->reader);
        int code = s->keeps && n >= 0 ? keep(s, recs, (uint32_t)n, err) : 0;
        n = code < 0 ? code : n;
    }
    s->n_read += n > 0 ? (uint64_t)n : 0;
    return n;
}

bool source_origin(const struct source *s, struct source_origin *ret)
{
    const char *text[FE_N_ORIGIN_KEYS];

    *ret = (struct source_origin){.origin = tool_origin()};
    if (!s->reader || !*fe_trace_origin(s->reader, FE_ORIGIN_VERSION))
        return false;
    for (int key = 0; key < FE_N_ORIGIN_KEYS; key++) {
        text[key] = fe_trace_origin(s->reader, (enum fe_origin_key)key);
        text[key] = *text[key] ? text[key] : NULL;
    }
    ret->overrides = text[FE_ORIGIN_OVERRIDES];
    ret->origin = (struct fe_origin){
        .version = text[FE_ORIGIN_VERSION], .command = text[FE_ORIGIN_COMMAND],
        .profile = text[FE_ORIGIN_PROFILE], .image = text[FE_ORIGIN_IMAGE],
        .data = text[FE_ORIGIN_DATA],
        .overrides = &ret->overrides, .n_overrides = ret->overrides != NULL,
        .has_seed = text[FE_ORIGIN_SEED] != NULL,
    };
    if (ret->origin.has_seed)
        ret->origin.seed = strtoull(text[FE_ORIGIN_SEED], NULL, 10);
    if (text[FE_ORIGIN_CAPACITY])
        ret->origin.capacity = strtoull(text[FE_ORIGIN_CAPACITY], NULL, 10);
    return true;
}

const char *source_where(const struct source *s, const struct fe_trace_rec *rec, char *buf,
                         size_t len)
{
    snprintf(buf, len, s->pattern ? "%.200s record %llu" : "%.200s:%llu", s->name,
             (unsigned long long)rec->line);
    return buf;
}
