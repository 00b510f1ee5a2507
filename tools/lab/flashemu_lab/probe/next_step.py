# SPDX-License-Identifier: BSD-3-Clause
"""What to measure next, if a measurement leaves the structure open: the command, and how long it
takes."""

from __future__ import annotations

from ..core.text import listed
from ..measurement import figures
from ..measurement.schema import Measurement
from ..runs.program import Tool
from . import session, speaking
from .findings import Wishes

# Of a device whose capacity nobody has said, in bytes.
_USUAL_CAPACITY = 8 * 10**9


def _minutes(tool: Tool, capacity: int, read_only: bool) -> int:
    planned = session.plan(tool, Wishes(capacity or _USUAL_CAPACITY, read_only))
    return max(1, round(planned.seconds / 60))


def measure(tool: Tool, m: Measurement) -> str:
    """The clause with the command, such as "measure next: `flashemu-lab probe ...`, which ..."."""
    told = speaking.told(m.points)
    size = str(m.capacity) if m.capacity else "SIZE"
    text = (f"measure next: `flashemu-lab probe /dev/sdX -o PROBED.json --destroy {size}`, which "
            "tells all of this, overwrites the device and takes about "
            f"{_minutes(tool, m.capacity, False)} min on a slow stick")
    if told.page is None or told.unit is None:
        text += (f" (with --read-only instead of --destroy it writes nothing, takes about "
                 f"{_minutes(tool, m.capacity, True)} min and tells the page, and often the unit)")
    return text


def untold(m: Measurement) -> str:
    """What no point speaks about, such as "the measurement does not show how large a page is";
    "" if there is a point for each number of the structure."""
    missing = speaking.told(m.points).untold()
    return f"the measurement does not show {listed(missing)}" if missing else ""


def too_few(m: Measurement) -> str:
    """The clause that says so; "" if there are enough figures."""
    count = figures.independent(m.points)
    if count >= figures.ENOUGH:
        return ""
    if not count:
        return f"there is no figure, and a profile needs at least {figures.ENOUGH}"
    how_many = ("one figure is" if count == 1 else
                f"{count} figures that do not follow from each other are")
    return f"{how_many} too few for a profile (at least {figures.ENOUGH})"


def refusal(tool: Tool, m: Measurement, written: bool) -> str:
    """Why there is no profile, and what to measure next, in one sentence without its full stop; ""
    if there are enough figures, and something was written."""
    few, open_ = too_few(m), untold(m)
    if not few and written:
        return ""
    why = [few] if few else \
        ["nothing was written, so a profile would make up what writes take"]
    return f"{', and '.join([*why, *([open_] if open_ else [])])}; {measure(tool, m)}"


def left_open(m: Measurement, structure: bool = True) -> list[str]:
    """The sentences that stand in front of everything that was made from these points: that there
    are too few, and what of a `structure` none of them shows."""
    said = [text for text in (too_few(m), untold(m) if structure else "") if text]
    return [f"{text[0].upper()}{text[1:]}." for text in said]


def sentence(tool: Tool, m: Measurement) -> str:
    """All of this in one sentence; "" if nothing is missing."""
    text = ", and ".join(text for text in (too_few(m), untold(m)) if text)
    if not text:
        return ""
    return f"{text[0].upper()}{text[1:]}; {measure(tool, m)}."
