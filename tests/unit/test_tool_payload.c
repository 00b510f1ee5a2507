/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Data of a replay: what is read is compared with what was written there last, whatever becomes of
 * the requests.
 */
#include "lib/device.h"
#include "lib/rand.h"
#include "lib/unit.h"
#include "replay/content.h"
#include "replay/payload.h"

/* ---- the content ---- */

static void test_content_is_of_its_sector_and_generation_only(void **state)
{
    (void)state;
    enum { SECTOR = 512 };
    const struct content c = content_make(SECTOR, 7), other = content_make(SECTOR, 8);
    uint8_t data[SECTOR + 1], *unaligned = data + 1;
    content_fill(&c, 4096, 3, unaligned);
    assert_true(content_is(&c, 4096, 3, unaligned));
    assert_false(content_is(&c, 4096, 2, unaligned));
    assert_false(content_is(&c, 4608, 3, unaligned));
    assert_false(content_is(&c, 4096, 0, unaligned));
    assert_false(content_is(&other, 4096, 3, unaligned));
    for (unsigned i = 0; i < SECTOR; i++) {
        unaligned[i] ^= 1;
        assert_false(content_is(&c, 4096, 3, unaligned));
        unaligned[i] ^= 1;
    }
    memset(unaligned, 0xff, SECTOR);
    assert_true(content_is(&c, 0, 0, unaligned));
    unaligned[SECTOR - 1] = 0;
    assert_false(content_is(&c, 0, 0, unaligned));
}

/* ---- the payload of a device ---- */

enum { N_REQS = 4000 };

static struct payload *payload_for(struct fe_device *dev)
{
    struct payload *p = NULL;
    struct fe_err err;
    fe_err_init(&err);
    assert_int_equal(payload_create(&p, dev, 5, &err), 0);
    return p;
}

static enum fe_status submit(struct payload *p, struct fe_device *dev, struct fe_request req)
{
    struct fe_reply reply;
    struct fe_err err;
    fe_err_init(&err);
    if (req.type != FE_REQ_TRIM) {
        req.buf = payload_begin(p, &req, &err);
        assert_non_null(req.buf);
    }
    assert_int_equal(fe_device_submit(dev, 0, &req, &reply), 0);
    payload_end(p, &req, reply.status);
    return reply.status;
}

/* A read, write or trim of one sector up to 128 KiB; some of a page. */
static struct fe_request draw(struct ft_rand *r, const struct fe_device *dev, unsigned trims)
{
    uint64_t n = fe_device_capacity(dev) / 512, page = fe_device_page_bytes(dev) / 512;
    uint64_t len = ft_chance(r, 40) ? page : ft_between(r, 1, ft_chance(r, 5) ? 256 : 16);
    len = len < n ? len : n;
    uint64_t at = ft_below(r, n - len + 1);
    at = len == page ? at / page * page : at;
    return (struct fe_request){
        .type = ft_chance(r, trims) ? FE_REQ_TRIM
                : ft_chance(r, 60)  ? FE_REQ_WRITE
                                    : FE_REQ_READ,
        .offset = at * 512, .len = len * 512};
}

/* Nothing is wrong, and all sectors that are read are compared but those of which nobody knows what
 * they hold: trimmed, and not written since.  Hints change nothing. */
static void test_payload_compares_each_sector_that_is_known(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 6; seed++) {
        const char *strategies[] = {"page", "dftl", "segment"}; /* the last has no trim */
        struct fe_profile profile = ft_device_profile(strategies[seed % 3]);
        struct fe_device *dev = ft_device_make(&profile, false);
        struct payload *p = payload_for(dev);
        struct ft_rand r = {.seed = seed};
        uint64_t first, want = 0;
        bool *is_trimmed = calloc(fe_device_capacity(dev) / 512, sizeof *is_trimmed);
        assert_non_null(is_trimmed);
        for (int i = 0; i < N_REQS; i++) {
            struct fe_request req = draw(&r, dev, seed % 3 == 2 ? 0 : 5);
            for (uint64_t k = req.offset / 512; k < (req.offset + req.len) / 512; k++) {
                want += req.type == FE_REQ_READ && !is_trimmed[k];
                if (req.type != FE_REQ_READ)
                    is_trimmed[k] = req.type == FE_REQ_TRIM;
            }
            payload_fetch(p, ft_below(&r, fe_device_capacity(dev)));
            assert_int_equal(submit(p, dev, req), FE_OK);
        }
        assert_int_equal(payload_wrong(p, &first), 0);
        assert_int_equal(payload_verified(p), want);
        free(is_trimmed);
        payload_destroy(p);
        fe_device_destroy(dev);
    }
}

