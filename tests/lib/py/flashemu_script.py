# SPDX-License-Identifier: BSD-3-Clause
"""What all test scripts share.

A test is a script whose functions test_* run in order, each in an empty folder of its own.
run() calls them and exits 0 or 1.  A script that needs something the machine lacks exits 77.
A script that is ended from outside, because it hangs, says where it was.
"""

import faulthandler
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback

# How long a program may run before it counts as hung.  This is no measurement: programs take far
# less, with sanitizers on a busy machine, too.
PROGRAM_HANG_S = 600

# With sanitizers, which make a program five times as slow, a loop over devices takes a sample of
# them: what they are to find is in the code, which each of these devices runs.
SAMPLE = "FLASHEMU_SHORT" in os.environ
LONG = "FLASHEMU_LONG" in os.environ  # -Dlong-tests=true


def sampled(items, step):
    """All of them; with sanitizers every so many."""
    return list(items)[::step if SAMPLE else 1]


def sampled_unless_long(items, step):
    """Every so many of them; all with long-tests."""
    return list(items)[::1 if LONG else step]


def skip(why):
    print("SKIP:", why)
    sys.exit(77)


def from_env(name):
    path = os.environ.get(name)
    if not path or not os.path.exists(path):
        skip("%s does not name a file" % name)
    return os.path.abspath(path)


def need(*programs):
    for p in programs:
        if not shutil.which(p):
            skip("no " + p)


def ended(argv, stdin=None, **kwargs):
    """Runs a program to its end: (exit code, standard output, standard error).  Bytes that are not
    UTF-8 are surrogates in these texts."""
    p = subprocess.run(argv, input=stdin or "", stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                       universal_newlines=True, encoding="utf-8", errors="surrogateescape", timeout=PROGRAM_HANG_S, **kwargs)
    return p.returncode, p.stdout, p.stderr


def alive(word):
    """The numbers of the processes that have this word on their command line."""
    pids = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/cmdline" % pid, "rb") as f:
                if word.encode() in f.read().split(b"\0"):
                    pids.append(int(pid))
        except OSError:
            pass  # it has ended
    return pids


def run(namespace):
    """Runs the functions test_* of a module, or those that the command line names."""
    faulthandler.register(signal.SIGTERM, chain=True)
    wanted = sys.argv[1:]
    here = os.getcwd()
    failed = 0
    for name, test in list(namespace.items()):
        if not name.startswith("test_") or (wanted and name not in wanted):
            continue
        os.environ["TEST_FUNCTION"] = name  # tools/mutate asks whose calls these are
        start = time.monotonic()
        word = "ok"
        with tempfile.TemporaryDirectory(prefix="fe") as folder:
            os.chdir(folder)
            try:
                test()
            except Exception:
                traceback.print_exc()
                failed += 1
                word = "FAILED"
            finally:
                os.chdir(here)
        print("%-6s %s (%.2f s)" % (word, name, time.monotonic() - start), flush=True)
    sys.exit(1 if failed else 0)
