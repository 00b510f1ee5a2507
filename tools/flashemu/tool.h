/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the commands of the tool share.
 *
 * A command is `int cmd_NAME(int argc, char **argv)` with argv[0] its name; it returns
 * the exit code.  Results go to standard output, messages to standard error.
 */
#ifndef FLASHEMU_TOOL_H
#define FLASHEMU_TOOL_H

#include "flashemu/err.h"
#include "flashemu/profile.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum {
    TOOL_OK = 0,
    TOOL_NO = 1,    /* it did the work and the answer is no */
    TOOL_USAGE = 2, /* wrong use or bad input */
};

int cmd_profiles(int argc, char **argv);
int cmd_show(int argc, char **argv);
int cmd_check(int argc, char **argv);
int cmd_help(int argc, char **argv);
int cmd_replay(int argc, char **argv);
int cmd_gen(int argc, char **argv);
int cmd_trace(int argc, char **argv);
int cmd_ctl(int argc, char **argv);
int cmd_top(int argc, char **argv);
int cmd_inspect(int argc, char **argv);
int cmd_fsck(int argc, char **argv);
int cmd_verify(int argc, char **argv);
int cmd_report(int argc, char **argv);

/* "flashemu: message" on standard error; TOOL_USAGE. */
int tool_error(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* The same for an error of the core. */
int tool_fail(const struct fe_err *err);

/* fe_profile_load, with a note on standard error if an override of ftl.type has left keys of the
 * file without effect. */
int tool_load_profile(struct fe_profile *ret, const char *name, const char *const *overrides,
                      uint32_t n_overrides, struct fe_err *err);

/* Flushes standard output: code, or TOOL_USAGE with a message if it cannot be written. */
int tool_finish(int code);

/* A file that a command makes.  All zeros: none is open. */
struct tool_output {
    const char *name; /* for messages */
    FILE *file;
};

/* path: not owned; NULL or "-" is standard output. */
int tool_output_open(struct tool_output *o, const char *path, struct fe_err *err);

/* r, or why the file could not be written to its end.  A regular file that is not whole, or
 * whose maker failed (r negative), is removed, so that nobody takes it for the whole.  Standard
 * output stays open, for tool_finish.  Nothing if none is open. */
int tool_output_close(struct tool_output *o, int r, struct fe_err *err);

/* Prints a JSON value and drops the reference; NULL is "no memory".  An exit code. */
int tool_print_json(json_t *json);

/* The number at a path "a.b.c" of objects; missing if there is none. */
double tool_json_number(const json_t *o, const char *path, double missing);

/* One option of a command: `--name`, or `--name VALUE` and `--name=VALUE`. */
struct tool_option {
    const char *name;   /* "name", or "name=KIND": then the shell can complete the value.  KIND
                           is FILE, FORMAT (of a trace), or the words that are allowed */
    char letter;        /* also `-x`; 0 = none */
    bool *flag;         /* set to true: an option without a value */
    const char **value; /* else: where its value goes */
};

/* `flashemu COMMAND TOOL_COMPLETE` prints the options of the command, one a line: "--name", or
 * "--name KIND".  `flashemu TOOL_COMPLETE` prints the commands with their operands.  Both are
 * for tools/completion and not in any help. */
#define TOOL_COMPLETE "--complete"

struct tool_args {
    const struct tool_option *options; /* ended by one without a name */
    /* An option that is not in the list, with its value; NULL = none is allowed.  Exit
     * code, after a message. */
    int (*other)(void *ctx, const char *name, const char *value);
    void *ctx;
    const char *help; /* printed by --help, -h */
};

/* Sorts argv into options and operands.  TOOL_OK: the operands are argv[1] ... and *argc
 * one more than their number; "--" ends the options, "-" is an operand.  Otherwise the
 * command is over: *ret_code is its exit code (after --help and TOOL_COMPLETE: TOOL_OK). */
bool tool_parse(const struct tool_args *args, int *argc, char **argv, int *ret_code);

/* Numbers of options: false, after a message, if the text is not one in [min, max]. */
bool tool_number(const char *option, const char *text, uint64_t min, uint64_t max,
                 uint64_t *ret);

/* The value of a command's option as a time in ns; false, after a message, if it is none. */
bool tool_time(const char *command, const char *option, const char *text, uint64_t *ret_ns);

/* For qsort: numbers of 64 bits, ascending. */
int tool_compare_u64(const void *a, const void *b);

#endif
