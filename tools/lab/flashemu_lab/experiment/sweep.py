# SPDX-License-Identifier: BSD-3-Clause
"""The text of an experiment that a command line describes.

A sweep is an experiment like any other, so its folder has a file that can be changed and run.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Iterable

from ..core.errors import LabError

_KEY = re.compile(r"([a-z]+\.[A-Za-z_]+)=(.*)", re.DOTALL)

# Name, expression, label, unit, which is better.
Measure = tuple[str, str, str, str, str]
# What a sweep measures.
MEASURES: tuple[Measure, ...] = (
    ("rate", "(host.read.bytes + host.write.bytes) / elapsed_ns * 1000", "rate", "MB/s", "more"),
    ("waf", "ftl.waf", "write amplification", "", "less"),
    ("erases", "nand.block_erases", "erased blocks", "", "less"),
)


def text(value: str) -> str:
    """A text in TOML; JSON's escapes are allowed there."""
    return json.dumps(value, ensure_ascii=False)


def array(values: list[str]) -> str:
    """An array of texts in TOML."""
    return "[" + ", ".join(text(v) for v in values) + "]"


def measure_lines(rows: Iterable[Measure], scale: str = "") -> list[str]:
    """Lines of TOML that measure what each row names, as in MEASURES."""
    lines = []
    for name, value, label, unit, better in rows:
        lines += ["", f"[measure.{name}]", f"value = {text(value)}", f"label = {text(label)}",
                  f"unit = {text(unit)}", f"better = {text(better)}",
                  *([f"scale = {text(scale)}"] if scale else [])]
    return lines


def sweep_text(profiles: str, operands: list[str], warmup: str, depth: int, seeds: str,
               measures: list[str], flags: list[str]) -> str:
    """An experiment in TOML.

    profiles  one profile, or several with commas between them
    operands  KEY=V1,V2... each, and traces, gen:PATTERN or rec:RECORDING; a key with one value is
              not a factor
    seeds     whole numbers with commas between them
    measures  "NAME=EXPRESSION" each, instead of the usual ones
    """
    factors: list[str] = []
    settings: list[str] = []
    sources: list[str] = []
    keys: set[str] = set()
    names = profiles.split(",")
    if len(names) > 1:
        factors.append(f"profile = {array(names)}")
    for word in operands:
        is_source = word.startswith(("gen:", "rec:"))
        match = None if is_source else _KEY.fullmatch(word)
        if not match and not is_source and "=" in word and not Path(word).exists():
            raise LabError(f"{word}: is neither a key of a profile with its values, such as "
                           "ftl.op=7%,28% ('flashemu help' lists the keys), nor a trace file")
        if match and match[1].replace("-", "_") in keys:
            raise LabError(f"{word}: {match[1]} is given twice, allowed once")
        if not match:
            sources.append(word)
            continue
        keys.add(match[1].replace("-", "_"))
        if "," in match[2]:
            factors.append(f"{text(match[1])} = {array(match[2].split(','))}")
        else:
            settings.append(word)
    if not sources:
        raise LabError("a sweep needs requests: a trace file, or gen:PATTERN such as "
                       "gen:random,op=write,count=100K")
    if len(sources) > 1:
        factors.append(f"requests = {array(sources)}")
    if "," in seeds:
        factors.append(f"seed = {array(seeds.split(','))}")
    lines = ['name = "sweep"', f"title = {text('A sweep over ' + ', '.join(names))}",
             "", "[factors]",
             *factors, "", "[device]"]
    if len(names) == 1:
        lines.append(f"profile = {text(profiles)}")
    lines += [f"set = {array(settings)}", "", "[workload]",
              'requests = "{requests}"' if len(sources) > 1 else f"requests = {text(sources[0])}"]
    if warmup:
        lines.append(f"warmup = {text(warmup)}")
    if "," not in seeds:
        lines.append(f"seed = {seeds}")
    lines += [f"depth = {depth}", f"flags = {array(flags)}"]
    return "\n".join(lines + _measures(measures)) + "\n"


def _measures(measures: list[str]) -> list[str]:
    rows = list(MEASURES)
    if measures:
        rows = []
        for word in measures:
            name, equals, value = word.partition("=")
            if not equals or not value.strip() or not re.fullmatch(r"[A-Za-z0-9_-]+", name):
                raise LabError(f"--measure {word}: expected NAME=EXPRESSION, such as "
                               "slow=latency_ns.write.p99/1000000")
            rows.append((name, value, name, "", ""))
    return measure_lines(rows)
