#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Where filesystems lie: the SD Association's rules against cards as they came from the factory,
and what mkfs.vfat does against mkfs.vfat."""

import random
import shutil
import struct

import flashemu_lab_bench  # noqa: F401
from flashemu_script import ended, run

from flashemu_lab.core.errors import LabError
from flashemu_lab.advise.sd_layout import SDA, mkfs_vfat, sda_layout

# Cards before anybody formatted them, from the survey of flash cards that flashbench's users made
# (the dumps result_N.txt): name, capacity, first and last sector of the partition, and bytes of a
# cluster, of what is before the FAT, of a FAT, and of all that is before the data.
FACTORY = (
    ("13", 7742685184, 8192, 15122431, 32768, 2305024, 944640, 4194304),
    ("14", 8035237888, 8192, 15693823, 32768, 2234368, 979968, 4194304),
    ("16", 8035237888, 8192, 15693823, 32768, 2234368, 979968, 4194304),
    ("18", 7990149120, 8192, 15605759, 32768, 2244608, 974848, 4194304),
    ("19", 3963617280, 8192, 7741439, 32768, 3227648, 483328, 4194304),
    ("20", 3991928832, 8192, 7796735, 32768, 3221504, 486400, 4194304),
    ("21", 3980394496, 8192, 7774207, 32768, 3223552, 485376, 4194304),
    ("25", 8001683456, 8192, 15628287, 32768, 2242560, 975872, 4194304),
    ("26", 8010072064, 8192, 15644671, 32768, 2240512, 976896, 4194304),
    ("27", 7948206080, 8192, 15523839, 32768, 2254848, 969728, 4194304),
    ("28", 8001683456, 8192, 15628287, 32768, 2242560, 975872, 4194304),
    ("28_2", 8001683456, 8192, 15628287, 32768, 2242560, 975872, 4194304),
    ("29_2", 8068792320, 8192, 15759359, 32768, 2226176, 984064, 4194304),
    ("29_3", 8068792320, 8192, 15759359, 32768, 2226176, 984064, 4194304),
    ("3", 7902068736, 8192, 15433727, 32768, 2266112, 964096, 4194304),
    ("30_1", 8001683456, 8192, 15628287, 32768, 2242560, 975872, 4194304),
    ("30_2", 8001683456, 8192, 15628287, 32768, 2242560, 975872, 4194304),
    ("31_1", 16021192704, 8192, 31291391, 32768, 284672, 1954816, 4194304),
    ("32", 505413632, 237, 987135, 16384, 512, 61952, 140800),
    ("4", 3965190144, 8192, 7744511, 32768, 3227648, 483328, 4194304),
    ("5", 3904897024, 8192, 7626751, 32768, 3241984, 476160, 4194304),
    ("6", 3980394496, 8192, 7774207, 32768, 3223552, 485376, 4194304),
    ("6_1", 3980394496, 8192, 7774207, 32768, 3223552, 485376, 4194304),
    ("7", 7969177600, 8192, 15564799, 32768, 2249728, 972288, 4194304),
    ("8", 3985637376, 8192, 7784447, 32768, 3222528, 485888, 4194304),
    ("9", 7948206080, 8192, 15523839, 32768, 2254848, 969728, 4194304),
)


def test_factory_cards():
    for name, capacity, first, last, cluster, reserved, fat, data in FACTORY:
        found = sda_layout(capacity)
        assert (found.start, found.start + found.sectors - 1, found.cluster, found.reserved * 512,
                found.fat * 512, found.data * 512) == (
                    first, last, cluster, reserved, fat, data), (name, found)


def test_every_capacity_is_aligned():
    draw = random.Random(1)
    low = 2**20
    for most, cluster, unit, name in SDA:
        for capacity in [low, most] + [draw.randrange(low, most) // 512 * 512 for _ in range(50)]:
            found = sda_layout(capacity)
            assert found.cluster == cluster and found.unit == unit, (capacity, found)
            assert found.filesystem == name or (name, found.filesystem) == ("FAT12", "FAT16")
            assert (found.start + found.data) * 512 % unit == 0 and found.start * 512 >= unit
            assert found.start + found.sectors == capacity // 512
            if name == "exFAT":
                assert found.reserved == found.fat == unit // 1024 and found.fat * 128 > (
                    found.clusters + 2)
                continue
            bits = int(found.filesystem[3:])
            needed = -(-(found.clusters + 2) * bits // 4096)
            assert found.fat == needed, (capacity, found)
            root = 0 if bits == 32 else 32
            assert found.data == found.reserved + 2 * found.fat + root
            assert found.reserved >= 9 if bits == 32 else found.reserved == 1
            assert bits != 12 or found.clusters <= 4084
            assert bits != 16 or found.clusters > 4084
        low = most + 512
    for capacity in (0, 2**20 - 512, 2**41 + 512):
        try:
            sda_layout(capacity)
        except LabError as e:
            assert str(capacity) in str(e) and "1 MiB to 2 TiB" in str(e)
        else:
            raise AssertionError(capacity)


def test_the_last_sector_of_fat32():
    # With exactly 32 GiB the FATs would leave four reserved sectors; then a unit more is needed.
    found = sda_layout(32 * 2**30)
    assert found.reserved >= 9 and found.data == 3 * 8192


def boot_sector(path):
    """Sectors of a cluster, reserved sectors and sectors of a FAT32."""
    with open(path, "rb") as file:
        block = file.read(512)
    return block[13], struct.unpack_from("<H", block, 14)[0], struct.unpack_from("<I", block, 36)[0]


def as_mkfs_vfat(start, size, cluster, align):
    """mkfs.vfat lays out a partition of `size` bytes as `mkfs_vfat` says."""
    found = mkfs_vfat(start, size // 512, cluster, align)
    assert found.data == found.reserved + 2 * found.fat
    assert not align or (start + found.data) * 512 % align == 0
    with open("disk", "wb") as file:
        file.truncate(size)
    words = ["-R", str(found.reserved)] if align else []
    code, _, err = ended(["mkfs.vfat", "-F", "32", "-s", str(cluster // 512), *words, "-h",
                          str(start), "disk"])
    assert code == 0, err
    assert boot_sector("disk") == (cluster // 512, found.reserved, found.fat), found


def test_mkfs_vfat():
    if not shutil.which("mkfs.vfat"):
        print("SKIP: no mkfs.vfat")
        return
    # mkfs.vfat leaves out what is no whole track, and that decides about the FAT's last sector.
    as_mkfs_vfat(63, 2634893 * 512, 512, 0)
    as_mkfs_vfat(63, 347522 * 512, 512, 0)
    draw = random.Random(1)
    tried = 0
    while tried < 60:
        cluster = 2**draw.randrange(9, 17)
        size = draw.randrange(70000 * cluster, min(2**35, 2800000 * cluster)) // 512 * 512
        start = draw.choice((63, 64, 2048, 8192, 16384))
        align = draw.choice((0, 0, 2**20, 2**22))
        if start * 512 % cluster:
            align = 0
        tried += 1
        as_mkfs_vfat(start, size, cluster, align)


def refused(words, *args):
    try:
        mkfs_vfat(*args)
    except LabError as e:
        assert words in str(e), e
    else:
        raise AssertionError(args)


def test_what_mkfs_vfat_cannot_do():
    refused("needs a partition at a multiple of 64 sectors", 63, 2**23, 32768, 2**22)
    refused("allowed: at least 65525", 64, 2**20, 32768)


run(globals())
