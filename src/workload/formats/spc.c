/* SPDX-License-Identifier: BSD-3-Clause
 *
 * SPC, the trace format of the Storage Performance Council (its "Trace File Format Specification",
 * revision 1.0.1, 2002), in which UMass publishes Financial and WebSearch.
 *
 *     0,20941264,8192,W,0.551706
 *
 * The address counts blocks, whose size is not in the file; it is 512 bytes in all published traces.
 * The size is in bytes, the time in seconds from the start.  Letters may be small, blanks may stand
 * around a field, and further fields may follow.
 */
#include "workload/formats/columns.h"

static const struct fe_columns columns = {
    .names = "ASU,LBA,Size,Opcode,Timestamp",
    .layout = "dolwt",
    .separator = ',',
    .more = true,
    .read = "R r",
    .write = "W w",
    .time_ns = 1000000000,
    .decimals = 9,
    .offset_bytes = 512,
    .length_bytes = 1,
    .device = "0",
};

const struct fe_trace_format fe_trace_spc = {
    .name = "spc",
    .summary = "SPC, as UMass publishes it: blocks of 512 bytes (--from-device ASU)",
    .columns = &columns,
    .put = fe_columns_put,
};
