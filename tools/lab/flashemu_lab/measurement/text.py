# SPDX-License-Identifier: BSD-3-Clause
"""The text of a log, without what stands around it.

People paste a log from a terminal, a mail, a README, a journal or a page.  The same line then looks
like any of these:

    write: IOPS=50, BW=50.9MiB/s ...
    >     write: IOPS=50, BW=50.9MiB/s ...
    May 25 19:26:52 board fio[1234]:   write: IOPS=50, BW=50.9MiB/s ...
    [2024-05-25T19:26:52Z] \\x1b[32m  write: IOPS=50, BW=50.9MiB/s ...\\r

Readers see the first one only.  What a carriage return has overwritten on a terminal was no result
when it was printed, and is none here.  Objects in JSON are found wherever they begin, also behind
other text on a line and inside other objects, and come as one item in their place.
"""

from __future__ import annotations

import html
import json
import re
from bisect import bisect_right
from itertools import accumulate
from typing import Iterator

from .reader import Document, Line

# So many beginnings of objects that are none are tried in a log.
_TRIES = 2000

_ESCAPES = re.compile(r"(?:\x1b|\^\[)\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?|"
                      r"\x1b[@-Z\\-_]")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\u200b\ufeff]")
_TAGS = re.compile(r"</?(?:pre|code|br|p|tt|samp|blockquote|li|span|div)\b[^<>]*>", re.I)
_QUOTE = re.compile(r"(?:[ \t]*>)+ ?|[ \t]*\|[ \t](?!.*\|[ \t]*$)")
_COMMENT = re.compile(r"[ \t]*(?:#+|//)[ \t]")
_DAY = r"\d{4}-\d\d-\d\d"
_TIME = r"\d\d:\d\d:\d\d(?:[.,]\d{1,9})?"
_STAMP = re.compile(
    rf"[ \t]*(?:\[?(?:{_DAY}[T ])?{_TIME}(?:Z| ?[+-]\d\d:?\d\d| UTC)?\]?"
    r"|\[\s*\d{1,9}\.\d{3,9}\]|\d{10}\.\d{3,9})(?::?[ \t]|$)")
# A host and a program; behind a date in numbers only with the number of the process.
_SYSLOG = re.compile(rf"[ \t]*(?:[A-Z][a-z]{{2}} +\d{{1,2}} {_TIME}[ \t]+[\w.-]+[ \t]+[\w./@-]+"
                     rf"(?:\[\d+\])?:|{_DAY}[T ]{_TIME}(?:Z|[+-]\d\d:?\d\d)?[ \t]+[\w.-]+[ \t]+"
                     r"[\w./@-]+\[\d+\]:)(?: |$)")
_PROGRAM = re.compile(r"[\w.-]+ [\w./@-]+\[\d+\]: ?")
_LEVEL = re.compile(r"(?:- )?\[?(?:INFO|DEBUG|NOTICE|WARN(?:ING)?|ERROR)\b\]?:? ?(?:- )?|"
                    r"std(?:out|err) [FP] ?")


def decode(data: bytes) -> str:
    """Text in UTF-8, in UTF-16 with or without a byte order mark, or else in Windows' or Latin-1's
    character set, which have a micro sign, too.  A file whose lines end with \\r alone gets \\n."""
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        text = data.decode("utf-16", errors="replace")
    elif len(data) > 3 and data[1:2000:2].count(0) > 0.8 * len(data[1:2000:2]):
        text = data.decode("utf-16-le", errors="replace")
    elif len(data) > 3 and data[0:2000:2].count(0) > 0.8 * len(data[0:2000:2]):
        text = data.decode("utf-16-be", errors="replace")
    else:
        try:
            text = data.decode("utf-8-sig")
        except UnicodeDecodeError:
            text = data.decode("cp1252", errors="replace") if b"\xb5s" in data else \
                data.decode("utf-8", errors="replace")
    return text if "\n" in text else text.replace("\r", "\n")


