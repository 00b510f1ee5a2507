#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""How near `flashemu-lab life` comes to replays to death, on recordings of filesystems.

    life_truth.py [--demand PERCENT]

Blocks bear few cycles, so that cards die within seconds.  For each recording and card it prints the
predicted life over that of the replay, and how often the order of two filesystems by life is the same
where their lives differ by more than 5 %.  With --demand it fails if a prediction is off by more.
"""

import argparse
import itertools
import json
import sys

from flashemu_lab_bench import FLASHEMU
from flashemu_script import ended

from flashemu_lab.life import card, lives, steady, works
from flashemu_lab.life.endurance import Spread
from flashemu_lab.recording import recordings
from flashemu_lab.runs.program import Tool

RECORDINGS = ("ext4-log", "ext4-database", "f2fs-log", "f2fs-database", "vfat-log", "vfat-database",
              "btrfs-log", "btrfs-database", "xfs-database", "ntfs-log")
# Cards with the cycles that their blocks bear here.
CARDS = (("sandisk-su04g", 60), ("toshiba16g", 12), ("ssd-page", 25, "device.used=600M"))


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


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--demand", type=float, default=0, help="percent")
    demand = p.parse_args().demand
    tool = Tool()
    worst, right, wrong = 0.0, 0, 0
    for profile, cycles, *settings in CARDS:
        found = {}
        for name in RECORDINGS:
            found[name] = compare(tool, profile, cycles, settings, name)
            off = found[name][0] / found[name][1] - 1
            worst = max(worst, abs(off))
            print(f"{profile:<16} {name:<16} {found[name][0]:>10.0f} {found[name][1]:>10.0f} rounds "
                  f"{100 * off:>+6.1f} %", flush=True)
        for a, b in itertools.combinations(found, 2):
            works_ = [recordings.load(n).work for n in (a, b)]
            if works_[0] == works_[1] and not 1 / 1.05 < found[a][1] / found[b][1] < 1.05:
                same = (found[a][0] > found[b][0]) == (found[a][1] > found[b][1])
                right, wrong = right + same, wrong + (not same)
    print(f"off by {100 * worst:.1f} % at most; order of two filesystems right in {right} of "
          f"{right + wrong} cases")
    sys.exit(1 if demand and (100 * worst > demand or wrong) else 0)


if __name__ == "__main__":
    main()
