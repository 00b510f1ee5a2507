#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""tools/mutate on a tiny project: what it changes, what it remembers, what it reports.

Exits 77 where libclang's Python binding is missing.
"""

import json
import math
import os
import re
import subprocess
import sys
import time
from pathlib import Path

TOP = Path(os.path.realpath(__file__)).parents[2]
sys.path.insert(0, str(TOP / "tools"))

try:
    import clang.cindex
    clang.cindex.Index.create()
except Exception as e:  # the binding or the library
    print("skipped: no libclang:", e)
    sys.exit(77)

from flashemu_script import run  # noqa: E402
from mutation import plan, process  # noqa: E402
from mutation.bench import Verdict  # noqa: E402
from mutation.campaign import Campaign, Choice  # noqa: E402
from mutation.changes import OPERATORS, Parser  # noqa: E402
from mutation.process import MARK, Runner  # noqa: E402


def write(path, text):
    Path(path).write_text(text)


def read(path):
    return Path(path).read_text()


TOOL = [sys.executable, str(TOP / "tools/mutate"), "--source", ".", "--state", "build-state",
        "--workers", "1"]

MESON = """project('tiny', 'c', default_options: ['c_std=gnu17'])
core = static_library('core', 'src/nand/core.c', 'src/nand/all.c')
test('core', executable('test_core', 'tests/test_core.c', link_with: core), suite: 'unit')
other = executable('test_other', 'tests/test_other.c')
test('other', other, suite: 'unit')
"""

CORE = """#include <stdint.h>

int core_full(uint32_t n, uint32_t size);

int core_full(uint32_t n, uint32_t size)
{
    int unused = 3;
    unused = 4;
    (void)unused;
    if (n >= size)
        return 1;
    return 0;
}
"""

TEST_CORE = """#include <stdint.h>
int core_full(uint32_t n, uint32_t size);
int main(void)
{
    return !(core_full(5, 3) == 1 && core_full(2, 3) == 0);
}
"""

# Every operator has something to change here. What must not change has the number 77.
ALL = """/* 77 < 78 && 79 */
#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#define WIDTH 77
#define TWICE(x) (77 * (x))

enum { FIRST = 1, SECOND };
struct row {
    uint8_t cells[77];
};
static const int table[77] = {1, 0x20u, SECOND};
_Static_assert(sizeof(struct row) == 77, "77 < 78");

bool all_find(struct row *r, uint32_t n, uint32_t m);

static uint64_t area(uint32_t wide, uint32_t high)
{
    return (uint64_t)wide * high - (uint64_t)TWICE(3);
}

