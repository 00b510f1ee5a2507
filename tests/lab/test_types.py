#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""The lab's types and layers: mypy --strict finds nothing, nothing in the lab is silenced, and a
module uses only those that the list in __init__.py has above it."""

import ast
import os
import re

import flashemu_lab_bench
from flashemu_script import ended, need, run

PACKAGE = os.path.join(flashemu_lab_bench.TOP, "tools/lab/flashemu_lab")


def test_strict():
    code, out, err = ended(["mypy", "--strict", "--cache-dir", "cache", PACKAGE])
    assert code == 0, out + err


def test_nothing_is_silenced():
    for name in os.listdir(PACKAGE):
        if name.endswith(".py"):
            text = flashemu_lab_bench.read(os.path.join(PACKAGE, name))
            assert "type: ignore" not in text and "noqa" not in text, name
            assert text.count("\n") <= 600, name
            for number, line in enumerate(text.splitlines(), 1):
                assert len(line) <= 100, (name, number)


def used_by(text):
    """The modules of the package that a module imports."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom) and node.level == 1:
            yield from [node.module] if node.module else [name.name for name in node.names]


def test_modules_use_those_above_them():
    listed = []
    for line in flashemu_lab_bench.read(os.path.join(PACKAGE, "__init__.py")).splitlines():
        names = re.fullmatch(r" {4}(\w+(?:, \w+)*) {2,}\S.*", line)
        listed += names[1].split(", ") if names else []
    there = {name[:-3] for name in os.listdir(PACKAGE) if name.endswith(".py")} - {"__init__"}
    assert set(listed) == there and len(listed) == len(there), set(listed) ^ there
    for place, name in enumerate(listed):
        text = flashemu_lab_bench.read(os.path.join(PACKAGE, name + ".py"))
        below = set(used_by(text)) - set(listed[:place])
        assert not below, (name, below)


need("mypy")
run(globals())
