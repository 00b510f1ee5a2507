/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Experiment `runs`: reads or writes the sectors in order, from the first one on, one sector in
 * each request.  It looks from outside at which requests of such a run take long:
 *
 *   ms |
 *      |        |          |                     |        a delay: more than half way from
 *      |. . . . | . . . . .|. . . . . . . . . . .|. . .   the quickest to the slowest request
 *      +-------------------------------------------- block of the run
 *        2      1st        2nd                   3rd
 *
 * The first request of a run may take any time and does not count.
 */
#include "verify/verify.h"

#include "base/num.h"

enum { SECTOR = 512, MAX_BLOCKS = 4096 };

/* The block with the nth delay, both counted from 1; 0 if there are fewer delays. */
static uint64_t find_delay(const uint64_t *ns, uint64_t blocks, uint64_t nth)
{
    uint64_t least = UINT64_MAX, most = 0;

    for (uint64_t i = 1; i < blocks; i++) {
        least = fe_min_u64(least, ns[i]);
        most = fe_max_u64(most, ns[i]);
    }
    for (uint64_t i = 1; i < blocks && most > least; i++)
        if (ns[i] - least > (most - least) / 2 && --nth == 0)
            return i + 1;
    return 0;
}

static int run_of(struct verify_run *run, enum fe_req_type type, const char *procedure,
                  struct fe_err *err)
{
    uint64_t ns[MAX_BLOCKS];
    struct fe_device *dev;

    int r = verify_device(run, &dev, err);
    if (r < 0)
        return r;
    uint64_t blocks = fe_min_u64(MAX_BLOCKS, fe_device_capacity(dev) / SECTOR);
    for (uint64_t i = 0; i < blocks && r == 0; i++)
        r = verify_request(dev, type, i * SECTOR, SECTOR, &ns[i], err);
    fe_device_destroy(dev);
    if (r < 0)
        return r;
    uint64_t found = find_delay(ns, blocks, run->arg[0]);
    if (found)
        verify_put(run, procedure, found);
    return 0;
}

int verify_runs(struct verify_run *run, struct fe_err *err)
{
    int r = run_of(run, FE_REQ_READ, "run-read-delay", err);

    return r < 0 ? r : run_of(run, FE_REQ_WRITE, "run-write-delay", err);
}
