#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""The five ways of docs/START.md lead to the answers that the page tells, typed as they stand.

    test_start.py               in a folder like a clone, with the programs of the build
    test_start.py --bare        types the section Install first: for a clone on a bare Debian, as root
    test_start.py --container   without it: for a clone that is the folder of a container
                                (tools/try-start); both print how long each way takes

FLASHEMU_BUILD is the build's folder, SOURCE_ROOT the sources'.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

ANSWERS = {
    "A slow stick": r"Start partitions at a multiple of 32 KiB",
    "An image": r"(?s)Start the partition at .*partition boot .*partition root",
    "A CI job": r"50 cuts, 0 records lost",
    "A policy": r"(?s)greedy.*random",
    "A class": r"(?s)b'ada'.*b'\\x00\\x00\\x00'",
}
INSTALL = ["Install", "Or a container"]
END_S = 600


def sections(root):
    """{heading: commands} of the page."""
    with open(os.path.join(root, "docs/START.md"), encoding="utf-8") as f:
        parts = re.split(r"(?m)^## (.*)$", f.read())[1:]
    return {name: re.findall(r"(?m)^    (.*)$", text) for name, text in zip(parts[::2], parts[1::2])}


class Shell:
    """A terminal in which commands are typed one after the other."""

    def __init__(self, folder, env):
        self._shell = subprocess.Popen(["/bin/bash"], cwd=folder, env=env, text=True,
                                       stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                       stderr=subprocess.STDOUT)

    def type(self, command):
        """What it has printed; it must have ended well.  A server is only started."""
        serves = command.startswith("flashemu serve ")
        if serves:
            command += " >served.txt 2>&1 & until grep -q 'Type:' served.txt; do " \
                "kill -0 $! || break; sleep 0.1; done; grep 'Type:' served.txt || (cat served.txt; false)"
        self._shell.stdin.write("%s\necho \"-- code $? --\"\n" % command)
        self._shell.stdin.flush()
        text = ""
        while not (ended := re.search(r"(?m)^-- code (\d+) --\n", text)):
            line = self._shell.stdout.readline()
            assert line, (command, text, "the shell has ended")
            text += line
        assert ended[1] == "0", (command, text)
        return text[:ended.start()]

    def close(self):
        """Ends what still serves, and the shell."""
        self._shell.stdin.write("kill -INT $(jobs -p) 2>/dev/null; wait\nexit\n")
        self._shell.stdin.close()
        self._shell.stdout.read()
        self._shell.wait(END_S)


def walk(found, folder, env, shorter):
    """Types each section and looks for its answer; `shorter` changes a command."""
    shell = Shell(folder, env)
    try:
        for name, commands in found.items():
            began = time.monotonic()
            text = "".join(shell.type(shorter(c)) for c in commands)
            assert re.search(ANSWERS.get(name, ""), text), (name, text)
            print("%-14s %5.1f s" % (name, time.monotonic() - began), flush=True)
    finally:
        shell.close()


def test_the_ways_in_a_clone():
    found = sections(ROOT)
    assert list(found)[:2] == INSTALL and set(found) == {*INSTALL, *ANSWERS}, found
    assert all(found.values()), "each section has something to type"
    for name in INSTALL:
        del found[name]
    if subprocess.call(["/usr/bin/python3", "-c", "import nbd"], stderr=subprocess.DEVNULL):
        print("no nbd for Debian's python3: without a CI job and a class")
        del found["A CI job"], found["A class"]
    with tempfile.TemporaryDirectory(prefix="fe") as folder:
        os.symlink(BUILD, os.path.join(folder, "build"))
        for name in ("tools", "docs"):
            os.symlink(os.path.join(ROOT, name), os.path.join(folder, name))
        env = dict(os.environ, FLASHEMU_LAB_STORE=os.path.join(folder, "store"),
                   PATH="%s/build/tools:%s/tools/lab:/usr/bin:%s" % (
                       folder, folder, os.environ["PATH"]))
        walk(found, folder, env, shorter)
        assert os.path.exists(os.path.join(folder, "advice/index.html"))


def shorter(command):
    """The same with less work, the plugin of the build, and a port that another test does not use."""
    command = re.sub(r"^(nbdkit .*) flashemu ", r"\1 build/plugin/nbdkit-flashemu-plugin.so ", command)
    command = command.replace("-o advice", "-o advice --workload log")
    command = command.replace("--count 200000", "--count 20000").replace("count=1M", "count=100K")
    return command.replace(":10809", ":21809").replace("--port 10809", "--port 21809")


def bare(folder, without):
    """Types everything in a clone but these sections; Debian's root has no sudo."""
    env = {k: os.environ[k] for k in ("HOME", "PATH")}
    found = {name: typed for name, typed in sections(folder).items() if name not in without}
    walk(found, folder, dict(env, LC_ALL="C.UTF-8", DEBIAN_FRONTEND="noninteractive"),
         lambda command: command.removeprefix("sudo "))


if __name__ == "__main__":
    if sys.argv[1:] in (["--bare"], ["--container"]):
        bare(os.getcwd(), INSTALL[1:] if sys.argv[1] == "--bare" else INSTALL)
        sys.exit()
    from flashemu_script import from_env, run, skip
    BUILD, ROOT = from_env("FLASHEMU_BUILD"), from_env("SOURCE_ROOT")
    if not shutil.which("nbdkit"):
        skip("no nbdkit")
    run(globals())
