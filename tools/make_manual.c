/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Writes flashemu-profile(5) and flashemu-trace(5) while flashemu is built: the pages are written
 * by hand, but the lists of strategies, of lies, of options and of formats come from the tables of
 * the program.
 *
 *     make_manual PAGE.in >PAGE
 *
 * A line `.\" @STRATEGIES@`, `.\" @LIES@`, `.\" @OPTIONS@` or `.\" @FORMATS@` of the page is
 * replaced by the list.  What `flashemu help` says of an option (src/profile/manual.c) stands here,
 * too.
 */
#include "ftl/ftl.h"
#include "profile/options.h"
#include "workload/formats/format.h"

#include <string.h>

/* Writes text, which has no newline, so that roff prints it as it is.  The text must begin a line of
 * the page.  What follows a period and two blanks begins another.  Roff would take for something
 * else: a backslash, a '-' that is a minus, and a '.' or ''' that begins a line. */
static void put(const char *text)
{
    bool begins = true;

    for (; *text; text++) {
        if (begins && (*text == '.' || *text == '\''))
            fputs("\\&", stdout);
        begins = strncmp(text, ".  ", 3) == 0;
        if (begins) {
            puts(".");
            text += 2;
        } else if (*text == '\\') {
            fputs("\\e", stdout);
        } else if (*text == '-') {
            fputs("\\-", stdout);
        } else {
            putchar(*text);
        }
    }
}

/* An item of a list of mdoc: its name, and a sentence with what stands behind it. */
static void item(const char *name, const char *sentence, const char *rest)
{
    printf(".It Cm %s\n", name);
    put(sentence);
    fputs(rest, stdout);
}

static void strategies(void)
{
    for (uint32_t i = 0; fe_ftl_registry[i]; i++)
        item(fe_ftl_registry[i]->name, fe_ftl_registry[i]->summary, ".\n");
}

static void lies(void)
{
    for (uint32_t i = 0; i < FE_N_LIES; i++) {
        char arg[FE_VALUE_MAX], name[2 * FE_VALUE_MAX];
        fe_lie_argument(i, arg, sizeof arg);
        snprintf(name, sizeof name, "%s%s%s", fe_lie_name(i), *arg ? ":" : "", arg);
        item(name, fe_lie_sentence(i), ".\n");
    }
}

/* An option or a detail of one: what it may be, and its default behind other words. */
static void option(const struct fe_option *o, const char *before_default)
{
    char text[256];

    item(o->key, o->help, "\n.br\n");
    printf("%s: ", fe_option_type_name(o));
    fe_option_allowed(o, text, sizeof text);
    put(text);
    fputs(before_default, stdout);
    put(fe_option_default_text(o));
    puts(".");
}

static void option_with_details(const struct fe_option *o)
{
    char users[256];

    option(o, fe_option_required(o) ? ".\nMust be given" : ".\nDefault: ");
    if (fe_option_depends(o)) {
        fe_option_users(o, users, sizeof users);
        printf("Used by: %s.\n", users);
    }
    if (o->live)
        puts("Live.");
    if (o->n_details)
        puts(".Bl -tag -width Ds -compact");
    for (const struct fe_option *d = o + 1; d <= o + o->n_details; d++)
        option(d, "; default: ");
    if (o->n_details)
        puts(".El");
}

/* Each section of the profile becomes a subsection with a list of its own.  A list ends where the
 * next section begins, so the rows of a section must stand together in the table. */
static void options(void)
{
    for (uint32_t i = 0; i < fe_n_options; i++) {
        const struct fe_option *o = &fe_options[i];
        if (i == 0 || o->section != o[-1].section)
            printf("%s.Ss [%s]\n.Bl -tag -width Ds\n", i ? ".El\n" : "",
                   fe_section_name(o->section));
        if (!fe_option_is_detail(o))
            option_with_details(o);
    }
    puts(".El");
}

static void formats(void)
{
    const struct fe_trace_format *f;

    for (unsigned i = 0; (f = fe_trace_format_at(i)); i++) {
        item(f->name, f->summary, fe_trace_format_written(f));
        puts(".");
    }
}

static void copy_page(FILE *in)
{
    static const struct {
        const char *line;
        void (*put)(void);
    } LISTS[] = {
        {".\\\" @STRATEGIES@\n", strategies},
        {".\\\" @LIES@\n", lies},
        {".\\\" @OPTIONS@\n", options},
        {".\\\" @FORMATS@\n", formats},
    };
    char line[256];

    while (fgets(line, sizeof line, in)) {
        size_t i = 0;
        while (i < sizeof LISTS / sizeof *LISTS && strcmp(line, LISTS[i].line) != 0)
            i++;
        if (i < sizeof LISTS / sizeof *LISTS)
            LISTS[i].put();
        else
            fputs(line, stdout);
    }
}

int main(int argc, char **argv)
{
    FILE *in = argc == 2 ? fopen(argv[1], "r") : NULL;
    if (!in) {
        fprintf(stderr, "usage: make_manual PAGE.in >PAGE, with a file that can be read\n");
        return 2;
    }
    copy_page(in);
    bool failed = ferror(in) || fflush(stdout) != 0 || ferror(stdout);
    if (failed)
        fprintf(stderr, "make_manual: the page could not be read or written\n");
    fclose(in);
    return failed;
}
