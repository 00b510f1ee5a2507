/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A key that may change while the device runs has its effect at once: a device to which it was set
 * before its first request is the device that was made with it.
 */
#include "lib/rand.h"
#include "lib/unit.h"

#include "flashemu/device.h"
#include "flashemu/map.h"
#include "profile/options.h"
#include "profile/parse.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { REQUESTS = 900, CAPACITY = 512 << 10, N_WITH = 4 };

/* A change, and what the profile has besides. */
struct change {
    const char *key, *value;
    const char *with[N_WITH];
};

#define SPARES "faults.spare_blocks=8"
#define SLOW   "faults.end_of_life=slow"
#define STEP   "ftl.type=step"

static const struct change changes[] = {
    {"nand.tR", "70us", {0}},
    {"nand.tPROG", "1ms", {0}},
    {"nand.tBERS", "9ms", {0}},
    {"nand.worn", "read:1000%", {"nand.endurance=50"}},
    {"nand.worn:read", "1000%", {"nand.endurance=50"}},
    {"nand.worn:program", "1000%", {"nand.endurance=50"}},
    {"nand.worn:erase", "1000%", {"nand.endurance=50"}},
    {"nand.worn:end", "1000%", {"nand.endurance=4", SPARES}},
    {"ftl.unit_read", "1ms", {"ftl.type=segment", "ftl.unit_size=64K"}},
    {"link.bandwidth", "1MB/s", {0}},
    {"link.command_overhead", "3ms", {0}},
    {"link.task_overhead", "2ms", {"link.queue_depth=4"}},
    {"link.write_overhead", "2ms", {0}},
    {"link.busy_poll", "500us", {"link.queue=off"}},
    {"link.busy_ask", "2ms", {"link.queue=off", "link.busy_poll=500us"}},
    {"link.busy_late", "90%", {"link.queue=off", "link.busy_poll=500us"}},
    {"faults.slow_factor", "20", {SLOW, "faults.fail:program=1%"}},
    {"faults.weak_block", "3", {"faults.weak_block:cycles=1", SPARES}},
    {"faults.weak_block:cycles", "1", {SPARES}},
    {"faults.fail", "program:1%", {SPARES}},
    {"faults.fail:program", "1%", {SPARES}},
    {"faults.fail:erase", "5%", {SPARES}},
    {"faults.fail:program_number", "5", {SPARES}},
    {"faults.fail:erase_number", "1", {SPARES}},
    {"faults.hang:request", "7", {0}},
    {"faults.hang", "1s", {"faults.hang:request=7"}},
    {"faults.disconnect:request", "7", {0}},
    {"faults.disconnect", "10ms", {"faults.disconnect:request=7"}},
    {"faults.lie", "lost-write@3", {0}},
    {"step.read_random", "3ms", {STEP}},
    {"step.read_spike", "5ms", {STEP, "step.read_spike:first=3", "step.read_spike:limit=2"}},
    {"step.write_random", "3ms", {STEP}},
    {"step.write_step", "1ms", {STEP}},
    {"step.read_spike:first", "3", {STEP, "step.read_spike=5ms"}},
    {"step.read_spike:limit", "2", {STEP, "step.read_spike=5ms"}},
    {"step.write_spike:first", "3", {STEP, "step.write_spike=5ms"}},
    {"step.write_spike:period", "2", {STEP, "step.write_spike=5ms"}},
    {"step.write_spike", "5ms", {STEP, "step.write_spike:first=3", "step.write_spike:period=2"}},
};

static const char text[] = "[device]\ncapacity = 512K\n"
                           "[nand]\ncell = mlc\nblocks_per_plane = 56\npages_per_block = 8\n"
                           "page_size = 2K\ntR = 50us\ntPROG = 300us/900us\ntBERS = 2ms\n"
                           "[ftl]\ntype = page\n[link]\ntype = usb-hs\n";
static const char step_text[] = "[device]\ncapacity = 512K\n[ftl]\ntype = step\n"
                                "[step]\nread_random = 900us\nwrite_random = 2ms\n";

/* The device of a change; `made` = it has the new value from the beginning. */
static struct fe_device *make_device(const struct change *c, bool made)
{
    const struct fe_device_options opt = {.seed = 1, .payload = false};
    const char *overrides[N_WITH + 1];
    char setting[64];
    struct fe_profile p;
    struct fe_device *dev = NULL;
    struct fe_err err = {""};
    uint32_t n = 0;

