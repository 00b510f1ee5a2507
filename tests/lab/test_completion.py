#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""The lab's completion for bash, fish and zsh, and its manual."""

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from argparse import ArgumentParser

from flashemu_lab_bench import FLASHEMU, LAB, TOP, good, good_json, lab, read, write
from flashemu_bash import Bash
from flashemu_script import ended, need, run
from flashemu_lab.cli import completion
from flashemu_lab.cli.main import _parsed, performer
from flashemu_lab.cli.parser import build_parser
from flashemu_lab.core import text
from flashemu_lab.recording import recordings

HEAVY = {"numpy", "scipy", "asyncio", "subprocess", "flashemu_lab.runs.program"}
SCRIPT = os.path.join(TOP, "tools/completion/flashemu-lab.bash")
PATH = ":".join([os.path.dirname(FLASHEMU), os.path.dirname(LAB), os.environ["PATH"]])
ASK = """
. "$1"; COMP_LINE=$2; COMP_POINT=${#2}; _python_argcomplete flashemu-lab
printf '%s\\n' "${COMPREPLY[@]}"
"""


def offered(*words):
    """What bash is told to offer for the last word of a line.  It has cut off what stands in front
    of the last : or = already."""
    code, out, err = ended(["bash", "-c", ASK, "bash", SCRIPT, " ".join(("flashemu-lab", *words))],
                           env=dict(os.environ, PATH=PATH))
    assert code == 0 and err == "", (words, code, err)
    return out.split()


def commands():
    return list(completion.commands(build_parser()))


def test_commands_and_options():
    assert set(offered("")) == set(commands())
    assert offered("--v") == ["--version"] and offered("adv") == ["advise"]
    assert offered("nope", "") == []
    assert {"--jobs", "--help", "-o", "--output"} <= set(offered("run", "waf", "-"))
    # numbers are left to the user, also where files are that he could mean
    write("2", "")
    assert offered("run", "--jobs", "") == [] and offered("crash", "--second", "") == []
    assert offered("run", "--engine", "") == ["local", "dask"]
    assert offered("import", "x", "--queue=o") == ["on", "off"]


def test_names():
    names = [e["name"] for e in good_json("list")]
    write("mine.toml", "")
    write("mine.json", "")
    assert {*names, "mine.toml", "mine.json"} <= set(offered("run", ""))
    assert offered("show", "wa") == ["waf"] and offered("show", "small-f") == ["small-files"]
    assert offered("show", "ext4-d") == offered("sample", "ext4-d") == [
        name for name in recordings.names() if name.startswith("ext4-d")] != []
    assert offered("run", "waf", "-o", "mine.t") == ["mine.toml"]
    for command in ("advise", "crash", "refine", "sweep"):
        assert offered(command, "transcend8") == ["transcend8g"], command
    assert offered("crash", "ideal", "transcend8") == ["transcend8g"]
    assert offered("advise", "mine.j") == offered("fit", "mine.j") == ["mine.json"]
    assert offered("life", "camera", "--card", "ssd") == ["ssd-page"]
    assert offered("life", "camera", "mine.t") == ["mine.toml"] and offered("life", "logg") == ["logger"]
    wanted = [name for name in recordings.names() if name.startswith("ext4-d")]
    for command in (["life"], ["sweep", "ideal"]):
        assert offered(*command, "rec:ext4-d") == wanted, command


def test_keys_and_lists():
    assert offered("sweep", "ssd-page", "ftl.gc_p") == ["ftl.gc_policy="]
    assert offered("sweep", "ssd-page", "--depth", "2", "ftl.op=1%", "ftl.gc_p") == ["ftl.gc_policy="]
    assert offered("crash", "ideal", "ftl.gc_p") == ["ftl.gc_policy="]
    # operands may stand behind options, and an option behind operands
    assert offered("advise", "ideal", "--jobs", "3", "ftl.gc_p") == ["ftl.gc_policy="]
    assert offered("advise", "ideal", "nand.tR=1us", "--workload", "lo") == ["log"]
    assert offered("advise", "ideal", "--workload", "log,vi") == ["log,video"]
    assert offered("crash", "--filesystem", "vfat,ext4-n") == ["vfat,ext4-nojournal"]
    assert offered("crash", "--workload=log,da") == ["log,database"]


