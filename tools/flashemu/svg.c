/* SPDX-License-Identifier: BSD-3-Clause
 *
 *      title, key
 *      y label
 *   y  |------------------|      LEFT, TOP: the corner of the field, which is WIDTH x HEIGHT.  The
 *      |      field       |      field is a picture in the picture, with its own origin.
 *      |------------------|
 *       x          x label
 *
 * A value is placed in the field by its axis, which is linear or logarithmic.  A value outside of
 * the axis is drawn at the edge of the field.  MARGIN keeps lines at the upper and the
 * lower edge whole.
 */
#include "svg.h"

#include "base/quantity.h"

#include <math.h>
#include <string.h>

enum { LEFT = 66, TOP = 18, WIDTH = 324, HEIGHT = 172, BOTTOM = 34, RIGHT = 10, MARGIN = 3 };
enum { MAX_DECADES = 6 }; /* that have a text */

/* The bytes of the UTF-8 character that begins at s, or 0 if none begins there. */
static size_t character_len(const char *s)
{
    unsigned char first = (unsigned char)*s;
    size_t n = first < 0x80             ? 1
               : (first & 0xe0) == 0xc0 ? 2
               : (first & 0xf0) == 0xe0 ? 3
               : (first & 0xf8) == 0xf0 ? 4
                                        : 0;
    for (size_t i = 1; i < n; i++)
        if ((s[i] & 0xc0) != 0x80)
            return 0;
    return n;
}

void svg_text(FILE *out, const char *text)
{
    for (size_t n; *text; text += n ? n : 1) {
        n = character_len(text);
        if (strchr("<>&\"", *text))
            fprintf(out, "&#%d;", *text);
        else if (n == 0 || (n == 1 && *text < 32))
            fputc('?', out);
        else
            fwrite(text, 1, n, out);
    }
}

/* The place of a value on its axis, from 0 to 1. */
static double share_of(const struct svg_axis *a, double value)
{
    if (a->log && value <= a->min)
        return 0;
    double share = a->log ? log(value / a->min) / log(a->max / a->min)
                          : (value - a->min) / (a->max - a->min);
    return fmin(1, fmax(0, share));
}

static double at_x(const struct svg_plot *p, double value)
{
    return WIDTH * share_of(&p->x, value);
}

static double at_y(const struct svg_plot *p, double value)
{
    return MARGIN + (HEIGHT - 2 * MARGIN) * (1 - share_of(&p->y, value));
}

/* The distance of the ticks of a linear axis: 1, 2 or 5 times a power of ten.  Numbers of six and
 * more digits need room, so there are fewer of them. */
static double tick_step(const struct svg_axis *a)
{
    double rough = (a->max - a->min) / (a->max >= 1e5 ? 2.5 : 5);
    double power = pow(10, floor(log10(rough))), digit = rough / power;
    return power * (digit < 1.5 ? 1 : digit < 3.5 ? 2 : digit < 7.5 ? 5 : 10);
}

/* The text of a tick.  Numbers are written out: 1000000 and 0.001. */
static const char *tick_text(const struct svg_axis *a, double tick, char buf[static FE_ROUNDED_MAX])
{
    double step = a->log ? tick : tick_step(a);

    if (a->unit == SVG_TIME)
        return fe_time_text(tick, buf);
    if (a->unit == SVG_SHARE) {
        tick *= 100;
        step *= 100;
    }
    int decimals = (int)fmax(0, fmin(9, -floor(log10(step) + 1e-9)));
    snprintf(buf, FE_ROUNDED_MAX, "%.*f%s", decimals, tick, a->unit == SVG_SHARE ? " %" : "");
    return buf;
}

/* The ticks of an axis: the next one after `i` ticks; false behind the end. */
static bool tick_at(const struct svg_axis *a, int i, double *ret)
{
    double step = a->log ? 0 : tick_step(a);
    double exponent = a->log ? ceil(log10(a->min) - 1e-9) : 0;

    *ret = a->log ? pow(10, exponent + i) : step * (ceil(a->min / step - 1e-9) + i) + 0.0;
    return *ret <= a->max + 1e-9 * (a->log ? a->max : a->max - a->min);
}

