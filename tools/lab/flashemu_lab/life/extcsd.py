# SPDX-License-Identifier: BSD-3-Clause
"""What an eMMC says about itself, as `mmc extcsd read` prints it: life used up in steps of 10 %.

mmc-utils has printed the same register in two ways, `[DEVICE_LIFE_TIME_EST_TYP_A: 0x01]` and
`[EXT_CSD_DEVICE_LIFE_TIME_EST_TYP_A]: 0x01`; the kernel's file `life_time` has both types in a
line, and its neighbour `pre_eol_info` may follow, each with its name in front as grep prints it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Mapping

from ..core.errors import LabError
from .reading import Clock, clock_of

_LAST = 11
_KERNEL = re.compile(r"\s*(?:\S*life_time:)?0x([0-9a-f]{2}) 0x([0-9a-f]{2})\s*"
                     r"(?:(?:\S*pre_eol_info:)?0x([0-9a-f]{2})\s*)?", re.IGNORECASE)


@dataclass(frozen=True)
class Health:
    """What an eMMC says about itself: shares of its life that are used up, as (least, most), by
    type of its blocks; and whether its spares are nearly gone (1 normal, 2 warning, 3 urgent, 0
    nothing).
    """

    used: Mapping[str, tuple[float, float]]
    spares: int


def is_one(text: str) -> bool:
    """Whether it is what an eMMC says about itself."""
    return bool(re.search(r"LIFE_TIME_EST|PRE_EOL_INFO|Extended CSD rev", text)
                or _KERNEL.fullmatch(text))


def _register(text: str, register: str, name: str, most: int) -> int:
    """The value of a register, 0 where there is no such line."""
    found = re.search(rf"{register}\b[\]) \t:=]*([0-9a-zA-Z]*)", text)
    if not found:
        return 0
    try:
        value = int(found[1], 0 if found[1].lower().startswith("0x") else 10)
    except ValueError:
        value = -1
    if not 0 <= value <= most or found[1].lower() in ("0", "0x0"):  # cut off
        raise LabError(f"{name}: {register} is '{found[1]}'; allowed: 0x00 to 0x{most:02x}")
    return value


def parts(text: str) -> list[tuple[Clock | None, str]]:
    """The readings in a text, each with the clock in front of it."""
    found: list[tuple[Clock | None, str]] = []
    clock, lines = None, ""
    for line in text.splitlines(keepends=True):
        when = clock_of(line)
        if (when or "Extended CSD rev" in line) and is_one(lines):
            found.append((clock, lines))
            clock, lines = None, ""
        clock, lines = when or clock, lines + line
    return [*found, (clock, lines)]


def read(text: str, name: str) -> Health:
    """The registers; LabError if the device says nothing about its life."""
    kernel = _KERNEL.fullmatch(text)
    text = text.replace("ESTIMATION", "EST")
    if kernel:
        text = "".join(f"LIFE_TIME_EST_TYP_{k}: 0x{kernel[i]}\n" for i, k in enumerate("AB", 1))
        text += f"PRE_EOL_INFO: 0x{kernel[3]}\n" if kernel[3] else ""
    used: dict[str, tuple[float, float]] = {}
    for kind in "AB":
        step = _register(text, f"LIFE_TIME_EST_TYP_{kind}", name, _LAST)
        if step:
            used[kind] = ((step - 1) / 10, min(step, 10) / 10)
    there = [kind for kind in "AB" if f"LIFE_TIME_EST_TYP_{kind}" in text]
    if len(there) == 1:
        raise LabError(f"{name}: has the life of blocks of type {there[0]} only; has it been cut "
                       "off? mmc extcsd read prints types A and B")
    spares = _register(text, "PRE_EOL_INFO", name, 3)
    if not used:
        rev = re.search(r"Extended CSD rev (\S+ \(MMC [\d.]+\))", text)
        older = f" in revision {rev[1]}; it is there since MMC 5.0" if rev else ""
        raise LabError(f"{name}: the device does not say how much of its life is used up "
                       f"(DEVICE_LIFE_TIME_EST is missing or 0x00){older}")
    return Health(used, spares)
