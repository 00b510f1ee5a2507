/* SPDX-License-Identifier: BSD-3-Clause
 *
 * ctl: sends one command to a running server and prints the reply.  After the command `events` it
 * also prints the lines that follow the reply.
 *
 * The tool knows no other command of the server: it passes words on and prints JSON, so that a
 * newer server needs no newer tool.  A reply that has the member `text` is printed as this text.
 */
#include "client.h"
#include "tool.h"

#include <stdio.h>
#include <string.h>

static const char ctl_help[] =
    "usage: flashemu ctl [--raw] [--timeout TIME] [--count N] SOCKET COMMAND [ARG...]\n\n"
    "Sends one command to the server that was started with control=SOCKET and prints its\n"
    "reply.  Commands:\n\n"
    "  stats            what the device has done: requests, chip, wear, latencies\n"
    "  metrics          the same numbers as OpenMetrics text, for Prometheus\n"
    "  health           what an eMMC and an industrial card report of it, and the truth\n"
    "  map [CELLS]      the chip's blocks in so many cells (256): filled, valid, worn, bad\n"
    "  reset            starts the statistics again from zero\n"
    "  set KEY VALUE    time-scale, transport-overhead, or a live key of the profile\n"
    "  get KEY          one of these keys, clock, or any key of the profile\n"
    "  idle TIME        lets this much device time pass\n"
    "  mark TEXT        a mark in the trace, behind everything that was acknowledged\n"
    "  power-cut [after N writes | after TIME]  power fails, now or later\n"
    "  power-on         power is back; the device recovers as its controller would\n"
    "  mark-bad BLOCK   this block of the chip is bad from now on\n"
    "  flip PPN BITS    adds so many wrong bits to page PPN of the chip\n"
    "  wear BLOCK CYCLES  sets the number of cycles that the block has seen\n"
    "  hang TIME        the next request takes this much longer\n"
    "  disconnect [TIME]  the device is off the bus, for this long or until connect\n"
    "  connect          the device is on the bus again\n"
    "  events           prints what the device does, until interrupted: collections, merges,\n"
    "                   new bad blocks, power cuts and power-on, as lines of JSON\n"
    "  quit             ends the server, and waits until its image and its trace are complete\n\n"
    "  --raw            prints the reply as one line, as it came\n"
    "  --timeout TIME   how long to wait for the server (10s)\n"
    "  --count N        ends after this many lines of events\n\n"
    "Exit code 1 if the server answered no, 2 if there is no answer.\n";

/* Prints the reply.  Returns the server's answer as an exit code. */
static int print_reply(const struct client *c, bool raw)
{
    json_t *reply = client_reply(c);
    if (!reply)
        return TOOL_USAGE;
    int code = json_is_true(json_object_get(reply, "ok")) ? TOOL_OK : TOOL_NO;
    const char *text = raw ? NULL : json_string_value(json_object_get(reply, "text"));
    if (text) {
        fputs(text, stdout);
        json_decref(reply);
        return tool_finish(code);
    }
    if (!raw) {
        int r = tool_print_json(reply);
        return r == TOOL_OK ? code : r;
    }
    json_decref(reply);
    puts(c->reply);
    return tool_finish(code);
}

/* Prints lines as they come, until there were `count` of them. */
static int print_events(struct client *c, uint64_t count)
{
    client_wait(c, UINT64_MAX / 2);
    for (uint64_t i = 0; i < count; i++) {
        int r = client_recv(c);
        if (r != TOOL_OK)
            return r;
        puts(c->reply);
        r = tool_finish(TOOL_OK);
        if (r != TOOL_OK)
            return r;
    }
    return TOOL_OK;
}

/* The server has said yes.  When it closes the connection, its image and its trace are complete. */
static void wait_for_the_end(const struct client *c)
{
    if (!client_ends(c))
        tool_error("note: ctl: %s: the server has not ended yet: it waits for its clients, or for its "
                   "image (--timeout)", c->path);
}

static int ctl_run(struct client *c, char **words, int n, bool raw, uint64_t count)
{
    bool is_events = strcmp(words[0], "events") == 0;
    int r = client_connect(c);
    if (r == TOOL_OK)
        r = client_ask(c, words, n);
    if (r == TOOL_OK)
        r = print_reply(c, raw || is_events);
    if (r == TOOL_OK && strcmp(words[0], "quit") == 0)
        wait_for_the_end(c);
    if (r == TOOL_OK && is_events)
        r = print_events(c, count);
    return r;
}

int cmd_ctl(int argc, char **argv)
{
    bool raw = false;
    const char *timeout = "10s", *count_text = NULL;
    uint64_t count = UINT64_MAX;
    const struct tool_option options[] = {
        {.name = "raw", .flag = &raw},
        {.name = "timeout", .value = &timeout},
        {.name = "count", .value = &count_text},
        {0},
    };
    const struct tool_args args = {.options = options, .help = ctl_help};
    uint64_t timeout_ns;
    int code;

    if (!tool_parse(&args, &argc, argv, &code))
        return code;
    if (argc < 3)
        return tool_error("ctl: usage: flashemu ctl SOCKET COMMAND [ARG...]");
    if (!tool_time("ctl", "--timeout", timeout, &timeout_ns))
        return TOOL_USAGE;
    if (count_text && !tool_number("--count", count_text, 0, UINT64_MAX, &count))
        return TOOL_USAGE;
    if (count_text && strcmp(argv[2], "events") != 0)
        return tool_error("ctl: --count is for events");

    struct client c = {.command = "ctl", .path = argv[1], .fd = -1};
    client_wait(&c, timeout_ns);
    code = ctl_run(&c, argv + 2, argc - 2, raw, count);
    client_close(&c);
    return code;
}