/* Whether tick i has a text: of many decades only some have. */
static bool has_text(const struct svg_axis *a, int i)
{
    int decades = a->log ? (int)ceil(log10(a->max / a->min) - 1e-9) : 1;
    return i % (1 + (decades - 1) / MAX_DECADES) == 0;
}

static void print_x_ticks(const struct svg_plot *p)
{
    char buf[FE_ROUNDED_MAX];
    double t;

    fputs("<g class=\"tx\">", p->out);
    for (int i = 0; tick_at(&p->x, i, &t); i++) {
        double x = LEFT + at_x(p, t);
        fprintf(p->out, "<path class=\"grid\" d=\"M%.1f %dv%d\"/>", x, TOP, HEIGHT);
        if (has_text(&p->x, i))
            fprintf(p->out, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"%s\">%s</text>\n",
                    x > LEFT + WIDTH - 20 ? x + RIGHT - 2 : x, TOP + HEIGHT + 14,
                    x > LEFT + WIDTH - 20 ? "end" : "middle", tick_text(&p->x, t, buf));
    }
    fputs("</g>", p->out);
}

static void print_y_ticks(const struct svg_plot *p)
{
    char buf[FE_ROUNDED_MAX];
    double t;

    for (int i = 0; tick_at(&p->y, i, &t); i++) {
        double y = TOP + at_y(p, t);
        fprintf(p->out, "<path class=\"grid\" d=\"M%d %.1fh%d\"/>", LEFT, y, WIDTH);
        if (has_text(&p->y, i))
            fprintf(p->out, "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%s</text>\n", LEFT - 4,
                    y + 4, tick_text(&p->y, t, buf));
    }
}

static void print_axis(FILE *out, char letter, const struct svg_axis *a)
{
    fprintf(out, " data-%c=\"%.9g %.9g %s %s\"", letter, a->min, a->max, a->log ? "log" : "linear",
            a->unit == SVG_TIME ? "ns" : a->unit == SVG_SHARE ? "share" : a->name);
}

void svg_begin(struct svg_plot *p, const char *title, const struct svg_key *keys, uint32_t n)
{
    fputs("<figure><figcaption><b>", p->out);
    svg_text(p->out, title);
    fputs("</b>", p->out);
    for (uint32_t i = 0; i < n; i++)
        fprintf(p->out, " <span class=\"key %s\">%s</span>", keys[i].class, keys[i].text);
    fprintf(p->out, "</figcaption>\n<svg class=\"plot%s\" viewBox=\"0 0 %d %d\" role=\"img\"",
            p->zoom ? " zoom" : "", LEFT + WIDTH + RIGHT, TOP + HEIGHT + BOTTOM);
    print_axis(p->out, 'x', &p->x);
    print_axis(p->out, 'y', &p->y);
    fputs(" aria-label=\"", p->out);
    svg_text(p->out, title);
    fputs("\">\n", p->out);
    print_x_ticks(p);
    print_y_ticks(p);
    fprintf(p->out, "<text x=\"2\" y=\"11\">%s</text><text x=\"%d\" y=\"%d\" "
                    "text-anchor=\"end\">%s</text>\n", p->y.label, LEFT + WIDTH + RIGHT - 2,
            TOP + HEIGHT + 30, p->x.label);
    fprintf(p->out, "<path class=\"frame\" d=\"M%d %dv%dh%d\"/>\n", LEFT, TOP, HEIGHT, WIDTH);
    fprintf(p->out, "<svg class=\"field\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" "
                    "viewBox=\"0 0 %d %d\" preserveAspectRatio=\"none\">\n", LEFT, TOP, WIDTH,
            HEIGHT, WIDTH, HEIGHT);
}

void svg_end(struct svg_plot *p)
{
    fputs("</svg></svg></figure>\n", p->out);
}

