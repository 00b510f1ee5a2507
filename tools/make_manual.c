/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Writes flashemu-profile(5) and flashemu-trace(5) while flashemu is built: the pages are written
 * by hand, but the lists of strategies, of options and of formats come from the tables of the
 * program.
 *
 *     make_manual PAGE.in >PAGE
 *
 * A line `.\" @STRATEGIES@`, `.\" @OPTIONS@` or `.\" @FORMATS@` of the page is replaced by the
 * list.
 */
#include "profile/options.h"
#include "workload/trace.h"

#include <string.h>

static int copy_page(FILE *in, FILE *out, struct fe_err *err)
{
    char line[256];
    int r = 0;

    while (r == 0 && fgets(line, sizeof line, in)) {
        if (strcmp(line, ".\\\" @STRATEGIES@\n") == 0)
            r = fe_strategies_roff(out, err);
        else if (strcmp(line, ".\\\" @LIES@\n") == 0)
            r = fe_lies_roff(out, err);
        else if (strcmp(line, ".\\\" @OPTIONS@\n") == 0)
            r = fe_options_roff(out, err);
        else if (strcmp(line, ".\\\" @FORMATS@\n") == 0)
            fe_trace_formats_roff(out);
        else
            fputs(line, out);
    }
    return r;
}

int main(int argc, char **argv)
{
    struct fe_err err = {""};
    FILE *in = argc == 2 ? fopen(argv[1], "r") : NULL;
    if (!in) {
        fprintf(stderr, "usage: make_manual PAGE.in >PAGE, with a file that can be read\n");
        return 2;
    }
    int r = copy_page(in, stdout, &err);
    if (r < 0)
        fprintf(stderr, "make_manual: %s\n", err.text);
    else if (ferror(in) || fflush(stdout) != 0 || ferror(stdout))
        r = -1;
    fclose(in);
    return r < 0 ? 1 : 0;
}
