#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Files that appear whole: what they replace, and what they leave as it is."""

import os
import stat
import subprocess
import sys
from pathlib import Path

from flashemu_script import run

from flashemu_lab_bench import LAB, read, write
from flashemu_lab.core.errors import LabError
from flashemu_lab.core.files import can_write, write_whole


def refused(path, why):
    for function in (lambda: write_whole(path, "new"), lambda: can_write(path)):
        try:
            function()
        except LabError as e:
            assert str(e) == f"{path}: {why}", e
        else:
            raise AssertionError(f"{path}: nobody has refused it")


def test_a_file_is_replaced():
    write("a", "old")
    os.link("a", "b")
    os.chmod("a", 0o640)
    can_write(Path("a"))
    assert read("a") == "old"
    write_whole(Path("a"), b"new")
    assert (read("a"), read("b")) == ("new", "old")
    assert stat.S_IMODE(os.stat("a").st_mode) == 0o640, "the mode of the old one"
    mask = os.umask(0o027)
    write_whole(Path("c"), "new")
    assert stat.S_IMODE(os.stat("c").st_mode) == 0o640 and os.umask(mask) == 0o027


def test_a_link_stays():
    os.mkdir("folder")
    write("folder/file", "old")
    os.symlink("folder/file", "to-file")
    os.symlink("folder/new", "to-nothing")
    for link in ("to-file", "to-nothing"):
        write_whole(Path(link), link)
        assert os.path.islink(link) and read(os.path.realpath(link)) == link
    assert sorted(os.listdir("folder")) == ["file", "new"], "something is left"


def test_what_is_no_file_stays():
    os.mkdir("there")
    refused(Path("there"), "Is a directory")
    refused(Path("nowhere/file"), "No such file or directory")
    os.mkfifo("pipe")
    reader = subprocess.Popen(["cat", "pipe"], stdout=subprocess.PIPE)
    write_whole(Path("pipe"), "through")
    assert reader.communicate()[0] == b"through" and Path("pipe").is_fifo()


def test_the_standard_output():
    """It may be a file with something in it."""
    program = ("import sys; from pathlib import Path; from flashemu_lab.core.files import write_whole; "
               "print('first'); write_whole(Path(sys.argv[1]), 'second\\n'); print('third')")
    os.symlink("/proc/self/fd/1", "stdout")
    for name in ("stdout", "said"):
        with open("said", "w", encoding="utf-8") as said:
            subprocess.run([sys.executable, "-c", program, name], stdout=said, check=True,
                           env=dict(os.environ, PYTHONPATH=os.path.dirname(LAB)))
        assert read("said") == "first\nsecond\nthird\n", (name, read("said"))


run(globals())
