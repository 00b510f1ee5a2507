/* SPDX-License-Identifier: BSD-3-Clause
 *
 * From the text of a profile to its keys.
 *
 *     text --> next_line --> gate --> inih --> handle --> take_option, take_note
 *                             |
 *                             '--> complaint, and inih gets an empty line
 *
 * The library inih splits lines into key and value and joins continued lines.  But it is lenient
 * where a profile must not be:
 *   - its buffer has 200 bytes; longer lines are cut in two and parsed as two lines (up to
 *     version 58), or cut off (later versions);
 *   - a NUL hides the rest of its line;
 *   - text behind a "[section]" is dropped;
 *   - only the first syntax error is reported;
 *   - an indented key becomes a part of the value above it.
 *
 * Therefore every line passes a gate before inih gets it.  The gate stands in the callback that
 * inih reads lines with, and that also counts them.  A line is handed on only if every version of
 * inih will read it in the same way.  For any other line there is a complaint, and inih gets an
 * empty line instead.
 *
 * Leading blanks mean a continuation in [provenance] only; in other sections they are removed.
 *
 * Mistakes are collected, and the parser goes on with the next line.  A header that is refused
 * turns off its section: the keys below it are passed over, since each of them would only repeat
 * that mistake.  Only lack of memory ends the reading early.
 *
 * Not checked here: whether the strategy uses a key, missing keys, and rules between keys.  All of
 * these need the whole file and the overrides; see settle.c.
 */
#include "profile/parse.h"
#include "profile/notes.h"
#include "profile/old_keys.h"

#include <errno.h>
#include <ini.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Values of fe_parse.section besides enum fe_section: before the first section; in one that was
 * refused, whose keys are passed over. */
enum { SECTION_NONE = -1, SECTION_REFUSED = -2 };

void fe_label(const char *path, char *buf, size_t len)
{
    size_t n = strlen(path);
    if (n < len)
        snprintf(buf, len, "%s", path);
    else
        snprintf(buf, len, "...%s", path + n - (len - 4));
}

/* Every default is put in place first, so that a field whose value is refused still has a value
 * that the later stages can compute with. */
void fe_parse_init(struct fe_parse *ps, struct fe_profile *p, struct fe_mistakes *m,
                   const char *file_name)
{
    memset(ps, 0, sizeof *ps);
    memset(p, 0, sizeof *p);
    ps->p = p;
    ps->mistakes = m;
    ps->section = SECTION_NONE;
    fe_label(file_name, ps->label, sizeof ps->label);
    for (uint32_t i = 0; i < fe_n_options; i++)
        fe_option_reset(&fe_options[i], p);
}

/* The message is made in two steps: fe_err_set puts the place in front, cuts the result to its
 * size and replaces control characters that the file may contain. */
void fe_parse_complain(struct fe_parse *ps, unsigned line, const char *fmt, ...)
{
    struct fe_err why, text;
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(why.text, sizeof why.text, fmt, ap);
    va_end(ap);
    fe_err_init(&text);
    fe_err_set(&text, EINVAL, "%s:%u: %s", ps->label, line, why.text);
    fe_mistakes_add(ps->mistakes, line, &text);
}

/* An override has no line.  Its mistakes stand behind all those of the file. */
static void complain_override(struct fe_parse *ps, const char *override, const char *why)
{
    struct fe_err text;

    fe_err_init(&text);
    fe_err_set(&text, EINVAL, "%.100s: %s", override, why);
    fe_mistakes_add(ps->mistakes, UINT32_MAX, &text);
}

void fe_parse_blame(struct fe_parse *ps, const struct fe_option *o, const char *why)
{
    const struct fe_given *g = &ps->given[o - fe_options];
    char value[FE_VALUE_MAX];

    if (g->override) {
        complain_override(ps, g->override, why);
        return;
    }
    unsigned line = g->line ? g->line : ps->section_line[o->section];
    if (line == 0)
        line = ps->line ? ps->line : 1;
    if (g->written)
        snprintf(value, sizeof value, "%.*s", (int)(g->written_len < 60 ? g->written_len : 60),
                 g->written);
    else
        fe_option_print(o, ps->p, value, sizeof value);
    fe_parse_complain(ps, line, "%s.%s = %s: %s", fe_section_name(o->section), o->key, value, why);
}

/* Turns the result of a function into a complaint about the present line.  Lack of memory is no
 * mistake of the profile and ends the parsing. */
static void note_result(struct fe_parse *ps, int r, const struct fe_err *why)
{
    if (r == -ENOMEM)
        ps->nomem = true;
    else if (r < 0)
        fe_parse_complain(ps, ps->line, "%s", why->text);
}

