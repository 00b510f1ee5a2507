/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Small devices whose power fails, and what must be found on them afterwards.
 *
 * Versions: request i writes sectors that say "version i + 1 of sector s"; a sector that
 * was never written, or trimmed, is zeros.  At an instant the versions from some number on
 * are allowed in each sector: what has been promised (answered, and flushed if there is a
 * volatile cache) and all that was asked for after that.
 *
 * Less is promised by two keys of a profile.  ftl.trim_lost: of a trimmed page any version
 * may come back.  faults.cut_partner: a page that was programmed long ago may be lost with the
 * one that shares its cells; then the newest copy that the chip still has is what must be found,
 * and of all other pages nothing less than ever.
 */
#ifndef FT_CRASH_BENCH_H
#define FT_CRASH_BENCH_H

#include "flashemu/device.h"
#include "lib/rand.h"

#include <stdbool.h>

/* Those from FT_CRASH_SHAPES on are the first ones again, on a chip that wears out. */
enum { FT_CRASH_SHAPES = 12, FT_CRASH_GEOMETRIES = 20 };

struct ft_crash_request {
    struct fe_request req;
    uint64_t arrival_ns, complete_ns;
    bool refused;             /* at the end of life, or by the host: it may have been done in part */
};

struct ft_crash {
    char id[64];              /* SEED:GEOMETRY:STRATEGY */
    uint64_t seed;
    struct fe_profile profile;
    const struct fe_store_file *file; /* the image of live; NULL: in memory */
    struct fe_device *live;   /* runs the workload; in memory it never loses power */
    struct fe_device *cut[2]; /* take its state and lose power; the second during recovery */
    bool has_cache;           /* that power cuts empty */
    bool host_fails;          /* it may stop writing the image; what is refused then may be half done */
    uint32_t n_sectors;
    uint8_t *buf;             /* the whole capacity */
    struct ft_crash_request *done;
    uint32_t n_done;
    uint64_t *least;          /* per sector: the first version that is allowed */
    uint64_t *found;          /* per sector: what the newest copy on the chip has, if it counts */
    uint64_t *last_zero;      /* per sector: the last version that is zeros */
    char wrong[512];
};

/* devices.c: the device of a case.  False if the strategy refuses every set of parameters
 * that was tried for this shape. */
bool ft_crash_profile(struct fe_profile *p, uint64_t seed, uint32_t geometry, uint32_t type);

/* False with c->wrong if there is no such device, c->wrong empty if the strategy refuses it.
 * With a file, which must outlive *c, there is only the live device. */
bool ft_crash_init(struct ft_crash *c, uint64_t seed, uint32_t geometry, uint32_t type,
                   const struct fe_store_file *file);
void ft_crash_fini(struct ft_crash *c);

/* A host that carries out so many more writes to images and then fails; UINT64_MAX: all. */
extern uint64_t ft_crash_writes_left;
struct fe_io ft_crash_io(void);

/* A name for an image, which does not exist yet; in memory if there is room for it. */
void ft_crash_image_path(char path[64]);

/* The live device is made again from its image, and the old one dies as by a kill. */
bool ft_crash_reopen(struct ft_crash *c);

/* The next request of the workload, on the live device, at now_ns. */
bool ft_crash_step(struct ft_crash *c, struct ft_rand *r, uint64_t now_ns);

/* `to` becomes as `from` is: chip, undo and clock.  What its controller knows does not
 * follow, so power has to fail next. */
void ft_crash_copy(struct fe_device *to, const struct fe_device *from);

/* What is allowed at an instant of the live device. */
void ft_crash_expect(struct ft_crash *c, uint64_t at_ns);

/* Power has failed on dev.  Where an interrupted program takes its partner along, what was
 * promised may be gone with that: no more is expected than the newest copies on the chip have. */
void ft_crash_note_loss(struct ft_crash *c, const struct fe_device *dev);

/* Everything on the chip but the bytes of its pages, and what is trimmed. */
uint64_t ft_crash_hash(const struct fe_device *dev);

/* Reads everything and runs every check.  False with c->wrong. */
bool ft_crash_read(struct ft_crash *c, struct fe_device *dev);

/* The same; then power fails again while nothing is under
 * way, which must change nothing on the chip.  False with c->wrong. */
bool ft_crash_verify(struct ft_crash *c, struct fe_device *dev);

/* The device goes on to work: some writes that must read back. */
bool ft_crash_go_on(struct ft_crash *c, struct fe_device *dev, uint64_t seed);

#endif
