/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Notes are a plain array that grows with each note, because a profile has few of them.
 *
 * The room of the array is not stored.  It follows from the number of notes: the array is full
 * when that number is 0 or a power of two, and then its room doubles.  This only holds for an array
 * that fe_note_add has made.  A copy is as large as its contents, so nothing may be added to it.
 *
 * A row of [fidelity] is parsed here, from left to right:
 *
 *     seq-read bs=1M size=64M | 22.1 MB/s | 5% | note: by hand, with a stop watch
 *     procedure, arguments    | figure    |tolerance| reason or note
 *
 * A row is parsed twice.  The parser of profiles does so only to find mistakes in their line; the
 * profile keeps the text.  `flashemu verify` parses the text again and uses the result.
 *
 * Not checked here: whether the device or the figure makes sense, or whether a key of [provenance]
 * exists in the option table (parse.c checks that).
 */
#include "profile/notes.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Other characters could make the printed line mean something else when it is read again. */
static bool key_is_plain(const char *key)
{
    for (const char *c = key; *c; c++)
        if (!((*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || (*c >= '0' && *c <= '9') ||
              *c == '_' || *c == '.' || *c == '-'))
            return false;
    return *key != '\0';
}

/* Fills a note with copies of the texts.  After a failure the note holds nothing to free. */
static int note_init(struct fe_profile_note *note, const char *key, const char *value,
                     unsigned line, struct fe_err *err)
{
    note->key = strdup(key);
    note->value = strdup(value);
    note->line = line;
    if (note->key && note->value)
        return 0;
    free(note->key);
    free(note->value);
    return fe_err_nomem(err, "a note of the profile", strlen(key) + strlen(value) + 2);
}

int fe_note_add(struct fe_profile_note **list, uint32_t *n, const char *key, const char *value,
                unsigned line, struct fe_err *err)
{
    if (!key_is_plain(key))
        return fe_err_set(err, EINVAL, "key \"%.40s\": letters, digits and _.- only", key);
    for (uint32_t i = 0; i < *n; i++)
        if (strcmp((*list)[i].key, key) == 0)
            return fe_err_set(err, EINVAL, "%.40s is given twice, first in line %u", key,
                              (*list)[i].line);
    if (*n == FE_MAX_NOTES)
        return fe_err_set(err, EINVAL, "more than %d rows", FE_MAX_NOTES);
    if ((*n & (*n - 1)) == 0) { /* full: 0, 1, 2, 4 ... */
        uint32_t n_max = *n ? 2 * *n : 1;
        struct fe_profile_note *grown = realloc(*list, n_max * sizeof *grown);
        if (!grown)
            return fe_err_nomem(err, "notes of the profile", n_max * sizeof *grown);
        *list = grown;
    }
    int r = note_init(&(*list)[*n], key, value, line, err);
    if (r == 0)
        ++*n;
    return r;
}

int fe_note_extend(struct fe_profile_note *note, const char *text, struct fe_err *err)
{
    size_t had = strlen(note->value), more = strlen(text);

    if (had + 1 + more > FE_MAX_NOTE_BYTES)
        return fe_err_set(err, EINVAL, "%.40s is longer than %d bytes", note->key,
                          FE_MAX_NOTE_BYTES);
    char *value = realloc(note->value, had + 1 + more + 1);
    if (!value)
        return fe_err_nomem(err, "a note of the profile", had + more + 2);
    value[had] = '\n';
    memcpy(value + had + 1, text, more + 1);
    note->value = value;
    return 0;
}

/* *ret_n counts the complete notes while the loop runs, so a failure frees exactly these. */
int fe_notes_copy(struct fe_profile_note **ret, uint32_t *ret_n, const struct fe_profile_note *list,
                  uint32_t n, struct fe_err *err)
{
    *ret = NULL;
    *ret_n = 0;
    if (n == 0)
        return 0;
    uint32_t room = 1; /* as fe_note_add would have it: a power of two */
    while (room < n)
        room *= 2;
    *ret = malloc(room * sizeof **ret);
    if (!*ret)
        return fe_err_nomem(err, "notes of the profile", room * sizeof **ret);
    for (; *ret_n < n; ++*ret_n) {
        const struct fe_profile_note *from = &list[*ret_n];
        int r = note_init(&(*ret)[*ret_n], from->key, from->value, from->line, err);
        if (r < 0) {
            fe_notes_free(*ret, *ret_n);
            *ret = NULL;
            *ret_n = 0;
            return r;
        }
    }
    return 0;
}

void fe_notes_free(struct fe_profile_note *list, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        free(list[i].key);
        free(list[i].value);
    }
    free(list);
}

