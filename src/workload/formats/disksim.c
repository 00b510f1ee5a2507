/* SPDX-License-Identifier: BSD-3-Clause
 *
 * DiskSim's ASCII traces (Bucy, Schindler, Schlosser and Ganger, "The DiskSim simulation environment
 * version 4.0 reference manual", the section on traces).
 *
 *     0.551706 0 20941264 16 0
 *
 * The time is in ms and has a decimal point, by which the format differs from MQSim's.  Address and
 * size count sectors of 512 bytes.  The flags are hexadecimal; the lowest bit is set for a read.
 */
#include "workload/formats/columns.h"

static const struct fe_columns columns = {
    .names = "TIME_MS DEVICE SECTOR SECTORS FLAGS",
    .layout = "tdolw",
    .separator = ' ',
    .odd = FE_REQ_READ,
    .time_ns = 1000000,
    .decimals = 6,
    .offset_bytes = 512,
    .length_bytes = 512,
    .device = "0",
};

const struct fe_trace_format fe_trace_disksim = {
    .name = "disksim",
    .summary = "DiskSim's ASCII: ms with a point, sectors, odd = read (--from-device NUMBER)",
    .columns = &columns,
    .put = fe_columns_put,
};