def test_in_a_real_bash():
    """Only here it is certain where bash puts blanks and backslashes."""
    bash = Bash(PATH)
    write("a=b.json", "")
    try:
        bash.shows(". %s; echo re''ady\n" % SCRIPT, "ready\r\n")
        for keys, words in (("flashemu-lab advise transcend8\t#", "advise transcend8g #"),
                            ("\x15flashemu-lab crash ideal ftl.gc_p\tgreedy#",
                             "ideal ftl.gc_policy=greedy#"),
                            ("\x15flashemu-lab life rec:ext4-des\t#", "life rec:ext4-desktop #"),
                            ("\x15flashemu-lab life camer\t#", "life camera #"),
                            ("\x15flashemu-lab fit a\t#", "fit a=b.json #"),
                            ("\x15flashemu-lab run --jobs \t#", "run --jobs \a#")):
            bash.shows(keys, words)
    finally:
        bash.end()


# What is typed, and what it becomes.
TYPED = (("adv", "advise"), ("sweep ideal ftl.gc_p", "sweep ideal ftl.gc_policy="),
         ("life rec:ext4-des", "life rec:ext4-desktop"), ("advise transcend8", "advise transcend8g"),
         ("advise ideal --workload log,vi", "advise ideal --workload log,video"),
         ("fit a\\ b", "fit a\\ b.json"), ("life camer", "life camera"), ("run fold", "run folder/"),
         ("run --engine d", "run --engine dask"))
OTHERS = os.path.join(os.path.dirname(FLASHEMU), "NAME")  # as configured beside the program


def test_an_ensemble_may_be_of_one():
    parsed = build_parser().parse_args(["run", "x.toml", "--ensemble", "1"])
    assert parsed.ensemble == 1 and parsed.ensemble_seed == 1
    assert build_parser().parse_args(["run", "x.toml"]).ensemble == 0


def test_options_come_before_operands():
    """A word behind an option that takes one is its value, and no other word is."""
    parser = ArgumentParser()
    parser.add_argument("--flag", "-f", action="store_true")
    parser.add_argument("--two", nargs=2)
    parser.add_argument("--out", "-o")
    parser.add_argument("--size")
    for words, wanted in ((["a", "-o", "b", "c", "--flag", "d"], ["-o", "b", "--flag", "a", "c", "d"]),
                          (["a", "b", "--size", "1", "-o", "2"], ["--size", "1", "-o", "2", "a", "b"]),
                          (["-o", "--size", "x"], ["-o", "--size", "x"]), (["a", "b", "-o"], ["a", "b", "-o"]),
                          (["--two", "x", "-f", "y"], ["--two", "-f", "x", "y"]), ([], [])):
        assert completion._options_first(parser, words) == wanted, words


def test_fish():
    if not shutil.which("fish"):
        print("skipped: no fish")
        return
    write("a b.json", "")
    os.makedirs("folder", exist_ok=True)

    def told(line):
        code, out, err = ended(
            ["fish", "--no-config", "-c", "source $argv[1]; complete -C $argv[2]",
             OTHERS.replace("NAME", "flashemu-lab.fish"), line],
            env=dict(os.environ, PATH=PATH, FLASHEMU_LAB_COMPLETION=SCRIPT))
        assert code == 0 and err == "", (line, code, err)
        return [word.split("\t")[0] for word in out.splitlines()]

    for typed, full in TYPED:
        word = full.replace("\\ ", "\0").split()[-1].replace("\0", "\\ ")
        assert told("flashemu-lab " + typed) in ([word], [word.replace("\\", "")]), (typed, told(
            "flashemu-lab " + typed))
    assert set(told("flashemu-lab ")) == set(commands()) and told("flashemu-lab nope ") == []


def test_zsh():
    if not shutil.which("zsh"):
        print("skipped: no zsh")
        return
    os.makedirs("functions", exist_ok=True)
    os.makedirs("folder", exist_ok=True)
    write("a b.json", "")
    shutil.copy(OTHERS.replace("NAME", "_flashemu-lab"), "functions")
    zsh = Bash(PATH, ["zsh", "-f", "-i"], FLASHEMU_LAB_COMPLETION=SCRIPT)
    try:
        zsh.shows("fpath=($PWD/functions $fpath); autoload -Uz compinit; compinit -u -D; PS1='> '; "
                  "flashemu-lab() { print -r \"[$*]\" }; echo re''ady\n", "ready\r\n")
        for typed, full in TYPED:
            blank = "" if full[-1] in "=/" else " "  # behind a word that goes on there is none
            zsh.shows("flashemu-lab %s\t#\n" % typed,
                      "[%s%s#]" % (full.replace("\\", ""), blank))
    finally:
        zsh.end()


