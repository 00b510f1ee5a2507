/* SPDX-License-Identifier: BSD-3-Clause
 *
 *     title
 *     what of the device nobody has measured
 *                 sequential 1 MiB    sequential 64 KiB   ...    a panel for each pattern; the
 *     31.5 KiB    ####### 3.58        ###### 3.43                longest bar of a panel is the
 *     32 KiB      ####### 3.61        ############ 6.1           best rate of its pattern
 *     :
 *     what the colours mean
 *
 * A bar within 5 % of the best rate is green, and its number bold; every other bar is orange.  The
 * number behind a bar is the rate in MB/s.  The write amplification appears when the mouse is over the bar.
 */
#include "align/align_svg.h"

#include "output.h"
#include "svg.h"

#include "base/quantity.h"

#include <math.h>
#include <string.h>

#define GOOD "#2e8b57"
#define SLOW "#e0752d"

enum { LEFT = 90, HEAD = 66, PANEL = 160, BAR = 100, ROW = 20, LINE = 16, LETTERS = 130 };

static double best_rate(const struct align_result *a, uint32_t p)
{
    double best = 0;
    for (uint32_t i = 0; i < a->n_starts; i++)
        best = fmax(best, align_rate(&a->cell[i][p]));
    return best;
}

static void draw_panel(FILE *out, const struct align_result *a, uint32_t top, uint32_t p)
{
    double best = best_rate(a, p);
    uint32_t x = LEFT + p * PANEL;
    char text[FE_ROUNDED_MAX];

    fprintf(out, "<text x=\"%u\" y=\"%u\" font-weight=\"bold\">%s %s</text>\n", x, top - 12,
            align_patterns[p].order, fe_size_text(align_patterns[p].bs, text));
    for (uint32_t i = 0; i < a->n_starts; i++) {
        double rate = align_rate(&a->cell[i][p]);
        double share = isinf(rate) || best == 0 ? 1 : rate / best;
        uint32_t y = top + i * ROW;
        fprintf(out,
                "<rect x=\"%u\" y=\"%u\" width=\"%.1f\" height=\"%d\" fill=\"%s\"><title>%s, write "
                "amplification %.3g</title></rect>\n",
                x, y, fmax(1, share * BAR), ROW - 5, share >= 0.95 ? GOOD : SLOW,
                isinf(rate) ? "no delay" : fe_rate_text(rate, text), align_waf(&a->cell[i][p]));
        if (!isinf(rate))
            fprintf(out, "<text x=\"%.1f\" y=\"%u\"%s>%s</text>\n", x + share * BAR + 4, y + 12,
                    share >= 0.95 ? " font-weight=\"bold\"" : "",
                    fe_digits_text(rate / 1e6, 3, text));
    }
}

/* How many letters of a text stand on its next line: whole words, if they fit. */
static size_t line_of(const char *text)
{
    size_t len = strlen(text), last = 0;

    if (len <= LETTERS)
        return len;
    for (size_t i = 1; i <= LETTERS; i++)
        if (text[i] == ' ')
            last = i;
    return last ? last : LETTERS;
}

/* Writes a text below the title, or nothing without a file; returns how high it is. */
static uint32_t draw_note(FILE *out, const char *note)
{
    uint32_t height = 0;

    while (*note) {
        char line[LETTERS + 1];
        size_t len = line_of(note);
        memcpy(line, note, len);
        line[len] = '\0';
        if (out) {
            fprintf(out, "<text x=\"10\" y=\"%u\" font-weight=\"bold\">", 42 + height);
            svg_text(out, line);
            fputs("</text>\n", out);
        }
        height += LINE;
        note += len;
        note += strspn(note, " ");
    }
    return height;
}

/* One colour of the legend and what it means. */
static void draw_key(FILE *out, uint32_t x, uint32_t y, const char *colour, const char *meaning)
{
    fprintf(out, "<rect x=\"%u\" y=\"%u\" width=\"12\" height=\"12\" fill=\"%s\"/>\n", x, y - 10,
            colour);
    fprintf(out, "<text x=\"%u\" y=\"%u\">%s</text>\n", x + 18, y, meaning);
}

static void draw(FILE *out, const struct align_result *a, const char *title, const char *note)
{
    uint32_t top = HEAD + draw_note(NULL, note);
    uint32_t width = LEFT + ALIGN_N_PATTERNS * PANEL, bottom = top + a->n_starts * ROW;
    uint32_t height = bottom + 30;
    char text[FE_ROUNDED_MAX];

    fprintf(out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%u\" height=\"%u\" "
            "viewBox=\"0 0 %u %u\" role=\"img\" font-family=\"sans-serif\" font-size=\"12\">\n"
            "<!-- flashemu align -->\n"
            "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n"
            "<text x=\"10\" y=\"24\" font-size=\"15\">",
            width, height, width, height);
    svg_text(out, title);
    fputs(": MB/s of writes, by the start of the partition</text>\n", out);
    draw_note(out, note);
    for (uint32_t i = 0; i < a->n_starts; i++)
        fprintf(out, "<text x=\"%d\" y=\"%u\" text-anchor=\"end\">%s</text>\n", LEFT - 10,
                top + i * ROW + 12, fe_size_text((double)a->start[i], text));
    for (uint32_t p = 0; p < ALIGN_N_PATTERNS; p++)
        draw_panel(out, a, top, p);
    draw_key(out, LEFT, bottom + 14, GOOD, "bold: within 5 % of the best rate of its column");
    draw_key(out, LEFT + 2 * PANEL, bottom + 14, SLOW, "slower");
    fputs("</svg>\n", out);
}

int align_svg_write(const struct align_result *a, const char *title, const char *note,
                    const char *path, const char *profile, struct fe_err *err)
{
    struct output output = {0};

    int code = output_open(&output, path, &profile, 1, err);
    if (code == 0)
        draw(output.file, a, title, note);
    return output_close(&output, code, err);
}
