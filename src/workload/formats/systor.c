/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The CSV of the block traces of SYSTOR '17 (Lee and others, "Understanding storage traffic
 * characteristics on enterprise virtual desktop infrastructure"; SNIA IOTTA 4928, its README).
 *
 *     1456095145.133076000,0.000806000,R,0,899056122368,131072
 *
 * Both times are in seconds, the first one since 1970.  The response is empty where it was not
 * recorded.  Offset and size are in bytes.
 */
#include "workload/formats/columns.h"

static const struct fe_columns columns = {
    .names = "Timestamp,Response,IOType,LUN,Offset,Size",
    .layout = "trwdol",
    .separator = ',',
    .read = "R",
    .write = "W",
    .time_ns = 1000000000,
    .took_ns = 1000000000,
    .decimals = 9,
    .offset_bytes = 1,
    .length_bytes = 1,
    .relative = true,
    .first = 1456095145,
    .device = "0",
};

const struct fe_trace_format fe_trace_systor = {
    .name = "systor",
    .summary = "the CSV of the traces of SYSTOR '17 (--from-device LUN)",
    .columns = &columns,
    .put = fe_columns_put,
};
