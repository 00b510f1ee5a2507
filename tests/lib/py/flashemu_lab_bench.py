# SPDX-License-Identifier: BSD-3-Clause
"""The lab as its tests call it: from outside, and its modules."""

import json
import os
import re
import subprocess
import sys
import time

from flashemu_lab_started import Started
from flashemu_script import PROGRAM_HANG_S, ended, from_env, skip

try:
    import jinja2  # noqa: F401
    import numpy  # noqa: F401
except ImportError as e:
    skip("no Python module %s" % e.name)

TOP = os.path.realpath(os.path.join(os.path.dirname(__file__), "../../.."))
LAB = os.path.join(TOP, "tools/lab/flashemu-lab")
FLASHEMU = from_env("FLASHEMU")
sys.path.insert(0, os.path.join(TOP, "tools/lab"))

# A small experiment: 6 runs of some milliseconds.
SMALL = """name = "small"
title = "A small experiment"
question = "Does it work?"

[factors]
"ftl.op" = ["10%", "28%"]
bs = {label = "request", levels = ["4K", "8K", "16K"]}

[device]
profile = "ssd-page"
set = ["nand.blocks_per_plane=32", "device.used=16T"]

[workload]
requests = "gen:random,op=write,bs={bs},count=2000"

[measure.waf]
value = "ftl.waf"
label = "write amplification"
better = "less"

[measure.rate]
value = "host.write.bytes / elapsed_ns * 1000"
unit = "MB/s"
better = "more"
"""


_started = []  # made by the first command


def lab(*args, store="store", env=None):
    """(exit code, standard output, standard error) of flashemu-lab ARGS.

    Two processes take turns to perform them, because what depends on the order of a set, which
    each process draws, would be the same twice in one of them."""
    env = dict(os.environ, FLASHEMU_LAB_STORE=store, **(env or {}))
    if not _started:
        _started.extend(Started(os.path.join(TOP, "tools/lab")) for _ in range(2))
    if not _started[0].fits(env):
        return ended([sys.executable, LAB, *args], env=env)
    _started.reverse()
    return _started[0].ended(args, env)


def good(*args, **kwargs):
    """Standard output; exit code 0 and no message."""
    code, out, err = lab(*args, **kwargs)
    assert code == 0 and err == "", (args, code, out, err)
    return out


def good_json(*args, **kwargs):
    return json.loads(good(*args, "--json", **kwargs))


def bad(message, *args, code=2, **kwargs):
    """The lines of a refusal, one of which is `message` behind the program's name."""
    got, out, err = lab(*args, **kwargs)
    assert got == code and "Traceback" not in err, (args, got, out, err)
    lines = [line.removeprefix("flashemu-lab: ") for line in err.splitlines()]
    assert any(message in line for line in lines), (args, message, err)
    return lines


def write(path, text):
    with open(path, "w") as f:
        f.write(text)
    return path


def read(path):
    with open(path, newline="") as f:
        return f.read()


def opens_short(page, figures=1):
    """Whether a page opens with its sentences and one figure, and every table is one click away."""
    seen = re.sub(r"(?s)<details>.*?</details>", "", page)
    return seen.count("<svg") == figures and "<table" not in seen


def stored(folder="store"):
    """{key: text} of a store."""
    found = {}
    for place, _, names in os.walk(folder):
        if os.path.basename(place) != "tmp":
            for name in names:
                found[name.removesuffix(".json")] = read(os.path.join(place, name))
    return found


def until(condition):
    """Waits for a condition; a test in which it never comes true has hung."""
    end = time.monotonic() + PROGRAM_HANG_S
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.002)


def children_of(mark):
    """The processes whose command line has this mark."""
    found = []
    for pid in os.listdir("/proc"):
        if pid.isdigit():
            try:
                with open("/proc/%s/cmdline" % pid, "rb") as f:
                    if mark.encode() in f.read():
                        found.append(pid)
            except OSError:
                pass
    return found


def timed_kernel_is_missing():
    """Why there is no kernel in the device's time, or "".  Only tools/vm/timed/kernel builds it: a
    test must not take that long."""
    done = subprocess.run([os.path.join(TOP, "tools/vm/timed/kernel"), "--check"],
                          stdout=subprocess.PIPE, encoding="utf-8", check=False)
    return done.stdout.strip() if done.returncode else ""
