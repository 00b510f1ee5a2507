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
    p.ftl = ft_ftl_params((uint32_t)fe_ftl_find(strategy), 8 * PAGE);
    p.link = (struct fe_link_params){.max_transfer = 2 * PAGE, .queue_depth = 1};
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
