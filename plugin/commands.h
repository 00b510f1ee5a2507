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
 *   quit             {"ok":true}, and the server ends in order
 *
 * The interface's other commands answer that this version does not support them.
 */
#ifndef FLASHEMU_PLUGIN_COMMANDS_H
#define FLASHEMU_PLUGIN_COMMANDS_H

#include "server.h"

#include <stdbool.h>
#include <stddef.h>

#define FE_CONTROL_LINE_MAX 65536 /* bytes of a request, its newline not counted */

/* Carries out one line (len bytes, no newline).  Returns the reply, one line with its
 * newline, ended by NUL, to be freed; NULL without memory.  *ret_quit = true if the
 * server is to end. */
char *fe_command_run(struct fe_server *s, const char *line, size_t len, bool *ret_quit);

/* The reply to what is no request. */
char *fe_command_error(const char *text);

#endif
