# SPDX-License-Identifier: BSD-3-Clause
"""How recordings are made: a TOML file with a table for each recording.

tools/lab/recordings/recipes.toml has those of the shipped ones and says what stands in a table.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..core.errors import LabError
from . import recordings

_NAME = re.compile(r"[a-z0-9][a-z0-9._-]*")
_TEXTS = ("profile", "mkfs", "mount", "work")
_SECTORS = ("start", "sectors")
# How people write the names of filesystems; and what stands behind "-" in a recording's name.
_SPELLED = {"vfat": "FAT32", "vfat12": "FAT12", "vfat16": "FAT16", "exfat": "exFAT",
            "btrfs": "Btrfs", "ntfs": "NTFS", "ntfs3": "NTFS", "xfs": "XFS", "f2fs": "F2FS"}
_OPTIONS = {"nojournal": " without a journal", "stripe": " with a stripe"}
# What a table has if neither it nor [defaults] says otherwise.
_USUAL = {"seconds": recordings.SECONDS, "memory": recordings.MEMORY}
_GUEST = tuple(_USUAL)


def spelled(name: str) -> str:
    """A filesystem with its options, as people write what recordings call it: "FAT32" for vfat,
    "FAT32 (32 KiB clusters)" for vfat-32k."""
    filesystem, _, options = name.partition("-")
    text = _SPELLED.get(filesystem, filesystem)
    if options in _OPTIONS:
        return text + _OPTIONS[options]
    if re.fullmatch(r"\d+k", options):
        return f"{text} ({options[:-1]} KiB clusters)"
    return f"{text} ({options})" if options else text


def partition_type(filesystem: str, mkfs: str) -> str:
    """The type of a partition in sfdisk's words; `mkfs` is the command for its filesystem."""
    if filesystem == "vfat":
        return "e" if "-F 16" in mkfs else "1" if "-F 12" in mkfs else "c"
    return "7" if filesystem in ("exfat", "ntfs") else "83"


@dataclass(frozen=True)
class Recipe:
    """One recording to be made; start and sectors are in sectors of 512 bytes.

    scale    how many seconds the server waits for a second of the device
    seconds  of the clock, after which the machine is ended if the work is not done
    memory   of the machine, in MiB
    """

    name: str
    profile: str
    mkfs: str
    mount: str
    work: str
    start: int
    sectors: int
    scale: float
    seconds: int
    memory: int

    @property
    def filesystem(self) -> str:
        """Such as "vfat": what mkfs makes."""
        program = self.mkfs.split()[0]
        return {"mke2fs": "ext4", "mkntfs": "ntfs"}.get(program, program.removeprefix("mkfs."))

    def line(self, full: bool = False) -> str:
        """The recipe as tools/vm/record.sh takes it; with `full`, the statistics of each phase are
        wanted."""
        kind = partition_type(self.filesystem, self.mkfs)
        return "|".join([self.name, kind, str(self.start), str(self.sectors), self.mkfs,
                         self.mount, self.work, "full" if full else ""])


def shipped_path() -> Path:
    """The recipes of the shipped recordings."""
    return recordings.shipped_folder() / "recipes.toml"


def load(path: Path) -> dict[str, Recipe]:
    """The recipes of a file by name.  LabError, one line a mistake, if it is wrong."""
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as e:
        raise LabError(f"{path}: {e.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as e:
        raise LabError(f"{path}: {e}") from None
    wrong: list[str] = []
    defaults = tables.pop("defaults", {})
    found = {}
    for name, table in tables.items():
        if not _NAME.fullmatch(name) or not isinstance(table, dict):
            wrong.append(f"{path}: [{name}]: allowed: a table with a name of small letters, digits "
                         "and - _ .")
            continue
        members: dict[str, Any] = {**_USUAL, **defaults, **table}
        bad = _mistakes(members)
        wrong += [f"{path}: [{name}]: {message}" for message in bad]
        if not bad:
            found[name] = Recipe(name=name, scale=float(members["scale"]),
                                 **{key: members[key] for key in _TEXTS + _SECTORS + _GUEST})
    if wrong:
        raise LabError("\n".join(wrong))
    return found


def _mistakes(members: dict[str, object]) -> list[str]:
    known = (*_TEXTS, *_SECTORS, *_GUEST, "scale")
    wrong = [f"unknown key '{key}'; allowed: {', '.join(known)}" for key in members
             if key not in known]
    for key in _TEXTS:
        value = members.get(key)
        if not isinstance(value, str) or not value.strip() or set(value) & set("|\n"):
            wrong.append(f"{key} = {value!r}: expected a text without '|'")
    for key in _SECTORS + _GUEST:
        value = members.get(key)
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            unit = {"seconds": "seconds", "memory": "MiB"}.get(key, "sectors")
            wrong.append(f"{key} = {value!r}: expected a number of {unit}, at least 1")
    scale = members.get("scale")
    if not isinstance(scale, (int, float)) or isinstance(scale, bool) or not 0.001 <= scale <= 10:
        wrong.append(f"scale = {scale!r}: expected a number from 0.001 to 10")
    return wrong