def test_the_command_line_loads_little():
    """Help and completion need no numbers and no cluster; numpy alone is half of a start."""
    for words in (["--help"], ["crash", "--help"], ["--nope"]):
        code, out, err = ended([sys.executable, "-X", "importtime", LAB, *words])
        loaded = set(re.findall(r"\| +(\S+)$", err, re.M))
        assert "argparse" in loaded and not loaded & HEAVY, (words, loaded & HEAVY)
    # the shell asks with a line, and gets the answer from descriptor 8
    env = dict(os.environ, _ARGCOMPLETE="1", COMP_LINE="flashemu-lab adv", COMP_POINT="16",
               _ARGCOMPLETE_STDOUT_FILENAME="answer")
    code, out, err = ended([sys.executable, "-X", "importtime", LAB], env=env)
    loaded = set(re.findall(r"\| +(\S+)$", err, re.M))
    assert read("answer") == "advise " and "argcomplete.completers" in loaded, (code, out, err)
    assert not loaded & HEAVY - {"subprocess"}, loaded & HEAVY  # argcomplete itself loads this


def test_names_of_options():
    """- and _ are the same in them; what is no option stays as it is."""
    known = completion.commands(build_parser())
    for words in (["--per_day", "2G"], ["--per_day=2G"]):
        life = _parsed(known["life"], ["camera", *words, "a_b=1"])
        assert life.per_day == 2 << 30 and life.words == ["camera", "a_b=1"]
    assert _parsed(known["job"], ["--on", "x", "--", "--per_day"]).command_behind == ["--per_day"]


def test_an_option_with_a_value_is_given_once_and_is_something():
    """By whichever of its names; what is made to come again may."""
    for words in (["run", "waf", "--jobs", "1", "--jobs=1"], ["life", "camera", "-o", "a", "--output", "b"],
                  ["advise", "ideal", "--ensemble_seed", "1", "--ensemble-seed", "1"]):
        code, out, err = lab(*words)
        assert code == 2 and out == "" and err.count("\n") == 1, (words, err)
        assert "given twice, allowed once" in err and not os.path.exists("a"), (words, err)
    for words in ([""], ["run", "waf", "-o", ""], ["show", "waf", "--store="], ["fit", " ", "-o", "x.ini"],
                  ["sweep", "ideal", "ftl.op=1%,2%", "gen:random", "--warmup", ""], ["life", ""],
                  ["life", "camera", "--card", ""], ["life", "camera", "--card="]):
        code, out, err = lab(*words)
        assert code == 2 and out == "" and err.count("\n") == 1 and "is empty" in err, (words, err)
    parse = completion.commands(build_parser())["life"].parse_args
    assert parse(["camera", "--card", "ideal", "--card", "ssd-page"]).card == ["ideal", "ssd-page"]


def test_quiet_in_front_of_the_command():
    assert lab("-q", "list") == lab("--quiet", "list") == lab("list", "-q") and lab("-q", "list")[0] == 0


def test_what_is_missing():
    assert lab("advise") == (2, "", "flashemu-lab: the following arguments are required: PROFILE|MY.json "
                             "(try flashemu-lab advise --help)\n")


def test_an_output_is_of_the_kind_that_the_command_writes():
    """And that is said before the work, which may take long."""
    write("file", "")
    os.mkdir("folder")
    for words in (["run", "waf"], ["advise", "ideal"], ["life", "camera"], ["record"],
                  ["sweep", "ideal", "gen:random,count=1"], ["crash", "ideal", "--work", "log", "--force"]):
        code, out, err = lab(*words, "-o", "file")
        assert (code, out, err) == (2, "", "flashemu-lab: -o file: is a file; allowed: a folder\n"), words
    for words in (["sample"], ["job", "--on", "ideal", "x"], ["fit", "m.json"], ["probe", "/dev/null"],
                  ["import", "x"], ["report", "."], ["datasheet", "m.json"]):
        code, out, err = lab(*words, "-o", "folder")
        assert (code, out, err) == (2, "", "flashemu-lab: -o folder: is a folder; allowed: a file\n"), words


def test_a_sweep_that_says_something_twice_or_nothing():
    for words, want in ((["ftl.op=1%,2%", "ftl.op=3%"], "ftl.op=3%: ftl.op is given twice, allowed once"),
                        (["ftl.op=1%", "ftl.op=3%,4%"], "ftl.op=3%,4%: ftl.op is given twice, allowed once"),
                        (["--measure", "x= "], "--measure x= : expected NAME=EXPRESSION")):
        code, out, err = lab("sweep", "ssd-page", "gen:random,count=1", *words)
        assert code == 2 and out == "" and err.count("\n") == 1 and want in err, (words, err)


