#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""What a newcomer does by HACKING.md: a strategy, an option, a cost of commands, a cleaning policy, a
trace format and a profile.

The sources are copied, the examples of tests/tool/newcomer are added to the copy step by step,
and the copy is built and run.  Each task may change exactly the files that its section of
HACKING.md lists.  Each step is forgotten once, and the message must say which step it was.

    SOURCE_ROOT      the sources
    NEWCOMER_KEEP    a folder to work in that is kept (default: a temporary one)
"""

import filecmp
import os
import re
import shutil
import subprocess
import sys
import tempfile

from flashemu_script import PROGRAM_HANG_S, from_env, need

ROOT = from_env("SOURCE_ROOT")
HERE = os.path.join(ROOT, "tests/tool")
NAME = "toy"
TARGETS = ["tools/flashemu", "tests/golden/test_golden", "tests/property/test_property",
           "tests/property/test_used_by", "tests/crash/test_crash", "tests/unit/test_registry",
           "tests/unit/test_ftl_page_sets", "tests/unit/test_cost",
           "tests/unit/test_profile_load", "tests/unit/test_profile_options",
           "tests/unit/test_profile_used", "tests/tool/test_workload_trace",
           "tests/tool/test_workload_formats"]


class Copy:
    """A copy of the sources, and how to work in it."""

    def __init__(self, folder):
        self.src = os.path.join(folder, "src")
        self.build = os.path.join(folder, "build")
        shutil.copytree(ROOT, self.src, symlinks=True, ignore=not_sources)
        self.call("meson", "setup", self.build, self.src, "-Dplugin=disabled",
                  "-Dbuildtype=plain", "-Doptimization=0", "-Dwerror=true")

    def path(self, name):
        return os.path.join(self.src, name)

    def add(self, name, file):
        """The file tests/tool/newcomer/FILE as NAME."""
        shutil.copyfile(os.path.join(HERE, "newcomer", file), self.path(name))

    def change(self, name, before, text):
        """Puts text in front of the only match of the pattern `before`."""
        with open(self.path(name)) as f:
            old = f.read()
        places = list(re.finditer(before, old, re.M))
        assert len(places) == 1, "%s: %d places match %r" % (name, len(places), before)
        at = places[0].start()
        with open(self.path(name), "w") as f:
            f.write(old[:at] + text + old[at:])

    def call(self, *args):
        """Standard output of a program that must end well."""
        code, out = self.run(*args)
        assert code == 0, (args, code, out)
        return out

    def run(self, *args):
        p = subprocess.run(args, cwd=self.src, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                           universal_newlines=True, timeout=PROGRAM_HANG_S)
        return p.returncode, p.stdout

    def program(self, name, *args):
        return self.call(os.path.join(self.build, name), *args)

    def fails(self, message, *args):
        """The program must fail and say this."""
        code, out = self.run(*args)
        assert code != 0 and message in out, (args, code, out, message)

    def ninja(self, *targets):
        self.call("ninja", "-C", self.build, "-j2", *targets)

    def forgotten(self, message):
        """The lists of the sources have this mistake, and no other one."""
        code, out = self.run(sys.executable, os.path.join(HERE, "test_lists.py"), self.src)
        assert code == 1 and out == message + "\n", (code, out, message)

    def changed(self):
        """The files that are not as in the sources."""
        found = set()
        for folder, _, names in os.walk(self.src):
            for name in names:
                path = os.path.relpath(os.path.join(folder, name), self.src)
                there = os.path.join(ROOT, path)
                if not os.path.exists(there) or not filecmp.cmp(self.path(path), there, False):
                    found.add(path)
        return found


def not_sources(folder, names):
    """What the copy leaves out: git's folder and build directories."""
    return [name for name in names
            if name in (".git", "__pycache__", "build")
            or os.path.exists(os.path.join(folder, name, "build.ninja"))
            or os.path.exists(os.path.join(folder, name, "meson-private"))]


def files_of(task):
    """The files that a section of HACKING.md lists."""
    with open(os.path.join(ROOT, "HACKING.md")) as f:
        section = re.search(r"^## %s\n(.*?)^## " % task, f.read(), re.M | re.S)
    assert section, task
    files = re.findall(r"^\d+\. `([^`]+)`:", section[1], re.M)
    assert files, task
    return {file.replace("NAME", NAME) for file in files}


def check_changed(copy, *tasks):
    want = set().union(*(files_of(task) for task in tasks))
    assert copy.changed() == want, (copy.changed() ^ want, tasks)


