# SPDX-License-Identifier: BSD-3-Clause
"""What a command may replace: what it has made itself, and nobody has changed since.

    a folder   is ours if its index.html is a page of flashemu-lab; or without one, as when the disk
               became full, if its results.json, which is written first, is a result
    a page     is ours if it is one
    verdicts   may replace any verdicts in JUnit's XML
    figures    of job are ours if they are such a list, and a table of sample if it has its columns
    a profile  of fit, refine or advise ends in a line with the sum of the text before it, so that
               a number that somebody has changed is not lost

With --force everything is replaced.
"""

from __future__ import annotations

import argparse
import json
import re
import zlib
from pathlib import Path

from ..core.errors import LabError
from ..core.files import write_whole

_FOLDERS = ("run", "sweep", "advise", "crash", "life")
_PAGES = ("report", "datasheet")
_PROFILES = ("fit", "refine")
_FILES = ("job", "sample")
_IN_FOLDER = re.compile(r"index\.html|results\.(json|csv)|experiment\.toml|figure-\d+\.(svg|png)")
_SUM = re.compile(rb"(.*\n); sum ([0-9a-f]{8})\n", re.S)
COMMANDS = (*_FOLDERS, *_PAGES, *_PROFILES, *_FILES)


def check(command: str, arguments: argparse.Namespace) -> None:
    """LabError if the command cannot write there, or would replace what it may not."""
    output: Path | None = getattr(arguments, "output", None)
    if output is None:
        return
    into_folder = command in (*_FOLDERS, "record")
    if into_folder and output.exists() and not output.is_dir():
        raise LabError(f"-o {output}: is a file; allowed: a folder")
    if not into_folder and output.is_dir():
        raise LabError(f"-o {output}: is a folder; allowed: a file")
    if getattr(arguments, "force", True):
        return
    if command in _FOLDERS:
        _check_folder(output)
    if command in _FILES and output.is_file() and not _is_ours(command, _read(output)):
        raise _refused(output)


def keeps_inputs(output: Path, inputs: list[Path]) -> None:
    """LabError if the output would replace an input."""
    for path in inputs:
        if output.exists() and path.exists() and output.samefile(path):
            raise LabError(f"-o {output}: is one of the inputs; allowed: another file")


def check_page(page: Path, force: bool) -> None:
    """The same for a page."""
    if not force:
        _check_page(page)


def check_junit(path: Path, force: bool) -> None:
    """The same for verdicts as JUnit's XML, of whichever program."""
    if not force and path.is_file() and b"<testsuite" not in (_read(path) or b"<testsuite"):
        raise _refused(path)


def check_profile(output: Path, force: bool) -> None:
    """The same for a profile and the page beside it."""
    if force:
        return
    _check_page(output.with_suffix(".html"))
    if output.exists() and is_changed(output):
        raise _refused(output)


def write_profile(path: Path, text: str) -> None:
    """Writes a profile with its sum at the end."""
    whole = text if text.endswith("\n") else text + "\n"
    write_whole(path, f"{whole}; sum {zlib.crc32(whole.encode()):08x}\n")


def is_changed(path: Path) -> bool:
    """Whether a profile is not as `write_profile` left it."""
    found = _SUM.fullmatch(_read(path))
    return found is None or int(found[2], 16) != zlib.crc32(found[1])


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as e:
        raise LabError(f"{path}: {e.strerror}") from None


def _refused(path: Path) -> LabError:
    return LabError(f"{path}: is there, and is not what flashemu-lab has made; take another name, "
                    "or --force to replace it")


def _is_ours(command: str, data: bytes) -> bool:
    """Whether the command has written this file, or it is empty."""
    if command == "sample":
        return not data or data.startswith(b"seed,filesystem,recording,")
    try:
        found = json.loads(data or b"[]")
    except (ValueError, RecursionError):
        return False
    return isinstance(found, list) and all(
        isinstance(one, dict) and str(one.get("schema")).startswith("flashemu-job-")
        for one in found)


def _check_page(path: Path) -> None:
    if path.is_file() and b"flashemu-lab" not in _read(path):
        raise _refused(path)


def _is_result(path: Path) -> bool:
    try:
        found = json.loads(_read(path)) if path.is_file() else None
    except (ValueError, RecursionError):
        return False
    return isinstance(found, dict) and ("made_by" in found or {"format", "program"} <= found.keys())


def _check_folder(folder: Path) -> None:
    if not folder.is_dir():
        return
    page = folder / "index.html"
    _check_page(page)
    if not page.exists() and not _is_result(folder / "results.json"):
        for path in sorted(folder.iterdir()):
            if _IN_FOLDER.fullmatch(path.name):
                raise _refused(path)
