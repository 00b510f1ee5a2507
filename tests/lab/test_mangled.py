#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Logs that were damaged on their way: cut off, pasted twice, printed in another country, quoted.
Each gives the same results or fewer, and never another number."""

import random
import re

from pathlib import Path

from flashemu_lab_bench import TOP
from flashemu_script import run

from flashemu_lab.core.errors import LabError
from flashemu_lab.measurement.importing import read_log

LOGS = sorted(Path(TOP, "tests/data/logs").iterdir())
# These say no order by themselves.
SAID = {"fio2.json": {"rw": "randwrite"}, "terse.txt": {"rw": "randwrite"},
        "terse-real.txt": {"rw": "randwrite"}}


# All results of these are left out, for a reason that is told.
LEFT_OUT = {"bonnie.csv", "diskspd.xml", "failed.json", "fio-err.json", "sdfat.txt", "sysbench.txt"}


def numbers(found):
    """What was taken."""
    return {key: values for key, values in found.items() if key[0] != "left out"}


def is_lines(path):
    """Part of such a log is a log; part of a JSON or XML file is nothing."""
    return b"{" not in path.read_bytes() and path.suffix != ".xml"


def results(data, name):
    """{(procedure, parameters): values} of a log, and ("left out", what): reasons."""
    found = {}
    try:
        log = read_log(data, name, SAID.get(name))
    except LabError:
        return found        # nothing to which --fio could apply
    for p in log.points:
        found.setdefault((p.procedure, p.parameters), set()).update(
            float(f"{value:.9g}") for value in p.values)
    for one in log.left:
        found.setdefault(("left out", one.what), set()).add(one.reason)
    return found


def whole_results(data, name):
    """The numbers; of JSON with the normal output behind it also what the latter says alone."""
    found = numbers(results(data, name))
    if name == "both.txt":
        found.update(numbers(results(data.replace(b'"fio version"', b'"other"'), name)))
        assert len(found) == 4
    return found


def no_other_number(name, data, whole, what):
    """How many results a damaged log has, each of which the whole one has, too.  More may be left
    out, and for other reasons."""
    found = numbers(results(data, name))
    for key, values in found.items():
        assert values and key in whole and values <= whole[key], (
            name, what, key, values, whole.get(key))
    return len(found)


def test_whole():
    """So nothing below is compared with nothing."""
    assert len(LOGS) > 50
    for path in LOGS:
        found = results(path.read_bytes(), path.name)
        assert found and bool(numbers(found)) == (path.name not in LEFT_OUT), (path.name, found)


def test_cut_off():
    """At the end, at any line and in any line."""
    draw = random.Random(1)
    for path in LOGS:
        data = path.read_bytes()
        whole = whole_results(data, path.name)
        ends = [m.start() for m in re.finditer(b"\n", data)]
        ends += [draw.randrange(len(data)) for _ in range(40)]
        left = [no_other_number(path.name, data[:end], whole, f"cut at {end}")
                for end in (ends if len(ends) < 400 else draw.sample(ends, 60))]
        if is_lines(path) and whole:
            assert max(left) > 0 and min(left) < len(whole), (path.name, left)


def test_repeated():
    for path in LOGS:
        data = path.read_bytes()
        whole = results(data, path.name)
        for twice in (data + data, data + b"\n" + data, data + b"\n\nonce more:\n" + data):
            found = results(twice, path.name)
            assert found == whole, (path.name, found, whole)


def test_repeated_lines():
    """A range of lines that was pasted twice."""
    draw = random.Random(2)
    for path in LOGS:
        lines = path.read_bytes().split(b"\n")
        whole = whole_results(b"\n".join(lines), path.name)
        most = 0
        for _ in range(30 if len(lines) < 100 else 8):
            a, b = sorted(draw.randrange(len(lines) + 1) for _ in range(2))
            most = max(most, no_other_number(path.name, b"\n".join(lines[:b] + lines[a:]), whole,
                                             f"lines {a} to {b} twice"))
        if is_lines(path):
            assert most == len(whole), (path.name, most)


def test_other_countries():
    """Commas in front of fractions, and nothing else changed."""
    changed = 0
    for path in LOGS:
        if path.suffix in (".json", ".csv", ".xml") or "json" in path.name or path.name == \
                "both.txt":
            continue
        data = path.read_bytes()
        comma = re.sub(rb"(?<=\d)\.(?=\d)", b",", data)
        whole, found = results(data, path.name), results(comma, path.name)
        assert found == whole, (path.name, set(whole) ^ set(found))
        changed += comma != data
    assert changed > 20, changed


def dressed(data):
    """The same log as people paste it."""
    text = data.decode()
    lines = text.split("\n")
    yield "quoted", "\n".join("> " + line for line in lines)
    yield "quoted twice", "\n".join(">> " + line for line in lines)
    yield "indented", "\n".join("        " + line for line in lines)
    yield "fenced", "Here:\n\n```\n" + text + "\n```\n"
    yield "journal", "\n".join(f"May 25 19:26:52 board bench[1234]: {line}" for line in lines)
    yield "kernel's times", "\n".join(f"[{i:5}.123456] {line}" for i, line in enumerate(lines))
    yield "ISO times", "\n".join(f"2024-05-25T19:26:52.{i:03}Z {line}"
                                 for i, line in enumerate(lines))
    yield "times", "\n".join(f"[19:26:52] {line}" for line in lines)
    yield "levels", "\n".join(f"2024-05-25 19:26:52,123 INFO {line}" for line in lines)
    yield "pods", "\n".join(f"2024-05-25T19:26:52.123456789Z stdout F {line}" for line in lines)
    yield "colours", "\n".join(f"\x1b[32m{line}\x1b[0m" for line in lines)
    yield "overwritten", "\n".join(f"working 10%\r{line}" for line in lines)
    yield "DOS", text.replace("\n", "\r\n")
    yield "Mac", text.replace("\r", "\n").replace("\n", "\r")


def test_dressed():
    for path in LOGS:
        data = path.read_bytes()
        whole = results(data, path.name)
        for what, text in dressed(data):
            if what == "Mac" and b"\r" in data:
                continue
            found = results(text.encode(), path.name)
            assert found == whole, (path.name, what, set(whole) ^ set(found))
        for code in ("utf-16", "utf-16-le", "utf-16-be", "utf-8-sig"):
            assert results(data.decode().encode(code), path.name) == whole, (path.name, code)


def test_garbage():
    """Any bytes in any place: there is an answer, and each number is one that can be measured."""
    draw, read = random.Random(3), 0
    for path in LOGS:
        log = path.read_bytes()
        for _ in range(8):
            data = bytearray(log)
            for _ in range(draw.randrange(1, 20)):
                at = draw.randrange(len(data) + 1)
                data[at:at + draw.randrange(8)] = draw.choice(
                    [b"9" * 40, b"-", b"\0", b"\n", b"{", b"[{", b"e999", b"  ", b"\x1b[", b"%",
                     b"= 0", b"rw=", b"nan", b"\xff", b": (g=0): rw=", b"Q=0", b"/s"])
            for (procedure, how), values in numbers(results(bytes(data), path.name)).items():
                read += 1
                signed = ("place", "diff") in how
                assert all((0 < value or signed) and abs(value) < 1e18 for value in values), (
                    path.name, procedure, how, values)
    assert read > 100, read


run(globals())
