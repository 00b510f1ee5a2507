#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""What docs/TUTORIAL.md says that its commands print is what they print, and its pictures are what
they are drawn from.

    test_tutorial.py          FLASHEMU_BUILD is the build's folder, SOURCE_ROOT the sources'
"""

import os
import re
import shutil
import subprocess

from flashemu_script import from_env, run, skip

BUILD = from_env("FLASHEMU_BUILD")
ROOT = from_env("SOURCE_ROOT")
for need in ("nbdkit", "nbdsh", "nbdinfo", "nbdcopy"):
    shutil.which(need) or skip("no " + need)


def test_the_page_is_what_the_commands_print():
    p = subprocess.run(["/usr/bin/python3", os.path.join(ROOT, "tools/tutorial"), "--check",
                        "--build", BUILD], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                       timeout=300)
    assert p.returncode == 0, p.stdout.decode(errors="replace")


def test_each_step_has_a_picture():
    with open(os.path.join(ROOT, "docs/TUTORIAL.md")) as f:
        page = f.read()
    steps = re.split(r"^## (\d)\. ", page, flags=re.M)
    assert steps[1::2] == list("1234567")
    for number, text in zip(steps[1::2], steps[2::2]):
        shown = re.findall(r"!\[.+\]\((figures/tutorial-\w+\.svg)\)", text)
        assert len(shown) == 1, number
        assert os.path.exists(os.path.join(ROOT, "docs", shown[0])), shown


if __name__ == "__main__":
    run(globals())
