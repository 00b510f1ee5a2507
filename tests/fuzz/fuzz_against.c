/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What `flashemu verify --against FILE --sets FILE` reads.  The input has two parts, with a byte
 * 0x1c between them:
 *
 *     a measurement, as flashemu-measurement(5) describes it
 *     sets of parameters, one on each line
 *
 * Either the measurement is refused with one message, or all of its points are shown, as text and
 * as JSON that can be read again.  Each set then gets an answer that says one of three states, or
 * ends the search with one message.
 *
 * Sets are not run if the measurement asks for many requests, nor if a set could make a larger
 * device: both are allowed, and would only make this test slow.
 */
#include "files.h"

#include "verify/against/against.h"
#include "tool.h"

#include "obs/stats_json.h"

enum { SEPARATOR = 0x1c, MOST_REQUESTS = 256, MOST_ROWS = 8, MOST_OPEN = 8 };
enum { LEAST_CHUNK = 4 << 10, LEAST_UNIT = 64 << 10, MOST_UNIT = 1 << 20, MOST_BYTES = 1 << 20 };

static const char device[] = "generic32m";

static void check_shown(const struct against *a, const struct fe_profile *profile)
{
    struct ft_capture c;

    ft_capture_begin(&c, &stdout);
    against_print(a, profile);
    ft_capture_end(&c);
    FT_MUST(c.len > 0 && strlen(c.text) == c.len, "%zu bytes of text", c.len);
    free(c.text);
    json_t *o = against_json(a, profile);
    char *text = o ? json_dumps(o, FE_STATS_JSON_FLAGS) : NULL;
    json_t *again = text ? json_loads(text, JSON_REJECT_DUPLICATES, NULL) : NULL;
    FT_MUST(json_array_size(json_object_get(again, "points")) == a->n,
            "no JSON, or without some points: %s", text ? text : "-");
    json_decref(again);
    json_decref(o);
    free(text);
}

static bool is_quick_point(const struct against_point *p)
{
    const json_t *open = json_object_get(p->parameters, "open");

    if (p->state != AGAINST_OPEN)
        return true;
    if (p->kind == AGAINST_ALIGN)
        return p->bs >= 512;
    if (p->kind <= AGAINST_FIND_FAT)
        return p->of >= LEAST_UNIT && p->of <= MOST_UNIT && p->at >= LEAST_CHUNK &&
               p->rows <= MOST_ROWS && json_integer_value(open) <= MOST_OPEN;
    return p->bs <= MOST_BYTES && p->size / p->bs <= MOST_REQUESTS;
}

static bool is_quick(const struct against *a, const char *sets)
{
    static const char *const larger[] = {"nand", "capacity", "ftl", "cache", "\\u"};

    for (size_t i = 0; i < a->n; i++)
        if (!is_quick_point(&a->points[i]))
            return false;
    for (size_t i = 0; i < sizeof larger / sizeof *larger; i++)
        if (strstr(sets, larger[i]))
            return false;
    return true;
}

/* Every line of the output is the answer to a set. */
static void check_answers(char *text, size_t points)
{
    char *save = NULL;

    for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
        json_t *o = json_loads(line, JSON_REJECT_DUPLICATES, NULL);
        const char *state = json_string_value(json_object_get(o, "state"));
        FT_MUST(state && (strcmp(state, "done") == 0 || strcmp(state, "stopped") == 0 ||
                          strcmp(state, "refused") == 0), "no answer: %s", line);
        FT_MUST(json_array_size(json_object_get(o, "measured")) == points, "points: %s", line);
        FT_MUST(json_is_string(json_object_get(o, "message")) == (strcmp(state, "refused") == 0),
                "message: %s", line);
        json_decref(o);
    }
}

static void check_sets(struct against *a, char *sets)
{
    struct ft_capture out, why;
    FILE *in = fmemopen(sets, strlen(sets), "r");
    FT_MUST(in, "no memory");

    ft_capture_begin(&out, &stdout);
    ft_capture_begin(&why, &stderr);
    int code = against_sets(a, device, in, 1);
    ft_capture_end(&why);
    ft_capture_end(&out);
    FT_MUST(fclose(in) == 0, "no memory");
    FT_MUST(code == TOOL_OK ? why.len == 0 : ft_is_line(why.text, why.len),
            "exit code %d, message '%s'", code, why.text);
    check_answers(out.text, a->n);
    free(why.text);
    free(out.text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char none[1];
    char path[FT_PATH_MAX], *text = malloc(size + 1), *sets = none;
    struct against a;
    struct fe_profile profile;
    struct fe_err err = {""};

    FT_MUST(text, "no memory");
    memcpy(text, data, size);
    text[size] = '\0';
    char *end = memchr(text, SEPARATOR, size);
    if (end)
        sets = end + 1;
    ft_file_path(path, "against");
    ft_file_write(path, text, end ? (size_t)(end - text) : size);
    FT_MUST(fe_profile_load(&profile, device, NULL, 0, &err) == 0, "%s", err.text);
    int r = against_load(&a, path, &err);
    unlink(path);
    if (r < 0) {
        FT_MUST(err.text[0] && !strchr(err.text, '\n'), "result %d, message '%s'", r, err.text);
    } else {
        check_shown(&a, &profile);
        if (*sets && is_quick(&a, sets))
            check_sets(&a, sets);
    }
    against_fini(&a);
    fe_profile_fini(&profile);
    free(text);
    return 0;
}
