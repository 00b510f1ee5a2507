#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""What a command writes to a file appears whole or not at all, and never replaces an input."""

import json
import os
import signal
import stat
import subprocess
import tempfile
import threading
import time

from flashemu_script import run
from flashemu_tool import TOOL, bad, good, read, write

HEAD = "# flashemu trace 1\n"
TRACE = HEAD + "0 write 0 4096 done=1000\n1000 read 0 4096 done=2000\n"

# More than a reader takes at a time, so that it sees the first lines before the end of the file.
LONG = (HEAD + "0 write 0 512\n" * 40000).encode()

# Each command that writes a file: what it reads from INPUT, and where OUTPUT goes.
READERS = {
    "trace": ["trace", "INPUT", "-o", "OUTPUT"],
    "record": ["replay", "ideal", "INPUT", "--record", "OUTPUT"],
    "wear-svg": ["replay", "ideal", "INPUT", "--wear-svg", "OUTPUT"],
    "warmup": ["replay", "ideal", "gen:random,count=1", "--warmup", "INPUT", "--record", "OUTPUT"],
    "report": ["report", "INPUT", "-o", "OUTPUT"],
}
GEN = ["gen", "random", "--count", "5", "-o", "OUTPUT"]


def command(words, source, target):
    return [{"INPUT": source, "OUTPUT": target}.get(w, w) for w in words]


def only(*names):
    """The folder has these files and no others, so no temporary one either."""
    assert sorted(os.listdir(".")) == sorted(names), os.listdir(".")


def each(*more):
    """A fresh folder with the file t.tr for every command."""
    here = os.getcwd()
    for name, words in [*READERS.items(), *more]:
        with tempfile.TemporaryDirectory(dir=here) as folder:
            os.chdir(folder)
            write("t.tr", TRACE)
            yield name, words
            os.chdir(here)


def test_an_output_is_written():
    for name, words in each(("gen", GEN)):
        good(*command(words, "t.tr", "new"))
        only("t.tr", "new")
        assert len(read("new")) > 20, name
        mask = os.umask(0)
        os.umask(mask)
        assert stat.S_IMODE(os.stat("new").st_mode) == 0o666 & ~mask, name


def test_an_input_survives():
    for name, words in each():
        os.link("t.tr", "hard")
        os.symlink("t.tr", "soft")
        for target in ["t.tr", "./t.tr", "hard", "soft"]:
            bad("%s: is also the input 't.tr'; the output must be another file" % target,
                *command(words, "t.tr", target))
            assert read("t.tr") == TRACE, name
        with open("t.tr") as f:
            p = subprocess.run([TOOL, *command(words, "-", "t.tr")], stdin=f,
                               stderr=subprocess.PIPE)
        assert p.returncode == 2 and b"is also the input '-'" in p.stderr, (name, p)
        assert read("t.tr") == TRACE, name
        only("t.tr", "hard", "soft")


def test_a_profile_survives():
    text = good("show", "ideal")
    write("p.ini", text)
    os.mkdir("folder")
    write("folder/q.ini", text)
    for option in ["--record", "--wear-svg"]:
        bad("is also the input 'p.ini'", "replay", "p.ini", "gen:random,count=1", option, "p.ini")
        bad("is also the input 'folder/q.ini'", "replay", "q", "gen:random,count=1", option,
            "folder/q.ini", env={"FLASHEMU_PATH": "folder"})
    assert read("p.ini") == text and read("folder/q.ini") == text
    # a file that only has the name of a built-in profile is not read
    good("replay", "ideal", "gen:random,count=1", "--record", "ideal")


OURS = "# flashemu trace 1\n# good\n"


def test_only_what_flashemu_has_made_is_replaced():
    """Twice the same command, but never a file of somebody else's, unless with --force."""
    align = ["align", "ideal", "--start", "1M", "--svg", "OUTPUT"]
    states = ["cuts", "ideal", "INPUT", "--cuts", "1", "--states", "OUTPUT"]
    iolog = ["gen", "random", "--count", "5", "--format", "iolog", "-o", "OUTPUT"]
    refused = "out: is there, and is not what flashemu has made; take another name, or --force"
    others = ("x", "#!/bin/sh\nflashemu replay ideal # flashemu trace 1\n",
              "<!DOCTYPE html>\n<title>flashemu</title>", "<svg xmlns='x'></svg>\n",
              "fio version 3 iolog\n0 /dev/sda add\n", "\n# flashemu trace 1\n", "\0" * 9)
    for name, words in each(("gen", GEN), ("align", align), ("states", states), ("iolog", iolog)):
        if name == "states":
            write("t.tr", HEAD + "0 flush 0 0\n")
        for _ in range(2):
            good(*command(words, "t.tr", "out"))
        made = read("out")
        for text in others:
            write("out", text)
            bad(refused, *command(words, "t.tr", "out"))
            assert read("out") == text, name
        good(*command(words, "t.tr", "out"), "--force")
        assert read("out")[:40] == made[:40], name
        write("out", "")
        good(*command(words, "t.tr", "out"))
        bad("is also the input", *command(["trace", "INPUT", "-o", "OUTPUT"], "t.tr", "t.tr"),
            "--force")
    # an image is only bytes, so one of the same size is taken for it
    write("t.tr", HEAD + "0 flush 0 0\n")
    good("cuts", "ideal", "t.tr", "--cuts", "1", "--states", "st", "device.capacity=1M")
    state = json.loads(read("st").splitlines()[0])["id"]
    words = ["cuts", "ideal", "t.tr", "--state", state, "-o", "out", "device.capacity=1M"]
    good(*words)
    good(*words)
    assert os.path.getsize("out") == 1 << 20
    os.truncate("out", (1 << 20) - 1)
    bad(refused, *words)
    good(*words, "--force")


