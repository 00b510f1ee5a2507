/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Plots as inline SVG: a frame with two axes, lines, clouds of points, bars.
 *
 * Colours are classes (read, write, other), so that the page's style decides them.  Errors of
 * the stream are the caller's to look for, when all is written.
 */
#ifndef SVG_H
#define SVG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct svg_axis {
    double min, max; /* min < max; of a log axis min > 0 */
    bool log;
    const char *label;
};

struct svg_plot {
    FILE *out;
    struct svg_axis x, y;
};

/* Text of a page: what HTML would take as its own is escaped. */
void svg_text(FILE *out, const char *text);

/* Frame, ticks and title; ended by svg_end. */
void svg_begin(struct svg_plot *p, const char *title);
void svg_end(struct svg_plot *p);

/* A line through (x[i], y[i]), i in [0, n). */
void svg_line(struct svg_plot *p, const char *class, const double *x, const double *y, uint32_t n);

/* The same as steps: y[i] from x[i] to x[i + 1]; x has n + 1 values. */
void svg_steps(struct svg_plot *p, const char *class, const double *x, const double *y, uint32_t n);

/* Any number of points in bounded space: a raster, of which each cell that was hit is drawn
 * once.  So nothing is left out by chance, an outlier least of all. */
#define SVG_CELLS_X 280
#define SVG_CELLS_Y 90
struct svg_cloud {
    unsigned char hit[SVG_CELLS_Y][SVG_CELLS_X];
};
void svg_cloud_add(struct svg_cloud *c, const struct svg_plot *p, double x, double y);
void svg_cloud_draw(struct svg_plot *p, const char *class, const struct svg_cloud *c);

/* Bars beside each other, from 0: a picture of its own. */
struct svg_bar {
    const char *name;
    double value;
};
void svg_bars(FILE *out, const char *title, const struct svg_bar *bars, uint32_t n);

#endif
