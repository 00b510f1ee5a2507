# SPDX-License-Identifier: BSD-3-Clause
"""The command `life`."""

from __future__ import annotations

import argparse
import re
import shlex
import sys

from ..core.errors import LabError
from ..core.files import make_folder, write_whole
from ..core.text import listed
from ..life import card as cards, prediction, told, what_if, works
from ..life.asked import CARD, Effort, shipped
from ..life.prediction import Prediction, Question
from ..runs.local import Engine
from ..runs.program import Tool
from ..runs.store import Store
from . import engines

_SETTING = re.compile(r"[a-z]+\.[A-Za-z_0-9]+=.+")


def _questions(tool: Tool, arguments: argparse.Namespace, effort: Effort) -> tuple[
        list[Prediction], list[Question]]:
    """Answers that need no replay, and questions that do."""
    settings = tuple(w for w in arguments.words if _SETTING.fullmatch(w))
    words = [w for w in arguments.words if w not in settings]
    if not words:
        raise LabError(f"life: which work? {', '.join(shipped())}, a recording, a trace or a "
                       "reading")
    asked = works.read(tool, words, works.Told(arguments.per_day, arguments.every, arguments.apart,
                                               arguments.age, arguments.device))
    names = [w.name for w in asked]
    if again := [name for i, name in enumerate(names) if name in names[:i]]:
        raise LabError(f"{again[0]}: is given twice")
    given = [*(["--card"] if arguments.card else []), *(["--year"] if arguments.year else []),
             *settings]
    if given and all(w.health for w in asked):
        raise LabError(f"{given[0]}: is of a card that is replayed, and nothing is: "
                       f"{asked[0].name} says itself how much of its life is used up")
    profiles = arguments.card or [CARD]
    if len(set(profiles)) < len(profiles):
        raise LabError(f"--card {profiles[-1]}: is given twice")
    known = [cards.look(tool, name, settings, arguments.year) for name in profiles]
    if arguments.year and not any(c.by_year for c in known):
        raise LabError(f"--year: says nothing about {listed(profiles)}, whose endurance does not "
                       "come from the table by kind of cell and year")
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
    return rows, [*refused, *what_if.not_recorded(work, q.card)]


def life(arguments: argparse.Namespace) -> int:
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