/* Whether a '#' stands where somebody may mean a comment: at the beginning, or behind a blank. */
static bool has_hash(const char *value)
{
    return value[0] == '#' || strstr(value, " #") || strstr(value, "\t#");
}

/* Where the value of the present line stands in the text.  The line has a separator, because inih
 * has found a key.  The text need not end in NUL. */
static const char *written_value(const struct fe_parse *ps)
{
    const char *s = ps->line_text;

    while (*s != '=' && *s != ':')
        s++;
    for (s++; s < ps->end && (*s == ' ' || *s == '\t');)
        s++;
    return s;
}

/* A key that went can give a detail before the line of its key does.  Whether this value of the key
 * names such a detail, after a complaint. */
static bool is_detail_twice(struct fe_parse *ps, const struct fe_option *o, const char *value)
{
    for (const struct fe_option *d = o + 1; d <= o + o->n_details; d++) {
        const struct fe_given *g = &ps->given[d - fe_options];
        if (!g->given || !fe_detail_is_named(d, value))
            continue;
        fe_parse_complain(ps, ps->line, "%s.%s is given twice, first in line %u",
                          fe_section_name(d->section), d->key, g->line);
        return true;
    }
    return false;
}

/* Gives an option the value of the present line, which names it by `key`.  A key whose value was
 * refused counts as given: it is not reported as missing later, and a second one of the same name
 * is still a mistake. */
static void give(struct fe_parse *ps, const struct fe_option *o, const char *key, const char *value)
{
    struct fe_given *g = &ps->given[o - fe_options];
    struct fe_err why;

    if (g->given) {
        fe_parse_complain(ps, ps->line, "%s.%s is given twice, first in line %u",
                          fe_section_name(o->section), o->key, g->line);
        return;
    }
    fe_err_init(&why);
    g->given = true;
    g->line = ps->line;
    g->written = written_value(ps);
    g->written_len = strlen(value);
    if (is_detail_twice(ps, o, value))
        return;
    g->good = fe_option_parse(o, value, ps->p, &why) == 0;
    ps->p->given[o - fe_options] = g->good;
    for (uint32_t i = 1; i <= o->n_details; i++)
        if (g->good && fe_detail_is_named(&o[i], value)) {
            g[i] = *g;
            g[i].written = NULL;
            ps->p->given[&o[i] - fe_options] = true;
        }
    if (!g->good)
        fe_parse_complain(ps, ps->line, "%s.%s = %.60s: %s", fe_section_name(o->section), key,
                          value, has_hash(value) ? "a comment with '#' stands on a line of its "
                                                   "own; behind a value write ';'"
                                                 : why.text);
}

/* An image can have both a key that went and its heir.  Then one of them has its default, as a rule,
 * and the other one counts; if none has, the heir.  Whether this value for the option is to be
 * passed over in favour of what the image has said of it before. */
static bool is_passed_over(struct fe_parse *ps, const struct fe_option *o, bool by_heir,
                           const char *value)
{
    struct fe_given *g = &ps->given[o - fe_options];
    char before[FE_VALUE_MAX];

    if (!ps->stored || !g->given)
        return false;
    fe_option_print(o, ps->p, before, sizeof before);
    if (by_heir ? fe_option_is_default(o, value) : !fe_option_is_default(o, before))
        return true;
    g->given = false;
    return false;
}

/* A key that went, in the present line. */
static void take_old(struct fe_parse *ps, const struct fe_old_key *old, const char *value)
{
    const char *section = fe_section_name(old->section);
    unsigned *line = &ps->old_line[old - fe_old_keys];
    const struct fe_option *heir;
    struct fe_err why;

    fe_err_init(&why);
    if (*line) {
        fe_parse_complain(ps, ps->line, "%s.%s is given twice, first in line %u", section,
                          old->key, *line);
        return;
    }
    *line = ps->line;
    int r = fe_old_key_read(old, value, &heir, &why);
    if (r < 0 && !ps->stored)
        fe_parse_complain(ps, ps->line, "%s.%s = %.60s: %s", section, old->key, value,
                          why.text);
    if (r < 0 || !heir || is_passed_over(ps, heir, false, value))
        return;
    give(ps, heir, old->key, value);
    ps->p->renamed[old - fe_old_keys] = true;
}

