/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The CSV of the MSR Cambridge block traces (Narayanan, Donnelly, Rowstron, FAST 2008).
 *
 *     128166372003061629,usr,0,Read,7014609920,24576,41286
 *
 * Timestamp and ResponseTime are Windows file times, in units of 100 ns.  Offset and size are in
 * bytes.  The traces of several hosts are not perfectly ordered: a request with an earlier date than
 * the first one counts as simultaneous with it.
 *
 * A trace that is written begins in February 2007, as the published ones do.
 */
#include "workload/formats/columns.h"

static const struct fe_columns columns = {
    .names = "Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime",
    .layout = "tddwolr",
    .separator = ',',
    .read = "Read",
    .write = "Write",
    .time_ns = 100,
    .took_ns = 100,
    .offset_bytes = 1,
    .length_bytes = 1,
    .relative = true,
    .joint = '.',
    .first = UINT64_C(128166372000000000),
    .device = "flashemu.0",
};

const struct fe_trace_format fe_trace_msr = {
    .name = "msr",
    .summary = "the CSV of the MSR Cambridge traces (--from-device HOST.DISK)",
    .columns = &columns,
    .put = fe_columns_put,
};
