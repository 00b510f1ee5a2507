#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""The lab's types and layers: mypy --strict finds nothing, nothing in the lab is silenced, and a
module uses only those that stand above it in the docstrings of the packages."""

import ast
import os
import re

import flashemu_lab_bench
from flashemu_script import ended, need, run

PACKAGE = os.path.join(flashemu_lab_bench.TOP, "tools/lab/flashemu_lab")


def sources():
    """The paths of all modules, below PACKAGE."""
    for folder, _, names in os.walk(PACKAGE):
        for name in names:
            if name.endswith(".py"):
                yield os.path.relpath(os.path.join(folder, name), PACKAGE)


def text_of(path):
    return flashemu_lab_bench.read(os.path.join(PACKAGE, path))


def test_strict():
    code, out, err = ended(["mypy", "--strict", "--cache-dir", "cache", PACKAGE])
    assert code == 0, out + err


def test_nothing_is_silenced():
    for path in sources():
        text = text_of(path)
        assert "type: ignore" not in text and "noqa" not in text, path
        assert text.count("\n") <= 600, path
        for number, line in enumerate(text.splitlines(), 1):
            assert len(line) <= 100, (path, number)


def listed_in(folder):
    """What a package is made of, in the order of its docstring."""
    tree = ast.parse(text_of(os.path.join(folder, "__init__.py")))
    lines = ast.get_docstring(tree, clean=False).splitlines()
    return [found[1] for found in (re.fullmatch(r" {4}(\w+) +\S.*", line) for line in lines)
            if found]


def order(folder=""):
    """All modules, as dotted names, in the order of the docstrings."""
    there = {name.removesuffix(".py") for name in os.listdir(os.path.join(PACKAGE, folder))
             if not name.endswith(".toml")}
    there -= {"__init__", "__pycache__", "experiments", "templates", "schemas"}
    listed = listed_in(folder)
    assert sorted(listed) == sorted(there), (folder, set(listed) ^ there)
    for name in listed:
        path = os.path.join(folder, name)
        if os.path.isdir(os.path.join(PACKAGE, path)):
            yield from order(path)
        else:
            yield path.replace("/", ".")


def used_by(module, text):
    """The modules of the lab that a module imports, as dotted names."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom) and node.level:
            base = module.split(".")[:-node.level] + (node.module.split(".") if node.module else [])
            path = os.path.join(PACKAGE, *base)
            yield from ([".".join(base)] if os.path.isfile(path + ".py")
                        else [".".join([*base, name.name]) for name in node.names])


def test_modules_use_those_above_them():
    """So there is no cycle of modules, and no package uses one below it in the list."""
    above = []
    for module in order():
        text = text_of(module.replace(".", "/") + ".py")
        below = set(used_by(module, text)) - set(above)
        assert not below, (module, below)
        above.append(module)


def test_what_a_module_uses_is_found():
    text = "from ..core import text, units\nfrom . import tables\nfrom .schema import Point\n"
    assert list(used_by("measurement.fio", text)) == [
        "core.text", "core.units", "measurement.tables", "measurement.schema"]


need("mypy")
run(globals())
