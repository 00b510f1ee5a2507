#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""tools/mutate on the laboratory of a tiny project: which tests run, and what is changed.

What cosmic-ray changes is tested where tools/mutate has installed it into build-mutate before.
"""

import ast
import json
import os
import re
import subprocess
import sys
from pathlib import Path

TOP = Path(os.path.realpath(__file__)).parents[2]
sys.path.insert(0, str(TOP / "tools"))

from flashemu_script import need, run  # noqa: E402
from mutation import equivalent, plan, python_changes  # noqa: E402

need("meson", "ninja", "patch")
LAB = python_changes.LAB
INSTALLED = TOP / "build-mutate/python"
MESON = """project('tiny', 'c')
prog = executable('prog', 'prog.c')
executable('unused', 'prog.c')
foreach name : ['sizes', 'other', 'child']
  test(name, find_program('python3'), args: files('tests/test_' + name + '.py'), suite: 'lab',
    depends: prog, env: {'PYTHONDONTWRITEBYTECODE': '1'})
endforeach
test('core', prog, suite: 'unit')
"""
SIZES = '''"""1 + 1 is never changed."""
from __future__ import annotations

import functools


@functools.lru_cache(maxsize=3)
def size(n: int | None, least: int = 2) -> int | str:
    """2 * 2."""
    assert least < 7
    if n is None or n < least:
        return -1
    found: int | None = 0
    for i in range(n):
        if i == 4:
            continue
        found += i * 3  # 4 + 4
    while not found:
        break
    return found if found > 1000000 else found + 1
'''
TEST = """import sys
sys.path.insert(0, sys.argv[0].rsplit("/tests/", 1)[0] + "/tools/lab")
"""


def write(path, text):
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_text(text)


def project():
    write("meson.build", MESON)
    write("prog.c", "int main(void) { return 0; }\n")
    for name, text in (("__init__", ""), ("sizes", SIZES), ("other", "ONE = 1\n")):
        write(f"{LAB}/{name}.py", text)
    write("tests/test_sizes.py", TEST + "from flashemu_lab.sizes import size\n"
          "sys.exit(not (size(1) == -1 and size(3) == 10))\n")
    write("tests/test_other.py", TEST + "from flashemu_lab.other import ONE\nsys.exit(ONE != 1)\n")
    # it loads the module in a process of its own, and takes longer
    write("tests/test_child.py", TEST + "import subprocess, time\ntime.sleep(3)\n"
          "sys.exit(subprocess.run([sys.executable, '-c', 'import sys; sys.path.insert(0, sys.argv[1]); from "
          "flashemu_lab.sizes import size; sys.exit(size(6) != 34)', sys.path[0]]).returncode)\n")


def patch(name, old, new, file=f"{LAB}/sizes.py"):
    text = Path(file).read_text()
    assert text.count(old) == 1
    write("new", text.replace(old, new))
    made = subprocess.run(["diff", "-u", "--label", f"a/{file}", "--label", f"b/{file}", file,
                           "new"], stdout=subprocess.PIPE, universal_newlines=True).stdout
    os.remove("new")
    write(name, made)
    return name


def mutate(*args, code):
    p = subprocess.run([sys.executable, str(TOP / "tools/mutate"), "--source", ".", "--state",
                        "build-state", "--workers", "1", *args], stdin=subprocess.DEVNULL,
                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True)
    assert p.returncode == code, (args, p.returncode, p.stdout, p.stderr)
    return p.stdout


def test_tests_that_load_the_module():
    """They run from the shortest to the longest, and nothing is built but what they need."""
    project()
    patches = [patch("a.patch", "least: int = 2", "least: int = 1"),
               patch("b.patch", "i == 4", "i == 3"),
               patch("c.patch", "i == 4", "i == 9"),
               patch("d.patch", "n < least:", "n < least"),
               patch("e.patch", "maxsize=3", "maxsize=4"),
               patch("f.patch", "ONE = 1", "ONE = 2", f"{LAB}/other.py")]
    out = json.loads(mutate("--patch", *patches, "--json", code=2))
    assert [(m["status"], m["by"], m["tests"]) for m in out["mutants"]] == [
        ("noticed", "lab:sizes", 1), ("noticed", "lab:child", 2), ("noticed", "lab:child", 2),
        ("invalid", "", 0), ("survived", "", 2), ("noticed", "lab:other", 1)], out["mutants"]
    assert list(out["layers"]) == ["lab"] and out["left_out"] == []
    build = Path("build-state/worker-0/tree/build")
    assert (build / "prog").exists() and not (build / "unused").exists()
    assert (build.parent / LAB / "sizes.py").read_text() == SIZES
    found = json.loads(Path("build-state/durations.json").read_text())
    assert found["loads"]["lab:child"] == [f"{LAB}/__init__.py", f"{LAB}/sizes.py"]
    assert set(found["seconds"]) == {"lab:sizes", "lab:other", "lab:child"}


def test_what_is_listed_is_equivalent():
    """By its file, its kind and its lines, wherever they have moved."""
    project()
    one = plan.of_patch(Path("."), Path(patch("e.patch", "maxsize=3", "maxsize=4")))
    other = plan.of_patch(Path("."), Path(patch("f.patch", "maxsize=3", "maxsize=5")))
    before = equivalent.LIST
    try:
        equivalent.LIST = Path("equivalent.toml")
        write("equivalent.toml", f'[[change]]\nfile = "{LAB}/sizes.py"\noperator = "patch"\n'
              'before = "@functools.lru_cache(maxsize=3)"\nreason = "a cache"\n'
              'after = "@functools.lru_cache(maxsize=4)"\n')
        equivalent.listed.cache_clear()
        assert equivalent.is_listed(one) and not equivalent.is_listed(other)
    finally:
        equivalent.LIST = before
        equivalent.listed.cache_clear()


def test_what_cosmic_ray_changes():
    """The same changes as by its own hand; none in annotations, decorators, asserts, texts."""
    if not (INSTALLED / "ready").is_file():
        print("not tested: tools/mutate has not installed cosmic-ray yet")
        return
    project()
    python_changes.provide(INSTALLED)
    from cosmic_ray.mutating import mutate_code
    from cosmic_ray.plugins import get_operator
    parser = python_changes.PythonParser(".")
    assert parser.files == [f"{LAB}/__init__.py", f"{LAB}/other.py", f"{LAB}/sizes.py"]
    changes = parser.changes(f"{LAB}/sizes.py")
    assert len({c.name for c in changes}) == len(changes) and all(map(parser.compiles, changes))
    assert {c.operator for c in changes} == set(python_changes.OPERATORS)
    after = {(c.operator, c.line, c.after.strip()) for c in changes}
    for wanted in (("relation", 11, "if n is None or n <= least:"),
                     ("condition", 11, "if n is None and n < least:"),
                     ("negation", 12, "return 1"), ("loop", 14, "for i in []:"),
                     ("jump", 16, "break"), ("arithmetic", 17, "found += i / 3  # 4 + 4"),
                     ("constant", 17, "found += i * 4  # 4 + 4"),
                     ("negation", 18, "while  found:"), ("jump", 19, "continue"),
                     ("constant", 8, "def size(n: int | None, least: int = 3) -> int | str:")):
        assert wanted in after, (wanted, sorted(after))
    assert not {c.line for c in changes} & {1, 7, 9, 10} and not any(
        "1000001" in c.after or "& None" in c.after or "int & str" in c.after for c in changes)
    mine = {ast.dump(ast.parse(c.apply(SIZES.encode()))) for c in changes}
    for name in ("ReplaceComparisonOperator_Lt_LtE", "ReplaceBinaryOperator_Mul_Div",
                 "ReplaceContinueWithBreak", "ZeroIterationForLoop"):
        theirs = [mutate_code(SIZES, get_operator(f"core/{name}")(), i) for i in range(3)]
        kept = [t for t in theirs if t is not None and "least <= 7" not in t]
        assert kept and all(ast.dump(ast.parse(t)) in mine for t in kept), name
    os.makedirs("build-state")
    os.symlink(INSTALLED, "build-state/python")
    first = mutate("--list", "--count", "5", LAB, code=0)
    assert len(re.findall("^- ", first, re.M)) == 5
    assert mutate("--list", "--count", "5", "--seed", "1", LAB, code=0) == first
    assert mutate("--list", "--count", "9", LAB, code=0).startswith(first)
    assert mutate("--list", "--count", "5", "--seed", "2", LAB, code=0) != first


run(globals())
