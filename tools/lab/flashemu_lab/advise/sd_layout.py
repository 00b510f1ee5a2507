# SPDX-License-Identifier: BSD-3-Clause
"""Where a filesystem's parts lie on a device: the SD Association's layout, and that of mkfs.vfat.

The SD Association gives each capacity a cluster size and a boundary unit, a power of two that a
new card is aligned to.  The table below is that of the manual of mkfs.exfat(8), "recommended by
the SD Card Association".  The rules are:

    FAT12, FAT16   one reserved sector and 512 root entries; the partition begins at the first
                   sector behind one boundary unit from where the data area is aligned
    FAT32          the partition begins at one boundary unit; at least 9 reserved sectors, as many
                   as let the data area begin at a multiple of the unit
    exFAT          the partition begins at one boundary unit; the FAT is the second half of the
                   first unit of the partition, and the cluster heap follows

    device  |......|.......|=====|=====|#########################|
            0      start   FATs        data                      end
                   |reserved|

FAT32 and FAT16 have two FATs, exFAT has one.  The rules were compared with 26 cards as they came
from the factory (tests/lab/test_layout.py).

All places are in sectors of 512 bytes.  `start` counts from the beginning of the device, and the
others from the beginning of the partition.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..core.errors import LabError

SECTOR = 512
_K, _M, _G, _T = 2**10, 2**20, 2**30, 2**40

# Capacity up to, bytes of a cluster, bytes of the boundary unit, filesystem.
SDA = (
    (8 * _M, 8 * _K, 8 * _K, "FAT12"),
    (64 * _M, 16 * _K, 16 * _K, "FAT12"),
    (256 * _M, 16 * _K, 32 * _K, "FAT16"),
    (_G, 16 * _K, 64 * _K, "FAT16"),
    (2 * _G, 32 * _K, 64 * _K, "FAT16"),
    (32 * _G, 32 * _K, 4 * _M, "FAT32"),
    (128 * _G, 128 * _K, 16 * _M, "exFAT"),
    (512 * _G, 256 * _K, 32 * _M, "exFAT"),
    (2 * _T, 512 * _K, 64 * _M, "exFAT"),
)
SMALLEST = _M
_ROOT_SECTORS = 512 * 32 // SECTOR
_LEAST_RESERVED = 9
_MOST_FAT12 = 4084


@dataclass(frozen=True)
class Layout:
    """A partition and the parts of its filesystem.

    filesystem  "FAT12", "FAT16", "FAT32" or "exFAT"
    start       of the partition, in sectors
    sectors     of the partition (mkfs.vfat: those that it uses, whole tracks)
    reserved    sectors before the first FAT; for exFAT the FAT's offset
    fat         sectors of one FAT
    data        first sector of the data area (exFAT: of the cluster heap)
    cluster     bytes
    unit        bytes of the boundary unit
    """

    filesystem: str
    start: int
    sectors: int
    reserved: int
    fat: int
    data: int
    cluster: int
    unit: int

    @property
    def clusters(self) -> int:
        """How many whole clusters fit."""
        return (self.sectors - self.data) * SECTOR // self.cluster


def sda_layout(capacity: int) -> Layout:
    """The SD Association's layout of a device of `capacity` bytes.

    LabError for less than 1 MiB or more than 2 TiB, for which there is no row.
    """
    row = next((row for row in SDA if capacity <= row[0]), None)
    if row is None or capacity < SMALLEST:
        raise LabError(f"a capacity of {capacity} bytes: the SD Association's layout is for "
                       "1 MiB to 2 TiB")
    _, cluster, unit, filesystem = row
    sectors = capacity // SECTOR
    if filesystem == "exFAT":
        half = unit // SECTOR // 2
        return Layout(filesystem, 2 * half, sectors - 2 * half, half, half, 2 * half, cluster, unit)
    if filesystem == "FAT32":
        return _fat32(sectors, cluster, unit)
    found = _fat16(sectors, cluster, unit, filesystem)
    if filesystem == "FAT12" and found.clusters > _MOST_FAT12:
        found = _fat16(sectors, cluster, unit, "FAT16")
    return found


def _fat_sectors(clusters: int, bits: int) -> int:
    """The sectors of a FAT with an entry for each cluster, and the two first ones."""
    return -(-(clusters + 2) * bits // (8 * SECTOR))


def _fat32(sectors: int, cluster: int, unit: int) -> Layout:
    """The shortest FAT that is long enough for the data area behind it."""
    start = unit // SECTOR
    fat = 1
    while True:
        data = -(-(_LEAST_RESERVED + 2 * fat) // start) * start
        needed = _fat_sectors((sectors - start - data) * SECTOR // cluster, 32)
        if needed <= fat:
            return Layout("FAT32", start, sectors - start, data - 2 * needed, needed, data, cluster,
                          unit)
        # A longer FAT moves the data area by whole units, and then a shorter one may do.
        fat = max(fat + 1, (data - _LEAST_RESERVED) // 2)


def _fat16(sectors: int, cluster: int, unit: int, filesystem: str) -> Layout:
    bits = 12 if filesystem == "FAT12" else 16
    step = unit // SECTOR
    fat = 1
    while True:  # one sector longer each time: at most 256
        data = 1 + 2 * fat + _ROOT_SECTORS
        start = step + -data % step
        needed = _fat_sectors((sectors - start - data) * SECTOR // cluster, bits)
        if needed <= fat:
            return Layout(filesystem, start, sectors - start, 1, fat, data, cluster, unit)
        fat += 1


def mkfs_vfat(start: int, sectors: int, cluster: int, align: int = 0) -> Layout:
    """FAT32 as `mkfs.vfat -F 32 -s N -R RESERVED` makes it on a partition.

    start    of the partition, in sectors
    cluster  bytes, a power of two from 512 to 64 KiB
    align    bytes: the data area begins at a multiple of it on the device.  0: 32 reserved
             sectors as mkfs.vfat chooses, so that the data area begins at a multiple of the
             cluster in the partition.

    mkfs.vfat rounds the reserved sectors and each FAT up to whole clusters.  An `align` that is
    smaller than that, or a start that is no multiple of a cluster, cannot be met by -R; LabError
    then.  LabError also if there are fewer clusters than FAT32 must have.
    """
    step = cluster // SECTOR
    every = align // SECTOR or step
    if align and (start % step or every % step):
        raise LabError(f"sector {start}: a data area at a multiple of {align} bytes needs a "
                       f"partition at a multiple of {step} sectors, one cluster")
    sectors -= sectors % (63 if sectors > 524288 else 32)  # whole tracks
    reserved = -(-32 // step) * step
    fat = _mkfs_fat(sectors - reserved, cluster)
    # More reserved sectors leave room for fewer clusters, so the FATs may become shorter.
    while align and (start + reserved + 2 * fat) % every:
        reserved += -(start + reserved + 2 * fat) % every
        fat = _mkfs_fat(sectors - reserved, cluster)
    data = reserved + 2 * fat
    found = Layout("FAT32", start, sectors, reserved, fat, data, cluster, align)
    if found.clusters < 65525:
        raise LabError(f"FAT32 with clusters of {cluster} bytes has {max(found.clusters, 0)} "
                       f"clusters on {sectors} sectors; allowed: at least 65525")
    return found


def _mkfs_fat(room: int, cluster: int) -> int:
    """The sectors of a FAT as mkfs.vfat estimates them: `room` sectors hold the clusters, and
    for each of them an entry in both FATs."""
    step = cluster // SECTOR
    clusters = (room * SECTOR + 2 * 8) // (cluster + 2 * 4)
    return -(-_fat_sectors(clusters, 32) // step) * step
