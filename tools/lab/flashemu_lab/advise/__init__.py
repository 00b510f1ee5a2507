# SPDX-License-Identifier: BSD-3-Clause
"""Advice: where to start a partition, and how to format it.

    workloads    what advice can be about
    sd_layout    where filesystems lie on a device
    paste        lines that make a partition and a filesystem
    raw_writes   the experiment behind the first part of advice: partitions without a filesystem
    filesystems  the one behind the second part: filesystems, from recordings
"""
