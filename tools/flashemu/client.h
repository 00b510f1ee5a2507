/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The tool's end of a control socket: requests in words, replies as lines of JSON.
 *
 * Every step has the same deadline, because a server may be stopped in a debugger or the
 * socket may be somebody else's.  Functions return exit codes, TOOL_OK or TOOL_USAGE after a
 * message "COMMAND: PATH: ...".
 */
#ifndef FLASHEMU_CLIENT_H
#define FLASHEMU_CLIENT_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

struct client {
    const char *command, *path; /* of the tool, for messages; of the socket */
    int fd;                     /* -1 before client_connect */
    uint64_t deadline_ns;
    char *reply; /* one line without its newline, ended by NUL; after it what came besides */
    size_t reply_len, reply_size, reply_end;
};

/* The deadline is so far from now. */
void client_wait(struct client *c, uint64_t ns);

int client_connect(struct client *c);

/* One request {"cmd":words[0],"args":[words[1],...]}, and its reply, in c->reply. */
int client_ask(struct client *c, char **words, int n);

/* The next line becomes the reply. */
int client_recv(struct client *c);

/* A new reference to the reply, an object with a boolean "ok"; NULL after a message. */
json_t *client_reply(const struct client *c);

/* Says it of this socket; TOOL_USAGE. */
int client_error(const struct client *c, const char *what);

void client_close(struct client *c);

#endif
