/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The value of one option: from text into its field, and back.
 *
 * The table `types` says for each type of option which quantity its text is, and how wide the
 * field is.  A field is found by its offset in struct fe_profile.
 *
 * Every refusal ends with what is allowed.  That text is made from the same row of the option
 * table as the check, so the two cannot differ.  A field is written only after its whole value
 * has been accepted.
 *
 *     " 50us " --trim--> "50us" --by type--> 50000 --range, multiple, power of two--> the field
 *                                                                                       |
 *     "50us" <------------------------ fe_option_print <--------------------------------'
 *
 * The two directions must stay inverse.  An image stores the printed text.  The tool parses it, and
 * a device that opens the image compares it with the text of its own profile.  So whatever a parser
 * accepts must be printed in a form that it accepts again.
 *
 * A key with details is cut at its commas, and each piece is parsed by the row that it names.
 *
 * Nothing here knows other keys, with one exception: print_times needs the number of bits of the
 * cell.  Rules between keys are in check.c.
 *
 * The type of a row must fit the C type of its field.  The compiler cannot check that, because
 * fields are reached through an offset.
 */
#include "profile/options.h"

#include "base/guess.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define STRING_SIZE 64
_Static_assert(sizeof(((struct fe_profile *)0)->device.model) == STRING_SIZE, "string fields");

/* By type: the name for people, the form of the text, and the field.  `number` says that the text
 * is a quantity and that the row's range applies.  The quantity of the other types is not used. */
static const struct {
    const char *name;
    enum fe_quantity quantity;
    bool number, wide; /* wide: 64 bits */
} types[FE_N_OPT_TYPES] = {
    [FE_OPT_U32] = {"number", FE_COUNT, true, false},
    [FE_OPT_U64] = {"number", FE_COUNT, true, true},
    [FE_OPT_SIZE32] = {"size", FE_SIZE, true, false},
    [FE_OPT_SIZE] = {"size", FE_SIZE, true, true},
    [FE_OPT_TIME] = {"time", FE_TIME, true, true},
    [FE_OPT_TIMES] = {"times", FE_TIME, true, true},
    [FE_OPT_RATE] = {"rate", FE_RATE, true, true},
    [FE_OPT_SHARE] = {"share", FE_SHARE, true, true},
    [FE_OPT_BOOL] = {"yes or no", FE_COUNT, false, false},
    [FE_OPT_ENUM] = {"name", FE_COUNT, false, false},
    [FE_OPT_STRING] = {"text", FE_COUNT, false, false},
    [FE_OPT_LIES] = {"list", FE_COUNT, false, false},
    [FE_OPT_DETAILS] = {"details", FE_COUNT, false, false},
};

/* The words that are accepted for a bool.  fe_option_print always writes yes or no. */
static const struct {
    const char *text;
    bool value;
} bools[] = {
    {"yes", true}, {"no", false},    {"on", true}, {"off", false},
    {"true", true}, {"false", false}, {"1", true},  {"0", false},
};

/* The range, the multiple and the power of two that the row demands.  A 0 that has a word of its
 * own is always allowed, whichever way it was written. */
static int check_range(const struct fe_option *o, uint64_t v, struct fe_err *why)
{
    if (v == 0 && o->zero)
        return 0;
    if (v < o->min || v > o->max)
        return fe_err_set(why, EINVAL, "is out of range");
    if (o->multiple && v % o->multiple)
        return fe_err_set(why, EINVAL, "is not a multiple of %" PRIu64, o->multiple);
    if (o->pow2 && (v & (v - 1)))
        return fe_err_set(why, EINVAL, "is not a power of two");
    return 0;
}

/* One number in the unit of the field.  Every function parse_* here leaves *ret unchanged when it
 * refuses the text, and says why in words that follow the value: "is out of range". */
static int parse_number(const struct fe_option *o, const char *text, uint64_t *ret,
                        struct fe_err *why)
{
    uint64_t v;

    if (o->zero && strcmp(text, o->zero) == 0) {
        *ret = 0;
        return 0;
    }
    int r = fe_quantity_parse(types[o->type].quantity, text, &v, why);
    if (r == 0)
        r = check_range(o, v, why);
    if (r == 0)
        *ret = v;
    return r;
}

/* "a", "a/b" or "a/b/c".  Values that are not given stay FE_TIME_NONE; fe_settle fills them,
 * because only then the number of bits of the cell is known. */
static int parse_times(const struct fe_option *o, const char *text, uint64_t times[3],
                       struct fe_err *why)
{
    uint64_t v[3] = {FE_TIME_NONE, FE_TIME_NONE, FE_TIME_NONE};

