/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The formats that are nothing but a table: their lines are columns, and columns.c reads and writes
 * them.  They stand in the order in which `flashemu trace --formats` lists them.
 */
#include "workload/formats/columns.h"

/* The CSV of the MSR Cambridge block traces (Narayanan, Donnelly, Rowstron, FAST 2008).
 *
 *     128166372003061629,usr,0,Read,7014609920,24576,41286
 *
 * Timestamp and ResponseTime are Windows file times, in units of 100 ns.  Offset and size are in
 * bytes.  The traces of several hosts are not perfectly ordered: a request with an earlier date than
 * the first one counts as simultaneous with it.
 *
 * A trace that is written begins in February 2007, as the published ones do.
 */
const struct fe_trace_format fe_trace_msr = {
    .name = "msr",
    .summary = "the CSV of the MSR Cambridge traces (--from-device HOST.DISK)",
    .columns = &(const struct fe_columns){
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
    },
    .put = fe_columns_put,
};

/* The CSV of the block traces of SYSTOR '17 (Lee and others, "Understanding storage traffic
 * characteristics on enterprise virtual desktop infrastructure"; SNIA IOTTA 4928, its README).
 *
 *     1456095145.133076000,0.000806000,R,0,899056122368,131072
 *
 * Both times are in seconds, the first one since 1970.  The response is empty where it was not
 * recorded.  Offset and size are in bytes.
 */
const struct fe_trace_format fe_trace_systor = {
    .name = "systor",
    .summary = "the CSV of the traces of SYSTOR '17 (--from-device LUN)",
    .columns = &(const struct fe_columns){
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
    },
    .put = fe_columns_put,
};

/* The CSV of Alibaba's block traces (Li and others, "An in-depth analysis of cloud block storage
 * workloads in large-scale production", IISWC 2020; the README of alibaba/block-traces).
 *
 *     0,R,126703661056,4096,1577808000000046
 *
 * Offset and length are in bytes, the time is in us since 1970.
 */
const struct fe_trace_format fe_trace_alibaba = {
    .name = "alibaba",
    .summary = "the CSV of Alibaba's block traces, times in us (--from-device DEVICE)",
    .columns = &(const struct fe_columns){
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
    },
    .put = fe_columns_put,
};

/* The CSV of Tencent's block traces (Zhang and others, "OSCA", USENIX ATC 2020; the README of SNIA
 * IOTTA 27917).
 *
 *     1538323200,12910952,128,0,1063
 *
 * The time is in seconds since 1970.  Offset and size count sectors of 512 bytes.  0 is a read and 1
 * a write.  There are only numbers, so a first line must have a date between 2001 and 2096.
 *
 * The format is not written: times in whole seconds would pile up what was apart.
 */
const struct fe_trace_format fe_trace_tencent = {
    .name = "tencent",
    .summary = "the CSV of Tencent's block traces, times in s (--from-device VOLUME)",
    .columns = &(const struct fe_columns){
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
    },
};

/* SPC, the trace format of the Storage Performance Council (its "Trace File Format Specification",
 * revision 1.0.1, 2002), in which UMass publishes Financial and WebSearch.
 *
 *     0,20941264,8192,W,0.551706
 *
 * The address counts blocks, whose size is not in the file; it is 512 bytes in all published traces.
 * The size is in bytes, the time in seconds from the start.  Letters may be small, blanks may stand
 * around a field, and further fields may follow.
 */
const struct fe_trace_format fe_trace_spc = {
    .name = "spc",
    .summary = "SPC, as UMass publishes it: blocks of 512 bytes (--from-device ASU)",
    .columns = &(const struct fe_columns){
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
    },
    .put = fe_columns_put,
};

/* The traces that MQSim simulates (the README of CMU-SAFARI/MQSim, "Trace-based workload").
 *
 *     4253 0 32 8 0
 *
 * The time is in ns, as in MQSim's own traces, and a whole number, by which the format differs from
 * DiskSim's.  Address and size count sectors of 512 bytes.  0 is a write and 1 a read.
 */
const struct fe_trace_format fe_trace_mqsim = {
    .name = "mqsim",
    .summary = "what MQSim reads: whole ns, sectors, 1 = read (--from-device NUMBER)",
    .columns = &(const struct fe_columns){
        .names = "TIME_NS DEVICE SECTOR SECTORS TYPE",
        .layout = "tdolw",
        .separator = ' ',
        .read = "1",
        .write = "0",
        .time_ns = 1,
        .offset_bytes = 512,
        .length_bytes = 512,
        .device = "0",
    },
    .put = fe_columns_put,
};

/* DiskSim's ASCII traces (Bucy, Schindler, Schlosser and Ganger, "The DiskSim simulation environment
 * version 4.0 reference manual", the section on traces).
 *
 *     0.551706 0 20941264 16 0
 *
 * The time is in ms and has a decimal point, by which the format differs from MQSim's.  Address and
 * size count sectors of 512 bytes.  The flags are hexadecimal; the lowest bit is set for a read.
 */
const struct fe_trace_format fe_trace_disksim = {
    .name = "disksim",
    .summary = "DiskSim's ASCII: ms with a point, sectors, odd = read (--from-device NUMBER)",
    .columns = &(const struct fe_columns){
        .names = "TIME_MS DEVICE SECTOR SECTORS FLAGS",
        .layout = "tdolw",
        .separator = ' ',
        .odd = FE_REQ_READ,
        .time_ns = 1000000,
        .decimals = 6,
        .offset_bytes = 512,
        .length_bytes = 512,
        .device = "0",
    },
    .put = fe_columns_put,
};

/* The traces of Florida International University (Koller and Rangaswami, "I/O Deduplication", FAST
 * 2010; SNIA IOTTA 391, its README).
 *
 *     89966720336 4892 syslogd 904265560 8 W 6 0 531e779b4cad67e67d5aa8dd8fb3a2b6
 *
 * The time is in ns and counts from the start of the collection, which has many files.  Address and
 * size count blocks of 512 bytes.  A digest of the content is the last column.
 *
 * The format is not written: a trace has no contents.
 */
const struct fe_trace_format fe_trace_fiu = {
    .name = "fiu",
    .summary = "the traces of FIU, with digests (--from-device MAJ,MIN)",
    .columns = &(const struct fe_columns){
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
    },
};

/* BIOtracer's logs of the eMMC of a Nexus 5 (Zhou, Pan, Wang and Xie, "I/O characteristics of
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
const struct fe_trace_format fe_trace_biotracer = {
    .name = "biotracer",
    .summary = "BIOtracer's logs of an eMMC, times in s",
    .columns = &(const struct fe_columns){
        .names = "SECTOR SECTORS BYTES FLAGS MADE_S FETCHED_S SUBMITTED_S FINISHED_S",
        .layout = "onlwnntc",
        .separator = ' ',
        .odd = FE_REQ_WRITE,
        .time_ns = 1000000000,
        .decimals = 9,
        .offset_bytes = 512,
        .length_bytes = 1,
        .relative = true,
    },
};
