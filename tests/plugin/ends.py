#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""ends.py [END...]: what f3's programs, badblocks and smartctl make of each way in which a card ends.

Each device is served and attached as a block device, and f3probe writes over it.  Another one gets
an ext4 that f3write fills while the device lies behind the sectors of the filesystem itself, or after
it has ended otherwise, and f3read looks at the files.  A third one is for badblocks.  Prints one line
for each end; the table in docs/ENDS.md has them.
"""

import re
import subprocess
import sys
import tempfile

from flashemu_server import HANG_S, Server, attached, need, need_attached

LIES = ("none", "lost-write", "misdirected-write:1K", "misdirected-read:1K", "stale-read:16M",
        "unstable-read", "stuck-read:0", "capacity:32M", "mixed-queue", "flush-ignored", "flush-late",
        "wide-trim")
# What a device needs to tell such a lie.
CACHE = ["cache.size=8M", "cache.volatile=yes", "cache.idle_flush=no"]
NEEDS = {"flush-ignored": CACHE, "flush-late": CACHE, "wide-trim": ["device.discard=yes"]}
CARD = ["ssd-page", "size=64M"]
# Ends that are no lies: what the server is told, and what makes each come.
ENDS = {
    "read-only": (["faults.spare_blocks=0", "faults.end_of_life=read-only"], lambda s: wear_out(s, 1)),
    "full": (["faults.spare_blocks=0", "faults.end_of_life=full"], lambda s: wear_out(s, 1)),
    "slow": (["faults.spare_blocks=0", "faults.end_of_life=slow"],
             lambda s: wear_out(s, 1 << 16)),
    "never-ready": (["faults.power_cut=dead:100%"], lambda s: told(s, "power-cut", "at", "now")),
    "disconnect": ([], lambda s: told(s, "disconnect")),
    "hang": ([], lambda s: told(s, "hang", "60s"))}


def told(s, *command):
    reply = s.ctl(*command)
    assert reply["ok"], (command, reply)


def wear_out(s, blocks):
    """So many blocks fail, or all that the chip has."""
    failed = 0
    while failed < blocks and s.ctl("mark-bad", str(failed))["ok"]:
        failed += 1
    assert failed


def answer(*argv):
    """What a program prints, whether it ends well or not."""
    return subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          timeout=HANG_S * 2).stdout


def found(pattern, text, otherwise):
    match = re.search(pattern, text)
    return match.group(1) if match else otherwise


def served(end, lies=True):
    """A server of a card that ends so; if it lies, then from the beginning or not yet."""
    params = ENDS[end][0] if end in ENDS else NEEDS.get(end, []) + ["faults.lie=" + end] * lies
    # Only what takes its time needs a clock that does.
    return Server(*CARD, *params, *(["clock=virtual"] if end not in ("slow", "hang") else []))


def begin(s, end, lie=None):
    """The end comes; nothing more comes if the server lies already."""
    if end in ENDS:
        ENDS[end][1](s)
    elif lie:
        told(s, "set", "faults.lie", lie)


def probed(end):
    """What f3probe calls a device that ends so from the beginning."""
    with served(end) as s, attached(s) as device:
        begin(s, end)
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


def bad_blocks(end):
    """How many of the 16384 blocks of 4 KiB are bad for `badblocks -w`, and health after that."""
    with served(end) as s, attached(s) as device:
        begin(s, end)
        found = subprocess.run(["badblocks", "-w", "-t", "random", "-b", "4096", device],
                               stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                               check=False).stdout
        health = s.ctl("health")["emmc"]
        smart = asked(device)
    return f"badblocks: {len(set(found.split()))} bad; {smart}; life {health['life_time_est_typ_b']}, " \
           f"pre-EOL {health['pre_eol']}"


def read_back(end):
    """What f3read finds of an ext4 that f3write fills, if the device lies behind its sectors, or has
    ended."""
    name = end if end.startswith(("none", "capacity", "flush")) else end + "/4M-"
    with served(end, False) as s, attached(s) as device, tempfile.TemporaryDirectory() as mount:
        subprocess.run(["mkfs.ext4", "-q", "-F", "-O", "^has_journal,^resize_inode,^metadata_csum,^orphan_file",
                        "-m", "0", "-N", "16", "-G", "4096",
                        "-E", "packed_meta_blocks=1,lazy_itable_init=0,nodiscard", device],
                       check=True, stdout=subprocess.DEVNULL)
        subprocess.run(["mount", "-t", "ext4", device, mount], check=True)
        try:
            begin(s, end, name)
            wrote = answer("f3write", mount)
            out = answer("f3read", mount)
        finally:
            subprocess.run(["umount", mount], check=end not in ENDS)
    sectors = [sum(int(line[i]) for line in
                   re.findall(r"h2w \.\.\. +(\d+)/ *(\d+)/ *(\d+)/ *(\d+)", out))
               for i in range(4)]
    return ("f3write: " + ("OK" if "OK!" in wrote else "an error") +
            "; f3read: {} sectors good, {} corrupted, {} slightly changed, {} overwritten"
            .format(*sectors) + ("" if "h2w" in out else ": " + out.strip().splitlines()[-1]))


def main(ends):
    need("f3probe", "f3write", "f3read", "badblocks", "smartctl", "mkfs.ext4")
    need_attached()
    for end in ends or (*LIES, *ENDS):
        print(f"{end}: f3probe: {probed(end)}; {bad_blocks(end)}; {read_back(end)}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