bool all_find(struct row *r, uint32_t n, uint32_t m)
{
    char text[77] = {0};
    assert(n < 77 && m >= 77);
    bool found = false;
    for (uint32_t i = 0; i < n && !found; i++) {
        if (r->cells[i] == m || area(n, m) > WIDTH)
            found = true;
        else
            m += 2;
        if (!found && m)
            continue;
        r->cells[i] = 1; // 77
        m = n / 3;
    }
    switch (m) {
    case 4:
        n -= 1;
        break;
    default:
        --n;
    }
    text[0] = "77"[n & 1];
    return n ? found : text[0] != table[1];
}
"""


def project():
    for folder in ("src/nand", "tests"):
        os.makedirs(folder)
    write("meson.build", MESON)
    write("src/nand/core.c", CORE)
    write("src/nand/all.c", ALL)
    write("tests/test_core.c", TEST_CORE)
    write("tests/test_other.c", "int main(void) { return 0; }\n")


def mutate(*args, code):
    """Standard output and standard error of tools/mutate, which exits with this code."""
    p = subprocess.run([*TOOL, *args], stdin=subprocess.DEVNULL,
                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True)
    codes = code if isinstance(code, tuple) else (code,)
    assert p.returncode in codes, (args, p.returncode, p.stdout, p.stderr)
    return p.stdout, p.stderr


def stored():
    return [json.loads(line) for line in read("build-state/results.jsonl").splitlines()]


def test_operators():
    """Every operator is used, every change compiles, and macros and declarations stay."""
    project()
    subprocess.run(["meson", "setup", "build"], check=True, stdout=subprocess.DEVNULL)
    parser = Parser(os.getcwd(), "build")
    changes = parser.changes("src/nand/all.c")
    assert {c.operator for c in changes} == set(OPERATORS)
    assert len({c.name for c in changes}) == len(changes)
    kept = [n for n, line in enumerate(ALL.splitlines()) if "77" in line or "#" in line]
    for c in changes:
        changed = c.apply(ALL.encode()).decode()
        assert changed != ALL and changed.count("\n") == ALL.count("\n"), c
        for n in kept:  # whole statements may go or move, but no 77 may become another number
            old, new = ALL.splitlines()[n], changed.splitlines()[n]
            assert re.sub("[^7]", "", old) == re.sub("[^7]", "", new) or c.operator in (
                "deletion", "neighbours", "operands"), c
        p = subprocess.run(["cc", "-std=gnu17", "-fsyntax-only", "-xc", "-"], input=changed,
                           stderr=subprocess.PIPE, universal_newlines=True)
        assert p.returncode == 0 and parser.compiles(c), (c, p.stderr)
    texts = {(c.operator, c.after.strip()) for c in changes}
    for expected in (("relation", "if (r->cells[i] != m || area(n, m) > WIDTH)"),
                     ("condition", "if (area(n, m) > WIDTH)"),
                     ("constant", "enum { FIRST = 2, SECOND };"),
                     ("constant", "bool found = true;"),
                     ("negation", "return !(n) ? found : text[0] != table[1];"),
                     ("cast", "return wide * high - (uint64_t)TWICE(3);"),
                     ("operands", "if (r->cells[i] == m || area(m, n) > WIDTH)"),
                     ("assignment", "n += 1;"), ("step", "++n;")):
        assert expected in texts, expected


def test_seed():
    project()
    first = mutate("--list", "--count", "6", code=0)[0]
    assert len(re.findall("^- ", first, re.M)) == 6
    assert mutate("--list", "--count", "6", "--seed", "1", code=0)[0] == first
    assert mutate("--list", "--count", "12", code=0)[0].startswith(first)
    assert mutate("--list", "--count", "6", "--seed", "2", code=0)[0] != first
    assert "src/none" in mutate("--list", "src/none", code=2)[1]


def test_results():
    """A survivor, an equivalent mutant, those that a test noticed, and the run that goes on."""
    project()
    mutate("--count", "2", "src/nand/core.c", code=(0, 1))
    before = stored()
    assert len(before) == 2
    out = json.loads(mutate("--count", "99", "--json", "src/nand/core.c", code=1)[0])
    after = stored()
    assert after[:2] == before
    assert len({r["name"] for r in after}) == len(after) == len(out["mutants"])
    by = {(r["operator"], r["after"].strip()): r for r in out["mutants"]}
    assert by["relation", "if (n > size)"]["status"] == "survived"
    assert by["relation", "if (n < size)"]["by"] == "unit:core"
    assert by["constant", "unused = 5;"]["status"] == "equivalent"
    assert by["constant", "unused = 5;"]["tests"] == 0
    assert all(r["tests"] <= 1 for r in after), "test_other does not contain the change"
    assert out["layers"]["nand"]["survived"] == sum(r["status"] == "survived" for r in after)
    assert read("src/nand/core.c") == CORE == read("build-state/worker-0/tree/src/nand/core.c")
    text = mutate("--count", "99", "src/nand/core.c", code=1)[0]
    assert stored() == after
    assert "survived: src/nand/core.c:10 (relation)\n  -     if (n >= size)\n" in text

    # The survivor is found below a new line; then a test notices it.
    write("src/nand/core.c", "\n" + CORE)
    assert "survived: src/nand/core.c:11 (relation)" in mutate("--again", code=1)[0]
    write("tests/test_core.c", TEST_CORE.replace("5, 3", "3, 3"))
    assert "unit:core" in mutate("--again", code=0)[0]
    assert "unit:core" not in mutate("--again", code=0)[0], "nothing survives any more"


def test_patches():
    project()
    patch = ("--- a/src/nand/core.c\n+++ b/src/nand/core.c\n@@ -10,2 +10,2 @@\n%s"
             "         return 1;\n")
    os.mkdir("tests/planted")
    write("tests/planted/full.patch", patch % "-    if (n >= size)\n+    if (n != size)\n")
    out = json.loads(mutate("--patch", "--json", code=0)[0])["mutants"]
    assert [(r["status"], r["by"], r["line"]) for r in out] == [("noticed", "unit:core", 10)]
    write("more.patch", patch % "-    if (n >= size)\n+    if (n > size)\n")
    out = json.loads(mutate("--patch", "more.patch", "--json", code=1)[0])["mutants"]
    assert [r["status"] for r in out] == ["survived"]
    write("stale.patch", patch % "-    if (n < lowest)\n+    if (n <= lowest)\n")
    assert "invalid: src/nand/core.c:10 (patch)" in mutate("--patch", "stale.patch", code=2)[0]
    assert "not a patch" in mutate("--patch", "meson.build", code=2)[1]


def test_no_mutant_is_in_two_trees():
    """Not in a run that goes on, either, which measures nothing before it begins."""
    project()
    mutate("--count", "1", code=(0, 1))
    campaign = Campaign(Path("."), Path("build-state").resolve(), 2, Choice(False, math.inf, False))
    campaign.open()
    campaign.benches[0].prepare(campaign.choice.takes, False)
    asked = []

    def judge(_mutant, _order):
        asked.append([read(b.tree / "src/nand/core.c") == CORE for b in campaign.benches])
        return Verdict("noticed", "unit:core", 1)
    for bench in campaign.benches:
        bench.judge = judge
    first = campaign.benches[0]
    parsers = plan.Parsers(first.tree, first.build, Path("build-state/python"))
    campaign.run(plan.draw(parsers, ["src/nand/core.c"], 4, 2), True)
    assert asked == [[True, True]] * len(asked) and len(asked) > 1, asked


# Which statement a test executes: all, those with two, or one in a process that is killed.
MARKS = """#include <errno.h>
#include <stdint.h>
int core_full(uint32_t n, uint32_t size);
static const int limits[] = {7, 8};
int core_full(uint32_t n, uint32_t size)
{
    if (n >= size) {
        n += 11;
    } else {
        n += 22;
    }
    switch (n) {
    case 24:
        n += 33;
        break;
    case 16: {
        n += 44;
    }
    }
    return errno == 5 ? limits[0] : (int)n;
}
"""
MARKING = """#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
int core_full(uint32_t n, uint32_t size);
int main(int argc, char **argv)
{
    if (argc > 2 && fork() == 0) {
        core_full(5, 3);
        raise(SIGKILL);
    }
    wait(NULL);
    errno = 5;
    return core_full(atoi(argv[1]), 3) != 7;
}
"""


def test_marks():
    """A test runs only for what it executes; what runs first in a process that is killed counts,
    errno is kept, and what no block is around has all tests."""
    project()
    write("meson.build", MESON + """marking = executable('marking', 'marking.c', link_with: core)
