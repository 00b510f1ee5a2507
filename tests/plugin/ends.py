#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""ends.py [LIE...]: what f3's programs, badblocks and smartctl make of each way in which a card ends.

Each device is served and attached as a block device, and f3probe writes over it.  Another one gets
an ext4 that f3write fills while the device lies behind the sectors of the filesystem itself, and
f3read looks at the files.  A third one is for badblocks.  Prints one line for each lie; the table
in docs/ENDS.md has them.
"""

import re
import subprocess
import sys
import tempfile

from flashemu_server import HANG_S, Server, attached, need, need_attached

LIES = ("none", "lost-write", "misdirected-write:1K", "misdirected-read:1K", "stale-read:16M",
        "unstable-read", "stuck-read:0", "capacity:32M", "mixed-queue")
CARD = ["ssd-page", "clock=virtual", "size=64M"]


def answer(*argv):
    """What a program prints, whether it ends well or not."""
    return subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          timeout=HANG_S * 2).stdout


def found(pattern, text, otherwise):
    match = re.search(pattern, text)
    return match.group(1) if match else otherwise


def probed(lie):
    """What f3probe calls a device that lies from the beginning."""
    with Server(*CARD, "faults.lie=" + lie) as s, attached(s) as device:
        out = answer("f3probe", "--destructive", "--reset-type=2", device)
    kind = found(r"(?:news: |)The device `.*' is ((?:a counterfeit of type |)[^\n]*)", out, None)
    return kind or (found(r"Bad news: ([^\n]*)", out, None) or out.strip().splitlines()[-1])


def asked(device):
    """What smartctl says of the device, as it finds out itself what that is, and as a SCSI disk."""
    said = []
    for kind in ([], ["-d", "scsi"]):
        found = subprocess.run(["smartctl", "-a", *kind, device], stdout=subprocess.PIPE, text=True,
                               check=False)
        lines = found.stdout.split("\n\n", 1)[1].splitlines()
        said.append(f"{lines[0].removeprefix(device + ': ')} (exit {found.returncode})")
    return "smartctl: " + ", ".join(said)


def bad_blocks(lie):
    """How many of the 16384 blocks of 4 KiB are bad for `badblocks -w`, and health after that."""
    with Server(*CARD, "faults.lie=" + lie) as s, attached(s) as device:
        found = subprocess.run(["badblocks", "-w", "-t", "random", "-b", "4096", device],
                               stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                               check=False).stdout
        health = s.ctl("health")["emmc"]
        smart = asked(device)
    return f"badblocks: {len(found.split())} bad; {smart}; life {health['life_time_est_typ_b']}, " \
           f"pre-EOL {health['pre_eol']}"


def read_back(lie):
    """What f3read finds of an ext4 that f3write fills, if the device lies behind its sectors."""
    name = lie if lie.startswith(("none", "capacity")) else lie + "/4M-"
    with Server(*CARD) as s, attached(s) as device, tempfile.TemporaryDirectory() as mount:
        subprocess.run(["mkfs.ext4", "-q", "-F", "-O", "^has_journal,^resize_inode,^metadata_csum,^orphan_file",
                        "-m", "0", "-N", "16", "-G", "4096",
                        "-E", "packed_meta_blocks=1,lazy_itable_init=0,nodiscard", device],
                       check=True, stdout=subprocess.DEVNULL)
        subprocess.run(["mount", "-t", "ext4", device, mount], check=True)
        try:
            assert s.ctl("set", "faults.lie", name)["ok"]
            wrote = answer("f3write", mount)
            out = answer("f3read", mount)
        finally:
            subprocess.run(["umount", mount], check=True)
    sectors = [sum(int(line[i]) for line in
                   re.findall(r"h2w \.\.\. +(\d+)/ *(\d+)/ *(\d+)/ *(\d+)", out))
               for i in range(4)]
    return ("f3write: " + ("OK" if "OK!" in wrote else "an error") +
            "; f3read: {} sectors good, {} corrupted, {} slightly changed, {} overwritten"
            .format(*sectors) + ("" if "h2w" in out else ": " + out.strip().splitlines()[-1]))


def main(lies):
    need("f3probe", "f3write", "f3read", "badblocks", "smartctl", "mkfs.ext4")
    need_attached()
    for lie in lies or LIES:
        print(f"{lie}: f3probe: {probed(lie)}; {bad_blocks(lie)}; {read_back(lie)}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
