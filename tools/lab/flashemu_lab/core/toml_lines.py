# SPDX-License-Identifier: BSD-3-Clause
"""Which line of a TOML file a key is in.  tomllib does not tell."""

from __future__ import annotations

import re
import tomllib

from .text import lines_of

# A place in a TOML file: names of tables and keys, and indices in arrays of tables.
Path = tuple[str | int, ...]

_HEADER = re.compile(r"\s*(\[\[?)\s*(.+?)\s*\]\]?\s*(?:#.*)?")
_PART = re.compile(r"""\s*("(?:[^"\\]|\\.)*"|'[^']*'|[A-Za-z0-9_-]+)\s*(\.|$)""")


def _parts(key: str) -> list[str]:
    """The names of a dotted key."""
    found = []
    place = 0
    while match := _PART.match(key, place):
        found.append(match[1].strip("\"'"))
        place = match.end()
        if not match[2]:
            break
    return found


def _value_end(lines: list[str], first: int, rest: str) -> int:
    """The number of the line behind a value that begins in line `first` with `rest`."""
    text = rest
    for end in range(first + 1, len(lines) + 1):
        try:
            tomllib.loads("x=" + text)
            return end
        except tomllib.TOMLDecodeError:
            if end < len(lines):
                text += "\n" + lines[end]
    return first + 1


def _plain(path: Path) -> Path:
    """The path with dotted names as several: "ftl.op" is the same key with and without quotes."""
    found: list[str | int] = []
    for part in path:
        if isinstance(part, str):
            found += part.split(".")
        else:
            found.append(part)
    return tuple(found)


def _split(line: str) -> tuple[str, str] | None:
    """The key and the value of a line `key = value`."""
    match = re.match(r"""\s*((?:"(?:[^"\\]|\\.)*"|'[^']*'|[\w.\s-])+?)\s*=\s*(.*)""", line)
    return (match[1], match[2]) if match else None


class Lines:
    """The lines of the keys of one text that tomllib has accepted."""

    def __init__(self, text: str) -> None:
        self._text = lines_of(text)
        self._spans: dict[Path, tuple[int, int]] = {(): (0, len(self._text))}
        self._scan()

    def _scan(self) -> None:
        table: Path = ()
        counts: dict[Path, int] = {}
        at = 0
        while at < len(self._text):
            line = self._text[at]
            header = _HEADER.fullmatch(line)
            if header:
                table = tuple(_parts(header[2]))
                if header[1] == "[[":
                    counts[table] = counts.get(table, -1) + 1
                    table = (*table, counts[table])
                self._spans[_plain(table)] = (at, at + 1)
                at += 1
                continue
            pair = None if line.lstrip().startswith("#") else _split(line)
            if not pair:
                at += 1
                continue
            end = _value_end(self._text, at, pair[1])
            self._spans[_plain((*table, *_parts(pair[0])))] = (at, end)
            at = end

    def of(self, path: Path, value: object = None) -> int:
        """The line, from 1, of a key, or of the nearest table around a key that is not there.

        If the key's value goes over several lines, it is the line that has `value`.
        """
        path = _plain(path)
        while path not in self._spans:
            path = path[:-1]
        first, end = self._spans[path]
        if value is not None and path:
            for i in range(first, end):
                if str(value) in self._text[i]:
                    return i + 1
        return first + 1
