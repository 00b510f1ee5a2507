/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The CSV of Alibaba's block traces (Li and others, "An in-depth analysis of cloud block storage
 * workloads in large-scale production", IISWC 2020; the README of alibaba/block-traces).
 *
 *     0,R,126703661056,4096,1577808000000046
 *
 * Offset and length are in bytes, the time is in us since 1970.
 */
#include "workload/formats/columns.h"

static const struct fe_columns columns = {
    .names = "device_id,opcode,offset,length,timestamp",
    .layout = "dwolt",
    .separator = ',',
    .read = "R",
    .write = "W",
    .time_ns = 1000,
    .offset_bytes = 1,
    .length_bytes = 1,
    .relative = true,
    .first = UINT64_C(1577808000000000),
    .device = "0",
};

const struct fe_trace_format fe_trace_alibaba = {
    .name = "alibaba",
    .summary = "the CSV of Alibaba's block traces, times in us (--from-device DEVICE)",
    .columns = &columns,
    .put = fe_columns_put,
};
