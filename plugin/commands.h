/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The commands of the control socket: a line of text in, a line of text out.
 *
 *   {"cmd":NAME}                        {"ok":true,...}
 *   {"cmd":NAME,"args":[ARG,...]}       {"ok":false,"error":"..."}
 *
 * An argument is a string, or a number, which counts as its text.  Members other than
 * these two are refused.
 *
 *   stats            {"ok":true, and the members of the statistics object}
 *   reset            {"ok":true}
 *   set KEY VALUE    {"ok":true,"key":KEY,"value":the value in canonical form}
 *   get KEY          {"ok":true,"key":KEY,"value":...}
 *   idle TIME        {"ok":true,"device_ns":the device's clock then}
 *   mark-bad PEB     {"ok":true}: a block of the chip, bad from now on
 *   flip PPN BITS    {"ok":true}: that many more wrong bits in a page of the chip
 *   wear PEB CYCLES  {"ok":true}: what the block has behind it
 *   hang TIME        {"ok":true}: the next request takes so much longer
 *   disconnect [TIME]  {"ok":true}: off the bus, for so long or until `connect`
 *   connect          {"ok":true}
 *   events           {"ok":true}, and from then on a line for each event, beside replies
 *   quit             {"ok":true}, and the server ends in order
 *
 * Lines of events have no "ok":
 *
 *   {"event":"collection","seq":N,"device_ns":N,"count":N}
 *   {"event":"merge","seq":N,"device_ns":N,"merge":"switch"|"partial"|"full","count":N}
 *   {"event":"bad-block","seq":N,"device_ns":N,"block":PEB}
 *   {"event":"power-cut","seq":N,"device_ns":N,"cuts":N}    so far; also of power-on
 *   {"event":"dropped","dropped":N}    so many are missing here: the client was too slow
 */
#ifndef FLASHEMU_PLUGIN_COMMANDS_H
#define FLASHEMU_PLUGIN_COMMANDS_H

#include "server.h"

#include <stdbool.h>
#include <stddef.h>

/* What a command asks of the connection. */
enum fe_command_wish { FE_WISH_NONE, FE_WISH_QUIT, FE_WISH_EVENTS };

#define FE_CONTROL_LINE_MAX 65536 /* bytes of a request, its newline not counted */

/* Carries out one line (len bytes, no newline).  Returns the reply, one line with its
 * newline, ended by NUL, to be freed; NULL without memory.  FE_WISH_QUIT: the server is to
 * end; FE_WISH_EVENTS: this client listens from now on. */
char *fe_command_run(struct fe_server *s, const char *line, size_t len,
                     enum fe_command_wish *ret_wish);

/* The lines of some of the events from *next on, which moves behind them.  False if there are
 * none; else *ret_lines, as above. */
bool fe_command_events(struct fe_server *s, uint64_t *next, char **ret_lines);

/* The reply to what is no request. */
char *fe_command_error(const char *text);

#endif
