# SPDX-License-Identifier: BSD-3-Clause
"""The work repeated until the device is steady, and what wears then.

`flashemu replay --until steady` repeats requests until the write amplification of a whole pass of
the chip differs by less than 1 % from that of the pass before, with everything that a device does:
merges, cleaning, the folds of an SLC cache, refresh, and what it does while the host pauses.  It
says how often each block was erased since the first pass.

What follows from that for the rest of a life:

* Blocks that took part wear alike, because free blocks are used in turn or the least worn one
  first.  One that is free, or holds only what is out of date, takes part before its turn, too.
* Blocks that hold data that never change keep their cycles.  With static wear levelling they take
  part: each time that the others are that threshold of erases ahead, their data are moved.
* Without wear levelling (ftl.wear_levelling=off) each block keeps its own rate.  So it does where
  the erases of a strategy that has none go to the same blocks in each pass, as a few free blocks
  go round while data are written in order; and where old data are refreshed, because their copies
  go to any block and lie there.  Counts of a short time differ by chance as well, by as much as
  their mean if erases fall on blocks at random; what they differ more by is taken for the rates'
  own.  With refresh blocks change their parts during a life, the more the longer it is, and worn
  blocks are refreshed more often.  Eight replays to death ended between 0.9 times the life in which
  blocks keep their parts, and that in which all of them share the wear, which was up to four times
  as long.  So both are drawn.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from ..core.errors import LabError
from ..runs.run import Json
from .card import Card
from .lives import Pool

# The correlation of two passes from which on blocks keep their own rates.
LIKE = 0.5
# The share of erases from which on refresh lets blocks change their parts.
REFRESHED = 0.02
CACHE, BLOCKS = "the SLC cache", "the blocks"


@dataclass(frozen=True)
class Steady:
    """What a replay says.

    waf         chip bytes for each byte of the host, in the last passes that are steady together
    passes      the same of all passes, in their order
    reached     whether the state is steady
    requests    that were replayed
    host_bytes  that were written in them
    rounds      of the work that were whole
    spares      blocks that may fail
    pools       blocks that wear
    cold        blocks that do not, because they hold data that never change
    gained      bytes that the host wrote before the device was steady, beyond what as many erases
                allow afterwards: free blocks are used up first
    most        bytes that the host could write in a day at most
    refreshed   share of the erases that are of refresh
    shared      pools that wear if blocks change their parts; empty if they do not
    """

    waf: float
    passes: tuple[float, ...]
    reached: bool
    requests: int
    host_bytes: int
    rounds: int
    spares: int
    pools: tuple[Pool, ...]
    cold: int
    gained: float
    most: float
    refreshed: float
    shared: tuple[Pool, ...]

    @property
    def possible(self) -> tuple[tuple[Pool, ...], ...]:
        """The pools that wear; several if nobody knows which it is."""
        return (self.pools, self.shared) if self.shared else (self.pools,)


def judge(result: Json, card: Card, name: str) -> Steady:
    """What the result of a replay says about this card.  LabError if nothing was written or erased,
    or if the card did not survive; `name` is the work's."""
    r = result["repeated"]
    passes = r["passes"]
    if result["state"] != "alive":
        raise LabError(f"{card.profile}: dies within the replay of {name}, after "
                       f"{result['host']['write']['bytes']} bytes: {result['reason']}; nothing is "
                       "known about years")
    last = {key: sum(p[key] for p in passes[-r["together"]:])
            for key in ("host_bytes", "programmed", "erases", "refresh_erases")}
    # Which blocks take part, all passes say; how fast they wear, the last one.
    each = last["host_bytes"] / max(1, last["erases"])
    written = sum(p["erases"] for p in passes[1:] or passes) * each
    blocks = r["blocks"]
    if card.values.get("ftl.slc_mode") == "static" and result["ftl"]["slc_folds"]:
        blocks = cache_marked(blocks, int(card.values["ftl.slc_blocks"]))
    own = result["ecc"]["corrected"] > 0 or (
        r["likeness"] > LIKE and "ftl.wear_levelling" not in card.values)
    moves = result["ftl"]["wear_moves"] > 0
    pools, cold = _pools(blocks, written, card, moves, own)
    refreshed = last["refresh_erases"] / max(1, last["erases"])
    shared = _pools(blocks, written, card, moves, False)[0] if refreshed >= REFRESHED else []
    if not pools:
        raise LabError(f"{name} on {card.profile}: {result['records']} requests erase no block, so "
                       "nothing is known about its wear; --most N replays more")
    return Steady(last["programmed"] / last["host_bytes"],
                  tuple(p["programmed"] / p["host_bytes"] for p in passes), r["reached"],
                  result["records"], result["host"]["write"]["bytes"], r["rounds"], r["spares"],
                  tuple(pools), cold,
                  sum(p["host_bytes"] - p["erases"] * each for p in passes),
                  result["host"]["write"]["bytes"] / max(1, result["busy_ns"]) * 86400e9,
                  refreshed, tuple(shared))


