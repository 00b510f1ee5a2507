#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""tools/mutate on the laboratory of a tiny project: which tests run, and what is changed.

What cosmic-ray changes is tested where tools/mutate has installed it into build-mutate before.
"""

import ast
import json
import math
import os
import re
import subprocess
import sys
from pathlib import Path

TOP = Path(os.path.realpath(__file__)).parents[2]
sys.path.insert(0, str(TOP / "tools"))

from flashemu_script import need, run  # noqa: E402
from mutation import equivalent, plan, python_changes  # noqa: E402
from mutation.bench import Bench  # noqa: E402
from mutation.campaign import Baseline, Campaign, Choice  # noqa: E402
from mutation.process import Runner  # noqa: E402
from mutation.python_calls import changed_functions  # noqa: E402

need("meson", "ninja", "patch")
LAB = python_changes.LAB
INSTALLED = TOP / "build-mutate/python"
MESON = """project('tiny', 'c')
prog = executable('prog', 'prog.c')
executable('unused', 'prog.c')
foreach name : ['sizes', 'other', 'child', 'unused', 'parts']
  test(name, find_program('python3'), args: files('tests/test_' + name + '.py'), suite: 'lab',
    depends: prog, env: {'PYTHONDONTWRITEBYTECODE': '',
                         'PYTHONPYCACHEPREFIX': meson.current_build_dir() / 'pycache'})
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


def sizes(most: int) -> list[int]:
    return [int(size(n)) for n in range(most)]