/* Somebody else writes a sector: each later read of it is wrong, until it is written again. */
static void test_payload_notices_a_wrong_sector(void **state)
{
    (void)state;
    struct fe_profile profile = ft_device_profile("page");
    struct fe_device *dev = ft_device_make(&profile, false);
    struct payload *p = payload_for(dev);
    uint32_t page = fe_device_page_bytes(dev);
    const struct fe_request write = {.type = FE_REQ_WRITE, .offset = page, .len = page};
    const struct fe_request read = {.type = FE_REQ_READ, .offset = page, .len = page};
    uint8_t other[512];
    uint64_t first = 0;
    memset(other, 1, sizeof other);
    submit(p, dev, write);
    submit(p, dev, read);
    assert_int_equal(payload_wrong(p, &first), 0);
    ft_device_submit(dev, FE_REQ_WRITE, 0, page + 512, 512, other, false);
    submit(p, dev, read);
    submit(p, dev, write);
    submit(p, dev, read);
    assert_int_equal(payload_wrong(p, &first), 1);
    assert_int_equal(first, page + 512);
    assert_int_equal(payload_verified(p), 3 * page / 512);
    payload_destroy(p);
    fe_device_destroy(dev);
}

/* A write that failed may have done anything, and so may a trim: a read behind it is not compared.
 * The next write that succeeds ends that. */
static void test_payload_doubts_what_failed(void **state)
{
    (void)state;
    struct fe_profile profile = ft_device_profile("page");
    struct fe_device *dev = ft_device_make(&profile, false);
    struct payload *p = payload_for(dev);
    uint32_t page = fe_device_page_bytes(dev), n = page / 512;
    const struct fe_request write = {.type = FE_REQ_WRITE, .len = page};
    const struct fe_request read = {.type = FE_REQ_READ, .len = page};
    struct fe_request both = {.type = FE_REQ_READ, .len = 2 * page};
    struct fe_err err;
    uint64_t first;
    fe_err_init(&err);
    submit(p, dev, write);
    assert_non_null(payload_begin(p, &write, &err)); /* does not reach the device */
    payload_end(p, &write, FE_PROG_FAILED);
    submit(p, dev, read);
    assert_int_equal(payload_verified(p), 0);
    submit(p, dev, write);
    submit(p, dev, read);
    assert_int_equal(payload_verified(p), n);
    submit(p, dev, both);
    assert_int_equal(payload_verified(p), 3 * n);
    assert_int_equal(payload_wrong(p, &first), 0);
    payload_end(p, &(struct fe_request){.type = FE_REQ_TRIM, .len = page}, FE_OK);
    both.buf = payload_begin(p, &both, &err);
    memset(both.buf, 0, both.len);
    payload_end(p, &both, FE_UNCORRECTABLE);
    assert_int_equal(payload_verified(p), 3 * n); /* nothing came back */
    payload_end(p, &both, FE_OK);
    assert_int_equal(payload_verified(p), 4 * n); /* of two pages the first is doubtful */
    assert_int_equal(payload_wrong(p, &first), 0); /* and the other one was never written */
    payload_destroy(p);
    fe_device_destroy(dev);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_content_is_of_its_sector_and_generation_only),
        cmocka_unit_test(test_payload_compares_each_sector_that_is_known),
        cmocka_unit_test(test_payload_notices_a_wrong_sector),
        cmocka_unit_test(test_payload_doubts_what_failed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
