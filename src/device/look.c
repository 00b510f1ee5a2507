/* SPDX-License-Identifier: BSD-3-Clause
 *
 * An image without its profile: the image has it, and the device is made from that.
 *
 * A device that is looked at is built as a served one is, by the same code.  Only the store is
 * different: what is written to it stays in memory (struct fe_store_file).
 */
#include "device/internal.h"

#include "store/image_file.h"

#include <errno.h>
#include <string.h>

static int look(struct fe_device **ret, const struct fe_store_file *as, bool recover,
                struct fe_err *err)
{
    struct fe_store_file file = {.path = as->path, .read_only = true, .io = as->io};
    struct fe_device_options opt = {.payload = true, .file = &file, .chip_only = !recover};
    struct fe_profile profile;
    int r = fe_device_image_profile(&profile, &file, err);
    if (r < 0)
        return r;
    r = fe_device_create(ret, &profile, &opt, err);
    fe_profile_fini(&profile);
    return r;
}

int fe_device_look(struct fe_device **ret, const char *path, bool recover, struct fe_err *err)
{
    struct fe_store_file file = {.path = path};
    return look(ret, &file, recover, err);
}

/* The device is started in memory, as a server would start it. */
int fe_device_judge(const struct fe_store_file *file, struct fe_err *err)
{
    struct fe_device *dev;
    struct fe_err why = {""};
    int r = look(&dev, file, true, &why);
    if (r == 0)
        fe_device_destroy(dev);
    bool names_file = strncmp(why.text, file->path, strlen(file->path)) == 0;
    return r == 0 ? 0 : fe_err_set(err, -r, names_file || r == -ENOMEM ? "%.0s%s" : "%.160s: %s",
                                   file->path, why.text);
}
