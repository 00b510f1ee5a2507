# SPDX-License-Identifier: BSD-3-Clause
"""The lines that make a partition and a filesystem: for sfdisk, mkfs, wic and genimage.

All four make the same partition, in whole MiB, because where the FATs end depends on its length.
The lines for exFAT and ext4 follow from rules and are not measured:

    exFAT  -b, to which FAT and cluster heap are aligned, is the allocation unit, and half of the
           boundary unit with the SD Association's layout, so that the heap begins at that
    ext4   stride is what a good start is a multiple of, and stripe_width the allocation unit, both
           in blocks of 4 KiB
"""

from __future__ import annotations

from dataclasses import dataclass

from .sd_layout import Layout, SECTOR

_K, _M = 2**10, 2**20
_BLOCK = 4 * _K
# The boot partition of an image, in MiB.
_BOOT = 64


@dataclass(frozen=True)
class Hints:
    """What the lines need to know about the device, in bytes: its capacity, its allocation unit
    (or 0), and what good starts are multiples of (or 0)."""

    capacity: int
    unit: int
    multiple: int


def sectors(layout: Layout, capacity: int) -> int:
    """The sectors of the partition: for FAT32 whole MiB up to the end of the device."""
    if layout.filesystem != "FAT32":
        return layout.sectors
    return (capacity - layout.start * SECTOR) // _M * _M // SECTOR


def vfat(layout: Layout, reserved: bool) -> str:
    """The options of mkfs.vfat; with `reserved` they fix where the data area begins."""
    bits = layout.filesystem.removeprefix("FAT")
    words = f"-F {bits} -s {layout.cluster // SECTOR}"
    if bits != "32":
        # mkfs.vfat would round the FATs up to clusters.
        return f"{words} -a -R {layout.reserved} -r 512"
    return f"{words} -R {layout.reserved}" if reserved else words


def exfat(layout: Layout, h: Hints) -> str:
    """The options of mkfs.exfat."""
    boundary = max(h.unit, h.multiple, _M)
    return f"-c {max(layout.cluster, 32 * _K) // _K}K -b {boundary // _K}K"


def ext4(h: Hints) -> str:
    """The options of mkfs.ext4."""
    stride = max(h.multiple, _BLOCK) // _BLOCK
    width = max(h.unit // _BLOCK // stride, 1) * stride
    return f"-b {_BLOCK} -E stride={stride},stripe_width={width}"


def lines(layout: Layout, reserved: bool, h: Hints) -> str:
    """All lines.  The first mkfs line makes `layout`; sdX stands for the device.

    An image to boot from has a boot partition where `layout` starts and a root filesystem at a
    multiple of the allocation unit.  genimage rounds the length of a partition up to `align`, so
    this is no more than a MiB.

    FAT12 and FAT16 of the SD Association need a partition of an exact length, which wic and
    genimage cannot make.
    """
    n = sectors(layout, h.capacity)
    start = layout.start * SECTOR
    fat = vfat(layout, reserved)
    kib = f"--align {start // _K}" if start % _K == 0 else f"--offset {layout.start}s"
    mib = n * SECTOR // _M
    found = f"""\
# The partition. All that is on the device gets lost.
printf 'label: dos\\nstart={layout.start}, size={n}, type=c\\n' | sfdisk --wipe always /dev/sdX
# The filesystem that was tried:
mkfs.vfat {fat} /dev/sdX1
# Or another one. The options follow from the same numbers, but they were not tried:
mkfs.exfat {exfat(layout, h)} /dev/sdX1
mkfs.ext4 {ext4(h)} /dev/sdX1
"""
    if layout.filesystem != "FAT32":
        return found
    root = -(-(start + _BOOT * _M) // max(h.unit, _M)) * max(h.unit, _M)
    return found + f"""\
# The same in a kickstart file of wic, whose --align is in KiB:
part /data --ondisk sdX --fstype=vfat --fixed-size {mib}M {kib} --mkfs-extraopts "{fat}"
# Or an image to boot from, with wic. The starts follow from the same numbers:
part /boot --source bootimg-partition --ondisk sdX --fstype=vfat --label BOOT --active \
--fixed-size {_BOOT}M {kib}
part / --source rootfs --ondisk sdX --fstype=ext4 --label root --align {max(h.unit, _M) // _K} \
--mkfs-extraopts "{ext4(h)}"
# The same for genimage, with a root filesystem of 512M:
image boot.vfat {{
    vfat {{ label = "BOOT" }}
    size = {_BOOT}M
}}
image root.ext4 {{
    ext4 {{ use-mke2fs = true label = "root" extraargs = "{ext4(h)}" }}
    size = 512M
}}
image disk.img {{
    hdimage {{ partition-table-type = "mbr" align = {min(start & -start, _M)} }}
    partition boot {{ image = "boot.vfat" partition-type = 0xC bootable = true offset = {start} }}
    partition root {{ image = "root.ext4" partition-type = 0x83 offset = {root} }}
}}
"""