    for (int i = 0;; i++) {
        char one[FE_VALUE_MAX];
        size_t n = strcspn(text, "/");
        if (i == 3)
            return fe_err_set(why, EINVAL, "has more than three values");
        if (n >= sizeof one)
            return fe_err_set(why, EINVAL, "is too long");
        memcpy(one, text, n);
        one[n] = '\0';
        int r = parse_number(o, one, &v[i], why);
        if (r < 0)
            return r;
        if (text[n] == '\0')
            break;
        text += n + 1;
    }
    memcpy(times, v, sizeof v);
    return 0;
}

static int parse_bool(const char *text, bool *ret, struct fe_err *why)
{
    for (size_t i = 0; i < sizeof bools / sizeof bools[0]; i++)
        if (strcmp(text, bools[i].text) == 0) {
            *ret = bools[i].value;
            return 0;
        }
    return fe_err_set(why, EINVAL, *text ? "is neither yes nor no" : "is empty");
}

/* The field gets the index of the name.  Profiles and the texts in images contain the names,
 * and so the names must stay. */
static int parse_enum(const struct fe_option *o, const char *text, uint32_t *ret,
                      struct fe_err *why)
{
    for (uint32_t i = 0; o->names[i]; i++)
        if (strcmp(text, o->names[i]) == 0) {
            *ret = i;
            return 0;
        }
    return fe_err_set(why, EINVAL, *text ? "is unknown" : "is empty");
}

/* Refuses ';': it would begin a comment when the printed value is read from a file again.
 * The bytes behind the text become 0, so equal texts are equal fields. */
static int parse_string(const char *text, char *ret, struct fe_err *why)
{
    size_t len = strlen(text);

    if (len >= STRING_SIZE)
        return fe_err_set(why, EINVAL, "is too long");
    for (size_t i = 0; i < len; i++)
        if ((unsigned char)text[i] < 0x20 || text[i] == 0x7f || text[i] == ';')
            return fe_err_set(why, EINVAL, "has a ';' or a control character");
    memset(ret, 0, STRING_SIZE);
    memcpy(ret, text, len);
    return 0;
}

/* text without blanks at its ends.  Writes the field only if the result is 0. */
static int parse_trimmed(const struct fe_option *o, const char *text, struct fe_profile *p,
                         struct fe_err *why)
{
    void *field = (char *)p + o->offset;
    uint64_t v;

    if (types[o->type].number && o->type != FE_OPT_TIMES) {
        int r = parse_number(o, text, &v, why);
        if (r == 0 && types[o->type].wide)
            *(uint64_t *)field = v;
        else if (r == 0)
            *(uint32_t *)field = (uint32_t)v;
        return r;
    }
    switch (o->type) {
    case FE_OPT_TIMES:
        return parse_times(o, text, field, why);
    case FE_OPT_BOOL:
        return parse_bool(text, field, why);
    case FE_OPT_ENUM:
        return parse_enum(o, text, field, why);
    case FE_OPT_LIES:
        return fe_lies_parse(text, field, why);
    case FE_OPT_DETAILS:
        return strcmp(text, o->def) == 0 ? 0
               : fe_err_set(why, EINVAL, *text ? "is no NAME:VALUE" : "is empty");
    default:
        return parse_string(text, field, why);
    }
}

static const char *detail_name(const struct fe_option *detail)
{
    return strchr(detail->key, ':') + 1;
}

/* Cuts the first piece off a list with commas, without blanks at its ends; *text is the rest, or
 * NULL behind the last one. */
static char *next_piece(char **text)
{
    char *piece = *text + strspn(*text, " \t"), *comma = strchr(piece, ',');
    *text = comma ? comma + 1 : NULL;
    char *end = comma ? comma : piece + strlen(piece);
    while (end > piece && (end[-1] == ' ' || end[-1] == '\t'))
        end--;
    *end = '\0';
    return piece;
}

/* The detail whose name ends in front of that ':'.  NULL with its reason if there is none. */
static const struct fe_option *find_detail(const struct fe_option *o, const char *piece,
                                           struct fe_err *why)
{
    size_t len = strcspn(piece, ":");
    char names[128] = "";

    for (const struct fe_option *d = o + 1; d <= o + o->n_details; d++) {
        if (strlen(detail_name(d)) == len && memcmp(detail_name(d), piece, len) == 0)
            return d;
        fe_text_add(names, sizeof names, "%s%s", names[0] ? ", " : "", detail_name(d));
    }
    fe_err_set(why, EINVAL, "has no detail '%.*s' (there is %s)", len > 40 ? 40 : (int)len, piece,
               names);
    return NULL;
}

