/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The traces that MQSim simulates (the README of CMU-SAFARI/MQSim, "Trace-based workload").
 *
 *     4253 0 32 8 0
 *
 * The time is in ns, as in MQSim's own traces, and a whole number, by which the format differs from
 * DiskSim's.  Address and size count sectors of 512 bytes.  0 is a write and 1 a read.
 */
#include "workload/formats/columns.h"

static const struct fe_columns columns = {
    .names = "TIME_NS DEVICE SECTOR SECTORS TYPE",
    .layout = "tdolw",
    .separator = ' ',
    .read = "1",
    .write = "0",
    .time_ns = 1,
    .offset_bytes = 512,
    .length_bytes = 512,
    .device = "0",
};

const struct fe_trace_format fe_trace_mqsim = {
    .name = "mqsim",
    .summary = "what MQSim reads: whole ns, sectors, 1 = read (--from-device NUMBER)",
    .columns = &columns,
    .put = fe_columns_put,
};