foreach name, words : {'low': ['2'], 'high': ['5'], 'killed': ['2', 'k'], 'none': ['1']}
  test(name, marking, args: words, suite: 'marking')
endforeach
""")
    write("src/nand/core.c", MARKS)
    write("marking.c", MARKING)
    campaign = Campaign(Path("."), Path("build-state").resolve(), 2,
                        Choice(False, math.inf, False, ("marking",)))
    campaign.open()
    first = campaign.benches[0]
    parsers = plan.Parsers(first.tree, first.build, Path("build-state/python"))
    drawn = plan.draw(parsers, ["src/nand/core.c"], 999, 1)
    campaign.measure(drawn)
    assert not campaign.baseline.failed
    assert read(first.tree / "src/nand/core.c") == MARKS
    for before, expected in (("n += 11;", ["high", "killed"]),
                             ("n += 22;", ["killed", "low", "none"]),
                             ("n += 44;", ["high", "killed"]),
                             ("n += 33;", ["high", "killed", "low", "none"]),
                             ("static const int limits[] = {7, 8};",
                              ["high", "killed", "low", "none"])):
        of = [m for m in drawn if m.before.strip() == before]
        assert of, before
        for m in of:
            assert sorted(t.name.split(":")[1] for t in campaign.order_for(m, Path("."))) == expected, m
    assert "unit:core" not in campaign.baseline.seconds


def test_longest():
    """A test that takes too long for a first look does not run, and takes part later."""
    project()
    write("tests/test_core.c", "#include <unistd.h>\n" +
          TEST_CORE.replace("{\n", "{\n    sleep(6);\n"))
    meson = MESON.replace("test('other'", "core_dep = declare_dependency(link_with: core)\n"
                          "test('again', executable('again', 'tests/again.c', dependencies: "
                          "core_dep), suite: 'unit')\ntest('other'")
    write("meson.build", meson)
    write("tests/again.c", TEST_CORE.replace("core_full(5, 3) == 1 && ", ""))
    patch = ("--- a/src/nand/core.c\n+++ b/src/nand/core.c\n@@ -11,2 +11,2 @@\n"
             "-        return 1;\n+        return 2;\n     return 0;\n")
    write("two.patch", patch)
    args = ["--patch", "two.patch", "--json"]
    assert json.loads(mutate(*args, "--longest", "5", code=1)[0])["mutants"][0]["tests"] == 1
    assert json.loads(mutate(*args, code=0)[0])["mutants"][0]["by"] == "unit:core"


def goes_on(pid):
    """Whether the program that a runner has started is still there."""
    try:
        return MARK.encode() in Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return False


def test_limits():
    """A program that hangs is ended, and nothing that it started goes on."""
    here = Path(".")
    done = Runner().run(["sleep", "1000"], here, wall_s=0.2)
    assert done.hang and done.seconds < 500, done
    done = Runner().run(["sh", "-c", "while :; do :; done"], here, cpu_s=1)
    assert done.hang, done
    done = Runner().run(["sh", "-c", "setsid sleep 1000 & echo $! >pid; exit 3"], here)
    assert (done.code, done.hang) == (3, False)
    while goes_on(read("pid").strip()):  # it was killed, which takes a moment
        time.sleep(0.01)


def test_memory():
    """A program may map as much as it likes, and is ended when it has touched too much."""
    usual, process.MEMORY_BYTES = process.MEMORY_BYTES, 256 << 20
    maps = "import mmap, time; m = mmap.mmap(-1, 1 << 40, flags=mmap.MAP_PRIVATE | 0x4000); "
    try:
        code = maps + "m[0] = 1; time.sleep(1); print(m[0])"
        done = Runner().run([sys.executable, "-c", code], Path("."), cpu_s=100)
        assert (done.code, done.hang) == (0, False), done
        code = maps + "m[:1 << 30] = bytes(1 << 30); time.sleep(1000)"
        done = Runner().run([sys.executable, "-c", code], Path("."), cpu_s=100, wall_s=500)
        assert done.code != 0 and not done.hang and done.seconds < 500, done
    finally:
        process.MEMORY_BYTES = usual


def test_interrupt():
    """SIGINT ends the run and its tests; the source and the next run are not hurt."""
    project()
    write("tests/test_other.c", "#include <unistd.h>\nint main(void) { sleep(1000); }\n")
    p = subprocess.Popen([*TOOL, "--count", "1"], stderr=subprocess.PIPE, universal_newlines=True)
    other = Path("build-state/worker-0/tree/build/test_other")
    while p.poll() is None and not sleeping(other):
        time.sleep(0.05)
    p.send_signal(2)
    err = p.communicate()[1]
    assert p.returncode == 2 and "goes on" in err, (p.returncode, err)
    assert not sleeping(other)
    write("tests/test_other.c", "int main(void) { return 0; }\n")
    mutate("--count", "1", "--seed", "3", "--list", code=0)


def sleeping(program):
    """Whether a process executes the program."""
    for exe in Path("/proc").glob("[0-9]*/exe"):
        try:
            if exe.resolve() == program.resolve():
                return True
        except OSError:
            pass
    return False


run(globals())