def unlevelled(rows: list[dict[str, Any]]) -> list[tuple[int, float]]:
    """Blocks with the erases that each of them would have without chance, from rows with counts."""
    n = sum(r["blocks"] for r in rows)
    mean = sum(r["blocks"] * r["erases"] for r in rows) / n
    variance = sum(r["blocks"] * (r["erases"] - mean) ** 2 for r in rows) / n
    own = math.sqrt(max(0.0, 1 - mean / variance)) if variance else 0.0
    return [(r["blocks"], max(mean + own * (r["erases"] - mean), 1e-9)) for r in rows]


def cache_marked(blocks: list[dict[str, Any]], size: int) -> list[dict[str, Any]]:
    """The rows with `size` blocks of an SLC cache marked.  A block of it that is empty carries no
    mark, so those are taken that were erased about as often as the marked ones, or most often."""
    marked = [b for b in blocks if b["slc"]]
    left = size - sum(b["blocks"] for b in marked)
    typical = max((b["erases"] for b in marked), default=max(b["erases"] for b in blocks))

    def distance(b: dict[str, Any]) -> float:
        return float(abs(b["erases"] - typical))
    found = list(marked)
    for b in sorted((b for b in blocks if not b["slc"]), key=distance):
        taken = max(0, min(left, b["blocks"])) if not b["rests"] else 0
        left -= taken
        found += [{**b, "slc": slc, "blocks": n} for slc, n in ((True, taken),
                                                                (False, b["blocks"] - taken)) if n]
    return found


def _pools(blocks: list[dict[str, Any]], written: float, card: Card,
           moves: bool, own: bool) -> tuple[list[Pool], int]:
    """The pools that wear, and how many blocks do not; `written` bytes go with the erases, `moves`
    says whether cold data were moved meanwhile, and `own` whether blocks keep rates of their
    own."""
    levelled = card.values.get("ftl.wear_levelling") != "off" and not own
    pools = []
    cold = sum(b["blocks"] for b in blocks if b["rests"] and b["old"] and not b["slc"])
    for slc, name, cycles in ((True, CACHE, card.slc.cycles), (False, BLOCKS, card.blocks.cycles)):
        rows = [b for b in blocks if b["slc"] == slc and not b["rests"]]
        if not levelled:
            if any(b["erases"] for b in rows):
                pools += [Pool(name, n, rate / written, cycles) for n, rate in unlevelled(rows)]
            continue
        erases = float(uses(rows))
        if erases <= 0:
            continue
        n = sum(b["blocks"] for b in rows)
        n += _waiting(blocks, card) if not slc else 0
        if card.static_threshold is not None and not slc:
            # Each block with cold data is emptied once while the others are erased so often.
            erases += 0 if moves else cold * erases / n / max(1.0, card.static_threshold)
            n, cold = n + cold, 0
        pools.append(Pool(name, n, erases / n / written, cycles))
    return pools, cold


def _waiting(blocks: list[dict[str, Any]], card: Card) -> int:
    """Blocks whose turn has not come yet.  Those that are kept for an SLC cache are free, too."""
    free = int(sum(b["blocks"] for b in blocks
                   if b["rests"] and not b["old"] and not b["slc"]))
    if card.values.get("ftl.slc_mode") == "static":
        marked = sum(b["blocks"] for b in blocks if b["slc"])
        free -= max(0, int(card.values["ftl.slc_blocks"]) - marked)
    return max(0, free)


def uses(rows: list[dict[str, Any]]) -> int:
    """How often these blocks began to hold data, because each time asks for an erase: of those that
    were free from the beginning it is still to come."""
    return int(sum(b["blocks"] * b["fills"] for b in rows))