/* A key of a section with options. */
static void take_option(struct fe_parse *ps, const char *key, const char *value)
{
    enum fe_section s = (enum fe_section)ps->section;
    const struct fe_option *o = fe_option_in(s, key);
    const struct fe_old_key *old = fe_old_key_in(s, key);
    char hint[160];

    if (o) {
        if (!is_passed_over(ps, o, true, value))
            give(ps, o, key, value);
    } else if (old) {
        take_old(ps, old, value);
    } else {
        fe_option_hint(s, key, hint, sizeof hint);
        fe_parse_complain(ps, ps->line, "unknown key %s.%.40s%s", fe_section_name(s), key, hint);
    }
}

/* Keys of [provenance] can have any name.  But a name that begins with a section and a point must
 * be in the option table: it is a slip otherwise. */
static bool provenance_key_exists(struct fe_parse *ps, const char *key)
{
    const char *bare;
    char hint[160];

    if (fe_section_of(key, &bare) == FE_N_SECTIONS || fe_option_find(key) || fe_old_key_find(key))
        return true;
    fe_option_hint(FE_N_SECTIONS, key, hint, sizeof hint);
    fe_parse_complain(ps, ps->line, "provenance of the unknown key %.40s%s", key, hint);
    return false;
}

/* A line of [provenance] or [fidelity].  The notes are printed again by fe_profile_print, which
 * writes "KEY = VALUE" and indents continued lines by four blanks.  So the checks concern the
 * printed line and not only the line that was read: it must fit into FE_MAX_LINE, and the ';' of
 * "KEY=;x" would begin a comment there. */
static void take_note(struct fe_parse *ps, const char *key, const char *value)
{
    struct fe_profile *p = ps->p;
    struct fe_err why;

    fe_err_init(&why);
    if (ps->continued && 4 + strlen(value) > FE_MAX_LINE) {
        fe_parse_complain(ps, ps->line, "longer than %d bytes when indented by 4", FE_MAX_LINE);
        return;
    }
    if (ps->continued) {
        note_result(ps, fe_note_extend(&p->provenance[p->n_provenance - 1], value, &why), &why);
        return;
    }
    if (*value == '\0') {
        fe_parse_complain(ps, ps->line, "%.40s has no value", key);
    } else if (*value == ';') {
        fe_parse_complain(ps, ps->line, "%.40s: a ';' there begins a comment", key);
    } else if (strlen(key) + 3 + strlen(value) > FE_MAX_LINE) {
        fe_parse_complain(ps, ps->line, "longer than %d bytes when written as KEY = VALUE",
                          FE_MAX_LINE);
    } else if (ps->section == FE_SEC_PROVENANCE) {
        if (!provenance_key_exists(ps, key))
            return;
        int r = fe_note_add(&p->provenance, &p->n_provenance, key, value, ps->line, &why);
        ps->in_note = r == 0;
        note_result(ps, r, &why);
    } else {
        struct fe_fidelity f;
        if (fe_fidelity_parse(value, &f, &why) < 0)
            fe_parse_complain(ps, ps->line, "fidelity row %.40s: %s", key, why.text);
        else
            note_result(ps, fe_note_add(&p->fidelity, &p->n_fidelity, key, value, ps->line, &why),
                        &why);
    }
}

/* Whether one more line with this mistake is shown; the others are only counted. */
static bool is_shown(const struct fe_parse *ps, struct fe_crowd *crowd)
{
    crowd->last = ps->line;
    return ++crowd->n <= FE_CROWD_SHOWN;
}

static void count_rest(struct fe_parse *ps, const struct fe_crowd *crowd, const char *what)
{
    if (crowd->n > FE_CROWD_SHOWN)
        fe_parse_complain(ps, crowd->last, "the last of %u more lines that %s; a profile looks "
                          "otherwise (flashemu show PROFILE)", crowd->n - FE_CROWD_SHOWN, what);
}

static void complain_stray(struct fe_parse *ps, const char *key)
{
    if (is_shown(ps, &ps->strays))
        fe_parse_complain(ps, ps->line, "%.40s stands before the first [section]", key);
}

/* inih calls this for each key.  inih cuts names of sections, and keys of continued lines, to 49
 * bytes; neither is used here, since the gate has set ps->section and ps->continued.  The result 1
 * means success.  A mistake is no failure for inih, which would keep only the first one. */
static int handle(void *user, const char *section, const char *key, const char *value)
{
    struct fe_parse *ps = user;

    (void)section;
    if (ps->section == SECTION_NONE)
        complain_stray(ps, key);
    else if (ps->section == FE_SEC_PROVENANCE || ps->section == FE_SEC_FIDELITY)
        take_note(ps, key, value);
    else if (ps->section != SECTION_REFUSED)
        take_option(ps, key, value);
    return 1;
}

