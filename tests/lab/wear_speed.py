#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""wear_speed.py [FILE.csv]: how slow worn cards become, fitted to two and held against two others.

The model is that of a profile: at a share x of the endurance an operation takes

    1 + worn x + end x^32        times as long as on a new chip

with the details read, program and erase of nand.worn all equal to `worn`, and end to `end`.  The file has dates and cycles, so the speed of an interval is its cycles by its days,
relative to that of the card's first interval.  A card's endurance is where it stopped, and else
what the option table says of its kind.

Prints the two numbers, and for each interval the speed of the card, of the model, and how far off
the model is.
"""

import csv
import os
import sys
from dataclasses import dataclass, field

import numpy as np
from scipy.optimize import least_squares

FILE = os.path.join(os.path.dirname(os.path.realpath(__file__)), "../data/wear_speed.csv")
FITTED, PREDICTED = ("2", "7"), ("1", "5")
ENDURANCE = {"mlc": 5000, "tlc": 1000} # of nand.cell in the option table
NEAR = 0.25


@dataclass
class Card:
    """A card that was worn: when it had been written how often, and its endurance in cycles."""
    endurance: float = 0
    days: list[float] = field(default_factory=lambda: [0.0])
    cycles: list[float] = field(default_factory=lambda: [0.0])

    def speeds(self):
        """Of each interval, relative to the first one."""
        speed = np.diff(self.cycles) / np.diff(self.days)
        return speed / speed[0]


def read_cards(path):
    """The cards of the file by the names of their runs."""
    cards: dict[str, Card] = {}
    with open(path, encoding="utf-8") as f:
        for row in csv.DictReader(line for line in f if not line.startswith("#")):
            card = cards.setdefault(row["run"], Card())
            card.days.append(float(row["day"]))
            card.cycles.append(float(row["cycles"]))
            if row["stop"]:
                card.endurance = card.cycles[-1]
            elif row["kind"]:
                card.endurance = ENDURANCE[row["kind"]]
    return cards


def work(cycles, endurance, worn, end):
    """The time of so many cycles from the first one on, in times of a new chip."""
    x = np.minimum(np.asarray(cycles, float) / endurance, 1)
    late = np.maximum(np.asarray(cycles, float) / endurance - 1, 0)
    return endurance * (x + worn * x**2 / 2 + end * x**33 / 33 + late * (1 + worn + end))


def model_speeds(card, worn, end):
    """Of each interval of the card, relative to the first one."""
    speed = np.diff(card.cycles) / np.diff(work(card.cycles, card.endurance, worn, end))
    return speed / speed[0]


def fit(cards):
    """The two numbers that come nearest to the logarithms of the speeds."""
    def errors(p):
        return np.concatenate([np.log(model_speeds(card, *p) / card.speeds())[1:]
                               for card in cards])
    found = least_squares(errors, [1.0, 1.0], bounds=([0, 0], [100, 100]))
    return tuple(float(v) for v in found.x)


def main(path):
    cards = read_cards(path)
    worn, end = fit([cards[run] for run in FITTED])
    same = ",".join(f"{what}:{100 * worn:.0f}%" for what in ("read", "program", "erase"))
    print(f"nand.worn = {same},end:{100 * end:.0f}%")
    print("run  cycles   card  model  off by")
    for run in (*FITTED, *PREDICTED):
        card = cards[run]
        rows = list(zip(card.cycles[2:], card.speeds()[1:], model_speeds(card, worn, end)[1:]))
        for cycles, is_, model in rows:
            print(f"{run:>3} {cycles:7.0f} {is_:6.2f} {model:6.2f} "
                  f"{100 * (model / is_ - 1):+6.0f} %")
    speeds = [(card.speeds()[1:], model_speeds(card, worn, end)[1:])
              for card in (cards[run] for run in PREDICTED)]
    is_, model = (np.concatenate(part) for part in zip(*speeds))
    near = int(np.sum(np.abs(model / is_ - 1) <= NEAR))
    alike = int(np.sum((model < 1) == (is_ < 1)))
    print(f"predicted, runs {' and '.join(PREDICTED)}: {near} of {len(is_)} within "
          f"{100 * NEAR:.0f} %, "
          f"{alike} of {len(is_)} rightly slower or quicker than new")
    return near, alike, len(is_)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else FILE)
