# SPDX-License-Identifier: BSD-3-Clause
"""How much it matters that the host of a replay takes no time.

Some devices go on with their work while the host thinks, and others lose what they had begun.  For
them a result says how far it would be off with a host that thinks as long as the recorded one: a
few of its runs are replayed again at that pace.  The recorded host was emulated, so it thought
longer than a real one does.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Callable, Iterable

from ..recording import recordings
from ..runs.expression import longest_command
from ..runs.local import Engine, execute
from ..runs.program import Outcome
from ..runs.run import Json, Run, Source
from ..runs.store import Store

# So many runs of a result are replayed at the recorded pace; each takes as long as any other.
_MOST = 6
# What changes by less is not told.
_LEAST = 0.005


def pairs(runs: Iterable[Run]) -> list[tuple[Run, Run]]:
    """Some of the runs whose host takes no time, spread over all of them, each with the same run at
    the recorded pace."""
    able = {run.key(): run for run in runs if _able(run)}
    some = list(able.values())
    step = -(-len(some) // _MOST) or 1
    return [(run, _paced(run)) for run in some[::step]]


def _able(run: Run) -> bool:
    if len(run.requests) != 1 or run.requests[0].kind != "recording":
        return False
    found = recordings.operand(run.requests[0].text, longest_command(run.canonical))
    return bool(found.recording.thinks) and not found.pace


def _paced(run: Run) -> Run:
    text = run.requests[0].text + ",pace=1"
    return replace(run, requests=(Source.of(text, Path(), longest_command(run.canonical)),))


def told(replay: Json, runs: Iterable[Run], find: Callable[[str], Outcome], store: Store,
         engine: Engine) -> Json:
    """`replay` of a table with what the recorded pace would change, if it matters; `find` gives the
    outcome of one of the table's runs by its key.

    thinking  {"runs": of both paces, "largest": the share by which the device's time changes}
    """
    tried = pairs(runs)
    again = {run.key(): ended for run, ended in execute([p for _, p in tried], store, engine)}
    shares = []
    for run, paced in tried:
        quick, slow = find(run.key()).result or {}, again[paced.key()].result or {}
        if quick.get("busy_ns") and slow.get("busy_ns"):
            shares.append(slow["busy_ns"] / quick["busy_ns"] - 1)
    if not shares:
        return replay
    largest = max(shares, key=abs)
    sentence = replay["sentence"]
    if abs(largest) >= _LEAST:
        sentence += (
            " The host of these replays takes no time. With one that thinks as long as the "
            f"recorded one, an emulated one, the device takes up to {100 * abs(largest):.1f} % "
            f"{'longer' if largest > 0 else 'shorter'} (tried with {len(shares)} of the runs).")
    return {**replay, "sentence": sentence,
            "thinking": {"runs": len(shares), "largest": largest}}
