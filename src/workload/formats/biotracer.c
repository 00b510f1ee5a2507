/* SPDX-License-Identifier: BSD-3-Clause
 *
 * BIOtracer's logs of the eMMC of a Nexus 5 (Zhou, Pan, Wang and Xie, "I/O characteristics of
 * smartphone applications and their implications for eMMC design", IISWC 2015; its README).
 *
 *     7053312  8  4096  5  100.000001  100.000002  100.000010  100.000810
 *
 * The address counts sectors of 512 bytes.  The length is taken from the third column, in bytes; the
 * authors say that the driver adds a sector to some of the second.  The lowest bit of the flags is
 * set for a write.  The four times, in seconds, are those at which the request was made, fetched by
 * the driver, given to the hardware, and finished.  The third one is when the device got it.
 *
 * The format is not written: a trace has not all of its times.
 */
#include "workload/formats/columns.h"

static const struct fe_columns columns = {
    .names = "SECTOR SECTORS BYTES FLAGS MADE_S FETCHED_S SUBMITTED_S FINISHED_S",
    .layout = "onlwnntc",
    .separator = ' ',
    .odd = FE_REQ_WRITE,
    .time_ns = 1000000000,
    .decimals = 9,
    .offset_bytes = 512,
    .length_bytes = 1,
    .relative = true,
};

const struct fe_trace_format fe_trace_biotracer = {
    .name = "biotracer",
    .summary = "BIOtracer's logs of an eMMC, times in s",
    .columns = &columns,
};
