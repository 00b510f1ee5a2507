#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""The lines that flashemu-lab advise prints do what they say: partitions, filesystems and images
are made by them, and looked at."""

import json
import os
import re
import shutil
import struct

from flashemu_lab_bench import write
from flashemu_script import ended, run

from flashemu_lab.advise import raw_writes
from flashemu_lab.advise.paste import Hints, lines
from flashemu_lab.advise.sd_layout import sda_layout

# Profiles, with the capacity and the unit that matter here; all layouts of each are made.
DEVICES = (("transcend8g", 8019509248, 4 << 20), ("kingston512m", 490 << 20, 256 << 10),
           ("sandisk-sd4gb", 3796 << 20, 4 << 20), ("rundisk1g", 980 << 20, 1 << 20))


def paste_of(profile, capacity, unit):
    d = raw_writes.Device(profile, (), capacity, 122880, unit, 65536, "")
    for c in raw_writes.candidates(d):
        yield c, lines(c.layout, c.style == "factory", Hints(capacity, unit, 65536))


def make(line, size):
    """Does what a line says, to files: `disk` of `size` bytes, and `part`."""
    with open("disk", "wb") as file:
        file.truncate(size)
    code, _, err = ended(["bash", "-c", line.replace("/dev/sdX1", "part").replace("/dev/sdX",
                                                                                  "disk")])
    assert code == 0, (line, err)


def boot_block(size):
    with open("part", "rb") as file:
        return file.read(size)


def test_the_lines_make_the_layout():
    if not all(shutil.which(p) for p in ("sfdisk", "mkfs.vfat")):
        print("SKIP: no sfdisk or mkfs.vfat")
        return
    for profile, capacity, unit in DEVICES:
        seen = 0
        for c, text in paste_of(profile, capacity, unit):
            table, fat = [line for line in text.splitlines() if line.startswith(("printf",
                                                                                 "mkfs.vfat"))]
            make(table, capacity)
            code, out, err = ended(["sfdisk", "-J", "disk"])
            part, = json.loads(out)["partitiontable"]["partitions"]
            assert (part["start"], part["type"]) == (c.layout.start, "c"), (c, part)
            with open("part", "wb") as file:
                file.truncate(part["size"] * 512)
            make(fat, capacity)
            b = boot_block(512)
            reserved, fats, root = struct.unpack_from("<HBH", b, 14)
            length = struct.unpack_from("<H", b, 22)[0] or struct.unpack_from("<I", b, 36)[0]
            data = part["start"] * 512 + (reserved + fats * length + root // 16) * 512
            assert b[13] * 512 == c.layout.cluster and data == c.data, (profile, c, data)
            # ... which is what the label says.
            match = re.search(r"data at (\d+) ([KM])iB", c.label)
            if match:
                seen += 1
                assert data % (int(match[1]) << {"K": 10, "M": 20}[match[2]]) == 0
            assert not c.label.startswith("SD") or (
                data % sda_layout(capacity).unit == 0
                and part["start"] == sda_layout(capacity).start)
        assert seen >= 1, profile


def test_the_lines_for_other_filesystems():
    for profile, capacity, unit in DEVICES[1:3]:
        c, text = next(paste_of(profile, capacity, unit))
        size = raw_writes._sectors(raw_writes.Device(profile, (), capacity, 0, 0, 0, ""), c.start) * 512
        for program in ("mkfs.exfat", "mkfs.ext4"):
            line = next(line for line in text.splitlines() if line.startswith(program))
            if not shutil.which(program):
                print("SKIP: no", program)
                continue
            with open("part", "wb") as file:
                file.truncate(size)
            make(line, capacity)
            b = boot_block(4096)
            if program == "mkfs.exfat":
                fat, length, heap = struct.unpack_from("<III", b, 80)
                sector = 1 << b[108]
                boundary = max(unit, 1 << 20)
                assert fat * sector % boundary == 0 and heap * sector % boundary == 0, (fat, heap)
                assert heap >= fat + length and sector << b[109] == max(c.layout.cluster, 32768)
            else:
                stride, = struct.unpack_from("<H", b, 1024 + 0x164)
                width, = struct.unpack_from("<I", b, 1024 + 0x170)
                assert stride * 4096 == 65536 and width * 4096 == max(unit, 65536), (stride, width)


def with_genimage(text, capacity):
    """Does what the lines for genimage say, and returns the partition as sfdisk sees it; the image
    is `out/disk.img`."""
    for folder in ("in", "root", "out"):
        os.makedirs(folder, exist_ok=True)
    write("root/file", "x")
    write("g.cfg", text.partition("# The same for genimage, with a root filesystem of 512M:\n")[2].replace(
        "size = 512M", "size = 32M"))
    code, out, err = ended(["genimage", "--config", "g.cfg", "--rootpath", "root", "--inputpath",
                            "in", "--outputpath", "out", "--tmppath", "tmp"])
    shutil.rmtree("tmp", ignore_errors=True) # later versions of genimage remove it
    assert code == 0, (text, out, err)
    assert os.path.getsize("out/disk.img") <= capacity, text
    return json.loads(ended(["sfdisk", "-J", "out/disk.img"])[1])["partitiontable"]["partitions"]


def test_genimage_makes_the_layout():
    missing = [p for p in ("genimage", "mcopy", "mkdosfs", "sfdisk") if not shutil.which(p)]
    if missing:
        print("SKIP: no", ", ".join(missing))
        return
    seen = set()
    for c, text in paste_of("kingston512m", 490 << 20, 4 << 20):
        if c.layout.filesystem != "FAT32":
            continue
        boot, root = with_genimage(text, 490 << 20)
        assert (boot["start"], boot["size"], boot["type"], boot["bootable"]) == (
            c.layout.start, 64 << 11, "c", True), boot
        assert root["start"] % (4 << 11) == 0 and root["start"] - boot["start"] < 72 << 11, root
        with open("out/disk.img", "rb") as file:
            file.seek(boot["start"] * 512)
            assert file.read(512)[54:59] in (b"FAT16", b"FAT12")
            file.seek(root["start"] * 512 + 1024)
            b = file.read(1024)
        assert b[0x38:0x3a] == b"\x53\xef" and struct.unpack_from("<I", b, 0x170)[0] == 1024
        seen.add(boot["start"])
    assert {63, 2048, 8192} <= seen, seen


def test_the_lines_agree():
    for profile, capacity, unit in DEVICES:
        for c, text in paste_of(profile, capacity, unit):
            options, = re.findall(r"^mkfs\.vfat (.*) /dev/sdX1$", text, re.M)
            if c.layout.filesystem != "FAT32":
                assert "wic" not in text
                continue
            size, = re.findall(r"size=(\d+),", text)
            assert '--mkfs-extraopts "%s"' % options in text
            assert "--fixed-size %dM " % (int(size) >> 11) in text
            assert "offset = %d " % c.start in text
            data, boot, root = re.findall(r"^part .*(?:--align (\d+)|--offset (\d+)s)", text, re.M)
            assert data == boot, "the same start"
            assert int(data[0] or 0) * 1024 == c.start or int(data[1] or 0) * 512 == c.start
            assert int(root[0]) * 1024 == max(unit, 1 << 20)
            align, = re.findall(r"align = (\d+) ", text)
            assert c.start % int(align) == 0
            assert c.start + int(size) * 512 <= capacity


run(globals())
