/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Plots as inline SVG: a frame with two axes, lines, clouds of points, and bars.
 *
 * Colours are classes (read, write, other), which the style of the page defines.  The caller looks
 * for errors of the stream when everything is written.
 */
#ifndef SVG_H
#define SVG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct svg_axis {
    double min, max; /* min < max; min > 0 for a logarithmic axis */
    bool log;
    const char *label;
};

struct svg_plot {
    FILE *out;
    struct svg_axis x, y;
};

/* Writes text into a page.  Characters that mean something in HTML are escaped.  A control
 * character becomes '?', and so does a byte that is not part of a UTF-8 character, for example
 * because a name was cut. */
void svg_text(FILE *out, const char *text);

/* Draws frame, ticks and title.  svg_end ends the picture. */
void svg_begin(struct svg_plot *p, const char *title);
void svg_end(struct svg_plot *p);

/* Draws a line through the points (x[i], y[i]), i in [0, n). */
void svg_line(struct svg_plot *p, const char *class, const double *x, const double *y, uint32_t n);

/* Draws steps: the height is y[i] from x[i] to x[i + 1].  x has n + 1 values. */
void svg_steps(struct svg_plot *p, const char *class, const double *x, const double *y, uint32_t n);

/* Any number of points in bounded space: a raster, in which each cell that was hit is drawn once.
 * So no point is left out by chance, in particular no outlier. */
#define SVG_CELLS_X 280
#define SVG_CELLS_Y 90
struct svg_cloud {
    unsigned char hit[SVG_CELLS_Y][SVG_CELLS_X];
};
void svg_cloud_add(struct svg_cloud *c, const struct svg_plot *p, double x, double y);
void svg_cloud_draw(struct svg_plot *p, const char *class, const struct svg_cloud *c);

/* Bars below each other, all from 0, as a picture of their own. */
struct svg_bar {
    const char *name;
    double value;
    const char *label; /* a second line; NULL or "" = none */
};
void svg_bars(FILE *out, const char *title, const struct svg_bar *bars, uint32_t n);

#endif