def _visible(line: str) -> str:
    """What a terminal shows of a line: without colours, and behind the last carriage return."""
    line = _ESCAPES.sub("", line)
    if "\r" in line:
        parts = [part for part in line.split("\r") if part.strip()]
        line = parts[-1] if parts else ""
    while "\b" in line:
        line = re.sub(r"[^\x08]\x08|^\x08+", "", line)
    return _CONTROL.sub("", line.replace("\xa0", " ").replace("\u202f", " ").replace("\u2009", " "))


def without_prefix(line: str) -> str:
    """A line without quotation marks, time stamps and names of programs in front of it.  Blanks
    behind these stay, because some tables are told by their columns."""
    for _ in range(4):
        rest = line
        for mark in (_QUOTE, _COMMENT):
            if match := mark.match(rest):
                rest = rest[match.end():]
        if match := _SYSLOG.match(rest):
            rest = rest[match.end():]
        elif match := _STAMP.match(rest):
            rest = rest[match.end():]
            for more in (_PROGRAM, _LEVEL):
                if found := more.match(rest):
                    rest = rest[found.end():]
        if rest == line:
            return line
        line = rest
    return line


def _cleaned(line: str) -> str:
    line = without_prefix(_visible(line))
    if "<" in line:
        line = _TAGS.sub("", line)
    if "&" in line:
        line = html.unescape(line)
    if line.strip().startswith("```") or line.strip() == "~~~":
        return ""
    if line.count("`") >= 2 and line.strip().startswith("`"):
        line = line.replace("`", "")
    return line.rstrip()


def lines(text: str) -> list[Line]:
    """All lines that are not blank.  A command that goes on behind a backslash is one line."""
    found: list[Line] = []
    goes_on = False
    last = text.count("\n") + 1 if text and not text.endswith("\n") else 0
    for number, raw in enumerate(text.split("\n"), 1):
        whole = _cleaned(raw)
        if goes_on and whole.strip():
            before = found.pop()
            whole, number = f"{before.whole[:-1].rstrip()} {whole.strip()}", before.number
        elif not whole.strip():
            goes_on = False
            continue
        found.append(Line(number, whole.expandtabs(), number == last))
        goes_on = re.search(r"\s\\$", whole) is not None
    return found


def _object_hook(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """The members in the order in which they were last said: fio writes an option once for each
    time that somebody gave it."""
    found: dict[str, object] = {}
    for key, value in pairs:
        found.pop(key, None)
        found[key] = value
    return found


def items(found: list[Line]) -> Iterator[Line | Document]:
    """The lines, with the objects in JSON among them as one item each.  Old versions of fio write
    nan, which is no JSON; it becomes 0."""
    text = "\n".join(line.whole for line in found)
    clean = re.sub(r"(?<=[:\s])-?(?:nan|inf)(?=[\s,}])", lambda m: "0".ljust(len(m[0])), text)
    starts = [0, *accumulate(len(line.whole) + 1 for line in found)]
    decoder = json.JSONDecoder(object_pairs_hook=_object_hook)
    next_line = tries = at = 0
    while tries < _TRIES and (match := re.compile(r"[{\[]\s*[\"{\[]").search(clean, at)):
        begin = match.start()
        try:
            value, end = decoder.raw_decode(clean, begin)
        except (ValueError, RecursionError):
            tries, at = tries + 1, begin + 1
            continue
        first, last = (bisect_right(starts, place) - 1 for place in (begin, end - 1))
        at = end
        if first < next_line or not isinstance(value, (dict, list)):
            continue
        yield from found[next_line:first]
        if text[starts[first]:begin].strip():
            yield Line(found[first].number, text[starts[first]:begin])
        yield Document(found[first].number, last + 1 - first, value)
        next_line = last + 1
        rest = text[end:starts[last + 1] - 1].strip(" \t,;]")
        if rest:
            yield Line(found[last].number, rest)
    yield from found[next_line:]