/* NAME:VALUE. */
static int parse_detail(const struct fe_option *o, const char *piece, struct fe_profile *p,
                        uint32_t *seen, struct fe_err *why)
{
    const struct fe_option *d = find_detail(o, piece, why);
    struct fe_err reason = {""};
    char allowed[160];

    if (!d)
        return -EINVAL;
    if (*seen & 1u << (d - o))
        return fe_err_set(why, EINVAL, "has %s twice", detail_name(d));
    *seen |= 1u << (d - o);
    const char *value = strchr(piece, ':') + 1;
    if (parse_trimmed(d, value + strspn(value, " \t"), p, &reason) == 0)
        return 0;
    fe_option_allowed(d, allowed, sizeof allowed);
    return fe_err_set(why, EINVAL, "has %.60s, which %s (it can be %s)", piece, reason.text,
                      allowed);
}

/* A value with details.  All of it goes to a copy first. */
static int parse_detailed(const struct fe_option *o, char *text, struct fe_profile *p,
                          struct fe_err *why)
{
    struct fe_profile parsed = *p;
    uint32_t seen = 0;
    int r = 0;

    for (bool first = true; text && r == 0; first = false) {
        char *piece = next_piece(&text);
        if (strchr(piece, ':'))
            r = parse_detail(o, piece, &parsed, &seen, why);
        else if (!first)
            r = fe_err_set(why, EINVAL, "has '%.40s', which is no NAME:VALUE", piece);
        else if (o->type == FE_OPT_DETAILS && text)
            r = fe_err_set(why, EINVAL, "has details behind '%.40s'", piece);
        else
            r = parse_trimmed(o, piece, &parsed, why);
    }
    if (r == 0)
        *p = parsed;
    return r;
}

bool fe_detail_is_named(const struct fe_option *detail, const char *value)
{
    char copy[256], *text = copy;
    size_t len = strlen(detail_name(detail));

    snprintf(copy, sizeof copy, "%s", value);
    while (text) {
        const char *piece = next_piece(&text);
        if (strncmp(piece, detail_name(detail), len) == 0 && piece[len] == ':')
            return true;
    }
    return false;
}

/* Blanks at the ends are cut here for all types, because an override comes without the help of
 * inih. */
int fe_option_parse(const struct fe_option *o, const char *text, struct fe_profile *p,
                    struct fe_err *err)
{
    struct fe_err why;
    char trimmed[256], allowed[256];

    fe_err_init(&why);
    text += strspn(text, " \t");
    size_t len = strlen(text);
    while (len > 0 && (text[len - 1] == ' ' || text[len - 1] == '\t'))
        len--;
    if (len >= sizeof trimmed) {
        fe_err_set(&why, EINVAL, "is too long");
    } else {
        memcpy(trimmed, text, len);
        trimmed[len] = '\0';
        int r = o->n_details ? parse_detailed(o, trimmed, p, &why)
                             : parse_trimmed(o, trimmed, p, &why);
        if (r == 0)
            return 0;
    }
    fe_option_allowed(o, allowed, sizeof allowed);
    char guess[FE_GUESS_MAX] = "";
    if (o->type == FE_OPT_ENUM && len > 3) /* qlc is no slip of the pen for slc */
        fe_guess_word(text, len, allowed, guess);
    return fe_err_set(err, EINVAL, "%s; %sallowed: %s", why.text, guess, allowed);
}

bool fe_option_is_default(const struct fe_option *o, const char *text)
{
    struct fe_profile given = {.device.capacity = 0}, fresh;
    char now[FE_VALUE_MAX], then[FE_VALUE_MAX];

    fe_option_reset(o, &given);
    fresh = given;
    if (!o->def || fe_option_parse(o, text, &given, NULL) < 0)
        return false;
    fe_option_print(o, &given, now, sizeof now);
    fe_option_print(o, &fresh, then, sizeof then);
    return strcmp(now, then) == 0;
}

/* An option without `def` is a number, a name or times: the branch for them clears a field of 4 or
 * 8 bytes.  A bool or a string must have a default in the table. */
static void reset_one(const struct fe_option *o, struct fe_profile *p)
{
    static const uint64_t no_times[3] = {0, FE_TIME_NONE, FE_TIME_NONE};
    void *field = (char *)p + o->offset;
    int r = 0;

    if (o->def)
        r = parse_trimmed(o, o->def, p, NULL);
    else if (o->type == FE_OPT_TIMES)
        memcpy(field, no_times, sizeof no_times);
    else
        memset(field, 0, types[o->type].wide ? sizeof(uint64_t) : sizeof(uint32_t));
    assert(r == 0); /* the table's own text */
    (void)r;
}

void fe_option_reset(const struct fe_option *o, struct fe_profile *p)
{
    for (uint32_t i = 0; i <= o->n_details; i++)
        reset_one(&o[i], p);
}