def add_option(copy):
    copy.change("include/flashemu/ftl_params.h", r"^struct fe_ftl_params {",
                "/* An example. */\nstruct fe_toy_params {\n"
                "    uint64_t key_ns; /* additional time of each write */\n};\n\n")
    copy.change("include/flashemu/ftl_params.h", r"^    struct fe_step_params step;",
                "    struct fe_toy_params toy;\n")
    copy.forgotten("include/flashemu/ftl_params.h: src/profile/options.c has no row for the "
                   "field key_ns")
    copy.change("src/profile/options.c", r'^    {FE_SEC_CACHE, "size"',
                '    {FE_SEC_FTL, "toy_key", FE_OPT_TIME, FIELD(ftl.toy.key_ns), .max = SEC(1),\n'
                '     .def = "1ms", .used_by = "toy",\n'
                '     .help = "Additional time of each write of the toy strategy."},\n\n')
    copy.change("docs/KEYS.md", r"^## Used by no profile", "| ftl.toy_key | An example | toy |\n\n")
    check_changed(copy, "Add an option")


def add_cost(copy):
    """A read that ends where a page ends.  Its option comes first, as for any option."""
    copy.change("include/flashemu/ftl_params.h", r"^    uint64_t rest_align;",
                "    uint64_t toy_read_ns; /* additional time for a read that ends with a page */\n")
    copy.change("src/profile/options.c", r'^    {FE_SEC_FTL, "rest_write"',
                '    {FE_SEC_FTL, "toy_read", FE_OPT_TIME, FIELD(ftl.part.toy_read_ns), .max = SEC(1),\n'
                '     .def = "0", .used_by = "page segment",\n'
                '     .help = "Additional time for a read that ends where a page ends."},\n')
    copy.change("docs/KEYS.md", r"\Z", "| ftl.toy_read | An example | |\n")
    copy.change("src/ftl/cost.c", r"^    {false, NOT_HELD,",
                "    {false, ENDS_AT, PAGES, TIME(part.toy_read_ns)},\n")
    copy.change("src/ftl/cost.h", r"^ \*     map_read ",
                " *     toy_read    reads   a command ends at the end of a piece             a page\n")
    with open(os.path.join(HERE, "newcomer/cost.c")) as f:
        copy.change("tests/unit/test_cost.c", r"^int main\(", f.read())
    copy.change("tests/unit/test_cost.c", r"^        cmocka_unit_test\(test_cost_of_parts\)",
                "        cmocka_unit_test(test_cost_of_whole_pages),\n")


def add_strategy(copy):
    copy.add("src/ftl/toy.c", "toy.c")
    copy.forgotten("src/ftl/toy.c is not named in src/ftl/meson.build\n"
                   "src/ftl/toy.c defines fe_ftl_toy: src/ftl/registry.h has no line STRATEGY(toy)")
    copy.change("src/ftl/meson.build", r"'registry\.c'", "'toy.c', ")
    copy.forgotten("src/ftl/toy.c defines fe_ftl_toy: src/ftl/registry.h has no line STRATEGY(toy)")
    copy.change("src/ftl/registry.h", r"^    STRATEGY\(dftl\)", "    STRATEGY(toy) \\\n")
    test_used_by = os.path.join(copy.build, "tests/property/test_used_by")
    copy.ninja("tests/property/test_used_by")
    copy.fails("ftl.unit_size makes a difference with ftl.type=toy: used_by in "
               "src/profile/options.c must name toy", test_used_by, "toy", "ftl.unit_size")
    copy.change("src/profile/options.c", r'block bast fast"$', "toy ")


def add_policy(copy):
    """Each step makes a mistake of its own until the next one is done."""
    ninja = ("ninja", "-C", copy.build)
    sets = "tests/unit/test_ftl_page_sets"
    copy.change("include/flashemu/ftl_params.h", r"^    POLICY\(RANDOM,",
                '    POLICY(TOY, toy, "toy", false) \\\n')
    code, out = copy.run(*ninja, sets)
    assert code != 0 and re.search(r"src/ftl/blocks/victim\.c.*choose_toy.* undeclared", out), out
    with open(os.path.join(HERE, "newcomer/policy.c")) as f:
        copy.change("src/ftl/blocks/victim.c", r"^fe_peb fe_victims_choose\(", f.read())
    copy.ninja(sets)
    copy.fails("gc_policy=toy has no score in this test", os.path.join(copy.build, sets))
    copy.change("tests/unit/test_ftl_page_sets.c", r"^static double any\(",
                "static double most(const struct twin *t, fe_peb peb)\n{\n"
                "    return t->valid[peb] < PAGES ? t->valid[peb] : -1;\n}\n\n")
    copy.change("tests/unit/test_ftl_page_sets.c", r"^        \[FE_GC_RANDOM\] = any,",
                "        [FE_GC_TOY] = most,\n")


