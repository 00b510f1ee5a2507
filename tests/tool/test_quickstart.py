#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""tools/quickstart prints the published figures of the profile that it shows, or none.

It runs in a copy of the tree's skeleton: nothing is built, attached or installed."""

import os
import shutil
import subprocess
import sys

from flashemu_script import ended, run
from flashemu_tool import TOOL, read, write

TOP = os.path.abspath(sys.argv.pop(1))


# The lab as the script calls it.
LAB = """mkdir -p build/article
[ "$*" = "run article -o build/article" ] || exit 3
[ -z "$NO_NUMPY" ] || { echo 'flashemu-lab: needs numpy' >&2; exit 2; }
echo page >build/article/index.html
"""


def quickstart(profile, **env):
    for folder in ("tools/vm", "tools/lab", "build/tools", "bin"):
        os.makedirs(folder, exist_ok=True)
    for name in ("quickstart", "lib.sh"):
        shutil.copy(os.path.join(TOP, "tools", name), "tools")
    write("build/build.ninja", "")
    for name, text in (("bin/meson", ""), ("tools/vm/on-host",
                       "echo 'file-fat32-factory MB/s=1.23 waf=4'\n"
                       "echo 'file-ext4-aligned MB/s=5.67 waf=1'\n"
                       "echo 'file-ext4-today MB/s=4.32 waf=2'\n"),
                       ("tools/lab/flashemu-lab", LAB)):
        write(name, "#!/bin/sh\n" + text)
        os.chmod(name, 0o755)
    if not os.path.exists("build/tools/flashemu"):
        os.symlink(TOOL, "build/tools/flashemu")
    return subprocess.run(["tools/quickstart", "--offline", "--way", "loop", "--profile", profile],
                          env=dict(os.environ, **env, PATH=os.getcwd() + "/bin:" + os.environ["PATH"]),
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=True,
                          universal_newlines=True).stdout


def test_published_figures_are_those_of_the_profile():
    rows = {}
    for profile in ("transcend8g", "lexar8g", "ideal"):
        text = quickstart(profile)
        rows[profile] = [line.split()[-2:] for line in text.splitlines() if "ublished" in line]
        assert ["1.23", "5.67", "4.32"] in [line.split()[-3:] for line in text.splitlines()], text
    fidelity = read(os.path.join(TOP, "profiles/transcend8g.ini"))
    assert "file-fat32-factory | 3.6 MB/s" in fidelity and "file-ext4-aligned | 6.2 MB/s" in fidelity
    assert rows == {"transcend8g": [["3.6", "6.2"]], "lexar8g": [], "ideal": []}, rows


def test_ways_that_need_root_say_so_before_they_build():
    quickstart("ideal")
    write("bin/id", "#!/bin/sh\necho 1000\n")
    os.chmod("bin/id", 0o755)
    write("bin/meson", "#!/bin/sh\ntouch built\n")
    for way in ("loop", "nbd"):
        path = os.getcwd() + "/bin:" + os.environ["PATH"]
        code, out, err = ended(["tools/quickstart", "--offline", "--way", way],
                               env=dict(os.environ, PATH=path))
        assert (code, out) == (2, "") and err.splitlines()[-1] == (
            "quickstart: --way %s needs root: run it with sudo, or take --way vm, which needs no "
            "rights" % way), (code, out, err)
    assert not os.path.exists("built")


def test_a_machine_without_network_is_told_before_the_build():
    quickstart("ideal")
    os.makedirs("tools/vm", exist_ok=True)
    write("tools/vm/prepare", "#!/bin/sh\n"
          "[ $1 = --check ] && echo 'vm: not downloaded yet: linux-image' && exit 1\n")
    os.chmod("tools/vm/prepare", 0o755)
    write("bin/meson", "#!/bin/sh\ntouch built\n")
    path = os.getcwd() + "/bin:" + os.environ["PATH"]
    code, out, err = ended(["tools/quickstart", "--offline", "--way", "vm"],
                           env=dict(os.environ, PATH=path))
    assert (code, out) == (2, "") and err.splitlines()[-1] == (
        "quickstart: vm: not downloaded yet: linux-image"), (code, out, err)
    assert not os.path.exists("built")


def test_the_engine_of_the_machine_is_named():
    quickstart("ideal")
    write("tools/vm/serve", read("tools/vm/on-host"))
    os.chmod("tools/vm/serve", 0o755)
    env = dict(os.environ, PATH=os.getcwd() + "/bin:" + os.environ["PATH"])
    for prepare, code, line in [
            ("[ -z $1 ] || echo uml", 0, "its kernel is User Mode Linux, a program of this machine"),
            ("[ -z $1 ] || echo tcg no ptrace here", 0,
             "its kernel runs under qemu, which emulates a processor: no ptrace here"),
            ("[ -z $1 ] || echo tcg", 0, "its kernel runs under qemu, which emulates a processor"),
            ("[ $1 ] || { echo no kernel here >&2; exit 2; }", 2, "no kernel here"),
            ("[ -z $1 ] || [ $1 = --check ] || { echo no such engine >&2; exit 2; }", 2,
             "no such engine")]:
        write("tools/vm/prepare", "#!/bin/sh\n" + prepare + "\n")
        os.chmod("tools/vm/prepare", 0o755)
        got, out, err = ended(["tools/quickstart", "--offline", "--way", "vm", "--profile", "ideal"],
                              env=env)
        assert got == code and line in err.splitlines(), (prepare, got, out, err)
        assert ("5.67" in out) == (code == 0), (prepare, out)


def test_a_machine_that_dies_is_tried_once_more():
    """With a new stick; what fails otherwise is not tried again."""
    quickstart("ideal")
    write("tools/vm/prepare", "#!/bin/sh\n[ -z $1 ] || echo uml\n")
    os.chmod("tools/vm/prepare", 0o755)
    serve = read("tools/vm/on-host")
    env = dict(os.environ, PATH=os.getcwd() + "/bin:" + os.environ["PATH"])
    for code, deaths, tries, ended_with in ((125, 1, 4, 0), (125, 2, 4, 2), (1, 1, 3, 2), (2, 1, 3, 2)):
        write("tried", "")
        write("tools/vm/serve", "%s[ $5 != file-ext4-aligned ] || [ $(grep -c $5 tried) -ge %d ] || "
              "{ echo $5 >>tried; echo half; exit %d; }\necho $5 >>tried\n%s"
              % (serve[:serve.index("\n") + 1], deaths, code, serve[serve.index("\n") + 1:]))
        os.chmod("tools/vm/serve", 0o755)
        got, out, err = ended(["tools/quickstart", "--offline", "--way", "vm", "--profile", "ideal"],
                              env=env)
        assert got == ended_with and len(read("tried").split()) == tries, (code, got, out, err)
        assert ("5.67" in out) == (got == 0), out
        if got:
            assert "build/quickstart.file-ext4-aligned ends with\nhalf\n" in err, err


def test_it_ends_with_a_page():
    path = os.path.realpath("build/article/index.html")
    assert quickstart("transcend8g").splitlines()[-1].strip() == path and read(path) == "page\n"
    assert "index.html" not in quickstart("lexar8g"), "the article's experiment is of one stick"
    text = quickstart("transcend8g", NO_NUMPY="1")
    assert text.splitlines()[-1] == "no page: flashemu-lab: needs numpy"
    assert "5.67" in text, "the table is there without the page"


run(globals())
