/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How late a served request is, seen by a client, and whether lateness adds up.
 *
 *   served URI SERVICE_US COUNT DEPTH spin|block
 *
 * Every read of the device takes SERVICE_US by its profile.  Prints what a request took
 * beyond that (p50, p99, max), and for the whole run elapsed over modelled time: with
 * DEPTH requests always in flight the device never pauses, so the two are equal if no
 * late wake-up moves the model.  A client that spins does not add its own wake-up.
 */
#include <libnbd.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MAX_DEPTH = 64 };

struct slot {
    int64_t cookie;
    uint64_t start;
    char data[512];
};

static uint64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static int by_value(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static void check(int64_t r)
{
    if (r == -1) {
        fprintf(stderr, "served: %s\n", nbd_get_error());
        exit(1);
    }
}

static void submit(struct nbd_handle *h, struct slot *s, uint64_t i)
{
    s->start = now();
    s->cookie = nbd_aio_pread(h, s->data, sizeof s->data, i % 1024 * 512, NBD_NULL_COMPLETION, 0);
    check(s->cookie);
}

int main(int argc, char **argv)
{
    if (argc != 6)
        return fprintf(stderr, "served URI SERVICE_US COUNT DEPTH spin|block\n"), 2;
    const uint64_t service = strtoull(argv[2], NULL, 10) * 1000;
    const uint64_t count = strtoull(argv[3], NULL, 10);
    const unsigned depth = (unsigned)atoi(argv[4]);
    const int timeout = strcmp(argv[5], "spin") ? -1 : 0;
    static struct slot slots[MAX_DEPTH];
    int64_t *late = calloc(count, sizeof *late);
    struct nbd_handle *h = nbd_create();
    if (!late || !h || depth < 1 || depth > MAX_DEPTH || count < depth)
        return 2;
    check(nbd_connect_uri(h, argv[1]));

    uint64_t sent = 0, done = 0, begin = now();
    for (unsigned i = 0; i < depth; i++)
        submit(h, &slots[i], sent++);
    while (done < count) {
        check(nbd_poll(h, timeout));
        for (unsigned i = 0; i < depth; i++) {
            int r = slots[i].cookie ? nbd_aio_command_completed(h, (uint64_t)slots[i].cookie) : 0;
            check(r);
            if (r == 0)
                continue;
            late[done++] = (int64_t)(now() - slots[i].start) - (int64_t)(service * depth);
            slots[i].cookie = 0;
            if (sent < count)
                submit(h, &slots[i], sent++);
        }
    }
    double elapsed = (double)(now() - begin);
    qsort(late, count, sizeof *late, by_value);
    printf("depth %2u, %s: late p50 %.1f us, p99 %.1f us, max %.1f us; elapsed / modelled %.5f\n",
           depth, argv[5], (double)late[count / 2] / 1e3, (double)late[count * 99 / 100] / 1e3,
           (double)late[count - 1] / 1e3, elapsed / (double)(service * count));
    nbd_close(h);
    free(late);
    return 0;
}
