# SPDX-License-Identifier: BSD-3-Clause
"""What the power can be cut under, in the virtual machine."""

from __future__ import annotations

from ..core.errors import LabError
from ..core.text import meant

USUAL = "ext4,f2fs,vfat,exfat"
FILESYSTEMS = ("ext4", "ext4-nojournal", "f2fs", "vfat", "exfat", "xfs")
WORKLOADS = ("files", "log", "database")

# For what is recorded once, with the size that a device gets if nobody names one: small, but as
# large as mkfs wants it.
RECORDED = {"ext4": "64M", "xfs": "320M", "btrfs": "128M", "f2fs": "64M", "vfat": "64M",
            "exfat": "64M", "ntfs": "64M", "ntfs3": "64M"}


def among(option: str, word: str, allowed: tuple[str, ...]) -> None:
    """LabError for a word that is not allowed."""
    if word not in allowed:
        raise LabError(f"{option} {word}: allowed: {', '.join(allowed)}{meant(word, allowed)}")


def choose(option: str, text: str, allowed: tuple[str, ...]) -> list[str]:
    """The words of "A,B"; LabError for one that is not allowed."""
    words = list(dict.fromkeys(text.split(",")))
    for word in words:
        among(option, word, allowed)
    return words


def mounts_of(texts: list[str], systems: list[str]) -> dict[str, str]:
    """The mount options of each filesystem: "FS:OPTIONS" is for this one, and "OPTIONS" for all.
    LabError if they are for none, or twice for one."""
    found: dict[str, str] = {}
    for text in texts:
        fs, colon, options = text.partition(":")
        own = bool(colon) and fs in RECORDED
        if colon and not own and meant(fs, tuple(RECORDED)):
            raise LabError(f"--mount {text}: there is no filesystem {fs}"
                           f"{meant(fs, tuple(RECORDED))}")
        if own and fs not in systems:
            raise LabError(f"--mount {text}: --fs does not name {fs}")
        for name in [fs] if own else systems:
            if name in found:
                raise LabError(f"--mount {text}: {name} has mount options already")
            found[name] = options if own else text
    return found
