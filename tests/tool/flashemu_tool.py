# SPDX-License-Identifier: BSD-3-Clause
"""What the tests of the command line tool share.

A test is a script whose functions test_* run in order in an empty folder of their own;
run() calls them and exits 0 or 1.  Only Python's own modules are needed.
"""

import json
import os
import subprocess
import sys
import tempfile
import traceback

TOOL = os.environ.get("FLASHEMU") or sys.exit("FLASHEMU: the tool to test")
HANG_S = 600  # far from what anything takes, with sanitizers on a busy machine


def call(*args, stdin=None, env=None):
    """(exit code, standard output, standard error) of flashemu ARGS."""
    p = subprocess.run([TOOL, *args], input=stdin, stdout=subprocess.PIPE,
                       stderr=subprocess.PIPE, universal_newlines=True, timeout=HANG_S,
                       env=dict(os.environ, **(env or {})))
    return p.returncode, p.stdout, p.stderr


def good(*args, **kwargs):
    """Standard output; exit code 0 and no message."""
    code, out, err = call(*args, **kwargs)
    assert code == 0 and err == "", (args, code, out, err)
    return out


def good_json(*args, **kwargs):
    def no_constant(name):
        raise ValueError("%s is not JSON" % name)
    return json.loads(good(*args, **kwargs), parse_constant=no_constant)


def trace_formats():
    """The names of all formats of traces, as the tool lists them."""
    return [line.split()[0] for line in good("trace", "--formats").splitlines()]


def bad(message, *args, **kwargs):
    """Exit code 2, one line of message that contains `message`, no result."""
    code, out, err = call(*args, **kwargs)
    assert code == 2 and out == "", (args, code, out, err)
    assert err.startswith("flashemu: ") and err.count("\n") == 1, (args, err)
    assert message in err, (args, err, message)
    return err


def write(path, text):
    with open(path, "w", newline="") as f:
        f.write(text)
    return path


def read(path):
    with open(path, newline="") as f:
        return f.read()


def run(tests):
    """Runs every test_* of a module's globals()."""
    failed = 0
    for name, test in list(tests.items()):
        if not name.startswith("test_"):
            continue
        with tempfile.TemporaryDirectory() as folder:
            here = os.getcwd()
            os.chdir(folder)
            try:
                test()
                print("ok  ", name)
            except Exception:
                failed += 1
                print("FAIL", name)
                traceback.print_exc()
            finally:
                os.chdir(here)
    sys.exit(failed > 0)
