/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the commands of the tool share.
 *
 * A command is `int cmd_NAME(int argc, char **argv)`, where argv[0] is its name.  It returns the
 * exit code.  Results go to standard output, and messages to standard error.
 */
#pragma once

#include "base/origin.h"
#include "flashemu/device.h"
#include "flashemu/err.h"
#include "flashemu/profile.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

enum {
    TOOL_OK = 0,
    TOOL_NO = 1,    /* the work is done, and the answer is no */
    TOOL_USAGE = 2, /* wrong use or bad input */
};

int cmd_profiles(int argc, char **argv);
int cmd_show(int argc, char **argv);
int cmd_check(int argc, char **argv);
int cmd_help(int argc, char **argv);
int cmd_replay(int argc, char **argv);
int cmd_gen(int argc, char **argv);
int cmd_trace(int argc, char **argv);
int cmd_cuts(int argc, char **argv);
int cmd_align(int argc, char **argv);
int cmd_ctl(int argc, char **argv);
int cmd_top(int argc, char **argv);
int cmd_inspect(int argc, char **argv);
int cmd_fsck(int argc, char **argv);
int cmd_verify(int argc, char **argv);
int cmd_report(int argc, char **argv);
int cmd_serve(int argc, char **argv);

/* Prints "flashemu: MESSAGE" on standard error; returns TOOL_USAGE. */
int tool_error(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* The same with the message of an error. */
int tool_fail(const struct fe_err *err);

/* The same as fe_profile_load.  Prints a note on standard error if an override of ftl.type leaves
 * keys of the file without effect. */
int tool_load_profile(struct fe_profile *ret, const char *name, const char *const *overrides,
                      uint32_t n_overrides, struct fe_err *err);

/* Creates a device from a profile that was loaded with these arguments.  The message of a failure
 * names the place of the key in the profile. */
int tool_create_device(struct fe_device **ret, const struct fe_profile *profile,
                       const struct fe_device_options *opt, const char *name,
                       const char *const *overrides, uint32_t n_overrides, struct fe_err *err);

/* Flushes standard output.  Returns code, or TOOL_USAGE after a message if that fails. */
int tool_finish(int code);

/* Prints a JSON value and drops the reference.  NULL means that there was no memory.  Returns an
 * exit code. */
int tool_print_json(json_t *json);

/* The same for an object that says what made it: fe_origin_json adds the origin. */
int tool_print_result(json_t *object, const struct fe_origin *origin);

/* To be called first: keeps the command line for tool_origin, and watches the allocations of
 * jansson. */
void tool_begin(int argc, char **argv);

/* Whether jansson has been without memory.  Then a JSON value may lack members, because most of the
 * code that builds one does not look at each step; tool_print_json refuses to print it. */
bool tool_json_incomplete(void);

/* The names of all commands, with a blank in front of each; set by main. */
extern const char *tool_commands;

/* An origin with the version and the command only. */
struct fe_origin tool_origin(void);

/* The number at the path "a.b.c" of nested objects; `missing` if there is none. */
double tool_json_number(const json_t *o, const char *path, double missing);

/* One option of a command: `--name`, or `--name VALUE` and `--name=VALUE`. */
struct tool_option {
    const char *name;   /* "name", or "name=KIND": then the shell can complete the value.  KIND
                           is FILE, FORMAT (of a trace), or the words that are allowed */
    char letter;        /* also `-x`; 0 = none */
    bool *flag;         /* set to true: an option without a value */
    const char **value; /* otherwise: where its value goes */
};

enum { TOOL_MAX_WORDS = 16 };

/* `flashemu COMMAND TOOL_COMPLETE` prints the options of the command, one a line: "--name", or
 * "--name KIND".  `flashemu TOOL_COMPLETE` prints the commands with their operands.  Both are
 * for tools/completion and not in any help. */
#define TOOL_COMPLETE "--complete"

struct tool_args {
    const struct tool_option *options; /* the last one has no name */
    /* Called for an option that is not in the list, with its value.  Returns an exit code, after
     * a message if it is not TOOL_OK.  NULL: such options are not allowed. */
    int (*other)(void *ctx, const char *name, const char *value);
    void *ctx;
    const char *help; /* printed by --help, -h */
};

/* Separates options from operands; "--" ends the options, and "-" is an operand.  An option with a
 * value may be given once, by any of its names, unless its KIND ends in "...".  No word and no value
 * may be empty.  Returns true with
 * the operands in argv[1] to argv[*argc - 1].  Returns false if the command is finished: *ret_code
 * is its exit code (TOOL_OK after --help, --version and TOOL_COMPLETE). */
bool tool_parse(const struct tool_args *args, int *argc, char **argv, int *ret_code);

/* Whether the user wants neither notes nor progress (-q, --quiet, which each command has). */
bool tool_is_quiet(void);

/* Parses the number of an option.  False, after a message, unless it is in [min, max]. */
bool tool_number(const char *option, const char *text, uint64_t min, uint64_t max,
                 uint64_t *ret);

/* Parses the time of a command's option, in ns.  False, after a message, if it is not one. */
bool tool_time(const char *command, const char *option, const char *text, uint64_t *ret_ns);

/* For qsort: numbers of 64 bits, ascending. */
int tool_compare_u64(const void *a, const void *b);
