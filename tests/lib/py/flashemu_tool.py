# SPDX-License-Identifier: BSD-3-Clause
"""The command line tool as its tests call it.  Only Python's own modules are needed."""

import json
import os

from flashemu_script import ended, from_env

TOOL = from_env("FLASHEMU_TOOL")

# A small device without oddities, for tests of [fidelity]: the rows follow.
SLC_PROFILE = """[device]
capacity = %s
[nand]
cell = slc
pages_per_block = 64
page_size = 4K
oob_size = 128
tR = 30us
tPROG = 300us
tBERS = 3ms
bus_rate = 40MB/s
[ftl]
type = page
[fidelity]
"""

# A card whose flash takes 1 ms for a page of 4 KiB on each of two dies, 100 us for a read, and whose
# link takes no time.  %d is the depth of its queue; the rows of [fidelity] follow.
SCHEDULE = """[device]
capacity = 256M
[nand]
cell = slc
dies_per_channel = 2
pages_per_block = 64
page_size = 4K
tR = 100us
tPROG = 1ms
tBERS = 0
[ftl]
type = page
op = 50%%
[link]
type = none
queue_depth = %d
max_transfer = 512K
[fidelity]
"""


def digits(value, n=4):
    """A number as tables print it: n digits, and whole if it is larger."""
    if value == 0:
        return "0"
    return "%.0f" % value if abs(value) >= 10 ** n else ("%#.*g" % (n, value)).rstrip(".")


def call(*args, stdin=None, env=None):
    """(exit code, standard output, standard error) of flashemu ARGS."""
    return ended([TOOL, *args], stdin, env=dict(os.environ, **(env or {})))


def good(*args, **kwargs):
    """Standard output; exit code 0 and no message."""
    code, out, err = call(*args, **kwargs)
    assert code == 0 and err == "", (args, code, out, err)
    return out


def good_json(*args, **kwargs):
    def no_constant(name):
        raise ValueError("%s is not JSON" % name)
    return json.loads(good(*args, **kwargs), parse_constant=no_constant)


def trace_formats(written=False, requests=False):
    """The names of all formats of traces, as the tool lists them; or of those that it writes, or
    writes even if nobody knows what the requests wrote."""
    return [line.split()[0] for line in good("trace", "--formats").splitlines()
            if not ((written or requests) and line.endswith("; read only"))
            and not (requests and line.endswith("; written with data only"))]


def bad(message, *args, **kwargs):
    """Exit code 2, one line of message that contains `message`, no result."""
    code, out, err = call(*args, **kwargs)
    assert code == 2 and out == "", (args, code, out, err)
    assert err.startswith("flashemu: ") and err.count("\n") == 1, (args, err)
    assert message in err, (args, err, message)
    return err


def trace_lines(text):
    """The requests of a trace in flashemu's own format, without the comments in front."""
    lines = text.splitlines()
    assert lines[0] == "# flashemu trace 1", lines[:1]
    return [line for line in lines if not line.startswith("#")]


def trace_origin(text):
    """What the comments of such a trace say about its origin."""
    return dict(line[2:].split(": ", 1) for line in text.splitlines()[1:] if line.startswith("# "))


def write(path, text):
    with open(path, "w", newline="") as f:
        f.write(text)
    return path


def read(path):
    with open(path, newline="", encoding="utf-8", errors="surrogateescape") as f:
        return f.read()
