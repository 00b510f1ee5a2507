/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What people run on cards in single-board computers, without the computer: `fio` with one block
 * size, the sniff test for application classes (`sniff`), `iozone`, and `dd` with fsync (`dd`).
 *
 * The file lies in one piece at the device's start and has been written before.  Between two tests
 * the host does nothing for a second, which a program needs at least to start the next one.
 *
 * Not modelled: the filesystem.  It adds little to direct requests on a file that exists.  It does
 * add something where a file grows, and there the kernel's own procedures are the better ones.
 */
#include "verify/verify.h"

#include "base/num.h"

enum { SNIFF_FILE = 64 << 20, DD_BYTES = 50 * 1024 * 8192, MIB = 1 << 20 };

#define SNIFF_NS (10 * FE_NS_PER_S)

/* A test of an experiment: its procedure, and whether that counts requests or bytes a second. */
struct test {
    const char *procedure; /* NULL: a preparation, which gives no figure */
    struct verify_load load;
    bool per_second;
};

/* Runs the tests in their order on one device. */
static int run_tests(struct verify_run *run, const struct test *tests, size_t n,
                     struct fe_err *err)
{
    struct fe_device *dev;
    int r = verify_device(run, &dev, err);

    if (r < 0)
        return r;
    for (size_t i = 0; i < n && r == 0; i++) {
        struct verify_load load = tests[i].load;
        struct verify_done done;
        load.seed = run->seed;
        verify_pause(dev, VERIFY_PAUSE_NS);
        r = verify_load(dev, &load, &done, err);
        if (r < 0 || !tests[i].procedure)
            continue;
        verify_put(run, tests[i].procedure,
                   tests[i].per_second
                       ? fe_muldiv(done.requests, FE_NS_PER_S, fe_max_u64(done.ns, 1))
                       : verify_load_rate(&load, &done));
    }
    fe_device_destroy(dev);
    return r;
}

#define N_TESTS(tests) (sizeof(tests) / sizeof(tests)[0])

/* Most procedures exist twice: as the profile is, and with queue and cache off, or on a host with
 * another link. */
static const char *name(const struct verify_run *run, const char *on, const char *off)
{
    return run->procedure->override ? off : on;
}

#define NAME(procedure) name(run, procedure, procedure "-cq-off")
#define NAME_DDR50(procedure) name(run, procedure, procedure "-ddr50")

static struct verify_load blocks(enum fe_req_type type, uint64_t bs, uint64_t size, uint64_t depth,
                                 bool random)
{
    return (struct verify_load){
        .type = type, .bs = bs, .size = size, .depth = depth, .random = random};
}

int verify_fio(struct verify_run *run, struct fe_err *err)
{
    uint64_t bs = run->arg[0], depth = run->arg[1], size = run->arg[2];
    const struct test tests[] = {
        {NULL, blocks(FE_REQ_WRITE, MIB, size, 1, false), false},
        {NAME("fio-read"), blocks(FE_REQ_READ, bs, size, depth, false), false},
        {NAME("fio-write"), blocks(FE_REQ_WRITE, bs, size, depth, false), false},
        {NAME("fio-randread"), blocks(FE_REQ_READ, bs, size, depth, true), false},
        {NAME("fio-randwrite"), blocks(FE_REQ_WRITE, bs, size, depth, true), false},
    };

    return run_tests(run, tests, N_TESTS(tests), err);
}

/* github raspberrypi-ui/agnostics, data/sd_bench.fio: libaio, iodepth 4, end_fsync. */
static struct verify_load sniff(enum fe_req_type type, uint64_t bs, bool random)
{
    struct verify_load load = blocks(type, bs, SNIFF_FILE, 4, random);
    load.limit_ns = SNIFF_NS;
    load.flush = type == FE_REQ_WRITE;
    return load;
}

int verify_sniff(struct verify_run *run, struct fe_err *err)
{
    const struct test tests[] = {
        {NULL, sniff(FE_REQ_WRITE, 512 << 10, false), false},
        {NAME("sniff-seq-write"), sniff(FE_REQ_WRITE, 512 << 10, false), false},
        {NAME("sniff-rand-write"), sniff(FE_REQ_WRITE, 4096, true), true},
        {NAME("sniff-seq-read"), sniff(FE_REQ_READ, 512 << 10, false), false},
        {NAME("sniff-rand-read"), sniff(FE_REQ_READ, 4096, true), true},
    };

    return run_tests(run, tests, N_TESTS(tests), err);
}

/* iozone -e -I -a -s SIZE -r BS: one direct request at a time, and fsync in the time of writes.
 * The host's think time belongs to the figure, so another one makes another run. */
int verify_iozone(struct verify_run *run, struct fe_err *err)
{
    uint64_t bs = run->arg[0], size = run->arg[1];
    struct verify_load write = blocks(FE_REQ_WRITE, bs, size, 1, false);
    struct verify_load read = blocks(FE_REQ_READ, bs, size, 1, false);
    write.flush = true;
    write.think_ns = read.think_ns = run->arg[2];
    struct verify_load rand_write = write, rand_read = read;
    rand_write.random = rand_read.random = true;
    const struct test tests[] = {
        {"iozone-seq-write", write, false},
        {NULL, write, false}, /* it writes the file twice, and reads it twice */
        {"iozone-seq-read", read, false},
        {NULL, read, false},
        {NAME_DDR50("iozone-rand-read"), rand_read, false},
        {NAME_DDR50("iozone-rand-write"), rand_write, false},
    };

    return run_tests(run, tests, N_TESTS(tests), err);
}

/* The kernel joins what dd writes into requests of the largest size, and has the next one ready
 * when one completes.  dd's block size therefore does not matter.  It begins some time after dd. */
int verify_dd(struct verify_run *run, struct fe_err *err)
{
    uint64_t bs = fe_min_u64(run->profile->link.max_transfer, 32 * MIB);
    struct verify_load load = blocks(FE_REQ_WRITE, bs, DD_BYTES, 2, false);
    load.flush = true;
    load.start_ns = run->arg[0];
    const struct test tests[] = {
        {"read-ddr50", blocks(FE_REQ_READ, bs, 128 * MIB, 2, false), false},
        {NAME_DDR50("dd-fsync"), load, false},
    };
    size_t first = run->procedure->override ? 0 : 1; /* the kernel has hdparm itself otherwise */

    return run_tests(run, tests + first, N_TESTS(tests) - first, err);
}
