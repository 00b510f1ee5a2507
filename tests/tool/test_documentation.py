#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Every command of README.md, of docs/RECIPES.md and of the manual pages' EXAMPLES runs.

    test_documentation.py          FLASHEMU_BUILD is the build's folder, SOURCE_ROOT the sources'

A command is a line of an indented block, or of an example of a manual page, that begins with one of
PROGRAMS or with "$ ".  The commands of a page run in one folder and one after the other, with the
programs of the build; a million requests become ten thousand.  What cannot run here matches a line
of NOT_RUN, which has the reason; a line that no command matches is a mistake as well.  What the
commands of a recipe print is what the recipe says: FIGURES has the figures that are compared.
tests/tool/test_tutorial.py is for the tutorial.
"""

import glob
import importlib.machinery
import importlib.util
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time

from flashemu_script import from_env, run, skip

BUILD = from_env("FLASHEMU_BUILD")
ROOT = from_env("SOURCE_ROOT")
PROGRAMS = ("flashemu", "flashemu-lab", "nbdkit", "nbdsh", "nbdinfo", "nbdcopy", "nbd-client",
            "nbdfuse", "meson", "tools/", "sed", "blkparse", "qemu-",
            "podman", "sudo", "for", "awk", "printf", "python3", "/usr/bin/python3")
NEEDS_ROOT = "needs root and a block device"
NOT_RUN = {
    r"^(nbd-client|sudo) ": NEEDS_ROOT,
    r"^nbdkit flashemu [^ ]+$|^nbdkit flashemu profile=transcend8g$": "serves until it is ended",
    r"^(tools/|meson|qemu-|podman)": "installs, builds or boots",
    r"/dev/sdb|^blkparse ": "needs a real stick",
    r"\bmy\.(json|ini)\b": "needs a measurement of a real stick",
    r"^flashemu verify (transcend8g|--all)": "needs the virtual machine or takes minutes",
    r"^flashemu-lab (run|crash|sweep|advise|import|record|job)\b": "takes minutes; tests/lab runs it",
}
# What a command of RECIPES.md prints (a pattern), and how the recipe writes it.
FIGURES = [
    (r"commits/s", r"(\S+)\.json +([\d.]+) commits/s", "| `{}` | {} |"),
    (r"^flashemu-lab life", r"(?m)^(\S+ lives .*\))\.$", "{}"),
    (r"^flashemu-lab life", r"(?m)GB: ([\d.]+) times as much\.$", "{} times as much"),
    (r"life home-assistant .*emmc", r"(?m)^\S+ on (\S+) +([\d.]+) .* ([\d.]+)(?:$|  )",
     "| `{}` | {} | {} |"),
    (r"life (?:syslog|home-assistant --card toshiba16g$)", r"(?m)^(mkfs\.f2fs.*?|mkfs\.(?:vfat|xfs|btrfs).*?|mount .*?|log=.*?|journal_.*?)"
     r"  +([\d.]+) ", "| `{}` | {} |"),
    (r"life logger", r"(?m)^(mkfs\.f2fs.*?|mkfs\.vfat -F 32.*?|mkfs\.btrfs.*?|partition at 31.*?|"
     r"card written.*?|written .* tenth is .*?)  +([\d.]+) ", "| `{}` | {} |"),
    (r"power-cut\.py", r"(\d+ cuts, \d+ records lost)", "`{}`"),
    (r"enhanced_size.*op=write", r"MB/s, (\d+)[\d.]* IOPS", "{} writes"),
    (r"enhanced_size.*op=write", r"WAF +(\d+\.\d)", "WAF of {}"),
    (r"enhanced_size.*op=read", r"MB/s, (\d+)[\d.]* IOPS", "{} reads"),
    (r"nbdinfo --size", r"(\d+)", "`{}`"),
    (r"nbdsh", r"(b'.*')", "`{}`"),
]
SMALLER = [(r"count=[12]M", "count=10K"), (r"--count 1000000", "--count 10000")]


def tutorial():
    """tools/tutorial as a module."""
    loader = importlib.machinery.SourceFileLoader("tutorial", os.path.join(ROOT, "tools/tutorial"))
    spec = importlib.util.spec_from_loader("tutorial", loader)
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


def joined(lines):
    """Lines with their continuations, without comments behind two blanks."""
    found = []
    for line in lines:
        line = re.sub(r"\s{2,}# .*", "", line.strip())
        if found and found[-1].endswith("\\"):
            found[-1] = found[-1][:-1].rstrip() + " " + line.lstrip("> ")
        else:
            found.append(line)
    return found


def is_command(line):
    return line.startswith("$ ") or line.startswith(PROGRAMS)


def of_markdown(path):
    with open(path, encoding="utf-8") as f:
        lines = joined(line for line in f.read().split("\n") if line.startswith("    "))
    return [line.removeprefix("$ ") for line in lines if is_command(line)]


def of_manual(path):
    """The commands of a page's EXAMPLES."""
    with open(path, encoding="utf-8") as f:
        page = f.read().partition(".Sh EXAMPLES\n")[2].partition("\n.Sh ")[0]
    assert page, path + " has no EXAMPLES"
    lines, inside = [], False
    for line in page.split("\n"):
        if line.startswith((".Bd", ".Ed")):
            inside = line.startswith(".Bd")
        elif line.startswith(".Dl "):
            lines.append(line[4:])
        elif inside:
            lines.append(line)
    text = [line.replace("\\e", "\\").replace("\\-", "-") for line in lines]
    return [line for line in joined(text) if is_command(line)]


