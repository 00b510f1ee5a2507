/* SPDX-License-Identifier: BSD-3-Clause
 *
 * flashemu: everything about emulated flash devices that needs no server.
 *
 * This file only finds the command.  Each command, or group of related commands, has a file of its
 * own.
 */
#include "tool.h"

#include "base/guess.h"

#include <locale.h>
#include <stdio.h>
#include <string.h>

static const struct {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *usage, *help;
} commands[] = {
    {"profiles", cmd_profiles, "", "names of the device profiles"},
    {"show", cmd_show, "PROFILE [KEY=VALUE...]", "a profile with every default spelled out"},
    {"check", cmd_check, "FILE.ini", "every mistake in a profile"},
    {"help", cmd_help, "[TOPIC]", "topics; a KEY, a SECTION, a PROFILE or a COMMAND"},
    {"verify", cmd_verify, "PROFILE [PROCEDURE...] [KEY=VALUE...]",
     "published figures, measured again"},
    {"replay", cmd_replay, "PROFILE TRACE... [KEY=VALUE...]", "traces in virtual time"},
    {"serve", cmd_serve, "PROFILE [KEY=VALUE...]", "serves a device, or attaches it here"},
    {"cuts", cmd_cuts, "PROFILE TRACE [KEY=VALUE...]", "every power cut of a recorded work"},
    {"align", cmd_align, "PROFILE [KEY=VALUE...]", "where a partition should start"},
    {"gen", cmd_gen, "PATTERN [--KEY VALUE...]", "writes a trace"},
    {"trace", cmd_trace, "FILE", "prints or converts a trace"},
    {"ctl", cmd_ctl, "SOCKET COMMAND [ARG...]", "talks to a running server"},
    {"top", cmd_top, "SOCKET", "shows what a running server does"},
    {"inspect", cmd_inspect, "IMAGE", "what is in an image"},
    {"fsck", cmd_fsck, "IMAGE", "whether an image is whole"},
    {"report", cmd_report, "FILE... -o OUT.html", "a page about traces and statistics"},
};

enum { N_COMMANDS = sizeof commands / sizeof *commands };

static void print_usage(FILE *out)
{
    fputs("usage: flashemu COMMAND [ARGUMENT...]\n\n", out);
    for (int i = 0; i < N_COMMANDS; i++) {
        char left[64];
        snprintf(left, sizeof left, "%s %s", commands[i].name, commands[i].usage);
        fprintf(out, "  %-45s %s\n", left, commands[i].help);
    }
    fputs("\nflashemu COMMAND --help tells more.  Exit codes: 0 done, 1 the answer is no,\n"
          "2 wrong use or bad input.\n", out);
}

/* For tools/completion: "NAME OPERANDS" of each command. */
static int print_completions(void)
{
    for (int i = 0; i < N_COMMANDS; i++)
        printf("%s %s\n", commands[i].name, commands[i].usage);
    puts("--help\n--version");
    return tool_finish(TOOL_OK);
}

static int no_command(const char *name)
{
    struct fe_guess guess = FE_GUESS_NONE;

    for (int i = 0; i < N_COMMANDS; i++)
        fe_guess_try(&guess, name, strlen(name), commands[i].name);
    if (guess.name)
        return tool_error("there is no command '%s'; did you mean %s?", name, guess.name);
    return tool_error("there is no command '%s'; flashemu --help lists them", name);
}

/* Writes the names into a buffer that stays. */
static const char *command_names(void)
{
    static char names[256];

    for (int i = 0; i < N_COMMANDS; i++)
        fe_text_add(names, sizeof names, " %s", commands[i].name);
    return names;
}

int main(int argc, char **argv)
{
    setlocale(LC_ALL, "C");
    tool_begin(argc, argv);
    tool_commands = command_names();
    if (argc < 2) {
        print_usage(stderr);
        return TOOL_USAGE;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
        print_usage(stdout);
        return tool_finish(TOOL_OK);
    }
    if (strcmp(argv[1], TOOL_COMPLETE) == 0)
        return print_completions();
    if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0) {
        printf("flashemu %s\n", fe_version);
        return tool_finish(TOOL_OK);
    }
    /* An option of all commands may stand in front of the command. */
    if (argc > 2 && (strcmp(argv[1], "--quiet") == 0 || strcmp(argv[1], "-q") == 0)) {
        char *quiet = argv[1];
        argv[1] = argv[2];
        argv[2] = quiet;
    }
    /* `help COMMAND` is another way to write `COMMAND --help`. */
    char option[] = "--help", *help[] = {argc > 2 ? argv[2] : NULL, option, NULL};
    for (int i = 0; i < N_COMMANDS; i++)
        if (argc == 3 && strcmp(argv[1], "help") == 0 && strcmp(argv[2], commands[i].name) == 0)
            return commands[i].run(2, help);
    for (int i = 0; i < N_COMMANDS; i++)
        if (strcmp(argv[1], commands[i].name) == 0)
            return commands[i].run(argc - 1, argv + 1);
    return no_command(argv[1]);
}
