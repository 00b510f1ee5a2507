#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""shellcheck finds nothing in any script of the sources: neither in those that are run nor in those
that are sourced.  .shellcheckrc says what is allowed.
"""

import os
import re
import shutil

from flashemu_script import ended, need, run

ROOT = os.environ["SOURCE_ROOT"]

# A change of this script makes tools/fidelity measure for hours, and these are no mistakes in it:
# numbers without quotation marks, and $RUN for a folder beside RUN for fio.
ALLOWED = {"tools/vm/story.sh": "SC2086,SC2097,SC2098"}


def scripts():
    """Files that are shell by their name or by their first line; none of a build."""
    for folder, folders, names in os.walk(ROOT):
        folders[:] = [f for f in folders
                      if f != ".git" and not os.path.exists(os.path.join(folder, f, "build.ninja"))
                      and f != "build" and not f.startswith("build-")]
        for name in names:
            path = os.path.join(folder, name)
            if os.path.islink(path):
                continue
            with open(path, "rb") as f:
                first = f.read(80).split(b"\n")[0]
            if name.endswith((".sh", ".bash")) or re.match(rb"#!.*\b(ba)?sh$", first):
                yield path


def test_shellcheck():
    found = sorted(scripts())
    names = {os.path.relpath(path, ROOT) for path in found}
    assert {"tools/check", "tools/lib.sh", "tools/vm/init", "tools/vm/guest.sh", ".ci/run",
            "debian/tests/serve", "tools/completion/flashemu.bash"} <= names, names
    wrong = ""
    for path in found:
        shell = ["-s", "bash"] if path.endswith(".bash") else []
        allowed = ALLOWED.get(os.path.relpath(path, ROOT))
        code, out, err = ended(["shellcheck", "-S", "style", "-f", "gcc", *shell,
                                *(["-e", allowed] if allowed else []), path])
        wrong += out + err
        assert code < 2, wrong
    assert not wrong, wrong


def test_sources_that_cannot_be_written_to():
    """A file has the name of the folder that the script wants: that stops root as well."""
    for name in ("lib.sh", "check", "quickstart", "package"):
        os.makedirs("tools", exist_ok=True)
        shutil.copy(os.path.join(ROOT, "tools", name), "tools")
    with open("build", "w", encoding="utf-8"):
        pass
    for name, folder in (("check", "build"), ("quickstart", "build"), ("package", "build/packages")):
        code, out, err = ended(["tools/" + name, "--offline"])
        assert (code, out, err.splitlines()[-1]) == (2, "", (
            "%s: cannot write to %s/%s: run this in a copy of the sources that you may write to"
            % (name, os.getcwd(), folder))), (name, code, out, err)


need("shellcheck")
run(globals())
