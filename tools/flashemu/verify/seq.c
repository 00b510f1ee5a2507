/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Experiment `seq`: writes a region in order from the start of the device, then reads it in order.
 */
#include "verify/verify.h"

static int pass(struct fe_device *dev, enum fe_req_type type, uint64_t bs, uint64_t size,
                uint64_t *ret_rate, struct fe_err *err)
{
    uint64_t start = fe_device_now(dev);

    for (uint64_t at = 0; at < size; at += bs) {
        int r = verify_request(dev, type, at, size - at < bs ? size - at : bs, NULL, err);
        if (r < 0)
            return r;
    }
    *ret_rate = verify_rate(size, fe_device_now(dev) - start);
    return 0;
}

int verify_seq(struct verify_run *run, struct fe_err *err)
{
    uint64_t bs = run->arg[0], size = run->arg[1], rate = 0;
    struct fe_device *dev;

    int r = verify_device(run, &dev, err);
    if (r < 0)
        return r;
    r = pass(dev, FE_REQ_WRITE, bs, size, &rate, err);
    if (r == 0) {
        verify_put(run, "seq-write", rate);
        r = pass(dev, FE_REQ_READ, bs, size, &rate, err);
    }
    if (r == 0)
        verify_put(run, "seq-read", rate);
    fe_device_destroy(dev);
    return r;
}
