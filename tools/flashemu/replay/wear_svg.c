/* SPDX-License-Identifier: BSD-3-Clause
 *
 *   title: profile, cycles, bad blocks
 *   # # # # # # # #      a square for each block of the chip, row by row in the order of the
 *   # # # # # # # #      blocks' numbers.  The more cycles, the darker.  Bad blocks and spares
 *   legend               have colours of their own.
 *
 * If a chip has more than MAX_SQUARES blocks, a square stands for several blocks.  It shows the
 * mean of their cycles, and it is bad if one of them is.
 */
#include "replay/wear_svg.h"

#include "svg.h"

#include "flashemu/map.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define MAX_SQUARES 16384u
#define SIZE        10u /* of a square, in pixels */
#define TOP         40u
#define LEGEND      30u

struct square {
    double cycles;
    int state; /* the worst of its blocks */
};

static struct square square_of(const struct fe_block_wear *blocks, uint32_t from, uint32_t to)
{
    struct square q = {0, FE_BLOCK_USED};
    for (uint32_t i = from; i < to; i++) {
        q.cycles += (double)blocks[i].cycles / (to - from);
        if ((int)blocks[i].state > q.state)
            q.state = (int)blocks[i].state;
    }
    return q;
}

/* Used blocks are nearly white to dark red; the colours of the others stand out. */
static void colour(const struct square *q, uint32_t most, char buf[static 8])
{
    static const char *const others[] = {[FE_BLOCK_SPARE] = "#9ec5e8",
                                         [FE_BLOCK_FACTORY_BAD] = "#000000",
                                         [FE_BLOCK_GROWN_BAD] = "#7a00cc"};
    if (q->state != FE_BLOCK_USED) {
        snprintf(buf, 8, "%s", others[q->state]);
        return;
    }
    double share = most ? q->cycles / most : 0;
    snprintf(buf, 8, "#%02x%02x%02x", (unsigned)lround(250 - 110 * share) & 0xff,
             (unsigned)lround(245 - 245 * share) & 0xff,
             (unsigned)lround(235 - 215 * share) & 0xff);
}

static void print_legend(FILE *out, uint32_t y, uint32_t most)
{
    static const char *const names[] = {"0 cycles", "most", "spare", "factory bad", "grown bad"};
    const struct square samples[] = {{0, FE_BLOCK_USED}, {most, FE_BLOCK_USED}, {0, FE_BLOCK_SPARE},
                                     {0, FE_BLOCK_FACTORY_BAD}, {0, FE_BLOCK_GROWN_BAD}};
    for (uint32_t i = 0; i < 5; i++) {
        char fill[8];
        colour(&samples[i], most, fill);
        fprintf(out,
                "<rect x=\"%u\" y=\"%u\" width=\"%u\" height=\"%u\" fill=\"%s\" stroke=\"#888\"/>"
                "<text x=\"%u\" y=\"%u\">%s</text>\n",
                10 + 90 * i, y, SIZE, SIZE, fill, 25 + 90 * i, y + SIZE - 1, names[i]);
    }
}

static void print_svg(FILE *out, const struct fe_device *dev, const struct fe_block_wear *blocks)
{
    uint32_t n = fe_device_blocks(dev), each = (n + MAX_SQUARES - 1) / MAX_SQUARES, most = 0;
    uint32_t squares = (n + each - 1) / each, columns = (uint32_t)ceil(sqrt(squares * 1.6));
    struct fe_stats s;
    if (columns < 46)
        columns = 46; /* room for the texts */
    uint32_t rows = (squares + columns - 1) / columns;
    fe_device_get_stats(dev, &s);
    for (uint32_t i = 0; i < n; i++)
        if (blocks[i].cycles > most)
            most = blocks[i].cycles;
    fprintf(out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%u\" height=\"%u\" "
            "font-family=\"sans-serif\" font-size=\"11\">\n"
            "<!-- flashemu replay -->\n"
            "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n<text x=\"10\" y=\"16\">",
            columns * SIZE + 20, TOP + rows * SIZE + LEGEND);
    svg_text(out, fe_device_profile(dev)->name);
    fprintf(out,
            ": cycles min %llu, mean %.1f, max %llu</text>\n<text x=\"10\" y=\"32\">%u blocks, "
            "%u in a square; bad: %llu from the factory, %llu grown</text>\n",
            (unsigned long long)s.wear.min, s.wear.mean, (unsigned long long)s.wear.max, n, each,
            (unsigned long long)s.bad_factory, (unsigned long long)s.bad_grown);
    for (uint32_t i = 0; i < squares; i++) {
        uint32_t to = (i + 1) * each < n ? (i + 1) * each : n;
        struct square q = square_of(blocks, i * each, to);
        char fill[8];
        colour(&q, most, fill);
        fprintf(out,
                "<rect x=\"%u\" y=\"%u\" width=\"%u\" height=\"%u\" fill=\"%s\"><title>block %u: "
                "%.0f cycles</title></rect>\n",
                10 + i % columns * SIZE, TOP + i / columns * SIZE, SIZE - 1, SIZE - 1, fill,
                i * each, q.cycles);
    }
    print_legend(out, TOP + rows * SIZE + 8, most);
    fputs("</svg>\n", out);
}

int wear_svg_write(const struct fe_device *dev, FILE *out, struct fe_err *err)
{
    uint32_t n = fe_device_blocks(dev);
    struct fe_block_wear *blocks = calloc(n, sizeof *blocks);
    if (!blocks)
        return fe_err_nomem(err, "wear of blocks", n * sizeof *blocks);
    fe_device_get_blocks(dev, blocks);
    print_svg(out, dev, blocks);
    free(blocks);
    return 0;
}
