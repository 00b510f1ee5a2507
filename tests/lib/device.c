/* SPDX-License-Identifier: BSD-3-Clause */
#include "lib/device.h"

#include "lib/ftl_params.h"
#include "lib/unit.h"

#include "ftl/ftl.h"

enum { PAGE = 2048 };

struct fe_profile ft_device_profile(const char *strategy)
{
    struct fe_profile p = {.name = "test"};
    p.device = (struct fe_device_params){.capacity = 64 * PAGE, .sector_size = 512};
    p.nand = (struct fe_nand_params){
        .cell = FE_CELL_SLC, .channels = 1, .dies_per_channel = 1, .planes_per_die = 1,
        .blocks_per_plane = 24, .pages_per_block = 8, .page_size = PAGE, .oob_size = 64,
        .tR_ns = {25000}, .tPROG_ns = {200000}, .tBERS_ns = 1500000, .bus_rate = 1000000000,
        .endurance = 1000};
    p.wear.rank_ppm = FE_MEDIAN_PPM;
    p.ftl = ft_ftl_params((uint32_t)fe_ftl_find(strategy), 8 * PAGE);
    p.link = (struct fe_link_params){.max_transfer = 2 * PAGE, .queue_depth = 1};
    return p;
}

struct fe_profile ft_device_linked(const char *strategy)
{
    struct fe_profile p = ft_device_profile(strategy);
    p.nand.command_ns = 100;
    p.link.bandwidth = 1000000000;
    p.link.command_overhead_ns = 10000;
    return p;
}

struct fe_profile ft_device_dies(uint32_t dies, uint32_t queue_depth)
{
    struct fe_profile p = ft_device_profile("page");
    p.nand.channels = dies;
    p.nand.bus_rate = 0;
    p.link.queue_depth = queue_depth;
    p.link.max_transfer = 64 * PAGE;
    p.device.used = p.device.capacity;
    return p;
}

struct fe_device *ft_device_make(const struct fe_profile *p, bool power_cuts)
{
    struct fe_device_options opt = {.seed = 1, .payload = true, .power_cuts = power_cuts};
    struct fe_device *dev = NULL;
    struct fe_err err;
    fe_err_init(&err);
    if (fe_device_create(&dev, p, &opt, &err) < 0)
        fail_msg("%s", err.text);
    return dev;
}

void ft_device_refused(const struct fe_profile *p, int errnum, const char *text)
{
    struct fe_device_options opt = {.seed = 1};
    struct fe_device *dev = NULL;
    struct fe_err err;
    fe_err_init(&err);
    int r = fe_device_create(&dev, p, &opt, &err);
    if (r != -errnum || dev)
        fail_msg("%s: %d, not %d with '%s'", fe_ftl_registry[p->ftl.type]->name, r, -errnum, text);
    if (!strstr(err.text, text))
        fail_msg("'%s' does not say '%s'", err.text, text);
}

struct fe_reply ft_device_submit(struct fe_device *dev, enum fe_req_type type, uint64_t now,
                                 uint64_t offset, uint64_t len, void *buf, bool fua)
{
    struct fe_request req = {.type = type, .offset = offset, .len = len, .buf = buf, .fua = fua};
    struct fe_reply reply;
    assert_int_equal(fe_device_submit(dev, now, &req, &reply), 0);
    assert_int_equal(reply.status, FE_OK);
    return reply;
}
