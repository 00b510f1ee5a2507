#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Every allocation and every host call of every command fails once: no crash, no half output, one
message and an exit code that is not 0.  A command may also do without what it did not get: then its
output is the same as ever.

FLASHEMU_FAIL names the library of fail_nth.c.
"""

import errno
import gzip
import json
import lzma
import os
import resource
import signal
import subprocess

from flashemu_script import from_env, run
from flashemu_tool import SLC_PROFILE, TOOL, good, read, write

LIBRARY = from_env("FLASHEMU_FAIL")
IMAGES = from_env("FLASHEMU_IMAGES")
HEAD = "# flashemu trace 1\n"
TIMES = ("wall_seconds", "cpu_seconds", "host_ops_per_second")

# Each command; OUT is the file that it writes.
COMMANDS = [
    ["gen", "random", "--count", "50", "-o", "OUT"],
    ["gen", "zipf", "--count", "5"],
    ["gen", "--patterns"],
    ["trace", "t.tr", "--to", "iolog", "-o", "OUT"],
    ["replay", "small.ini", "t.tr", "--json", "ftl.op=20%"],
    ["replay", "small.ini", "t.tr", "--payload", "--record", "OUT"],
    ["replay", "small.ini", "t.tr", "--json", "--vary", "ftl.op=20%"],
    ["replay", "small.ini", "t.tr", "--wear-svg", "OUT"],
    ["replay", "small.ini", "rec:./r.trace.gz,start=64,measure=work", "--json"],
    ["replay", "small.ini", "t.bin", "--json"],
    ["replay", "small.ini", "t.tr", "t.bin", "--each", "--json"],
    ["trace", "t.tr", "--to", "binary", "-o", "OUT"],
    ["report", "t.tr", "s.json", "-o", "OUT"],
    ["show", "small.ini"],
    ["check", "small.ini"],
    ["check", "--json", "bad.ini"],
    ["help"],
    ["help", "--json", "ftl.op"],
    ["profiles", "--json"],
    ["profiles", "--long"],
    ["help", "small.ini"],
    ["inspect", "--json", "page.img"],
    ["inspect", "page.img", "--page", "5"],
    ["fsck", "--json", "page.img"],
    ["verify", "card.ini", "--dry-run", "--json"],
    ["verify", "card.ini", "--against", "m.json", "--json"],
    ["verify", "card.ini", "--against", "m.json", "--sets", "sets"],
    ["verify", "card.ini", "--class", "--json"],
    ["align", "card.ini", "--start", "63s,1M", "--json"],
    ["align", "card.ini", "--start", "63s,1M", "--svg", "OUT"],
]


def prepare():
    write("t.tr", HEAD + "0 write 0 4096 done=90\n100 read 0 4096 done=150\n200 flush 0 0 done=300\n")
    write("small.ini", SLC_PROFILE % "1M")
    good("trace", "t.tr", "--to", "binary", "-o", "t.bin")
    write("m.json", json.dumps({"format": "flashemu-measurement", "version": 1, "points": [
        {"procedure": "request", "unit": "ns", "values": [3e5], "parameters": {
            "op": "write", "bs": 4096, "start": 0, "stride": 8192, "count": 20}},
        {"procedure": "flashbench-open-au", "unit": "bytes/s", "values": [1e7], "parameters": {
            "erasesize": 1 << 20, "open": 2, "chunk": 1 << 18, "random": False}}]}))
    write("sets", '{"set": ["nand.tPROG=900us"]}\n{"set": ["ftl.type=x"]}\n')
    write("card.ini", SLC_PROFILE % "64M" + "a = seq-read bs=64K size=4M | 3 MB/s | 5%\n")
    with gzip.open("r.trace.gz", "wb") as f:
        f.write((HEAD + "# capacity: 1048576\n# partition: 8 512\n# phase: format 1 0\n"
                 "# phase: work 2 4096\n0 write 4096 512\n0 write 8192 4096\n").encode())
    write("bad.ini", "[device]\ncapacity = x\nfoo = 1\n")
    write("s.json", good("replay", "small.ini", "t.tr", "--json"))
    with open("page.img", "wb") as f:
        f.write(lzma.open(os.path.join(IMAGES, "page.img.xz")).read())
    os.environ["FLASHEMU_PATH"] = os.getcwd()


def without_times(text):
    """The output without what differs between two runs."""
    lines = [line for line in text.splitlines() if not line.startswith("simulated")]
    return "\n".join(line for line in lines if not any('"%s"' % t in line for t in TIMES))


class Result:
    def __init__(self, words, env=(), limit=None):
        """Runs a command.  limit: the largest file that it may write."""
        def in_child():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            if limit is not None:
                resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
        r, w = os.pipe()
        with open("stdout", "w") as out:
            replaces = ["--force"] if "OUT" in words else []
            p = subprocess.run([TOOL, *({"OUT": "out"}.get(x, x) for x in words), *replaces], stdout=out,
                               stderr=subprocess.PIPE, pass_fds=[w], preexec_fn=in_child,
                               env=dict(os.environ, FAIL_FD=str(w), **dict(env)))
        os.close(w)
        self.fired = os.read(r, 1) != b""
        os.close(r)
        self.code, self.err = p.returncode, p.stderr.decode()
        self.out = read("stdout")
        self.file = read("out") if os.path.exists("out") else None
        os.unlink("stdout")
        self.left = sorted(n for n in os.listdir(".") if n.startswith(".flashemu"))

    def same(self, other):
        return (self.code == other.code and self.err == other.err and self.file == other.file and
                without_times(self.out) == without_times(other.out))


def wrong(words, result, want):
    """What is wrong with the result of a command in which something has failed."""
    if result.code < 0:
        return "killed by signal %d" % -result.code
    if result.left:
        return "a temporary file is left"
    if result.same(want):
        return None
    if words[0] == "fsck" and result.code == 1 and "damaged" in result.out:
        return None  # what cannot be read is damaged
    if words[0] == "inspect" and result.code == 0 and "\ndata                     none" in result.out:
        return None  # the same for the bytes of a page
    if result.code != 2:
        return "exit code %d" % result.code
    # a run of several is a process of its own, in which the call of the same number fails as well
    most = 3 if "--vary" in words or "--each" in words else 1
    if (not all(line.startswith("flashemu: ") for line in result.err.splitlines()) or
            not 1 <= result.err.count("\n") <= most):
        return "not one message"
    # the file is the earlier one, or the new one if only the results could not be printed
    if result.file not in ("earlier\n", None, want.file):
        return "half a file"
    return None


def check(words, what, result, want, mistakes):
    why = wrong(words, result, want)
    if why:
        mistakes.append("%s: %s, %s: %r" % (" ".join(words), what, why, result.err))


def every_failure(kind, number=0):
    prepare()
    mistakes = []
    for words in COMMANDS:
        def once(n):
            if "OUT" in words:
                write("out", "earlier\n")
            return Result(words, env={"LD_PRELOAD": LIBRARY, "FAIL_KIND": kind, "FAIL_NTH": str(n),
                                      "FAIL_ERRNO": str(number)})
        want = once(0)
        assert want.code in (0, 1) and not want.fired, (words, want.err)
        n = 0
        while True:
            n += 1 if n < 40 else 23  # of many calls of the same kind some are enough
            result = once(n)
            if not result.fired:
                break
            check(words, (kind, n), result, want, mistakes)
        assert result.same(want), (words, result.err)
        print("  up to %4d %s %s" % (n - 1, kind, " ".join(words)))
    assert not mistakes, "\n".join([""] + mistakes)


def test_every_allocation_fails_once():
    every_failure("memory")


def test_every_call_of_the_host_fails_once():
    every_failure("host", errno.EIO)
    every_failure("host", errno.EINTR)


def test_the_disk_is_full_after_any_number_of_bytes():
    prepare()
    mistakes = []
    for words in COMMANDS:
        if "--vary" in words or "--each" in words:
            continue  # the limit would count the files in memory through which its runs answer
        if "OUT" in words:
            write("out", "earlier\n")
        want = Result(words)
        whole = max(len(want.out.encode()), len((want.file or "").encode()))
        for limit in sorted({0, 1, 2, 100, 4095, 4096, whole // 2, whole - 1}):
            if limit >= whole:
                continue
            if "OUT" in words:
                write("out", "earlier\n")
            check(words, limit, Result(words, limit=limit), want, mistakes)
    assert not mistakes, "\n".join([""] + mistakes)


run(globals())
