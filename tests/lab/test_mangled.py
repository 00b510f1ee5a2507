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


def results(data, name):
    """{(procedure, parameters): values} of a log."""
    found = {}
    try:
        log = read_log(data, name, SAID.get(name))
    except LabError:
        return found        # nothing to which --fio could apply
    for p in log.points:
        found.setdefault((p.procedure, p.parameters), set()).update(
            float(f"{value:.9g}") for value in p.values)
    return found


def whole_results(data, name):
    """The same; of JSON with the normal output behind it also what the latter says alone."""
    found = results(data, name)
    if name == "both.txt":
        found.update(results(data.replace(b'"fio version"', b'"other"'), name))
        assert len(found) == 4
    return found


def no_other_number(name, data, whole, what):
    for key, values in results(data, name).items():
        assert key in whole and values <= whole[key], (
            name, what, key, values, whole.get(key))


def test_cut_off():
    """At the end, at any line and in any line."""
    draw = random.Random(1)
    for path in LOGS:
        data = path.read_bytes()
        whole = whole_results(data, path.name)
        ends = [m.start() for m in re.finditer(b"\n", data)]
        ends += [draw.randrange(len(data)) for _ in range(40)]
        for end in ends if len(ends) < 400 else draw.sample(ends, 60):
            no_other_number(path.name, data[:end], whole, f"cut at {end}")


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
        for _ in range(30 if len(lines) < 100 else 8):
            a, b = sorted(draw.randrange(len(lines) + 1) for _ in range(2))
            no_other_number(path.name, b"\n".join(lines[:b] + lines[a:]), whole,
                            f"lines {a} to {b} twice")


def test_other_countries():
    """Commas in front of fractions, and nothing else changed."""
    for path in LOGS:
        if path.suffix in (".json", ".csv", ".xml") or "json" in path.name or path.name == \
                "both.txt":
            continue
        data = path.read_bytes()
        comma = re.sub(rb"(?<=\d)\.(?=\d)", b",", data)
        whole, found = results(data, path.name), results(comma, path.name)
        assert found == whole, (path.name, set(whole) ^ set(found))


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
    """Any bytes in any place: there is an answer."""
    draw = random.Random(3)
    for path in LOGS:
        log = path.read_bytes()
        for _ in range(8):
            data = bytearray(log)
            for _ in range(draw.randrange(1, 20)):
                at = draw.randrange(len(data) + 1)
                data[at:at + draw.randrange(8)] = draw.choice(
                    [b"9" * 40, b"-", b"\0", b"\n", b"{", b"[{", b"e999", b"  ", b"\x1b[", b"%",
                     b"= 0", b"rw=", b"nan", b"\xff", b": (g=0): rw=", b"Q=0", b"/s"])
            results(bytes(data), path.name)


run(globals())