/* Where a comment begins in a line: at a ';' after a blank.  Returns len if there is no comment. */
static size_t comment_at(const char *s, size_t len)
{
    for (size_t i = 1; i < len; i++)
        if (s[i] == ';' && (s[i - 1] == ' ' || s[i - 1] == '\t'))
            return i;
    return len;
}

/* A line that begins with '['.  Sets the section; false after a complaint.  A section may occur
 * more than once.  Its first header is where missing keys are reported. */
static bool gate_section(struct fe_parse *ps, const char *s, size_t len)
{
    const char *close = memchr(s, ']', len);
    char hint[160];

    ps->section = SECTION_REFUSED;
    if (!close) {
        fe_parse_complain(ps, ps->line, "'[' without ']'");
        return false;
    }
    for (const char *c = close + 1; c < s + len && *c != ';' && *c != '#'; c++)
        if (*c != ' ' && *c != '\t') {
            fe_parse_complain(ps, ps->line, "something stands behind the ']' of a section");
            return false;
        }
    size_t n = (size_t)(close - s) - 1;
    enum fe_section found = fe_section_find(s + 1, n);
    if (found == FE_N_SECTIONS) {
        fe_section_hint(s + 1, n, hint, sizeof hint);
        fe_parse_complain(ps, ps->line, "unknown section [%.*s]%s", n > 40 ? 40 : (int)n, s + 1,
                          hint);
        return false;
    }
    ps->section = found;
    if (ps->section_line[found] == 0)
        ps->section_line[found] = ps->line;
    return true;
}

/* A line that must be KEY = VALUE; false after a complaint. */
static bool gate_pair(struct fe_parse *ps, const char *s, size_t len)
{
    size_t end = comment_at(s, len), sep = 0;

    while (sep < end && s[sep] != '=' && s[sep] != ':')
        sep++;
    if (sep == end && is_shown(ps, &ps->others))
        fe_parse_complain(ps, ps->line, "\"%.*s\" is neither [SECTION] nor KEY = VALUE",
                          end > 40 ? 40 : (int)end, s);
    else if (sep == end)
        return false;
    else if (sep == 0)
        fe_parse_complain(ps, ps->line, "no key before the '%c'", s[0]);
    else
        return true;
    return false;
}

/* Complains about the first byte that is not text, if there is one.  Bytes from 0x80 on are allowed
 * and are not interpreted. */
static bool has_bad_bytes(struct fe_parse *ps, const char *s, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)s[i];
        if ((c >= 0x20 || c == '\t') && c != 0x7f)
            continue;
        if (is_shown(ps, &ps->bytes) && c == 0)
            fe_parse_complain(ps, ps->line,
                              "a NUL byte: this is not a text file of 8-bit characters");
        else if (ps->bytes.n <= FE_CROWD_SHOWN)
            fe_parse_complain(ps, ps->line, "the control character 0x%02x", c);
        return true;
    }
    return false;
}

/* Returns how many bytes of the line inih may see, 0 for an empty line.  *s moves to the first of
 * them, behind the indentation.
 *
 * Empty lines and comments between a note and its continued line do not separate the two, just as
 * in inih.  The limit of length is for the line as it stands in the file, with its indentation;
 * comments on a line of their own may be longer. */
static size_t gate(struct fe_parse *ps, const char **s, size_t len)
{
    const char *line = *s;
    size_t indent = 0;

    ps->continued = false;
    if (has_bad_bytes(ps, line, len))
        return 0;
    while (indent < len && (line[indent] == ' ' || line[indent] == '\t'))
        indent++;
    if (indent == len || line[indent] == ';' || line[indent] == '#')
        return 0;
    if (len > FE_MAX_LINE) {
        fe_parse_complain(ps, ps->line, "a line of %zu bytes; %d are the most", len, FE_MAX_LINE);
        ps->in_note = false;
        return 0;
    }
    *s += indent;
    len -= indent;
    if (indent > 0 && ps->section == FE_SEC_PROVENANCE && ps->in_note) {
        ps->continued = true;
        return comment_at(*s, len);
    }
    ps->in_note = false;
    if (**s == '[')
        return gate_section(ps, *s, len) ? len : 0;
    return gate_pair(ps, *s, len) ? len : 0;
}

/* The function that inih reads lines with.  It works like fgets, except that the line always ends
 * in a newline: some versions of inih take a full buffer without a newline for the beginning of a
 * longer line.
 *
 * Every line of the file becomes exactly one line for inih, so both count alike.  A continued line
 * gets one blank in front, which is how inih knows it.  If the buffer of the installed inih is too
 * small, nothing is read, and fe_parse_text says so. */
