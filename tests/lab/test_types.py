#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""The lab's types: mypy --strict finds nothing, and nothing in the lab is silenced."""

import os

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


need("mypy")
run(globals())
