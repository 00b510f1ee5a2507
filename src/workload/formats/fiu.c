/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The traces of Florida International University (Koller and Rangaswami, "I/O Deduplication", FAST
 * 2010; SNIA IOTTA 391, its README).
 *
 *     89966720336 4892 syslogd 904265560 8 W 6 0 531e779b4cad67e67d5aa8dd8fb3a2b6
 *
 * The time is in ns and counts from the start of the collection, which has many files.  Address and
 * size count blocks of 512 bytes.  A digest of the content is the last column.
 *
 * The format is not written: a trace has no contents.
 */
#include "workload/formats/columns.h"

static const struct fe_columns columns = {
    .names = "TIME_NS PID PROCESS BLOCK BLOCKS OP MAJOR MINOR DIGEST",
    .layout = "tpxolwdd-",
    .separator = ' ',
    .read = "R",
    .write = "W",
    .time_ns = 1,
    .offset_bytes = 512,
    .length_bytes = 512,
    .relative = true,
    .joint = ',',
};

const struct fe_trace_format fe_trace_fiu = {
    .name = "fiu",
    .summary = "the traces of FIU, with digests (--from-device MAJ,MIN)",
    .columns = &columns,
};
