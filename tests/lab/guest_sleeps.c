/* SPDX-License-Identifier: BSD-3-Clause
 *
 * For a guest: sleeps 10 ms a thousand times, and then until each of a thousand instants 10 ms apart.
 * Prints the time of the former together, and how late the earliest and the latest of the latter woke, in
 * ns.  A timer may be as late as the slack of its task, which is 1 ns here.
 */
#include <inttypes.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <time.h>

#define TIMES 1000
#define NS_PER_S INT64_C(1000000000)
#define SLEEP_NS INT64_C(10000000)

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * NS_PER_S + t.tv_nsec;
}

int main(void)
{
    const struct timespec sleep = {0, SLEEP_NS};
    int64_t begin_ns, together_ns, least_ns = INT64_MAX, most_ns = INT64_MIN;

    if (prctl(PR_SET_TIMERSLACK, 1ul) < 0)
        return 1;
    begin_ns = now_ns();
    for (int i = 0; i < TIMES; i++)
        if (nanosleep(&sleep, NULL) < 0)
            return 1;
    together_ns = now_ns() - begin_ns;
    begin_ns = now_ns();
    for (int i = 1; i <= TIMES; i++) {
        int64_t until_ns = begin_ns + i * SLEEP_NS;
        struct timespec until = {until_ns / NS_PER_S, until_ns % NS_PER_S};
        if (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) != 0)
            return 1;
        int64_t late_ns = now_ns() - until_ns;
        least_ns = late_ns < least_ns ? late_ns : least_ns;
        most_ns = late_ns > most_ns ? late_ns : most_ns;
    }
    printf("%" PRId64 " %" PRId64 " %" PRId64 "\n", together_ns, least_ns, most_ns);
    return 0;
}