def add_format(copy):
    copy.add("src/workload/formats/toy.c", "format.c")
    copy.change("src/workload/formats/format.h", r"^    FORMAT\(msr\)", "    FORMAT(toy) \\\n")
    copy.forgotten("src/workload/formats/toy.c is not named in src/workload/meson.build")
    copy.change("src/workload/meson.build", r"'lfsr\.c'", "'formats/toy.c', ")


def add_golden(copy):
    """Forgets the file first."""
    golden = os.path.join(copy.build, "tests/golden/test_golden")
    copy.fails("tests/golden/toy.txt is missing: run test_golden --update toy", golden)
    copy.call(golden, "--update", "toy")
    copy.call(golden)


def check_option(copy):
    assert "Additional time of each write" in copy.program("tools/flashemu", "help", "ftl.toy_key")
    assert "toy" in copy.program("tools/flashemu", "help", "ftl.type")
    copy.program("tests/property/test_used_by", "toy")


def check_cost(copy):
    copy.program("tests/unit/test_cost")
    copy.call("env", "FLASHEMU_TOOL=" + os.path.join(copy.build, "tools/flashemu"),
              sys.executable, copy.path("tests/tool/test_keys.py"))


def check_strategy(copy):
    copy.program("tests/unit/test_registry")
    copy.program("tests/property/test_property", "1:3:toy", "2:8:toy")
    copy.program("tests/crash/test_crash", "1:3:toy")


def check_policy(copy):
    """It chooses the worst block, which shows."""
    tool = "tools/flashemu"
    copy.program("tests/unit/test_ftl_page_sets")
    assert "toy" in copy.program(tool, "help", "ftl.gc_policy")

    def copied(policy):
        out = copy.program(tool, "replay", "ssd-page", "gen:random,op=write,count=20K",
                           "device.used=16T", "ftl.gc_policy=" + policy, "--json")
        return int(re.search(r'"pages_copied": (\d+)', out)[1])
    assert copied("toy") > 2 * copied("greedy") > 0


def requests(text):
    """The lines of a trace, without those that say what made it."""
    return [line for line in text.splitlines() if not line.startswith("# ")]


def check_format(copy):
    tool = "tools/flashemu"
    trace = os.path.join(copy.build, "a.trace")
    copy.program("tests/tool/test_workload_trace")
    copy.program("tests/tool/test_workload_formats")
    assert "\ntoy  " in copy.program(tool, "trace", "--formats")
    gen = ["gen", "sequential", "--op", "write", "--count", "8", "--size", "1M"]
    copy.program(tool, *gen, "--format", "toy", "-o", trace)
    with open(trace) as f:
        assert f.readline() == "toys\n"
    assert requests(copy.program(tool, "trace", trace)) == requests(copy.program(tool, *gen))
    return trace


def check_profile(copy, trace):
    tool = "tools/flashemu"
    copy.program("tests/unit/test_profile_load")
    copy.program("tests/unit/test_profile_options")
    assert copy.program(tool, "check", copy.path("profiles/toy.ini")) == ""
    assert "toy" in copy.program(tool, "profiles").split()
    slow = replay_ns(copy, trace)
    fast = replay_ns(copy, trace, "ftl.toy_key=0")
    assert slow - fast >= 8 * 3000000, (slow, fast)


def replay_ns(copy, *args):
    out = copy.program("tools/flashemu", "replay", "toy", *args, "--payload", "--json")
    return int(re.search(r'"elapsed_ns": (\d+)', out)[1])


def work(folder):
    copy = Copy(folder)
    assert copy.changed() == set(), copy.changed()
    add_option(copy)
    add_cost(copy)
    add_strategy(copy)
    add_policy(copy)
    add_format(copy)
    copy.add("profiles/toy.ini", "toy.ini")
    copy.ninja(*TARGETS)
    add_golden(copy)
    check_changed(copy, "Add an option", "Make a command cost something", "Add a strategy",
                  "Add a cleaning policy", "Add a trace format", "Add a profile")
    code, out = copy.run(sys.executable, os.path.join(HERE, "test_lists.py"), copy.src)
    assert code == 0, out
    check_option(copy)
    check_cost(copy)
    check_strategy(copy)
    check_policy(copy)
    check_profile(copy, check_format(copy))


if __name__ == "__main__":
    need("meson", "ninja")
    if "NEWCOMER_KEEP" in os.environ:
        work(os.environ["NEWCOMER_KEEP"])
    else:
        with tempfile.TemporaryDirectory(prefix="fe-newcomer") as place:
            work(place)