    for (; c->with[n]; n++)
        overrides[n] = c->with[n];
    snprintf(setting, sizeof setting, "%s=%s", c->key, c->value);
    if (made)
        overrides[n++] = setting;
    const char *ini = c->with[0] && strcmp(c->with[0], STEP) == 0 ? step_text : text;
    if (fe_profile_parse(&p, "x.ini", ini, strlen(ini), overrides, n, &err) < 0 ||
        fe_device_create(&dev, &p, &opt, &err) < 0)
        fail_msg("%s: %s", c->key, err.text);
    fe_profile_fini(&p);
    return dev;
}

/* What the same requests give: times and statuses, and which blocks are worn and bad. */
static uint64_t run(struct fe_device *dev)
{
    struct ft_rand r = {.seed = 1};
    struct fe_block_wear blocks[64];
    uint64_t hash = 0, next = 0;

    for (int i = 0; i < REQUESTS; i++) {
        struct fe_request req = {.type = i / 8 % 3 ? FE_REQ_WRITE : FE_REQ_READ, .len = 8192};
        struct fe_reply reply;
        req.offset = i % 16 && next + req.len <= CAPACITY ? next : 4096 * ft_below(&r, 100);
        next = req.offset + req.len;
        uint64_t now = fe_device_now(dev) + 1000000; /* time passes also while it is gone */
        assert_int_equal(fe_device_submit(dev, now, &req, &reply), 0);
        hash = hash * 31 + reply.complete_ns * 8 + reply.status;
    }
    assert_true(fe_device_blocks(dev) <= ft_array_len(blocks));
    fe_device_get_blocks(dev, blocks);
    for (uint32_t i = 0; i < fe_device_blocks(dev); i++)
        hash = hash * 31 + blocks[i].cycles * 8 + blocks[i].state;
    return hash;
}

static void test_live_keys_count_at_once(void **state)
{
    (void)state;
    for (size_t i = 0; i < ft_array_len(changes); i++) {
        const struct change *c = &changes[i];
        struct fe_device *was = make_device(c, false), *set = make_device(c, false);
        struct fe_device *made = make_device(c, true);
        struct fe_err err = {""};
        if (fe_device_set(set, c->key, c->value, &err) < 0)
            fail_msg("%s", err.text);
        uint64_t want = run(made);
        if (run(set) != want)
            fail_msg("%s=%s counts otherwise when it is set", c->key, c->value);
        if (run(was) == want)
            fail_msg("%s=%s changes nothing here", c->key, c->value);
        fe_device_destroy(was);
        fe_device_destroy(set);
        fe_device_destroy(made);
    }
}

/* A key that went: the heir is set; its default, or a value of no heir, is answered as in a profile. */
static void test_live_old_keys(void **state)
{
    (void)state;
    struct fe_device *dev = make_device(&changes[0], false);
    struct fe_err err = {""};
    char value[64];
    assert_int_equal(fe_device_set(dev, "faults.hang_request", "7", &err), 0);
    assert_true(fe_profile_get(fe_device_profile(dev), "faults.hang", value, sizeof value));
    assert_string_equal(value, "60s,request:7");
    assert_int_equal(fe_device_set(dev, "ftl.direct_read", "4K", &err), 0);
    assert_int_equal(fe_device_set(dev, "ftl.direct_read", "8K", &err), -EINVAL);
    fe_err_init(&err);
    assert_int_equal(fe_device_set(dev, "ftl.slc_write", "64K", &err), -EPERM);
    fe_device_destroy(dev);
}

static void test_live_all_of_them_are_tried(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < fe_n_options; i++) {
        char key[64];
        bool tried = false;
        snprintf(key, sizeof key, "%s.%s", fe_section_name(fe_options[i].section),
                 fe_options[i].key);
        for (size_t k = 0; k < ft_array_len(changes); k++)
            tried = tried || strcmp(changes[k].key, key) == 0;
        if (tried != fe_options[i].live)
            fail_msg("%s: %s", key, tried ? "is not live" : "is live and has no line here");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_live_keys_count_at_once),
        cmocka_unit_test(test_live_old_keys),
        cmocka_unit_test(test_live_all_of_them_are_tried),
    };
    return cmocka_run_group_tests_name("live", tests, NULL, NULL);
}