/* The next field of a row, blanks around it cut; false if it is empty or does not fit. */
static bool next_field(const char **text, char *buf, size_t size)
{
    const char *s = *text + strspn(*text, " \t");
    size_t len = strcspn(s, "|");

    *text = s[len] ? s + len + 1 : s + len;
    while (len > 0 && (s[len - 1] == ' ' || s[len - 1] == '\t'))
        len--;
    if (len == 0 || len >= size)
        return false;
    memcpy(buf, s, len);
    buf[len] = '\0';
    return true;
}

const char *fe_fidelity_units(enum fe_quantity quantity)
{
    return quantity == FE_RATE   ? "MB/s"
           : quantity == FE_TIME ? "ms, us or s"
           : quantity == FE_COUNT ? "count"
                                  : "%";
}

/* "22.1 MB/s" into the value, the unit and the quantity of *ret.  The unit is looked up here first,
 * since base/quantity.h knows more units than a figure may have.  A count has the unit "count" here
 * but no unit there, so the unit is cut off.  Changes `text`. */
static int parse_measured(char *text, struct fe_fidelity *ret, struct fe_err *err)
{
    static const struct {
        const char *name;
        enum fe_quantity quantity;
        double size;
    } units[] = {{"MB/s", FE_RATE, 1e6}, {"ms", FE_TIME, 1e6},  {"us", FE_TIME, 1e3},
                 {"s", FE_TIME, 1e9},    {"count", FE_COUNT, 1}, {"%", FE_SHARE, 1e4}};
    char *unit = text + strspn(text, "0123456789.");
    char *name = unit + strspn(unit, " \t");

    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
        if (strcmp(name, units[i].name) == 0) {
            strcpy(ret->unit, units[i].name);
            ret->quantity = units[i].quantity;
            ret->unit_size = units[i].size;
            if (ret->quantity == FE_COUNT)
                *unit = '\0';
            struct fe_err why;
            fe_err_init(&why);
            if (fe_quantity_parse(ret->quantity, text, &ret->value, &why) == 0)
                return 0;
            return fe_err_set(err, EINVAL, "value \"%.40s\" %s", text, why.text);
        }
    return fe_err_set(err, EINVAL,
                      "value \"%.40s\" is not a number with MB/s, ms, us, s, count or %%", text);
}

/* The tolerance is a share of the value, so a value of 0 is refused: no error could be given in
 * percent of it.  The '%' is demanded separately, because a quantity of 0 needs no unit. */
int fe_fidelity_parse(const char *text, struct fe_fidelity *ret, struct fe_err *err)
{
    char value[64], tolerance[64];
    unsigned bars = 0;

    memset(ret, 0, sizeof *ret);
    for (const char *c = text; *c; c++)
        bars += *c == '|';
    if (bars < 2 || bars > 3 || !next_field(&text, ret->text, sizeof ret->text) ||
        !next_field(&text, value, sizeof value) ||
        !next_field(&text, tolerance, sizeof tolerance) ||
        (bars == 3 && !next_field(&text, ret->reason, sizeof ret->reason)))
        return fe_err_set(err, EINVAL, "is not PROCEDURE | VALUE UNIT | TOLERANCE%% [| REASON]");
    if (strncmp(ret->reason, "note:", 5) == 0) {
        strcpy(ret->note, ret->reason + 5 + strspn(ret->reason + 5, " "));
        ret->reason[0] = '\0';
    }
    int r = fe_procedure_parse(ret->text, &ret->procedure, ret->arg, err);
    if (r < 0)
        return r;
    r = parse_measured(value, ret, err);
    if (r < 0)
        return r;
    if (ret->quantity != ret->procedure->quantity)
        return fe_err_set(err, EINVAL, "procedure %s measures in %s, not in %s",
                          ret->procedure->name,
                          fe_fidelity_units(ret->procedure->quantity), ret->unit);
    if (tolerance[strlen(tolerance) - 1] != '%' ||
        fe_quantity_parse(FE_SHARE, tolerance, &ret->tolerance_ppm, NULL) < 0)
        return fe_err_set(err, EINVAL, "tolerance \"%.40s\" is not a share such as 5%%", tolerance);
    return ret->value > 0 ? 0 : fe_err_set(err, EINVAL, "value 0 has no error in percent");
}
