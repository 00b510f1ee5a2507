# SPDX-License-Identifier: BSD-3-Clause
"""A card: a profile with what decides about its life."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from ..core.errors import LabError
from ..core.text import lines_of
from ..core.units import quantity
from ..runs.program import Tool
from . import endurance
from .endurance import Cycles, Number, Spread

# Before each detail of a value.
_DETAIL = re.compile(r",(?=[a-z_]+:)")
# Erases, where a profile says no other number.
_THRESHOLD = "50"


@dataclass(frozen=True)
class Card:
    """values   "section.key" of everything that `flashemu show` prints, as it is written
    blocks   cycles of its blocks, and slc of those in SLC mode
    spread   how far lives lie apart
    assumed  where numbers come from
    by_year  whether the year of the device has decided about its cycles
    """

    profile: str
    settings: tuple[str, ...]
    values: dict[str, str]
    blocks: Cycles
    slc: Cycles
    spread: Spread
    assumed: tuple[Number, ...]
    by_year: bool = False

    @property
    def capacity(self) -> int:
        """In bytes."""
        if self.values["device.capacity"] != "auto":
            return _bytes(self.values["device.capacity"])
        pages = math.prod(int(self.values[f"nand.{key}"]) for key in (
            "channels", "dies_per_channel", "planes_per_die", "blocks_per_plane",
            "pages_per_block"))
        size = pages * _bytes(self.values["nand.page_size"])
        return int(size / (1 + _share(self.values["ftl.op"])))

    @property
    def longest(self) -> int:
        """Bytes of its longest command."""
        return _bytes(self.values["link.max_transfer"])

    @property
    def static_threshold(self) -> float | None:
        """Erases by which blocks may differ before cold data are moved; None if they never are."""
        if self.values.get("ftl.wear_levelling") != "static":
            return None
        return float(self.values.get("ftl.wear_levelling:threshold", _THRESHOLD))

    @property
    def replayed(self) -> tuple[str, ...]:
        """The settings of a replay: no block fails, and what the endurance decides besides
        stays."""
        rates = [self.values.get(f"faults.rber:{kind}", "0") for kind in
                 ("worn", "retention", "disturb")]
        if any(rate != "0" for rate in rates):
            return self.settings
        kept = tuple(s for s in self.settings if not s.startswith(("nand.endurance=",
                                                                   "nand.slc_endurance=")))
        if self.values.get("nand.slc_endurance", "auto") != "auto":
            kept = (*kept, "nand.slc_endurance=auto")  # which is that of other blocks
        return (*kept, "nand.endurance=unlimited")


def _bytes(text: str) -> int:
    found = quantity(text)
    if found is None:
        raise LabError(f"a capacity of {text}: is not a size")
    return int(found)


def _values(shown: str) -> dict[str, str]:
    """What `flashemu show` prints, by "section.key", and by "section.key:name" of details that
    have no default."""
    found: dict[str, str] = {}
    section = key = ""
    for line in lines_of(shown):
        if line.startswith("["):
            section = line.strip("[]")
        elif line.startswith(" ") and key:
            found[f"{section}.{key}"] += f" {line.strip()}"  # a long note goes on
        elif " = " in line:
            key, _, value = line.partition(" = ")
            found[f"{section}.{key}"] = value
            if section not in ("provenance", "fidelity"):
                details = _DETAIL.split(value)
                if ":" not in details[0]:
                    found[f"{section}.{key}"] = details.pop(0)
                for detail in details:
                    name, _, of = detail.partition(":")
                    found[f"{section}.{key}:{name}"] = of
    return found


def look(tool: Tool, profile: str, settings: tuple[str, ...], year: int) -> Card:
    """The card; LabError if nothing on it wears."""
    values = _values(tool.ask("show", profile, *settings))
    if "nand.endurance" not in values:
        raise LabError(f"{profile}: ftl.type={values.get('ftl.type')} has no chip, so nothing "
                       "is known about its wear; a profile with blocks and an endurance is needed")
    told = [s.partition("=")[0] for s in settings]
    if values["nand.endurance"] == "unlimited":
        raise LabError(f"{profile}: nand.endurance=unlimited: the card never wears out; "
                       "nand.endurance=CYCLES says what its blocks bear")
    when = endurance.year_of(profile, year)
    blocks, rests = _cycles(values, told, "nand.endurance", values["nand.cell"], int(when.value))
    assumed = [Number("cycles of a block", f"{blocks.cycles:g}", blocks.source)]
    assumed += [when] if rests else []
    slc = blocks
    if values.get("ftl.slc_mode", "off") != "off" or values.get("ftl.enhanced_size",
                                                                 "none") != "none":
        slc, _ = _cycles(values, told, "nand.slc_endurance", "slc-mode", int(when.value))
        assumed.append(Number("cycles of a block in SLC mode", f"{slc.cycles:g}", slc.source))
    if values.get("ftl.slc_mode") == "static":
        assumed.append(Number("blocks of the SLC cache", values["ftl.slc_blocks"], "given"
                              if "ftl.slc_blocks" in told else
                              f"the profile: {values.get('provenance.ftl.slc_blocks', 'assumed')}"))
    spread, sources = _spread(values, settings)
    return Card(profile, settings, values, blocks, slc, spread, (*assumed, *sources), rests)


def _cycles(values: dict[str, str], told: list[str], key: str, cell: str,
            year: int) -> tuple[Cycles, bool]:
    """Cycles by the user, the profile or the table, in this order; and whether it is the table."""
    written = values.get(key, "auto")
    why = values.get(f"provenance.{key}")
    if key in told and written != "auto":
        return Cycles(float(written), "given"), False
    if why and written != "auto":
        return Cycles(float(written), f"the profile: {why}"), False
    return endurance.of_cell(cell, year), True


def _share(text: str) -> float:
    return quantity(text) or 0.0


def _spread(values: dict[str, str], settings: tuple[str, ...]) -> tuple[Spread, list[Number]]:
    """By the user or the profile, otherwise that of the table.  Devices that are drawn by a seed
    (device) count more than those of the kind (kind)."""
    usual, sources = endurance.usual_spread(), endurance.table()["spread"]
    rank = values.get("faults.life_spread:rank", "50%")
    if _share(rank) != 0.5:
        raise LabError(f"faults.life_spread=rank:{rank}: is one card of its kind, and life draws "
                       "cards of every rank; leave it out")
    name = "device" if _share(values.get("faults.life_spread:device", "0%")) else "kind"
    device = _share(values.get(f"faults.life_spread:{name}", "0%"))
    block = _share(values.get("faults.life_spread", "0%"))
    shape = values.get("faults.life_spread:shape", "uniform")
    why = f"the profile: {values.get('provenance.faults.life_spread', 'faults.life_spread')}"
    said = " ".join(s for s in settings if s.startswith("faults.life_spread="))
    own = [Number("spread from card to card", f"{device:g}",
                  "given" if f"{name}:" in said else why),
           Number("spread from block to block", f"{block:g}, {shape}", "given" if said else why)]
    table = [Number("spread from card to card", f"{usual.device:g}", sources["device_source"]),
             Number("spread from block to block", f"{usual.block:g}", sources["block_source"])]
    return Spread(device or usual.device, block or usual.block, shape if block else usual.shape), [
        own[0] if device else table[0], own[1] if block else table[1]]
