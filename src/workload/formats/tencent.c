/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The CSV of Tencent's block traces (Zhang and others, "OSCA", USENIX ATC 2020; the README of SNIA
 * IOTTA 27917).
 *
 *     1538323200,12910952,128,0,1063
 *
 * The time is in seconds since 1970.  Offset and size count sectors of 512 bytes.  0 is a read and 1
 * a write.  There are only numbers, so a first line must have a date between 2001 and 2096.
 *
 * The format is not written: times in whole seconds would pile up what was apart.
 */
#include "workload/formats/columns.h"

static const struct fe_columns columns = {
    .names = "Timestamp,Offset,Size,IOType,VolumeID",
    .layout = "tolwd",
    .separator = ',',
    .read = "0",
    .write = "1",
    .time_ns = 1000000000,
    .offset_bytes = 512,
    .length_bytes = 512,
    .relative = true,
    .has_range = true,
    .least = 1000000000,
    .most = 3999999999,
};

const struct fe_trace_format fe_trace_tencent = {
    .name = "tencent",
    .summary = "the CSV of Tencent's block traces, times in s (--from-device VOLUME)",
    .columns = &columns,
};