def pages():
    yield "README.md", of_markdown(os.path.join(ROOT, "README.md"))
    for name in sorted(os.listdir(os.path.join(ROOT, "docs/man"))):
        yield name, of_manual(os.path.join(ROOT, "docs/man", name))
    recipes = os.path.join(ROOT, "docs/RECIPES.md")
    yield "RECIPES.md", of_markdown(recipes)


def is_alive(pid):
    try:
        with open("/proc/%d/stat" % pid, encoding="utf-8", errors="replace") as f:
            return f.read().rpartition(") ")[2][0] not in "ZX"
    except OSError:
        return False


def wait_for_servers(folder):
    """`quit` is answered while the server still closes its image; whoever types notices nothing."""
    for name in glob.glob(os.path.join(folder, "*.pid")):
        with open(name, encoding="utf-8") as f:
            pid = int(f.read())
        end = time.monotonic() + 60
        while is_alive(pid):
            assert time.monotonic() < end, name
            time.sleep(0.01)


def reason(command):
    return next((why for pattern, why in NOT_RUN.items() if re.search(pattern, command)), None)


def check_figures(command, text, page):
    """The page has what this command has printed.  The indices of FIGURES that were compared."""
    compared = set()
    for i, (pattern, printed, written) in enumerate(FIGURES):
        if not re.search(pattern, command):
            continue
        found = re.findall(printed, text)
        assert found, (command, printed, text[-500:])
        for figures in found:
            want = written.format(*([figures] if isinstance(figures, str) else figures))
            assert want in page, "%s printed %s: RECIPES.md must say %s" % (command, figures, want)
        compared.add(i)
    return compared


def test_every_command_of_the_pages():
    for need in ("nbdkit", "nbdsh", "nbdinfo", "nbdcopy"):
        shutil.which(need) or skip("no " + need)
    used, compared = set(), set()
    with open(os.path.join(ROOT, "docs/RECIPES.md"), encoding="utf-8") as f:
        recipes = " ".join(f.read().split())
    for page, commands in pages():
        assert commands, page
        ran = 0
        with tempfile.TemporaryDirectory(prefix="fe") as folder:
            env = tutorial().programs(folder, BUILD)
            work = os.path.join(folder, "work")
            os.mkdir(work)
            for command in commands:
                used |= {pattern for pattern in NOT_RUN if re.search(pattern, command)}
                if reason(command) is not None:
                    continue
                ran += 1
                for pattern, small in SMALLER:
                    command = re.sub(pattern, small, command)
                with open(os.path.join(folder, "out"), "w+", errors="replace") as out:
                    p = subprocess.run(["/bin/bash", "-o", "pipefail", "-c", command], cwd=work,
                                       env=env, stdin=subprocess.DEVNULL, stdout=out, stderr=out,
                                       timeout=120, check=False)
                    out.seek(0)
                    text = out.read()
                # 141: `head` has seen enough
                assert p.returncode in (0, 141), (page, command, p.returncode, text[-500:])
                if page == "RECIPES.md":
                    compared |= check_figures(command, text, recipes)
                if command.endswith(" quit"):
                    wait_for_servers(work)
        print("%s: %d of %d commands" % (page, ran, len(commands)))
    assert used == set(NOT_RUN), "no command matches %s" % (set(NOT_RUN) - used)
    assert len(compared) == len(FIGURES), "no command prints %s" % [
        f for i, f in enumerate(FIGURES) if i not in compared]


def first_table():
    """The commands of the README's first table."""
    with open(os.path.join(ROOT, "README.md"), encoding="utf-8") as f:
        table = f.read().partition("| question | command | seconds |\n")[2].partition("\n\n")[0]
    return re.findall(r"^\| .* \| `(.*)` \| .* \|$", table, re.M)


def test_the_first_screen_in_a_clone():
    """Its commands run as typed; advice is asked for one work, because all of them take longer."""
    commands = first_table()
    assert len(commands) == 5, commands
    with tempfile.TemporaryDirectory(prefix="fe") as folder:
        os.symlink(BUILD, os.path.join(folder, "build"))
        shutil.copytree(os.path.join(ROOT, "tools"), os.path.join(folder, "tools"))
        env = dict(os.environ, FLASHEMU_LAB_STORE=os.path.join(folder, "store"))
        for command in commands:
            serves = " serve " in command
            if serves and not (shutil.which("nbdfuse") and os.access("/dev/fuse", os.W_OK)):
                continue
            command += " --workload log" * (" advise " in command)
            p = subprocess.Popen(["/bin/bash", "-c", "exec " + command], cwd=folder, env=env, text=True,
                                 stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                 start_new_session=True)
            text = ""
            if serves:
                while "what it does" not in text and (line := p.stdout.readline()):
                    text += line
                assert os.path.exists(os.path.join(folder, "stick/transcend8g")), text
                os.killpg(p.pid, signal.SIGINT)
            text += p.communicate(timeout=300)[0]
            assert p.returncode == 0, (command, text)
            page = re.search(r" -o (\S+)", command)
            assert not page or os.path.exists(os.path.join(folder, page[1], "index.html")), command
        assert not os.path.exists(os.path.join(folder, "stick")), "nothing is left of it"


if __name__ == "__main__":
    run(globals())
