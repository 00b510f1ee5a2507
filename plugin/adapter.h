/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the parts of the adapter between nbdkit and the server share:
 *
 *     plugin.c     start, end, and what a client is told about the device
 *     requests.c   connections and their requests
 *     exports.c    which device a connection gets
 *     adapter.c    what these have in common
 */
#pragma once

#define NBDKIT_API_VERSION 2
#include <nbdkit-plugin.h>

#include "params.h"
#include "server.h"

/* Set before the server serves, and constant until it ends. */
struct adapter {
    struct fe_params params;
    struct fe_profile profile; /* what each device is made from; a device has a copy, which is what
                                  live keys change */
    struct fe_server *server; /* the device of all connections, or of the export "" */
};
extern struct adapter adapter;

/* Prints what this server has to say by now. */
void fe_adapter_report_notice(struct fe_server *s);

/* The callbacks of nbdkit-plugin(3) with these names. */
void *fe_requests_open(int readonly);
void fe_requests_close(void *handle);
int fe_requests_pread(void *handle, void *buf, uint32_t count, uint64_t offset, uint32_t flags);
int fe_requests_pwrite(void *handle, const void *buf, uint32_t count, uint64_t offset,
                       uint32_t flags);
int fe_requests_flush(void *handle, uint32_t flags);
int fe_requests_trim(void *handle, uint32_t count, uint64_t offset, uint32_t flags);
int fe_requests_zero(void *handle, uint32_t count, uint64_t offset, uint32_t flags);
int fe_requests_cache(void *handle, uint32_t count, uint64_t offset, uint32_t flags);
int fe_requests_extents(void *handle, uint32_t count, uint64_t offset, uint32_t flags,
                        struct nbdkit_extents *extents);
