/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Data that are made ahead by a thread: none is left out, none comes twice, and what is read is
 * still compared with what was written, whatever becomes of the requests.
 */
#include "lib/device.h"
#include "lib/rand.h"
#include "lib/unit.h"
#include "replay/content.h"
#include "replay/maker.h"
#include "replay/payload.h"

#include <time.h>

/* ---- the ring ---- */

struct made {
    uint64_t n, asked; /* jobs so far; they must come in their order */
    uint64_t n_wrong;  /* the thread cannot fail a test itself */
};

static void make_number(void *ctx, struct maker_job *job)
{
    struct made *m = ctx;
    memcpy(job->buf, &m->n, sizeof m->n);
    m->n_wrong += job->offset != m->n || m->asked <= m->n; /* the hint comes first */
    m->n++;
}

static void ask_number(void *ctx, const struct maker_job *job)
{
    struct made *m = ctx;
    m->n_wrong += job->offset != m->asked;
    m->asked++;
}

/* Jobs are put and taken in bursts of any size, sometimes so late that the thread sleeps. */
static void test_maker_makes_each_job_once_and_in_order(void **state)
{
    (void)state;
    struct made made = {0};
    struct maker *m = maker_create(make_number, ask_number, &made);
    struct ft_rand r = {.seed = 1};
    uint64_t bufs[MAKER_JOBS], n_put = 0, n_taken = 0;
    assert_non_null(m);
    for (int burst = 0; burst < 3000; burst++) {
        uint64_t n = ft_below(&r, MAKER_JOBS + 1);
        for (uint64_t i = 0; i < n && maker_room(m) > 0; i++, n_put++) {
            struct maker_job job = {.offset = n_put, .buf = (uint8_t *)&bufs[maker_next(m)]};
            maker_put(m, &job);
        }
        if (burst % 300 == 0)
            nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
        for (uint64_t k = ft_below(&r, MAKER_JOBS + 1); k > 0 && n_taken < n_put; k--, n_taken++) {
            struct maker_job *job = maker_take(m);
            assert_int_equal(job->offset, n_taken);
            assert_int_equal(bufs[n_taken % MAKER_JOBS], n_taken);
            maker_done(m);
        }
        assert_int_equal(maker_room(m), MAKER_JOBS - (n_put - n_taken));
    }
    while (n_taken < n_put) {
        assert_int_equal(maker_take(m)->offset, n_taken++);
        maker_done(m);
    }
    assert_null(maker_take(m));
    maker_destroy(m);
    assert_int_equal(made.n, n_put);
    assert_int_equal(made.n_wrong, 0);
    maker_destroy(NULL);
}

/* What was put and not taken is no obstacle, whether the thread has heard of it or not. */
static void test_maker_ends_with_jobs(void **state)
{
    (void)state;
    for (unsigned n = 0; n <= MAKER_JOBS; n++) {
        struct made made = {0};
        struct maker *m = maker_create(make_number, ask_number, &made);
        uint64_t bufs[MAKER_JOBS];
        for (unsigned i = 0; i < n; i++)
            maker_put(m, &(struct maker_job){.offset = i, .buf = (uint8_t *)&bufs[i]});
        maker_destroy(m);
        assert_true(made.n <= n);
        assert_int_equal(made.n_wrong, 0);
    }
}

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

static struct payload *payload_for(struct fe_device *dev, bool ahead)
{
    struct payload *p = NULL;
    struct fe_err err;
    fe_err_init(&err);
    assert_int_equal(payload_create(&p, dev, 5, ahead, &err), 0);
    return p;
}

/* Reads, writes and trims, of one sector up to twice as much as is made ahead; some of a page. */
static void make_requests(struct ft_rand *r, const struct fe_device *dev, unsigned trims,
                          struct fe_request *reqs)
{
    uint64_t n = fe_device_capacity(dev) / 512, page = fe_device_page_bytes(dev) / 512;
    for (int i = 0; i < N_REQS; i++) {
        uint64_t len = ft_chance(r, 40) ? page : ft_between(r, 1, ft_chance(r, 5) ? 256 : 16);
        len = len < n ? len : n;
        uint64_t at = ft_below(r, n - len + 1);
        at = len == page ? at / page * page : at;
        reqs[i] = (struct fe_request){
            .type = ft_chance(r, trims) ? FE_REQ_TRIM
                    : ft_chance(r, 60)  ? FE_REQ_WRITE
                                        : FE_REQ_READ,
            .offset = at * 512, .len = len * 512};
    }
}

/* Announces up to `most` requests early, and runs all of them. */
static void run(struct payload *p, struct fe_device *dev, const struct fe_request *reqs, int most)
{
    int ahead = 0;
    struct fe_err err;
    fe_err_init(&err);
    for (int i = 0; i < N_REQS; i++) {
        for (ahead = i > ahead ? i : ahead; ahead < N_REQS && ahead < i + most; ahead++)
            if (reqs[ahead].type != FE_REQ_TRIM && !payload_announce(p, &reqs[ahead], 1))
                break;
        struct fe_request req = reqs[i];
        struct fe_reply reply;
        if (req.type != FE_REQ_TRIM) {
            req.buf = payload_begin(p, &req, &err);
            assert_non_null(req.buf);
        }
        assert_int_equal(fe_device_submit(dev, 0, &req, &reply), 0);
        payload_end(p, &req, reply.status);
    }
}