static char *next_line(char *str, int num, void *stream)
{
    struct fe_parse *ps = stream;

    if (ps->text == ps->end || ps->nomem || num < FE_MAX_LINE + 3)
        return NULL;
    const char *s = ps->text;
    const char *nl = memchr(s, '\n', (size_t)(ps->end - s));
    size_t len = (size_t)((nl ? nl : ps->end) - s);
    ps->text = nl ? nl + 1 : ps->end;
    ps->line++;
    if (len > 0 && s[len - 1] == '\r')
        len--;

    len = gate(ps, &s, len);
    ps->line_text = s;
    size_t indent = ps->continued ? 1 : 0;
    memset(str, ' ', indent);
    memcpy(str + indent, s, len);
    memcpy(str + indent + len, "\n", 2);
    return str;
}

/* A byte order mark at the beginning is skipped here, so it does not matter whether inih was built
 * to do that. */
void fe_parse_text(struct fe_parse *ps, const char *text, size_t len)
{
    if (len >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) {
        text += 3;
        len -= 3;
    }
    ps->text = text;
    ps->end = text + len;
    int r = ini_parse_stream(next_line, ps, handle, ps);
    if (r < 0)
        ps->nomem = true;
    else if (r > 0) /* the gate and inih disagree */
        fe_parse_complain(ps, (unsigned)r, "this line cannot be parsed");
    count_rest(ps, &ps->others, "are neither");
    count_rest(ps, &ps->bytes, "have bytes that are no text");
    count_rest(ps, &ps->strays, "stand before the first [section]");
    if (ps->text != ps->end && !ps->nomem)
        fe_parse_complain(ps, ps->line + 1, "the installed inih cannot read lines of %d bytes",
                          FE_MAX_LINE);
}

/* The option that an override's key means.  NULL if there is nothing to set: a mistake is in why
 * then, or a key that went has its default. */
static const struct fe_option *meant_by(struct fe_parse *ps, const char *key, const char *value,
                                        struct fe_err *why)
{
    const struct fe_option *o = fe_option_find(key);
    const struct fe_old_key *old = fe_old_key_find(key);
    char hint[160];

    if (!o && old) {
        if (fe_old_key_read(old, value, &o, why) == 0 && o)
            ps->p->renamed[old - fe_old_keys] = true;
    } else if (!o) {
        fe_option_hint(FE_N_SECTIONS, key, hint, sizeof hint);
        fe_err_set(why, EINVAL, "unknown key %s%s", key, hint);
    }
    return o;
}

/* Sets an option, and the details that the value names. */
static void override_one(struct fe_parse *ps, const struct fe_option *o, const char *value,
                         const char *override, struct fe_err *why)
{
    struct fe_given *g = &ps->given[o - fe_options], by = {.given = true, .override = override};

    for (uint32_t i = 1; i <= o->n_details; i++) {
        if (g[i].override && fe_detail_is_named(&o[i], value)) {
            fe_err_set(why, EINVAL, "%s.%s is given twice, first as %.60s",
                       fe_section_name(o->section), o[i].key, g[i].override);
            return;
        }
    }
    by.good = fe_option_parse(o, value, ps->p, why) == 0;
    ps->p->given[o - fe_options] = by.good;
    *g = by;
    for (uint32_t i = 1; i <= o->n_details; i++)
        if (fe_detail_is_named(&o[i], value))
            g[i] = by;
}

/* An override replaces what the file gives, without complaint; only a second override of the same
 * key is a mistake.  The record in given[] is replaced as well, so later messages about the key
 * name the override and not the line. */
void fe_parse_override(struct fe_parse *ps, const char *override)
{
    const char *eq = strchr(override, '=');
    char key[64];
    struct fe_err why;

    fe_err_init(&why);
    size_t n = eq ? (size_t)(eq - override) : 0;
    if (n == 0 || n >= sizeof key) {
        fe_err_set(&why, EINVAL, "is not SECTION.KEY=VALUE");
        complain_override(ps, override, why.text);
        return;
    }
    memcpy(key, override, n);
    key[n] = '\0';
    const char *value = eq + 1;
    const struct fe_option *o = meant_by(ps, key, value, &why);
    if (o && ps->given[o - fe_options].override) {
        fe_err_set(&why, EINVAL, "%s is given twice, first as %.60s", key,
                   ps->given[o - fe_options].override);
    } else if (o) {
        override_one(ps, o, value, override, &why);
    }
    if (why.text[0])
        complain_override(ps, override, why.text);
}
