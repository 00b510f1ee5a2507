/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Small devices whose power fails, and what must be found on them afterwards.
 *
 * Each sector that request i writes says "version i + 1 of sector s".  A sector that was never
 * written, or that was trimmed, is zeros.  A version of a sector is promised once its request
 * has been answered and, if there is a volatile cache, flushed.  At an instant a sector may hold
 * the last promised version, or any later one that the host has asked for:
 *
 *     version   1   2   3   4   5
 *                       ^   `---`---- asked for, may have arrived or not
 *                       least: promised
 *
 * Two keys of a profile weaken the promise:
 *
 *   ftl.trim_lost        Any version of a trimmed page may come back.
 *   faults.cut:partner   A page that was programmed long ago may be lost together with the
 *                        page that shares its cells.  Then the newest copy that the chip still
 *                        has must be found.  All other pages are promised as usual.  The bench
 *                        finds out by itself which pages these are: the cells of MLC blocks
 *                        outside SLC mode have two pages each.
 */
#pragma once

#include "store/io.h"
#include "flashemu/device.h"
#include "lib/rand.h"

#include <stdbool.h>

/* Geometries from FT_CRASH_SHAPES on repeat the first ones, on a chip that wears out. */
enum { FT_CRASH_SHAPES = 12, FT_CRASH_GEOMETRIES = 20 };

struct ft_crash_request {
    struct fe_request req;
    uint64_t arrival_ns, complete_ns;
    bool refused;             /* at the end of life, or by the host; it may be done in part */
};

struct ft_crash {
    char id[64];              /* SEED:GEOMETRY:STRATEGY */
    uint64_t seed;
    struct fe_profile profile;
    const struct fe_store_file *file; /* the image of `live`; NULL: `live` is in memory */
    struct fe_device *live;   /* runs the workload; if it is in memory, it never loses power */
    struct fe_device *cut[2]; /* take over its state and lose power; cut[1] during recovery */
    bool has_cache;           /* a volatile one */
    bool host_fails;          /* the host may stop writing the image; a request that is refused
                                 because of that may be half done */
    uint32_t n_sectors;
    uint8_t *buf;             /* room for the whole capacity */
    struct ft_crash_request *done;
    uint32_t n_done;
    uint64_t *least;          /* per sector: the first version that is allowed */
    uint64_t *found;          /* per sector: the version of the newest copy on the chip, if a cut
                                 was allowed to destroy another copy; otherwise UINT64_MAX */
    uint32_t *had;            /* per physical page: the logical page there at the instant of the
                                 cut */
    uint64_t *last_zero;      /* per sector: the last version that is zeros */
    char wrong[600];
};

/* Makes the profile of a case; see devices.c.  Returns false if the strategy refuses every set of
 * parameters that was tried for this shape. */
bool ft_crash_profile(struct fe_profile *p, uint64_t seed, uint32_t geometry, uint32_t type);

/* Makes the devices of a case.  Returns false with c->wrong if that fails, and false with an empty
 * c->wrong if the strategy refuses the case.  If there is a file, which must outlive *c, only
 * the live device is made. */
bool ft_crash_init(struct ft_crash *c, uint64_t seed, uint32_t geometry, uint32_t type,
                   const struct fe_store_file *file);
void ft_crash_fini(struct ft_crash *c);

/* A host that carries out this many more writes to images and then fails.  UINT64_MAX: the host
 * never fails. */
extern uint64_t ft_crash_writes_left;
struct fe_io ft_crash_io(void);

/* Makes up the name of an image that does not exist yet, in /dev/shm if possible. */
void ft_crash_image_path(char path[64]);

/* Ends the live device as a kill does, and makes it again from its image. */
bool ft_crash_reopen(struct ft_crash *c);

/* Submits the next request of the workload to the live device at now_ns.  False with c->wrong. */
bool ft_crash_step(struct ft_crash *c, struct ft_rand *r, uint64_t now_ns);

/* Copies chip, undo and clock of `from` to `to`.  What the controller knows is not copied, so power
 * has to fail next. */
void ft_crash_copy(struct fe_device *to, const struct fe_device *from);

/* Computes c->least: what is allowed if power fails at that instant of the live device. */
void ft_crash_expect(struct ft_crash *c, uint64_t at_ns);

/* To be called before power fails on dev at that instant, and afterwards.  If an interrupted
 * program takes its partner page along, promised data may be lost with that page.  Then no more is
 * expected of exactly this data than the newest copy that is left on the chip.  Losses are added
 * to those that are known already. */
void ft_crash_before_cut(struct ft_crash *c, const struct fe_device *dev, uint64_t at_ns);
void ft_crash_note_loss(struct ft_crash *c, const struct fe_device *dev);

/* A hash of everything on the chip except the bytes of its pages, and of the list of trims. */
uint64_t ft_crash_hash(const struct fe_device *dev);

/* Reads everything, compares it with what is allowed, and checks every invariant.  False with
 * c->wrong. */
bool ft_crash_read(struct ft_crash *c, struct fe_device *dev);

/* Does the same.  Then power fails once more while nothing is under way, which must not change
 * anything on the chip.  False with c->wrong. */
bool ft_crash_verify(struct ft_crash *c, struct fe_device *dev);

/* Lets the device work on: makes some writes, which must read back.  False with c->wrong. */
bool ft_crash_go_on(struct ft_crash *c, struct fe_device *dev, uint64_t seed);