/* Whether made ahead or not, and however far: the same device and the same comparisons. */
static void test_payload_is_the_same_however_far_ahead(void **state)
{
    (void)state;
    static struct fe_request reqs[N_REQS];
    for (uint64_t seed = 1; seed <= 6; seed++) {
        const char *strategies[] = {"page", "dftl", "segment"}; /* the last has no trim */
        struct fe_profile profile = ft_device_profile(strategies[seed % 3]);
        struct ft_rand r = {.seed = seed};
        uint64_t verified = 0, first;
        for (int most = 0; most <= 200; most += most ? 66 : 1) {
            struct fe_device *dev = ft_device_make(&profile, false);
            struct payload *p = payload_for(dev, most > 0);
            if (most == 0)
                make_requests(&r, dev, seed % 3 == 2 ? 0 : 5, reqs);
            run(p, dev, reqs, most);
            assert_int_equal(payload_wrong(p, &first), 0);
            assert_true(payload_verified(p) > N_REQS / 2);
            verified = verified ? verified : payload_verified(p);
            assert_int_equal(payload_verified(p), verified);
            payload_destroy(p);
            fe_device_destroy(dev);
        }
    }
}

/* Somebody else writes a sector: each later read of it is wrong, until it is written again. */
static void test_payload_notices_a_wrong_sector(void **state)
{
    (void)state;
    struct fe_profile profile = ft_device_profile("page");
    for (int ahead = 0; ahead < 2; ahead++) {
        struct fe_device *dev = ft_device_make(&profile, false);
        struct payload *p = payload_for(dev, ahead);
        uint32_t page = fe_device_page_bytes(dev);
        struct fe_request write = {.type = FE_REQ_WRITE, .offset = page, .len = page};
        struct fe_request read = {.type = FE_REQ_READ, .offset = page, .len = page};
        const struct fe_request *order[] = {&write, &read, NULL, &read, &write, &read};
        struct fe_err err;
        uint8_t other[512];
        uint64_t first = 0;
        memset(other, 1, sizeof other);
        fe_err_init(&err);
        for (size_t i = 0; i < ft_array_len(order); i++) {
            struct fe_reply reply;
            if (!order[i]) {
                assert_int_equal(payload_wrong(p, &first), 0);
                ft_device_submit(dev, FE_REQ_WRITE, 0, page + 512, 512, other, false);
                continue;
            }
            struct fe_request req = *order[i];
            assert_int_equal(payload_announce(p, &req, 1), ahead);
            req.buf = payload_begin(p, &req, &err);
            assert_int_equal(fe_device_submit(dev, 0, &req, &reply), 0);
            payload_end(p, &req, reply.status);
        }
        assert_int_equal(payload_wrong(p, &first), 1);
        assert_int_equal(first, page + 512);
        assert_int_equal(payload_verified(p), 3 * page / 512);
        payload_destroy(p);
        fe_device_destroy(dev);
    }
}

/* A write that failed may have done anything, and so may a trim: a read behind it is not compared.
 * The next write that succeeds ends that, also if it was announced before the failure. */
static void test_payload_doubts_what_failed(void **state)
{
    (void)state;
    struct fe_profile profile = ft_device_profile("page");
    struct fe_device *dev = ft_device_make(&profile, false);
    struct payload *p = payload_for(dev, true);
    uint32_t page = fe_device_page_bytes(dev), n = page / 512;
    const struct fe_request reqs[] = {
        {.type = FE_REQ_WRITE, .offset = 0, .len = page}, {.type = FE_REQ_WRITE, .len = page},
        {.type = FE_REQ_READ, .offset = 0, .len = page}, {.type = FE_REQ_WRITE, .len = page},
        {.type = FE_REQ_READ, .offset = 0, .len = page}, {.type = FE_REQ_READ, .len = 2 * page}};
    struct fe_err err;
    uint64_t first, want[] = {0, 0, 0, 0, n, 3 * n};
    fe_err_init(&err);
    assert_true(payload_announce(p, reqs, 2));
    assert_true(payload_announce(p, reqs + 2, 2));
    assert_true(payload_announce(p, reqs + 4, 2));
    for (size_t i = 0; i < ft_array_len(reqs); i++) {
        struct fe_request req = reqs[i];
        struct fe_reply reply = {.status = FE_PROG_FAILED};
        req.buf = payload_begin(p, &req, &err);
        if (i != 1) /* the second write does not reach the device */
            assert_int_equal(fe_device_submit(dev, 0, &req, &reply), 0);
        payload_end(p, &req, reply.status);
        assert_int_equal(payload_verified(p), want[i]);
        assert_int_equal(payload_wrong(p, &first), 0);
    }
    payload_end(p, &(struct fe_request){.type = FE_REQ_TRIM, .len = page}, FE_OK);
    struct fe_request read = reqs[5];
    read.buf = payload_begin(p, &read, &err);
    memset(read.buf, 0, read.len);
    payload_end(p, &read, FE_OK);
    assert_int_equal(payload_verified(p), 4 * n); /* of two pages the first is doubtful */
    assert_true(payload_announce(p, reqs, 2)); /* and never begun */
    payload_destroy(p);
    for (int i = 0; i < 256; i++) /* each loan has ended */
        assert_non_null(fe_device_lend(dev, NULL));
    fe_device_destroy(dev);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_maker_makes_each_job_once_and_in_order),
        cmocka_unit_test(test_maker_ends_with_jobs),
        cmocka_unit_test(test_content_is_of_its_sector_and_generation_only),
        cmocka_unit_test(test_payload_is_the_same_however_far_ahead),
        cmocka_unit_test(test_payload_notices_a_wrong_sector),
        cmocka_unit_test(test_payload_doubts_what_failed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