void svg_line(struct svg_plot *p, const char *class, const double *x, const double *y, uint32_t n)
{
    fprintf(p->out, "<path class=\"line %s\" d=\"", class);
    for (uint32_t i = 0; i < n; i++)
        fprintf(p->out, "%c%.1f %.1f", i ? 'L' : 'M', at_x(p, x[i]), at_y(p, y[i]));
    fputs("\"/>\n", p->out);
}

void svg_steps(struct svg_plot *p, const char *class, const double *x, const double *y, uint32_t n)
{
    bool drawing = false;

    fprintf(p->out, "<path class=\"line %s\" d=\"", class);
    for (uint32_t i = 0; i < n; i++) {
        if (isfinite(y[i]))
            fprintf(p->out, "%c%.1f %.1fH%.1f", drawing ? 'L' : 'M', at_x(p, x[i]), at_y(p, y[i]),
                    at_x(p, x[i + 1]));
        drawing = isfinite(y[i]);
    }
    fputs("\"/>\n", p->out);
}

void svg_hover(struct svg_plot *p, double x0, double x1, const char *text)
{
    fprintf(p->out, "<rect class=\"hit\" x=\"%.1f\" width=\"%.1f\" height=\"%d\"><title>",
            at_x(p, x0), at_x(p, x1) - at_x(p, x0), HEIGHT);
    svg_text(p->out, text);
    fputs("</title></rect>\n", p->out);
}

void svg_cloud_add(struct svg_cloud *c, const struct svg_plot *p, double x, double y)
{
    int column = (int)(share_of(&p->x, x) * (SVG_CELLS_X - 1) + 0.5);
    int row = (int)((1 - share_of(&p->y, y)) * (SVG_CELLS_Y - 1) + 0.5);
    c->hits[row][column] += c->hits[row][column] < UINT32_MAX;
}

static uint32_t fullest(const struct svg_cloud *c)
{
    uint32_t most = 1;
    for (int row = 0; row < SVG_CELLS_Y; row++)
        for (int column = 0; column < SVG_CELLS_X; column++)
            most = c->hits[row][column] > most ? c->hits[row][column] : most;
    return most;
}

/* The shade of a cell, from 1 to SVG_LEVELS; 0 for an empty one. */
static uint32_t shade(uint32_t hits, uint32_t most, bool few)
{
    if (hits == 0 || few || most == 1)
        return hits ? (uint32_t)SVG_LEVELS : 0;
    return 1 + (uint32_t)((SVG_LEVELS - 1) * log(hits) / log(most) + 0.5);
}

/* Draws the cells of one shade, by runs of neighbours. */
static void draw_shade(FILE *out, const struct svg_cloud *c, uint32_t level)
{
    int last_row = 0, last = 0; /* the place of the pen */

    for (int row = 0; row < SVG_CELLS_Y; row++)
        for (int column = 0, end; column < SVG_CELLS_X; column = end) {
            end = column + 1;
            if (c->hits[row][column] != level)
                continue;
            while (end < SVG_CELLS_X && c->hits[row][end] == level)
                end++;
            fprintf(out, "m%d %dh%d", column - last, row - last_row, end - column - 1);
            last = end - 1;
            last_row = row;
        }
}

void svg_cloud_draw(struct svg_plot *p, const char *class, struct svg_cloud *c, uint64_t n)
{
    uint32_t most = fullest(c), used[SVG_LEVELS + 1] = {0};

    for (int row = 0; row < SVG_CELLS_Y; row++)
        for (int column = 0; column < SVG_CELLS_X; column++) {
            c->hits[row][column] = shade(c->hits[row][column], most, n <= SVG_FEW);
            used[c->hits[row][column]]++;
        }
    for (uint32_t level = 1; level <= SVG_LEVELS; level++) {
        if (!used[level])
            continue;
        fprintf(p->out, "<path class=\"cloud %s d%u\" transform=\"translate(0 %d) "
                        "scale(%.6f %.6f)\" d=\"M0 0", class, level, MARGIN,
                WIDTH / (double)(SVG_CELLS_X - 1),
                (HEIGHT - 2 * MARGIN) / (double)(SVG_CELLS_Y - 1));
        draw_shade(p->out, c, level);
        fputs("\"/>\n", p->out);
    }
}
