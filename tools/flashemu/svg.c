/* SPDX-License-Identifier: BSD-3-Clause
 *
 *      title
 *   y  |------------------|      LEFT, TOP: the corner of the field, which is WIDTH x HEIGHT
 *      |      field       |
 *      |------------------|
 *       x
 *
 * A value is placed in the field by its axis, which is linear or logarithmic.  A value outside of
 * the axis is drawn at the edge of the field.
 */
#include "svg.h"

#include <math.h>
#include <string.h>

enum { LEFT = 62, TOP = 26, WIDTH = 560, HEIGHT = 180, BOTTOM = 40, RIGHT = 14 };

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
    return LEFT + WIDTH * share_of(&p->x, value);
}

static double at_y(const struct svg_plot *p, double value)
{
    return TOP + HEIGHT * (1 - share_of(&p->y, value));
}

/* The distance of the ticks of a linear axis: 1, 2 or 5 times a power of ten. */
static double tick_step(const struct svg_axis *a)
{
    double rough = (a->max - a->min) / 5, power = pow(10, floor(log10(rough)));
    double digit = rough / power;
    return power * (digit < 1.5 ? 1 : digit < 3.5 ? 2 : digit < 7.5 ? 5 : 10);
}

static double next_tick(const struct svg_axis *a, double tick)
{
    return a->log ? tick * 10 : tick + tick_step(a);
}

static double first_tick(const struct svg_axis *a)
{
    if (a->log)
        return pow(10, ceil(log10(a->min) - 1e-9));
    double step = tick_step(a);
    return step * ceil(a->min / step - 1e-9) + 0.0; /* not -0 */
}

static double last_tick(const struct svg_axis *a)
{
    return a->max + (a->log ? 1e-9 * a->max : 1e-9 * (a->max - a->min));
}

static void print_ticks(struct svg_plot *p)
{
    for (double t = first_tick(&p->x); t <= last_tick(&p->x); t = next_tick(&p->x, t))
        fprintf(p->out,
                "<path class=\"grid\" d=\"M%.1f %dv%d\"/>"
                "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%.6g</text>\n",
                at_x(p, t), TOP, HEIGHT, at_x(p, t), TOP + HEIGHT + 14, t);
    for (double t = first_tick(&p->y); t <= last_tick(&p->y); t = next_tick(&p->y, t))
        fprintf(p->out,
                "<path class=\"grid\" d=\"M%d %.1fh%d\"/>"
                "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%.6g</text>\n",
                LEFT, at_y(p, t), WIDTH, LEFT - 5, at_y(p, t) + 4, t);
}

void svg_begin(struct svg_plot *p, const char *title)
{
    fprintf(p->out,
            "<svg viewBox=\"0 0 %d %d\" role=\"img\"><title>", LEFT + WIDTH + RIGHT,
            TOP + HEIGHT + BOTTOM);
    svg_text(p->out, title);
    fprintf(p->out, "</title>\n<text class=\"title\" x=\"%d\" y=\"16\">", LEFT);
    svg_text(p->out, title);
    fputs("</text>\n", p->out);
    print_ticks(p);
    fprintf(p->out,
            "<path class=\"frame\" d=\"M%d %dv%dh%d\"/>\n"
            "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">",
            LEFT, TOP, HEIGHT, WIDTH, LEFT + WIDTH / 2, TOP + HEIGHT + 32);
    svg_text(p->out, p->x.label);
    fprintf(p->out, "</text><text transform=\"translate(13 %d) rotate(-90)\" "
                    "text-anchor=\"middle\">", TOP + HEIGHT / 2);
    svg_text(p->out, p->y.label);
    fputs("</text>\n", p->out);
}

void svg_end(struct svg_plot *p)
{
    fputs("</svg>\n", p->out);
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
    fprintf(p->out, "<path class=\"line %s\" d=\"", class);
    for (uint32_t i = 0; i < n; i++)
        fprintf(p->out, "%c%.1f %.1fH%.1f", i ? 'L' : 'M', at_x(p, x[i]), at_y(p, y[i]),
                at_x(p, x[i + 1]));
    fputs("\"/>\n", p->out);
}

void svg_cloud_add(struct svg_cloud *c, const struct svg_plot *p, double x, double y)
{
    int column = (int)(share_of(&p->x, x) * (SVG_CELLS_X - 1) + 0.5);
    int row = (int)(share_of(&p->y, y) * (SVG_CELLS_Y - 1) + 0.5);
    c->hit[row][column] = 1;
}

void svg_cloud_draw(struct svg_plot *p, const char *class, const struct svg_cloud *c)
{
    fprintf(p->out, "<path class=\"cloud %s\" d=\"", class);
    for (int row = 0; row < SVG_CELLS_Y; row++)
        for (int column = 0; column < SVG_CELLS_X; column++)
            if (c->hit[row][column])
                fprintf(p->out, "M%g %gh0", LEFT + WIDTH * column / (double)(SVG_CELLS_X - 1),
                        TOP + HEIGHT * (1 - row / (double)(SVG_CELLS_Y - 1)));
    fputs("\"/>\n", p->out);
}

void svg_bars(FILE *out, const char *title, const struct svg_bar *bars, uint32_t n)
{
    enum { NAME = 190, LABEL = 14 };
    double most = 0;
    bool labels = false;
    for (uint32_t i = 0; i < n; i++)
        most = fmax(most, bars[i].value);
    for (uint32_t i = 0; i < n; i++)
        labels |= bars[i].label && *bars[i].label;
    const unsigned row = 24 + (labels ? LABEL : 0);
    fprintf(out, "<svg viewBox=\"0 0 %d %u\" role=\"img\"><title>", LEFT + WIDTH + RIGHT,
            TOP + n * row + 6);
    svg_text(out, title);
    fputs("</title>\n<text class=\"title\" x=\"4\" y=\"16\">", out);
    svg_text(out, title);
    fputs("</text>\n", out);
    for (uint32_t i = 0; i < n; i++) {
        double width = most > 0 ? (WIDTH - NAME) * bars[i].value / most : 0;
        fprintf(out, "<text x=\"%d\" y=\"%u\" text-anchor=\"end\">", NAME, TOP + i * row + 15);
        svg_text(out, bars[i].name);
        fprintf(out,
                "</text><rect class=\"bar\" x=\"%d\" y=\"%u\" width=\"%.1f\" height=\"16\"/>"
                "<text x=\"%.1f\" y=\"%u\">%.4g</text>\n",
                NAME + 6, TOP + i * row + 3, width, NAME + 12 + width, TOP + i * row + 15,
                bars[i].value);
        if (!bars[i].label || !*bars[i].label)
            continue;
        fprintf(out, "<text class=\"label\" x=\"%d\" y=\"%u\">", NAME + 6, TOP + i * row + 30);
        svg_text(out, bars[i].label);
        fputs("</text>\n", out);
    }
    fputs("</svg>\n", out);
}