'''
TEST = """import sys
sys.path.insert(0, sys.argv[0].rsplit("/tests/", 1)[0] + "/tools/lab")
"""
PARTS = """import subprocess
from flashemu_script import run
from flashemu_lab.sizes import size, sizes

def test_one():
    assert size(0) == -1

def test_child():
    subprocess.run([sys.executable, "-c", "from flashemu_lab.sizes import sizes; sizes(1)"], check=True,
                   env={"PYTHONPATH": sys.path[1], "TEST_FUNCTION": "test_child"})

def test_list():
    with open(__file__ + ".ran", "a") as f:
        f.write("list ")
    assert len(sizes(3)) == 3

def test_nothing():
    with open(__file__ + ".ran", "a") as f:
        f.write("nothing ")

run(globals())
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
    write("tests/test_unused.py", TEST + "import flashemu_lab.sizes\n")
    write("tests/test_parts.py", TEST + f"sys.path.insert(0, {str(TOP / 'tests/lib/py')!r})\n" + PARTS)
    # it calls the function in a process of its own, is ended by a signal, and takes longer
    write("tests/test_child.py", TEST + "import subprocess, time\ntime.sleep(3)\n"
          "sys.exit(subprocess.run([sys.executable, '-c', 'import sys; sys.path.insert(0, sys.argv[1]); from "
          "flashemu_lab.sizes import size; import os; os.kill(os.getpid(), 9 if size(6) == 34 else 15)', "
          "sys.path[0]]).returncode != -9)\n")


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


def test_tests_that_call_the_function():
    """They run from the shortest to the longest, and nothing is built but what they need."""
    project()
    patches = [patch("a.patch", "least: int = 2", "least: int = 1"),
               patch("b.patch", "i == 4", "i == 3"),
               patch("c.patch", "i == 4", "i == 9"),
               patch("d.patch", "n < least:", "n < least"),
               patch("e.patch", "maxsize=3", "maxsize=4"),
               patch("f.patch", "ONE = 1", "ONE = 2", f"{LAB}/other.py"),
               patch("g.patch", "(most)]", "(1)]"),
               patch("h.patch", "    found: int | None = 0\n", "    found: int | None = 0\n    n = 4\n")]
    out = json.loads(mutate("--patch", *patches, "--json", code=2))
    assert [(m["status"], m["by"]) for m in out["mutants"]] == [
        ("noticed", "lab:sizes"), ("noticed", "lab:child"), ("noticed", "lab:child"), ("invalid", ""),
        ("survived", ""), ("noticed", "lab:other"), ("noticed", "lab:parts"), ("noticed", "lab:sizes")], out["mutants"]
    tests = [m["tests"] for m in out["mutants"]]
    assert tests[1:-1] == [3, 3, 0, 3, 1, 1] and {tests[0], tests[-1]} <= {1, 2}, tests
    assert list(out["layers"]) == ["lab"] and out["left_out"] == []
    build = Path("build-state/worker-0/tree/build")
    assert (build / "prog").exists() and not (build / "unused").exists()
    assert (build.parent / LAB / "sizes.py").read_text() == SIZES
    found = json.loads(Path("build-state/durations.json").read_text())
    file = f"{LAB}/sizes.py"
    # before Python 3.12 a list comprehension was a function
    listed = [7, 23] + [24] * (sys.version_info < (3, 12))
    assert found["calls"] == {
        "lab:other": {"": {f"{LAB}/other.py": [1]}}, "lab:unused": {"": {file: [1]}},
        "lab:sizes": {"": {file: [1, 7]}}, "lab:child": {"": {file: [1, 7]}},
        "lab:parts": {"": {file: [1]}, "test_one": {file: [7]}, "test_child": {file: [1] + listed},
                      "test_list": {file: listed}}}, found["calls"]
    assert set(found["seconds"]) == {"lab:sizes", "lab:other", "lab:child", "lab:unused", "lab:parts"}
    assert set(found["functions"].pop("lab:parts")) == {"test_one", "test_child", "test_list", "test_nothing"}
    assert not any(found["functions"].values())
    # it ran as a whole without a change only
    ran = (build.parent / "tests/test_parts.py.ran").read_text().split()
    assert ran.count("nothing") == 1 and ran.count("list") >= 5, ran
    assert (build.parent / LAB / "__init__.py").read_text() == ""


def test_the_order_of_tests():
    """Of a test that was cut off, what was done by then takes part; it is whole for what runs when a
    file is loaded, and for what is no Python."""
    project()
    campaign = Campaign(Path("."), Path("state"), 1, Choice(False, math.inf, False))
    file, at = f"{LAB}/sizes.py", Path(".")
    campaign.baseline = Baseline(
        seconds={"lab:whole": 5, "lab:quick": 2.5, "unit:core": 1},
        calls={"lab:whole": {"": {file: [1]}, "test_a": {file: [7]}, "test_b": {file: [7, 23]}},
               "lab:cut": {"": {file: [1]}, "test_c": {file: [23]}, "test_d": {file: [7]}, "test_e": {}},
               "lab:quick": {"": {file: [1, 23]}}},
        functions={"lab:whole": {"test_a": 0.5, "test_b": 2.25}, "lab:cut": {"test_c": 3, "test_e": 1},
                   "lab:quick": {"test_f": 0.1}})

    def order(old, new, name=file):
        mutant = plan.of_patch(at, Path(patch("a.patch", old, new, name)))
        return [(c.name, c.seconds, c.functions) for c in campaign.order_for(mutant, at)]

    assert order("i == 4", "i == 5") == [("lab:whole", 2.75, ("test_a", "test_b"))]
    assert order("(most)]", "(1)]") == [("lab:whole", 2.25, ("test_b",)), ("lab:quick", 2.5, ()),
                                        ("lab:cut", 3, ("test_c",))]
    every = [("lab:quick", 2.5, ()), ("lab:cut", 4, ("test_c", "test_e")), ("lab:whole", 5, ())]
    assert order("import functools\n", "import functools, os\n") == every
    write(f"{LAB}/life/works.toml", "a = 1\n")
    assert order("a = 1", "a = 2", f"{LAB}/life/works.toml") == every
    assert order("ONE = 1", "ONE = 2", f"{LAB}/other.py") == []


def test_a_compiled_copy_is_of_its_file():
    """Files of one size, changed within a second, are told apart."""
    project()
    bench = Bench(Path("."), Path("."), Runner(), 1)
    bench.tree = Path(".").resolve()
    code = "import sys; sys.path.insert(0, 'tools/lab'); from flashemu_lab.other import ONE; print(ONE)"
    env = {**os.environ, "PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": "compiled"}
    for value in range(2, 6):
        with bench.changed({f"{LAB}/other.py": f"ONE = {value}\n".encode()}):
            for _ in range(2):
                assert subprocess.check_output([sys.executable, "-c", code], env=env) == b"%d\n" % value
        assert subprocess.check_output([sys.executable, "-c", code], env=env) == b"1\n"


def test_functions_that_a_change_is_in():
    """By their first line, which is that of a decorator; None is what runs when a file is loaded."""
    text = ("@one\n" "def a(n=1,\n" "      m=2):\n" "    def b():\n" "        return n\n"
            "    return b\n" "class C:\n" "    x = 1\n" "    def c(self): return 2\n").split("\n")

    def changed(line, new):
        after = text[:line - 1] + new + text[line:]
        return changed_functions("\n".join(text).encode(), "\n".join(after).encode())

    assert changed(1, ["@two"]) == changed(3, ["      m=3):"]) == {1} and changed(8, ["    x = 2"]) == {None}
    assert changed(5, ["        return m"]) == changed(5, ["        return n", "# 1"]) == {4}
    assert changed(6, []) == changed(6, ["    return 7"]) == {1} and changed(9, []) == {9}
    assert changed(6, ["    return b", "y = 5"]) == {1}


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
