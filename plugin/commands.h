/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The commands of the control socket: one line of text in, one line of text out.
 *
 *   {"cmd":NAME}                        {"ok":true,...}
 *   {"cmd":NAME,"args":[ARG,...]}       {"ok":false,"error":"..."}
 *
 * An argument is a string, or a number, which counts as its text.  Other members are refused.
 *
 *   stats            {"ok":true, and the members of the statistics object}
 *   metrics          {"ok":true,"text":the statistics as OpenMetrics text}
 *   health           {"ok":true,"emmc":{...},"sd":{...},"truth":{...}}
 *   reset            {"ok":true}
 *   set KEY VALUE    {"ok":true,"key":KEY,"value":the value in canonical form}
 *   get KEY          {"ok":true,"key":KEY,"value":...}
 *   idle TIME        {"ok":true,"device_ns":the device's clock afterwards}
 *   mark TEXT        {"ok":true,"device_ns":...}: a mark in the trace, which is in the file by then,
 *                    if a client has said it
 *   mark-bad BLOCK   {"ok":true}: a block of the chip, which is bad from now on
 *   flip PPN BITS    {"ok":true}: so many additional wrong bits in a page of the chip
 *   wear BLOCK CYCLES  {"ok":true}: the number of cycles that the block has seen
 *   hang TIME        {"ok":true}: the next request takes so much longer
 *   disconnect [TIME]  {"ok":true}: the device is off the bus, for so long or until `connect`
 *   connect          {"ok":true}
 *   power-cut [after N writes|after TIME|at now]  {"ok":true,"device_ns":...}
 *   power-on         {"ok":true,"ready_ns":when the device works again}
 *   events           {"ok":true}, and from then on a line for each event, between the replies
 *   quit             {"ok":true}, and the server ends in order
 *
 * Lines of events have no "ok":
 *
 *   {"event":"collection","seq":N,"device_ns":N,"count":N}
 *   {"event":"merge","seq":N,"device_ns":N,"merge":"switch"|"partial"|"full","count":N}
 *   {"event":"bad-block","seq":N,"device_ns":N,"block":BLOCK}
 *   {"event":"power-cut","seq":N,"device_ns":N,"cuts":cuts so far}    also of power-on
 *   {"event":"dropped","dropped":N}    N events are missing here: the client was too slow
 */
#pragma once

#include "server.h"

#include <stdbool.h>
#include <stddef.h>

/* What a command asks the connection to do: to end the server, to listen to events from now on, or to
 * send the reply when it is known what has become of a mark (fe_server_knows_mark). */
struct fe_command_wish {
    enum { FE_WISH_NONE, FE_WISH_QUIT, FE_WISH_EVENTS, FE_WISH_MARK } what;
    uint64_t mark;
};

#define FE_CONTROL_LINE_MAX 65536 /* bytes of a request, without its newline */

/* Carries out one line of len bytes, without its newline.  Returns the reply: one line with its
 * newline and a NUL, which the caller frees; NULL without memory. */
char *fe_command_run(struct fe_server *s, const char *line, size_t len, enum fe_said_by by,
                     struct fe_command_wish *ret_wish);

/* Makes lines of some of the events from number *next on, and moves *next behind them.  Returns
 * false if there are none; otherwise *ret_lines is like a reply above. */
bool fe_command_events(struct fe_server *s, uint64_t *next, char **ret_lines);

/* The reply to something that is not a request; like a reply above. */
char *fe_command_error(const char *text);
