#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""How near `flashemu-lab life` comes to replays to death, on recordings of filesystems.

    life_truth.py [--demand PERCENT] [CARD...]

Cards are cut down to 600 MiB, around the 400 MiB of a recording's partition, and their blocks bear few
cycles, so that they die within a second.  For each recording and card it prints the
predicted life over that of the replay, and how often the order of two filesystems by life is the same
where their lives differ by more than 5 %.  With --demand it fails if a prediction is off by more.
"""

import argparse
import itertools
import json
import sys

from flashemu_lab_bench import FLASHEMU
from flashemu_script import ended

from flashemu_lab.life import card, lives, steady, told, works
from flashemu_lab.life.endurance import Spread
from flashemu_lab.recording import recordings
from flashemu_lab.runs.program import Tool

RECORDINGS = ("ext4-log", "ext4-database", "f2fs-log", "f2fs-database", "vfat-log", "vfat-database",
              "btrfs-log", "btrfs-database", "xfs-database", "ntfs-log")
# Cards with the cycles that their blocks bear here.
CARDS = (("sandisk-su04g", 300, "device.capacity=600M", "nand.blocks_per_plane=1280",
          "faults.spare_blocks=26", "device.used=16T"),
         ("toshiba16g", 200, "device.capacity=600M", "nand.blocks_per_plane=170",
          "faults.spare_blocks=6", "device.used=450M"),
         ("ssd-page", 100, "nand.blocks_per_plane=700", "device.used=600M"),
         ("raspberrypi32g", 100, "device.capacity=600M", "nand.blocks_per_plane=80",
          "ftl.slc_blocks=8", "nand.slc_endurance=400", "faults.spare_blocks=4"))


def replay(*words):
    code, out, err = ended([FLASHEMU, "replay", *words, "--drop-trim", "--json"])
    assert code == 0, err
    return json.loads(out)


def compare(tool, profile, cycles, settings, name):
    """Lives in rounds of the work: predicted, and replayed."""
    c = card.look(tool, profile, (*settings, f"nand.endurance={cycles}"), 2018)
    text = works.read(tool, [f"rec:{name}"], works.Told(every=3600))[0].requests[0][1]
    found = steady.judge(replay(profile, text, *c.replayed, "--until", "steady"), c, name)
    drawn = lives.draw(found.pools, found.spares, Spread(0, 0, "uniform"), 1, 10)
    dead = replay(profile, text, *settings, f"nand.endurance={cycles}", "--until", "dead", "--most",
                  "400000000")
    assert dead["state"] != "alive", (profile, name)
    each = replay(profile, text, *settings)["host"]["write"]["bytes"]
    return (drawn.quantile(0.5) + found.gained) / each, dead["host"]["write"]["bytes"] / each


def pairs(found):
    """Of pairs of filesystems with the same work: those that differ and whose order is right, those
    that differ, near ones that are called equal, and near ones."""
    right = differ = equal = near = 0
    for a, b in itertools.combinations(found, 2):
        if recordings.load(a).work != recordings.load(b).work:
            continue
        ratio, true = (found[a][i] / found[b][i] for i in (0, 1))
        if 1 / told.EQUAL < true < told.EQUAL:
            near += 1
            equal += 1 / told.EQUAL < ratio < told.EQUAL
        else:
            differ += 1
            right += (ratio > 1) == (true > 1)
    return right, differ, equal, near


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--demand", type=float, default=0, help="percent")
    p.add_argument("cards", nargs="*", metavar="CARD", help="only these; all if none is named")
    arguments = p.parse_args()
    demand, known = arguments.demand, [c[0] for c in CARDS]
    if unknown := set(arguments.cards) - set(known):
        p.error(f"{', '.join(sorted(unknown))}: allowed: {', '.join(known)}")
    tool = Tool()
    worst = 0.0
    sums = (0, 0, 0, 0)
    for profile, cycles, *settings in CARDS:
        if arguments.cards and profile not in arguments.cards:
            continue
        found = {}
        for name in RECORDINGS:
            found[name] = compare(tool, profile, cycles, settings, name)
            off = found[name][0] / found[name][1] - 1
            worst = max(worst, abs(off))
            print(f"{profile:<16} {name:<16} {found[name][0]:>10.0f} {found[name][1]:>10.0f} rounds "
                  f"{100 * off:>+6.1f} %", flush=True)
        sums = tuple(a + b for a, b in zip(sums, pairs(found)))
    right, differ, equal, near = sums
    print(f"off by {100 * worst:.1f} % at most; the order of two filesystems is right in {right} of "
          f"{differ} cases, and {equal} of {near} nearer ones are called equal")
    sys.exit(1 if demand and (100 * worst > demand or right < differ or
                             equal < near) else 0)


if __name__ == "__main__":
    main()
