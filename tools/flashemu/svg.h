/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Plots for a page: figures with a caption, a key, two axes, lines and clouds of points.
 *
 * A plot is 400 units wide: as wide as a phone and as a column on a desk, so that one layout is
 * legible on both.  Colours are classes, which the style of the page defines.  The caller looks for
 * errors of the stream when everything is written.
 *
 * The data are in an inner picture, which a script may scale along the time axis.  For that, and to
 * tell the value under the pointer, the plot carries its axes: data-x="MIN MAX linear|log UNIT".
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum svg_unit {
    SVG_NAMED, /* numbers of the unit in the axis' name */
    SVG_TIME,  /* ns; each tick has a unit of its own */
    SVG_SHARE, /* 0 to 1, shown in % */
};

struct svg_axis {
    double min, max; /* min < max; min > 0 for a logarithmic axis */
    bool log;
    enum svg_unit unit;
    const char *label; /* what the axis shows */
    const char *name;  /* SVG_NAMED: the unit, without blanks; "" = a plain number */
};

struct svg_plot {
    FILE *out;
    struct svg_axis x, y;
    bool zoom; /* x is a time axis that the reader may zoom into */
};

/* A colour that the plot uses, and what it means. */
struct svg_key {
    const char *class, *text;
};

/* Writes text into a page.  Characters that mean something in HTML are escaped.  A control
 * character becomes '?', and so does a byte that is not part of a UTF-8 character, for example
 * because a name was cut. */
void svg_text(FILE *out, const char *text);

/* Draws title, key, frame and ticks.  svg_end ends the picture. */
void svg_begin(struct svg_plot *p, const char *title, const struct svg_key *keys, uint32_t n);
void svg_end(struct svg_plot *p);

/* Draws a line through the points (x[i], y[i]), i in [0, n). */
void svg_line(struct svg_plot *p, const char *class, const double *x, const double *y, uint32_t n);

/* Draws steps: the height is y[i] from x[i] to x[i + 1].  x has n + 1 values.  Where y[i] is NAN,
 * there is no line. */
void svg_steps(struct svg_plot *p, const char *class, const double *x, const double *y, uint32_t n);

/* A strip from x0 to x1 that shows nothing and tells this text when the pointer is on it. */
void svg_hover(struct svg_plot *p, double x0, double x1, const char *text);

/* Any number of points in bounded space: a raster, in which each cell that was hit is drawn once.
 * So no point is left out by chance, in particular no outlier.  Many points are drawn as density,
 * in SVG_LEVELS shades by the logarithm of their number in the cell; few of them all alike. */
enum { SVG_CELLS_X = 1000, SVG_CELLS_Y = 85, SVG_LEVELS = 5, SVG_FEW = 4000 };
struct svg_cloud {
    uint32_t hits[SVG_CELLS_Y][SVG_CELLS_X];
};
void svg_cloud_add(struct svg_cloud *c, const struct svg_plot *p, double x, double y);

/* Draws the cloud, and leaves in c->hits the shade of each cell.  n is the number of points in all
 * clouds of the plot. */
void svg_cloud_draw(struct svg_plot *p, const char *class, struct svg_cloud *c, uint64_t n);
