/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The tool's end of a control socket: requests consist of words, and replies are lines of JSON.
 *
 * Each step has a deadline, because the server may be stopped in a debugger, or the socket may
 * belong to another program.  Functions return an exit code: TOOL_OK, or TOOL_USAGE after a
 * message "COMMAND: PATH: ...".
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct client {
    const char *command, *path; /* the tool's command, for messages; the path of the socket */
    int fd;                     /* -1 before client_connect */
    uint64_t deadline_ns;
    char *reply; /* one line, with a NUL instead of its newline; further bytes may follow */
    size_t reply_len, reply_size, reply_end; /* of the line; allocated; received */
};

/* Sets the deadline to ns from now. */
void client_wait(struct client *c, uint64_t ns);

int client_connect(struct client *c);

/* Sends the request {"cmd":words[0],"args":[words[1],...]} and receives its reply in c->reply. */
int client_ask(struct client *c, char **words, int n);

/* Receives the next line in c->reply. */
int client_recv(struct client *c);

/* Waits until the server closes the connection.  False if it has not at the deadline. */
bool client_ends(const struct client *c);

/* Whether client_recv would find at least the beginning of a line without waiting. */
bool client_has_line(const struct client *c);

/* Parses the reply: a new reference to an object with a boolean "ok"; NULL after a message. */
json_t *client_reply(const struct client *c);

/* Prints a message about this socket; returns TOOL_USAGE. */
int client_error(const struct client *c, const char *what);

void client_close(struct client *c);
