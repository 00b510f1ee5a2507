/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A load for an NBD server: one connection, a fixed depth, for a fixed time.
 *
 *   plugin_load SOCKET read|write random|sequential BLOCK DEPTH SECONDS
 *
 * Prints operations per second.  C and libnbd's asynchronous calls, so that the client
 * costs little compared with the server: the benchmark compares servers.
 */
#include <errno.h>
#include <libnbd.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct load {
    struct nbd_handle *nbd;
    bool write, sequential;
    size_t block;
    uint64_t n_blocks, next, rng;
    uint64_t n_done;
    unsigned in_flight;
};

struct slot {
    struct load *load;
    char *buf;
    bool busy;
};

static void die(void)
{
    fprintf(stderr, "plugin_load: %s\n", nbd_get_error());
    exit(1);
}

static double now(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

static uint64_t next_block(struct load *l)
{
    if (l->sequential)
        return l->next++ % l->n_blocks;
    l->rng ^= l->rng << 13; /* xorshift64, Marsaglia 2003 */
    l->rng ^= l->rng >> 7;
    l->rng ^= l->rng << 17;
    return l->rng % l->n_blocks;
}

static int done(void *user_data, int *error)
{
    struct slot *s = user_data;
    if (*error) {
        fprintf(stderr, "plugin_load: %s\n", strerror(*error));
        exit(1);
    }
    s->busy = false;
    s->load->in_flight--;
    s->load->n_done++;
    return 1; /* retire the command */
}

static void start(struct slot *s)
{
    struct load *l = s->load;
    uint64_t at = next_block(l) * l->block;
    nbd_completion_callback cb = {.callback = done, .user_data = s};
    s->busy = true;
    l->in_flight++;
    int64_t r = l->write ? nbd_aio_pwrite(l->nbd, s->buf, l->block, at, cb, 0)
                         : nbd_aio_pread(l->nbd, s->buf, l->block, at, cb, 0);
    if (r < 0)
        die();
}

static void run(struct load *l, struct slot *slots, unsigned depth, double end)
{
    bool going = true;
    while (going || l->in_flight) {
        for (unsigned i = 0; going && i < depth; i++)
            if (!slots[i].busy)
                start(&slots[i]);
        if (nbd_poll(l->nbd, -1) < 0)
            die();
        going = going && now() < end;
    }
}

int main(int argc, char **argv)
{
    if (argc != 7) {
        fputs("usage: plugin_load SOCKET read|write random|sequential BLOCK DEPTH SECONDS\n",
              stderr);
        return 2;
    }
    struct load l = {.nbd = nbd_create(), .rng = 88172645463325252u};
    unsigned depth = (unsigned)atoi(argv[5]);
    struct slot *slots = calloc(depth, sizeof *slots);

    l.write = strcmp(argv[2], "write") == 0;
    l.sequential = strcmp(argv[3], "sequential") == 0;
    l.block = (size_t)atol(argv[4]);
    if (!l.nbd || !slots || nbd_connect_unix(l.nbd, argv[1]) < 0)
        die();
    l.n_blocks = (uint64_t)nbd_get_size(l.nbd) / l.block;
    for (unsigned i = 0; i < depth; i++) {
        slots[i] = (struct slot){.load = &l, .buf = malloc(l.block)};
        if (!slots[i].buf)
            return 1;
        memset(slots[i].buf, (int)i + 1, l.block);
    }
    double begin = now();
    run(&l, slots, depth, begin + atof(argv[6]));
    printf("%.1f\n", (double)l.n_done / (now() - begin));
    nbd_shutdown(l.nbd, 0);
    nbd_close(l.nbd);
    for (unsigned i = 0; i < depth; i++)
        free(slots[i].buf);
    free(slots);
    return 0;
}
