#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""littlefs on a device with a volatile cache, by flashemu-lab crash: versions up to 2.8 let data come
after the metadata that names them, and power cuts show it.  Today's is right.

The two versions of littlefs-python are in the folders $FLASHEMU_LITTLEFS_OLD and
$FLASHEMU_LITTLEFS_NEW, as `pip install --target` makes them; without these the test is skipped."""

import json
import os
import sys

from flashemu_lab_bench import lab, read
from flashemu_script import need, run, skip

import flashemu_littlefs

PROGRAM = "%s %s" % (sys.executable, os.path.abspath(flashemu_littlefs.__file__))
DEVICE = ("ssd-page", "size=16M", "cache.size=64K")


def crash(which):
    folder = os.environ.get("FLASHEMU_LITTLEFS_" + which)
    if not folder:
        skip("no littlefs-python: FLASHEMU_LITTLEFS_%s names no folder" % which)
    os.environ["PYTHONPATH"] = os.pathsep.join([folder, PATH])
    code, out, err = lab("crash", *DEVICE, "--run", PROGRAM + " work", "--check", PROGRAM + " check",
                         "--second", "0", "--cuts", "60", "-o", which)
    assert err == "", err
    return code, json.loads(read(which + "/results.json"))


def test_data_that_come_after_what_names_them():
    code, result = crash("OLD")
    assert code == 1 and result["kept"] > len(result["broken"]) > 0, result
    assert all(b["mark"].startswith("version ") for b in result["broken"]), result["broken"]


def test_today_nothing_is_found():
    code, result = crash("NEW")
    assert code == 0 and result["kept"] == result["numbers"]["cases"] > 10, result


need("nbdkit", "setpriv")
PATH = os.environ.get("PYTHONPATH", "")
run(globals())
