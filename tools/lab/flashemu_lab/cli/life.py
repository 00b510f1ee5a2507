# SPDX-License-Identifier: BSD-3-Clause
"""The command `life`."""

from __future__ import annotations

import argparse
import re
import shlex
import sys
from pathlib import Path
from typing import Callable

from ..core.errors import LabError
from ..core.files import make_folder, write_whole
from ..core.units import quantity
from ..life import card as cards
from ..life import lives, prediction, told, what_if, works
from ..life.prediction import Effort, Prediction, Question
from ..runs.local import Engine
from ..runs.program import Tool
from ..runs.store import Store
from . import engines
from .arguments import MOST_SEED, number

Add = Callable[[str, str], argparse.ArgumentParser]
# The card that is meant without --card: one that is sold today, for the computers that ask most.
CARD = "raspberrypi32g"
_SETTING = re.compile(r"[a-z]+\.[A-Za-z_0-9]+=.+")
_YEARS = (1990, 2100)


def _size(text: str) -> float:
    found = quantity(text.removesuffix("/day"))
    if not found or found <= 0:
        raise argparse.ArgumentTypeError(f"{text}: allowed: a size such as 500MB or 2G")
    return found


def _time(text: str) -> float:
    found = works.seconds(text)
    if not found:
        raise argparse.ArgumentTypeError(f"{text}: allowed: a time such as 10s, 5min, 2h, 30d or "
                                         "3y")
    return found


def add_command(add: Add) -> None:
    """Adds the parser."""
    c = add("life", "how long cards live under a work, and what helps")
    c.add_argument("words", metavar="WORK|KEY=VALUE", nargs="+",
                   help="a shipped work (" + ", ".join(works.shipped()) + "), rec:RECORDING, "
                   "gen:PATTERN, host=SIZE or chip=SIZE a day, a trace, two readings of "
                   "/proc/diskstats, or what iostat, sar -d or mmc extcsd read has printed; and "
                   "keys "
                   "of the profiles")
    c.add_argument("--card", metavar="PROFILE", action="append", default=[],
                   help=f"the card, or several side by side ({CARD})")
    c.add_argument("--per-day", metavar="SIZE", type=_size, default=0.0,
                   help="how much the host writes in a day")
    c.add_argument("--every", metavar="TIME", type=_time, default=0.0,
                   help="how often a recording or a trace happens, such as 1h")
    c.add_argument("--apart", metavar="TIME", type=_time, default=0.0,
                   help="the time between two readings, where they do not say it")
    c.add_argument("--age", metavar="TIME", type=_time, default=0.0,
                   help="how long a device has been used, for mmc extcsd")
    c.add_argument("--device", metavar="NAME", default="",
                   help="which device of a reading (the disk with most writes)")
    c.add_argument("--year", metavar="N", type=number(*_YEARS), default=0,
                   help="of the card, which decides about its endurance where the profile does not")
    c.add_argument("--only", action="store_true", help="without what would be if")
    c.add_argument("--most", metavar="N", type=number(1), default=Effort.most,
                   help=f"how many requests of a work are replayed at most ({Effort.most})")
    c.add_argument("--cards", metavar="N", type=number(10, 1000000), default=lives.DRAWS,
                   help=f"how many cards are drawn ({lives.DRAWS})")
    c.add_argument("--seed", metavar="N", type=number(0, MOST_SEED), default=1,
                   help="of the cards that are drawn (1)")
    c.add_argument("-o", "--output", metavar="DIR", type=Path,
                   help="write index.html and results.json into this folder")
    c.add_argument("--json", action="store_true", help="print the result as JSON")
    engines.add_options(c)


def _questions(tool: Tool, arguments: argparse.Namespace, effort: Effort) -> tuple[
        list[Prediction], list[Question]]:
    """Answers that need no replay, and questions that do."""
    settings = tuple(w for w in arguments.words if _SETTING.fullmatch(w))
    words = [w for w in arguments.words if w not in settings]
    if not words:
        raise LabError(f"life: which work? {', '.join(works.shipped())}, a recording, a trace or a "
                       "reading")
    asked = works.read(tool, words, works.Told(arguments.per_day, arguments.every, arguments.apart,
                                               arguments.age, arguments.device))
    profiles = arguments.card or [CARD]
    if len(set(profiles)) < len(profiles):
        raise LabError(f"--card {profiles[-1]}: is given twice")
    known = [cards.look(tool, name, settings, arguments.year) for name in profiles]
    ready = [prediction.of_health(w) for w in asked if w.health]
    return ready, [prediction.ask(tool, w, c, effort) for w in asked if not w.health for c in known]


def _what_ifs(tool: Tool, q: Question, base: Prediction, arguments: argparse.Namespace,
              effort: Effort, run: tuple[Store, Engine]) -> tuple[list[told.Row], list[str]]:
    """What would be if, and what could not be compared."""
    work = what_if.fixed(q, base, prediction.round_bytes(tool, q, effort, *run))
    rows: list[told.Row] = []
    refused: list[str] = []
    asked: list[tuple[str, Question]] = []
    for name, other, card in what_if.variants(tool, work, q.card, arguments.year):
        try:
            asked.append((name, prediction.ask(tool, other, card, effort)))
        except LabError as e:
            refused.append(f"{name}: {e}")
    outcomes = prediction.perform([one for _, one in asked], *run)
    for name, one in asked:
        try:
            rows.append((name, prediction.answer(one, outcomes, effort)))
        except LabError as e:
            refused.append(f"{name}: {e}")
    return rows, [*refused, what_if.NO_RECORDING]


def perform(arguments: argparse.Namespace) -> int:
    """Answers, and prints and writes the answer."""
    tool = Tool()
    run = (engines.store_of(arguments), engines.engine_of(arguments, tool))
    effort = Effort(arguments.most, arguments.cards, arguments.seed)
    answers, asked = _questions(tool, arguments, effort)
    outcomes = prediction.perform(asked, *run)
    answers += [prediction.answer(q, outcomes, effort) for q in asked]
    rows: list[told.Row] = []
    refused: list[str] = []
    if asked and not arguments.only and not any(a.card is None for a in answers):
        rows, refused = _what_ifs(tool, asked[0], answers[0], arguments, effort, run)
    made_by = f"flashemu-lab {tool.version}: " + shlex.join(["life", *arguments.words, *(
        word for c in arguments.card for word in ("--card", c))])
    result = told.to_json(answers, rows, refused, made_by)
    if arguments.output:
        make_folder(arguments.output)
        write_whole(arguments.output / "results.json", result)
        write_whole(arguments.output / "index.html", told.page(answers, rows, refused, made_by))
    sys.stdout.write(result if arguments.json else told.text(answers, rows, refused))
    if arguments.output and not arguments.json:
        print(f"\n{arguments.output / 'index.html'}")
    return 0
