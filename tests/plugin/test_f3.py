#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""f3's programs find out every kind of forged stick, how much of it can be used, and that an honest
one is real."""

import os
import re
import subprocess
import tempfile

from flashemu_forged import AT_EDGE, BELOW, DAMAGED, ODD, SMALL, SOLD
from flashemu_script import skip
from flashemu_server import HANG_S, Server, attached, need, need_attached, run

# Sectors that the filesystem has for itself, and writes again at its end.
FS_SECTORS = 192
NEWS = {"the real thing": "good", "damaged": "damaged"}


def answer(*argv):
    return subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          timeout=HANG_S * 2).stdout


def probed(stick):
    """What f3probe says: the kind, the bytes that can be used, and the module."""
    with Server("transcend8g", "clock=virtual", *stick.params()) as s:
        with attached(s) as device:
            out = answer("f3probe", "--destructive", "--reset-type=2", device)
    kind = re.search(r"news: The device `.*' is (?:a counterfeit of type )?(.*)", out)
    usable = re.search(r"Usable\* size: .* \((\d+) blocks\)", out)
    module = re.search(r"Module: .* \(2\^(\d+) Bytes\)", out)
    assert kind and usable and module, out
    return NEWS.get(kind.group(1), kind.group(1)), int(usable.group(1)) * 512, \
        1 << int(module.group(1))


def judged(sticks):
    for stick in sticks:
        kind, usable, module = probed(stick)
        assert (kind, usable) == (stick.kind, stick.usable), (stick, kind, usable)
        if stick.module:
            assert module == stick.module, (stick, module)


def test_f3probe_of_small_sticks():
    judged(SMALL)


def test_f3probe_of_sticks_as_they_are_sold():
    judged(SOLD)


def test_f3probe_looks_for_powers_of_two_only():
    assert probed(ODD)[0] == "good"


def test_f3probe_is_wrong_about_these():
    assert probed(DAMAGED)[:2] == ("damaged", 0)
    assert probed(BELOW)[:2] == ("good", BELOW.claimed)
    judged([AT_EDGE])


def filled(stick):
    """Sectors that f3read calls good, corrupted and overwritten when f3write has filled an ext4
    whose own sectors are the first few of the device, and the sectors that f3write has left: a MiB
    at most before f3 9, four since."""
    with Server("transcend8g", "clock=virtual", *stick.params()) as s, \
            tempfile.TemporaryDirectory(prefix="fe") as folder, attached(s) as device:
        subprocess.run(["mkfs.ext4", "-q", "-F", "-O", "^has_journal,^resize_inode,^metadata_csum,^orphan_file",
                        "-m", "0", "-N", "16", "-G", "4096",
                        "-E", "packed_meta_blocks=1,lazy_itable_init=0,nodiscard", device],
                       check=True, stdout=subprocess.DEVNULL)
        mount = subprocess.run(["mount", "-t", "ext4", device, folder], text=True,
                               stderr=subprocess.PIPE)
        if mount.returncode:
            skip("mount: " + mount.stderr.strip())
        try:
            # or ext4 keeps 2 % for itself, somewhere
            reserved = "/sys/fs/ext4/%s/reserved_clusters" % os.path.basename(device)
            with open(reserved, "w", encoding="ascii") as f:
                f.write("0")
            wrote = answer("f3write", folder)
            assert "OK!" in wrote, wrote
            stat = os.statvfs(folder)
            out = answer("f3read", folder)
        finally:
            subprocess.run(["umount", folder], check=True)
    lines = re.findall(r"h2w \.\.\. +(\d+)/ *(\d+)/ *(\d+)/ *(\d+)", out)
    return [sum(int(line[i]) for line in lines) for i in (0, 1, 3)] + \
        [stat.f_bfree * stat.f_frsize // 512]


def test_f3write_and_f3read():
    for stick in SMALL + [ODD, DAMAGED]:
        good, corrupted, overwritten, left = filled(stick)
        kind = {(False, False): "good", (True, False): "limbo", (False, True): "wraparound",
                (True, True): "chain"}[corrupted > FS_SECTORS, overwritten > FS_SECTORS]
        assert kind == stick.kind, (stick, good, corrupted, overwritten)
        if kind == "good":
            assert corrupted + overwritten == 0
            continue
        usable = stick.usable // 512
        assert left <= 4 * 2048 + FS_SECTORS, (stick, left)
        assert usable - left - FS_SECTORS <= good <= usable + stick.cache // 512, (stick, good, left)


if __name__ == "__main__":
    need("f3probe", "f3write", "f3read", "mkfs.ext4", "mount")
    need_attached()
    run(globals())
