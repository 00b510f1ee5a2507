#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""wear_speed.py [FILE.csv]: how slow worn cards become, fitted to two and held against others.

The two are in the data of the tests.  The others are all cards of FILE, which has columns as that file
(run, kind, day, cycles, stop), or as such runs were published (run, card, start, date, cycles, note).

The model is that of a profile: at a share x of the endurance an operation takes

    1 + worn x + end x^32        times as long as on a new chip

with the details read, program and erase of nand.worn all equal to `worn`, and end to `end`.  The file
has days and cycles, so the speed of an interval is its cycles by its days, relative to that of the
card's first interval.  A card's endurance is where it stopped, and else what the option table says of
its kind; a card of which the file says neither is left out.

Prints the two numbers, and for each interval the speed of the card, of the model, and how far off
the model is.
"""

import csv
import datetime
import os
import re
import sys
from dataclasses import dataclass, field

import numpy as np
from scipy.optimize import least_squares

FILE = os.path.join(os.path.dirname(os.path.realpath(__file__)), "../data/wear_speed.csv")
FITTED = ("2", "7")
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


def rows_of(path):
    """(run, kind, day, cycles, whether it stopped) of each row that has a day; kind may be ""."""
    starts: dict[str, datetime.date] = {}
    with open(path, encoding="utf-8") as f:
        for row in csv.DictReader(line for line in f if not line.startswith("#")):
            if "day" in row:
                yield row["run"], row["kind"], float(row["day"]), float(row["cycles"]), bool(row["stop"])
            elif row["date"]:
                run = re.sub("(st|nd|rd|th)$", "", row["run"])
                date = datetime.date.fromisoformat(row["date"])
                if row["start"]:
                    starts[run] = datetime.date.fromisoformat(row["start"])
                kind = re.search(r"\b[MT]LC\b", row["card"])
                yield (run, kind[0].lower() if kind else "", float((date - starts[run]).days),
                       float(row["cycles"]), "STOP" in (row["note"] or ""))


def read_cards(path):
    """The cards of the file by the names of their runs."""
    cards: dict[str, Card] = {}
    for run, kind, day, cycles, stopped in rows_of(path):
        card = cards.setdefault(run, Card())
        card.days.append(day)
        card.cycles.append(cycles)
        if stopped:
            card.endurance = cycles
        elif kind:
            card.endurance = ENDURANCE[kind]
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
    known, cards = read_cards(FILE), read_cards(path)
    worn, end = fit([known[run] for run in FITTED])
    others = [run for run in cards if run not in FITTED and cards[run].endurance]
    for run in sorted(cards.keys() - others - set(FITTED)):
        print(f"run {run}: neither its kind nor its end is known")
    cards |= {run: known[run] for run in FITTED}
    same = ",".join(f"{what}:{100 * worn:.0f}%" for what in ("read", "program", "erase"))
    print(f"nand.worn = {same},end:{100 * end:.0f}%")
    print("run  cycles   card  model  off by")
    for run in (*FITTED, *others):
        card = cards[run]
        rows = list(zip(card.cycles[2:], card.speeds()[1:], model_speeds(card, worn, end)[1:]))
        for cycles, is_, model in rows:
            print(f"{run:>3} {cycles:7.0f} {is_:6.2f} {model:6.2f} "
                  f"{100 * (model / is_ - 1):+6.0f} %")
    speeds = [(card.speeds()[1:], model_speeds(card, worn, end)[1:])
              for card in (cards[run] for run in others)]
    is_, model = (np.concatenate(part) for part in zip(*speeds))
    near = int(np.sum(np.abs(model / is_ - 1) <= NEAR))
    alike = int(np.sum((model < 1) == (is_ < 1)))
    print(f"predicted, runs {' and '.join(others)}: {near} of {len(is_)} within "
          f"{100 * NEAR:.0f} %, "
          f"{alike} of {len(is_)} rightly slower or quicker than new")
    return near, alike, len(is_)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else FILE)