/* The inverse of parse_number. */
static void print_number(const struct fe_option *o, uint64_t v, char *buf, size_t len)
{
    if (v == 0 && o->zero)
        snprintf(buf, len, "%s", o->zero);
    else
        fe_quantity_print(types[o->type].quantity, v, buf, len);
}

/* Prints one value for each bit of the cell, or a single value if all of them are equal.
 *
 * The times may be open, when a message shows the value of a profile that is not finished: then
 * only the values that were given are printed. */
static void print_times(const struct fe_option *o, const struct fe_profile *p, char *buf,
                        size_t len)
{
    const uint64_t *v = (const uint64_t *)(const void *)((const char *)p + o->offset);
    uint32_t n = fe_cell_bits(p->nand.cell);

    buf[0] = '\0';
    if (v[1] == FE_TIME_NONE)
        n = 1;
    else if (v[2] == FE_TIME_NONE)
        n = 2;
    else if ((n == 2 && v[0] == v[1]) || (n == 3 && v[0] == v[1] && v[1] == v[2]))
        n = 1;
    for (uint32_t i = 0; i < n; i++) {
        char one[FE_VALUE_MAX / 3];
        fe_quantity_print(FE_TIME, v[i], one, sizeof one);
        fe_text_add(buf, len, "%s%s", i ? "/" : "", one);
    }
}

/* The value without details. */
static void print_own(const struct fe_option *o, const struct fe_profile *p, char *buf, size_t len)
{
    const void *field = (const char *)p + o->offset;

    switch (o->type) {
    case FE_OPT_TIMES:
        print_times(o, p, buf, len);
        break;
    case FE_OPT_BOOL:
        snprintf(buf, len, "%s", *(const bool *)field ? "yes" : "no");
        break;
    case FE_OPT_ENUM:
        snprintf(buf, len, "%s", o->names[*(const uint32_t *)field]);
        break;
    case FE_OPT_STRING:
        snprintf(buf, len, "%s", (const char *)field);
        break;
    case FE_OPT_LIES:
        fe_lies_print(field, buf, len);
        break;
    case FE_OPT_DETAILS:
        snprintf(buf, len, "%s", o->def);
        break;
    default:
        print_number(o, types[o->type].wide ? *(const uint64_t *)field : *(const uint32_t *)field,
                     buf, len);
    }
}

void fe_option_print(const struct fe_option *o, const struct fe_profile *p, char *buf, size_t len)
{
    buf[0] = '\0';
    if (o->type != FE_OPT_DETAILS)
        print_own(o, p, buf, len);
    for (const struct fe_option *d = o + 1; d <= o + o->n_details; d++) {
        char value[FE_VALUE_MAX];
        print_own(d, p, value, sizeof value);
        if (!fe_option_is_default(d, value))
            fe_text_add(buf, len, "%s%s:%s", buf[0] ? "," : "", detail_name(d), value);
    }
    if (!buf[0])
        print_own(o, p, buf, len);
}

/* The range in the units that people write, and then what else a row may demand or allow. */
static void allowed_number(const struct fe_option *o, char *buf, size_t len)
{
    enum fe_quantity q = types[o->type].quantity;
    char min[FE_VALUE_MAX], max[FE_VALUE_MAX];

    fe_quantity_print(q, o->min, min, sizeof min);
    fe_quantity_print(q, o->max, max, sizeof max);
    snprintf(buf, len, "%s to %s", min, max);
    if (o->multiple)
        fe_text_add(buf, len, ", a multiple of %" PRIu64, o->multiple);
    if (o->pow2)
        fe_text_add(buf, len, ", a power of two");
    if (o->zero)
        fe_text_add(buf, len, ", or %s", o->zero);
    if (o->type == FE_OPT_TIMES)
        fe_text_add(buf, len, ", one value or one for each bit of the cell: A/B/C");
}

void fe_option_allowed(const struct fe_option *o, char *buf, size_t len)
{
    buf[0] = '\0';
    if (types[o->type].number)
        allowed_number(o, buf, len);
    else if (o->type == FE_OPT_BOOL)
        snprintf(buf, len, "yes, no");
    else if (o->type == FE_OPT_STRING)
        snprintf(buf, len, "up to %d bytes without ';'", STRING_SIZE - 1);
    else if (o->type == FE_OPT_LIES)
        fe_lies_allowed(buf, len);
    else if (o->type == FE_OPT_DETAILS)
        snprintf(buf, len, "%s, or NAME:VALUE,NAME:VALUE...", o->def);
    else
        for (uint32_t i = 0; o->names[i]; i++)
            fe_text_add(buf, len, "%s%s", i ? ", " : "", o->names[i]);
}

const char *fe_option_type_name(const struct fe_option *o)
{
    return types[o->type].name;
}
