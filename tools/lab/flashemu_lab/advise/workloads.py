# SPDX-License-Identifier: BSD-3-Clause
"""What advice can be about.

A workload is a pattern of `flashemu gen`, in which a layout and a device fill in the amounts, or
stands in recordings only.
"""

from __future__ import annotations

# The words of a layout: where the partition starts, the cluster, how the pattern lays out the FATs
# and to what it aligns the data area, where that begins, and where the partition ends.
_FAT = "gen:fat-append,start={start},cluster={cluster},layout={style},align={align},size={end},"
WORKLOADS = {
    "large-file": _FAT + "bs=%(large)s,sync=%(sync)s,count=%(larges)s",
    "small-files": _FAT + "bs=64K,sync=64K,files=100,count=%(smalls)s",
    "database": "gen:random,op=write,bs=4K,offset={data},size=%(region)s,flush=1,count=1000",
    "log": _FAT + "bs=4K,sync=4K,count=%(logs)s",
    "files-at-once": _FAT + "bs=64K,sync=4M,files=4,count=%(several)s",
    "video": _FAT + "bs=%(large)s,sync=%(large)s,count=%(videos)s",
}
ABOUT = {
    "large-file": "a file grows in large requests",
    "small-files": "many small files in new clusters",
    "database": "pages of 4 KiB at random places of a file, each with a flush",
    "log": "a file grows by small entries, each synced",
    "files-at-once": "four files grow in turn by 64 KiB",
    "video": "a file grows in large requests, each followed by its metadata",
    "boot": "a tree of files is read in any order",
    "packages": "dpkg installs Debian packages",
}
# What sentences call them, where the name alone would lack its article.
NOUNS = {"large-file": "a large file", "database": "a database", "log": "a log", "video": "a video",
          "boot": "booting"}
# Workloads that only recordings can stand for: reads, and what no FAT32 can hold.
RECORDED = ("boot", "packages")