def test_an_earlier_output_survives_a_failing_run():
    for name, words in each():
        write("out", OURS)
        for source, text in [("missing", "No such file"), ("bad.tr", "bad.tr:2003")]:
            # long enough that a part of it has been written when the bad line comes
            write("bad.tr", HEAD + "0 write 0 512\n" * 2001 + "nonsense\n")
            bad(text, *command(words, source, "out"))
            assert read("out") == OURS, name
            bad(text, *command(words, source, "new"))
            only("t.tr", "bad.tr", "out")
    bad("count", "gen", "random", "--count", "x", "-o", "out")


def default_signals():
    """These signals end the child, even if this test was started by nohup(1)."""
    for number in [signal.SIGTERM, signal.SIGINT, signal.SIGHUP]:
        signal.signal(number, signal.SIG_DFL)


def test_a_signal_leaves_nothing_half_written():
    gen = ["gen", "random", "--count", "1000000000", "-o", "OUTPUT"]
    for name, words in each(("gen", gen)):
        write("out", OURS)
        for number in [signal.SIGTERM, signal.SIGINT, signal.SIGHUP]:
            child = subprocess.Popen([TOOL, *command(words, "-", "out")], stdin=subprocess.PIPE,
                                     stdout=subprocess.DEVNULL, preexec_fn=default_signals)
            if name != "gen":
                child.stdin.write(LONG)
                child.stdin.flush()
            while len(os.listdir(".")) == 2:  # until the temporary file is there
                assert child.poll() is None, name
                time.sleep(0.01)
            child.send_signal(number)
            assert child.wait() == -number, (name, child.returncode)  # it waits for more input
            child.stdin.close()
            only("t.tr", "out")
            assert read("out") == OURS, name


def test_an_ignored_signal_stays_ignored():
    child = subprocess.Popen(["sh", "-c", 'trap "" HUP; exec "$0" trace - -o out', TOOL],
                             stdin=subprocess.PIPE)
    child.stdin.write(LONG)
    child.stdin.flush()
    while not any(name.startswith(".flashemu-") for name in os.listdir(".")):
        time.sleep(0.01)
    child.send_signal(signal.SIGHUP)
    child.stdin.close()
    assert child.wait() == 0
    assert read("out").endswith("0 write 0 512\n")


def test_mode_and_links_are_kept():
    for name, words in each(("gen", GEN)):
        os.mkdir("folder")
        write("folder/real", OURS)
        os.chmod("folder/real", 0o640)
        os.symlink("real", "folder/link")
        os.symlink("folder/link", "soft")
        good(*command(words, "t.tr", "soft"))
        assert os.path.islink("soft") and os.path.islink("folder/link"), name
        assert len(read("folder/real")) > 20, name
        assert stat.S_IMODE(os.stat("folder/real").st_mode) == 0o640, name
        os.symlink("folder/later", "dangling")
        good(*command(words, "t.tr", "dangling"))
        assert len(read("folder/later")) > 20 and os.path.islink("dangling"), name
    os.symlink("loop", "loop")
    bad("loop: Too many levels", "gen", "random", "-o", "loop")


def test_what_is_not_a_regular_file_is_written_directly():
    for name, words in each(("gen", GEN)):
        os.mkfifo("fifo")
        got = []
        reader = threading.Thread(target=lambda: got.append(read("fifo")))
        reader.start()
        good(*command(words, "t.tr", "fifo"))
        reader.join()
        assert len(got[0]) > 20 and stat.S_ISFIFO(os.stat("fifo").st_mode), name
        good(*command(words, "t.tr", "/dev/null"))
        assert stat.S_ISCHR(os.stat("/dev/null").st_mode), name
        bad("/dev/full: No space left", *command(words, "t.tr", "/dev/full"))
        bad("Is a directory", *command(words, "t.tr", "."))
        bad("/nowhere/x: No such file", *command(words, "t.tr", "/nowhere/x"))
        only("t.tr", "fifo")
    # standard output as a file that the shell has filled before
    write("log", "before\n")
    with open("log", "a") as f:
        subprocess.run([TOOL, *command(GEN, "", "/dev/stdout")], stdout=f, check=True)
    assert read("log").startswith("before\n" + HEAD)


def test_two_outputs_are_two_files():
    os.symlink("x", "y")
    os.mkdir("d")
    for other in ["x", "./x", "d/../x", "y"]:
        bad("%s: two outputs cannot be the same file" % other, "replay", "ideal",
            "gen:random,count=1", "--record", "x", "--wear-svg", other)
    only("d", "y")
    # the first one does not appear if the second one fails
    bad("No space left", "replay", "ideal", "gen:random,count=1", "--record", "x", "--wear-svg",
        "/dev/full")
    only("d", "y")


run(globals())
