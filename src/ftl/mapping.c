/* SPDX-License-Identifier: BSD-3-Clause */
#include "ftl/ftl.h"
#include "ftl/mapping.h"

enum fe_status fe_mapped_read(struct fe_ftl *ftl, fe_lpn lpn, uint32_t off, uint32_t len, void *buf)
{
    assert(lpn < ftl->n_lpns);
    return fe_read_mapped(ftl->medium, fe_mapped(ftl->map[lpn]), off, len, buf);
}

fe_ppn fe_mapped_locate(const struct fe_ftl *ftl, fe_lpn lpn)
{
    return fe_mapped(ftl->map[lpn]);
}
