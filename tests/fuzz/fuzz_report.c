/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `flashemu report` over up to three files.  A file is a trace of any format, or statistics as
 * JSON.  In the input a byte 0x1c separates the files.
 *
 * The command prints either one message or a page, never both.  A page must be well-formed:
 *
 *   - every element that is opened is closed, and elements are properly nested;
 *   - there are only elements that the report itself makes, so no text of a file became one;
 *   - no coordinate and no figure is "nan";
 *   - all of it is UTF-8.
 */
#include "files.h"

#include "tool.h"

#include <stdbool.h>

enum { MAX_FILES = 3, MAX_DEPTH = 32, SEPARATOR = 0x1c };

static const char allowed[] = " html head title meta style script body section div h1 h2 h3 p b i "
                              "small span details summary table tr th td figure figcaption svg g text path rect ";

/* Puts the name of the element that begins at p, after "<" or "</", into buf.  Returns the length
 * of the name. */
static size_t name_of(const char *p, char buf[static 16])
{
    size_t len = strspn(p, "abcdefghijklmnopqrstuvwxyz0123456789");
    snprintf(buf, 16, " %.*s ", (int)(len < 13 ? len : 13), p);
    FT_MUST(len > 0 && strstr(allowed, buf), "no element of a report: <%.20s", p);
    return len;
}

/* Checks the attributes from p up to end, the end of the tag: each must be NAME="VALUE". */
static void check_attributes(const char *p, const char *end)
{
    for (const char *q = p; (q = memchr(q, '=', (size_t)(end - q))) != NULL;) {
        const char *close = q[1] == '"' ? strchr(q + 2, '"') : NULL;
        FT_MUST(close && close < end, "an attribute without quotes: %.40s", p);
        q = close + 1;
    }
    for (const char *q = p; q + 3 <= end; q++)
        FT_MUST(strncmp(q, "nan", 3) != 0 && (strncmp(q, "inf", 3) != 0), "not a number: %.*s",
                (int)(end - p), p);
}

/* Checks that a cell of a table shows no unknown figure.  The profile's name may be anything. */
static void check_cell(const char *page, const char *p)
{
    static const char free_text[] = "<th>profile</th>";
    size_t before = sizeof free_text - 1;
    if ((size_t)(p - page) >= before && strncmp(p - before, free_text, before) == 0)
        return;
    p += 4;
    for (const char *end = strchr(p, '<'); p < end; p += strcspn(p, " <") + 1)
        FT_MUST(strncmp(p, "nan", 3) != 0, "a cell with an unknown figure");
}

static void check_page(const char *page, size_t len)
{
    char stack[MAX_DEPTH][16], name[16];
    int depth = 0;
    const char *p = page;

    FT_MUST(strlen(page) == len, "a page with a NUL");
    FT_MUST(strncmp(page, "<!DOCTYPE html>\n", 16) == 0, "no page");
    for (p += 16; (p = strchr(p, '<')) != NULL; p++) {
        const char *end = strchr(p, '>');
        FT_MUST(end, "an element without end");
        if (p[1] == '/') {
            name_of(p + 2, name);
            FT_MUST(depth > 0 && strcmp(stack[--depth], name) == 0, "%.30s closes%s", p,
                    stack[depth]);
            continue;
        }
        check_attributes(p + 1 + name_of(p + 1, name), end);
        if (strncmp(p, "<td>", 4) == 0)
            check_cell(page, p);
        if (end[-1] != '/') {
            FT_MUST(depth < MAX_DEPTH, "too deep");
            strcpy(stack[depth++], name);
        }
    }
    FT_MUST(depth == 0, "%s is not closed", stack[depth - 1]);
}

/* A byte that is not UTF-8 could make a browser misread the text after it. */
static void check_utf8(const char *page, size_t len)
{
    json_t *s = json_stringn(page, len);
    FT_MUST(s, "the page is not UTF-8");
    json_decref(s);
}

/* Writes the parts of the input to files.  Returns how many there are. */
static int make_files(const uint8_t *data, size_t size, char paths[][FT_PATH_MAX])
{
    int n = 0;
    for (const uint8_t *p = data, *end = data + size; n < MAX_FILES; n++) {
        const uint8_t *stop = memchr(p, SEPARATOR, (size_t)(end - p));
        char what[16];
        snprintf(what, sizeof what, "report%d", n);
        ft_file_path(paths[n], what);
        ft_file_write(paths[n], p, (size_t)((stop ? stop : end) - p));
        if (!stop)
            return n + 1;
        p = stop + 1;
    }
    return n;
}

/* A file that is a trace may end too early, which is a note for each. */
static const char *behind_notes(const struct ft_capture *message)
{
    static const char note[] = "flashemu: note: ";
    const char *p = message->text, *end = p + message->len, *line;

    while ((size_t)(end - p) > strlen(note) && memcmp(p, note, strlen(note)) == 0 &&
           (line = memchr(p, '\n', (size_t)(end - p))))
        p = line + 1;
    return p;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char paths[MAX_FILES][FT_PATH_MAX], command[] = "report", option[] = "-o", to_stdout[] = "-";
    char *argv[MAX_FILES + 4] = {command, option, to_stdout};
    struct ft_capture page, message;
    int n = make_files(data, size, paths);

    for (int i = 0; i < n; i++)
        argv[3 + i] = paths[i];
    ft_capture_begin(&page, &stdout);
    ft_capture_begin(&message, &stderr);
    int code = cmd_report(3 + n, argv);
    ft_capture_end(&message);
    ft_capture_end(&page);
    if (code == TOOL_OK) {
        FT_MUST(behind_notes(&message) == message.text + message.len, "a page, and yet: %s", message.text);
        check_page(page.text, page.len);
        check_utf8(page.text, page.len);
    } else {
        const char *line = behind_notes(&message);
        FT_MUST(code == TOOL_USAGE && ft_is_line(line, (size_t)(message.text + message.len - line)),
                "code %d, '%s'", code, message.text);
    }
    free(message.text);
    free(page.text);
    for (int i = 0; i < n; i++)
        unlink(paths[i]);
    return 0;
}