def test_every_command_is_performed_by_a_function():
    for name in commands():
        assert callable(performer(name)), name


def test_what_is_not_installed():
    for name in ("numpy", "jinja2"):
        os.makedirs(name)
        write(f"{name}/{name}.py", f"raise ModuleNotFoundError('no', name='{name}')\n")
        env = dict(os.environ, PYTHONPATH=name)
        assert ended([sys.executable, LAB, "--help"], env=env)[0] == 0
        assert ended([sys.executable, LAB, "run", "waf"], env=env) == (
            2, "", f"flashemu-lab: needs the Python module {name}: apt-get install "
            f"python3-{name}\n")


def test_a_guess():
    """The rule of src/base/guess.c."""
    examples = [line.split("\t") for line in read(os.path.join(TOP, "tests/data/guesses.tsv")).splitlines()
                if not line.startswith("#")]
    assert len(examples) == 30
    for typed, names, wanted in examples:
        assert text.near(typed, names.split(), 1) == [wanted] * (wanted != "-"), typed
    assert text.near("", ["a"], 1) == []
    assert text.near("xt4", ["ext42", "ext4", "xt", "ext3"], 5) == ["ext4", "xt"]
    assert text.near("xt4", ["ext42", "ext4", "xt", "ext3"], 1) == ["ext4"]


def test_what_was_meant():
    for words, want in ((["adivse", "ideal"], "; did you mean advise? (try"),
                        (["advise", "ideal", "--worklaod", "log"], "; did you mean --workload? (try"),
                        (["life", "log", "--runs", "3"], "arguments: --runs 3 (try"),
                        (["xyzzy"], ") (try")):
        code, out, err = lab(*words)
        assert code == 2 and out == "" and err.count("\n") == 1 and want in err, (words, err)
    assert good("-V") == good("--version") == good("advise", "-V") == good("run", "--version") == good(
        "fit", "m.json", "-V")


def test_ctrl_c_while_modules_are_loaded():
    """numpy takes long here, and says when it is being loaded."""
    os.mkdir("slow")
    write("slow/numpy.py", "import time\nopen('loading', 'w').close()\ntime.sleep(3600)\n")
    p = subprocess.Popen([sys.executable, LAB, "advise", "ideal"], text=True, stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE, env=dict(os.environ, PYTHONPATH="slow"))
    while not os.path.exists("loading"):
        assert p.poll() is None, p.communicate()
        time.sleep(0.01)
    p.send_signal(signal.SIGINT)
    out, err = p.communicate()
    assert (p.returncode, out, err) == (130, "", "flashemu-lab: interrupted\n"), err


def test_the_manual_has_every_command_and_option():
    """A command has a page of its own, or is in the one of flashemu-lab; its options are there."""
    folder = os.path.join(TOP, "docs/man")
    pages = [os.path.join(folder, name) for name in sorted(os.listdir(folder))
             if re.match(r"flashemu-(lab.*[.]1|experiment[.]5)$", name)]
    overview = read(os.path.join(folder, "flashemu-lab.1"))
    for command in commands():
        assert re.search(r"^\.It Cm %s$" % command, overview, re.M), command
        own = [page for page in pages if re.search(r"^\.Cm %s$" % command, read(page).partition(
            ".Sh DESCRIPTION")[0], re.M)]
        assert len(own) == 1, (command, own)
        name = os.path.basename(own[0])[:-2]
        assert own[0].endswith("flashemu-lab.1") or f".Xr {name} 1" in overview, own
        text = read(own[0]) + overview
        code, out, _ = lab(command, "--help")
        assert code == 0
        options = set(re.findall(r"^  (?:-\w.*, )?--([a-z-]+)", out, re.M))
        assert "help" in options, out
        for option in options - {"help"}:
            assert "Fl Fl " + option in text, (command, option)
    for page in pages:
        name, _, section = os.path.basename(page).rpartition(".")
        assert f".Dt {name.upper()} {section}\n" in read(page) and len(read(page).split("\n")) < 400
        others = re.findall(r"^\.Xr (flashemu-(?:lab|exp)\S*) (\d)", read(page), re.M)
        assert others, page
        for other, its in others:
            assert os.path.join(folder, f"{other}.{its}") in pages, (page, other)
        if shutil.which("mandoc"):
            code, out, err = ended(["mandoc", "-T", "lint", "-W", "warning", page])
            assert code == 0, (page, out)


need("bash", "register-python-argcomplete")
run(globals())
